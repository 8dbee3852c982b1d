"""Settings of the documentation site; `tools/build_site.sh` builds it with Sphinx.

The pages are the Markdown files and notebooks as they stand in the repository, which is the source
folder: links between them work here and where the repository is browsed. To them `reference.py`
adds a page for each command, public name and family of measures, made from the checkout's
wordbias. No notebook is executed, and no network is used.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.environment import BuildEnvironment
    from sphinx.writers.html5 import HTML5Translator

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "site")]

import reference  # noqa: E402, after the checkout is on the path

_VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
_ADDRESS = re.compile(r"^\s+Repository = (\S+)$", re.MULTILINE)

NAVIGATION: dict[str, tuple[str, ...]] = {
    "Start": ("docs/README", "docs/install", "docs/which-measure", "docs/glossary"),
    "Tutorials": (
        "docs/tutorials/vectors",
        "docs/tutorials/encoder",
        "docs/tutorials/reproduce",
    ),
    "Values": (
        "docs/reading-values",
        "docs/chance",
        "docs/intervals",
        "docs/known-embeddings",
    ),
    "Word vectors": (
        "docs/embedding",
        "docs/along-a-subspace",
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
        "docs/controls",
        "docs/own-task",
        "docs/own-task-measured",
        "docs/decoders",
        "docs/smollm2",
    ),
    "Embeddings of texts": (
        "docs/any-encoder",
        "docs/erase",
        "docs/erasers",
        "docs/retrieval",
    ),
    "A classifier or its training data": (
        "docs/fairness",
        "docs/coreference",
        "docs/coreference-measured",
        "docs/experiment",
    ),
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
        "reference/commands",
        "reference/options",
        "reference/python",
        "reference/measures",
        "docs/verdicts",
        "docs/rows",
        "docs/designs",
        "docs/gallery",
        "docs/hub",
        "docs/integrations",
        "docs/scaling",
        "docs/gate",
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
REPOSITORY = _ADDRESS.findall((ROOT / "setup.cfg").read_text(encoding="utf-8"))[0]

extensions = ["myst_nb", "sphinx_copybutton", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "README"
include_patterns = [f"{root_doc}.md", f"{reference.FOLDER}/**.rst"] + [
    f"{page}{suffix}"
    for pages in NAVIGATION.values()
    for page in pages
    for suffix in (".md", ".ipynb")
]
nb_execution_mode = "off"
smartquotes = False  # `--null` stays two dashes where it is not in a fence
myst_heading_anchors = 4
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
default_role = "code"  # in docstrings one backquote marks code, as in Markdown
autodoc_typehints = "none"  # the entries of parameters say what they take
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": True}
napoleon_google_docstring = False
napoleon_use_ivar = True
maximum_signature_line_length = 80

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"wordbias {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["versions.js"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
templates_path = ["templates"]
html_additional_pages = {"index": "front.html"}
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "versions.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_theme_options = {
    "source_repository": REPOSITORY,
    "source_branch": "main",
    "source_directory": "",
    "top_of_page_buttons": ["edit"],
}

PAGES: dict[str, reference.Page] = {}
"""The pages of the reference, once they are written."""


def write_reference(app: Sphinx, config: Config) -> None:
    """Write the pages of the reference before Sphinx looks for its sources."""
    PAGES.update(reference.write(Path(app.srcdir)))


def add_navigation(app: Sphinx, name: str, source: list[str]) -> None:
    """Add the sidebar's tables of contents to the first page, which has none in the repository."""
    if name == root_doc:
        for title, pages in NAVIGATION.items():
            listed = "\n".join(f"/{page}" for page in pages)
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{listed}\n```\n"


def keep_blocks(
    app: Sphinx, kind: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Mark indented lines above a docstring's sections as the block that they are in the help."""
    end = next((i - 1 for i, line in enumerate(lines) if line and not line.strip("-")), len(lines))
    starts = [i for i in range(1, end) if lines[i][:1] == " " and not lines[i - 1].strip()]
    for i in reversed(starts):
        lines[i:i] = [".. code-block:: text", ""]


def escape(app: Sphinx, kind: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Let |x|, nouns/* and FILE::NAME be text; napoleon has made fields of the sections before."""
    for i, line in enumerate(lines):
        parts = re.split(r"(``.+?``|`[^`]+`)", line)
        parts[::2] = [re.sub(r"\||(?<=/)\*|:(?=:\w)", r"\\\g<0>", part) for part in parts[::2]]
        lines[i] = "".join(parts)


def is_skipped(
    app: Sphinx, kind: str, name: str, thing: Any, skip: bool, options: Any
) -> bool | None:
    """Skip what a class has from elsewhere, such as scikit-learn."""
    ours = str(getattr(thing, "__module__", "wordbias")).startswith("wordbias")
    return None if ours else True


def find_names(app: Sphinx, doctree: nodes.document) -> None:
    """Let the search show a command, or an option such as --null, before pages that mention it."""
    from docutils import nodes
    from sphinx.addnodes import index

    for node in doctree.findall(index):
        for i, (kind, text, place, main, key) in enumerate(node["entries"]):
            if "command line option" in text:
                node["entries"][i] = (kind, text, place, main or "main", key)
    folder, _, name = app.env.docname.rpartition("/")
    if folder == f"{reference.FOLDER}/commands":
        section = next(doctree.findall(nodes.section))
        entry = ("single", name, section["ids"][0], "main", None)
        section.insert(1, index(entries=[entry]))


def plain_types(app: Sphinx, doctree: nodes.document) -> None:
    """Keep words of a parameter's type, such as n in "shape (n, d)", from being links."""
    from sphinx.addnodes import pending_xref

    for node in list(doctree.findall(pending_xref)):
        target = node["reftarget"].removeprefix("wordbias.")
        if node.get("refdomain") == "py" and target not in reference.NAMES:
            node.replace_self(node.children)


def title_links(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Show the title of a page where the text of a link is the name of its file."""
    from docutils import nodes

    for link in doctree.findall(nodes.reference):
        if not (link.get("internal") and link.astext().endswith(".md")):
            continue
        target = urljoin(f"{page}.html", link["refuri"]).partition("#")[0]
        title = app.env.titles[target.removesuffix(".html")].astext()
        link.children = []
        link += nodes.inline(title, title)


def dashes(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Set a dash between a parameter and its text, where Sphinx writes two hyphens."""
    from docutils import nodes

    for text in list(doctree.findall(nodes.Text)):
        if text == " -- ":
            text.parent.replace(text, nodes.Text(" – "))


def code_links(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link code that is just a command or a public name, as `wordbias misp`, to its page."""
    from docutils import nodes

    for code in list(doctree.findall(nodes.literal)):
        target = reference.page_of(code.astext())
        linked = (nodes.reference, nodes.title, nodes.literal_block)
        above = code.parent
        while above is not None and not isinstance(above, linked):
            above = above.parent
        if target and target != page and above is None:
            address = app.builder.get_relative_uri(page, target)
            link = nodes.reference("", "", code.deepcopy(), internal=True, refuri=address)
            code.replace_self(link)


def show_formula(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula as MathML, which browsers show without a script from elsewhere."""
    from docutils.nodes import SkipNode, math_block
    from docutils.utils.math.latex2mathml import tex2mathml

    self.body.append(tex2mathml(node.astext(), as_block=isinstance(node, math_block)))
    raise SkipNode


def adapt_page(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Let the site's name lead to the front page, a pencil to the source of a made page."""
    context["master_doc"] = "index"
    if page in PAGES:
        context["theme_source_edit_link"] = f"{REPOSITORY}/edit/main/{PAGES[page].source}"


def keep_titles(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Make the navigation of a page from titles alone: it shows no sections of other pages."""
    # Sphinx copies the sections of all pages for each page, and then leaves them out.
    whole = context["toctree"]
    titles = _titles(app.env)

    def toctree(**given: Any) -> str:
        tocs, app.env.tocs = app.env.tocs, titles
        try:
            return str(whole(**given))
        finally:
            app.env.tocs = tocs

    context["toctree"] = toctree


@cache
def _titles(env: BuildEnvironment) -> dict[str, nodes.bullet_list]:
    """Return the contents of each page without its sections, as `titles_only` leaves them."""
    from sphinx import addnodes

    lists = {page: contents.deepcopy() for page, contents in env.tocs.items()}
    for contents in lists.values():
        for item in contents:
            if len(item) > 1 and (below := list(item.findall(addnodes.toctree))):
                item[1][:] = below
            else:
                del item[1:]
    return lists


def setup(app: Sphinx) -> None:
    """Connect the functions above to the build."""
    app.add_html_math_renderer("mathml", (show_formula, None), (show_formula, None))
    app.connect("config-inited", write_reference)
    app.connect("source-read", add_navigation)
    app.connect("autodoc-process-docstring", keep_blocks, priority=400)
    app.connect("autodoc-process-docstring", escape, priority=600)
    app.connect("autodoc-skip-member", is_skipped)
    app.connect("doctree-read", find_names)
    app.connect("doctree-read", plain_types)
    app.connect("doctree-resolved", title_links)
    app.connect("doctree-resolved", code_links)
    app.connect("doctree-resolved", dashes)
    app.connect("html-page-context", adapt_page)
    app.connect("html-page-context", keep_titles, priority=400)  # before that of the theme
