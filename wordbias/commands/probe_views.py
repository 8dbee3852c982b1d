"""What probes found, as tables for people."""

from __future__ import annotations

from collections.abc import Sequence

from wordbias.probes.examples import Examples
from wordbias.probes.rows import (
    ACCURACY,
    CODELENGTH,
    COMPRESSION,
    CONTROL,
    PUBLISHED,
    SELECTIVITY,
    TASK,
    UNIFORM,
)
from wordbias.rendering import Table
from wordbias.results import Row, number

Line = tuple[str, str]
Found = dict[tuple[str, str | None], Row]

_HEADS = ("vectors", "layer")
_SHOWN = 8


def code_table(rows: Sequence[Row]) -> Table:
    """One line a layer: compression in bits, as published, and what it is made of."""
    columns = [
        *_HEADS,
        "compression",
        "published",
        "kbit",
        "uniform",
        "accuracy",
        "control",
        "selectivity",
    ]
    cells = [_code_cells(line, found) for line, found in _lines(rows).items()]
    return _without_empty(Table("MDL online code", columns, cells, _about(rows)))


def _code_cells(line: Line, found: Found) -> list[str]:
    control = found.get((COMPRESSION, CONTROL))
    return [
        *line,
        _with_sd(found[COMPRESSION, TASK]),
        number(found[PUBLISHED, TASK].value, 3),
        *(_kbit(found[measure, TASK]) for measure in (CODELENGTH, UNIFORM)),
        _share(found[ACCURACY, TASK]),
        "" if control is None else _with_sd(control),
        "" if control is None else _share(found[SELECTIVITY, None]),
    ]


def accuracy_table(rows: Sequence[Row]) -> Table:
    """One line a layer: accuracy on held-out examples beside the majority and a control."""
    columns = [*_HEADS, "accuracy", "95 %", "majority", "control", "selectivity"]
    cells = [_accuracy_cells(line, found) for line, found in _lines(rows).items()]
    return _without_empty(Table("Probing accuracy", columns, cells, _about(rows)))


def _accuracy_cells(line: Line, found: Found) -> list[str]:
    row, control = found[ACCURACY, TASK], found.get((ACCURACY, CONTROL))
    return [
        *line,
        _with_sd(row),
        f"{number(row.details['low'], 3)} … {number(row.details['high'], 3)}",
        number(row.details["neutral"], 3),
        "" if control is None else _with_sd(control),
        "" if control is None else _share(found[SELECTIVITY, None]),
    ]


def _lines(rows: Sequence[Row]) -> dict[Line, Found]:
    """Sort rows by what was probed and by layer."""
    found: dict[Line, Found] = {}
    for row in rows:
        layer = row.details.get("layer")
        line = (row.subject, "" if layer is None else str(layer))
        found.setdefault(line, {})[row.measure, row.details.get("set")] = row
    return found


def _about(rows: Sequence[Row]) -> str:
    seeds = rows[0].details["seeds"]
    if len(seeds) == 1:
        return f"Seed {seeds[0]}."
    return f"Mean ± standard deviation over {len(seeds)} seeds."


def _without_empty(table: Table) -> Table:
    """Leave out columns in which no line says anything."""
    kept = [i for i in range(len(table.columns)) if any(line[i] for line in table.cells)]
    cells = [[line[i] for i in kept] for line in table.cells]
    columns = [table.columns[i] for i in kept]
    return Table(table.title, columns, cells, table.note)


def _with_sd(row: Row) -> str:
    sd = row.details["sd"]
    return number(row.value, 3) + ("" if sd is None else f" ± {number(sd, 3)}")


def _share(row: Row) -> str:
    return f"{row.value or 0:z.3f}"


def _kbit(row: Row) -> str:
    return number((row.value or 0) / 1000, 3)


def code_closing(rows: Sequence[Row], *, external: bool, last: bool) -> list[str]:
    """Say what the numbers mean: neutral, direction, and the conversion of the published one."""
    row = next(row for row in rows if row.measure == PUBLISHED)
    f1, neutral = row.details["first_share"], row.details["neutral"]
    lines = [
        "Compression = uniform / online codelength, in bits. 1 = the labels cannot be read off the "
        "vectors; higher = more easily; lower is better where they should not be. Learning labels "
        "by heart costs bits, so a probe that finds nothing reads somewhat less than 1, as the "
        "control does: the same vectors with random labels.",
        "As published: cross-entropy in nats added to bits, so that finding nothing reads "
        f"{neutral:.2f}. Converted: 1 / (f + (1/c − f) / ln 2), f = {f1:.4g}, the first block.",
    ]
    if external:
        lines.append(
            "The probes were watched on an external dev set, as published; that is no "
            "code, as a receiver does not have that set."
        )
    if last:
        lines.append("--as-published: the last weights of each probe were used, not its best.")
    return lines


ACCURACY_CLOSING = (
    "Neutral is the majority; lower is better where labels should not be readable. Control: random "
    "labels, learned by heart if at all; selectivity = accuracy − that on the control (Hewitt and "
    "Liang 2019)."
)


def heading(probed: Sequence[tuple[Examples, str]], probe: str) -> list[str]:
    """Say what each file is, and what classes are told apart by what."""
    lines = [f"{examples.name}: {described}." for examples, described in probed]
    for found in dict.fromkeys(examples.classes for examples, _ in probed):
        shown = ", ".join(f"{name:.40}" for name in found[:_SHOWN]) + (
            " …" if len(found) > _SHOWN else ""
        )
        lines.append(f"Classes: {shown}. Probe: {probe}.")
    return lines
