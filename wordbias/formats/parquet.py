"""Tables in Parquet, where pandas is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.optional import need

SUFFIXES = (".parquet", ".pq")


def is_parquet(file: Path) -> bool:
    """Return whether a file is called as such files are."""
    return file.suffix.lower() in SUFFIXES


def read_parquet(file: Path) -> Any:
    """Return the table as a frame of pandas.

    Raises
    ------
    WordbiasError
        If pandas or pyarrow is missing, or the file is no such table.
    """
    pandas = need("pandas", extra="parquet", purpose="reading Parquet")
    try:
        return pandas.read_parquet(file)
    except ImportError:
        raise WordbiasError(
            f"{file}: pandas reads Parquet with pyarrow; install it with: pip install pyarrow"
        ) from None
    except (OSError, ValueError) as error:
        raise WordbiasError(f"{file}: cannot be read as Parquet: {error}") from None
