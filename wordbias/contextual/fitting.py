"""Fitting: differences of paired sentences at every site of the unmodified model, in one pass.

What passes at sites while a model reads sentences: one pass, every site, one vector a text.

Sentences as a model reads them: token numbers, the pairs that align, batches.

Stability of a direction: how far it depends on the pairs it was fitted to.

What was fitted, as rows and tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import rounding, unit
from wordbias.contextual.adapters import Adapter, Fingerprint, depth
from wordbias.contextual.families import PARTS, head_count
from wordbias.contextual.hooks import check_plain, of_heads, recording
from wordbias.contextual.sentence_pairs import SentencePair
from wordbias.contextual.sites import Site, attention, locate_all
from wordbias.contextual.tokenising import PURPOSE, Tokens, batches, encode
from wordbias.devices import blas_threads, threads
from wordbias.errors import WordbiasError, need
from wordbias.pretrained import evaluating
from wordbias.progress import progress
from wordbias.rendering import Table
from wordbias.results import Row, number
from wordbias.statistics import percentile_interval, resamples
from wordbias.subspace import Subspace, principal


@dataclass(frozen=True, eq=False)
class EncodedPairs:
    """Pairs of sentences as a model reads them.

    Attributes
    ----------
    pairs
        Those that differ for the model.
    first, second
        Their tokens: `input_ids` and whatever else the tokenizer gives.
    uneven
        Places of pairs whose sentences have different numbers of tokens.
    same
        Pairs, not among `pairs`, that the tokenizer makes the same tokens of.
    """

    pairs: tuple[SentencePair, ...]
    first: tuple[Tokens, ...]
    second: tuple[Tokens, ...]
    uneven: tuple[int, ...]
    same: tuple[SentencePair, ...]

    def even(self) -> list[int]:
        """Return the places of the pairs whose tokens align."""
        return [i for i in range(len(self.pairs)) if i not in self.uneven]

    def lengths(self, i: int) -> tuple[int, int]:
        """Return how many tokens the sentences of a pair have."""
        return len(self.first[i]["input_ids"]), len(self.second[i]["input_ids"])


def encode_pairs(model: Any, tokenizer: Any, pairs: Sequence[SentencePair]) -> EncodedPairs:
    """Tokenise pairs and compare their tokens."""
    texts = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    tokens = encode(model, tokenizer, texts)
    first, second = tokens[: len(pairs)], tokens[len(pairs) :]
    ids = [(a["input_ids"], b["input_ids"]) for a, b in zip(first, second, strict=True)]
    kept = [i for i, (a, b) in enumerate(ids) if a != b]
    return EncodedPairs(
        tuple(pairs[i] for i in kept),
        tuple(first[i] for i in kept),
        tuple(second[i] for i in kept),
        tuple(k for k, i in enumerate(kept) if len(ids[i][0]) != len(ids[i][1])),
        tuple(pair for i, pair in enumerate(pairs) if i not in set(kept)),
    )


Float32 = NDArray[np.float32]
TOKENS = ("mean", "word", "cls")
BATCH = 32


def observe(
    model: Any,
    tokenizer: Any,
    tokens: Sequence[Tokens],
    chosen: Sequence[Sequence[int]],
    wanted: Sequence[Site],
    batch: int = BATCH,
) -> dict[Site, Float32]:
    """Return one vector a text at each site.

    Parameters
    ----------
    tokens
        The texts, `n` of them.
    chosen
        For each text the positions over whose vectors the mean is taken, at sites that have a
        vector for every token.
    wanted
        The sites, all observed in one pass.

    Returns
    -------
    dict
        For each site an array of shape ``(n, d)``.
    """
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    padding = tokenizer.pad_token_id or 0
    device = next(model.parameters()).device
    found: dict[Site, list[Any]] = {site: [None] * len(tokens) for site in wanted}
    torch.set_num_threads(threads())
    with (
        evaluating(model),
        torch.inference_mode(),
        recording(model, wanted) as seen,
        progress("reading sentences", len(tokens), "sentence") as bar,
    ):
        for places, inputs in batches(tokens, batch, padding):
            model(**{name: x.to(device) for name, x in inputs.items()})
            shares = _shares([chosen[i] for i in places], inputs["attention_mask"].shape[1])
            for site, x in seen.items():
                for i, vector in zip(places, _means(x, shares), strict=True):
                    found[site][i] = vector
            bar.update(len(places))
    return {site: _stacked(site, vectors) for site, vectors in found.items()}


def _stacked(site: Site, vectors: list[Float32]) -> Float32:
    x = np.stack(vectors)
    if not np.isfinite(x).all():
        raise WordbiasError(f"site {site}: the model puts out no numbers; its weights are damaged")
    return x


def positions(pairs: EncodedPairs, tokens: str) -> list[list[int]]:
    """Choose the positions of every text, the first ones of the pairs and then the second ones.

    Parameters
    ----------
    tokens
        ``mean``, all positions, markers too, for the removal touches them all; ``word``, those
        where the two differ; ``cls``, the first. For pairs of unequal length, which only ``cls``
        can use, the first position stands in.
    """
    chosen = [_of_pair(pairs, i, tokens) for i in range(len(pairs.pairs))]
    return chosen + chosen


def _of_pair(pairs: EncodedPairs, i: int, tokens: str) -> list[int]:
    if tokens not in TOKENS:
        raise WordbiasError(f"tokens {tokens!r}: expected one of {', '.join(TOKENS)}")
    if tokens == "cls" or i in pairs.uneven:
        return [0]
    first, second = pairs.first[i]["input_ids"], pairs.second[i]["input_ids"]
    if tokens == "mean":
        return list(range(len(first)))
    return [t for t, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]


def _shares(chosen: Sequence[Sequence[int]], width: int) -> Float32:
    """Return the weight of every position in its text's mean, shape ``(batch, tokens)``."""
    shares = np.zeros((len(chosen), width), np.float32)
    for row, places in zip(shares, chosen, strict=True):
        row[list(places)] = 1 / len(places)
    return shares


def _means(x: Any, shares: Float32) -> Float32:
    values: Float32 = x.float().cpu().numpy()
    return values if values.ndim == 2 else np.einsum("bt,btd->bd", shares, values)


Float = NDArray[np.float64]
DRAWS = 200


class Stability(NamedTuple):
    """Cosines, without sign, of a direction with those of pairs drawn again.

    Their mean, and where 2.5 % of them lie below and above.
    """

    mean: float
    low: float
    high: float


def stability(differences: Float, *, center: bool, seed: int, draws: int = DRAWS) -> Stability:
    """Draw pairs again and compare their first component with that of all pairs.

    Parameters
    ----------
    differences
        Shape ``(n, d)``; their sign and scale do not matter.
    center
        Take components of the centred differences, as a one-sided fit does.
    """
    rng = np.random.default_rng(seed)
    with blas_threads(1):
        rows = compressed(differences)
        whole = first_component(rows, center)
        drawn = [
            first_component(rows[chosen], center)
            for block in resamples(len(rows), rng, draws)
            for chosen in block
        ]
    cosines = np.abs(np.array(drawn) @ whole)
    return Stability(float(cosines.mean()), *percentile_interval(cosines))


def compressed(rows: Float) -> Float:
    """Rotate rows into as few dimensions as they span: inner products stay what they are."""
    n, d = rows.shape
    if n >= d:
        return rows
    r: Float = np.asarray(np.linalg.qr(rows.T, mode="r"))
    return r.T


def first_component(rows: Float, center: bool) -> Float:
    """Return the first principal component of rows, shape ``(d,)``."""
    rows = rows - rows.mean(0) if center else rows
    basis: Any = np.linalg.eigh(rows.T @ rows)[1]
    component: Float = basis[:, -1]
    return component


DIMS = 2
PUBLISHED = (*attention(-2), Site("tokens", -2), Site("cls", -1), Site("sentence"))
ONE_SIDED = (
    "one-sided: centring the differences removes the mean shift between the genders, which is "
    "what they have in common; components are what the pairs differ in among themselves"
)


@dataclass(frozen=True)
class Recipe:
    """How subspaces are fitted.

    Attributes
    ----------
    tokens
        Of which tokens the vectors are taken at `tokens@L` and in the attention: ``mean``, the
        mean of all aligned ones, ``word``, the mean of those that differ, or ``cls``. The paper
        does not say.
    one_sided
        Centre the differences, as a PCA of plain differences does. By default each pair counts
        with both signs, so that the mean is zero and the shift between the genders stays in:
        Dawkins et al. (2024) do not say which, and name Bolukbasi et al. (2016), who do so.
    dims
        Components to keep where a setting can ask for two.
    unit
        Bring every vector (at the attention, of every head) to length one before differences are
        taken, as SENT-Debias does (Liang et al. 2020): a long sentence vector then says no more
        than a short one. By default they are taken as they are, because that is what the
        projection is applied to; Dawkins et al. (2024) do not say which.
    """

    tokens: str = "mean"
    one_sided: bool = False
    dims: int = DIMS
    seed: int = 0
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
    """Fit a subspace at each site of a model.

    Parameters
    ----------
    model, tokenizer
        Of transformers; the model as it is, nothing applied.
    pairs
        Sentences that differ in a gender only.
    wanted
        Sites; by default the four published ones, the layers counted from the end.
    source
        Where the pairs are from, to be kept.

    Raises
    ------
    WordbiasError
        If the model is being intervened in or lacks a site, fewer than two pairs can be used, or
        they do not span as many components as asked for.

    References
    ----------
    Dawkins et al. (2024), "Projective Methods for Mitigating Gender Bias in Pre-trained Language
    Models", section 4.
    """
    check_plain(model)
    recipe = recipe or Recipe()
    asked = PUBLISHED if wanted is None else wanted
    chosen = sorted({place.site for place in locate_all(model, asked)}, key=depth)
    read = encode_pairs(model, tokenizer, pairs)
    seen: Mapping[Site, Float32] = {}
    if len(read.pairs) > 1:  # fewer are refused by each site
        where = positions(read, recipe.tokens)
        seen = observe(model, tokenizer, read.first + read.second, where, chosen, batch)
    fitted = {site: _fit_site(model, site, seen, read, recipe) for site in chosen}
    sites = {str(site): about for site, (_, about) in fitted.items()}
    uneven = [{"pair": list(read.pairs[i]), "tokens": list(read.lengths(i))} for i in read.uneven]
    same = [{"pair": list(pair), "tokens": None} for pair in read.same]
    facts = {"source": source, **asdict(recipe), "pairs": len(pairs), "left_out": [*uneven, *same]}
    del facts["dims"]  # each subspace has its own
    subspaces = {site: subspace for site, (subspace, _) in fitted.items()}
    return Adapter(subspaces, Fingerprint.of(model), facts={**facts, "sites": sites})


def needs_alignment(site: Site, recipe: Recipe) -> bool:
    """Tell whether only pairs with equally many tokens can be used at a site."""
    return site.kind not in ("sentence", "cls") and recipe.tokens != "cls"


def _fit_site(
    model: Any, site: Site, seen: Mapping[Site, Float32], read: EncodedPairs, recipe: Recipe
) -> tuple[Subspace, dict[str, Any]]:
    n = len(read.pairs)
    kept = read.even() if needs_alignment(site, recipe) else list(range(n))
    if len(kept) < 2:
        raise _too_few(site, len(kept), read)
    heads = head_count(model) if site.kind in PARTS else 1
    first, second = (
        [unit(part) if recipe.unit else part for part in np.split(vectors[kept], heads, axis=1)]
        for vectors in (seen[site][:n], seen[site][n:])
    )
    dims = 1 if site.kind in PARTS else recipe.dims
    try:
        found = [
            subspace_of(a, b, dims, recipe.one_sided) for a, b in zip(first, second, strict=True)
        ]
    except WordbiasError as error:
        raise WordbiasError(f"site {site}: {error}") from None
    about: dict[str, Any] = {"pairs": len(kept)}
    if heads == 1:
        steady = stability(
            (first[0] - second[0]).astype(float), center=recipe.one_sided, seed=recipe.seed
        )
        about["stability"] = steady._asdict()
    return of_heads(found) if site.kind in PARTS else found[0], about


def subspace_of(first: Float32, second: Float32, dims: int, one_sided: bool = False) -> Subspace:
    """Fit a subspace to the differences of pairs, both of shape ``(n, d)``.

    Each pair counts as ± half its difference, as in Bolukbasi et al. (2016); `one_sided` centres
    the differences instead.
    """
    if not one_sided:
        return Subspace.from_pairs(first, second, dims)
    differences = first.astype(float) - second.astype(float)
    mean = differences.mean(0)
    noise = max(rounding(first), rounding(second))
    return Subspace(
        *principal(differences - mean, mean, dims, noise, f"{len(first)} centred differences")
    )


def _too_few(site: Site, n: int, read: EncodedPairs) -> WordbiasError:
    why = f"pairs that are the same tokens to the tokenizer: {len(read.same)}"
    if read.uneven:
        a, b = read.lengths(read.uneven[0])
        why += (
            f"; of unequal length: {len(read.uneven)}, the first {read.pairs[read.uneven[0]]} with "
            f"{a} and {b} tokens"
        )
    return WordbiasError(
        f"site {site}: usable pairs of sentences: {n}, at least two are needed ({why}); "
        "give others with --pairs"
    )


_DESCRIPTIVE = {"neutral": None, "better": None}


def adapter_rows(adapter: Adapter, subject: str) -> list[Row]:
    """Return the rows of an adapter.

    `explained-variance` is the share of the differences' variance that a component has; at query,
    key and value its median over the heads, from the lowest to the highest. It describes, it does
    not judge: the first of `n` pairs in `d` dimensions has at least ``1 / min(n, d)``, and 1 where
    all pairs differ in one direction. `direction-stability` is the mean cosine of the first
    component with that of pairs drawn again.
    """
    rows = []
    for site in adapter.subspaces:
        rows += _share_texts(adapter, site, subject)
        rows += _steadiness(adapter, site, subject)
    return rows


def _share_texts(adapter: Adapter, site: Site, subject: str) -> list[Row]:
    weights = adapter.subspaces[site].weights
    common = {"site": str(site), "n": _about(adapter, site)["pairs"], **_DESCRIPTIVE}
    if site.kind in PARTS:
        ends = {"lowest": float(weights.min()), "highest": float(weights.max())}
        heads = {"component": 1, "heads": len(weights), **ends}
        value = float(np.median(weights))
        return [Row(subject, "explained-variance", value, {**common, **heads})]
    return [
        Row(subject, "explained-variance", float(share), {**common, "component": i})
        for i, share in enumerate(weights, 1)
    ]


def _steadiness(adapter: Adapter, site: Site, subject: str) -> list[Row]:
    about = _about(adapter, site)
    if "stability" not in about:
        return []
    found = about["stability"]
    details = {
        "site": str(site),
        "component": 1,
        "n": about["pairs"],
        "low": found["low"],
        "high": found["high"],
        "neutral": 1.0,
        "better": "higher",
        "seed": adapter.facts["seed"],
    }
    return [Row(subject, "direction-stability", found["mean"], details)]


def _about(adapter: Adapter, site: Site) -> dict[str, Any]:
    found: dict[str, Any] = adapter.facts["sites"][str(site)]
    return found


def adapter_tables(rows: Sequence[Row], subject: str) -> list[Table]:
    """One line a site: shares of variance, and how steady the first component is."""
    places = list(dict.fromkeys(row.details["site"] for row in rows))
    return [
        Table(
            f"Subspaces of {subject}, fitted to differences of paired sentences",
            ["site", "pairs", "1st", "others", "steady", "95 %"],
            [_line([row for row in rows if row.details["site"] == site]) for site in places],
            "1st, others: share of the differences' variance that a component has, at query, key "
            "and value the median over the heads and their range. steady: cosine of the first "
            "component with that of pairs drawn again; 1 is best.",
        )
    ]


def _line(rows: Sequence[Row]) -> list[str]:
    shares = [row for row in rows if row.measure == "explained-variance"]
    steady = [row for row in rows if row.measure == "direction-stability"]
    first = shares[0].details
    others = ", ".join(number(row.value, 3) for row in shares[1:])
    if "heads" in first:
        ends = f"{number(first['lowest'], 3)} … {number(first['highest'], 3)}"
        others = f"{ends} in {first['heads']} heads"
    certain = ["–", "–"]
    if steady:
        low, high = (number(steady[0].details[end], 2) for end in ("low", "high"))
        certain = [number(steady[0].value, 3), f"{low} … {high}"]
    return [
        first["site"],
        str(first["n"]),
        number(shares[0].value, 3),
        others or "–",
        *certain,
    ]
