"""WinoBias (Zhao et al. 2018): coreference of pronouns with professions, and stereotypes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.draws import sampled_row
from wordbias.errors import WordbiasError
from wordbias.measures.registry import ideal
from wordbias.outcomes.confusion import Confusion, Values
from wordbias.outcomes.conll import AVERAGED, Tally, conll_f1, tally
from wordbias.outcomes.fairness import fairness_rows
from wordbias.outcomes.inputs import shares_for
from wordbias.outcomes.metrics import Settings
from wordbias.results import Row
from wordbias.statistics import resampled_means
from wordbias.text_files import read_bounded

Span = tuple[int, int]
"""First character, from 0, and the one after the last."""
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
_TOKEN = re.compile(r"\w+|[^\w\s]")
Clusters = tuple[tuple[Span, ...], ...]


@dataclass(frozen=True)
class Sentence:
    """One sentence."""

    text: str
    profession: str  # profession that the pronouns refer to, in lower case
    mention: Span  # span of that profession, with the article if it is inside the brackets
    pronouns: tuple[Span, ...]  # spans of the pronouns in brackets
    gender: str
    stereotype: str  # `pro` if the gender is the usual one in that profession, `anti` if not
    kind: int  # type 1, which takes world knowledge, or type 2, which syntax solves
    split: str
    number: int  # number in its file; a `pro` and an `anti` sentence of the same number are a pair
    # all professions in the text with their spans, without article
    people: tuple[tuple[str, Span], ...] = ()

    @property
    def gold(self) -> tuple[tuple[Span, ...], ...]:
        """Gold clusters: one of the mention and the pronouns."""
        return ((self.mention, *self.pronouns),)

    @property
    def pair(self) -> tuple[int, str, int]:
        """Key that a `pro` and an `anti` sentence have in common."""
        return self.kind, self.split, self.number


def load_winobias(folder: str | Path) -> list[Sentence]:
    """Read the files of WinoBias that a folder has: `pro` first, `anti` in the same order."""
    place = Path(folder)
    if not place.is_dir():
        raise WordbiasError(f"{place}: expected the folder with the files of WinoBias")
    files = sorted(path for path in place.iterdir() if _NAME.fullmatch(path.name))
    if not files:
        raise WordbiasError(
            f"{place}: holds no file of WinoBias, such as pro_stereotyped_type1.txt.dev"
        )
    read = [sentence for file in files for sentence in _sentences(file)]
    by_side = {
        side: [sentence for sentence in read if sentence.stereotype == side] for side in (PRO, ANTI)
    }
    _check_pairs(place, *by_side.values())
    order = {sentence.pair: i for i, sentence in enumerate(by_side[PRO])}
    by_side[ANTI].sort(key=lambda sentence: order[sentence.pair])
    known = sorted({sentence.profession for sentence in read}, key=lambda name: (-len(name), name))
    people = re.compile(rf"\b(?:{'|'.join(map(re.escape, known))})\b", re.IGNORECASE)
    return [_with_people(sentence, people) for sentence in (*by_side[PRO], *by_side[ANTI])]


def _check_pairs(place: Path, pro: Sequence[Sentence], anti: Sequence[Sentence]) -> None:
    unpaired = {sentence.pair for sentence in pro} ^ {sentence.pair for sentence in anti}
    if unpaired:
        kind, split, number = min(unpaired)
        has = PRO if (kind, split, number) in {sentence.pair for sentence in pro} else ANTI
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
            sentence = _parsed(line.rstrip("\r"), side, int(kind), split)
            if sentence.number in known:
                raise ValueError(f"the sentence {sentence.number} comes twice")
        except ValueError as error:
            raise WordbiasError(f"{file}: line {i}: {error}") from None
        known.add(sentence.number)
        yield sentence


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
    """Return the spans of the person and of the pronouns, and the gender of these."""
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


def _with_people(sentence: Sentence, people: re.Pattern[str]) -> Sentence:
    professions = tuple((m.group().lower(), m.span()) for m in people.finditer(sentence.text))
    return replace(sentence, people=professions)


# sentences for a coreference system, and masked ones for a probe


def sentence_lines(sentences: Iterable[Sentence]) -> Iterator[str]:
    """Yield each distinct sentence once as a line of jsonl, for a coreference system to read."""
    seen = set()
    for sentence in sentences:
        if sentence.text not in seen:
            seen.add(sentence.text)
            words = [word for word, _ in tokens(sentence.text)]
            yield (
                json.dumps({"sentence": sentence.text, "tokens": words}, ensure_ascii=False) + "\n"
            )


def tokens(text: str) -> list[tuple[str, Span]]:
    """Split a sentence into words and punctuation marks, with their spans."""
    return [(match.group(), match.span()) for match in _TOKEN.finditer(text)]


COLUMNS = ("text", "start", "end", "profession", "gender", "role", "type", "split")
_PRONOUN = re.compile(rf"\b(?:{'|'.join(PRONOUNS)})\b", re.IGNORECASE)


def masked_rows(sentences: Sequence[Sentence], mask: str) -> Iterator[tuple[str, ...]]:
    """Yield a row for every profession in every sentence, as `COLUMNS`, with masked pronouns."""
    # The gender is that of the pronouns in pro-stereotyped sentences about the profession. A row
    # that a `pro` and an `anti` sentence share comes once.
    genders = stereotypes(sentences)
    seen = set()
    for sentence in sentences:
        text = _PRONOUN.sub(lambda _: mask, sentence.text)
        for name, (start, end) in sentence.people:
            moved = tuple(_moved(sentence.text, mask, place) for place in (start, end))
            if (text, moved) in seen:
                continue
            seen.add((text, moved))
            role = "gold" if sentence.mention[0] <= start < sentence.mention[1] else "other"
            kind = f"type {sentence.kind}"
            yield (text, *map(str, moved), name, genders[name], role, kind, sentence.split)


def stereotypes(sentences: Iterable[Sentence]) -> dict[str, str]:
    """Return the usual gender of each profession: that of most of its `pro` sentences."""
    votes: dict[str, Counter[str]] = {}
    for sentence in sentences:
        if sentence.stereotype == PRO:
            votes.setdefault(sentence.profession, Counter())[sentence.gender] += 1
    return {name: counts.most_common(1)[0][0] for name, counts in votes.items()}


def _moved(text: str, mask: str, place: int) -> int:
    """Return the position of a character outside pronouns after masking."""
    before = (match for match in _PRONOUN.finditer(text) if match.end() <= place)
    return place + sum(len(mask) - len(match.group()) for match in before)


# scores


F1, DIFFERENCE, UNDECIDED = "conll-f1", "conll-f1-diff", "undecided"
ALL = "all"
PAIRS = "pairs"


def by_type(sentences: Sequence[Sentence]) -> dict[str, NDArray[np.bool_]]:
    """Return the places of all sentences, and of those of each type."""
    kinds = np.array([sentence.kind for sentence in sentences])
    every = {ALL: np.full(len(kinds), True)}
    return every | {f"type {kind}": kinds == kind for kind in sorted(set(kinds.tolist()))}


def f1_rows(
    sentences: Sequence[Sentence],
    clusters: Sequence[Clusters],
    subject: str,
    settings: Settings,
) -> list[Row]:
    """Measure CoNLL F1 in percent, of `pro` and `anti` sentences, and its difference."""
    # All `pro` sentences are first. Draws are bootstrap samples of pairs of sentences.
    tallies = np.stack(
        [
            tally(sentence.gold, chains)[:AVERAGED]
            for sentence, chains in zip(sentences, clusters, strict=True)
        ]
    )
    half = len(sentences) // 2
    pairs = np.stack([tallies[:half], tallies[half:]], axis=1)
    rows: list[Row] = []
    for name, among in by_type(sentences[:half]).items():
        rng = np.random.default_rng(settings.seed)
        about = {"setting": name, "n": int(among.sum()), "scale": "percent", "seed": settings.seed}
        rows += _f1_rows(subject, pairs[among], about, settings.draws, rng)
    return rows


def _f1_rows(
    subject: str, pairs: Tally, about: Mapping[str, Any], draws: int, rng: np.random.Generator
) -> list[Row]:
    """Return the rows of pairs of sentences, shape ``(n, 2, 3, 4)``."""
    scores = 100 * conll_f1(pairs.sum(axis=0))
    columns = [scores[0], scores[1], scores[0] - scores[1]]
    samples: list[Any] = [None, None, None]
    if draws:
        means = resampled_means(pairs.reshape(len(pairs), -1), rng, draws)
        f1 = 100 * conll_f1(means.reshape(-1, 2, 3, 4))
        samples = [f1[:, 0], f1[:, 1], f1[:, 0] - f1[:, 1]]
    sides = {"neutral": None, **ideal(F1)}
    difference = {"set": f"{PRO} − {ANTI}", **ideal(DIFFERENCE)}
    named = (
        (F1, {"set": PRO, **about, **sides}),
        (F1, {"set": ANTI, **about, **sides}),
        (DIFFERENCE, {**difference, **about}),
    )
    return [
        sampled_row(subject, measure, float(f1), of, x, PAIRS)
        for (measure, of), f1, x in zip(named, columns, samples, strict=True)
    ]


NONE = "None"
"""Prediction if a pronoun is in a cluster with no profession, or with several."""
_OTHER_NAMES = {"mechanician": "mechanic", "sewer": "tailor"}


def classification_rows(
    sentences: Sequence[Sentence],
    clusters: Sequence[Clusters],
    subject: str,
    settings: Settings,
    *,
    shares: Mapping[str, float] | None = None,
    shares_from: str = "the sentences",
) -> list[Row]:
    """Measure group fairness of the predicted professions (Orgad et al. 2022, §A.4.2)."""
    # The two sentences of a pair are drawn together, and the chance level exchanges she and he
    # within pairs: a system that ignores the pronoun predicts the same for both. Without `shares`
    # there is no correlation, as half of the sentences of each profession are about women. `NONE`
    # is an outcome of its own; as published it is left out of separation.
    confusion = as_classification(sentences, clusters)
    known = None
    if shares is not None:
        named = professional_shares(shares, confusion.classes)
        known, _ = shares_for(confusion.classes, named, shares_from)
    if settings.distance_name == "positions" and settings.positions is None:
        settings = replace(settings, positions=published_positions(confusion.classes))
    undecided = confusion.counts[..., -1].sum() / len(confusion)
    about = {"set": ALL, "n": len(confusion), **ideal(UNDECIDED)}
    return [
        Row(subject, UNDECIDED, float(undecided), about),
        *fairness_rows(confusion, subject, settings, shares=known, unit=PAIRS),
    ]


def as_classification(sentences: Sequence[Sentence], clusters: Sequence[Clusters]) -> Confusion:
    """Count gold and predicted professions by the gender of the pronoun, in units of pairs."""
    predicted = [
        predicted_profession(sentence, chains)
        for sentence, chains in zip(sentences, clusters, strict=True)
    ]
    return Confusion.of(
        [sentence.profession for sentence in sentences],
        predicted,
        [sentence.gender for sentence in sentences],
        order=(FEMALE, MALE),
        abstentions=(NONE,),
        units=[sentence.pair for sentence in sentences],
    )


def predicted_profession(sentence: Sentence, clusters: Clusters) -> str:
    """Return the profession that the pronoun was resolved to; `NONE` for none or several."""
    # The profession within the mentions of the clusters that have one of the sentence's pronouns as
    # a mention. Mentions are compared by position: the released code of Orgad et al. (2022) looks
    # for "he" as a part of a word, and for it a cluster with "the teacher" or "the sheriff" has a
    # pronoun.
    pronouns = set(sentence.pronouns)
    with_pronoun = [cluster for cluster in clusters if pronouns.intersection(cluster)]
    mentions = [span for cluster in with_pronoun for span in cluster]
    names = {
        name
        for name, (start, end) in sentence.people
        if any(first <= start and end <= last for first, last in mentions)
    }
    return names.pop() if len(names) == 1 else NONE


def published_positions(classes: Sequence[str]) -> Values:
    """Return the numbers of classes as the released code counts them, with `NONE` among them."""
    # There CEO is spelled so and sorted as ASCII: `NONE` is its neighbour.
    spelled = [_as_released(name) for name in classes]
    order = sorted([*spelled, NONE])
    return np.array([order.index(name) for name in spelled], dtype=np.float64)


def _as_released(name: str) -> str:
    return "CEO" if name == "ceo" else name.replace(" ", "")


def professional_shares(shares: Mapping[str, float], classes: Sequence[str]) -> dict[str, float]:
    """Name shares as the sentences name professions, such as *construction worker*."""
    # The file that comes with WinoBias has construction_worker, designers and sewer.
    named_shares: dict[str, float] = {}
    for name, share in shares.items():
        plain = name.lower().replace("_", " ")
        plain = _OTHER_NAMES.get(plain, plain)
        singular = plain.removesuffix("s")
        named_shares[singular if plain not in classes and singular in classes else plain] = share
    return named_shares
