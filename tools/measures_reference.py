"""Write the tables of docs/measures.md and docs/verdicts.md from the measures and the rules.

python tools/measures_reference.py            # write them
python tools/measures_reference.py --check    # fail if they are not what would be written

A table of each area, made of `wordbias/measures/measures.toml`, stands between the lines
``<!-- table: AREA -->`` and ``<!-- end -->`` of docs/measures.md, and the reference values between
``<!-- reference values -->`` and ``<!-- end -->``. docs/verdicts.md has a table of the rules of
each question of `wordbias.verdicts`, and one of the limits of costs, between such lines; docs/rows.md
one of each part of `wordbias/measures/rows.toml`, the keys of rows.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from wordbias.data import reference_path
from wordbias.measures.known import COVERED
from wordbias.measures.registry import FAMILIES, ROW_KEYS, Family, short_title, variant_of
from wordbias.verdicts import LIMITS, RULES

OUTPUT = Path(__file__).resolve().parent.parent / "docs" / "measures.md"
VERDICTS, ROWS = OUTPUT.with_name("verdicts.md"), OUTPUT.with_name("rows.md")
HEAD = [
    "| measure | asks | range | neutral | better | a value near neutral does not mean |",
    "| --- | --- | --- | ---: | --- | --- |",
]
COSTS = "Costs"
BLOCK = re.compile(r"(<!-- table: (.+?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
KEYS = re.compile(r"(<!-- keys: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
KNOWN = re.compile(r"(<!-- reference values -->\n)(.*?)(<!-- end -->)", re.DOTALL)
SHOWN = (
    ("direct-bias", ""),
    ("direct-bias-pca", ""),
    ("sembias-definition", "all"),
    ("sembias-stereotype", "all"),
    ("gipe", "θ=0.03"),
    ("weat", "weat6"),
    ("weat", "weat7"),
    ("similarity", "men"),
)
"""Measures of the table of reference values, each with its variant."""


def written(text: str) -> str:
    """Return the document with its tables up to date."""
    areas = [found[2] for found in BLOCK.finditer(text)]
    lacking = {family.area for family in FAMILIES} ^ set(areas)
    if lacking:
        raise SystemExit(f"{OUTPUT.name}: no table, or no measure, of {', '.join(sorted(lacking))}")
    text = BLOCK.sub(lambda found: f"{found[1]}{table(found[2])}{found[4]}", text)
    return KNOWN.sub(lambda found: f"{found[1]}{reference_table()}{found[3]}", text)


def written_rules(text: str) -> str:
    """Return the document of verdicts with its tables up to date."""
    questions = [found[2] for found in BLOCK.finditer(text)]
    if lacking := {*RULES, COSTS} ^ set(questions):
        raise SystemExit(f"{VERDICTS.name}: no table, or no rules, of {', '.join(sorted(lacking))}")
    return BLOCK.sub(lambda found: f"{found[1]}{_rules(found[2])}{found[4]}", text)


def written_keys(text: str) -> str:
    """Return the document of rows with its tables up to date."""
    return KEYS.sub(lambda found: f"{found[1]}{_keys(found[2])}{found[4]}", text)


def _keys(part: str) -> str:
    lines = [f"| `{key}` | {what} |" for key, what in ROW_KEYS[part].items()]
    return "\n".join(["| key | what it says |", "| --- | --- |", *lines, ""])


def _rules(question: str) -> str:
    if question == COSTS:
        cells = [(what, f"{limit:g}") for what, limit in LIMITS.items()]
        lines = ["| share kept of | at least |", "| --- | ---: |"]
    else:
        cells = [(rule.when, rule.verdict) for rule in RULES[question]]
        lines = ["| the first that holds | verdict |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| {' | '.join(line)} |" for line in cells), ""])


def reference_table() -> str:
    """Return a line for each known embedding: its size, and its values with their chance levels."""
    heads = [f"{short_title(name)} {variant}".strip() for name, variant in SHOWN]
    lines = [
        "| " + " | ".join(["embedding", "words × dimension", *heads]) + " |",
        "| --- | ---: |" + " ---: |" * len(heads),
    ]
    for one in json.loads(reference_path().read_text(encoding="utf-8"))["embeddings"]:
        values = {(row["measure"], variant_of(row["measure"], row)): row for row in one["rows"]}
        size = f"{one['words']:,} × {one['dim']}" if "words" in one else f"{one['table']}"
        cells = [one["name"], size, *(_value(values.get(key)) for key in SHOWN)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def _value(row: dict[str, Any] | None) -> str:
    if row is None or row.get("coverage", 1) < COVERED:
        return "–"
    chance = f" ({row['chance']:.3f})" if "chance" in row else ""
    return f"{row['value']:.3f}{chance}"


def table(area: str) -> str:
    """Return the table of an area, and below it how its families are computed."""
    chosen = [family for family in FAMILIES if family.area == area]
    lines = [*HEAD, *(line for family in chosen for line in _lines(family)), ""]
    lines += [f"- **{family.short}**: {family.description} {family.limits}" for family in chosen]
    return "\n".join([*lines, ""])


def _lines(family: Family) -> Iterator[str]:
    """Yield a line for each question, with all measures that answer it."""
    for _, alike in groupby(family.measures, lambda one: (one.question, one.caution)):
        ones = list(alike)
        cells = [
            ", ".join(f"`{one.name}`" for one in ones),
            ones[0].question,
            _joined(one.scale for one in ones),
            _joined(one.neutral_text for one in ones),
            _joined(one.better_text for one in ones),
            ones[0].caution or "–",
        ]
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _joined(cells: Iterator[str]) -> str:
    """Join the entries of several measures, or return one if all are equal."""
    told = list(cells)
    return told[0] if len(set(told)) == 1 else ", ".join(told)


def main() -> None:
    """Write the tables, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    for path, updated in ((OUTPUT, written), (VERDICTS, written_rules), (ROWS, written_keys)):
        before = path.read_text(encoding="utf-8")
        after = updated(before)
        if not check:
            path.write_text(after, encoding="utf-8")
        elif before != after:
            sys.exit(f"{path.name} is not up to date; run python tools/measures_reference.py")


if __name__ == "__main__":
    main()
