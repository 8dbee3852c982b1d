"""Measures of bias in an embedding, one a module: pure functions on arrays."""

from wordbias.measures.direct_bias import direct_bias, direct_bias_of_words
from wordbias.measures.displacement import displacement, neighbours, neighbours_preserved
from wordbias.measures.midb import Midb, midb, midb_of_words

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
