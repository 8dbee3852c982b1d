"""Settings of the documentation site; `tools/build_site.sh` builds it with Sphinx.

The pages are the Markdown files and notebooks as they stand in the repository, which is the source
folder: links between them work here and where the repository is browsed. Nothing is imported from
wordbias, no notebook is executed, and no network is used.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
_VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)

NAVIGATION: dict[str, tuple[str, ...]] = {
    "Start": ("docs/README", "docs/install", "docs/which-measure", "docs/glossary"),
    "Tutorials": (
        "docs/tutorials/vectors",
        "docs/tutorials/encoder",
        "docs/tutorials/reproduce",
    ),
    "Word vectors": (
        "docs/embedding",
        "docs/audit",
        "docs/debiasing",
        "docs/methods-compared",
        "docs/attributes",
        "docs/static-models",
        "docs/train-vectors",
    ),
    "A model of inference": (
        "docs/nli",
        "docs/study",
        "docs/study/tables",
        "docs/study/protocol",
    ),
    "An encoder or a decoder": (
        "docs/audit-models",
        "docs/probing",
        "docs/contextual",
        "docs/own-task",
        "docs/decoders",
        "docs/smollm2",
    ),
    "Embeddings of texts": ("docs/erase",),
    "A classifier or its training data": ("docs/fairness", "docs/experiment"),
    "Notebooks": (
        "docs/notebooks/vectors",
        "docs/notebooks/encoder",
        "docs/notebooks/reproducing",
    ),
    "Papers": (
        "docs/reproducing",
        "docs/papers/dawkins-2021",
        "docs/papers/dawkins-2024",
        "docs/papers/orgad-2022",
        "docs/papers/methods",
    ),
    "Reference": (
        "docs/cli",
        "docs/words",
        "docs/api",
        "docs/measures",
        "docs/verdicts",
        "docs/rows",
        "docs/gallery",
        "docs/hub",
        "docs/integrations",
        "docs/scaling",
        "docs/shell",
    ),
    "Project": (
        "CHANGELOG",
        "CONTRIBUTING",
        "docs/how-a-call-runs",
        "docs/decisions",
        "docs/releasing",
        "benchmarks/README",
    ),
}
"""Every page but the first, under the heading that the sidebar gives it."""

project = "wordbias"
author = "The wordbias developers"
release = _VERSION.findall((ROOT / "wordbias" / "__init__.py").read_text(encoding="utf-8"))[0]

extensions = ["myst_nb"]
root_doc = "README"
include_patterns = [f"{root_doc}.md"] + [
    f"{page}{suffix}"
    for pages in NAVIGATION.values()
    for page in pages
    for suffix in (".md", ".ipynb")
]
nb_execution_mode = "off"
smartquotes = False  # `--null` stays two dashes where it is not in a fence
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"wordbias {release}"
html_static_path = ["."]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False


def add_navigation(app: Sphinx, name: str, source: list[str]) -> None:
    """Add the sidebar's tables of contents to the first page, which has none in the repository."""
    if name == root_doc:
        for title, pages in NAVIGATION.items():
            listed = "\n".join(f"/{page}" for page in pages)
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{listed}\n```\n"


def title_links(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Show the title of a page where the text of a link is the name of its file."""
    from docutils import nodes  # the navigation above can be read without it

    for link in doctree.findall(nodes.reference):
        if not (link.get("internal") and link.astext().endswith(".md")):
            continue
        target = urljoin(f"{page}.html", link["refuri"]).partition("#")[0]
        title = app.env.titles[target.removesuffix(".html")].astext()
        link.children = []
        link += nodes.inline(title, title)


def copy_first_page(app: Sphinx, error: Exception | None) -> None:
    """Give the first page its second name, which servers look for."""
    if error is None and app.builder.format == "html":
        folder = Path(app.outdir)
        shutil.copyfile(folder / f"{root_doc}.html", folder / "index.html")


def setup(app: Sphinx) -> None:
    """Connect the functions above to the build."""
    app.connect("source-read", add_navigation)
    app.connect("doctree-resolved", title_links)
    app.connect("build-finished", copy_first_page)
