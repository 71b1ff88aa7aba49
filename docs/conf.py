"""Sphinx settings of the site. `python -m scripts.site` collects the pages and builds them."""

import inspect
from pathlib import Path

from bandits import __version__
from scripts.pages import performance, text
from scripts.site import docstrings
from scripts.site.python_domain import IndexedPythonDomain

project = "Private bandits, reproduced"
author = "The private-bandits authors"
release = version = __version__
copyright = author  # noqa: A001

extensions = ["myst_nb", "sphinx_design", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
root_doc = "index"
nitpicky = False
default_role = "code"
nb_execution_mode = "force"  # a notebook that did not change uses code and results that may have
nb_execution_raise_on_error = True
nb_execution_timeout = 300
myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline", "substitution"]
myst_heading_anchors = 4
myst_substitutions = performance.times(performance.read_measured())
smartquotes = False  # of two hyphens in a text it would make a dash, as of an option
autosummary_generate = False  # tables alone, no files
autodoc_use_type_comments = False  # there are none, and looking for them takes time
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
suppress_warnings = ["myst.header"]

html_theme = "pydata_sphinx_theme"
html_title = "Private bandits"
html_show_sourcelink = False
html_sidebars = {"*": [], "papers/*": []}  # nothing to show beside them; figures need the room
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css", "papers.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "search_bar_text": "Search",
}


def setup(app):
    """Docstrings in the form of this repository become reStructuredText; what Sphinx would keep for too long goes."""
    app.add_domain(IndexedPythonDomain, override=True)
    app.add_config_value("docstring_code", inspect.getsource(docstrings) + inspect.getsource(text), "env")
    app.connect("autodoc-process-docstring", docstrings.process)
    app.connect("autodoc-process-signature", docstrings.signed)
    app.connect("autodoc-skip-member", docstrings.skipped)
    app.connect("env-get-outdated", notebooks)
    app.connect("env-purge-doc", without_its_page)


def notebooks(_app, env, *_):
    """Every notebook is read again, and so run."""
    return [name for name in env.found_docs if env.doc2path(name).suffix == ".ipynb"]


def without_its_page(app, _env, name):
    """Remove the page of a source that is gone, or is read again: Sphinx would leave it there."""
    Path(app.builder.get_outfilename(name)).unlink(missing_ok=True)
