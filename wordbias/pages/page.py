"""One self-contained HTML page: no network, nothing to install, to be mailed and printed."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any

from wordbias import __version__
from wordbias.pages.answers import answer_parts
from wordbias.pages.document import (
    DATA,
    Document,
    for_others,
    notes_of,
    paths_of,
    rows_of,
    settings_of,
)
from wordbias.pages.encoder_answers import is_of_model
from wordbias.pages.section import (
    Answer,
    Figure,
    Grid,
    Markup,
    Section,
    answer_table,
    element,
    script_data,
)
from wordbias.pages.views import sections
from wordbias.results import LIMITS
from wordbias.rows import Found, given

_NUMERIC = re.compile(r"(?:[-−–.,%()+→ \d]|to|e[-+]|refitted|change)*")
_LINES = re.compile(r"(?<=, )|(?<= )(?=\()")  # where an interval with its change may begin a line
_NAMED = 3  # subjects in a title
_LONGEST = 120  # characters of a fact


def render_page(documents: Sequence[Document]) -> str:
    """Write documents as one page."""
    # Text of users is escaped. The page holds its own data, from which `read_documents` gets the
    # documents back; it loads nothing, and its security policy forbids loading.
    documents = for_others(documents)
    rows = rows_of(documents)
    page_sections = sections(rows)
    body = [
        _header(documents),
        element(
            "main",
            _short(answer_parts(rows, paths_of(documents), settings_of(documents))),
            _contents(page_sections),
            *map(_section, page_sections),
        ),
        _footer(documents),
    ]
    return _document(page_title(documents), body, [document.to_dict() for document in documents])


def page_title(documents: Sequence[Document]) -> str:
    """Return a title that names the subjects, or their number."""
    subjects = dict.fromkeys(str(row["subject"]) for document in documents for row in document.rows)
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
    after = _about_stages([row for row in rows_of(documents) if not is_of_model(row)])
    inputs = [
        _input_text(name, facts)
        for document in documents
        for name, facts in _dict(document.about.get("inputs")).items()
        if isinstance(facts, dict)
    ]
    return element(
        "header",
        element("h1", page_title(documents)),
        *(element("p", text, class_="quiet") for text in dict.fromkeys(inputs)),
        element("p", after, class_="quiet") if after else Markup(""),
    )


def _about_stages(rows: Sequence[Found]) -> str:
    """Explain the columns: the embedding as given, methods, and files."""
    kinds: dict[str, dict[str, str]] = {kind: {} for kind in ("method", "file", "null", "lists")}
    for row in rows:
        stage = str(row.get("stage") or "")
        if stage not in ("", "before") and (given(row, "debiased") or given(row, "column")):
            kind = str(row.get("column"))
            kinds[kind if kind in kinds else "method"][stage] = ""
    methods, own, nulls, lists = kinds.values()
    parts = ["“before” is the embedding as it was given"] if any(kinds.values()) else []
    if methods:
        what = "the method of this name makes" if len(methods) == 1 else "these methods make"
        parts.append(f"{_quoted(methods)} what {what} of it in memory (wordbias debias)")
    if own:
        parts.append(f"{_quoted(own)} your own file{'s' if len(own) > 1 else ''}")
    if nulls:
        parts.append(f"{_quoted(nulls)} random directions removed with the weights of MISP")
    if lists:
        parts.append(f"{_quoted(lists)} MISP fitted to names or sentences drawn again")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}. Nothing was written." if text else ""


def _quoted(names: Iterable[str]) -> str:
    quoted = [f"“{name}”" for name in names]
    return f"{', '.join(quoted)} {'is' if len(quoted) == 1 else 'are'}"


_POOLED = {
    "first": "that of its first token",
    "last": "that of its last token",
    "mean": "the mean of its tokens",
}
"""How a text becomes one vector, in words."""


def _input_text(name: str, facts: dict[str, object]) -> str:
    words, dim = facts.get("words"), facts.get("dim")
    if isinstance(words, int) and dim:
        return f"{name}: {words:,} words × {dim}"
    if facts.get("kind") == "encoder" and "layers" not in facts:
        where = facts.get("endpoint") or facts.get("path")
        return f"{name}{f' ({where})' if where else ''}: an encoder that shows the vectors of texts"
    if facts.get("kind") in ("encoder", "decoder"):
        pooling = str(facts.get("pooling"))
        model = f"{facts['kind']} of {facts.get('layers')} layers × {dim}"
        vector = _POOLED.get(pooling, f"the {pooling} of its tokens")
        return f"{facts.get('path') or name}: {model}; a text’s vector is {vector}"
    return f"{name}: {facts['path']}" if facts.get("path") else name


def _short(answers: Sequence[Answer]) -> Markup:
    """Write the answers as a table, what explains them folded below, and the caution in sight."""
    table = answer_table(answers)
    *explained, caution = [(answer.question, text) for answer in answers for text in answer.below]
    items = [
        element("li", *([element("strong", question), " "] if question else []), text)
        for question, text in explained
    ]
    notes = Markup(element("ul", *items))
    if table:
        notes = element("details", element("summary", "What the answers rest on"), notes)
    parts = [_grid(Grid(table)) if table else Markup(""), notes if items else Markup("")]
    last = element("p", caution[1])
    return element("section", element("h2", "In short"), *parts, last, id="short", class_="short")


def _contents(page_sections: Sequence[Section]) -> Markup:
    links = [
        element("li", element("a", section.title.partition(":")[0], href=f"#{section.key}"))
        for section in page_sections
    ]
    return element("nav", element("ul", *links), aria_label="Contents")


def _section(section: Section) -> Markup:
    figures = element("div", *map(_figure, section.figures), class_="figures")
    method = element(
        "details",
        element("summary", "Method, limits and source"),
        *(element("p", text) for text in section.method),
    )
    return element(
        "section",
        element("h2", section.title),
        *(element("p", text) for text in section.lead),
        figures if section.figures else Markup(""),
        *map(_grid, section.grids),
        method if section.method else Markup(""),
        id=section.key,
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


def _figure(figure: Figure) -> Markup:
    """Write a picture with its sentences on what it shows and what it does not."""
    return element(
        "figure",
        element("h3", figure.title),
        figure.picture,
        element(
            "figcaption",
            element("p", figure.shows),
            element("p", element("strong", "Not shown: "), figure.not_shown, class_="quiet"),
        ),
    )


def _grid(grid: Grid) -> Markup:
    """Write a table that scrolls by itself, or has its lines as blocks on a phone."""
    table = grid.table
    first, *others = table.columns
    heads = [first, *(["picture"] if grid.pictures else []), *others]
    right = {j + bool(grid.pictures) for j in _numeric(grid)}
    head = element("tr", *(_head(name, i in right) for i, name in enumerate(heads)), role="row")
    lines = [_line(grid, heads, i, right) for i in range(len(table.cells))]
    drawn = element(
        "table",
        element("caption", table.title),
        element("thead", head, role="rowgroup"),
        element("tbody", *lines, role="rowgroup"),
        role="table",
        class_="stacked sortable" if grid.stacked else "sortable",
    )
    note = element("p", table.note, class_="quiet") if table.note else Markup("")
    region = {"role": "region", "aria_label": table.title, "tabindex": 0}
    legend = element("div", grid.legend, class_="legend") if grid.legend else Markup("")
    whole = Markup(legend + element("div", drawn, class_="scroll", **region) + note)
    if not grid.folded:
        return whole
    return element("details", element("summary", f"As a table: {table.title}"), whole)


def _head(name: str, right: bool) -> Markup:
    look = "number" if right else None
    return element("th", name, scope="col", role="columnheader", class_=look)


def _line(grid: Grid, heads: Sequence[str], i: int, right: set[int]) -> Markup:
    first, *cells = grid.table.cells[i]
    shades = grid.shades[i] if grid.shades else [None] * len(cells)
    parts = [element("th", first, scope="row", role="rowheader")]
    if grid.pictures:
        parts.append(element("td", grid.pictures[i], role="cell", class_="picture"))
    for j, (cell, shade) in enumerate(zip(cells, shades, strict=True), len(parts)):
        looks = ["number"] * (j in right) + ([] if shade is None else [f"shade{shade}"])
        look = " ".join(looks) or None
        content = _value(cell) if j in right else cell
        parts.append(element("td", content, role="cell", data_label=heads[j], class_=look))
    return element("tr", *parts, role="row")


def _value(cell: str) -> object:
    """Set the interval of a value smaller, in lines of which each is whole: columns then fit."""
    value, bracket, rest = cell.partition(" (")
    _, *parts = (x for part in _LINES.split(rest) for x in (element("wbr"), part))
    return element("span", value, element("small", bracket, *parts)) if bracket else cell


def _numeric(grid: Grid) -> set[int]:
    """Return the columns whose cells are all numbers, with or without intervals."""
    columns = list(zip(*grid.table.cells, strict=True))
    return {
        j
        for j, cells in enumerate(columns)
        if j and any(cells) and all(_NUMERIC.fullmatch(cell) for cell in cells)
    }


def _notes(documents: Sequence[Document]) -> Markup:
    """List the notes of the commands."""
    notes = [note for document in documents for note in notes_of(document)]
    if not notes:
        return Markup("")
    items = [element("li", note) for note in dict.fromkeys(notes)]
    return Markup(element("h2", "Notes") + element("ul", *items))


def _provenance(documents: Sequence[Document]) -> Markup:
    """List the inputs with their hashes, the arguments and the versions, folded."""
    parts = [_facts(document) for document in documents if document.about]
    if not parts:
        return Markup("")
    summary = element("summary", "Inputs, arguments and versions")
    return element("details", summary, *parts)


def _facts(document: Document) -> Markup:
    about = dict(document.about)
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
