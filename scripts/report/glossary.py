"""The words of the verdicts, from docs/glossary.md."""

import re

from experiments.config.compose import REPOSITORY

GLOSSARY = REPOSITORY / "docs" / "glossary.md"
ITEM = re.compile(r"^- \*\*(.+?)\*\*: (.+?)(?=\n- |\Z)", flags=re.MULTILINE | re.DOTALL)


def glossary() -> dict[str, str]:
    """Each word and what it means, as plain text."""
    items = ITEM.findall(GLOSSARY.read_text(encoding="utf-8"))
    return {word: re.sub(r"[*]", "", " ".join(meaning.split())) for word, meaning in items}
