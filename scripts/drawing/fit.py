"""A drawing in the width of a column or page: its panels in as many columns as are readable."""

from dataclasses import replace

from scripts.drawing.drawing import Drawing, Panel, even_columns, in_rows

NARROW = 1.5  # inches, the least width of a panel
SHAPE, WORDS, LINE = 0.62, 0.45, 0.15  # height of a panel by its width; inches of its title and labels, of a heading


def fitted(drawing: Drawing, width: float) -> Drawing:
    """The drawing at a `width` in inches, with rows that are broken where panels would be too narrow.

    Broken rows repeat the label of the y axis and the titles. Its height is without the legend.
    """
    most = max(map(len, drawing.rows))
    columns = even_columns(most, max(1, int(width / NARROW)))
    rows = drawing.rows if columns == most else [part for row in _named(drawing) for part in in_rows(row, columns)]
    height = len(rows) * (SHAPE * width / columns + WORDS)
    heading = drawing.heading
    lines = heading.count("\n") + 1 if heading else 0
    return replace(drawing, rows=rows, size=(width, height + LINE * lines), spare_legend_rows=0)


def _named(drawing: Drawing) -> list[list[Panel]]:
    """The rows, each panel with the title of the first row and the labels of the last row and the first column."""
    first, last = drawing.rows[0], drawing.rows[-1]
    rows = []
    for row in drawing.rows:
        named = []
        for column, panel in enumerate(row):
            title = panel.title or (first[column].title if column < len(first) else "")
            x = panel.x.label or (last[column].x.label if column < len(last) else "")
            y = panel.y.label or row[0].y.label
            named.append(replace(panel, title=title, x=replace(panel.x, label=x), y=replace(panel.y, label=y)))
        rows.append(named)
    return rows
