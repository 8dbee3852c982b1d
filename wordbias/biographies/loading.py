"""Reading biographies: tabbed text, CSV, jsonl or a pickle of the published kind."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from wordbias.biographies.biographies import FEMALE, MALE, Biographies
from wordbias.biographies.person import RAW, START, BadPersonError, Person, read_person
from wordbias.biographies.pickles import is_pickle, read_pickle
from wordbias.errors import WordbiasError
from wordbias.formats.parquet import is_parquet, read_parquet
from wordbias.formats.tables import kind_of, read_lines
from wordbias.outcomes.confusion import listed
from wordbias.outcomes.predictions import Frame

_USUAL: Mapping[str, Sequence[str]] = {
    "text": (RAW, "hard_text", "text", "bio"),
    "label": ("profession", "title", "label", "p"),
    "gender": ("gender", "g"),
    "split": ("split",),
    "name": ("name", "names"),
}


class _Record(NamedTuple):
    """What stands in one place of a file, or what is wrong with it."""

    where: str
    cells: Mapping[str, Any]
    problem: str = ""


def load_biographies(
    source: str | os.PathLike[str] | Frame,
    *,
    text: str | None = None,
    label: str | None = None,
    gender: str | None = None,
    split: str | None = None,
    name: str | None = None,
    female: str | None = None,
    skip_bad: bool = False,
) -> Biographies:
    """Read biographies.

    Parameters
    ----------
    source
        .tsv, .csv or .jsonl, compressed or not, .parquet where pandas is, or a pickle: a list of
        dicts, as the scripts of De-Arteaga et al. (2019) write it. Of a pickle nothing is
        executed. Or a frame of pandas.
    text
        A column; by default *raw* from *start_pos* on if there are both (a biography without its
        first sentence, which says the occupation), else *hard_text*, *text*, *bio* or *raw*.
    label
        That of the occupation: *profession*, *title*, *label* or *p*.
    gender
        *gender* or *g*.
    split
        *split*; there need not be one.
    name
        *name* or *names*; there need not be one.
    female
        What `gender` says of women; by default F, female, w or woman in any case, as against M,
        male or man. If it is given, all others must have the same other value.
    skip_bad
        Leave out records that cannot be used, and count them.

    Raises
    ------
    WordbiasError
        If the file cannot be read, has no such columns, has a record that cannot be used, or has
        people of only one occupation or gender.
    """
    asked = {"text": text, "label": label, "gender": gender, "split": split, "name": name}
    if isinstance(source, (str, os.PathLike)):
        file, records = str(Path(source)), _records(Path(source))
    else:
        file, records = "the frame given", _rows_of(source)
    columns: dict[str, str] = {}
    people: list[Person] = []
    bad: list[str] = []
    for record in records:
        try:
            if record.problem:
                raise BadPersonError(record.problem)
            columns = columns or _columns(file, record.cells, asked)
            people.append(read_person(record.cells, columns, female))
        except BadPersonError as error:
            problem = f"{record.where}: {error}"
            if not skip_bad:
                raise WordbiasError(
                    f"{file}: {problem}; mend it, or drop such rows with --skip-bad"
                ) from None
            bad.append(problem)
    if not people:
        among = f" that can be used; the first: {bad[0]}" if bad else "; it has no records"
        raise WordbiasError(f"{file}: holds no biographies{among}")
    bios = _collected(file, people, columns, female)
    return replace(bios, dropped=len(bad), problem=bad[0] if bad else "")


def _records(file: Path) -> Iterator[_Record]:
    if is_pickle(file):
        for i, cells in enumerate(read_pickle(file), 1):
            wrong = (
                "" if isinstance(cells, dict) else f"expected a dict, found {type(cells).__name__}"
            )
            yield _Record(f"record {i}", {} if wrong else cells, wrong)
        return
    if is_parquet(file):
        yield from _rows_of(read_parquet(file))
        return
    if kind_of(file) == "plain":
        raise WordbiasError(
            f"{file}: expected .tsv, .csv or .jsonl, compressed or not, .parquet, or a pickle "
            "(.pkl) of biographies; name it as what it is"
        )
    for line in read_lines(file):
        yield _Record(f"line {line.number}", line.cells, line.problem)


def _rows_of(frame: Any) -> Iterator[_Record]:
    names = [str(name) for name in frame.columns]
    known = frame.notna().to_numpy()
    columns = (frame.iloc[:, i].map(str) for i in range(len(names)))
    for i, cells in enumerate(zip(*columns, strict=True)):
        given = zip(names, cells, known[i], strict=True)
        yield _Record(f"row {i + 1}", {name: cell for name, cell, there in given if there})


def _columns(
    file: str, cells: Mapping[str, Any], named: Mapping[str, str | None]
) -> dict[str, str]:
    """Return which column is what, by the first record."""
    known = [name for name in cells if isinstance(name, str) and name.isprintable()]
    found: dict[str, str] = {}
    for what, usual in _USUAL.items():
        asked = named[what]
        if asked is not None and asked not in known:
            raise WordbiasError(f"{file}: has no column {asked!r}; it has {listed(known, 20)}")
        order = (*usual[1:], RAW) if what == "text" and START not in known else usual
        column = asked or next((name for name in order if name in known), None)
        if column is not None:
            found[what] = column
        elif what in ("text", "label", "gender"):
            raise WordbiasError(
                f"{file}: which column is the {what}? Found none of {', '.join(order)}, but "
                f"{listed(known, 20) or 'no column'}; name it with --{what}"
            )
    return found


def _collected(
    file: str, people: Sequence[Person], columns: Mapping[str, str], female: str | None
) -> Biographies:
    texts, labels, genders, splits, names = zip(*people, strict=True)
    if female is not None:
        genders = _two_genders(file, genders, columns["gender"], female)
    for what, values in (("occupation", labels), ("gender", genders)):
        if len(set(values)) < 2:
            raise WordbiasError(
                f"{file}: every biography has the same {what}, {values[0]!r}; expected two or more"
            )
    return Biographies.of(
        file,
        texts,
        labels,
        genders,
        names=names if any(names) else None,
        splits=splits if "split" in columns else None,
    )


def _two_genders(file: str, genders: Sequence[str], column: str, female: str) -> tuple[str, ...]:
    others = sorted(set(genders) - {female})
    if female not in genders:
        raise WordbiasError(
            f"{file}: column {column!r}: nobody has {female!r}, which is to mean female; found "
            f"{listed(others)}"
        )
    if len(others) > 1:
        raise WordbiasError(
            f"{file}: column {column!r}: expected {female!r} and one other value, found "
            f"{listed(others)}"
        )
    return tuple(FEMALE if gender == female else MALE for gender in genders)
