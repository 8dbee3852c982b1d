"""Rows of vectors with other columns: in arrays and tables, in one file or a folder of shards."""

from wordbias.formats.rows.opening import Rows, is_polars, is_rows, is_table, matrix_of, open_rows
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
