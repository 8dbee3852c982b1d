"""Rewriting of texts, in a file or in memory: scrub, balance, swap, anonymise."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from wordbias import cells
from wordbias.calls import path_of, public
from wordbias.configuration import current_config, uses
from wordbias.errors import UsageError, WordbiasError, need
from wordbias.formats.files import check_outputs
from wordbias.formats.tables import kind_of
from wordbias.functions.inputs import names_of
from wordbias.outcomes.anonymise import Anonymiser, GivenSpans, SpacyFinder
from wordbias.outcomes.balance import Balance, Balanced, balance
from wordbias.outcomes.records import Record, RecordFile, RecordsInMemory, as_cell, check_same_form
from wordbias.outcomes.rewrite import (
    AugmentStage,
    Stage,
    Tally,
    TextMethod,
    TextStage,
    Where,
    in_random_order,
    through,
)
from wordbias.outcomes.rewrite import rewrite as write
from wordbias.outcomes.scrub import (
    ExtraScrubber,
    Found,
    Scrubber,
    Settings,
    find_words,
    gendered_words,
    register,
)
from wordbias.outcomes.settings import (
    METHODS,
    Anonymise,
    ExtraScrub,
    Oversample,
    Scrub,
    Subsample,
    Swap,
    TextSettings,
)
from wordbias.outcomes.swap import Swapper
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, as_paragraph, how_many
from wordbias.reports import Report
from wordbias.results import Row, number
from wordbias.settings import MethodsLike, read_chain, text_of
from wordbias.wordlists import Attribute, GroupsLike, other_than_gender, wordlist
from wordbias.wordlists.rewriting import identifying_words, swaps

if TYPE_CHECKING:
    import pandas

    Texts: TypeAlias = str | os.PathLike[str] | Sequence[str] | pandas.Series | pandas.DataFrame

_BALANCING: Mapping[str, Balance] = {"subsample": "subsample", "oversample": "oversample"}
_CHANGING_WORDS = ("scrub", "swap", "anonymise", "extra-scrub")
_MOST = 10
_SHOWN = 1_000

Names = str | Sequence[str]


@dataclass(frozen=True, eq=False)
class Rewritten:
    """Rewritten texts: a file, or in memory.

    Attributes
    ----------
    report
        Counts of the changes.
    path
        File that was written, or None. The object itself can be used as a path.
    column
        Column of the texts.
    """

    report: Report = field(repr=False)
    path: str | None
    column: str
    _data: Any = field(default=None, repr=False)
    _records: Sequence[Record] | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        path = "" if self.path is None else f" in {self.path}"
        return f"<Rewritten: {how_many(len(self), 'text')}{path}>"

    def _repr_html_(self) -> str:
        """Show the changes in a notebook."""
        return f"{as_paragraph(repr(self))}\n{self.report._repr_html_()}"

    def __fspath__(self) -> str:
        if self.path is None:
            raise WordbiasError("nothing was written; give output=, or take .texts or .frame")
        return self.path

    def __len__(self) -> int:
        return int(self.report["rows-written"][0].value or 0)

    @cached_property
    def texts(self) -> list[str] | pandas.Series:
        """Return the rewritten texts; a series if the data are a series or a frame."""
        texts = [record[self.column] for record in self._all_records]
        if not hasattr(self._data, "iloc"):
            return texts
        if hasattr(self._data, "columns"):
            return self.frame[self.column]
        places = [record.number - 1 for record in self._all_records]
        return type(self._data)(texts, index=self._data.index[places], name=self._data.name)

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """Return the rewritten rows as a pandas frame, with all columns of the data."""
        if not hasattr(self._data, "columns"):
            frames = need("pandas", extra="pandas", purpose="A frame")
            if hasattr(self._data, "iloc"):
                return frames.DataFrame({self.column: self.texts})
            rows = [{name: record[name] for name in record.places} for record in self._all_records]
            return frames.DataFrame(rows, columns=None if rows else [self.column])
        frame = self._data.iloc[[record.number - 1 for record in self._all_records]].copy()
        for column in self._all_records[0].places if self._all_records else ():
            old, new = frame[column].tolist(), [record[column] for record in self._all_records]
            if new != list(map(as_cell, old)):
                known = {as_cell(value): value for value in self._data[column].tolist()}
                frame[column] = [known.get(value, value) for value in new]
        return frame

    @cached_property
    def _all_records(self) -> Sequence[Record]:
        if self._records is not None:
            return self._records
        path = Path(self.path or "")
        named = None if kind_of(path) == "plain" else self.column
        return list(RecordFile.open(path, text=named)) if len(self) else []


@public
@uses("skip_bad")
def rewrite(
    methods: MethodsLike,
    data: Texts,
    *,
    output: str | os.PathLike[str] | None = None,
    text_column: str | None = None,
    where: Mapping[str, Names] | None = None,
    groups: GroupsLike | None = None,
    shuffle: bool = False,
    seed: int = 0,
) -> Rewritten:
    """Rewrite the texts in ``data`` by ``methods``, one or several separated by commas, in order.

    ``data`` is plain text, one text per line, or has columns (.tsv, .csv, .jsonl). It may be
    compressed, and of any size. The output has the same format, and all else in it is unchanged.

    Parameters
    ----------
    methods : str, method such as Scrub(mask="*"), or sequence of these
        Some of scrub, extra-scrub, subsample, oversample, swap, anonymise. Settings follow the name
        of their method: oversample:labels=profession:sensitive=gender.
    data : path, sequence or series of str, or frame
        The texts; methods that need columns take a file or a frame.
    output : path, optional
        File to write, compressed by its suffix.
    text_column : str, optional
        Column of the texts.  [default: text, sentence]
    where : mapping of column to value or values, optional
        Rewrite only rows with this value, and copy the others; may be repeated.
    groups : name, path or mapping, optional
        scrub, swap: groups, such as gender, gender-fr, age, … (wordbias lists), or a TOML file.
    shuffle : bool
        Write the rows in random order.
    seed : int
        Seed of everything random.

    Returns
    -------
    Rewritten
        Its ``texts`` are a list, or a series if the data are one. Its ``frame`` has the other
        columns, too. With ``output`` a file is never in memory as a whole, unless these are used.

    Raises
    ------
    WordbiasError
        If the data cannot be read, or a method or setting is not known or lacks.

    References
    ----------
    De-Arteaga, M., et al. (2019). Bias in Bios: A Case Study of Semantic Representation Bias in a
    High-Stakes Setting. FAT*.

    Zhao, J., Wang, T., Yatskar, M., Ordonez, V., and Chang, K.-W. (2018). Gender Bias in
    Coreference Resolution: Evaluation and Debiasing Methods. NAACL.

    Orgad, H., Goldfarb-Tarrant, S., and Belinkov, Y. (2022). How Gender Debiasing Affects Internal
    Model Representations, and Why It Matters. NAACL.

    Examples
    --------
    >>> import wordbias as wb
    >>> wb.rewrite("scrub", ["She is a nurse.", "A text."]).texts
    ['_ is a nurse.', 'A text.']
    >>> wb.rewrite("swap", ["She sold her car."]).texts
    ['He sold his car.']
    """
    chosen = _chosen(methods)
    if groups is not None:
        _refuse_groups(chosen)
    target = path_of(output)
    if target is not None:
        files = {f"{choice._name}:words": getattr(choice, "words", None) for choice in chosen}
        _check_output(target, path_of(data), {**files, "--groups": groups})
    selection = {column: _values(value) for column, value in (where or {}).items()}
    columns = [*selection, *(column for choice in chosen for column in _columns(choice))]
    file = _opened(data, text_column, columns, current_config().skip_bad)
    other = other_than_gender(groups)
    stages: list[Stage] = []
    tallies: list[Tally] = []
    balanced: Balanced | None = None
    extra: dict[str, Found] = {}
    for method in chosen:
        change: TextMethod
        if isinstance(method, (Subsample, Oversample)):
            how = _BALANCING[method._name]
            balanced = balance(
                file, how, method.labels, method.sensitive, where=selection, seed=seed
            )
            stages.append(balanced)
            tallies.append(balanced.tally)
            continue
        if isinstance(method, Scrub):
            change = _scrubber(method, other)
        elif isinstance(method, ExtraScrub):
            so_far = _so_far(file, stages, tallies, selection)
            settings = Settings(
                method.rounds, method.words_per_round, method.splits, method.until, seed
            )
            extra = find_words(so_far, file.text, method.sensitive, method.within, settings)
            words = {value: search.words() for value, search in extra.items()}
            change = ExtraScrubber(words, method.within, method.mask)
        elif isinstance(method, Swap):
            named = method.first_names
            change = Swapper.of(other) if other else Swapper.built_in(with_names=named)
        else:
            assert isinstance(method, Anonymise)
            places = tuple(names_of(method.spans))
            finder = GivenSpans(places) if places else SpacyFinder.of(method.spacy)
            change = Anonymiser(finder, frozenset(names_of(method.entities)))
        values = _exchanged(method) if isinstance(method, Swap) else {}
        stage = TextStage(change, file, Tally(method._name), selection, values)
        augments = isinstance(method, Swap) and method.keep_original
        stages.append(AugmentStage(stage) if augments else stage)
        tallies.append(stage.tally)

    read, written, records = _run(file, stages, target, seed if shuffle else None)
    subject, path = file.path.name, path_of(data)
    nothing = [] if path is None else ["Nothing written; -o FILE writes the result."]
    spans = any(isinstance(choice, Anonymise) and choice.spans for choice in chosen)
    moved = ["columns of spans are kept; they refer to the original text"] if spans else []
    counts = [row for tally in tallies for row in _tally_rows(tally, subject)]
    sizes = [*_cell_rows(balanced, subject)] if balanced else []
    report = Report(
        inputs={subject: {"path": path or "memory", "rows": read, "text": file.text}},
        rows=[
            Row(subject, "rows-read", read, {"n": read}),
            Row(subject, "rows-written", written, {"n": written}),
            *counts,
            *sizes,
            *(
                row
                for value, search in extra.items()
                for row in _round_rows(search, value, subject)
            ),
        ],
        tables=[
            _tally_table(f"{subject}: {how_many(read, 'row')} read", counts),
            *([_balance_table(balanced, sizes)] if balanced else []),
            *(_words_table(tally) for tally in tallies if tally.words),
            *(_rounds_table(search, value) for value, search in extra.items()),
        ],
        closing=[f"Written: {target}, {how_many(written, 'row')}."] if target else nothing,
        seed=seed,
        notes=[*_notes(file, balanced, tallies), *moved],
    )
    return Rewritten(report, target, file.text, None if path else data, records)


def _chosen(methods: MethodsLike) -> list[TextSettings]:
    """Return the methods, and check their order and what they need."""
    chain = read_chain(methods, METHODS)
    names, text = [step.name for step in chain], text_of(chain)
    if not names:
        raise UsageError(f"methods: expected some of {', '.join(METHODS)}")
    for name in names:
        if names.count(name) > 1 or len(set(names) & set(_BALANCING)) > 1:
            raise UsageError(f"{text}: one method of a kind is enough; leave one out")
    for name in _BALANCING:
        if name in names[1:]:
            raise UsageError(f"{text}: {name} counts the original rows; put it first")
    chosen = [METHODS[step.name](**step.settings) for step in chain]
    for place, method in enumerate(chosen):
        if any(character in getattr(method, "mask", "") for character in "\t\r\n"):
            raise UsageError(f"{method._name}: mask: expected one without tabs and line breaks")
        if isinstance(method, Anonymise):
            _check_spans(method, names[:place])
    return chosen


def _check_spans(method: Anonymise, before: Sequence[str]) -> None:
    """Refuse spans that are missing, or that methods before would move."""
    spans = names_of(method.spans)
    if bool(spans) == (method.spacy is not None):
        raise UsageError("anonymise needs spans=COLUMNS or spacy=MODEL, one of the two")
    if len(spans) > 2:
        raise UsageError("anonymise: spans are one column with a list, or two with start and end")
    for name in before if spans else ():
        if name not in _BALANCING:
            raise UsageError(
                f"{name} before anonymise: would move the spans; write anonymise,{name}"
            )


def _refuse_groups(chosen: Sequence[TextSettings]) -> None:
    """Refuse groups that no method uses, and settings that are about gender."""
    if not any(isinstance(choice, (Scrub, Swap)) for choice in chosen):
        raise UsageError("--groups is for scrub and swap")
    for method in chosen:
        if getattr(method, "as_published", False) or (
            isinstance(method, Swap) and method.first_names
        ):
            raise UsageError(
                "scrub:as-published and swap:first-names are about gender, not --groups"
            )


def _columns(method: TextSettings) -> Iterator[str]:
    """Yield the columns that a method reads."""
    for name in ("labels", "sensitive", "within"):
        if (column := getattr(method, name, None)) is not None:
            yield column
    for name in ("names_column", "spans"):
        yield from names_of(getattr(method, name, None))
    if isinstance(method, Swap):
        yield from _exchanged(method)


def _scrubber(method: Scrub, other: Attribute | None) -> Scrubber:
    """Return what masks the words of a scrub, of gender or of another attribute."""
    further = () if method.words is None else wordlist(method.words)
    own = identifying_words(other) if other else gendered_words(method.as_published)
    return Scrubber(
        own | {word.lower() for word in further},
        small_only=frozenset() if other else swaps().small_only,
        columns=tuple(names_of(method.names_column)),
        first_names=register() if method.first_names else frozenset(),
        mask=method.mask,
        as_published=method.as_published,
    )


def _exchanged(method: Swap) -> dict[str, dict[str, str]]:
    """Return the values of columns that a swap exchanges, both ways."""
    if isinstance(method.values, Mapping):
        return {
            column: {**{b: a for a, b in pairs.items()}, **pairs}
            for column, pairs in method.values.items()
        }
    exchanged: dict[str, dict[str, str]] = {}
    for equation in filter(None, (method.values or "").split(";")):
        column, _, pair = (part.strip() for part in equation.partition("="))
        a, _, b = (part.strip() for part in pair.partition(","))
        if not (column and a and b) or a == b or "," in b:
            raise UsageError(f"swap: values: expected COLUMN=A,B, found {equation!r}")
        exchanged.setdefault(column, {}).update({a: b, b: a})
    return exchanged


def _check_output(output: str, data: str | None, read: Mapping[str, object]) -> None:
    """Refuse an output that cannot be written, or would have another form than the input."""
    if data is None:
        raise UsageError("--output is for files; for texts in memory use .texts")
    check_outputs({"the output": output}, {"DATA": data, **read})
    check_same_form(output, data, "rewriting keeps the format")


def _values(given: object) -> tuple[str, ...]:
    """Return one value or several as texts, like the cells of a column."""
    several = given if isinstance(given, (list, tuple, set, frozenset)) else [given]
    return tuple(map(str, several))


def _opened(data: Texts, text: str | None, columns: Sequence[str], skip_bad: bool) -> RecordFile:
    path = path_of(data)
    if path is None:
        return RecordsInMemory.of(data, text=text, columns=columns, skip_bad=skip_bad)
    return RecordFile.open(path, text=text, columns=columns, skip_bad=skip_bad)


def _so_far(
    file: RecordFile, stages: Sequence[Stage], tallies: Sequence[Tally], where: Where
) -> Iterator[Record]:
    """Yield the records to rewrite, as the methods before leave them; their counts start again."""
    yield from (record for record in through(stages, file) if record.has(where))
    for tally in tallies:
        if tally.method not in _BALANCING:
            tally.reset()


def _run(
    file: RecordFile, stages: Sequence[Stage], output: str | None, shuffle: int | None
) -> tuple[int, int, list[Record] | None]:
    """Write the result, or return it; and the numbers of records that were read and made."""
    read = 0

    def counted(records: Iterator[Record]) -> Iterator[Record]:
        nonlocal read
        for record in records:
            read += 1
            yield record

    stages = [counted, *stages]
    if output is not None:
        written = write(file, output, stages, shuffle=shuffle)
        return read, written, None
    rewrites = list(through(stages, file))
    return read, len(rewrites), rewrites if shuffle is None else in_random_order(rewrites, shuffle)


def _tally_rows(tally: Tally, subject: str) -> Iterator[Row]:
    about = {"method": tally.method, "n": tally.rows}
    yield Row(subject, "rows-changed", tally.changed, about)
    if tally.added or tally.method in _BALANCING:
        yield Row(subject, "rows-added", tally.added, about)
    if tally.method in _CHANGING_WORDS:
        words = dict(tally.words.most_common(_SHOWN))
        more = {"distinct": len(tally.words), "words": words}
        yield Row(subject, "words-changed", tally.words.total(), {**about, **more})


def _cell_rows(balanced: Balanced, subject: str) -> Iterator[Row]:
    for i, label in enumerate(balanced.classes):
        for j, group in enumerate(balanced.groups):
            about = {"method": balanced.how, "set": label, "group": group}
            before = {"before": int(balanced.before[i, j])}
            yield Row(subject, "rows-in-cell", int(balanced.after[i, j]), {**about, **before})


def _round_rows(search: Found, value: str, subject: str) -> Iterator[Row]:
    for i, iteration in enumerate(search.rounds, 1):
        about = {
            "method": "extra-scrub",
            **({"set": value} if value else {}),
            "round": i,
            "n": search.n,
            "sd": iteration.sd,
            "neutral": 1 / len(search.groups),
            "better": "lower",
            "words": {group: dict(words) for group, words in iteration.words.items()},
        }
        yield Row(subject, "balanced-accuracy", iteration.accuracy, about)


def _tally_table(title: str, rows: Sequence[Row]) -> Table:
    columns = values(("rows", cells.n), ("changed", cells.count), measure="rows-changed")
    columns += values(("words", cells.count), measure="words-changed")
    columns += values(("rows added", cells.count), measure="rows-added")
    return pivot(title, rows, "method", columns)


def _balance_table(balanced: Balanced, rows: Sequence[Row]) -> Table:
    columns = []
    for group in balanced.groups:
        before = (f"{group} before", cells.detail("before"))
        columns += values(before, (f"{group} after", cells.count), group=group)
    title = f"Rows, {balanced.how}d".replace("eed", "ed")
    return pivot(title, rows, {"class": "set"}, columns)


def _words_table(tally: Tally) -> Table:
    most = tally.words.most_common(_MOST)
    rest = len(tally.words) - len(most)
    note = f"And {rest:,} more." if rest else ""
    cells = [[word, f"{count:,}"] for word, count in most]
    return Table(f"Words that {tally.method} changed most often", ["", "times"], cells, note)


def _rounds_table(search: Found, value: str) -> Table:
    """Return Tables 9 and 10 of Orgad et al.: the words of each group, round by round."""
    cells = []
    for i, iteration in enumerate(search.rounds, 1):
        measured = [str(i), f"{number(iteration.accuracy, 3)} ± {number(iteration.sd, 3)}"]
        for group, words in iteration.words.items():
            cells.append([*measured, group, " ".join(word for word, _ in words)])
            measured = ["", ""]
        if not iteration.words:
            cells.append([*measured, "", ""])
    where = f"within {value}" if value else "over all texts"
    return Table(
        f"Words that reveal the group, {where}: {how_many(search.n, 'text')}",
        ["round", "accuracy", "group", "words masked"],
        cells,
        "Balanced accuracy of a logistic regression on held-out texts before the words of its "
        f"round are masked; neutral {number(1 / len(search.groups), 2)}, lower is better. "
        f"Stopped: {search.stopped}.",
    )


def _notes(file: RecordFile, balanced: Balanced | None, tallies: Sequence[Tally]) -> Iterator[str]:
    if file.problems.count:
        dropped = how_many(file.problems.count, "row")
        yield f"{dropped} dropped, the first: {file.problems.first}"
    if balanced and (empty := balanced.empty()):
        effect = "is left out" if balanced.how == "subsample" else "stays unbalanced"
        classes = ", ".join(empty[:5]) + (", …" if len(empty) > 5 else "")
        yield f"{classes}; such a class {effect}"
    for tally in tallies:
        if not tally.rows:
            yield f"{tally.method}: no row was selected"
        elif tally.method in _CHANGING_WORDS and not tally.words:
            yield f"{tally.method}: nothing was found to change"
