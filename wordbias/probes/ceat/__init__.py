"""CEAT: association tests on words in context, over many sentences (Guo and Caliskan 2021)."""

from wordbias.probes.ceat.association import Association, Contexts, associate
from wordbias.probes.ceat.measure import Settings, ceat
from wordbias.probes.ceat.random_effects import Combined, combine_effects

__all__ = [
    "Association",
    "Combined",
    "Contexts",
    "Settings",
    "associate",
    "ceat",
    "combine_effects",
]
