"""Load what wordbias reads or wrote: vectors, a method, an adapter, representations and more."""

from __future__ import annotations

import os
from typing import Any, overload

from wordbias.calls import path_of, public
from wordbias.configuration import READS_VECTORS, current_config, uses
from wordbias.embedding import Embedding, EmbeddingLike
from wordbias.formats import stored
from wordbias.functions.inputs import open_subject, reading
from wordbias.resources import located
from wordbias.resources.hub import renamed


@overload
def load(
    source: str | os.PathLike[str],
) -> Any: ...
@overload
def load(
    source: EmbeddingLike | None = None,
) -> Embedding: ...
@public
@uses(*READS_VECTORS, "device")
def load(
    source: EmbeddingLike | None = None,
) -> Any:
    """Load word vectors of any known format, or what wordbias wrote.

    Parameters
    ----------
    source : path, fetched name, KeyedVectors, (words, vectors), mapping or frame, optional
        A file of vectors: GloVe or word2vec text, word2vec binary, fastText, gensim .kv or
        safetensors. It is recognised by its content, and may be inside .gz, .bz2, .xz or .zip
        (``archive.zip::member``). Or the folder of a static model (model2vec, StaticEmbedding);
        only the tokens that are words are loaded. Or the name of vectors that `fetch` downloaded.
        Or a file that wordbias wrote: a fitted method, an adapter, representations, an NLI model, a
        subspace, or the folder of coref-train. Any of these may be on the hub,
        ``hf://owner/name``. By default the sample that comes with wordbias.

    Returns
    -------
    Embedding, method, Pipeline, Adapter, Representations, Subspace, or a model
        For vectors an `Embedding`: words and float32 vectors, shape ``(n, d)``. For a file of an
        estimator's ``save`` or of ``debias --save-transform`` the fitted estimator, or a
        scikit-learn ``Pipeline`` of several. It is frozen: `clone`, cross-validation and ``fit(X,
        y)`` of a pipeline keep what was fitted, and ``set_params`` refuses. For a file of
        ``project`` an `Adapter`; for one of ``encode`` `Representations`, memory-mapped. For a
        folder of ``coref-train`` a function of tokens, which returns clusters.

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
    >>> import os, tempfile
    >>> mhd = wb.MHD(dims=1).fit([[1.0, 3], [1, 4], [5, 3], [5, 4]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mhd.save(os.path.join(folder, "mhd.safetensors"))
    ...     wb.load(os.path.join(folder, "mhd.safetensors")).transform([[1.0, 3]]).tolist()
    [[0.0, 3.0]]
    """
    name = path_of(source)
    if name is not None and (kind := stored.kind_of(place := located(name))) is not None:
        with renamed(place, name):
            return _read(kind, place)
    if name is not None and stored.is_coreference(folder := located(name)):
        from wordbias.coreference.resolver import Coreference

        return Coreference.load(folder, device=current_config().device)
    return open_subject(source, reading()).embedding


def _read(kind: str, path: str) -> Any:
    """Read a file of the package's own; what reads it is imported then."""
    if kind == stored.TRANSFORM:
        from wordbias.estimators import read_method

        return read_method(path)
    if kind == stored.ADAPTER:
        from wordbias.models.adapters import read_adapter

        return read_adapter(path)
    if kind == stored.REPRESENTATIONS:
        from wordbias.models.representations import load_representations

        return load_representations(path)
    if kind == stored.NLI_MODEL:
        from wordbias.nli.files import Model

        return Model.load(path)
    from wordbias.subspace import read_subspace

    return read_subspace(path)
