"""Fitting: differences of paired sentences at every site of the unmodified model, in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import rounding, unit
from wordbias.contextual.adapters import Adapter, depth
from wordbias.contextual.encoding import EncodedPairs, encode_pairs
from wordbias.contextual.families import PARTS, head_count
from wordbias.contextual.fingerprint import Fingerprint
from wordbias.contextual.interventions import check_plain, of_heads
from wordbias.contextual.observing import BATCH, observe, positions
from wordbias.contextual.places import locate_all
from wordbias.contextual.sentence_pairs import SentencePair
from wordbias.contextual.sites import Site, attention
from wordbias.contextual.stability import stability
from wordbias.errors import WordbiasError
from wordbias.principal import principal
from wordbias.subspace import Subspace

Float32 = NDArray[np.float32]
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
    facts = {"source": source, **_recipe_facts(recipe), **_pair_facts(read, len(pairs))}
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
        _split(vectors[kept], heads, recipe.unit) for vectors in (seen[site][:n], seen[site][n:])
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


def _split(x: Float32, heads: int, to_unit: bool) -> list[Float32]:
    parts = np.split(x, heads, axis=1)
    return [unit(part) for part in parts] if to_unit else parts


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


def _recipe_facts(recipe: Recipe) -> dict[str, Any]:
    facts = asdict(recipe)
    del facts["dims"]  # each subspace has its own
    return facts


def _pair_facts(read: EncodedPairs, given: int) -> dict[str, Any]:
    """Count the pairs, and list those that some site or every site went without."""
    uneven = [{"pair": list(read.pairs[i]), "tokens": list(read.lengths(i))} for i in read.uneven]
    same = [{"pair": list(pair), "tokens": None} for pair in read.same]
    return {"pairs": given, "left_out": [*uneven, *same]}
