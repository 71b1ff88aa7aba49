"""What a comparison writes for a paper in LaTeX: the picture with its caption, the table, and the bibliography."""

from collections.abc import Iterable
from pathlib import Path

from experiments.store.stored import Cells
from scripts.compare.compared import PolicyComparison
from scripts.drawing.citation import OWN, bibtex, cited, own_entry
from scripts.drawing.drawing import Drawing
from scripts.drawing.latex import escaped

WIDE = 4.0  # inches, above which figure and table go over both columns


def latex(comparison: PolicyComparison, drawing: Drawing, picture: Path, width: float, command: str) -> str:
    """The text for \\input: a figure with `picture`, and a table, each with its caption and label."""
    star = "*" if width > WIDE else ""
    include = rf"\input{{{picture.name}}}" if picture.suffix == ".pgf" else rf"\includegraphics{{{picture.name}}}"
    package = "pgf" if picture.suffix == ".pgf" else "graphicx"
    table = [line for line in comparison.table().latex("").splitlines() if not line.startswith("%")]
    label = comparison.name
    return "\n".join(
        [
            rf"% \usepackage{{{package}, booktabs}}, \input{{{label}}}, and \bibliography{{{label}}}",
            f"% {command}",
            *(rf"\begin{{figure{star}}}[t]", r"\centering", include),
            rf"\caption{{{_caption(drawing)} Policies: {_policies(comparison)}.}}",
            *(rf"\label{{fig:{label}}}", rf"\end{{figure{star}}}", ""),
            *(rf"\begin{{table{star}}}[t]", r"\centering", r"\footnotesize", r"\setlength{\tabcolsep}{4pt}"),
            rf"\caption{{{' '.join(escaped(line) for line in comparison.notes())}}}",
            *(rf"\label{{tab:{label}}}", r"\vspace{1ex}", *table, rf"\end{{table{star}}}", ""),
        ]
    )


def _caption(drawing: Drawing) -> str:
    shown = f"{drawing.shown[:1].upper()}{drawing.shown[1:]}"
    return " ".join(f"{escaped(line).rstrip('.')}." for line in (shown, *drawing.caption))


def _policies(comparison: PolicyComparison) -> str:
    """Each policy with the papers that its class cites, and this repository."""
    labels = {stored.cell.policy.name: stored for stored in comparison.cells}
    listed = []
    for stored in labels.values():
        keys = cited(stored.cell.policy.citation)
        listed.append(escaped(comparison.labels[stored.cell.key]) + (rf"~\cite{{{','.join(keys)}}}" if keys else ""))
    return rf"{', '.join(listed)}; simulated with~\cite{{{OWN}}}"


def bibliography(cells: Cells) -> str:
    """The entries of the papers that the policies and instances of cells cite, and of this repository."""
    texts = dict.fromkeys(
        (f"{part.name}: {part.citation}", part.citation)
        for stored in cells
        for part in (stored.cell.policy, stored.cell.instance)
    )
    missing = [f"% no entry for {about}" for about, text in texts if not cited(text)]
    keys = [key for _, text in texts for key in cited(text)]
    return "\n\n".join(_paragraphs([own_entry(), *bibtex(keys), "\n".join(missing)])) + "\n"


def _paragraphs(texts: Iterable[str]) -> list[str]:
    return [text for text in texts if text]
