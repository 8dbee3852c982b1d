"""Applying a fitted method to rows of vectors: arrays, tables, files and folders of shards."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from wordbias.batches import map_rows, open_batch
from wordbias.calls import note, typed_setting
from wordbias.embedding import is_words_and_vectors
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats.rows import Rows, is_polars, is_rows, is_table, open_rows
from wordbias.formats.source import sha256_of
from wordbias.functions.inputs import Written, path_of
from wordbias.methods.fitted import Chain
from wordbias.methods.storage import Origin, check_chain, save_chain
from wordbias.methods.transform import turns
from wordbias.models.representations import Representations
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.resources.hub import METHOD_FILE, fetched
from wordbias.results import Row
from wordbias.rewriting import Rewritten, check_rewritable, rewrite_rows

Made = Representations | NDArray[Any] | Written
_HEAD = 1000
CHANGED = "rows-changed"


def holds_rows(vectors: object) -> bool:
    """Return whether an argument is rows of vectors, rather than words and vectors."""
    path = path_of(vectors)
    if path is not None:
        return is_rows(path)
    if isinstance(vectors, (np.ndarray, Representations)) or is_table(vectors):
        return True
    if isinstance(vectors, Mapping):  # of columns, not of words to vectors
        return any(_in_rows(column) for column in vectors.values())
    if is_words_and_vectors(vectors) or hasattr(vectors, "columns"):
        return False
    is_column = hasattr(vectors, "__array__") and getattr(vectors, "ndim", 1) < 3
    return is_column or _in_rows(vectors)


def _in_rows(cells: Any) -> bool:
    """Return whether an array or list has a vector for each row."""
    if getattr(cells, "ndim", 1) == 2:
        return True
    kinds = (list, tuple, np.ndarray)
    return isinstance(cells, kinds) and len(cells) > 0 and isinstance(cells[0], kinds)


def apply_to_rows(
    chain: Chain,
    origin: Origin | None,
    vectors: Any,
    *,
    file: str | None,
    output: str | None,
    array: str | None,
    jobs: int | None,
    force: bool,
) -> Made:
    """Apply a chain to rows; return the same kind as what is in memory, else what was written."""
    if hasattr(vectors, "with_format"):
        raise WordbiasError(
            "a dataset is mapped by its own map: "
            "dataset.map(method.on(), batched=True), where method is what was fitted or loaded"
        )
    rows, what = open_rows(vectors, array=array), file or chain.name
    where = rows.path or rows.name
    _check_fits(chain, origin, rows, what, force=force)
    in_files = bool(rows.path)
    if in_files and output is None:
        raise UsageError(f"-o names the file or folder to write: {where} is in a file")
    if not in_files and typed_setting("jobs") is not None:
        raise UsageError("--jobs is for a folder of files; what is in memory is mapped here")
    if output is not None:
        check_rewritable(rows, output)
    transform = partial(map_rows, chain)
    head = next(islice(rows.blocks(rows=_HEAD), 1), None)
    if head is None:
        raise WordbiasError(f"{where}: holds no rows")
    with np.errstate(all="ignore"):
        changed = turns(head.vectors, transform(head.vectors))
    if not changed:
        raise WordbiasError(
            f"{what} changed none of the first {len(head.vectors):,} vectors of {where}: what it "
            "removes is not there; are they debiased already?"
        )
    if output is None:
        return cast("Made", in_memory(vectors, rows, transform, chain))
    rewritten = rewrite_rows(
        rows, output, transform, fingerprint=fingerprint_of(chain, origin, file, array), jobs=jobs
    )
    report = _report(chain, origin, rows, rewritten, output)
    return Written(output, report, rewritten.files if rows.folder else ())


def in_memory(vectors: Any, rows: Rows, transform: Any, chain: Chain) -> Any:
    """Return what is in memory with other vectors, as an object of the same kind."""
    (source,) = rows.shards
    changed = source.changed(transform)  # type: ignore[attr-defined]
    if is_polars(vectors):
        return type(vectors)(changed)
    if isinstance(vectors, Mapping) or (hasattr(vectors, "iloc") and hasattr(vectors, "columns")):
        _, put = open_batch(vectors, rows.array)
        return put(changed)
    if not isinstance(vectors, Representations):
        return changed
    layered: NDArray[np.float32] = np.asarray(changed, np.float32)[None]
    return replace(vectors, vectors=layered, name=f"{vectors.name}.{chain.name}", report=None)


def _check_fits(chain: Chain, origin: Origin | None, rows: Rows, what: str, *, force: bool) -> None:
    """Refuse a method of other dimensions, and one that is made for words."""
    where = rows.path or rows.name
    if origin is not None and origin.dim != rows.dim:
        raise WordbiasError(
            f"{what}: fitted on {origin.name}, whose vectors have {origin.dim} dimensions; those "
            f"of {where} have {rows.dim}; fit it again on {where}"
        )
    if origin is not None and origin.words and not force:
        raise WordbiasError(
            f"{what}: fitted on the words of {origin.name}, and {where} holds rows without words; "
            "fit it on such rows, or apply it nevertheless with --force"
        )
    by_word = [part for part in chain.parts if part.by_word]
    if by_word and not force:
        raise WordbiasError(
            f"{what}: {by_word[0].name} treats some words differently, and {where} names no words; "
            "map all rows alike with --force"
        )
    if by_word:
        exempt, replaced = (
            sum(len(part.exempt) for part in by_word),
            sum(len(part.replaced) for part in by_word),
        )
        note(
            f"{what} leaves out {how_many(exempt, 'word')} and replaces "
            f"{how_many(replaced, 'vector')}; rows do not name words, and all of them are mapped "
            "alike"
        )
    none = np.zeros((0, rows.dim))
    try:
        check_chain(chain, Origin(where, "", 1, rows.dim, (), none))
    except ValueError as error:
        raise WordbiasError(
            f"{what}: does not fit {where}, whose vectors have {rows.dim} dimensions: {error}"
        ) from None


def fingerprint_of(chain: Chain, origin: Origin | None, file: str | None, array: str | None) -> str:
    """Return a hash of the method as it is saved, with the name of the array that it maps."""
    if file is not None:
        digest = sha256_of(fetched(file, wanted=METHOD_FILE))
    else:
        dim = 0 if origin is None else origin.dim
        known = origin or Origin("", "", 0, dim, (), np.zeros((0, dim)))
        with tempfile.TemporaryDirectory(prefix="wordbias-") as folder:
            path = Path(folder) / "method.safetensors"
            save_chain(path, chain, known)
            digest = sha256_of(path)
    return digest if array is None else f"{digest}:{array}"


def _report(
    chain: Chain, origin: Origin | None, rows: Rows, rewritten: Rewritten, output: str
) -> Report:
    """Return the report of what was written."""
    shards = len(rewritten.files)
    rate = rewritten.rows / rewritten.seconds if rewritten.rows else None
    details = {
        "method": chain.name,
        "shards": shards - rewritten.skipped,
        "skipped": rewritten.skipped,
        "seconds": round(rewritten.seconds, 3),
        "rows_per_second": None if rate is None else round(rate),
    }
    names = ", then ".join(part.name for part in chain.parts)
    fitted = "" if origin is None else f", fitted on {origin.name} × {origin.dim}"
    kind, dim = rows.shards[0].kind, rows.dim
    many = f", {how_many(shards, 'shard')}" if rows.folder else ""
    cells: Sequence[str] = [
        f"{rewritten.rows:,}",
        f"{shards - rewritten.skipped:,}",
        f"{rewritten.skipped:,}",
        f"{rewritten.seconds:.1f}",
        "–" if rate is None else f"{rate:,.0f}",
    ]
    skipped = how_many(rewritten.skipped, "shard")
    table = Table(
        "Rows written",
        ["rows", "shards", "skipped", "seconds", "rows a second"],
        [list(cells)],
        f"Skipped: {skipped} that an earlier call wrote." if rewritten.skipped else "",
    )
    facts: dict[str, Any] = {"path": rows.path, "format": kind, "dim": dim, "shards": shards}
    return Report(
        inputs={rows.name: facts},
        rows=[Row(rows.name, CHANGED, rewritten.rows, details)],
        tables=[table],
        heading=[f"{names}{fitted}", f"Applied to {rows.path}: vectors × {dim} ({kind}{many})"],
        closing=[f"Written: {output} ({kind})"],
    )
