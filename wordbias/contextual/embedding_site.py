"""Site `embedding`: the vector that a sentence-transformers model outputs for a text.

It is after the pooling, and before a Normalize that is last; a further module removes there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import normalise, unit
from wordbias.contextual.fitting import Recipe, stability
from wordbias.draws import with_change
from wordbias.errors import WordbiasError
from wordbias.methods.pairs import subspace_of_pairs
from wordbias.methods.transform import Step
from wordbias.models.adapters import Adapter
from wordbias.models.encoder import Encoder
from wordbias.models.families import base_of, head_of
from wordbias.models.model_like import ModelLike
from wordbias.models.sentence_folder import SentenceVectors
from wordbias.models.sentence_pairs import SentencePair
from wordbias.models.sentence_transformers import is_sentence_transformer, read_modules
from wordbias.models.sites import EMBEDDING
from wordbias.probes.pronouns import Pronouns
from wordbias.probes.similarity_kept import kept_rows
from wordbias.resources.models import encoder_folder
from wordbias.results import Row
from wordbias.wordlists.model_sentences import ModelSentences, occupation_subject, sentences_with

Array = NDArray[np.float64]


def sentence_vectors(source: ModelLike, model: Any) -> SentenceVectors | None:
    """Return a sentence-transformers model as its parts; None for any other, or one with a head."""
    if head_of(model) is not None or base_of(model) is not model:
        return None
    if isinstance(source, (str, os.PathLike)):
        if read_modules(encoder_folder(os.fspath(source), [])) is None:
            return None
    elif not is_sentence_transformer(source):
        return None
    return SentenceVectors.of(Encoder.load(source, device=str(model.device)))


def fit_embedding(
    adapter: Adapter, vectors: SentenceVectors, pairs: Sequence[SentencePair], recipe: Recipe
) -> Adapter:
    """Fit a subspace to what a sentence model outputs, and add it to an adapter of the model."""
    n = len(pairs)
    texts = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    x = vectors.job(texts).vectors()[0]
    differing = np.flatnonzero((x[:n] != x[n:]).any(axis=1))
    if len(differing) < 2:
        raise WordbiasError(
            f"site {EMBEDDING}: pairs of sentences with different vectors: {len(differing)}, at "
            "least two are needed; give others with --pairs"
        )
    first, second = (
        unit(side) if recipe.unit else side for side in (x[:n][differing], x[n:][differing])
    )
    try:
        subspace = subspace_of_pairs(first, second, recipe.dims, recipe.one_sided)
    except WordbiasError as error:
        raise WordbiasError(f"site {EMBEDDING}: {error}") from None
    steady = stability((first - second).astype(float), centre=recipe.one_sided, seed=recipe.seed)
    settings = {key: value for key, value in asdict(recipe).items() if key != "dims"}
    facts = {"source": "given", "pairs": n, "left_out": [], **settings, **adapter.facts}
    about = {"pairs": len(differing), "stability": steady._asdict()}
    facts["sites"] = {**adapter.facts.get("sites", {}), str(EMBEDDING): about}
    return replace(adapter, subspaces={**adapter.subspaces, EMBEDDING: subspace}, facts=facts)


def embedding_effect(subject: str, vectors: SentenceVectors, removal: Step, seed: int) -> list[Row]:
    """Measure occupations' nearer pronoun, and similarities kept, before and after a removal."""
    lists = ModelSentences.load()
    groups = [
        *(occupation_subject(occupation) for occupation in lists.women), "She", "He",
    ]  # fmt: skip
    texts = [text for group in groups for text in sentences_with(lists.measured, group)]
    x = vectors.job([*texts, *lists.unrelated]).vectors()[0]
    stages = []
    women = {name: float(share) for name, share in lists.women.items()}
    for raw in (x, np.asarray(removal(x), np.float32)):
        y = normalise(vectors.outputs(raw).astype(np.float64))
        grouped = y[: len(texts)].reshape(len(groups), len(lists.measured), -1)
        leanings = Pronouns.of(grouped[:-2], grouped[-2], grouped[-1], women, seed=seed)
        stages.append((leanings, y[len(texts) :]))
    (old, others), (new, others_after) = stages
    site = {"site": str(EMBEDDING)}
    before = old.rows(subject, {"stage": "before", **site})
    after = new.rows(subject, {"stage": "after", **site})
    return [
        *before,
        *map(with_change, before, after),
        *kept_rows(subject, others, others_after, {"stage": "after", **site}, seed=seed),
    ]
