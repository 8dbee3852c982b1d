"""Word similarity and analogies: the quality of an embedding before and after debiasing.

The published protocol (``oov="mean"``) mixes vectors and vocabulary: a pair with an unknown word is
scored by a vector that says nothing about it, and two unknown words look alike. Without it they are
left out, and the coverage is reported. Values compare only at equal coverage; before and after
debiasing it is equal.
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
