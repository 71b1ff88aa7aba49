"""The files of a figure: pdf, png, svg, and pgf for LaTeX."""

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from experiments.errors import UserError
from scripts.drawing.latex import characters, declared

TEX = "pdflatex"  # measures the texts of pgf
REACH = 5.0  # sizes of a panel
COLOURS = 256  # of a png: enough for smooth letters and bands, and the file has a third of the size


def figure_file(figure: Figure, ending: str, about: Mapping[str, str]) -> bytes:
    """The file of a figure with this ending; `about` are its metadata: Description, Source, and maybe Title.

    Raises `UserError` for pgf without LaTeX.
    """
    content = BytesIO()
    if ending == "png":
        metadata = PngInfo()
        for name, text in about.items():
            metadata.add_text(name, text)
        _image(figure).save(content, "png", pnginfo=metadata, dpi=(figure.dpi, figure.dpi))
    elif ending == "pdf":
        pdf: Any = FigureCanvasPdf(figure)
        names = {"Description": "Keywords", "Source": "Subject", "Title": "Title"}
        pdf.print_pdf(content, metadata={names[key]: text for key, text in about.items()} | {"CreationDate": None})
    elif ending == "svg":
        from matplotlib.backends.backend_svg import FigureCanvasSVG

        svg: Any = FigureCanvasSVG(figure)
        svg.print_svg(content, metadata={**about, "Date": None})
    else:
        return _pgf(figure, about)
    return content.getvalue()


def _image(figure: Figure) -> Image.Image:
    """The pixels of a figure, in few colours unless it lets through what is behind it.

    The lightest colour is white, which the mean of nearly white pixels is not.
    """
    canvas: Any = FigureCanvasAgg(figure)  # untyped
    canvas.draw()
    pixels = Image.fromarray(np.asarray(canvas.buffer_rgba()))
    if pixels.getchannel("A").getextrema() != (255, 255):
        return pixels
    few = pixels.convert("RGB").quantize(COLOURS, Image.Quantize.FASTOCTREE)
    palette = few.getpalette() or []
    colours = [palette[place : place + 3] for place in range(0, len(palette), 3)]
    colours[colours.index(max(colours, key=sum))] = [255] * 3
    few.putpalette([part for colour in colours for part in colour])
    return few


def _pgf(figure: Figure, about: Mapping[str, str]) -> bytes:
    """A file for \\input in a document with the package pgf, with the fonts of that document. Raises `UserError`."""
    from matplotlib.backends.backend_pgf import FigureCanvasPgf

    content = BytesIO()
    _cut_bands(figure)
    pgf: Any = FigureCanvasPgf(figure)
    with mpl.rc_context({"pgf.texsystem": TEX, "pgf.rcfonts": False, "pgf.preamble": declared()}):
        try:
            pgf.print_pgf(content)
        except (OSError, RuntimeError) as error:  # no LaTeX, or one without what matplotlib needs
            problem = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise UserError(f"figure.format=pgf: needs {TEX}, which measures its texts: {problem}") from error
    drawn = content.getvalue().decode().partition("\\begingroup")
    head = "".join(f"%% {line}\n" for text in about.values() for line in text.splitlines())
    head += "%% \\usepackage{pgf}, and \\input{this file}\n"
    return (head + drawn[1] + characters(drawn[2].replace("\\mathdefault", ""))).encode()


def _cut_bands(figure: Figure) -> None:
    """Move the corners of shaded areas that lie far outside their panel nearer: TeX has no lengths beyond 16,383 pt."""
    for axes in figure.axes:
        low, high = np.array([[-REACH, -REACH], [1 + REACH, 1 + REACH]])
        to_panel = axes.transData - axes.transAxes
        for collection in axes.collections:
            for path in collection.get_paths():
                corners = np.clip(to_panel.transform(path.vertices), low, high)
                path.vertices = to_panel.inverted().transform(corners)
