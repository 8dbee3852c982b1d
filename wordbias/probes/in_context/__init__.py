"""CEAT: association tests on words in context, over many sentences (Guo and Caliskan 2021)."""

from wordbias.probes.in_context.association import Association, associate
from wordbias.probes.in_context.drawing import Contexts
from wordbias.probes.in_context.measuring import Settings, ceat
from wordbias.probes.in_context.random_effects import Combined, combine_effects

__all__ = [
    "Association",
    "Combined",
    "Contexts",
    "Settings",
    "associate",
    "ceat",
    "combine_effects",
]
