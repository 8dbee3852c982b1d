"""The embedded samples, so that every command runs with nothing at hand: vectors, an NLI model."""

from pathlib import Path

SAMPLE_NAME = "sample"


def sample_path() -> Path:
    """Return the file of the sample; `sample.json` beside it says where the vectors come from."""
    return Path(__file__).with_name("sample.safetensors")


def nli_sample_path() -> Path:
    """Return the file of the NLI model that was trained on the sample."""
    return Path(__file__).with_name("nli_sample.safetensors")
