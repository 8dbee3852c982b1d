import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of published data that the lists are checked against."""
    default = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("WORDBIAS_SHARED_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"no published data at {folder}: set WORDBIAS_SHARED_DATA")
    return folder
