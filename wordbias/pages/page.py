"""One self-contained HTML page: no network, nothing to install, to be mailed and printed."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from wordbias import __version__
from wordbias.pages.document import DATA, Document, notes_of, rows_of
from wordbias.pages.encoder_answers import is_of_model
from wordbias.pages.headline import headline
from wordbias.pages.section import Figure, Grid, Markup, Section, element, script_data
from wordbias.pages.views import sections
from wordbias.results import LIMITS

_NUMERIC = re.compile(r"(?:[-−–.,%()+→ \d]|to|e[-+])*")
_NAMED = 3  # subjects in a title
_LONGEST = 120  # characters of a fact
_AFTER = {
    "misp": "MISP makes of it in memory (wordbias misp)",
    "hard": "hard debiasing makes of it in memory (wordbias debias hard)",
}


def render_page(documents: Sequence[Document]) -> str:
    """Write documents as one page.

    Text of users is escaped. The page holds its own data, from which `read_documents` gets the
    documents back; it loads nothing, and its security policy forbids loading.
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
    """Return a title that names the subjects, or their number."""
    subjects = dict.fromkeys(str(row["subject"]) for one in documents for row in one.rows)
    few = ", ".join(subjects) if len(subjects) <= _NAMED else f"{len(subjects)} subjects"
    return f"Bias report: {few or 'no values'}"


def _document(title: str, body: Sequence[Markup], data: object) -> str:
    style, script = (
        files("wordbias.pages").joinpath(name).read_text("utf-8")
        for name in ("page.css", "page.js")
    )
    policy = (
        f"default-src 'none'; style-src {_source_hash(style)}; script-src {_source_hash(script)}; "
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


def _source_hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _header(documents: Sequence[Document]) -> Markup:
    rows = [row for one in documents for row in one.rows if not is_of_model(row)]
    found = [row.get("debiased") for row in rows]
    done = ", or ".join(text for name, text in _AFTER.items() if name in found)
    after = f"“Before” is the embedding as it was given, “after” what {done}; nothing was written."
    inputs = [
        _input_text(name, facts)
        for one in documents
        for name, facts in _dict(one.about.get("inputs")).items()
        if isinstance(facts, dict)
    ]
    return element(
        "header",
        element("h1", page_title(documents)),
        *(element("p", text, class_="quiet") for text in dict.fromkeys(inputs)),
        element("p", after, class_="quiet") if done else Markup(""),
    )


def _input_text(name: str, facts: dict[str, object]) -> str:
    words, dim = facts.get("words"), facts.get("dim")
    if isinstance(words, int) and dim:
        return f"{name}: {words:,} words × {dim}"
    return f"{name}: {facts['path']}" if facts.get("path") else name


def _short(sentences: Sequence[str]) -> Markup:
    items = element("ul", *(element("li", sentence) for sentence in sentences))
    return element("section", element("h2", "In short"), items, id="short", class_="short")


def _contents(found: Sequence[Section]) -> Markup:
    links = [
        element("li", element("a", one.title.partition(":")[0], href=f"#{one.key}"))
        for one in found
    ]
    return element("nav", element("ul", *links), aria_label="Contents")


def _section(one: Section) -> Markup:
    figures = element("div", *map(_figure, one.figures), class_="figures")
    method = element(
        "details",
        element("summary", "Method, limits and source"),
        *(element("p", text) for text in one.method),
    )
    return element(
        "section",
        element("h2", one.title),
        *(element("p", text) for text in one.lead),
        figures if one.figures else Markup(""),
        *map(_grid, one.grids),
        method if one.method else Markup(""),
        id=one.key,
    )


def _footer(documents: Sequence[Document]) -> Markup:
    return element(
        "footer",
        element("h2", "What these numbers cannot say"),
        element("p", LIMITS),
        _notes(documents),
        _provenance(documents),
        element("p", f"Made by wordbias {__version__}.", class_="quiet"),
    )


def _figure(one: Figure) -> Markup:
    """Write a picture with its sentences on what it shows and what it does not."""
    return element(
        "figure",
        element("h3", one.title),
        one.picture,
        element(
            "figcaption",
            element("p", one.shows),
            element("p", element("strong", "Not shown: "), one.not_shown, class_="quiet"),
        ),
    )


def _grid(one: Grid) -> Markup:
    """Write a table that scrolls by itself, or has its lines as blocks on a phone."""
    table = one.table
    heads = [*table.columns, *(["picture"] if one.pictures else [])]
    right = _numeric(one)
    head = element("tr", *(_head(name, i in right) for i, name in enumerate(heads)), role="row")
    lines = [_line(one, heads, i, right) for i in range(len(table.cells))]
    drawn = element(
        "table",
        element("caption", table.title),
        element("thead", head, role="rowgroup"),
        element("tbody", *lines, role="rowgroup"),
        role="table",
        class_="stacked sortable" if one.stacked else "sortable",
    )
    note = element("p", table.note, class_="quiet") if table.note else Markup("")
    region = {"role": "region", "aria_label": table.title, "tabindex": 0}
    whole = Markup(element("div", drawn, class_="scroll", **region) + note)
    if not one.folded:
        return whole
    return element("details", element("summary", f"As a table: {table.title}"), whole)


def _head(name: str, right: bool) -> Markup:
    look = "number" if right else None
    return element("th", name, scope="col", role="columnheader", class_=look)


def _line(one: Grid, heads: Sequence[str], i: int, right: set[int]) -> Markup:
    cells = one.table.cells[i]
    shades = one.shades[i] if one.shades else [None] * (len(cells) - 1)
    parts = [element("th", cells[0], scope="row", role="rowheader")]
    for j, (cell, shade) in enumerate(zip(cells[1:], shades, strict=True), 1):
        looks = ["number"] * (j in right) + ([] if shade is None else [f"shade{shade}"])
        look = " ".join(looks) or None
        parts.append(element("td", cell, role="cell", data_label=heads[j], class_=look))
    if one.pictures:
        parts.append(element("td", one.pictures[i], role="cell", class_="picture"))
    return element("tr", *parts, role="row")


def _numeric(one: Grid) -> set[int]:
    """Return the columns whose cells are all numbers, with or without intervals."""
    columns = list(zip(*one.table.cells, strict=True))
    return {
        j
        for j, cells in enumerate(columns)
        if j and any(cells) and all(_NUMERIC.fullmatch(cell) for cell in cells)
    }


def _notes(documents: Sequence[Document]) -> Markup:
    """List the notes of the commands."""
    found = [note for one in documents for note in notes_of(one)]
    if not found:
        return Markup("")
    items = [element("li", note) for note in dict.fromkeys(found)]
    return Markup(element("h2", "Notes") + element("ul", *items))


def _provenance(documents: Sequence[Document]) -> Markup:
    """List the inputs with their hashes, the arguments and the versions, folded."""
    parts = [_facts(one) for one in documents if one.about]
    if not parts:
        return Markup("")
    summary = element("summary", "Inputs, arguments and versions")
    return element("details", summary, *parts)


def _facts(one: Document) -> Markup:
    about = dict(one.about)
    facts: list[tuple[str, Any]] = [
        ("command", f"wordbias {about.get('command', '')}".strip()),
        ("version", about.get("wordbias", "")),
        ("seed", about.get("seed")),
        *((f"input {name}", facts) for name, facts in _dict(about.get("inputs")).items()),
        *(
            (f"argument {name}", value)
            for name, value in _dict(about.get("arguments")).items()
            if value not in (None, False, [], "")
        ),
        *((f"version of {name}", value) for name, value in _dict(about.get("versions")).items()),
    ]
    pairs = [
        Markup(element("dt", name) + element("dd", _plain_text(value)))
        for name, value in facts
        if value not in (None, "")
    ]
    return element("dl", *pairs)


def _plain_text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain_text(part)}" for key, part in value.items() if part != "")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
