"""Hard debiasing over several groups at once (Manzini et al. 2019)."""

from __future__ import annotations

from pathlib import Path

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.fitted import Fitted
from wordbias.methods.hard import neutralise, on_unit_length
from wordbias.methods.misp import check_dims, group_vectors
from wordbias.methods.words import as_groups, check_embedding, listed_words, spellings
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, WordGroups, WordSets, resolve


def fit(
    embedding: Embedding,
    attribute: Attribute | WordGroups | str | Path | None = None,
    *,
    sets: WordSets | str | Path | None = None,
    dims: int | None = None,
    equalise: bool = True,
    means: bool = False,
) -> Fitted:
    """Fit hard debiasing over the groups of sets of words, such as three religions."""
    # The subspace is spanned by the principal components of the definitional sets, each centred on
    # its own mean, on unit length. With sets of two it is `wordbias.methods.hard`. `means` spans it
    # by what the means of the attribute's groups differ in (`Subspace.from_means`): for groups
    # without sets, such as first names. Groups can differ in one component less than the words of
    # the largest set.
    check_embedding(embedding)
    groups = None if attribute is None else as_groups(attribute)
    if means and (groups is None or sets is not None):
        raise WordbiasError(
            "the means are those of an attribute's groups: give --groups NAME|FILE, no sets"
        )
    if sets is None and groups is not None:
        sets = WordSets.of(groups)
    if not isinstance(sets, WordSets):
        sets = WordSets.load(sets)
    if dims is not None:
        check_dims(dims, embedding.dim)
    if means and groups is not None:
        part = on_unit_length(embedding, listed_words(groups))
        g = Subspace.from_means(group_vectors(part, groups), dims)
    else:
        g = _from_sets(embedding, sets, dims)
    settings = {"sets": sets.name, "dims": g.dims, "equalise": equalise, "means": means}
    chosen = sets.equalise if equalise else ()
    return neutralise("multi-hard", embedding, g, chosen, spellings(sets.specific), settings)


def _from_sets(embedding: Embedding, sets: WordSets, dims: int | None) -> Subspace:
    """Fit to the definitional sets whose words are all in the embedding, as it spells them."""
    resolved = [resolve(words, embedding) for words in sets.definitional]
    whole = [word_set.found for word_set in resolved if len(word_set.found) == len(word_set.listed)]
    if not resolved:
        raise WordbiasError(
            f"{sets.name} has no definitional sets or pairs; give some in its file, or take the "
            "means of its groups (multi-hard:means)"
        )
    if not whole:
        missing = ", ".join(word for word_set in resolved for word in word_set.missing[:1])
        raise WordbiasError(
            f"{embedding.name}: 0 of {len(resolved)} definitional sets of {sets.name} found whole "
            f"(missing: {missing}); give sets of words it has: multi-hard:sets=FILE"
        )
    part = on_unit_length(embedding, {word for words in whole for word in words})
    k = max(map(len, whole)) - 1 if dims is None else dims
    check_dims(k, embedding.dim)
    return Subspace.from_sets([part.take(words) for words in whole], k)
