"""What `wordbias project` says: the subspaces it fitted, what it left out, what it wrote."""

from __future__ import annotations

from collections.abc import Sequence

from wordbias.contextual.adapters import Adapter
from wordbias.contextual.folding import Folded
from wordbias.contextual.settings import SENT_DEBIAS
from wordbias.rendering import Table, how_many
from wordbias.results import Row, number


def adapter_tables(rows: Sequence[Row], subject: str) -> list[Table]:
    """One line a site: shares of variance, and how steady the first component is."""
    places = list(dict.fromkeys(row.details["site"] for row in rows))
    return [
        Table(
            f"Subspaces of {subject}, fitted to differences of paired sentences",
            ["site", "pairs", "1st", "others", "steady", "95 %"],
            [_line([row for row in rows if row.details["site"] == site]) for site in places],
            "1st, others: share of the differences' variance that a component has, at query, key "
            "and value the median over the heads and their range. steady: cosine of the first "
            "component with that of pairs drawn again; 1 is best.",
        )
    ]


def _line(rows: Sequence[Row]) -> list[str]:
    shares = [row for row in rows if row.measure == "explained-variance"]
    steady = [row for row in rows if row.measure == "direction-stability"]
    first = shares[0].details
    others = ", ".join(number(row.value, 3) for row in shares[1:])
    if "heads" in first:
        ends = f"{number(first['lowest'], 3)} … {number(first['highest'], 3)}"
        others = f"{ends} in {first['heads']} heads"
    return [
        first["site"],
        str(first["n"]),
        number(shares[0].value, 3),
        others or "–",
        *([number(steady[0].value, 3), _interval(steady[0])] if steady else ["–", "–"]),
    ]


def _interval(row: Row) -> str:
    return f"{number(row.details['low'], 2)} … {number(row.details['high'], 2)}"


def left_out_line(adapter: Adapter) -> list[str]:
    """Say which pairs some sites, or all, went without."""
    left, pairs = adapter.facts["left_out"], how_many(adapter.facts["pairs"], "pair")
    same = [item for item in left if item["tokens"] is None]
    uneven = [item for item in left if item["tokens"] is not None]
    lines = []
    if uneven and adapter.facts["tokens"] != "cls":
        a, b = uneven[0]["tokens"]
        lines.append(
            f"left out where tokens are compared, for they do not align: {len(uneven)} of {pairs}, "
            f"the first: {_shown(uneven[0])}, {a} and {b} tokens"
        )
    if same:
        lines.append(
            f"left out, for they are the same tokens to the tokenizer: {len(same)} of {pairs}, "
            f"the first: {_shown(same[0])}"
        )
    return lines


def _shown(item: dict[str, list[str]]) -> str:
    return " / ".join(item["pair"])


def written_lines(
    adapter: Adapter, folded: Folded | None, output: str | None, folder: str | None
) -> list[str]:
    """Say what was written, and what could not be folded."""
    lines = []
    if adapter.sent_debias is not None:
        share, n = adapter.sent_debias.weights[0], adapter.facts["sent_debias"]["pairs"]
        lines.append(f"Baseline {SENT_DEBIAS}: {number(share, 3)} of the variance of {n:,} pairs.")
    if output is not None:
        lines.append(f"Written: {output}")
    if folded is not None:
        done = ", ".join(str(it.site) for it in folded.folded) or "nothing"
        lines.append(f"Written: {folder}, with {done} in its weights")
        lines += [f"Not folded, {it.site}: {reason}." for it, reason in folded.left]
    if not lines or (output is None and folded is None):
        lines.append("Nothing written; -o ADAPTER writes the subspaces.")
    return lines
