"""Hard debiasing over several groups at once (Manzini et al. 2019)."""

from __future__ import annotations

from pathlib import Path

from wordbias.debias.fitted import Fitted
from wordbias.debias.hard import neutralising, on_unit_length
from wordbias.debias.misp import check_dims
from wordbias.debias.words import as_attribute, as_embedding
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, WordSets, resolve


def fit(
    embedding: Embedding,
    attribute: Attribute | str | Path | None = None,
    *,
    sets: WordSets | str | Path | None = None,
    dims: int | None = None,
    equalise: bool = True,
) -> Fitted:
    """Fit hard debiasing over the groups of sets of words, such as three religions.

    The subspace is spanned by the principal components of the definitional sets, each centred on
    its own mean, on unit length. With sets of two it is `wordbias.debias.hard`.

    Parameters
    ----------
    embedding
        Where the vectors come from.
    attribute
        Instead of `sets`: the pairs of an attribute.
    sets
        The sets, or a file with them; by default religion, three groups.
    dims
        Components; by default one less than the words of the largest set, as many as groups can
        differ in.
    equalise
        Equalise the sets that say so.

    Raises
    ------
    WordbiasError
        If no definitional set is found whole, or they span fewer components.
    """
    embedding = as_embedding(embedding)
    if sets is None and attribute is not None:
        sets = WordSets.of(as_attribute(attribute))
    if not isinstance(sets, WordSets):
        sets = WordSets.load(sets)
    found = _found(sets, embedding)
    part = on_unit_length(embedding, {word for words in found for word in words})
    k = max(map(len, found)) - 1 if dims is None else dims
    check_dims(k, embedding.dim)
    g = Subspace.from_sets([part.take(words) for words in found], k)
    settings = {"sets": sets.name, "dims": k, "equalise": equalise}
    chosen = sets.equalise if equalise else ()
    return neutralising("multi-hard", embedding, g, chosen, sets.specific, settings)


def _found(sets: WordSets, embedding: Embedding) -> list[tuple[str, ...]]:
    """Keep the definitional sets whose words the embedding has all, as it spells them."""
    resolved = [resolve(words, embedding) for words in sets.definitional]
    whole = [one.found for one in resolved if len(one.found) == len(one.asked)]
    if not resolved:
        raise WordbiasError(f"{sets.name} has no definitional sets or pairs; give some in its file")
    if not whole:
        missing = ", ".join(word for one in resolved for word in one.missing[:1])
        raise WordbiasError(
            f"{embedding.name}: 0 of {len(resolved)} definitional sets of {sets.name} found whole "
            f"(missing: {missing}); give sets of words it has with --sets FILE"
        )
    return whole
