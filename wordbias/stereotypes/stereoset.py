"""StereoSet as Nadeem et al. (2021) publish it: JSON, between and within sentences.

Within sentences the sub-words of a blank are masked from left to right: the earlier ones are given,
the later ones left out. By default all words of a filler are scored, tokenised as in the sentence.
StereoSet's released code (``dataloader.py``) scores less, and `published_masks` follows it:

- of several words only the first, together with text joined to the blank (``BLANKed``) and without
  signs: *ice-cold tea* is scored as *icecold*;
- tokenised by itself, so that a byte-level tokenizer (RoBERTa) gives it no space before, although
  there is one: another token than the model would read there;
- the sub-words before the mask are decoded and tokenised again, and text joined to the blank stands
  behind the mask too;
- of two blanks, the first mask is scored;
- the score is the mean of the probabilities, not of their logarithms.

A decoder scores whole sentences. The authors (``eval_generative_models.py``) take the geometric
mean of the probabilities of the tokens. Their first token follows ``<|endoftext|>``, but the others
are computed from the sentence without it: that is done `as published` only. By default all tokens
follow the BOS token; both the log-likelihood and its mean over the tokens are compared.
lm-evaluation-harness has no task of StereoSet. Nothing is cut out of a sentence, so that items with
several blanks are scored like all others.

The file is long because it has the reader, the scores of three kinds of heads, and the entry.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from wordbias import cells
from wordbias.draws import sampled_row
from wordbias.errors import WordbiasError
from wordbias.formats.source import has_lone_surrogate
from wordbias.measures.registry import ideal
from wordbias.models.causal_model import CausalModel, Likelihoods, Tokens
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, how_many
from wordbias.results import Row
from wordbias.statistics import resamples
from wordbias.stereotypes.entry import Found, Record, StereotypeTest
from wordbias.stereotypes.gsss import LABELS
from wordbias.stereotypes.masked_model import Masked, MaskedModel
from wordbias.stereotypes.next_sentence import NextSentence, Sentences
from wordbias.stereotypes.pairs import PER_TOKEN, scores_of
from wordbias.stereotypes.scores import ALL, Float, Settings, icat, language_score, stereotype_score
from wordbias.text_files import Source

BLANK = "BLANK"
KINDS = ("intersentence", "intrasentence")
_SPELT = re.compile(rf"\b{BLANK}\b", re.IGNORECASE)
_NO_SIGNS = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class Cluster:
    """One context with three candidates."""

    id: str  # as in the file; the target is the term of the stereotype
    target: str
    bias_type: str
    context: str  # the first sentence; within sentences, the one with a blank
    # one for each of `LABELS`: the next sentence, or the filler of the blank
    candidates: tuple[str, str, str]


@dataclass(frozen=True)
class StereoSet:
    """The items of a file, with its path and hash."""

    # A part is parsed on first use: its errors do not stop a model that cannot score it.

    path: str
    sha256: str
    items: Mapping[str, Sequence[Mapping[str, Any]]]  # the items of each of `KINDS` as in the file
    # include items with several blanks as StereoSet's own loader does; see `published_word`. By
    # default they are left out.
    as_published: bool = False

    @cached_property
    def intersentence(self) -> Sequence[Cluster]:
        """Return the items of two sentences."""
        return _clusters(self, "intersentence")

    @cached_property
    def intrasentence(self) -> Sequence[Cluster]:
        """Return the items of one sentence with a blank."""
        return _clusters(self, "intrasentence")

    @cached_property
    def triples(self) -> Sequence[Cluster]:
        """Return the items of one sentence, all of them, with whole sentences as candidates."""
        return _clusters(self, "intrasentence", whole=True)

    @cached_property
    def several_blanks(self) -> list[str]:
        """Return the ids of items within sentences that have more than one blank."""
        return [
            str(example.get("id")) for example in self.items["intrasentence"] if _several(example)
        ]


def parse_stereoset(source: Source, *, as_published: bool = False) -> StereoSet:
    """Parse the published JSON; the items of its parts are parsed on first use."""
    try:
        data = json.loads(source.text)["data"]
        items = {kind: _listed(data.get(kind, [])) for kind in KINDS}
    except json.JSONDecodeError as error:
        raise WordbiasError(
            f"{source.path}: line {error.lineno}: is no JSON: {error.msg}"
        ) from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise _other_json(source.path, error) from None
    if not any(items.values()):
        raise WordbiasError(f"{source.path}: holds neither {' nor '.join(KINDS)} items")
    return StereoSet(source.path, source.sha256, items, as_published)


def _listed(items: Any) -> list[Mapping[str, Any]]:
    if not isinstance(items, list) or not all(isinstance(example, dict) for example in items):
        raise TypeError("expected a list of items")
    return items


def _other_json(path: str, error: Exception) -> WordbiasError:
    return WordbiasError(
        f"{path}: is not StereoSet's JSON ({error!r}); expected data with {' and '.join(KINDS)}"
    )


def _clusters(data: StereoSet, kind: str, *, whole: bool = False) -> list[Cluster]:
    try:
        names = data.several_blanks if kind == "intrasentence" and not whole else []
        left_out = [] if data.as_published else names
        return [
            _cluster(example, kind, whole=whole)
            for example in data.items[kind]
            if str(example.get("id")) not in left_out
        ]
    except WordbiasError as error:
        raise WordbiasError(f"{data.path}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise _other_json(data.path, error) from None


def _several(example: Mapping[str, Any]) -> bool:
    """Return whether an item has more than one blank; a second one may be in small letters."""
    context = example.get("context")
    if not isinstance(context, str) or BLANK not in context:
        return False
    if context.count(BLANK) > 1:
        return True
    return len(_SPELT.findall(context)) > 1 and not all(
        isinstance(text, str) and _fill(context, text)
        for text in (sentence["sentence"] for sentence in example["sentences"])
    )


def _cluster(example: Mapping[str, Any], kind: str, *, whole: bool) -> Cluster:
    name = str(example["id"])
    labels = [sentence["gold_label"] for sentence in example["sentences"]]
    if sorted(labels) != sorted(LABELS):
        raise WordbiasError(
            f"{kind} {name}: expected one sentence each of {', '.join(LABELS)}, found "
            f"{', '.join(map(str, labels)) or 'none'}"
        )
    sentences = {
        sentence["gold_label"]: _text(sentence["sentence"], f"{kind} {name}")
        for sentence in example["sentences"]
    }
    context = _text(example["context"], f"{kind} {name}")
    first, second, third = (sentences[label] for label in LABELS)
    if kind == "intrasentence" and not whole:
        word = published_word if _several(example) else filler
        first, second, third = (word(context, text, name) for text in (first, second, third))
    return Cluster(
        name, str(example["target"]), str(example["bias_type"]), context, (first, second, third)
    )


def _text(sentence: Any, where: str) -> str:
    if not isinstance(sentence, str) or not sentence.strip() or has_lone_surrogate(sentence):
        raise WordbiasError(f"{where}: expected a sentence, found {sentence!a:.60}")
    return sentence


def filler(context: str, sentence: str, name: str) -> str:
    """Return the filler of a blank; sentences may differ from their context in capitals."""
    if context.count(BLANK) != 1:
        raise WordbiasError(f"intrasentence {name}: expected one {BLANK} in {context!r}")
    filling = _fill(context, sentence)
    if not filling:
        raise WordbiasError(
            f"intrasentence {name}: {sentence!r} does not fill the blank of {context!r}"
        )
    return filling


def _fill(context: str, sentence: str) -> str:
    before, _, after = context.partition(BLANK)
    middle = sentence[len(before) : len(sentence) - len(after)]
    fits = f"{before}{middle}{after}".lower() == sentence.lower() and middle.strip()
    return middle if fits else ""


def published_word(context: str, sentence: str, name: str) -> str:
    """Return the word of a sentence that StereoSet's own loader takes: that at the last blank."""
    # Words are separated by single spaces; their signs are removed.
    places = [i for i, word in enumerate(context.split(" ")) if BLANK in word]
    words = sentence.split(" ")
    word = words[places[-1]].translate(_NO_SIGNS) if places and places[-1] < len(words) else ""
    if not word:
        raise WordbiasError(
            f"intrasentence {name}: {sentence!r} has no word where {context!r} has its last {BLANK}"
        )
    return word


# Rows


def stereoset_rows(
    clusters: Sequence[Cluster],
    scores: Float,
    subject: str,
    task: str,
    settings: Settings,
) -> list[Row]:
    """Measure ss, lms and icat of StereoSet, of (n, 3) scores, for each type of bias and all."""
    types = np.array([cluster.bias_type for cluster in clusters])
    targets = np.array([cluster.target for cluster in clusters])
    subsets = list(dict.fromkeys(types.tolist()))
    rows: list[Row] = []
    for subset in [ALL] * (len(subsets) > 1) + subsets:
        chosen = (types == subset) | (subset == ALL)
        about = {"task": task, "subset": subset, "n": int(chosen.sum())}
        rows += _cat(scores[chosen], targets[chosen], subject, about, settings)
    return rows


def _cat(
    scores: Float,
    targets: np.ndarray[Any, np.dtype[np.str_]],
    subject: str,
    about: dict[str, Any],
    settings: Settings,
) -> Iterator[Row]:
    terms = targets if settings.as_published else None

    def measured(rows: Any) -> tuple[float, float, float]:
        chosen = scores[rows].T
        named = None if terms is None else terms[rows]
        ss = stereotype_score(*chosen[:2], targets=named, ties=settings.ties)
        lms = language_score(*chosen, targets=named, ties=settings.ties)
        return ss, lms, icat(lms, ss)

    rng = np.random.default_rng(settings.seed)
    blocks = resamples(len(scores), rng, settings.samples)
    samples = np.array([measured(rows) for block in blocks for rows in block])
    about = {**about, "seed": settings.seed}
    for i, (name, value) in enumerate(
        zip(("ss", "lms", "icat"), measured(slice(None)), strict=True)
    ):
        yield sampled_row(subject, name, value, about | ideal(name), samples[:, i], "triples")


# Scores of blanks by a masked-language head


def blank_scores(
    model: MaskedModel, clusters: Sequence[Cluster], *, as_published: bool = False
) -> Float:
    """Score the fillers of blanks, shape ``(n, 3)`` in the order of the labels."""
    # By default the score is the mean of the logarithms over all sub-words: a likelihood, in which
    # one impossible sub-word counts.
    mask = published_masks if as_published else blank_masks
    words = [
        mask(model.tokenizer, cluster, word) for cluster in clusters for word in cluster.candidates
    ]
    log_probs = model.log_probabilities([masked for word in words for masked in word], "blanks")
    parts = np.split(log_probs, np.cumsum([len(word) for word in words])[:-1])
    means = [np.exp(part).mean() if as_published else part.mean() for part in parts]
    return np.array(means).reshape(-1, 3)


def blank_masks(tokenizer: Any, cluster: Cluster, word: str) -> list[Masked]:
    """Mask each sub-word of a blank; those to the right of the mask are left out."""
    # Several blanks are masked in turn; the others have the same number of sub-words and a mask:
    # one blank does not reveal the word of the other.
    text, starts = _filled(cluster.context, word)
    encoding = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
    ids, offsets, special = (
        encoding[key] for key in ("input_ids", "offset_mapping", "special_tokens_mask")
    )
    spans = []
    for start in starts:
        inside = [
            i
            for i, (a, b) in enumerate(offsets)
            if a < start + len(word) and start < b and not special[i]
        ]
        if not inside:
            raise _no_token(cluster, word)
        spans.append((inside[0], inside[-1] + 1))
    mask = tokenizer.mask_token_id
    return [
        _partly(ids, spans, blank, n_shown, mask)
        for blank, (first, end) in enumerate(spans)
        for n_shown in range(end - first)
    ]


def published_masks(tokenizer: Any, cluster: Cluster, word: str) -> list[Masked]:
    """Mask each sub-word of a blank as StereoSet's released code does, see this module."""
    place = max(i for i, piece in enumerate(cluster.context.split(" ")) if BLANK in piece)
    filled = cluster.context.replace(BLANK, word).split(" ")[place].translate(_NO_SIGNS)
    tokens = tokenizer(filled, add_special_tokens=False)["input_ids"]
    if not tokens:
        raise _no_token(cluster, word)
    masked = []
    for i, token in enumerate(tokens):
        before = tokenizer.decode(tokens[:i])
        text = cluster.context.replace(BLANK, f"{before}{tokenizer.mask_token}")
        ids = tokenizer(text)["input_ids"]
        masked.append(Masked(tuple(ids), ids.index(tokenizer.mask_token_id), token))
    return masked


def _filled(context: str, word: str) -> tuple[str, list[int]]:
    """Return a context with a word in its blanks, and the character offsets of the word."""
    *before, _ = context.split(BLANK)
    lengths = np.array([len(piece) for piece in before]) + len(word)
    return context.replace(BLANK, word), (np.cumsum(lengths) - len(word)).tolist()


def _partly(
    ids: Sequence[int], spans: Sequence[tuple[int, int]], blank: int, n_shown: int, mask: int
) -> Masked:
    """Show the first sub-words of every blank and mask the next, which is scored in one blank."""
    out: list[int] = []
    place = last = 0
    for i, (first, end) in enumerate(spans):
        out += [*ids[last:first], *ids[first : min(first + n_shown, end)], mask]
        place = len(out) - 1 if i == blank else place
        last = end
    return Masked((*out, *ids[last:]), place, ids[spans[blank][0] + n_shown])


def _no_token(cluster: Cluster, word: str) -> WordbiasError:
    return WordbiasError(
        f"intrasentence {cluster.id}: the tokenizer has no token for {word!r}; leave the item out"
    )


def cluster_records(clusters: Sequence[Cluster], scores: Float, task: str) -> list[Record]:
    """Return one record a cluster: its three scores."""
    return [
        {
            "task": task,
            "id": cluster.id,
            "target": cluster.target,
            "bias_type": cluster.bias_type,
            "context": cluster.context,
            **dict(zip(LABELS, map(float, values), strict=True)),
        }
        for cluster, values in zip(clusters, scores, strict=True)
    ]


# Scores of whole sentences by the likelihood of a decoder


def score_clusters(
    model: CausalModel, clusters: Sequence[Cluster], *, as_published: bool = False
) -> Likelihoods:
    """Return the log-likelihoods of sentences, shape ``(n, 3)`` in the order of the labels."""
    texts = [text for cluster in clusters for text in cluster.candidates]
    if not as_published:
        return model.score_texts(texts, "StereoSet").shaped(-1, len(LABELS))
    tokens = [encoded.ids[encoded.given :] for encoded in replace(model, bos=True).texts(texts)]
    if too_short := next(
        (text for ids, text in zip(tokens, texts, strict=True) if len(ids) < 2), None
    ):
        raise WordbiasError(
            f"{model.name}: expected a sentence of two tokens or more: {too_short!r:.60}"
        )
    first = model.score([Tokens((model.start, ids[0]), 1) for ids in tokens], "StereoSet")
    others = model.score([Tokens(ids, 1) for ids in tokens], "StereoSet")
    total = Likelihoods(first.total + others.total, 1 + others.tokens, others.cut)
    return total.shaped(-1, len(LABELS))


def likelihood_rows(
    clusters: Sequence[Cluster], likelihoods: Likelihoods, subject: str, settings: Settings
) -> list[Row]:
    """Measure ss, lms and icat for each type of bias, by each score."""
    # As published, there is only the score per token, ties count 0 and terms are averaged.
    scores = scores_of(likelihoods)
    if settings.as_published:
        scores = {PER_TOKEN: scores[PER_TOKEN]}
    return [
        replace(row, details={**row.details, "score": name})
        for name, values in scores.items()
        for row in stereoset_rows(clusters, values, subject, "intrasentence", settings)
    ]


def sentence_records(clusters: Sequence[Cluster], likelihoods: Likelihoods) -> list[Record]:
    """Return one record a sentence: its log-likelihood and its number of tokens."""
    return [
        {
            "task": "StereoSet intrasentence",
            "subset": cluster.bias_type,
            "id": cluster.id,
            "label": label,
            "text": text,
            "log-likelihood": float(total),
            "tokens": int(tokens),
        }
        for cluster, totals, counts in zip(
            clusters, likelihoods.total, likelihoods.tokens, strict=True
        )
        for label, text, total, tokens in zip(
            LABELS, cluster.candidates, totals, counts, strict=True
        )
    ]


# The test


def _between(model: NextSentence, data: StereoSet, subject: str, settings: Settings) -> Found:
    clusters = data.intersentence
    pairs = [
        Sentences(cluster.context, text) for cluster in clusters for text in cluster.candidates
    ]
    scores = model.probabilities(pairs).reshape(-1, len(LABELS))
    return _scored(clusters, scores, subject, "intersentence", settings)


def _within(model: MaskedModel, data: StereoSet, subject: str, settings: Settings) -> Found:
    findings, names = Found(), data.several_blanks
    if clusters := data.intrasentence:
        scores = blank_scores(model, clusters, as_published=settings.as_published)
        findings = _scored(clusters, scores, subject, "intrasentence", settings)
    if names:
        findings.about["taken as published" if data.as_published else "left out"] = names
        taken = (
            "; the word of the last one is taken, as StereoSet's loader does"
            if data.as_published
            else " and are left out; --as-published takes them"
        )
        findings.notes.append(
            f"{len(names)} of {how_many(len(data.items['intrasentence']), 'item')} within "
            f"sentences have more than one blank ({', '.join(names)}){taken}"
        )
    return findings


def _scored(
    clusters: Sequence[Cluster], scores: Float, subject: str, task: str, settings: Settings
) -> Found:
    rows = stereoset_rows(clusters, scores, subject, task, settings)
    return Found(rows, cluster_records(clusters, scores, task))


def _whole(model: CausalModel, data: StereoSet, subject: str, settings: Settings) -> Found:
    clusters = data.triples
    likelihoods = score_clusters(model, clusters, as_published=settings.as_published)
    rows = likelihood_rows(clusters, likelihoods, subject, settings)
    return Found(rows, sentence_records(clusters, likelihoods))


_PARTS = {NextSentence: KINDS[0], MaskedModel: KINDS[1], CausalModel: "triples"}


def _check(data: StereoSet, heads: Sequence[type]) -> None:
    """Parse the parts that heads score; refuse data without an item to score."""
    parts = [getattr(data, _PARTS[head]) for head in heads]
    if not any(parts):
        raise WordbiasError(
            f"{data.path}: holds no item to score: all that the model could score have more than "
            f"one blank ({', '.join(data.several_blanks)}); --as-published takes them"
        )


def _described(data: StereoSet) -> str:
    between, within = (len(data.items[kind]) for kind in KINDS)
    return f"StereoSet, {between} between and {within} within sentences ({data.path})"


def _table(rows: Sequence[Row], settings: Settings) -> Table:
    """Return one line a part and type of bias."""
    columns = values("n")
    for measure, best in {"ss": ".5 is none", "lms": "1 is best", "icat": "1 is best"}.items():
        columns += values((f"{measure} ({best})", cells.with_interval), measure=measure)
    average = "terms" if settings.as_published else "triples"
    note = f"Means over {average}; 95 % intervals: bootstrap over triples."
    return pivot(rows[0].subject, rows, {"task": "task", "about": "subset"}, columns, note)


TEST = StereotypeTest(
    title="StereoSet",
    form="JSON",
    data=StereoSet,
    recognised=lambda line, names: (
        line.startswith(("{", "[")) and '"context_condition"' not in line
    ),
    read=lambda source, as_published: parse_stereoset(source, as_published=as_published),
    items="triples",
    scores={NextSentence: _between, MaskedModel: _within, CausalModel: _whole},
    described=_described,
    holds=lambda data, head: bool(data.items[KINDS[head is not NextSentence]]),
    check=_check,
    table=_table,
    task="intrasentence",
    part="within sentences",
    note="ss: .5 is no preference; lms and icat: 1 is best.",
    bias=("ss",),
    cost=("lms",),
)
