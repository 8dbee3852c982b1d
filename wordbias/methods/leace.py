"""LEACE: the least change after which no linear classifier tells fitted words apart.

Least-squares concept erasure (Belrose et al. 2023) of the classes of labelled words: those that
`wordbias.methods.classes` chooses, by what `wordbias.methods.erasure` does to vectors.

The words that are held out here are words that LEACE was not fitted on. Its guarantee does not
reach them: they stay apart as far as the fitted words do not stand for them, and a classifier may
learn from them what it cannot learn from the fitted ones. `fit` measures how much.
"""

from __future__ import annotations

from pathlib import Path

from wordbias.embedding import Embedding
from wordbias.methods.classes import labelled_words
from wordbias.methods.erasure import Erasure, fit_erasure
from wordbias.methods.fitted import Fitted
from wordbias.methods.linear_probe import probe_rows
from wordbias.methods.words import as_embedding, as_groups
from wordbias.wordlists import Attribute, WordGroups

__all__ = ["Erasure", "fit"]


def fit(
    embedding: Embedding,
    attribute: Attribute | WordGroups | str | Path | None = None,
    *,
    classes: int | None = None,
    per_class: int | None = None,
    seed: int = 0,
    method: str = "leace",
) -> Fitted:
    """Fit LEACE on labelled words.

    Parameters
    ----------
    embedding
        Whose words are labelled; see `labelled_words`.
    attribute
        Two groups or more, or a file with them; by default gender.
    classes
        As many as groups, the default: the words that lean most to each. One more: neutral words as
        well.
    per_class
        Words of each class; by default 5 % of the candidates, 7,500 at most.
    seed
        Of the neutral words and of the words held out.
    method
        See `fit_erasure`.

    Returns
    -------
    Fitted
        One `Erasure`. Found is ``probe-accuracy`` of fresh classifiers before and after, whose sets
        `linear_probe.probe` explains; fitted on are all words but the 30 % held out.

    Raises
    ------
    WordbiasError
        If the attribute has no axis, words of a class are too few, or the classes do not differ in
        their means.
    """
    embedding, attribute = as_embedding(embedding), as_groups(attribute)
    classes = len(attribute.groups) if classes is None else classes
    settings = {"classes": classes, "per_class": per_class, "seed": seed, "method": method}
    words = labelled_words(embedding, attribute, classes=classes, per_class=per_class, seed=seed)
    x = words.vectors(embedding)
    erasure = fit_erasure(x[words.learned], words.labels[words.learned], method)
    found = probe_rows(embedding.name, x, erasure(x), words, words.learned)
    return Fitted("leace", (erasure,), found=tuple(found), settings=settings)
