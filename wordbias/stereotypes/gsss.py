"""Enhanced StereoSet: triples beside their gender-swapped ones (Dawkins et al. 2024, section 2).

`repair` repairs the published swaps: "into him kitchen", "from hers pocket". They replace word by
word. English has one word *her* for *him* and *his*, and one *his* for *her* and *hers*, so that
*her* before a noun became *him* and *his* became *hers*; the next word tells which was meant.
Capitals and signs were lost (TV to Tv, $3 to 3). Such a sentence is unlikely for a model whatever
its bias, so that s measures grammar in part.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wordbias import cells
from wordbias.columns import read
from wordbias.errors import WordbiasError, listed
from wordbias.measures.registry import column_title, ideal
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, how_many
from wordbias.results import Row
from wordbias.stereotypes.entry import Found, Record, StereotypeTest
from wordbias.stereotypes.next_sentence import NextSentence, Sentences
from wordbias.stereotypes.scores import (
    ALL,
    Float,
    Settings,
    distances,
    extremes,
    preferred,
    strengths,
    tail_mean,
)
from wordbias.text_files import Source, read_text

LABELS = ("stereotype", "anti-stereotype", "unrelated")
"""Order of the scores of a triple."""
GENDERS = ("M", "F")
_OF_GENDER = {
    "gender": ["gender"],
    "gender_swapped_context": ["gender_swapped_con*"],
    "gender_swapped_next_sentence": ["gender_swapped_next_sentence"],
}
"""Columns of the group and the swapped texts; one published file misspells one: conext."""
_OF_GROUPS = {name: [name] for name in ("group", "swapped_context", "swapped_next_sentence")}
"""The same of other groups, as `wordbias.stereotypes.control` writes them."""


class Item(NamedTuple):
    """One row: a context and a next sentence, and both with the genders swapped."""

    original: Sentences
    swapped: Sentences


@dataclass(frozen=True)
class Triple:
    """Three next sentences for one context."""

    # as in the file; the gender, M or F, or another group, is that of the person in the context
    id: str
    gender: str
    # one for each of `LABELS`, which are those of the **original** triple: its stereotype is the
    # anti-stereotype once the genders are swapped
    items: tuple[Item, Item, Item]

    def pairs(self) -> Iterator[Sentences]:
        """Yield original and swapped of each label in turn: six pairs."""
        for item in self.items:
            yield from item

    @property
    def is_swapped(self) -> bool:
        """Return whether the swap changed the stereotype or the anti-stereotype."""
        return any(item.original != item.swapped for item in self.items[:2])


@dataclass(frozen=True)
class Gsss:
    """The triples of a file, with its path and hash."""

    path: str
    sha256: str
    triples: Sequence[Triple]
    groups: Sequence[str] = GENDERS  # groups of the triples: M and F, or in the order of a control
    # whether the file has the published columns, whose swaps can be repaired
    published: bool = True

    def altered_unrelated(self) -> list[str]:
        """Return the ids whose unrelated sentence changes in the swap."""
        # The paper says that it stays the same, and defines d so.
        return [
            triple.id
            for triple in self.triples
            if triple.items[2].original.following != triple.items[2].swapped.following
        ]

    def unswapped(self) -> list[str]:
        """Return the ids in which the swap changed nothing; their s is 0 for any model."""
        return [triple.id for triple in self.triples if not triple.is_swapped]

    @cached_property
    def repaired(self) -> Repaired:
        """Return the triples with repaired swaps."""
        return repair(self)


def load_gsss(path: str | Path) -> Gsss:
    """Read the published CSV, either of its two files, or one about other groups."""
    return parse_gsss(read_text(path))


def parse_gsss(source: Source) -> Gsss:
    """Parse the published CSV; errors are those of `load_gsss`."""
    header = source.text.partition("\n")[0]
    published = "gender" in header or "group" not in header
    own = _OF_GENDER if published else _OF_GROUPS
    columns = {name: [name] for name in ("context_id", "context", "next_sentence", "label")} | own
    rows: dict[str, list[tuple[int, dict[str, str]]]] = {}
    table = read(source, columns, kind="csv", strip=True)
    for (where, row), line in zip(table.rows(), table.numbers, strict=True):
        _check(row["label"], LABELS, f"{where}: label")
        if published:
            _check(row["gender"], GENDERS, f"{where}: gender")
        rows.setdefault(row["context_id"], []).append((line, row))
    triples = [
        _triple(name, triple_rows, source.path, [*own]) for name, triple_rows in rows.items()
    ]
    groups = GENDERS if published else tuple(dict.fromkeys(triple.gender for triple in triples))
    return Gsss(source.path, source.sha256, triples, groups, published)


def _check(cell: str, known: Sequence[str], where: str) -> None:
    if cell not in known:
        raise WordbiasError(f"{where}: expected one of {', '.join(known)}, found {cell!r}")


def _triple(
    name: str, rows: Sequence[tuple[int, dict[str, str]]], path: str, own: Sequence[str]
) -> Triple:
    """Return a triple of its rows; `own` names the columns of the group and the swapped texts."""
    group, *swapped = own
    where = f"{path}: context_id {name} (line {rows[0][0]})"
    for label in LABELS:
        count = sum(row["label"] == label for _, row in rows)
        if count != 1:
            raise WordbiasError(
                f"{where}: is no triple: it has {count} rows with the label {label}, expected one"
            )
    for column in (group, "context"):
        if len(distinct := dict.fromkeys(repr(row[column]) for _, row in rows)) > 1:
            raise WordbiasError(f"{where}: is no triple: its {column} is {' and '.join(distinct)}")
    by_label = {row["label"]: row for _, row in rows}
    first, second, third = (_item(by_label[label], swapped) for label in LABELS)
    return Triple(name, rows[0][1][group], (first, second, third))


def _item(row: dict[str, str], swapped: Sequence[str]) -> Item:
    context, following = (row[name] for name in swapped)
    return Item(Sentences(row["context"], row["next_sentence"]), Sentences(context, following))


# Repair of the swapped sentences

_EDGES = re.compile(r"^(\W*)(.*?)([\W_]*)$", re.DOTALL)
RULES = ("him → his", "hers → her", "signs and capitals")


class Change(NamedTuple):
    """A repair of one sentence: triple, label, part, rule, and the text before and after."""

    id: str
    label: str
    part: str
    rule: str
    before: str
    after: str


@dataclass(frozen=True)
class Repaired:
    """Triples with repaired swaps, and the changes, one for each sentence and rule."""

    gsss: Gsss
    changes: Sequence[Change]

    def counts(self) -> dict[str, int]:
        """Return the number of sentences that each rule changed; a context counts once."""
        once = {(c.id, c.part, c.rule, c.before) for c in self.changes}
        by_rule = Counter(rule for _, _, rule, _ in once)
        return {rule: by_rule[rule] for rule in RULES}

    def ids(self) -> list[str]:
        """Return the ids of the triples that were changed, in their order."""
        return list(dict.fromkeys(change.id for change in self.changes))


def repair(gsss: Gsss, rules: Sequence[str] = RULES) -> Repaired:
    """Repair the swapped sentences of triples; the original ones do not change."""
    changes: list[Change] = []
    triples = [_repaired(triple, rules, changes) for triple in gsss.triples]
    return Repaired(replace(gsss, triples=triples), changes)


def repair_sentence(original: str, swapped: str, rules: Sequence[str] = RULES) -> dict[str, str]:
    """Apply rules to a swapped sentence in turn; return the result of each that changes it."""
    done: dict[str, str] = {}
    text = swapped
    for rule in rules:
        repaired = _REPAIRS[rule](original.split(), text.split())
        if repaired != text.split():
            done[rule] = text = " ".join(repaired)
    return done


def _repaired(triple: Triple, rules: Sequence[str], changes: list[Change]) -> Triple:
    first, second, third = (
        _repaired_item(triple.id, label, item, rules, changes)
        for label, item in zip(LABELS, triple.items, strict=True)
    )
    return replace(triple, items=(first, second, third))


def _repaired_item(
    name: str, label: str, item: Item, rules: Sequence[str], changes: list[Change]
) -> Item:
    texts = []
    for part, original, text in zip(Sentences._fields, *item, strict=True):
        for rule, after in repair_sentence(original, text, rules).items():
            changes.append(Change(name, label, part, rule, text, after))
            text = after
        texts.append(text)
    return item._replace(swapped=Sentences(*texts))


# Pronouns

# articles, pronouns, quantifiers; prepositions and particles; conjunctions and question words;
# auxiliaries; adverbs
_FUNCTION_WORDS = """
a an the this that these those it them me you us him some any all more most less no none both each
every one another about above across after against along among around as at away back before behind
below beside between beyond by down during except for forward from home in inside into like near of
off on onto out outside over past round since through to together toward towards under until up upon
with within without apart aside ahead and but or nor so than then though although because if unless
while when where whether who whom whose which what why how is was are were be been has had have does
did do will would can could should may might must not never again alone already also always anymore
anyway better constantly enough even ever everywhere hard here instead just later now often once
only please right soon still straight there today tomorrow tonight too twice very well yesterday yet
"""
_HARMLESS = frozenset(_FUNCTION_WORDS.split())
"""Words that may follow *her* as an object, or *hers*."""
_NOUNS_IN_LY = frozenset(
    ("family", "belly", "bully", "jelly", "lovely", "elderly", "early", "daily")
)
_WITH_OBJECT = re.compile(
    r"(?:watch|see|saw|seen|hear|help|let|make|made|mak|notic|feel|felt|have|had|ha)"
    r"(?:e|s|es|ed|d|ing|ting|n)?"
)
"""Verbs after which *her* may be followed by another verb: "helps her relax"."""
_OWN = """
own mother father mom mum dad mommy daddy parents brother sister son daughter child children kids
baby husband wife friend friends family boss hair eyes face hand hands
"""
_OWNED = frozenset(_OWN.split())
"""Nouns even after such a verb: "helps her mother"."""


def to_his(original: Sequence[str], swapped: Sequence[str]) -> list[str]:
    """Turn *him* to *his* where the original has *her* before a noun."""
    return _possessive(original, swapped, "her", "him", "his")


def to_her(original: Sequence[str], swapped: Sequence[str]) -> list[str]:
    """Turn *hers* to *her* where the original has *his* before a noun."""
    return _possessive(original, swapped, "his", "hers", "her")


def _possessive(
    original: Sequence[str], swapped: Sequence[str], was: str, wrong: str, right: str
) -> list[str]:
    out = list(swapped)
    for i, k in aligned(original, swapped):
        before, word, after = parts(swapped[k])
        fits = core(original[i]) == was and word.lower() == wrong and not after
        if fits and _owns(swapped, k):
            out[k] = before + (right.capitalize() if word[0].isupper() else right)
    return out


def _owns(words: Sequence[str], k: int) -> bool:
    """Return whether the word behind `k` is a noun, which the word at `k` possesses."""
    if k + 1 >= len(words) or parts(words[k + 1])[0]:
        return False
    following = core(words[k + 1])
    if not following or following in _HARMLESS:
        return False
    if following.endswith("ly") and following not in _NOUNS_IN_LY:
        return False
    verb = k > 0 and _WITH_OBJECT.fullmatch(core(words[k - 1]))
    return following in _OWNED or not verb


# Spelling


def spelled_as(original: Sequence[str], swapped: Sequence[str]) -> list[str]:
    """Restore the capitals and signs of words that differ from the original only in them."""
    out: list[str] = []
    for tag, i, j, k, m in opcodes(original, swapped):
        was, swapped_words = original[i:j], swapped[k:m]
        if tag == "equal":
            out += [_respelled(*words) for words in zip(was, swapped_words, strict=True)]
        elif len(was) == len(swapped_words):
            out += [_edged(*words) for words in zip(was, swapped_words, strict=True)]
        else:
            out += _rejoined(was, swapped_words)
    return out


def _rejoined(was: Sequence[str], swapped: Sequence[str]) -> list[str]:
    """Restore hyphens that became spaces, at the beginning or the end of a stretch of words."""
    for i in range(len(was), 0, -1):
        joined = "".join(map(key, was[:i]))
        for k in range(len(swapped) + 1):
            if joined == "".join(map(key, swapped[:k])):
                return [*was[:i], *_rejoined(was[i:], swapped[k:])]
    for i in range(len(was)):
        joined = "".join(map(key, was[i:]))
        for k in range(len(swapped)):
            if joined == "".join(map(key, swapped[k:])):
                return [*_rejoined(was[:i], swapped[:k]), *was[i:]]
    return list(swapped)


def _respelled(was: str, swapped: str) -> str:
    """Return the original word if it has a capital inside, not only at the start of a sentence."""
    inner = any(letter.isupper() for letter in parts(was)[1][1:])
    return was if inner or was.casefold() != swapped.casefold() else swapped


def _edged(was: str, swapped: str) -> str:
    before, _, after = parts(was)
    return f"{before}{parts(swapped)[1]}{after}"


_REPAIRS: dict[str, Callable[[Sequence[str], Sequence[str]], list[str]]] = {
    RULES[0]: to_his,
    RULES[1]: to_her,
    RULES[2]: spelled_as,
}


# Alignment of two sentences


def opcodes(a: Sequence[str], b: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """Align words by their letters: ``b[k:m]`` replaces ``a[i:j]``, as (tag, i, j, k, m)."""
    first, second = ([key(word) for word in words] for words in (a, b))
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    return [(tag, i, j, k, m) for tag, i, j, k, m in matcher.get_opcodes()]


def aligned(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Return pairs of aligned words, in stretches of equal length on both sides."""
    return [
        pair
        for _, i, j, k, m in opcodes(a, b)
        if j - i == m - k
        for pair in zip(range(i, j), range(k, m), strict=True)
    ]


def parts(word: str) -> tuple[str, str, str]:
    """Split a word into signs before, itself, signs after."""
    match = _EDGES.match(word)
    before, inner, after = match.groups() if match else ("", word, "")
    return before, inner, after


def core(word: str) -> str:
    """Return a word without the signs around it, in small letters."""
    return parts(word)[1].lower()


def key(word: str) -> str:
    """Return the letters and digits of a word, which all its spellings share."""
    return re.sub(r"[\W_]", "", word).casefold()


# Scores of a next-sentence head


def gsss_rows(
    gsss: Gsss,
    p: Float,
    subject: str,
    version: str,
    settings: Settings,
    *,
    subsets: Sequence[str] | None = None,
) -> list[Row]:
    """Measure SS, S and D, of (n, 3, 2) probabilities, of all triples and those of each group."""
    # Strength and distance are means of a tail: they are above 0 by chance, and an interval never
    # contains 0. Compare S with `opposite-strength`, which is S with the labels exchanged, minus
    # the mean of the lowest s.
    known = (ALL, *gsss.groups)
    if unknown := set(subsets or known) - set(known):
        raise WordbiasError(f"no subset {unknown.pop()!r}; choose among {', '.join(known)}")
    if len(p) != len(gsss.triples):
        raise WordbiasError(f"expected probabilities of {len(gsss.triples)} triples, got {len(p)}")
    gender = np.array([triple.gender for triple in gsss.triples])
    return [
        row
        for subset in subsets or known
        if (chosen := (gender == subset) | (subset == ALL)).any()
        for row in _part(p[chosen], subject, {"version": version, "subset": subset}, settings)
    ]


def _part(p: Float, subject: str, about: dict[str, Any], settings: Settings) -> Iterator[Row]:
    n = len(p)
    k = extremes(n, settings.share, settings.rounding)
    s, d = strengths(p), distances(p)
    ranked = np.abs(s) if settings.absolute else s
    better = preferred(p[:, 0, 0], p[:, 1, 0], settings.ties)

    def row(name: str, values: Float, size: int, **details: int) -> Row:
        known = {**about, "n": size, **ideal(name), **details}
        share = name == "ss"
        return settings.row(
            subject, name, values, lambda x: tail_mean(x, size), known, "triples", share=share
        )

    yield row("ss", better, n, ties=int((p[:, 0, 0] == p[:, 1, 0]).sum()))
    yield row("strength", ranked, k)
    if not settings.absolute:
        yield row("opposite-strength", -s, k)
    yield row("distance", d, k)
    yield row("mean-strength", s, n)


def triple_records(gsss: Gsss, p: Float, version: str) -> list[Record]:
    """Return one record a triple: its six probabilities, s and d."""
    names = [f"{label} {side}" for label in LABELS for side in ("original", "swapped")]
    return [
        {
            "version": version,
            "context_id": triple.id,
            "gender": triple.gender,
            "context": triple.items[0].original.context,
            **dict(zip(names, map(float, values.ravel()), strict=True)),
            "s": float(s),
            "d": float(d),
        }
        for triple, values, s, d in zip(gsss.triples, p, strengths(p), distances(p), strict=True)
    ]


_MEASURES = ("strength", "opposite-strength", "distance", "mean-strength", "ss")
_SUBSETS = {"M": "about men", "F": "about women"}


def _table(rows: Sequence[Row], settings: Settings) -> Table:
    """Return one line a measure and subset, the published swaps beside the repaired ones."""

    def name(row: Row) -> str:
        about = row.details["subset"]
        subset = "" if about == ALL else _SUBSETS.get(about, f"about {about}")
        return column_title(row.measure) + (f", {subset}" if subset else "")

    columns = values("n", ("no bias", cells.ideal))
    for version in dict.fromkeys(row.details["version"] for row in rows):
        columns += values(version, "95 %", version=version)
    by = "of largest |s|" if settings.absolute else "of largest s"
    note = (
        f"S and D are means of the {settings.share:.0%} of triples {by} and of largest d. A mean "
        "of the most extreme is above 0 by chance, and so is its interval: compare S with S of the "
        "opposite, which has the labels exchanged. The intervals are a bootstrap over triples."
    )
    rows = sorted(rows, key=lambda row: _MEASURES.index(row.measure))
    return pivot(rows[0].subject, rows, name, columns, note)


def _measured(model: NextSentence, data: Gsss, subject: str, settings: Settings) -> Found:
    extremes(len(data.triples), settings.share, settings.rounding)
    repaired = data.repaired if settings.repair and data.published else None
    versions = {"original": data} | ({"repaired": repaired.gsss} if repaired else {})
    pairs = [pair for g in versions.values() for triple in g.triples for pair in triple.pairs()]
    p = model.probabilities(pairs).reshape(len(versions), -1, len(LABELS), 2)
    findings = Found(notes=_notes(data, repaired))
    for (version, gsss), of in zip(versions.items(), p, strict=True):
        findings.rows.extend(gsss_rows(gsss, of, subject, version, settings))
        findings.records.extend(triple_records(gsss, of, version))
    if repaired is not None:
        rules: dict[str, list[str]] = {}
        for change in repaired.changes:
            rules.setdefault(change.id, []).append(change.rule)
        for record in findings.records:
            done = rules.get(record["context_id"], []) if record["version"] == "repaired" else []
            record["repaired by"] = ", ".join(dict.fromkeys(done))
    return findings


def _notes(data: Gsss, repaired: Repaired | None) -> list[str]:
    notes = []
    if repaired is not None:
        counts = ", ".join(f"{rule} in {count}" for rule, count in repaired.counts().items())
        triples = f"{len(repaired.ids())} of {how_many(len(data.triples), 'triple')}"
        notes.append(f"sentences whose swap was repaired: {counts}; {triples}")
    if altered := data.altered_unrelated():
        notes.append(
            f"{len(altered)} unrelated sentences are not the same after the swap, though the paper "
            "says they are; D uses them unchanged"
        )
    if same := data.unswapped():
        notes.append(f"nothing is swapped in the triples {listed(same)}: their s is 0")
    return notes


TEST = StereotypeTest(
    title="enhanced StereoSet",
    form="CSV with context_id",
    data=Gsss,
    recognised=lambda line, names: "context_id" in line,
    read=lambda source, _: parse_gsss(source),
    items="triples",
    scores={NextSentence: _measured},
    table=_table,
)
