"""Embedded samples, so that every command runs without input files, and reference values.

A module of its own, because it is the package of the data files.
"""

from pathlib import Path


def sample_path() -> Path:
    """Return the file of the sample vectors; `sample.json` beside it has their provenance."""
    return Path(__file__).with_name("sample.safetensors")


def nli_sample_path() -> Path:
    """Return the file of the NLI model that was trained on the sample."""
    return Path(__file__).with_name("nli_sample.safetensors")


def reference_path() -> Path:
    """Return the file of the measures of embeddings that people know."""
    return Path(__file__).with_name("reference.json")
