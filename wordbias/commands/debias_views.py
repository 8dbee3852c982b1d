"""What fitting found and whom it reached, arranged for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wordbias.commands.options import given_arguments
from wordbias.embedding import Embedding
from wordbias.functions.inputs import Subject
from wordbias.functions.tables import measures_tables
from wordbias.methods.diagnosis import REMOVED, about_removal
from wordbias.methods.fitted import Chain, Fitted, Reach
from wordbias.rendering import Table
from wordbias.results import Report, Row, number
from wordbias.wordlists import Attribute, WordGroups

_LABELS = {
    "component": "i",
    "cos_difference": "cos(g, Δ)",
    "cos_direction": "cos(g, axis)",
    "sign_stability": "stability",
}
_CONVENTIONS = ("centred", "neutral", "better", "missing", "reason")


def debias_report(
    subject: Subject,
    chain: Chain,
    done: Embedding,
    reached: Sequence[Reach],
    measured: Sequence[Row],
    about: Sequence[Attribute | WordGroups],
) -> Report:
    """Arrange what was found, changed and measured; `about` is the attribute where it was used."""
    names = ", then ".join(part.name for part in chain.parts)
    found = [row for part in chain.parts for row in part.found]
    return Report(
        "debias",
        given_arguments(),
        {subject.embedding.name: subject.info.to_dict()},
        [*found, *reach_rows(chain, reached, done), *measured],
        [*found_tables(chain), reach_table(chain, reached), *measures_tables(list(measured))],
        [
            *_removed(chain),
            f"{names} on {subject.described()}",
            *(f"Attribute {one.name}." for one in about),
        ],
        notes=[f"{part.name}: {said}" for part in chain.parts for said in part.warnings],
    )


def _removed(chain: Chain) -> list[str]:
    """Say which share of the groups' difference MISP and MHD removed."""
    rows = [(part.name, row) for part in chain.parts for row in part.found]
    return [
        f"{name}: {said[:1].lower()}{said[1:]}"
        for name, row in rows
        if row.measure == REMOVED
        for said in about_removal(row)
    ]


def found_tables(chain: Chain) -> list[Table]:
    """One table a method and kind of row, one line a value; the first is titled with settings."""
    return [table for part in chain.parts for table in _found_tables(part)]


def reach_rows(chain: Chain, reached: Sequence[Reach], done: Embedding) -> list[Row]:
    """How many words each method of a chain changed, and how many it left alone."""
    return [
        Row(
            done.name,
            "words-changed",
            reach.mapped + reach.replaced,
            {
                "method": part.name,
                "replaced": reach.replaced,
                "outside": reach.outside,
                **({} if part.centred is None else {"centred": part.centred}),
            },
        )
        for part, reach in zip(chain.parts, reached, strict=True)
    ]


def reach_table(chain: Chain, reached: Sequence[Reach]) -> Table:
    """One line a method."""
    cells = [
        [part.name, f"{reach.mapped:,}", f"{reach.replaced:,}", f"{reach.outside:,}"]
        for part, reach in zip(chain.parts, reached, strict=True)
    ]
    columns = ["", "mapped", "own vectors", "left alone"]
    return Table("Words", columns, cells, _lengths(chain))


def _lengths(chain: Chain) -> str:
    """Say where words that are left alone are brought to length one all the same."""
    if any(part.exempt_steps for part in chain.parts):
        return "Every vector is brought to length one, those of words left alone too."
    return ""


def _found_tables(fitted: Fitted) -> list[Table]:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in (row for row in fitted.found if row.measure != REMOVED):
        keys = [key for key in row.details if key not in _CONVENTIONS]
        groups.setdefault(tuple(key for key in keys if not _says_title(fitted, key)), []).append(
            row
        )
    return [
        _found_table(f"{fitted.name}, {rows[0].measure}" if i else _title(fitted), keys, rows)
        for i, (keys, rows) in enumerate(groups.items())
    ]


def _found_table(title: str, keys: Sequence[str], rows: Sequence[Row]) -> Table:
    """One line a row; what all of them say alike stands below."""
    first = rows[0].details
    alike = {
        key for key in keys if len(rows) > 1 and all(r.details[key] == first[key] for r in rows)
    }
    shown = [key for key in keys if key not in alike]
    cells = [
        [row.measure, number(row.value), *(_cell(row.details[key]) for key in shown)]
        for row in rows
    ]
    note = ", ".join(f"{_label(key)} {_cell(first[key])}" for key in keys if key in alike)
    return Table(title, ["", "value", *map(_label, shown)], cells, note)


def _label(key: str) -> str:
    return _LABELS.get(key, key)


def _title(fitted: Fitted) -> str:
    settings = ", ".join(
        f"{key} {_cell(value)}"
        for key, value in fitted.settings.items()
        if value is not None and value is not False
    )
    return f"{fitted.name}: {settings}" if settings else fitted.name


def _says_title(fitted: Fitted, key: str) -> bool:
    """Whether all rows only repeat a setting, which the title has."""
    values = (row.details[key] for row in fitted.found if key in row.details)
    return key in fitted.settings and all(value == fitted.settings[key] for value in values)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    return number(value) if isinstance(value, float) else str(value)
