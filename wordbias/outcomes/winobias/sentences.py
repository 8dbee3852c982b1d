"""The sentences of WinoBias: eight files of lines such as ``1 [The cook] left as [she] could.``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wordbias.errors import WordbiasError
from wordbias.lines import read_bounded

Span = tuple[int, int]
"""First character, from 0, and the one behind the last."""
PRO, ANTI = "pro", "anti"
FEMALE, MALE = "F", "M"
PRONOUNS = {
    **dict.fromkeys(("she", "her", "hers", "herself"), FEMALE),
    **dict.fromkeys(("he", "him", "his", "himself"), MALE),
}
_NAME = re.compile(r"(pro|anti)_stereotyped_type([12])\.txt\.(dev|test)")
_LINE = re.compile(r"(\d+)\s+(.*\S)\s*")
_BRACKETS = re.compile(r"\[\s*([^][]*?)\s*\]")
_ARTICLE = re.compile(r"(?:the|an?)\s+", re.IGNORECASE)


@dataclass(frozen=True)
class Sentence:
    """One sentence.

    Attributes
    ----------
    text
        Without brackets.
    profession
        Whom the pronouns mean, in lower case.
    mention
        Where that person is named, with the article if it is inside the brackets.
    pronouns
        Where the pronouns in brackets are.
    gender
        Of the pronouns, F or M.
    stereotype
        `pro` if the gender is the usual one in that profession, `anti` if not.
    kind
        Type 1, which only world knowledge solves, or type 2, which syntax does.
    split
        `dev` or `test`.
    number
        In its file; a `pro` sentence and the `anti` one of the same number make a pair.
    people
        Every profession that is named, with its place, without article.
    """

    text: str
    profession: str
    mention: Span
    pronouns: tuple[Span, ...]
    gender: str
    stereotype: str
    kind: int
    split: str
    number: int
    people: tuple[tuple[str, Span], ...] = ()

    @property
    def gold(self) -> tuple[tuple[Span, ...], ...]:
        """Return the gold clusters: there is one, the mention and the pronouns."""
        return ((self.mention, *self.pronouns),)

    @property
    def pair(self) -> tuple[int, str, int]:
        """Return what a `pro` and an `anti` sentence have in common."""
        return self.kind, self.split, self.number


def load_winobias(folder: str | Path) -> list[Sentence]:
    """Read the files of WinoBias that a folder has.

    Returns
    -------
    list of Sentence
        All eight files, 3,168 sentences: `pro` first, and the `anti` ones in the same order.

    Raises
    ------
    WordbiasError
        If the folder has none of the files, has one without its counterpart, or a line is not
        understood.
    """
    place = Path(folder)
    if not place.is_dir():
        raise WordbiasError(f"{place}: expected the folder with the files of WinoBias")
    files = sorted(path for path in place.iterdir() if _NAME.fullmatch(path.name))
    if not files:
        raise WordbiasError(
            f"{place}: holds no file of WinoBias, such as pro_stereotyped_type1.txt.dev"
        )
    read = [sentence for file in files for sentence in _sentences(file)]
    found = {side: [one for one in read if one.stereotype == side] for side in (PRO, ANTI)}
    _check_pairs(place, *found.values())
    order = {one.pair: i for i, one in enumerate(found[PRO])}
    found[ANTI].sort(key=lambda one: order[one.pair])
    known = sorted({one.profession for one in read}, key=lambda name: (-len(name), name))
    people = re.compile(rf"\b(?:{'|'.join(map(re.escape, known))})\b", re.IGNORECASE)
    return [_with_people(one, people) for one in (*found[PRO], *found[ANTI])]


def _check_pairs(place: Path, pro: Sequence[Sentence], anti: Sequence[Sentence]) -> None:
    apart = {one.pair for one in pro} ^ {one.pair for one in anti}
    if apart:
        kind, split, number = min(apart)
        has = PRO if (kind, split, number) in {one.pair for one in pro} else ANTI
        lacks = ANTI if has == PRO else PRO
        raise WordbiasError(
            f"{place / f'{lacks}_stereotyped_type{kind}.txt.{split}'}: has no sentence {number}, "
            f"which the {has}-stereotyped file has; the two make pairs"
        )


def _sentences(file: Path) -> Iterator[Sentence]:
    name = _NAME.fullmatch(file.name)
    side, kind, split = name.groups() if name else ("", "", "")
    try:
        lines = read_bounded(file).decode("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise WordbiasError(f"{file}: cannot be read: {error}") from None
    known: set[int] = set()
    for i, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found = _parsed(line.rstrip("\r"), side, int(kind), split)
            if found.number in known:
                raise ValueError(f"the sentence {found.number} comes twice")
        except ValueError as error:
            raise WordbiasError(f"{file}: line {i}: {error}") from None
        known.add(found.number)
        yield found


def _parsed(line: str, side: str, kind: int, split: str) -> Sentence:
    numbered = _LINE.fullmatch(line)
    if numbered is None:
        raise ValueError("expected a number and a sentence")
    text, marked = _without_brackets(numbered[2])
    person, pronouns, gender = _roles(text, marked)
    profession = _ARTICLE.sub("", text[slice(*person)], count=1).lower()
    number = int(numbered[1])
    return Sentence(text, profession, person, pronouns, gender, side, kind, split, number)


def _roles(text: str, marked: Sequence[Span]) -> tuple[Span, tuple[Span, ...], str]:
    """Return where the person is, where the pronouns are, and the gender of these."""
    genders = [PRONOUNS.get(text[start:end].lower()) for start, end in marked]
    people = [span for span, gender in zip(marked, genders, strict=True) if not gender]
    of = {gender for gender in genders if gender}
    if len(people) != 1 or len(of) != 1:
        raise ValueError(
            "expected one person and pronouns of one gender in brackets, found "
            + (", ".join(repr(text[a:b]) for a, b in marked) or "none")
        )
    return people[0], tuple(span for span in marked if span != people[0]), of.pop()


def _without_brackets(marked: str) -> tuple[str, list[Span]]:
    text, spans, last = "", [], 0
    for match in _BRACKETS.finditer(marked):
        text += marked[last : match.start()]
        spans.append((len(text), len(text) + len(match[1])))
        text += match[1]
        last = match.end()
    return text + marked[last:], spans


def _with_people(one: Sentence, people: re.Pattern[str]) -> Sentence:
    found = tuple((m.group().lower(), m.span()) for m in people.finditer(one.text))
    return replace(one, people=found)
