"""Load an embedding by path or by the name of what was fetched."""

from __future__ import annotations

from wordbias.calls import public
from wordbias.configuration import READS_VECTORS, uses
from wordbias.embedding import Embedding, EmbeddingLike
from wordbias.functions.inputs import open_subject, reading


@public
@uses(*READS_VECTORS)
def load(
    source: EmbeddingLike | None = None,
) -> Embedding:
    """Load word vectors of any known format.

    Parameters
    ----------
    source : path, fetched name, KeyedVectors, (words, vectors), mapping or frame, optional
        GloVe or word2vec text, word2vec binary, fastText, gensim .kv or safetensors, recognised by
        its content, perhaps inside .gz, .bz2, .xz or .zip (``archive.zip::member``); the folder of
        a static model (model2vec, StaticEmbedding), of which the tokens that are words are loaded;
        the name of vectors that `fetch` downloaded; or the place of any of these on the hub,
        ``hf://owner/name``. By default the sample that comes with wordbias.

    Returns
    -------
    Embedding
        Words and float32 vectors, shape ``(n, d)``.

    Raises
    ------
    WordbiasError
        If the file cannot be used; the message names the line, word or shape.

    Examples
    --------
    >>> import wordbias as wb
    >>> emb = wb.load()
    >>> emb[["she", "he"]].shape
    (2, 100)
    """
    return open_subject(source, reading()).embedding
