"""Conversion of vectors between formats."""

from __future__ import annotations

import os

from wordbias.arguments import check_choice
from wordbias.calls import public
from wordbias.configuration import READS_VECTORS, uses
from wordbias.embedding import Embedding, EmbeddingLike
from wordbias.formats import WRITABLE, Kind
from wordbias.functions.inputs import open_subject, reading
from wordbias.methods.transform import Identity
from wordbias.rendering import how_many
from wordbias.reports import Report


@public
@uses(*READS_VECTORS)
def convert(
    source: EmbeddingLike,
    target: str | os.PathLike[str],
    *,
    to: Kind | None = None,
) -> Embedding:
    """Convert the vectors in ``source`` to ``target``.

    ``source`` is GloVe or word2vec text, word2vec binary, fastText .bin, gensim .kv or safetensors,
    recognised by its content, perhaps inside .gz, .bz2, .xz or .zip (ARCHIVE.zip::MEMBER).
    ``target``'s suffix chooses the format: .txt text (with a header if ``source`` has one), .vec
    word2vec text, .bin word2vec binary, .kv gensim, .safetensors. Any other suffix keeps the format
    of ``source``. A further suffix .gz, .bz2, .xz or .zip compresses text and binary formats. The
    folder of a static model (model2vec, StaticEmbedding) is read as its words, and copied if
    ``target`` is a folder too. Such a folder needs its tokenizer, which other formats lack.

    Parameters
    ----------
    source : path, fetched name, Embedding, KeyedVectors or (words, vectors)
        The vectors to convert.
    target : path
        The file to write.
    to : str, optional
        Format to write.  [default: by ``target``'s suffix]

    Returns
    -------
    Embedding
        The vectors; if they were converted from file to file, they are loaded from ``target`` on
        first use.

    Raises
    ------
    WordbiasError
        If a file cannot be read or written, or there is no such format.

    Examples
    --------
    >>> import wordbias as wb
    >>> import numpy as np
    >>> wb.convert((["she", "he"], np.eye(2)), "vectors.vec").report.heading
    ['vectors.vec: 2 words × 2 (word2vec)']
    """
    check_choice("--to", to, (*WRITABLE, "static-model"))  # fastText's is read only
    target = os.fspath(target)
    read_options = reading()
    subject = open_subject(source, read_options, output=target, kind=to, unchanged=True)
    subject.write(Identity())
    size = f"{how_many(subject.info.words, 'word')} × {subject.info.dim}"
    report = Report(
        inputs={subject.embedding.name: subject.info.to_dict()},
        heading=[f"{target}: {size} ({subject.kind}){subject.about_others()}"],
    )
    return subject.result(Identity(), report, subject.embedding)
