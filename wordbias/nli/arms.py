"""Arms of a study: the embedding that the model of each seed is trained on.

An arm has one embedding for all seeds, one for each, or a few: random removals, redraws,
permutations, which are made from the first arm. A file of its own because it debiases, and the
study trains and measures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.word_lists import redrawn_vectors, redraws
from wordbias.methods import misp
from wordbias.methods.null import random_removals
from wordbias.methods.transform import Projection
from wordbias.wordlists import Attribute

Arm = Mapping[int, Embedding]
"""The embedding of each seed; seeds that share one stand together."""


def together(arms: Iterable[tuple[str, Arm]]) -> dict[str, Arm]:
    """Return arms by their names.

    Raises
    ------
    WordbiasError
        If two arms, or two embeddings, have the same name: models are named after them.
    """
    found: dict[str, Arm] = {}
    known: set[str] = set()
    for name, arm in arms:
        names = [one.name for one in different(arm)] + [name] * (not is_one(name, arm))
        if len(set(names)) < len(names) or not known.isdisjoint(names):
            raise WordbiasError("two embeddings have the same name; rename one of the files")
        known.update(names)
        found[name] = arm
    return found


def different(arm: Arm) -> list[Embedding]:
    """Return the embeddings of an arm, each once."""
    return list(dict.fromkeys(arm.values()))


def is_one(name: str, arm: Arm) -> bool:
    """Return whether an arm is one embedding, of its name, rather than draws or a file a seed."""
    return [one.name for one in different(arm)] == [name]


def random_draws(
    base: Arm, count: int, attribute: Attribute | None = None, *, centre: bool = False
) -> dict[int, Embedding]:
    """Remove MISP's weights along random orthonormal directions: draw s mod `count` for seed s."""

    def removals(one: Embedding, draws: Sequence[int]) -> list[Projection]:
        made = list(random_removals(misp.fit(one, attribute, centre=centre), count))
        return [made[draw] for draw in draws]

    return _without(base, count, "null", removals)


def redrawn_lists(
    base: Arm, count: int, attribute: Attribute | None = None, *, centre: bool = False
) -> dict[int, Embedding]:
    """Remove MISP fitted to redraws of the attribute's words: redraw s mod `count` for seed s.

    The removal of one redraw is that of `misp --seed-lists`.
    """
    chosen = attribute or Attribute.load()
    drawn = redraws(chosen, count)

    def removals(one: Embedding, draws: Sequence[int]) -> list[Projection]:
        misp.resolve_groups(one, chosen)  # refuses too few words
        made = []
        vectors = redrawn_vectors(one, chosen, [drawn[draw] for draw in draws])
        for draw, groups in zip(draws, vectors, strict=True):
            try:
                made.append(Projection(misp.fit_vectors(groups, centre=centre)))
            except WordbiasError as error:
                raise WordbiasError(
                    f"--seed-lists: MISP cannot be fitted to redraw {draw} of the names of "
                    f"{chosen.name}, of which too few are different and found; give more ({error})"
                ) from None
        return made

    return _without(base, count, "misp-lists", removals)


def _without(
    base: Arm,
    count: int,
    kind: str,
    removals: Callable[[Embedding, Sequence[int]], Sequence[Projection]],
) -> dict[int, Embedding]:
    """Apply to the embedding of seed s the removal of draw s mod `count`, each once."""
    made: dict[int, Embedding] = {}
    for one in different(base):
        seeds = [seed for seed, read in base.items() if read is one]
        draws = sorted({seed % count for seed in seeds})
        for draw, removal in zip(draws, removals(one, draws), strict=True):
            removed = replace(removal(one), name=f"{one.name}.{kind}-{draw}", info=None)
            made |= {seed: removed for seed in seeds if seed % count == draw}
    return made


def permuted_weights(
    name: str, base: Arm, attribute: Attribute | None = None, *, centre: bool = False
) -> dict[str, Arm]:
    """Remove MISP with each of the 23 wrong weightings of appendix C; an arm for each.

    Parameters
    ----------
    name, base
        The first arm and its name.
    """
    orders = ["".join(order) for order in permutations("1234")]
    made = {
        (one, order): replace(
            misp.fit(one, attribute, weights=f"perm:{order}", centre=centre)(one),
            name=f"{one.name}.perm-{order}",
            info=None,
        )
        for one in different(base)
        for order in orders
        if order != "1234"
    }
    return {
        f"{name}.perm-{order}": {seed: made[one, order] for seed, one in base.items()}
        for order in orders
        if order != "1234"
    }
