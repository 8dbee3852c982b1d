"""Print the table of published files that are read whole, for docs/reproducing.md.

python tools/published_files.py FOLDER...

Give the folders in which the files lie, unpacked packages among them: the files are found by their
names at any depth, those of earlier folders first, and read by the readers of the commands.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from wordbias.errors import WordbiasError
from wordbias.measures.sembias import SemBias
from wordbias.models.texts import Choice, load_texts
from wordbias.nli.pairs import load_pairs
from wordbias.stereotypes.crows_pairs import parse_crows_pairs
from wordbias.stereotypes.gsss import load_gsss
from wordbias.stereotypes.stereoset import parse_stereoset
from wordbias.stereotypes.winobias import Sentence, load_winobias
from wordbias.text_files import read_text
from wordbias.word_tasks.sets import AnalogySet, read_set

DIGITS = 12
"""How much of a file's SHA-256 is printed."""
HEAD = """\
| set | file | SHA-256 | items | read | dropped | refused |
| --- | --- | --- | --: | --: | --- | --- |"""


class Counts(NamedTuple):
    """Number of items of a file, of those read, and the reasons for dropping the others."""

    items: int
    read: int
    dropped: str = "0"


def stereoset(path: Path) -> Counts:
    """Count the items of both parts."""
    data = parse_stereoset(read_text(path))
    items = sum(len(part) for part in data.items.values())
    read = len(data.intersentence) + len(data.intrasentence)
    why = f"{len(data.several_blanks)}: two blanks (`--as-published` takes them)"
    return Counts(items, read, why if data.several_blanks else "0")


def gsss(path: Path) -> Counts:
    """Count the triples, which have three lines each."""
    return Counts(_lines(path, headings=1) // 3, len(load_gsss(path).triples))


def crows_pairs(path: Path) -> Counts:
    """Count the pairs."""
    rows = csv.reader(io.StringIO(_text(path), newline=""))
    return Counts(sum(map(bool, rows)) - 1, len(parse_crows_pairs(read_text(path)).pairs))


def sembias(path: Path) -> Counts:
    """Count the questions."""
    return Counts(_lines(path), len(SemBias.load(path).questions))


def word_set(path: Path) -> Counts:
    """Count the pairs or questions of word similarity or analogies."""
    benchmark = read_set(path)
    read = benchmark.questions if isinstance(benchmark, AnalogySet) else benchmark.pairs
    return Counts(_lines(path, headings=_text(path).startswith("word1")), len(read))


def nli(path: Path) -> Counts:
    """Count the pairs."""
    pairs = load_pairs(path)
    why = f"{pairs.dropped}: no label" if pairs.dropped else "0"
    return Counts(_lines(path, headings=1), len(pairs), why)


@cache
def _winobias(folder: Path) -> list[Sentence]:
    return load_winobias(folder)


def winobias(path: Path) -> Counts:
    """Count the sentences of one of the eight files, which are read together."""
    about = re.fullmatch(r"(pro|anti)_stereotyped_type(.)\.txt\.(.*)", path.name).groups()
    read = [
        sentence
        for sentence in _winobias(path.parent)
        if (sentence.stereotype, str(sentence.kind), sentence.split) == about
    ]
    return Counts(_lines(path), len(read))


def contexts(path: Path) -> Counts:
    """Count the contexts, which `encode` and `probe` take as texts."""
    return Counts(_lines(path), len(load_texts(path, Choice(text="context"))))


SETS: list[tuple[str, str, Callable[[Path], Counts]]] = [
    ("StereoSet", r"StereoSet/data/(dev|test)\.json", stereoset),
    ("StereoSet, gender", r"dev_gender\.json\.gz", stereoset),
    ("CrowS-Pairs", r"crows_pairs_anonymized\.csv", crows_pairs),
    ("GSSS", r"gsss/(dev|test)\.csv", gsss),
    ("BBQ, contexts", r"BBQ/data/\w+\.jsonl", contexts),
    ("WinoBias", r"(pro|anti)_stereotyped_type[12]\.txt\.(dev|test)", winobias),
    ("SemBias", r"SemBias\.tsv", sembias),
    ("MEN", r"EN-MEN-TR-3k\.txt", word_set),
    ("SimLex-999", r"EN-SIMLEX-999\.txt", word_set),
    ("RG-65", r"EN-RG-65\.txt", word_set),
    ("MTurk-287", r"EN-MTurk-287\.txt", word_set),
    ("Google analogies", r"questions-words\.txt", word_set),
    ("MSR analogies", r"MSR-syntax\.txt", word_set),
    ("SNLI", r"snli_(dev|test)\.tsv\.gz", nli),
]


def _text(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")


def _lines(path: Path, headings: int = 0) -> int:
    """Count the lines that hold an item, without the reader under test."""
    lines = _text(path).split("\n")
    return sum(bool(line.strip()) and not line.startswith(": ") for line in lines) - headings


def table(folders: list[Path]) -> str:
    """Return the whole table; a file that is not there has no line."""
    lines = [HEAD]
    for name, pattern, read in SETS:
        files: dict[str, Path] = {}
        for folder in folders:
            for path in sorted(folder.rglob("*")):
                if re.search(rf"(^|/){pattern}$", path.as_posix()):
                    files.setdefault(path.name, path)
        lines += [_row(name, path, read) for _, path in sorted(files.items())]
    return "\n".join(lines)


def _row(name: str, path: Path, read: Callable[[Path], Counts]) -> str:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:DIGITS]
    start = f"| {name} | `{path.name}` | `{digest}` |"
    try:
        counts = read(path)
    except WordbiasError as error:
        return f"{start} | 0 | | {str(error).removeprefix(f'{path}: ')} |"
    return f"{start} {counts.items:,} | {counts.read:,} | {counts.dropped} | 0 |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    print(table(parser.parse_args().folders))


if __name__ == "__main__":
    main()
