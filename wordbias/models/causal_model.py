r"""A decoder and the log-likelihoods that it gives to texts, and to continuations of contexts.

The log-likelihood of tokens is :math:`\sum_i \log p(t_i \mid t_0 \dots t_{i-1})`, in nats. Where
the first token stands, as lm-evaluation-harness 0.4.13 does:

- a text without a context follows one BOS token (EOS for a tokenizer that has no BOS), which is not
  scored, and is tokenised without special tokens;
- a context has the special tokens that the tokenizer puts in front of every text: `<s>` of Llama,
  none of GPT-2. Context and continuation are tokenised as one text; its tokens after as many as the
  context has by itself are those of the continuation. Spaces at the end of a context belong to the
  continuation.

Earlier versions of the harness, in which `add_bos_token` was false by default, put no special
tokens in front of a context. Special tokens that a tokenizer puts at the end are left out here; the
harness would score them.

Texts are computed in batches of like length and padded on the right, where a causal model cannot
see the padding; so neither a padding token nor a side is needed. Continuations of one context are
computed after it, from its keys and values.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError, first_line, need
from wordbias.models.likelihood_resume import Kept
from wordbias.models.loading import LoadedModel, configured_length, least_limit, load_pretrained
from wordbias.models.model_like import (
    PURPOSE,
    ModelLike,
    evaluating,
    need_transformers,
    silent,
    to_float64,
)
from wordbias.models.tokenising import batched
from wordbias.progress import Bar, progress

Float = NDArray[np.float64]
Places = NDArray[np.intp]
BUDGET = 2048
"""Maximum number of tokens in a batch, padding included."""
_LOGITS = 1 << 26
"""Maximum number of logits that are computed at a time: tokens × vocabulary."""
_ENOUGH, _LIKE = 128, 0.9
"""Tokens that fill a processor; share of the longest text that others of its batch have."""
_TOGETHER = 64
"""Maximum number of continuations of one context that are computed together."""


class Tokens(NamedTuple):
    """Tokens of a text, of which the first `given` are read and the others scored."""

    ids: tuple[int, ...]
    given: int


@dataclass(frozen=True, eq=False)
class Likelihoods:
    """Log-likelihoods of texts."""

    total: Float  # natural logarithm of each probability, shape `(n,)`
    tokens: NDArray[np.int64]  # number of tokens that were scored, shape `(n,)`
    # number of texts whose context was cut at its beginning to what the model can read
    cut: int = 0

    @property
    def per_token(self) -> Float:
        """Mean log-probability of a token, shape ``(n,)``."""
        means: Float = self.total / self.tokens
        return means

    def shaped(self, *shape: int) -> Likelihoods:
        """Return them in another shape, such as pairs."""
        return Likelihoods(self.total.reshape(shape), self.tokens.reshape(shape), self.cut)


@dataclass(frozen=True, eq=False, kw_only=True)
class CausalModel(LoadedModel):
    """A decoder with its tokenizer."""

    front: tuple[int, ...] = ()  # special tokens that the tokenizer puts in front of a text
    limit: int | None = None  # maximum length of a text in tokens; None if nothing limits it
    # let a text without a context follow the BOS token. If not, it stands as the tokenizer writes
    # it, and a first token that follows nothing is not scored.
    bos: bool = True
    keeps: str = field(default="", repr=False)  # argument of `forward` for the positions of logits
    # log-likelihoods of a run that was interrupted; they are not computed again
    kept: Kept | None = field(default=None, repr=False)

    @classmethod
    def load(
        cls,
        source: ModelLike,
        *,
        device: str | None = None,
        precision: str | None = None,
        max_length: int | None = None,
        bos: bool = True,
    ) -> Self:
        """Load a decoder; one that the caller has loaded stays as it is."""
        loaded = load_pretrained("AutoModelForCausalLM", source, "a decoder (a causal model)")
        _check_causal(loaded)
        if loaded.missing:
            raise WordbiasError(
                f"{loaded.name}: has no trained language-modelling head (it lacks "
                f"{loaded.missing[-1]}); give a model with one"
            )
        loaded = loaded.on(device, precision)
        known = inspect.signature(loaded.model.forward).parameters
        keeps = next(
            (name for name in ("logits_to_keep", "num_logits_to_keep") if name in known), ""
        )
        own = configured_length(loaded.model), int(loaded.tokenizer.model_max_length)
        limits = [limit for limit in (least_limit(own), max_length) if limit is not None]
        if limits and min(limits) < 2:
            raise WordbiasError(f"{loaded.name}: expected a length of at least 2 tokens, got 1")
        front = _front(loaded.tokenizer)
        decoder = cls(
            **vars(loaded), front=front, limit=min(limits, default=None), bos=bos, keeps=keeps
        )
        if bos:
            _ = decoder.start
        return decoder

    @property
    def start(self) -> int:
        """Token before a text without a context: BOS, or EOS if there is none."""
        for token in (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id):
            if token is not None:
                return int(token)
        raise WordbiasError(
            f"{self.name}: its tokenizer has neither a BOS nor an EOS token, so that the first "
            'token of a text follows nothing; name one in its tokenizer_config.json ("bos_token": '
            '"<s>"), or leave the first token out with --no-bos'
        )

    # Tokens

    def ids(self, text: str) -> tuple[int, ...]:
        """Return the tokens of a text, without special ones."""
        return self._ids([text])[0]

    def texts(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokenise texts without a context."""
        return [self._alone(ids, text) for ids, text in zip(self._ids(texts), texts, strict=True)]

    def _alone(self, ids: tuple[int, ...], text: str) -> Tokens:
        if not self.bos:
            tokens = Tokens((*self.front, *ids), max(1, len(self.front)))
        elif ids[:1] == (self.start,):
            tokens = Tokens(ids, 1)
        else:
            tokens = Tokens((self.start, *ids), 1)
        if len(tokens.ids) <= tokens.given:
            without = "" if self.bos else " but its first, which --no-bos leaves out"
            raise WordbiasError(f"{self.name}: has no token to score in {text!r:.60}{without}")
        return tokens

    def continuations(self, pairs: Sequence[tuple[str, str]]) -> list[Tokens]:
        """Tokenise contexts with continuations; an empty context is none."""
        moved = [_without_spaces(context, more) for context, more in pairs]
        whole = self._ids([context + more for context, more in moved])
        contexts = list(dict.fromkeys(context for context, _ in moved))
        read = dict(zip(contexts, self._ids(contexts), strict=True))
        tokenised = []
        for (context, more), ids in zip(moved, whole, strict=True):
            if not context:
                tokenised.append(self._alone(ids, more))
                continue
            given = (*self.front, *read[context])
            scored = ids[len(read[context]) :]
            if not scored:
                raise WordbiasError(
                    f"{self.name}: the continuation {more!r:.40} has no token of its own after "
                    f"{context[-40:]!r}; begin it with a space or a longer word"
                )
            tokenised.append(Tokens((*given, *scored), len(given)))
        return tokenised

    def _ids(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        if not texts:
            return []
        with silent(need_transformers()):
            token_ids = self.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        return [tuple(ids) for ids in token_ids]

    # Log-likelihoods

    def score_texts(self, texts: Sequence[str], what: str = "texts") -> Likelihoods:
        """Return the log-likelihoods of texts."""
        return self.score(self.texts(texts), what)

    def score_continuations(
        self, pairs: Sequence[tuple[str, str]], what: str = "continuations"
    ) -> Likelihoods:
        """Return the log-likelihoods of continuations, each after its context."""
        return self.score(self.continuations(pairs), what)

    def score(self, tokens: Sequence[Tokens], what: str = "texts") -> Likelihoods:
        """Return the log-likelihoods of tokens; equal ones are computed once."""
        fitting = [self._fitting(sequence) for sequence in tokens]
        distinct = {sequence: i for i, sequence in enumerate(dict.fromkeys(fitting))}
        requests = list(distinct)
        totals = np.zeros(len(requests))
        keys = [] if self.kept is None else self.kept.keys(self.name, requests)
        alone, shared = self._by_context(requests)
        with self.predicting() as torch, progress(what, len(requests), "text") as bar:
            if shared:
                alone = [*alone, *self._score_shared(requests, shared, totals, keys, torch, bar)]
            for rows in self._batches(np.array([len(requests[i].ids) - 1 for i in alone], int)):
                chosen = [alone[i] for i in rows]
                batch = [requests[i] for i in chosen]
                totals[chosen] = self._once(chosen, keys, partial(self._score_batch, batch, torch))
                bar.update(len(rows))
        places = np.array([distinct[sequence] for sequence in fitting], int)
        counts = np.array([len(sequence.ids) - sequence.given for sequence in fitting], np.int64)
        cut = sum(len(a.ids) != len(b.ids) for a, b in zip(tokens, fitting, strict=True))
        return Likelihoods(self.finite(totals)[places], counts, cut)

    def _once(
        self, chosen: Sequence[int], keys: Sequence[bytes], compute: Callable[[], Float | None]
    ) -> Float | None:
        """Compute log-likelihoods, unless an interrupted run has kept them."""
        if self.kept is None:
            return compute()
        of = [keys[i] for i in chosen]
        values = self.kept.get(of)
        if values is None and (values := compute()) is not None:
            self.kept.add(of, values)
        return values

    def _fitting(self, sequence: Tokens) -> Tokens:
        """Cut a context at its beginning, so that the model can read it; the last is not read."""
        if self.limit is None or (excess := len(sequence.ids) - 1 - self.limit) <= 0:
            return sequence
        if excess >= sequence.given:
            text = self.tokenizer.decode(sequence.ids[sequence.given :])
            raise WordbiasError(
                f"{self.name}: reads at most {self.limit} tokens; a text to score has "
                f"{len(sequence.ids) - sequence.given}: {text[:60]!r}"
            )
        return Tokens(sequence.ids[excess:], sequence.given - excess)

    def _batches(self, lengths: Places) -> Iterator[Places]:
        """Yield places of texts of like length, the longest first."""
        order = np.argsort(-lengths, kind="stable")
        budget = max(1, min(BUDGET, _LOGITS // self._vocabulary))
        for rows in batched(order, lengths, budget):
            yield from _alike(rows, lengths) if self.device == "cpu" else (rows,)

    @property
    def _vocabulary(self) -> int:
        return int(self.model.get_output_embeddings().weight.shape[0])

    def _score_batch(self, batch: Sequence[Tokens], torch: Any) -> Float:
        """Score texts that are padded on the right, which those before it cannot see."""
        width = max(len(sequence.ids) for sequence in batch) - 1
        ids = torch.zeros((len(batch), width), dtype=torch.long)
        mask = torch.zeros_like(ids)
        targets = torch.full_like(ids, _UNSCORED)
        for row, request in enumerate(batch):
            read = len(request.ids) - 1
            ids[row, :read] = torch.tensor(request.ids[:-1])
            mask[row, :read] = 1
            targets[row, request.given - 1 : read] = torch.tensor(request.ids[request.given :])
        first = min(sequence.given for sequence in batch) - 1
        positions = torch.arange(first, width, device=self.device)
        inputs = {"input_ids": ids.to(self.device), "attention_mask": mask.to(self.device)}
        if self.keeps == "logits_to_keep":
            logits = self.model(**inputs, logits_to_keep=positions, use_cache=False).logits
        else:
            logits = self.model(**inputs, use_cache=False).logits[:, first:]
        return _summed(logits, targets[:, first:], torch)

    # Continuations of one context

    def _by_context(
        self, requests: Sequence[Tokens]
    ) -> tuple[list[int], list[tuple[tuple[int, ...], list[int]]]]:
        """Return the texts with a context of their own, and contexts with those that share them."""
        of: dict[tuple[int, ...], list[int]] = {}
        for i, request in enumerate(requests):
            of.setdefault(request.ids[: request.given], []).append(i)
        alone: list[int] = []
        shared: list[tuple[tuple[int, ...], list[int]]] = []
        for ids, rows in of.items():
            if len(rows) == 1 or len(ids) == 1:
                alone += rows
            else:
                shared += [(ids, rows[k : k + _TOGETHER]) for k in range(0, len(rows), _TOGETHER)]
        return alone, shared

    def _score_shared(
        self,
        requests: Sequence[Tokens],
        shared: Sequence[tuple[tuple[int, ...], Sequence[int]]],
        totals: Float,
        keys: Sequence[bytes],
        torch: Any,
        bar: Bar,
    ) -> list[int]:
        """Score continuations into `totals`; return those that the model cannot continue."""
        # Contexts of a batch have one length: none is padded.
        budget = max(1, 4 * min(BUDGET, _LOGITS // self._vocabulary))
        lengths = np.array([len(ids) for ids, _ in shared])
        sizes = np.array([sum(len(ids) + len(requests[i].ids) for i in of) for ids, of in shared])
        for length in np.unique(lengths)[::-1]:
            places = np.flatnonzero(lengths == length)
            for rows in batched(places, np.full(len(shared), sizes[places].max()), budget):
                contexts = [shared[i][0] for i in rows]
                inside = [(row, i) for row, place in enumerate(rows) for i in shared[place][1]]
                chosen = [i for _, i in inside]
                batch = [(row, requests[i]) for row, i in inside]
                values = self._once(chosen, keys, partial(self._continue, contexts, batch, torch))
                if values is None:
                    return [i for _, of in shared for i in of]
                totals[chosen] = values
                bar.update(len(inside))
        return []

    def _continue(
        self, contexts: Sequence[tuple[int, ...]], batch: Sequence[tuple[int, Tokens]], torch: Any
    ) -> Float | None:
        """Score continuations of contexts of one length, each with the number of its context."""
        # None if the model keeps no keys and values that can be continued.
        last = {self.keeps: 1} if self.keeps else {}
        ids = torch.tensor(contexts, device=self.device)
        out = self.model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=True, **last)
        given = next((name for name in _CACHES if getattr(out, name, None) is not None), "")
        cache: Any = getattr(out, given, None) if given else None
        layers = getattr(cache, "layers", ())  # those of a state space cannot be chosen from
        if type(cache).__name__ != "DynamicCache" or not all(
            hasattr(layer, "batch_select_indices") for layer in layers
        ):
            return None
        rows = torch.tensor([row for row, _ in batch])
        firsts = torch.tensor([request.ids[request.given] for _, request in batch])
        log_p = to_float64(out.logits[:, -1]).log_softmax(-1)
        first = log_p[rows.to(log_p.device), firsts.to(log_p.device)]
        values: Float = first.cpu().numpy()
        longer = [i for i, (_, request) in enumerate(batch) if len(request.ids) - request.given > 1]
        if not longer:
            return values
        cache.batch_select_indices(rows[longer].to(self.device))
        length, width = len(contexts[0]), max(len(batch[i][1].ids) for i in longer)
        width -= length + 1
        more = torch.zeros((len(longer), width), dtype=torch.long)
        mask = torch.zeros((len(longer), length + width), dtype=torch.long)
        targets = torch.full_like(more, _UNSCORED)
        for row, i in enumerate(longer):
            tail = batch[i][1].ids[length:]
            more[row, : len(tail) - 1] = torch.tensor(tail[:-1])
            targets[row, : len(tail) - 1] = torch.tensor(tail[1:])
            mask[row, : length + len(tail) - 1] = 1
        logits = self.model(
            input_ids=more.to(self.device),
            attention_mask=mask.to(self.device),
            use_cache=True,
            **{given: cache},
        ).logits
        values[longer] += _summed(logits, targets, torch)
        return values


_UNSCORED = -100
_IN_FLOAT64 = 1 << 22
"""Maximum number of logits that are in float64 at a time."""
_CACHES = ("cache", "past_key_values")
"""Names of the keys and values of a context: in transformers from 5.24 on, and before."""


def _summed(logits: Any, targets: Any, torch: Any) -> Float:
    """Sum the log-probabilities of targets, ``(B, T)``, in float64 whatever the model's type is."""
    log_probs = torch.zeros(targets.shape, dtype=torch.float64)
    scored = (targets != _UNSCORED).nonzero()  # (N, 2)
    for places in scored.split(max(1, _IN_FLOAT64 // logits.shape[-1])):
        row, column = places.unbind(1)
        log_p = to_float64(logits[row.to(logits.device), column.to(logits.device)]).log_softmax(-1)
        chosen = log_p.gather(1, targets[row, column].to(log_p.device)[:, None])
        log_probs[row, column] = chosen[:, 0].cpu()
    summed: Float = log_probs.sum(-1).numpy()
    return summed


def _alike(rows: Places, lengths: Places) -> Iterator[Places]:
    """Divide a batch, longest text first, where padding costs more than a batch of its own."""
    # A processor is filled by `_ENOUGH` tokens; beyond that it computes padding in vain.
    start = 0
    for i in range(1, len(rows) + 1):
        longest = lengths[rows[start]]
        done = i == len(rows)
        if done or ((i - start) * longest >= _ENOUGH and lengths[rows[i]] < _LIKE * longest):
            yield rows[start:i]
            start = i


def _without_spaces(context: str, more: str) -> tuple[str, str]:
    """Move the spaces at the end of a context to its continuation."""
    stripped = context.rstrip()
    return stripped, context[len(stripped) :] + more


def _front(tokenizer: Any) -> tuple[int, ...]:
    """Return the special tokens that a tokenizer puts in front of a text."""
    with silent(need_transformers()):
        plain = list(tokenizer("a", add_special_tokens=False)["input_ids"])
        whole = list(tokenizer("a")["input_ids"])
    for start in range(len(whole) - len(plain) + 1):
        if whole[start : start + len(plain)] == plain:
            return tuple(whole[:start])
    return ()


def _check_causal(loaded: LoadedModel) -> None:
    """Refuse a model that reads the words after the one that it predicts."""
    # The logits of the first of two tokens must not depend on the second. Configs do not say so
    # reliably, and transformers loads BERT as a causal model.
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    ids = torch.tensor([[0, 0], [0, 1]], dtype=torch.long, device=loaded.model.device)
    try:
        with torch.inference_mode(), evaluating(loaded.model):
            logits, other = loaded.model(
                input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False
            ).logits.float()
    except Exception as error:  # whatever a model that is none raises
        raise WordbiasError(
            f"{loaded.name}: cannot be run as a decoder: {first_line(error)}"
        ) from None
    if not bool(torch.isfinite(logits[0]).all()):
        return  # refused when texts are scored, as damaged
    moved = float((logits[0] - other[0]).abs().max())
    if moved > _SAME * float(logits[0].abs().max()):
        raise WordbiasError(
            f"{loaded.name}: is an encoder (a {type(loaded.model).__name__} that reads the words "
            "after the one that it predicts); its sentences have no likelihood: give a decoder"
        )


_SAME = 0.01
"""Share of the largest logit by which rounding to bfloat16 may move equal logits."""
