"""What several pages share: words, tables, audits, and what privacy costs."""
