"""An experiment of a user: a function of an embedding and a seed, measured for arms and seeds."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from wordbias import cells
from wordbias.arguments import seeds_of
from wordbias.configuration import current_config
from wordbias.draws import CONTROLS, seed_change
from wordbias.embedding import Embedding
from wordbias.errors import UsageError, WordbiasError, on_a_line
from wordbias.formats.files import check_writable
from wordbias.functions.arms import DRAWN, divided, open_arms
from wordbias.functions.inputs import as_list, reading
from wordbias.methods.methods import fit_methods
from wordbias.methods.settings import METHODS
from wordbias.nli.arms import drawn_arm
from wordbias.pages.lines import identity, variant
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.results import Row
from wordbias.settings import Configured, read_chain
from wordbias.store import Entry, Store, digest_of, resumable
from wordbias.wordlists import Attribute, GroupsLike
from wordbias.workers import Workers

Measure: TypeAlias = Callable[[Embedding, int], Mapping[str, float | None] | Iterable[Row]]
"""Function of an embedding and a seed, which returns values by name, or rows."""
_KEYS = ("arm", "vectors", "seed")
_OF_ONE = ("seed", "low", "high", "interval", "unit", "p")
"""Details of a row that its mean over seeds has not."""


@dataclass(frozen=True, eq=False)
class Arm:
    """What is measured under a name: an embedding, or one for each seed, and what is done to it."""

    name: str
    base: Mapping[int, Embedding] = field(repr=False)  # the embedding before, by seed
    done: str = ""  # what is done to it, as it was typed
    methods: Sequence[Configured] = ()
    # `null` or `lists`, and the number of draws; seed s gets draw s modulo their number
    drawn: str = ""
    draws: int = 0

    def digest(self, seed: int) -> str:
        """Return a hash of the vectors of a seed, and of what is done to them."""
        embedding = self.base[seed]
        vectors = embedding.vectors if embedding.info is None else embedding.info.sha256
        return digest_of(tuple(embedding.words), vectors, self.done)[:16]

    def embedding_of(self, seed: int, attribute: Attribute | None) -> Embedding:
        """Return the embedding of a seed."""
        embedding = self.base[seed]
        if self.drawn:
            embedding = drawn_arm(self.drawn, {seed: embedding}, self.draws, attribute)[seed]
        elif self.methods:
            embedding = fit_methods(self.methods, embedding, attribute, seed=seed)[1]
        return embedding.renamed(self.name)


@dataclass(frozen=True, eq=False, repr=False)
class Experiment:
    """Measure arms with seeds, and compare each arm with the first, seed by seed.

    Parameters
    ----------
    arms : sequence of str or Embedding, or mapping of str to these
        Embeddings; the others are compared with the first. A text is a file, a fetched name, or
        ``glove{seed}.txt`` for a file of each seed. After ``@`` follows what is done to it: methods
        with their settings (``glove.txt@misp:dims=2``), or draws. ``null:3`` is three random
        removals with the weights of MISP, ``lists:7`` is MISP fitted to seven redraws of the names.
        Seed s gets draw s modulo their number. Without a file before ``@`` it is the first arm's.
    measure : function
        Function of an embedding and a seed, which returns values by their names, or rows. It is
        sent to other processes, and must not depend on the order of the calls.
    seeds : sequence of int
        Seeds, which also fit the methods.
    groups : name, path or mapping, optional
        Groups that methods are fitted to; by default those of each method.

    Examples
    --------
    >>> import wordbias as wb
    >>> def middle(embedding, seed):
    ...     return {"mean-norm": float((embedding.vectors ** 2).sum(1).mean() ** 0.5)}
    >>> experiment = wb.Experiment({"glove": wb.load(), "misp": "@misp", "null": "@null:2"}, middle)
    >>> [row.subject for row in experiment.run()["mean-norm"]]
    ['glove', 'misp', 'null']
    """

    arms: Any
    measure: Measure
    seeds: int | Sequence[int] = (0,)
    groups: GroupsLike | None = None

    def __repr__(self) -> str:
        """Show the function and the numbers of arms and seeds."""
        arms = 1 if isinstance(self.arms, (str, Embedding)) else len(self.arms)
        name = getattr(self.measure, "__name__", "measure")
        return f"<Experiment {name}: {how_many(arms, 'arm')}, {how_many(len(self._seeds), 'seed')}>"

    @property
    def _seeds(self) -> list[int]:
        seeds = list(dict.fromkeys(seeds_of(self.seeds, "seeds")))
        if wrong := [seed for seed in seeds if not isinstance(seed, (int, np.integer)) or seed < 0]:
            raise UsageError(f"seeds: expected whole numbers from 0, got {_excerpt(wrong[0])}")
        return seeds

    def run(self, output: str | os.PathLike[str] | None = None) -> Report:
        """Measure what is not in the output yet, and return all rows.

        Parameters
        ----------
        output : path, optional
            File of results, a line for each arm and seed; the same call resumes from it, and one
            with more arms or seeds adds them.

        Returns
        -------
        Report
            The rows of each arm and seed (`seed`), then their means over seeds (`seeds`, `sd`:
            standard deviation) with the `change` to the first arm. With two seeds or more the
            change has an interval and p of the sign-flip test, paired by seed.

        Raises
        ------
        WordbiasError
            If an arm cannot be opened or made, the output holds results of another function, or
            another process writes it.
        """
        how, seeds = current_config(), self._seeds
        attribute = None if self.groups is None else Attribute.load(self.groups)
        path = None if output is None else Path(output)
        if path is not None:
            check_writable(path)
        arms, inputs = _open(self.arms, seeds)
        about = {"measure": _source_of(self.measure), "groups": attribute and digest_of(attribute)}
        with resumable(path, *([] if path is None else [path]), keep=True):
            store = Store(path, about, _KEYS, what="experiment", draws=False)
            keys = [(name, arm.digest(seed), seed) for name, arm in arms.items() for seed in seeds]
            given = self.measure, arms, attribute
            workers = Workers(how.jobs, how.backend)
            store.complete(keys, _measured, workers, shared=given, what="experiment")
        rows = [row for key in keys for row in store.entries[key].rows]
        means = over_seeds(rows)
        return Report(
            command="Experiment",
            arguments={
                "arms": {name: arm.done for name, arm in arms.items()},
                "seeds": seeds,
                **about,
            },
            inputs=inputs,
            rows=[*rows, *means] if len(seeds) > 1 else means,
            tables=_tables(means, next(iter(arms))),
        )


# Arms


def _open(arms: Any, seeds: Sequence[int]) -> tuple[dict[str, Arm], dict[str, Mapping[str, Any]]]:
    """Open arms and what is known of their files; without an own embedding they share the first."""
    if isinstance(arms, (list, tuple, Mapping)) and not arms:
        raise UsageError("arms: expected one at least")
    given = arms if isinstance(arms, Mapping) else dict(enumerate(as_list(arms)))
    arms_by_name: dict[str, Arm] = {}
    inputs: dict[str, Mapping[str, Any]] = {}
    for label, spec in given.items():
        source, done = divided(spec)
        if source == "" and not arms_by_name:
            raise UsageError(f"arms: the first, {spec!r}, has no embedding; name one before the @")
        if source == "":
            name, base = next((name, arm.base) for name, arm in arms_by_name.items())
        else:
            alone: Any = {label: source} if isinstance(source, Mapping) else [source]
            ((name, opened),) = open_arms(alone, seeds, reading())
            base = {seed: subject.embedding for seed, subject in opened.items()}
            inputs |= {x.embedding.name: x.info.to_dict() for x in opened.values()}
        arm = _arm(label if isinstance(label, str) else f"{name}@{done}".rstrip("@"), base, done)
        if arm.name in arms_by_name:
            raise WordbiasError(f"arms: two are called {arm.name}; give a mapping from names")
        arms_by_name[arm.name] = arm
    return arms_by_name, inputs


def _arm(name: str, base: Mapping[int, Embedding], done: str) -> Arm:
    """Read what is done to the embeddings of an arm."""
    if (match := DRAWN.fullmatch(done)) is not None:
        return Arm(name, base, done, drawn=match[1], draws=int(match[2]))
    if done.partition(":")[0] in CONTROLS:
        raise UsageError(f"arm {done!r}: expected a number of draws from 1, as in null:3")
    return Arm(name, base, done, read_chain(done, METHODS) if done else ())


def _source_of(measure: Measure) -> dict[str, str]:
    """Return the name of a function and, if it has one, the hash of its text."""
    source = {"name": getattr(measure, "__qualname__", type(measure).__qualname__)}
    with suppress(OSError, TypeError):  # typed into a shell, or no function
        source["sha256"] = digest_of(inspect.getsource(measure))
    return source


def _measured(
    measure: Measure,
    arms: Mapping[str, Arm],
    attribute: Attribute | None,
    key: tuple[str, str, int],
) -> Entry:
    """Make the embedding of an arm for a seed, and measure it."""
    name, _, seed = key
    measurement = measure(arms[name].embedding_of(seed, attribute), seed)
    if isinstance(measurement, Mapping):
        measurement = [
            Row(name, measured, _value(measured, number))
            for measured, number in measurement.items()
        ]
    rows = list(measurement) if isinstance(measurement, Iterable) else [measurement]
    if wrong := [row for row in rows if not isinstance(row, Row)]:
        raise UsageError(f"measure: expected values by name, or rows, got {_excerpt(wrong[0])}")
    return Entry(
        [replace(row, subject=name, details={**row.details, "seed": seed}) for row in rows]
    )


def _value(name: str, given: Any) -> float | None:
    """Return a number; None for one that is undefined."""
    try:
        value = math.nan if given is None else float(given)
    except (TypeError, ValueError):
        raise UsageError(f"measure: {name}: expected a number, got {_excerpt(given)}") from None
    return value if math.isfinite(value) else None


def _excerpt(given: Any) -> str:
    return on_a_line(f"{given!r:.60}")


# Means over seeds, and changes


def over_seeds(rows: Sequence[Row]) -> list[Row]:
    """Average rows over seeds, and compare each subject with the first, seed by seed."""
    grouped: dict[tuple[str, ...], dict[str, dict[int, Row]]] = {}
    for row in rows:
        of = grouped.setdefault(identity({**row.to_dict(), "subject": ""}), {})
        of.setdefault(row.subject, {})[row.details["seed"]] = row
    first = rows[0].subject if rows else ""
    return [
        _mean(by_seed, subjects.get(first, {}) if subject != first else {})
        for subjects in grouped.values()
        for subject, by_seed in subjects.items()
    ]


def _mean(by_seed: Mapping[int, Row], first: Mapping[int, Row]) -> Row:
    row = next(iter(by_seed.values()))
    details = {key: detail for key, detail in row.details.items() if key not in _OF_ONE}
    values = {
        seed: seed_row.value for seed, seed_row in by_seed.items() if seed_row.value is not None
    }
    details["seeds"] = len(values)
    if not values:
        return Row(row.subject, row.measure, None, details)
    seed_values = np.array(list(values.values()))
    details["sd"] = float(seed_values.std(ddof=1)) if len(seed_values) > 1 else None
    before = {
        seed: seed_row.value for seed, seed_row in first.items() if seed_row.value is not None
    }
    changes = [values[seed] - before[seed] for seed in values if seed in before]
    details |= seed_change(changes) if changes else {}
    return Row(row.subject, row.measure, float(seed_values.mean()), details)


def _tables(means: Sequence[Row], first: str) -> list[Table]:
    """Make a table for each measure, a line for each arm."""
    note = "Differences of the same seed in pairs: Student's t, exact sign-flip test."
    columns = values("mean", ("± sd", cells.detail("sd")))
    columns += values((f"change from {first}, 95 %", cells.change), "p")
    of: dict[str, list[Row]] = {}
    for row in means:
        of.setdefault(" ".join(filter(None, [row.measure, variant(row.to_dict())])), []).append(row)
    return [pivot(title, rows, "subject", columns, note) for title, rows in of.items()]
