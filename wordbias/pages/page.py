"""One self-contained HTML page: no network, nothing to install, to be mailed and printed."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from wordbias import __version__
from wordbias.pages.arranging import sections
from wordbias.pages.cleaning import rows_of
from wordbias.pages.document import DATA, Document
from wordbias.pages.headline import headline
from wordbias.pages.markup import Markup, element, joined, script_data
from wordbias.pages.parts import figure, grid
from wordbias.pages.provenance import notes, provenance
from wordbias.pages.section import Section
from wordbias.results import LIMITS

_NAMED = 3
AFTER = {
    "misp": "MISP makes of it in memory (wordbias misp)",
    "hard": "hard debiasing makes of it in memory (wordbias debias hard)",
}


def render_page(documents: Sequence[Document]) -> str:
    """Write documents as one page.

    Everything that a user gave is escaped. The page holds its own data, from which
    `read_documents` gets the documents back; it loads nothing, and its policy forbids it to.
    """
    rows = rows_of(documents)
    found = sections(rows)
    body = [
        _header(documents),
        element("main", _short(headline(rows)), _contents(found), *map(_section, found)),
        _footer(documents),
    ]
    return _document(page_title(documents), body, [one.to_dict() for one in documents])


def page_title(documents: Sequence[Document]) -> str:
    """Name what the page is about: its subjects, or how many there are."""
    subjects = dict.fromkeys(str(row["subject"]) for one in documents for row in one.rows)
    few = ", ".join(subjects) if len(subjects) <= _NAMED else f"{len(subjects)} subjects"
    return f"Bias report: {few or 'no values'}"


def _document(title: str, body: Sequence[Markup], data: object) -> str:
    style, script = (
        files("wordbias.pages").joinpath(name).read_text("utf-8")
        for name in ("page.css", "page.js")
    )
    policy = (
        f"default-src 'none'; style-src {_hashed(style)}; script-src {_hashed(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=f"wordbias {__version__}"),
        element("title", title),
        element("style", Markup(style)),
    )
    inside = element("body", *body, script_data(data, DATA), element("script", Markup(script)))
    return f"<!DOCTYPE html>\n{element('html', head, inside, lang='en')}\n"


def _hashed(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _header(documents: Sequence[Document]) -> Markup:
    found = [row.get("debiased") for one in documents for row in one.rows]
    done = ", or ".join(text for name, text in AFTER.items() if name in found)
    after = f"“Before” is the embedding as it was given, “after” what {done}; nothing was written."
    said = [_described(name, facts) for one in documents for name, facts in _inputs(one)]
    return element(
        "header",
        element("h1", page_title(documents)),
        *(element("p", text, class_="quiet") for text in dict.fromkeys(said)),
        element("p", after, class_="quiet") if done else Markup(""),
    )


def _inputs(document: Document) -> list[tuple[str, dict[str, object]]]:
    inputs = document.about.get("inputs")
    if not isinstance(inputs, dict):
        return []
    return [(str(name), facts) for name, facts in inputs.items() if isinstance(facts, dict)]


def _described(name: str, facts: dict[str, object]) -> str:
    words, dim = facts.get("words"), facts.get("dim")
    if isinstance(words, int) and dim:
        return f"{name}: {words:,} words × {dim}"
    return f"{name}: {facts['path']}" if facts.get("path") else name


def _short(sentences: Sequence[str]) -> Markup:
    items = [element("li", sentence) for sentence in sentences]
    return element(
        "section", element("h2", "In short"), element("ul", *items), id="short", class_="short"
    )


def _contents(found: Sequence[Section]) -> Markup:
    links = [
        element("li", element("a", one.title.partition(":")[0], href=f"#{one.key}"))
        for one in found
    ]
    return element("nav", element("ul", *links), aria_label="Contents")


def _section(one: Section) -> Markup:
    figures = element("div", *map(figure, one.figures), class_="figures")
    return element(
        "section",
        element("h2", one.title),
        *(element("p", text) for text in one.lead),
        figures if one.figures else Markup(""),
        *map(grid, one.grids),
        folded("Method, limits and source", one.method),
        id=one.key,
    )


def folded(title: str, paragraphs: Sequence[object]) -> Markup:
    """Fold paragraphs under a title; nothing if there are none."""
    if not paragraphs:
        return Markup("")
    inside = joined(element("p", text) for text in paragraphs)
    return element("details", element("summary", title), inside)


def _footer(documents: Sequence[Document]) -> Markup:
    return element(
        "footer",
        element("h2", "What these numbers cannot say"),
        element("p", LIMITS),
        notes(documents),
        provenance(documents),
        element("p", f"Made by wordbias {__version__}.", class_="quiet"),
    )
