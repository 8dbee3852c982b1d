"""Word similarity and analogies: the quality of an embedding before and after debiasing.

Words that an embedding does not have are left out by default (``oov="skip"``): the value then
describes the vectors, and the coverage, always reported beside it, the vocabulary. The published
protocol (``oov="mean"``) mixes the two: a pair with an unknown word is scored by a vector that says
nothing about it, and two unknown words look alike. Values of two embeddings compare only at equal
coverage; before and after debiasing it is equal.
"""

from wordbias.word_tasks.analogy import Accuracy, Analogies, analogies, answer
from wordbias.word_tasks.quality import quality
from wordbias.word_tasks.sets import AnalogySet, SimilaritySet, find_sets, read_set
from wordbias.word_tasks.similarity import Similarity, Space, similarity

__all__ = [
    "Accuracy",
    "Analogies",
    "AnalogySet",
    "Similarity",
    "SimilaritySet",
    "Space",
    "analogies",
    "answer",
    "find_sets",
    "quality",
    "read_set",
    "similarity",
]
