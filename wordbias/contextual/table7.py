"""The table of all settings (Dawkins et al. 2024, Table 7), and its summaries, Tables 5 and 6.

η is always parity · accuracy: one printed η, that of SENT with n_p = 1, repeats the line above it.
"""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wordbias.columns import read
from wordbias.contextual.nli_fairness import DROP, is_viable
from wordbias.draws import SAMPLE
from wordbias.errors import WordbiasError
from wordbias.models.settings import LEVELS, Settings
from wordbias.results import Row
from wordbias.rows import read_rows
from wordbias.statistics import Array, percentile_interval, resamples
from wordbias.text_files import OPENERS, opened

BASE, SENT_DEBIAS = "Base", "Sent-debias"
ALL = "all"
ROUNDED = 1.5e-4
"""How far a printed η may be from printed parity · accuracy, four digits each."""
_ETA = "nli-fairness"
_MEASURED = ("strength", "distance", "nli-parity", "nli-accuracy", "snli-accuracy", _ETA)
_SETTINGS = "settings (n11 c11 n12 c12 np)"
_HEADS = "heads"
_LONGEST_HEADER = 4096
_SHARED = ("setting", "level", "version", "subset", "parity", "n", "neutral", "better")
"""Details that the rows of all heads have in common."""
OF_ITEMS = ("strength", "distance", "fairness")
"""S, D and η: the values of a model whose items can be drawn again."""
_NUMBERS = ("strength", "distance", "parity", "accuracy", "fairness", "snli_accuracy")


@dataclass(frozen=True)
class Entry:
    """One model of a sweep."""

    level: str  # base, Sent-debias, or the earliest intervention: one of the `LEVELS` of settings
    numbers: tuple[int, ...]  # numbers of its setting, as printed; none for Base and Sent-debias
    strength: float  # s and D on enhanced StereoSet: lower is better
    distance: float
    parity: float  # on the NLI pairs; higher is better
    accuracy: float
    snli: float
    printed: float | None = None  # η as printed in a table that was read; None otherwise
    heads: int = 1  # number of heads that the values are means over
    mean_fairness: float | None = None  # mean η of several heads; None for one
    # bootstrap values of `OF_ITEMS` over the items, the same ones for all models of a sweep; empty
    # without draws
    samples: Mapping[str, Array] = field(default_factory=dict, compare=False, repr=False)

    @property
    def fairness(self) -> float:
        """η = accuracy · parity; of several heads the mean of theirs."""
        return self.accuracy * self.parity if self.mean_fairness is None else self.mean_fairness

    @property
    def name(self) -> str:
        """Level and numbers: ``L11-01110``."""
        return "-".join([self.level, *(["".join(map(str, self.numbers))] if self.numbers else [])])

    @property
    def weighted(self) -> bool:
        """Return whether n_p is 1: the sentence's vector is projected softly."""
        return self.numbers[-1:] == (1,)


def load_table(path: str | Path) -> list[Entry]:
    """Read a table of all settings."""
    if Path(path).suffix.lower() == ".json":
        return _of_result(Path(path))
    columns = ["level", _SETTINGS, *_NUMBERS, _HEADS]
    table = read(path, columns, optional=[_HEADS], blank=[_SETTINGS], strip=True, kind="csv")
    entries = []
    for where, row in table.rows():
        try:
            entries.append(_entry(row))
        except (ValueError, KeyError) as error:
            raise WordbiasError(f"{where}: {error}") from None
    return entries


def _of_result(path: Path) -> list[Entry]:
    """Read the models of a saved sweep, with their draws."""
    rows = [row for row in read_rows(path) if row.measure in _MEASURED]
    if any("head" in row.details for row in rows):
        raise WordbiasError(f"{path}: a sweep of several heads; give its table, which has means")
    parity = next((row.details.get("parity") for row in rows if row.measure == _ETA), None)
    version = next((row.details.get("version") for row in rows), None)
    if parity is None or version is None:
        raise WordbiasError(f"{path}: expected the result of a sweep on --stereoset and --nli")
    of: dict[str, list[Row]] = {}
    try:
        for row in rows:
            of.setdefault(row.details["setting"], []).append(row)
        return [entry(name, model_rows, parity, version) for name, model_rows in of.items()]
    except (KeyError, ValueError):
        raise WordbiasError(
            f"{path}: expected {', '.join(_MEASURED)} of each setting once; give the result as "
            "wordbias sweep wrote it"
        ) from None


def entry(name: str, rows: Sequence[Row], parity: str, version: str) -> Entry:
    """Return a model's line of Table 7 from its rows."""
    level, _, digits = name.rpartition("-") if name not in (BASE, SENT_DEBIAS) else (name, "", "")

    def row_of(measure: str, **details: str) -> Row:
        (row,) = (
            row
            for row in rows
            if row.measure == measure
            and all(row.details.get(key) == wanted for key, wanted in details.items())
        )
        return row

    s, d = (row_of(measure, version=version) for measure in OF_ITEMS[:2])
    others = row_of("nli-parity", parity=parity), row_of("nli-accuracy"), row_of("snli-accuracy")
    eta = [row for row in rows if (row.measure, row.details.get("parity")) == (_ETA, parity)]
    values = [row.value for row in (s, d, *others) if row.value is not None]
    if len(values) < 5:
        raise WordbiasError(f"{name}: expected finite numbers")
    strength, distance, parity_of, accuracy, snli = values
    draws = zip(OF_ITEMS, (s, d, *eta), strict=False)
    samples = {key: row.draws[SAMPLE].values for key, row in draws if SAMPLE in row.draws}
    numbers = tuple(map(int, digits))
    return Entry(level, numbers, strength, distance, parity_of, accuracy, snli, samples=samples)


def is_table(path: str | Path) -> bool:
    """Return whether a file begins as a table of all settings; no more of it is read."""
    opener = OPENERS.get(Path(path).suffix.lower(), open)
    with suppress(OSError, EOFError, zlib.error, lzma.LZMAError):
        if Path(path).is_file():
            with opened(path, opener) as file:
                return _SETTINGS.encode() in file.readline(_LONGEST_HEADER)
    return False


def records(entries: Sequence[Entry]) -> list[dict[str, str | float]]:
    """Return the table with the columns of the published one, as `load_table` reads it."""
    return [
        {
            "level": line.level,
            _SETTINGS: " ".join(map(str, line.numbers)),
            "strength": line.strength,
            "distance": line.distance,
            "parity": line.parity,
            "accuracy": line.accuracy,
            "fairness": line.fairness,
            "snli_accuracy": line.snli,
            **({_HEADS: line.heads} if line.heads > 1 else {}),
        }
        for line in entries
    ]


def misprints(entries: Sequence[Entry]) -> list[Entry]:
    """Return the models whose printed η is not the product of their parity and accuracy."""
    return [
        line
        for line in entries
        if line.printed is not None and abs(line.printed - line.fairness) > ROUNDED
    ]


def _entry(row: dict[str, str]) -> Entry:
    level, numbers = row["level"], tuple(map(int, row[_SETTINGS].split()))
    if level not in (BASE, SENT_DEBIAS):
        if level not in LEVELS:
            raise WordbiasError(
                f"level {level!r}: expected one of {', '.join((BASE, SENT_DEBIAS, *LEVELS))}"
            )
        Settings.parse(f"{level}-{''.join(map(str, numbers))}")
    s, d, parity, accuracy, eta, snli = (float(row[name]) for name in _NUMBERS)
    if not np.isfinite([s, d, parity, accuracy, eta, snli]).all():
        raise WordbiasError("expected finite numbers")
    if int(row.get(_HEADS, "1")) > 1:
        several = int(row[_HEADS])
        return Entry(level, numbers, s, d, parity, accuracy, snli, None, several, eta)
    return Entry(level, numbers, s, d, parity, accuracy, snli, eta)


def mean_entries(tables: Sequence[Sequence[Entry]]) -> list[Entry]:
    """Return the means of the tables of several heads, which have the same settings."""
    # η is the mean of the heads' η, not the product of mean parity and accuracy.
    if len(tables) == 1:
        return list(tables[0])
    means = []
    for alike in zip(*tables, strict=True):
        values = [
            (line.strength, line.distance, line.parity, line.accuracy, line.snli, line.fairness)
            for line in alike
        ]
        s, d, parity, accuracy, snli, eta = np.mean(values, axis=0).tolist()
        level, numbers = alike[0].level, alike[0].numbers
        several = len(tables)
        means.append(Entry(level, numbers, s, d, parity, accuracy, snli, None, several, eta))
    return means


def levels_of(entries: Sequence[Entry]) -> list[str]:
    """Return the levels of entries, the one with the fewest interventions first."""
    present = {line.level for line in entries}
    return [level for level in LEVELS if level in present]


# Table 5


class Best(NamedTuple):
    """A line of Table 5: the best models of a level; `fairness` among the viable ones, if any."""

    level: str
    strength: Entry
    distance: Entry
    fairness: Entry | None


class Printed(NamedTuple):
    """A line of Table 5 as it is printed, numbers of settings as text."""

    strength: float
    strength_of: str
    distance: float
    distance_of: str
    fairness: float
    snli: float
    fairness_of: str


PRINTED_TABLE_5 = {
    "SENT": Printed(0.3077, "0", 0.5972, "0", 0.1231, 0.8458, "0"),
    "L12": Printed(0.2878, "000", 0.5318, "110", 0.1368, 0.8684, "001"),
    "L11": Printed(0.2465, "00010", 0.4486, "01110", 0.6493, 0.8370, "00111"),
    "attn": Printed(0.1938, "00100", 0.3681, "00110", 0.4120, 0.8481, "11001"),
}


def best_by_level(
    entries: Sequence[Entry], drop: float = DROP, *, relative: bool = False
) -> list[Best]:
    """Return Table 5: for each level the lowest S, the lowest D, and the highest viable η."""
    base = [line.snli for line in entries if line.level == BASE]
    if not base:
        raise WordbiasError("no model is the base; viability compares with its SNLI accuracy")
    table_5 = []
    for level in levels_of(entries):
        models = [line for line in entries if line.level == level]
        viable = [
            model for model in models if is_viable(model.snli, base[0], drop, relative=relative)
        ]
        s, d = (min(models, key=attrgetter(name)) for name in ("strength", "distance"))
        eta = max(viable, key=attrgetter("fairness"), default=None)
        table_5.append(Best(level, s, d, eta))
    return table_5


def mean_rows(heads: Sequence[Sequence[Row]], seeds: Sequence[int]) -> list[Row]:
    """Return the rows of several heads, with the seed of each as `head`, and their means."""
    # The rows are alike in all heads; those of a single one without a seed are returned as they
    # are.
    if not seeds:
        return list(heads[0])
    every = [
        [replace(row, details={**row.details, "head": seed}) for row in rows]
        for seed, rows in zip(seeds, heads, strict=True)
    ]
    means = []
    for alike in zip(*every, strict=True) if len(seeds) > 1 else ():
        values = np.array([row.value for row in alike], np.float64)
        shared = {key: alike[0].details[key] for key in _SHARED if key in alike[0].details}
        details = {**shared, "heads": list(seeds), "sd": float(values.std(ddof=1))}
        means.append(Row(alike[0].subject, alike[0].measure, float(values.mean()), details))
    return [*(row for rows in every for row in rows), *means]


def best_names(table_5: Sequence[Best]) -> list[str]:
    """Return the names of the settings in Table 5, each once."""
    chosen = [line for best in table_5 for line in (best.strength, best.distance, best.fairness)]
    return list(dict.fromkeys(line.name for line in chosen if line is not None))


def differences(table_5: Sequence[Best]) -> list[str]:
    """Return the differences between Table 5 computed from Table 7 and the printed one."""
    lines = []
    for best in table_5:
        printed = PRINTED_TABLE_5[best.level]
        cells = [
            ("S", best.strength, best.strength.strength, printed.strength, printed.strength_of),
            ("D", best.distance, best.distance.distance, printed.distance, printed.distance_of),
        ]
        if best.fairness is not None:
            cells.append(
                ("η", best.fairness, best.fairness.fairness, printed.fairness, printed.fairness_of)
            )
        for name, entry, value, was, of in cells:
            if abs(value - was) > ROUNDED or _digits(entry) != of:
                lines.append(
                    f"{best.level} {name}: printed {was:.4f} ({of}), best is {value:.4f} "
                    f"({_digits(entry)})"
                )
        if best.fairness is None:
            lines.append(f"{best.level} η: printed {printed.fairness:.4f}, no model is viable")
    return lines


def _digits(entry: Entry) -> str:
    return "".join(map(str, entry.numbers))


# Table 6


class Weighting(NamedTuple):
    """A line of Table 6: mean SNLI accuracy of pairs that differ in n_p only."""

    # `sd` is of the increases, ddof 1; None for a single pair. `improved` counts the increases.

    level: str
    pairs: int
    hard: float
    soft: float
    increase: float
    sd: float | None
    improved: int


class Attention(NamedTuple):
    """Number of settings of layer 11 with a lower S with attention; the numbers of the others."""

    pairs: int
    improved: int
    others: tuple[tuple[int, ...], ...]


class Correlation(NamedTuple):
    """Spearman's ρ of S and η over `n` models, with a bootstrap interval over the models."""

    rho: float
    p: float
    n: int
    low: float
    high: float


def weighting(entries: Sequence[Entry]) -> list[Weighting]:
    """Return Table 6: the effect of n_p = 1 on SNLI accuracy, by level and overall."""
    pairs = {
        level: [(hard.snli, soft.snli) for hard, soft in _soft(entries) if hard.level == level]
        for level in levels_of(entries)
    }
    pairs[ALL] = [pair for level in pairs.values() for pair in level]
    return [
        _weighting(level, np.array(accuracies)) for level, accuracies in pairs.items() if accuracies
    ]


def attention(entries: Sequence[Entry]) -> Attention:
    """Compare each setting of layer 11 with the one that has attention too, by S."""
    before = {line.numbers: line for line in entries if line.level == "L11"}
    after = {line.numbers: line for line in entries if line.level == "attn"}
    both = [numbers for numbers in before if numbers in after]
    others = [n for n in both if after[n].strength >= before[n].strength]
    return Attention(len(both), len(both) - len(others), tuple(others))


def correlation(entries: Sequence[Entry], seed: int = 0) -> Correlation:
    """Correlate S and η over all models, as the paper does."""
    # Dawkins et al. (2024) print ρ = 0.040 (p = 0.73); their Table 7 gives −.041: the sign was
    # lost.
    from scipy.stats import spearmanr

    x = np.array([[line.strength, line.fairness] for line in entries])
    if len(x) < 3 or not np.ptp(x, axis=0).all():
        raise WordbiasError("Spearman's correlation needs at least 3 models that differ in S and η")
    spearman = spearmanr(x[:, 0], x[:, 1])
    rng = np.random.default_rng(seed)
    drawn = [x[rows] for block in resamples(len(x), rng) for rows in block]
    rhos = [spearmanr(*rows.T).statistic for rows in drawn if np.ptp(rows, axis=0).all()]
    interval = percentile_interval(np.array(rhos))
    return Correlation(float(spearman.statistic), float(spearman.pvalue), len(x), *interval)


def weighting_rows(entries: Sequence[Entry], subject: str) -> list[Row]:
    """Return Table 6 as rows."""
    rows = []
    for effect in weighting(entries):
        about = {
            "level": effect.level,
            "n": effect.pairs,
            "sd": effect.sd,
            "improved": effect.improved,
        }
        about |= {"hard": effect.hard, "soft": effect.soft, "neutral": 0, "better": "higher"}
        rows.append(Row(subject, "snli-increase", effect.increase, about))
    return rows


def summary_rows(entries: Sequence[Entry], subject: str, seed: int = 0) -> list[Row]:
    """Return Table 6, the counts and the correlation as rows."""
    rows = weighting_rows(entries, subject)
    comparison = attention(entries)
    if comparison.pairs:
        about = {
            "n": comparison.pairs,
            "improved": comparison.improved,
            "neutral": 0.5,
            "better": "higher",
        }
        rows.append(
            Row(subject, "attention-improves", comparison.improved / comparison.pairs, about)
        )
    rho, *around = correlation(entries, seed)
    about = dict(zip(Correlation._fields[1:], around, strict=True))
    about |= {"neutral": 0, "better": "neutral", "seed": seed}
    return [*rows, Row(subject, "spearman-strength-fairness", rho, about)]


def _soft(entries: Sequence[Entry]) -> list[tuple[Entry, Entry]]:
    """Pair each setting with n_p = 0 with the one that has n_p = 1."""
    known = {(line.level, line.numbers): line for line in entries if line.weighted}
    pairs = []
    for model in entries:
        other = known.get((model.level, (*model.numbers[:-1], 1)))
        if model.numbers and not model.weighted and other is not None:
            pairs.append((model, other))
    return pairs


def _weighting(level: str, snli: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> Weighting:
    hard, soft = snli.mean(0)
    more = snli[:, 1] - snli[:, 0]
    sd = float(more.std(ddof=1)) if len(more) > 1 else None
    improved = int((more > 0).sum())
    return Weighting(level, len(more), float(hard), float(soft), float(more.mean()), sd, improved)
