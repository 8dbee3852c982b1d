"""Apply a fitted method to files of the same vectors, of words or of rows, or to a model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from numpy.typing import NDArray

from wordbias.calls import is_given, public, refuse_given
from wordbias.configuration import READS_VECTORS, current_config, uses
from wordbias.embedding import Embedding, EmbeddingLike
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats import stored
from wordbias.formats.files import refuse_same
from wordbias.functions.apply_rows import apply_to_rows, holds_rows
from wordbias.functions.debias import reach_rows, reach_table
from wordbias.functions.inputs import Written, open_subject, path_of, reading
from wordbias.methods.fitted import Chain, Fitted
from wordbias.methods.storage import Origin, check_chain, load_chain
from wordbias.methods.transform import Projection, refuse_no_change
from wordbias.models.representations import Representations
from wordbias.reports import Report
from wordbias.resources.hub import ADAPTER_FILE, METHOD_FILE, fetched, is_address

if TYPE_CHECKING:
    from wordbias.models.adapters import Adapter
    from wordbias.models.model_like import ModelLike

_HEAD = 1000
_OPTIONS = {
    "words with vectors": ("skip_bad", "allow_pickle", "cache"),
    "rows of vectors": ("array", "jobs"),
    "an adapter and its model": ("setting", "head", "device"),
}
"""Options that are only for one kind of input."""


@public
@uses(*READS_VECTORS, "jobs", "device")
def apply(
    transform: str | os.PathLike[str] | Chain | Fitted | Projection | Adapter,
    vectors: EmbeddingLike | Representations | NDArray[Any] | ModelLike,
    *,
    output: str | os.PathLike[str] | None = None,
    array: str | None = None,
    setting: str | None = None,
    head: str | None = None,
    force: bool = False,
) -> Embedding | Representations | NDArray[Any] | Written:
    """Apply a ``transform`` saved by debias --save-transform to ``vectors``, a file of any size.

    An adapter, which project wrote, is applied to its model. ``output`` is then a new folder of the
    model with the removal folded into its weights. A sentence model can get a further module
    instead. Sites that cannot be folded are named.

    A transform is only valid for the vectors that it was fitted on. The dimensions and a few words
    are therefore compared first. For rows without words, such as vectors of sentences, only the
    dimensions are compared. Files of rows are .npy, .npz, safetensors, .parquet, .arrow, .feather,
    .csv or .tsv, or a folder of these. They are written in their format with all other columns. In
    a folder, files that an earlier call wrote are skipped.

    Parameters
    ----------
    transform : path, hf://owner/name, fitted estimator, Chain, Fitted, Projection or Adapter
        The fitted method; for an object only the dimensions are compared. Or an adapter.
    vectors : path, name, Embedding, KeyedVectors, (words, vectors), Representations, array or table
        The vectors to apply it to: words with vectors, or rows. A pandas frame is words with
        vectors if its index has texts and all its columns are numbers. For an adapter, the model.
    output : path, optional
        File for the debiased vectors, in the format of its suffix, else that of ``vectors``; for a
        folder of files, or a model, a folder.
    array : str, optional
        Name of the array, or of the vectors' column, if a file holds several.
    setting : str, optional
        Setting of an adapter: L11-11101, sent-debias, tokens@3..10.  [default: its own; if it has
        none, embedding for a sentence model]
    head : str, optional
        Head of the model to load, as for project.  [default: the one that the model has]
    force : bool
        Apply it even if it was fitted on other vectors, or on another model.

    Returns
    -------
    Embedding, Representations, array or Written
        The debiased vectors of all words; its ``report`` says how many each method changed. If a
        file was streamed to ``output``, they are loaded from there on first use. For rows in memory
        an object of the same kind. For a file of rows, and for a model, what was written, with its
        ``report``.

    Raises
    ------
    WordbiasError
        If a file cannot be used, the transform belongs to other vectors, nothing changes, or
        nothing of a setting can be folded into weights.

    Examples
    --------
    >>> import wordbias as wb
    >>> clean = wb.debias(None, "hard", save_transform="hard.safetensors")
    >>> again = wb.apply("hard.safetensors", wb.Embedding.sample())
    >>> bool((again["nurse"] == clean["nurse"]).all())
    True

    Rows of an array, by a method that was fitted on such rows:

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(100, 4))
    >>> eraser = wb.LEACE().fit(x, x[:, 0] > 0)
    >>> wb.apply(eraser, x[:3]).shape
    (3, 4)
    """
    how = current_config()
    file, output = path_of(transform), path_of(output)
    refuse_same({"-o": output}, {"TRANSFORM": file})
    if (adapter := _adapter(transform, file)) is not None:
        from wordbias.functions.apply_model import apply_to_model

        _refuse_others("an adapter and its model")
        return apply_to_model(
            adapter, cast("ModelLike", vectors), output=output, setting=setting, head=head,
            device=how.device, force=force,
        )  # fmt: skip
    path = path_of(vectors)
    rows = vectors if path is None else fetched(path)
    if file is not None:
        chain, origin = load_chain(file)
    else:
        chain, origin = _chain(transform), None
        if is_given("force") and not holds_rows(rows):
            raise UsageError("--force is for a transform in a file; an object is not compared")
    if holds_rows(rows):
        _refuse_others("rows of vectors")
        return apply_to_rows(
            chain, origin or getattr(transform, "origin_", None), rows,
            file=file, output=output, array=array, jobs=how.jobs, force=force,
        )  # fmt: skip
    _refuse_others("words with vectors")
    wanted = {word for part in chain.parts for word in part.replaced.words}
    subject = open_subject(
        cast("EmbeddingLike", vectors),
        reading(),
        head=_HEAD,
        wanted=wanted.union(() if origin is None else origin.words),
        output=output,
    )
    before, what = subject.embedding, file or chain.name
    if origin is not None:
        origin.check(before, what, by_length=chain.by_length, force=force)
    else:
        _check_fits(chain, before)
    done = chain(before)
    refuse_no_change(what, before, done)
    reached = subject.write_words(chain, done)
    names = ", then ".join(
        part.name + (" (differences centred)" if part.centred else "") for part in chain.parts
    )
    fitted = "" if origin is None else f", fitted on {_about(origin)}"
    report = Report(
        inputs={before.name: subject.info.to_dict()},
        rows=reach_rows(chain, reached, done),
        tables=[reach_table(chain, reached)],
        heading=[f"{names}{fitted}", f"Applied to {subject.description()}"],
        closing=[subject.output_line()],
    )
    return subject.result(chain, report, done)


def _adapter(transform: object, file: str | None) -> str | Adapter | None:
    """Return an adapter, or the file of one; None for any other transform."""
    if file is None:
        return cast("Adapter", transform) if hasattr(transform, "fingerprint") else None
    place = fetched(file, wanted=METHOD_FILE)
    inside = os.path.join(place, ADAPTER_FILE)  # of a folder that audit --export wrote
    place = inside if os.path.isfile(inside) else place
    if stored.kind_of(place) != stored.ADAPTER:
        return None
    return file if is_address(file) else place


def _refuse_others(what: str) -> None:
    """Refuse the options of other kinds of input."""
    for other, names in _OPTIONS.items():
        refuse_given(names if other != what else (), f"is for {other}, not for {what}")


def _chain(transform: object) -> Chain:
    """Make a chain of a fitted method."""
    transform = getattr(transform, "fitted_", transform)  # of an estimator
    if isinstance(transform, Chain):
        return transform
    if isinstance(transform, Projection):
        transform = Fitted(transform.name, (transform,))
    if not isinstance(transform, Fitted):
        how = "; call its fit() first" if hasattr(transform, "fit") else ""
        how = "; the embedding comes second" if isinstance(transform, Embedding) else how
        raise WordbiasError(
            "transform: expected a fitted method, or the file in which debias saved one, "
            f"got {type(transform).__name__}{how}"
        )
    return Chain((transform,))


def _check_fits(chain: Chain, embedding: Embedding) -> None:
    """Refuse vectors of other dimensions than those that a transform was fitted on."""
    try:
        check_chain(chain, Origin.of(embedding))
    except ValueError as error:
        raise WordbiasError(
            f"{chain.name}: does not fit {embedding.name}, whose vectors have {embedding.dim} "
            f"dimensions: {error}"
        ) from None


def _about(origin: Origin) -> str:
    known = f", sha256 {origin.sha256[:12]}…" if origin.sha256 else ""
    return f"{origin.name}: {origin.size:,} words × {origin.dim}{known}"
