"""Subspaces fitted at the sites of an encoder: the fit, its stability, and its rows and table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import unit
from wordbias.devices import blas_threads, native_threads
from wordbias.errors import WordbiasError, need
from wordbias.methods.pairs import subspace_of_pairs
from wordbias.models.adapters import READ, Adapter, depth
from wordbias.models.families import PARTS, is_decoder, texts_of
from wordbias.models.fingerprint import Fingerprint
from wordbias.models.hooks import check_plain, of_heads, recording
from wordbias.models.model_like import evaluating
from wordbias.models.sentence_pairs import SentencePair
from wordbias.models.sites import Site, locate, locate_all, published_sites, read_site
from wordbias.models.token_batches import PURPOSE, Tokens, batches, encode
from wordbias.progress import progress
from wordbias.statistics import percentile_interval, resamples
from wordbias.subspace import Subspace

Float32 = NDArray[np.float32]
Float = NDArray[np.float64]
TOKENS = ("mean", "word", "cls", "last")
BATCH = 32
DIMS = 2
DRAWS = 200
ONE_SIDED = (
    "one-sided: centring the differences removes the mean shift between the genders, which is "
    "what they have in common; components are what the pairs differ in among themselves"
)


@dataclass(frozen=True)
class Recipe:
    """Settings of a fit."""

    # tokens whose vectors are taken at `tokens@L` and in the attention: `mean`, the mean of all
    # aligned ones, `word`, the mean of those that differ, `cls`, or `last`. The paper does not say.
    tokens: str = "mean"
    # centre the differences, as a PCA of plain differences does. By default each pair counts with
    # both signs: the mean is zero and the shift between the genders stays in. Dawkins et al. (2024)
    # do not say which, and name Bolukbasi et al. (2016), who do so.
    one_sided: bool = False
    dims: int = DIMS  # number of components to keep, at sites where a setting can use two
    seed: int = 0
    # scale every vector (at the attention, of every head) to length one before differences are
    # taken, as SENT-Debias does (Liang et al. 2020): a long sentence vector then counts no more
    # than a short one. By default they are not scaled, because the projection is applied to
    # unscaled vectors; Dawkins et al. (2024) do not say which.
    unit: bool = False


def fit_adapter(
    model: Any,
    tokenizer: Any,
    pairs: Sequence[SentencePair],
    recipe: Recipe | None = None,
    *,
    wanted: Sequence[Site] | None = None,
    batch: int = BATCH,
    source: str = "",
) -> Adapter:
    """Fit a subspace at each site of an unmodified model (Dawkins et al. 2024, section 4)."""
    return fit_adapters(
        model, tokenizer, [pairs], recipe, wanted=wanted, batch=batch, source=source
    )[0]


def fit_adapters(
    model: Any,
    tokenizer: Any,
    lists: Sequence[Sequence[SentencePair]],
    recipe: Recipe | None = None,
    *,
    wanted: Sequence[Site] | None = None,
    batch: int = BATCH,
    source: str = "",
) -> list[Adapter]:
    """Fit an adapter to each list of pairs, in one pass over the first list; see `fit_adapter`."""
    check_plain(model)
    recipe = recipe or Recipe()
    places = locate_all(model, published_sites(model) if wanted is None else wanted)
    chosen = sorted({place.site for place in places}, key=depth)
    site = read_site(model)
    read = {READ: str(site)} if site.kind != "cls" and site in chosen else {}
    if recipe.tokens == "cls" and is_decoder(model):
        raise WordbiasError(
            "tokens cls: the first token of a decoder has read no other; choose mean, word or last"
        )
    encoded = encode_pairs(model, tokenizer, lists[0])
    vectors: Mapping[Site, Float32] = {}
    if len(encoded.pairs) > 1 and chosen:  # fewer are refused at each site
        where = positions(encoded, recipe.tokens)
        tokens = encoded.first + encoded.second
        vectors = observe(model, tokenizer, tokens, where, chosen, batch)
    adapters = [_adapter(model, chosen, vectors, encoded, recipe, {"source": source, **read})]
    for redraw, pairs in enumerate(lists[1:], 1):
        indices, drawn = encoded.redrawn(pairs)
        rows = [*indices, *(len(encoded.pairs) + i for i in indices)]
        taken = {site: values[rows] for site, values in vectors.items()}
        about = {"source": source, **read, "redraw": redraw}
        try:
            adapters.append(_adapter(model, chosen, taken, drawn, recipe, about))
        except WordbiasError as error:
            raise WordbiasError(f"redraw {redraw} of the pairs: {error}") from None
    return adapters


def _adapter(
    model: Any,
    chosen: Sequence[Site],
    vectors: Mapping[Site, Float32],
    encoded: EncodedPairs,
    recipe: Recipe,
    about: Mapping[str, Any],
) -> Adapter:
    """Fit the subspaces to observed vectors; a redraw has no stability of its own."""
    steady = "redraw" not in about
    fitted = {
        site: fit_site(model, site, vectors, encoded, recipe, steady=steady) for site in chosen
    }
    uneven = [
        {"pair": list(encoded.pairs[i]), "tokens": list(encoded.lengths(i))} for i in encoded.uneven
    ]
    same = [{"pair": list(pair), "tokens": None} for pair in encoded.same]
    n = len(encoded.pairs) + len(encoded.same)
    facts = {**about, **asdict(recipe), "pairs": n, "left_out": [*uneven, *same]}
    del facts["dims"]  # each subspace has its own
    facts["sites"] = {str(site): site_facts for site, (_, site_facts) in fitted.items()}
    subspaces = {site: subspace for site, (subspace, _) in fitted.items()}
    return Adapter(subspaces, Fingerprint.of(model), facts=facts)


def fit_site(
    model: Any,
    site: Site,
    vectors: Mapping[Site, Float32],
    encoded: EncodedPairs,
    recipe: Recipe,
    *,
    steady: bool = True,
) -> tuple[Subspace, dict[str, Any]]:
    """Return a site's subspace, its number of pairs and, if `steady`, its stability."""
    # `vectors` has those of the first texts of the pairs, then those of the second ones.
    n = len(encoded.pairs)
    whole = site.kind in ("sentence", "cls") or locate(model, site).last
    aligned = not whole and recipe.tokens not in ("cls", "last")
    indices = encoded.even() if aligned else list(range(n))
    if len(indices) < 2:
        raise _too_few(site, len(indices), encoded)
    heads = locate(model, site).heads
    first, second = (
        [unit(part) if recipe.unit else part for part in np.split(side[indices], heads, axis=1)]
        for side in (vectors[site][:n], vectors[site][n:])
    )
    dims = 1 if site.kind in PARTS else recipe.dims
    try:
        subspaces = [
            subspace_of_pairs(a, b, dims, recipe.one_sided)
            for a, b in zip(first, second, strict=True)
        ]
    except WordbiasError as error:
        raise WordbiasError(f"site {site}: {error}") from None
    about: dict[str, Any] = {"pairs": len(indices)}
    if heads == 1 and steady:
        found_again = stability(
            (first[0] - second[0]).astype(float), centre=recipe.one_sided, seed=recipe.seed
        )
        about["stability"] = found_again._asdict()
    return of_heads(subspaces) if site.kind in PARTS else subspaces[0], about


def _too_few(site: Site, n: int, encoded: EncodedPairs) -> WordbiasError:
    why = f"pairs that are the same tokens to the tokenizer: {len(encoded.same)}"
    if encoded.uneven:
        a, b = encoded.lengths(encoded.uneven[0])
        why += (
            f"; of unequal length: {len(encoded.uneven)}, the first "
            f"{encoded.pairs[encoded.uneven[0]]} with {a} and {b} tokens"
        )
    return WordbiasError(
        f"site {site}: usable pairs of sentences: {n}, at least two are needed ({why}); "
        "give others with --pairs"
    )


# Values of the model at its sites


@dataclass(frozen=True, eq=False)
class EncodedPairs:
    """Tokenised pairs of sentences."""

    pairs: tuple[SentencePair, ...]
    first: tuple[Tokens, ...]
    second: tuple[Tokens, ...]
    uneven: tuple[int, ...]  # indices of pairs whose sentences have different numbers of tokens
    # pairs whose sentences have the same tokens; they are not in `pairs`
    same: tuple[SentencePair, ...]

    def even(self) -> list[int]:
        """Return the indices of the pairs whose tokens align."""
        return [i for i in range(len(self.pairs)) if i not in self.uneven]

    def redrawn(self, pairs: Sequence[SentencePair]) -> tuple[list[int], EncodedPairs]:
        """Return pairs drawn from all of these, twice if twice drawn, and their indices here."""
        place = {pair: i for i, pair in enumerate(self.pairs)}
        indices = [place[pair] for pair in pairs if pair in place]
        uneven = set(self.uneven)
        return indices, EncodedPairs(
            tuple(self.pairs[i] for i in indices),
            tuple(self.first[i] for i in indices),
            tuple(self.second[i] for i in indices),
            tuple(k for k, i in enumerate(indices) if i in uneven),
            tuple(pair for pair in pairs if pair not in place),
        )

    def lengths(self, i: int) -> tuple[int, int]:
        """Return the numbers of tokens of the sentences of a pair."""
        return len(self.first[i]["input_ids"]), len(self.second[i]["input_ids"])


def encode_pairs(model: Any, tokenizer: Any, pairs: Sequence[SentencePair]) -> EncodedPairs:
    """Tokenise pairs and compare their tokens."""
    texts = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    tokens = encode(model, tokenizer, texts)
    first, second = tokens[: len(pairs)], tokens[len(pairs) :]
    ids = [(a["input_ids"], b["input_ids"]) for a, b in zip(first, second, strict=True)]
    indices = [i for i, (a, b) in enumerate(ids) if a != b]
    return EncodedPairs(
        tuple(pairs[i] for i in indices),
        tuple(first[i] for i in indices),
        tuple(second[i] for i in indices),
        tuple(k for k, i in enumerate(indices) if len(ids[i][0]) != len(ids[i][1])),
        tuple(pair for i, pair in enumerate(pairs) if i not in set(indices)),
    )


def positions(pairs: EncodedPairs, tokens: str) -> list[list[int]]:
    """Choose the positions of all texts, the first ones of the pairs and then the second ones."""
    # `mean` takes all positions, markers too, because the removal changes them all. Pairs of
    # unequal length, which only `cls` and `last` can use, get the first position otherwise.
    if tokens not in TOKENS:
        raise WordbiasError(f"tokens {tokens!r}: expected one of {', '.join(TOKENS)}")
    if tokens == "last":
        return [[len(text["input_ids"]) - 1] for text in pairs.first + pairs.second]
    chosen = []
    for i, sides in enumerate(zip(pairs.first, pairs.second, strict=True)):
        if tokens == "cls" or i in pairs.uneven:
            chosen.append([0])
            continue
        words = list(zip(*(side["input_ids"] for side in sides), strict=True))
        chosen.append([t for t, (a, b) in enumerate(words) if tokens == "mean" or a != b])
    return chosen + chosen


def observe(
    model: Any,
    tokenizer: Any,
    tokens: Sequence[Tokens],
    chosen: Sequence[Sequence[int]],
    wanted: Sequence[Site],
    batch: int = BATCH,
) -> dict[Site, Float32]:
    """Return one vector a text at each site, (n, d): the mean over its chosen positions."""
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    padding = tokenizer.pad_token_id or 0
    device = next(model.parameters()).device
    by_site: dict[Site, list[Any]] = {site: [None] * len(tokens) for site in wanted}
    of_last = {site for site in wanted if locate(model, site).last}
    torch.set_num_threads(native_threads())
    with (
        evaluating(model),
        torch.inference_mode(),
        recording(model, wanted) as values,
        progress("reading sentences", len(tokens), "sentence") as bar,
    ):
        for places, inputs in batches(tokens, batch, padding):
            inputs = {name: x.to(device) for name, x in inputs.items()}
            model(**inputs)
            shares = np.zeros(tuple(inputs["attention_mask"].shape), np.float32)
            for row, i in zip(shares, places, strict=True):
                row[list(chosen[i])] = 1 / len(chosen[i])
            for site, x in values.items():
                read = texts_of(model, x, inputs) if site in of_last else x
                rows = read.float().cpu().numpy()
                means = rows if rows.ndim == 2 else np.einsum("bt,btd->bd", shares, rows)
                for i, vector in zip(places, means, strict=True):
                    by_site[site][i] = vector
            bar.update(len(places))
    stacked = {site: np.stack(vectors) for site, vectors in by_site.items()}
    for site, x in stacked.items():
        if not np.isfinite(x).all():
            raise WordbiasError(
                f"site {site}: the model puts out no numbers; its weights are damaged"
            )
    return stacked


# Stability


class Stability(NamedTuple):
    """Mean absolute cosine of a direction with those of resampled pairs, and its 95 % interval."""

    mean: float
    low: float
    high: float


def stability(differences: Float, *, centre: bool, seed: int, draws: int = DRAWS) -> Stability:
    """Compare the first component of resampled differences (n, d) with that of all of them."""
    rng = np.random.default_rng(seed)
    with blas_threads(1):
        rows = compressed(differences)
        whole = first_component(rows, centre)
        drawn = [
            first_component(rows[chosen], centre)
            for block in resamples(len(rows), rng, draws)
            for chosen in block
        ]
    cosines = np.abs(np.array(drawn) @ whole)
    return Stability(float(cosines.mean()), *percentile_interval(cosines))


def compressed(rows: Float) -> Float:
    """Rotate rows into as few dimensions as they span; inner products do not change."""
    n, d = rows.shape
    if n >= d:
        return rows
    r: Float = np.asarray(np.linalg.qr(rows.T, mode="r"))
    return r.T


def first_component(rows: Float, centre: bool) -> Float:
    """Return the first principal component of rows, shape ``(d,)``."""
    rows = rows - rows.mean(0) if centre else rows
    basis: Any = np.linalg.eigh(rows.T @ rows)[1]
    component: Float = basis[:, -1]
    return component


# Rows and table
