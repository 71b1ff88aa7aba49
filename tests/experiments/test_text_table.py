"""Tables of a terminal and of Markdown, by hand."""

from experiments.text_table import text_table
from scripts.pages.tables import markdown_table

ROWS = [["policy", "mean", ""], ["a", 0.1 + 0.2, "x"], ["long name", 12, ""]]


def test_columns_are_aligned():
    assert text_table(ROWS, left=1) == ["policy     mean", "a           0.3  x", "long name    12"]
    assert text_table(ROWS, left=0) == ["   policy  mean", "        a   0.3  x", "long name    12"]
    assert text_table(ROWS) == ["policy     mean", "a          0.3   x", "long name  12"]


def test_a_bar_in_a_table_of_markdown_begins_no_column():
    table = markdown_table(["a|b", "n"], [["|", "1"]], [False, True])
    assert table == "| a\\|b | n |\n| --- | ---: |\n| \\| | 1 |\n"
