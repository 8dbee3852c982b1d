"""The study's rows arranged as the tables of the paper."""

from __future__ import annotations

from collections.abc import Sequence

from wordbias.commands.mab_views import groups_of, heads
from wordbias.nli.evaluation import BIAS, MEANS
from wordbias.nli.fillers import GENDERS
from wordbias.nli.summary import settings
from wordbias.rendering import Table
from wordbias.results import Row, number

_TITLES = {
    ("explicit", "nouns"): "Table 1, nouns: man, guy, gentleman; woman, girl, lady",
    ("explicit", "pronouns"): "Table 1, pronouns: he; she",
    ("occupations", "occupations"): "Table 2: stereotypical occupations",
    ("names", "names"): "Table 4: first names",
}


def errors_table(rows: Sequence[Row]) -> Table:
    """One line an embedding: accuracy, and E and d of the gendered nouns, with their spread."""
    averaged = [row for row in rows if "seeds" in row.details]
    subjects = list(dict.fromkeys(row.subject for row in averaged))
    first = settings(averaged)[0]
    columns = {
        "dev": ("snli-accuracy", "dev", None),
        "test": ("snli-accuracy", "test", None),
        "E": ("mab-error", *first),
        "d": ("mab-distance", *first),
    }
    shown = {name: what for name, what in columns.items() if _find(averaged, *what)}
    cells = [
        [
            subject,
            *(
                _with_spread(_find([row for row in averaged if row.subject == subject], *what))
                for what in shown.values()
            ),
        ]
        for subject in subjects
    ]
    return Table(
        f"Accuracy, and marked attribute bias of the {first[1]} (± spread over seeds)",
        ["", *shown],
        cells,
        "Accuracy on dev and test: higher is better. E: how far mean probabilities are from "
        "neutral, which is always right; d: how far those of both groups are apart. Both are 0 "
        "without bias, and lower is better.",
    )


def marked_tables(rows: Sequence[Row]) -> list[Table]:
    """Tables 1, 2 and 4: mean (N, E, C) of both groups, d and E, averaged over seeds."""
    averaged = [row for row in rows if "seeds" in row.details]
    subjects = list(dict.fromkeys(row.subject for row in averaged))
    groups = groups_of(averaged)
    titles = _TITLES if groups == GENDERS else {}
    return [
        Table(
            titles.get(key, f"{' and '.join(groups).capitalize()}: {key[1]}"),
            ["", *heads(groups), "d", "E"],
            [[s, *_marked(averaged, s, groups, *key)] for s in subjects],
        )
        for key in settings(averaged)
    ]


def correlation_table(rows: Sequence[Row]) -> Table:
    """One line a measure: how it goes with E."""
    cells = [
        [str(row.details["x"]), number(row.value, 3), str(row.details["n"]), _p(row.details["p"])]
        for row in rows
    ]
    note = "p assumes normal values, and is not corrected for the number of measures."
    columns = ["", "Pearson r", "embeddings", "p"]
    return Table("Table 5: correlation with E, as above", columns, cells, note)


def _marked(
    rows: Sequence[Row], subject: str, groups: Sequence[str], of: str, setting: str
) -> list[str]:
    own = [row for row in rows if row.subject == subject]
    means = [_find(own, measure, of, setting, group) for group in groups for measure in MEANS]
    bias = [_find(own, measure, of, setting) for measure in BIAS[:2]]
    return ["" if row is None else number(row.value, 3) for row in (*means, *bias)]


def _find(
    rows: Sequence[Row], measure: str, of: str, setting: str | None, group: str | None = None
) -> Row | None:
    wanted = (measure, of, setting, group)
    for row in rows:
        got = row.details
        if (row.measure, got.get("set"), got.get("setting"), got.get("group")) == wanted:
            return row
    return None


def _with_spread(row: Row | None) -> str:
    if row is None:
        return ""
    spread = row.details.get("spread")
    return number(row.value) + ("" if spread is None else f" ±{spread:.4f}")


def _p(p: float | None) -> str:
    return "–" if p is None else f"{p:.3f}"
