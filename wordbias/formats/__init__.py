"""Word vectors in files: GloVe and word2vec text, word2vec binary, safetensors, gensim and more."""

from wordbias.formats.layout import Kind, Layout
from wordbias.formats.loading import FileInfo, Loaded, Tally, VectorFile, cached, load, scan
from wordbias.formats.static_models import StaticModel, is_static_model
from wordbias.formats.writing import (
    NO_TOKENIZER,
    ROW_FORMATS,
    WRITABLE,
    RowFormat,
    StreamFormat,
    check_output,
    is_row_format,
    is_streamed,
    output_format,
    save,
    save_changed,
    stream,
)

__all__ = [
    "NO_TOKENIZER",
    "ROW_FORMATS",
    "WRITABLE",
    "FileInfo",
    "Kind",
    "Layout",
    "Loaded",
    "RowFormat",
    "StaticModel",
    "StreamFormat",
    "Tally",
    "VectorFile",
    "cached",
    "check_output",
    "is_row_format",
    "is_static_model",
    "is_streamed",
    "load",
    "output_format",
    "save",
    "save_changed",
    "scan",
    "stream",
]
