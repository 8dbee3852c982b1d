"""Word similarity and analogies: the quality of an embedding before and after debiasing."""

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
