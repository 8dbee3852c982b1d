"""The published test sets, found in a folder and read as they were published.

None of them is part of the package. Known by file name: RG-65 (Rubenstein and Goodenough 1965),
MTurk-287 (Radinsky et al. 2011), MEN (Bruni et al. 2014), SimLex-999 (Hill et al. 2015), the Google
analogies (Mikolov et al. 2013) and MSR's syntactic ones (Mikolov, Yih and Zweig 2013). Any other
file in one of their two forms goes by its own name.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from wordbias.errors import WordbiasError
from wordbias.word_tasks.lines import (
    CATEGORY,
    SCORED,
    pairs_and_scores,
    questions_and_sections,
    read_lines,
)

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
    """Questions a : b = c : d, each with the section of the file that it stands in."""

    name: str
    questions: tuple[tuple[str, ...], ...]
    sections: tuple[str, ...]

    @property
    def parts(self) -> dict[str, list[int]]:
        """Numbers of the questions of each part that is reported.

        A set that has sections named ``gram…`` and others (Google's: five of countries, cities,
        currencies and families) is split into ``semantic`` and ``syntactic``, beside ``total``.
        """
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
        """Lower-case the words and delete their punctuation, as word-embeddings-benchmarks does.

        ``standardize_string`` there keeps hyphens and underscores. MSR's possessives become other
        words: ``city's``, which few vocabularies have, is asked for as ``citys``, a misspelling.
        """
        return replace(
            self,
            questions=tuple(
                tuple(word.lower().translate(_DELETED) for word in question)
                for question in self.questions
            ),
        )


def read_set(path: str | Path, name: str | None = None) -> SimilaritySet | AnalogySet:
    """Read one set; analogies are known by their form: a line ``: section``, or four words.

    Parameters
    ----------
    path
        UTF-8 text.
    name
        What results call it, by default what `set_name` says.

    Raises
    ------
    WordbiasError
        At the first line that is in neither form, with its number.
    """
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
    """Read the sets of folders, or single files, in the order of their names.

    Parameters
    ----------
    places
        A folder gives its ``.txt``, ``.csv`` and ``.tsv`` files and those with a known name.
    only
        Names of those to read, by default all.

    Raises
    ------
    WordbiasError
        If there is none, if two have one name, if one is asked for that is not there, or if one
        cannot be read.
    """
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
    """Name a set by its file: one of the known names, else the file's without suffix."""
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
    found = [
        file
        for file in plain
        if file.suffix.lower() in _SUFFIXES or (not file.suffix and _known(file.name))
    ]
    if not found:
        raise WordbiasError(
            f"{place}: no test sets found; expected .txt, .csv or .tsv files with two words and a "
            "score, or four words, a line"
        )
    return found
