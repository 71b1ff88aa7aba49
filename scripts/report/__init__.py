"""The report: one page of figures, claims, policies and numbers."""
