"""The embedded sample: real GloVe vectors, so that every command runs with nothing at hand."""

from pathlib import Path

SAMPLE_NAME = "sample"


def sample_path() -> Path:
    """Return the file of the sample; `sample.json` beside it says where the vectors come from."""
    return Path(__file__).with_name("sample.safetensors")
