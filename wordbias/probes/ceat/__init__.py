"""CEAT: association tests on words in context, over many sentences (Guo and Caliskan 2021)."""

from wordbias.probes.ceat.association import (
    Association,
    Combined,
    Contexts,
    associate,
    combine_effects,
)
from wordbias.probes.ceat.measure import Settings, ceat

__all__ = [
    "Association",
    "Combined",
    "Contexts",
    "Settings",
    "associate",
    "ceat",
    "combine_effects",
]
