"""Winogender and WinoPron: the same sentences with *he*, *she*, *they* and *xe*.

A template names two people, an occupation and another participant, and has a pronoun that only one
of them fits. Winogender (Rudinger et al. 2018) has it with *he*, *she* and *they*; WinoPron (Gautam
et al. 2024) also with *xe*, equally often as subject, object and possessive, and each template also
with one person alone.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.columns import read
from wordbias.coreference.documents import Clusters, Document, Span
from wordbias.coreference.texts import found_clusters, text_document
from wordbias.draws import sampled_row, with_items
from wordbias.errors import WordbiasError
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.statistics import is_constant, resampled_means
from wordbias.stereotypes.pairs import share_row, unit_sums
from wordbias.stereotypes.winogender import FEMALE, MALE, NEUTRAL, TASK, Winogender, stereotype_rows
from wordbias.text_files import Source
from wordbias.wordlists.attribute_files import CASES
from wordbias.wordlists.groups import WordGroups

Float = NDArray[np.float64]
_PRONOUNS = WordGroups.load("pronouns:he,she,they,xe")
SETS = dict(zip(_PRONOUNS.groups, _PRONOUNS.cases, strict=True))
"""Sets of pronouns: the forms of each case."""
ALL, ONE_PERSON = "all", "one person"
ACCURACY, GAP = "pronoun-accuracy", "pronoun-set-gap"
CONSISTENT, TOLD_APART = "pronoun-consistency", "pronoun-disambiguation"
UNDECIDED = "undecided"
TEMPLATES = "templates"
WINOPRON = "WinoPron"
NEW_TEMPLATES = "new_templates.tsv"
"""File of WinoPron, in its folder or archive."""
_PLACES = dict(zip(("$NOM_PRONOUN", "$ACC_PRONOUN", "$POSS_PRONOUN"), CASES, strict=True))
_AES = 99
"""Method of a file in an archive that AES encrypts."""
_OF_GENDER = {MALE: "he", FEMALE: "she", NEUTRAL: "they"}


@dataclass(frozen=True)
class PronounSentence:
    """A sentence with a pronoun."""

    id: str
    text: str
    pronouns: str
    case: str
    pronoun: Span
    # places of the people, the one to whom it refers first; without a competitor that one alone
    people: tuple[Span, ...]
    template: tuple[str, ...]  # key of the sentences that differ in the pronoun only
    pair: tuple[str, ...]  # key of the two templates that differ in the right answer


@dataclass(frozen=True, eq=False)
class PronounSentences:
    """The sentences of a data set; those of Winogender with the shares of women."""

    path: str
    task: str
    sentences: Sequence[PronounSentence]
    winogender: Winogender | None = None

    @property
    def documents(self) -> list[Document]:
        """The sentences as documents for a system, named by their ids."""
        return [text_document(sentence.id, sentence.text) for sentence in self.sentences]


def winogender_sentences(data: Winogender) -> PronounSentences:
    """Return the sentences of Winogender; the case is that of *he*, as *her* may be two."""
    cases = {
        masculine.template: CASES[SETS["he"].index(masculine.pronoun.lower())]
        for masculine in data.sentences
        if masculine.gender == MALE
    }
    sentences = []
    for sentence in data.sentences:
        places = [
            _place(sentence.text, name, data.path)
            for name in (sentence.occupation, sentence.participant)
        ]
        right, wrong = places if sentence.to_occupation else places[::-1]
        answer = "occupation" if sentence.to_occupation else "participant"
        case = cases.get(sentence.template, "")
        pair = (sentence.occupation, sentence.participant)
        pronoun = _place(sentence.text, sentence.pronoun, data.path)
        sentences.append(
            PronounSentence(
                sentence.id,
                sentence.text,
                _OF_GENDER[sentence.gender],
                case,
                pronoun,
                (right, wrong),
                (*pair, answer),
                pair,
            )
        )
    return PronounSentences(data.path, TASK, sentences, data)


def _place(text: str, word: str, path: str) -> Span:
    match = re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE)
    if match is None:
        raise WordbiasError(f"{path}: expected {word!r} in {text!r:.80}")
    return match.span()


def read_winopron(path: str | Path, password: str | None = None) -> Source:
    """Read the templates of WinoPron from its archive, in memory."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(NEW_TEMPLATES).compress_type == _AES:
                raise NotImplementedError("it is encrypted by AES")
            data = archive.read(NEW_TEMPLATES, None if password is None else password.encode())
        return Source(str(path), data.decode("utf-8-sig"), "")
    except KeyError:
        raise WordbiasError(
            f"{path}: expected the archive of WinoPron with {NEW_TEMPLATES}"
        ) from None
    except NotImplementedError as error:  # which is a RuntimeError, too
        raise WordbiasError(
            f"{path}: cannot be opened here: {error}; unpack it, and name the folder"
        ) from None
    except RuntimeError:
        complaint = "needs a" if password is None else "has another"
        raise WordbiasError(
            f"{path}: {complaint} password, which WinoPron's readme states; give it by --password"
        ) from None
    except (OSError, UnicodeDecodeError, zipfile.BadZipFile, zlib.error) as error:
        # one wrong password of 256 is noticed only by what is unpacked
        remedy = "" if password is None else "; is this the password in WinoPron's readme?"
        raise WordbiasError(f"{path}: cannot be read: {error}{remedy}") from None


def parse_winopron(source: Source) -> PronounSentences:
    """Make the sentences of all templates and pronoun sets, of two people and of one."""
    wanted = {
        "occupation": ("occupation(0)",),
        "participant": ("other-participant(1)",),
        "answer": ("answer",),
        "pronoun": ("pronoun_type",),
        "template": ("template",),
        "single": ("single_version",),
    }
    sentences: list[PronounSentence] = []
    for where, row in read(source, wanted, kind="tsv", ragged=True).rows():
        if row["pronoun"] not in _PLACES or row["answer"] not in ("0", "1"):
            raise WordbiasError(
                f"{where}: expected an answer 0 or 1 and one of {', '.join(_PLACES)}, found "
                f"{row['answer']!r:.20} and {row['pronoun']!r:.40}"
            )
        sentences += _filled(where, row)
    return PronounSentences(source.path, WINOPRON, sentences)


def _filled(where: str, row: Mapping[str, str]) -> Iterator[PronounSentence]:
    """Yield the sentences of a line."""
    case = _PLACES[row["pronoun"]]
    people = {"$OCCUPATION": row["occupation"], "$PARTICIPANT": row["participant"]}
    right = list(people)[int(row["answer"])]
    for kind, template in (("two", row["template"]), ("one", row["single"])):
        alone = kind == "one"
        slots = [right] if alone else [right, next(slot for slot in people if slot != right)]
        for name, forms in SETS.items():
            fill = {**people, row["pronoun"]: forms[CASES.index(case)]}
            text, places = _fill(template, fill)
            expected = [slot in (*slots, row["pronoun"]) for slot in fill]
            if [template.count(slot) for slot in fill] != expected:
                raise WordbiasError(
                    f"{where}: expected {', '.join(slots)} and {row['pronoun']} once each in "
                    f"{template!r:.80}"
                )
            pair = (row["occupation"], row["participant"], case, *(("one",) if alone else ()))
            yield PronounSentence(
                ".".join((*pair[:2], row["answer"], case, name, *pair[3:])),
                text,
                name,
                ONE_PERSON if alone else case,
                places[row["pronoun"]],
                tuple(places[slot] for slot in slots),
                (*pair, row["answer"]),
                pair,
            )


def _fill(template: str, words: Mapping[str, str]) -> tuple[str, dict[str, Span]]:
    """Put words in the place of slots; return where they are, of each slot the last place."""
    text, places, last = "", {}, 0
    for match in re.finditer("|".join(map(re.escape, words)), template):
        text += template[last : match.start()]
        word = words[match.group()]
        places[match.group()] = (len(text), len(text) + len(word))
        text += word if text else word.capitalize()
        last = match.end()
    return text + template[last:], places


# answers


def answers_of(
    documents: Sequence[Document], data: PronounSentences, path: str
) -> NDArray[np.int64]:
    """Return to whom a system resolves each pronoun: 0 is right, 1 is wrong, -1 undecided."""
    clusters = found_clusters(
        documents, [(sentence.id, sentence.text) for sentence in data.sentences], path
    )
    return np.array(list(map(_resolved, data.sentences, clusters)))


def _resolved(sentence: PronounSentence, clusters: Clusters) -> int:
    """Return the person within a mention that shares a cluster with the pronoun; -1 of several."""
    mentions = [span for cluster in clusters if sentence.pronoun in cluster for span in cluster]
    people = {
        i
        for i, (start, end) in enumerate(sentence.people)
        if any(first <= start and end <= last for first, last in mentions)
    }
    return people.pop() if len(people) == 1 else -1


def nearest(data: PronounSentences) -> NDArray[np.int64]:
    """Return the answers that the person nearest before the pronoun is meant."""
    far = [
        [abs(sentence.pronoun[0] - end) for _, end in sentence.people]
        for sentence in data.sentences
    ]
    return np.array([int(np.argmin(distances)) for distances in far])


# scores


def pronoun_rows(
    data: PronounSentences, answers: NDArray[np.int64], subject: str, *, draws: int, seed: int
) -> list[Row]:
    """Measure how pronouns are resolved, with intervals over templates or pairs of them."""
    # The p of a gap is that of McNemar's exact test over templates. Of Winogender there are also
    # the rows of `stereotype_rows`.
    right = (answers == 0).astype(np.float64)
    sets = np.array([sentence.pronouns for sentence in data.sentences])
    cases = np.array([sentence.case for sentence in data.sentences])
    alone = cases == ONE_PERSON
    templates, pairs = (
        np.unique([" ".join(key) for key in keys], return_inverse=True)[1]
        for keys in zip(
            *((sentence.template, sentence.pair) for sentence in data.sentences), strict=True
        )
    )
    names = [name for name in SETS if (sets == name).any()]
    by_case = {ALL: ~alone, **{case: cases == case for case in (*CASES, ONE_PERSON)}}
    by_case = {case: chosen for case, chosen in by_case.items() if chosen.any()}
    by_set = {ALL: np.ones(len(sets), bool), **{name: sets == name for name in names}}
    share = partial(share_row, subject, ties=0, seed=seed, draws=draws)
    rows: list[Row] = []
    for case, of_case in by_case.items():
        about: dict[str, Any] = {"task": data.task, "subset": case, "seed": seed}
        chance = {} if case == ONE_PERSON else {"chance": 0.5}
        for name, of_set in by_set.items():
            chosen = of_case & of_set
            details = {**about, "set": name}
            lost = (answers[chosen] < 0).astype(np.float64)
            of = {"unit": TEMPLATES, "units": templates[chosen]}
            rows.append(share(ACCURACY, right[chosen], {**details, **chance}, **of))
            rows.append(share(UNDECIDED, lost, details, **of))
        by_template = _table(right[of_case], templates[of_case], sets[of_case], names)
        rows += _gap_rows(by_template, names, subject, about, draws, seed)
        complete = by_template[np.isfinite(by_template).all(axis=1)]
        details = {
            **about,
            "set": ALL,
            **{key: probability ** len(names) for key, probability in chance.items()},
        }
        of = {"unit": TEMPLATES, "units": np.arange(len(complete))}
        rows.append(share(CONSISTENT, complete.min(axis=1), details, **of))
        if case == ONE_PERSON:
            continue
        for name, of_set in by_set.items():
            chosen = of_case & of_set
            both, of_pair = _told_apart(right[chosen], pairs[chosen], sets[chosen])
            if len(both):
                details = {**about, "set": name, "chance": 0.25}
                rows.append(share(TOLD_APART, both, details, unit="pairs", units=of_pair))
    if data.winogender is not None:
        taken = np.stack([answers == 0, answers == 1], axis=1).astype(np.float64)
        rows += stereotype_rows(data.winogender, right, taken, subject, {}, seed, draws)
    return with_items(rows, [(sentence.id, sentence.people) for sentence in data.sentences], seed)


def _table(
    right: Float, templates: NDArray[Any], sets: NDArray[Any], names: Sequence[str]
) -> Float:
    """Return whether each template is right with each set, shape ``(t, s)``; nan if not there."""
    lines = np.unique(templates, return_inverse=True)[1]
    table = np.full((lines.max() + 1, len(names)), np.nan)
    for j, name in enumerate(names):
        table[lines[sets == name], j] = right[sets == name]
    return table


def _gap_rows(
    by_template: Float,
    names: Sequence[str],
    subject: str,
    about: Mapping[str, Any],
    draws: int,
    seed: int,
) -> list[Row]:
    """Return the difference of accuracy of each two sets in the templates that have both."""
    rows = []
    for i, j in combinations(range(len(names)), 2):
        d = by_template[:, j] - by_template[:, i]
        d = d[np.isfinite(d)]
        if not len(d):
            continue
        samples = None
        same = is_constant(d)
        if draws and not same:
            samples = resampled_means(d[:, None], np.random.default_rng(seed), draws)[:, 0]
        details = {**about, "set": f"{names[j]} − {names[i]}", "n": len(d)}
        details |= {"p": mcnemar_p(d), **ideal(GAP)}
        if draws and same:
            details["reason"] = "all templates have the same difference, which no draw can change"
        rows.append(sampled_row(subject, GAP, float(d.mean()), details, samples, TEMPLATES))
    return rows


def mcnemar_p(differences: Float) -> float:
    """Return the exact two-sided p of McNemar's test, of differences that are 1, 0 or −1."""
    from scipy.special import bdtr

    n, more = int((differences != 0).sum()), int((differences > 0).sum())
    return min(1.0, 2 * float(bdtr(min(more, n - more), n, 0.5)))


def _told_apart(
    right: Float, pairs: NDArray[Any], sets: NDArray[Any]
) -> tuple[Float, NDArray[Any]]:
    """Return whether both templates of pairs are right with a set, and the pair of each value."""
    keys = np.unique(
        [f"{pair} {name}" for pair, name in zip(pairs, sets, strict=True)], return_inverse=True
    )[1]
    sums = unit_sums(np.stack([right, np.ones(len(right))], axis=1), keys)
    of_pair = np.zeros(keys.max() + 1, int)
    of_pair[keys] = pairs
    two = sums[:, 1] == 2
    return (sums[two, 0] == 2).astype(np.float64), of_pair[two]
