"""Arms of a study: the embedding that the model of each seed is trained on.

An arm has one embedding for all seeds, one for each, or a few: random removals, redraws,
permutations, which are made from the first arm. A file of its own because it debiases, and the
study trains and measures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

from wordbias.draws import LISTS, NULL
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.word_lists import redrawn_vectors, redraws
from wordbias.methods import misp
from wordbias.methods.fitted import Chain, Fitted
from wordbias.methods.null import random_chains
from wordbias.methods.transform import Projection
from wordbias.wordlists import Attribute

Arm = Mapping[int, Embedding]
"""The embedding of each seed; seeds that share one stand together."""
NAMES = {NULL: "null", LISTS: "misp-lists"}
"""What a draw of each kind is called in the name of an embedding."""
ORDERS = tuple("".join(order) for order in permutations("1234"))
"""Orders of the weights, the right one first: digit i names the component whose weight i gets."""


def together(arms: Iterable[tuple[str, Arm]]) -> dict[str, Arm]:
    """Return arms by their names."""
    by_name: dict[str, Arm] = {}
    known: set[str] = set()
    for name, arm in arms:
        names = [embedding.name for embedding in different(arm)] + [name] * (not is_one(name, arm))
        if len(set(names)) < len(names) or not known.isdisjoint(names):
            raise WordbiasError("two embeddings have the same name; rename one of the files")
        known.update(names)
        by_name[name] = arm
    return by_name


def different(arm: Arm) -> list[Embedding]:
    """Return the embeddings of an arm, each once."""
    return list(dict.fromkeys(arm.values()))


def is_one(name: str, arm: Arm) -> bool:
    """Return whether an arm is one embedding, of its name, rather than draws or a file a seed."""
    return [embedding.name for embedding in different(arm)] == [name]


def drawn_arm(
    kind: str, base: Arm, count: int, attribute: Attribute | None = None, *, centre: bool = False
) -> dict[int, Embedding]:
    """Apply to the embedding of seed s the removal of draw s mod `count`, each once."""
    by_seed: dict[int, Embedding] = {}
    for embedding in different(base):
        seeds = [seed for seed, read in base.items() if read is embedding]
        draws = sorted({seed % count for seed in seeds})
        removals = drawn_chains(kind, embedding, draws, attribute, centre=centre)
        for draw, removal in zip(draws, removals, strict=True):
            name = f"{embedding.name}.{NAMES[kind]}-{draw}"
            removed = replace(removal(embedding), name=name, info=None)
            by_seed |= {seed: removed for seed in seeds if seed % count == draw}
    return by_seed


def drawn_chains(
    kind: str,
    embedding: Embedding,
    draws: Sequence[int],
    attribute: Attribute | None = None,
    *,
    seed: int = 0,
    **settings: Any,
) -> list[Chain]:
    """Return removals by their numbers: a draw is the same however many are made."""
    # `null` has MISP's weights along random orthonormal directions; `lists` is MISP fitted to
    # redraws of the attribute's words.
    if kind == NULL:
        return list(
            random_chains(_chain(misp.fit(embedding, attribute, **settings)), draws, seed=seed)
        )
    chosen = attribute or Attribute.load()
    misp.resolve_groups(embedding, chosen)  # refuses too few words
    redrawn, chains = redraws(chosen, max(draws) + 1, seed), []
    vectors = redrawn_vectors(embedding, chosen, [redrawn[draw] for draw in draws])
    for draw, groups in zip(draws, vectors, strict=True):
        try:
            chains.append(_chain(Projection(misp.fit_vectors(groups, **settings))))
        except WordbiasError as error:
            raise WordbiasError(
                f"MISP cannot be fitted to redraw {draw} of the names of {chosen.name}: too few "
                f"are different and found; give more, or no redraws of lists ({error})"
            ) from None
    return chains


def _chain(removal: Projection) -> Chain:
    return Chain((Fitted("misp", (removal,)),))


def permuted_weights(
    name: str, base: Arm, attribute: Attribute | None = None, *, centre: bool = False
) -> dict[str, Arm]:
    """Remove MISP with its weights in each of the 24 orders of appendix C; an arm for each."""
    removed = {
        (embedding, order): replace(
            misp.fit(embedding, attribute, weights=f"perm:{order}", centre=centre)(embedding),
            name=in_order(embedding.name, order),
            info=None,
        )
        for embedding in different(base)
        for order in ORDERS
    }
    return {
        in_order(name, order): {seed: removed[embedding, order] for seed, embedding in base.items()}
        for order in ORDERS
    }


def in_order(name: str, order: str) -> str:
    """Return the name of an arm with permuted weights."""
    return f"{name}.perm-{order}"
