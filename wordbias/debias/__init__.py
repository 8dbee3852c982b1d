"""Debiasing methods, one a module: ``fit(embedding, …)`` returns a frozen row-wise `Transform`."""

from wordbias.debias import misp
from wordbias.debias.transform import Transform, transform_rows, transformed

__all__ = ["Transform", "misp", "transform_rows", "transformed"]
