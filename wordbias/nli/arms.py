"""Arms of a study that are made from its first embedding: random removals, redraws, permutations.

A file of its own because it debiases, and the study trains and measures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.word_lists import redrawn_vectors, redraws
from wordbias.methods import misp
from wordbias.methods.null import random_removals
from wordbias.methods.transform import Projection
from wordbias.wordlists import Attribute


def random_draws(
    base: Embedding, count: int, attribute: Attribute | None = None, *, center: bool = False
) -> list[Embedding]:
    """Remove MISP's weights of `base` along random orthonormal directions, as often as asked."""
    fitted = misp.fit(base, attribute, center=center)
    return [
        replace(removal(base), name=f"{base.name}.null-{i}", info=None)
        for i, removal in enumerate(random_removals(fitted, count))
    ]


def redrawn_lists(
    base: Embedding, count: int, attribute: Attribute | None = None, *, center: bool = False
) -> list[Embedding]:
    """Fit MISP to redraws of the attribute's words and remove it from `base`, as often as asked.

    The removal of one redraw is that of `misp --seed-lists`.
    """
    chosen = attribute or Attribute.load()
    misp.resolve_groups(base, chosen)  # refuses too few words
    drawn = redrawn_vectors(base, chosen, redraws(chosen, count))
    removals = []
    for i, groups in enumerate(drawn):
        try:
            removals.append(Projection(misp.fit_vectors(groups, center=center)))
        except WordbiasError as error:
            raise WordbiasError(
                f"--seed-lists: MISP cannot be fitted to redraw {i} of the names of {chosen.name}, "
                f"of which too few are different and found; give more ({error})"
            ) from None
    return [
        replace(removal(base), name=f"{base.name}.misp-lists-{i}", info=None)
        for i, removal in enumerate(removals)
    ]


def with_permuted_weights(
    embeddings: Sequence[Embedding], attribute: Attribute | None = None, *, center: bool = False
) -> list[Embedding]:
    """Add MISP with each of the 23 wrong weightings of appendix C, of the first embedding."""
    base = embeddings[0]
    orders = ("".join(order) for order in permutations("1234"))
    made = [
        replace(
            misp.fit(base, attribute, weights=f"perm:{order}", center=center)(base),
            name=f"{base.name}.perm-{order}",
            info=None,
        )
        for order in orders
        if order != "1234"
    ]
    return [*embeddings, *made]
