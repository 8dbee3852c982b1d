"""Measures of bias in an embedding, one a module: pure functions on arrays."""

from wordbias.measures.midb import Midb, direct_bias, direct_bias_of_words, midb, midb_of_words
from wordbias.measures.movement import displacement, neighbours, neighbours_preserved

__all__ = [
    "Midb",
    "direct_bias",
    "direct_bias_of_words",
    "displacement",
    "midb",
    "midb_of_words",
    "neighbours",
    "neighbours_preserved",
]
