"""Published test sets of word similarity and analogies, found in a folder.

None of them is part of the package. Known by file name: RG-65 (Rubenstein and Goodenough 1965),
MTurk-287 (Radinsky et al. 2011), MEN (Bruni et al. 2014), SimLex-999 (Hill et al. 2015), the Google
analogies (Mikolov et al. 2013) and MSR's syntactic ones (Mikolov, Yih and Zweig 2013). Any other
file in one of their two forms has its own name. Errors name the file and the line.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wordbias.errors import WordbiasError
from wordbias.text_files import read_bounded

SCORED = r"(^|[\t ,])[-+]?\d*\.?\d+([eE][-+]?\d+)?([\t ,\r]|$)"
CATEGORY = r"[A-Z]+_[A-Z]+"
_HEADER = r"word|score|sim|relat|rating|human|mean"
_SIMLEX = ("word1", "word2", "SimLex999")
_TAGGED = r".-[a-z]$"

Line = tuple[int, str]
Split = Callable[[str], list[str]]
_SUFFIXES = (".txt", ".csv", ".tsv")
_KNOWN = {
    "google": r"questions?[-_ ]?words|google[-_ ]?analog|^google$",
    "msr": r"(^|[-_ ])msr([-_ ]|$)",
    "rg-65": r"(^|[-_ ])rg([-_ ]?65)?([-_ ]|$)",
    "mturk-287": r"(^|[-_ ])mturk([-_ ]?287)?$",
    "men": r"(^|[-_ ])men([-_ ]|$)",
    "simlex-999": r"simlex([-_ ]?999)?$",
}
_DELETED = {i: None for i in range(256) if not (chr(i).isalnum() or chr(i) in "-_")}


@dataclass(frozen=True)
class SimilaritySet:
    """Pairs of words, each with the score that people gave it."""

    name: str
    pairs: tuple[tuple[str, str], ...]
    scores: tuple[float, ...]


@dataclass(frozen=True)
class AnalogySet:
    """Questions a : b = c : d, each with its section of the file."""

    name: str
    questions: tuple[tuple[str, ...], ...]
    sections: tuple[str, ...]

    @property
    def parts(self) -> dict[str, list[int]]:
        """Numbers of the questions of each part that is reported."""
        # A set that has sections named gram… and others (Google's: five of countries, cities,
        # currencies and families) is split into semantic and syntactic, beside total.
        grammar = [section.startswith("gram") for section in self.sections]
        everything = list(range(len(grammar)))
        if all(grammar) or not any(grammar):
            return {self.name: everything}
        return {
            f"{self.name}-semantic": [i for i in everything if not grammar[i]],
            f"{self.name}-syntactic": [i for i in everything if grammar[i]],
            f"{self.name}-total": everything,
        }

    def standardised(self) -> AnalogySet:
        """Lower-case the words and delete their punctuation, as word-embeddings-benchmarks does."""
        # `standardize_string` there keeps hyphens and underscores. MSR's possessives become other
        # words: city's, which few vocabularies have, is looked up as citys, a misspelling.
        return replace(
            self,
            questions=tuple(
                tuple(word.lower().translate(_DELETED) for word in question)
                for question in self.questions
            ),
        )


def read_set(path: str | Path, name: str | None = None) -> SimilaritySet | AnalogySet:
    """Read one set; analogies are known by their form: a line ``: section``, or four words."""
    file = Path(path)
    name = name or set_name(file)
    lines = read_lines(file)
    _, first = lines[0]
    fields = first.split()
    four = len(fields) == 4 or (len(fields) == 5 and re.fullmatch(CATEGORY, fields[3]))
    if first.startswith(":") or (four and not re.search(SCORED, first)):
        return AnalogySet(name, *questions_and_sections(file, lines))
    return SimilaritySet(name, *pairs_and_scores(file, lines))


def find_sets(*places: str | Path, only: Collection[str] = ()) -> list[SimilaritySet | AnalogySet]:
    """Read the sets of folders, or single files, in the order of their names."""
    files: dict[str, Path] = {}
    for path in [file for place in places for file in _files(Path(place))]:
        name = set_name(path)
        if name in files:
            raise WordbiasError(
                f"{path}: {files[name]} goes by the name {name!r} as well; rename one of them, or "
                "give the other as a single file"
            )
        files[name] = path
    for name in only:
        if name not in files:
            raise WordbiasError(f"no set {name!r}; there are {', '.join(sorted(files))}")
    return [read_set(files[name], name) for name in sorted(files) if not only or name in only]


def set_name(file: Path) -> str:
    """Return the name of a set: a known one, else the file name without suffix."""
    stem = file.name[: -len(file.suffix)] if file.suffix.lower() in _SUFFIXES else file.name
    return _known(stem) or stem


def _known(stem: str) -> str | None:
    return next((name for name, form in _KNOWN.items() if re.search(form, stem.lower())), None)


def _files(place: Path) -> list[Path]:
    if not place.is_dir():
        if not place.exists():
            raise WordbiasError(f"{place}: no such file or folder; give the folder of the sets")
        return [place]
    inside = sorted(file for file in place.iterdir() if file.is_file())
    plain = [file for file in inside if not file.name.startswith(".")]
    files = [
        file
        for file in plain
        if file.suffix.lower() in _SUFFIXES or (not file.suffix and _known(file.name))
    ]
    if not files:
        raise WordbiasError(
            f"{place}: no test sets found; expected .txt, .csv or .tsv files with two words and a "
            "score, or four words, a line"
        )
    return files


# Lines of a file


def read_lines(file: Path) -> list[Line]:
    """Return the lines with their numbers, at least one, without blank lines and ``#`` comments."""
    try:
        text = read_bounded(file).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise WordbiasError(f"{file}: cannot be read as a test set: {reason}") from None
    # Not splitlines(), which also splits at characters that are words in GloVe.
    lines = [(i, line.strip(" \t\r")) for i, line in enumerate(text.split("\n"), 1)]
    content_lines = [(i, line) for i, line in lines if line and not line.startswith("#")]
    if not content_lines:
        raise WordbiasError(f"{file}: expected a test set, found no lines")
    return content_lines


def pairs_and_scores(
    file: Path, lines: Sequence[Line]
) -> tuple[tuple[tuple[str, str], ...], tuple[float, ...]]:
    """Read two words and a score a line, separated by tabs, else commas, else spaces."""
    # A first line of headings is left out; that of SimLex-999 says which columns count. Where every
    # word ends in a part of speech (sun-n, MEN's lemma form), the ending is cut.
    split = _splitter(lines[0][1])
    columns, rest = _columns(lines, split)
    rows = [_scored(file, line, split, columns) for line in rest]
    if not rows:
        raise WordbiasError(f"{file}: expected two words and a score a line, found only headings")
    pairs = tuple((a, b) for a, b, _ in rows)
    if all(re.search(_TAGGED, word) for pair in pairs for word in pair):
        pairs = tuple((a[:-2], b[:-2]) for a, b in pairs)
    return pairs, tuple(score for _, _, score in rows)


def questions_and_sections(
    file: Path, lines: Sequence[Line]
) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Read four words a line, and the names of sections in lines that start with a colon."""
    # A line of five, the fourth in the form of MSR's categories (JJ_JJR), is four words.
    section, questions, sections = "", [], []
    for number, line in lines:
        if line.startswith(":"):
            section = line[1:].strip()
            continue
        words = tuple(re.split(r"[ \t]+", line))
        if len(words) == 5 and re.fullmatch(CATEGORY, words[3]):
            words = (*words[:3], words[4])
        if len(words) != 4:
            raise _unlike(file, number, "four words, or a colon and the name of a section", line)
        questions.append(words)
        sections.append(section)
    if not questions:
        raise WordbiasError(f"{file}: expected four words a line, found only names of sections")
    return tuple(questions), tuple(sections)


def _splitter(first: str) -> Split:
    if "\t" in first:
        return lambda line: line.split("\t")
    if "," in first:
        return _by_commas
    return lambda line: re.split(r" +", line)


def _by_commas(line: str) -> list[str]:
    try:
        return next(csv.reader([line]))
    except csv.Error:  # a field of more than 131,072 characters is no word
        return [line]


def _columns(lines: Sequence[Line], split: Split) -> tuple[tuple[int, ...] | None, Sequence[Line]]:
    """Return the numbers of the three columns that count, None for all, and the lines below."""
    heading = split(lines[0][1])
    if set(_SIMLEX) <= set(heading):
        return tuple(map(heading.index, _SIMLEX)), lines[1:]
    numeric = any(_number(field) is not None for field in heading)
    is_heading = not numeric and re.search(_HEADER, " ".join(heading[2:]).lower())
    return None, lines[1:] if is_heading else lines


def _scored(
    file: Path, line: Line, split: Split, columns: tuple[int, ...] | None
) -> tuple[str, str, float]:
    number, text = line
    fields = [field.strip(" ") for field in split(text)]
    if columns is not None and len(fields) > max(columns):
        fields = [fields[column] for column in columns]
    score = _number(fields[2]) if len(fields) == 3 else None
    if score is None or not fields[0] or not fields[1]:
        raise _unlike(file, number, "two words and a score", text)
    return fields[0], fields[1], score


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _unlike(file: Path, number: int, expected: str, line: str) -> WordbiasError:
    return WordbiasError(f"{file}: line {number}: expected {expected}, found {line[:60]!r}")
