"""Rows of vectors with other columns: in arrays and tables, in one file or a folder of shards.

`open_rows` recognises a file by its content and reads nothing but headers; `Rows.blocks` reads in
bounded memory, and `wordbias.rewriting` writes the same files with other vectors.
"""

from wordbias.formats.rows.opening import (
    Rows,
    is_polars,
    is_rows,
    is_table,
    matrix_of,
    open_rows,
)
from wordbias.formats.rows.source import MapByRow, RowBlock

__all__ = [
    "MapByRow",
    "RowBlock",
    "Rows",
    "is_polars",
    "is_rows",
    "is_table",
    "matrix_of",
    "open_rows",
]
