"""Sphinx settings of the site. `python -m scripts.site` collects the pages and builds them."""

from bandits import __version__

project = "Private bandits, reproduced"
author = "The private-bandits authors"
release = version = __version__
copyright = author  # noqa: A001

extensions = ["myst_nb", "sphinx_design", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
root_doc = "index"
nitpicky = False
default_role = "code"
nb_execution_mode = "off"
myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
numpydoc_show_class_members = False
suppress_warnings = ["myst.header"]

html_theme = "pydata_sphinx_theme"
html_title = "Private bandits"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "search_bar_text": "Search",
}
