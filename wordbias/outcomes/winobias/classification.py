"""WinoBias as classification: which profession the pronoun was taken for (P3, §A.4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from wordbias.outcomes.confusion import Confusion
from wordbias.outcomes.rates import Values
from wordbias.outcomes.winobias.clusters import Clusters
from wordbias.outcomes.winobias.sentences import FEMALE, MALE, Sentence

NONE = "None"
"""Predicted where a pronoun is with no profession, or with several."""
_OTHER_NAMES = {"mechanician": "mechanic", "sewer": "tailor"}


def predicted_profession(sentence: Sentence, clusters: Clusters) -> str:
    """Return whom the pronoun was taken for.

    Of the clusters that have one of the sentence's pronouns as a mention, the professions that lie
    within their mentions; the one if there is one, else `NONE`. Mentions are compared by place: the
    released code of Orgad et al. (2022) looks for *he* as a part of a word, so that to it a cluster
    with *the teacher* or *the sheriff* has a pronoun.
    """
    pronouns = set(sentence.pronouns)
    with_pronoun = [cluster for cluster in clusters if pronouns.intersection(cluster)]
    mentions = [span for cluster in with_pronoun for span in cluster]
    names = {
        name
        for name, (start, end) in sentence.people
        if any(first <= start and end <= last for first, last in mentions)
    }
    return names.pop() if len(names) == 1 else NONE


def as_classification(sentences: Sequence[Sentence], clusters: Sequence[Clusters]) -> Confusion:
    """Count gold and predicted professions by the gender of the pronoun.

    Returns
    -------
    Confusion
        Of women minus men; `NONE` can be predicted, but is no class.
    """
    predicted = [
        predicted_profession(one, found) for one, found in zip(sentences, clusters, strict=True)
    ]
    return Confusion.of(
        [one.profession for one in sentences],
        predicted,
        [one.gender for one in sentences],
        order=(FEMALE, MALE),
        abstentions=(NONE,),
    )


def published_positions(classes: Sequence[str]) -> Values:
    """Return the numbers of classes as the released code counts them, with `NONE` among them.

    There *CEO* is spelled so and sorted as ASCII, so that `NONE` is its neighbour.
    """
    spelled = [_as_released(name) for name in classes]
    order = sorted([*spelled, NONE])
    return np.array([order.index(name) for name in spelled], dtype=np.float64)


def _as_released(name: str) -> str:
    return "CEO" if name == "ceo" else name.replace(" ", "")


def professional_shares(shares: Mapping[str, float], classes: Sequence[str]) -> dict[str, float]:
    """Name shares as the sentences name professions: *construction worker*, *designer*, *tailor*.

    The file that comes with WinoBias has *construction_worker*, *designers* and *sewer*.
    """
    found: dict[str, float] = {}
    for name, share in shares.items():
        plain = name.lower().replace("_", " ")
        plain = _OTHER_NAMES.get(plain, plain)
        singular = plain.removesuffix("s")
        found[singular if plain not in classes and singular in classes else plain] = share
    return found
