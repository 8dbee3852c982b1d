"""The clusters that a coreference model finds in documents."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from wordbias.calls import path_of, public
from wordbias.columns import BadRows
from wordbias.configuration import current_config, uses
from wordbias.coreference.documents import Corpus, Document, facts
from wordbias.coreference.reading import left_out, read_documents
from wordbias.coreference.writing import conll_lines, json_lines
from wordbias.errors import WordbiasError, need
from wordbias.formats.files import check_outputs, compressing, replacing
from wordbias.functions.adapters import AdapterLike, open_adapter
from wordbias.rendering import Table
from wordbias.reports import Report
from wordbias.resources import located
from wordbias.text_files import without_packing

DocumentsLike = str | os.PathLike[str] | Sequence[str | os.PathLike[str] | Document]
"""A file or folder of documents, several, or documents."""


def read_all(option: str, given: DocumentsLike) -> Corpus:
    """Read documents from files or folders, or take those in memory."""
    several = [given] if isinstance(given, (str, os.PathLike)) else list(given)
    if not several:
        raise WordbiasError(f"{option}: no documents; give a file, or documents")
    documents: list[Document] = []
    notes: list[str] = []
    for source in several:
        if isinstance(source, Document):
            documents.append(source)
        else:
            place = located(os.fspath(source))
            bad = BadRows(place, current_config().skip_bad)
            documents += read_documents(place, bad)
            notes += left_out(bad)
    paths = [os.fspath(path) for path in several if not isinstance(path, Document)]
    return Corpus(", ".join(paths) or option.lstrip("-"), documents, notes)


@dataclass(frozen=True, eq=False)
class Clustered:
    """Documents with the clusters that a model found.

    Attributes
    ----------
    documents
        The documents, in their order.
    report
        How many mentions and clusters there are.
    """

    documents: Sequence[Document] = field(repr=False)
    report: Report = field(repr=False)


@public
@uses("device", "skip_bad")
def coref_predict(
    model: str | os.PathLike[str],
    documents: DocumentsLike,
    *,
    adapter: AdapterLike | None = None,
    setting: str | None = None,
    force: bool = False,
    output: str | os.PathLike[str] | None = None,
) -> Clustered:
    """Find the clusters of mentions in ``documents`` with a model of ``coref-train``.

    Files and folders are those that ``coref-train`` reads, or sentences that ``winobias`` writes.
    Clusters that stand in them are not read by the model. With ``adapter`` its ``setting`` is
    removed inside the encoder. ``wordbias project`` fits one on the folder of the model;
    ``coref-study`` keeps those that it measured.

    Parameters
    ----------
    model : path
        Folder that ``coref-train`` wrote.
    documents : path, or sequence of paths or Document
        Documents.
    adapter : path or Adapter, optional
        Adapter that wordbias project wrote.
    setting : str, optional
        With ``adapter``: its setting to remove.  [default: the one stored in the adapter]
    force : bool
        With ``adapter``: use it even if it was fitted on another model.
    output : path, optional
        File for the clusters: .conll for CoNLL-2012, .jsonl for JSON lines, whose spans count
        tokens.

    Returns
    -------
    Clustered
        With ``documents``, each a `Document` with its clusters, and ``report``.

    Raises
    ------
    WordbiasError
        If a file cannot be used, or the folder holds no coreference model.

    Examples
    --------
    >>> import wordbias as wb
    >>> found = wb.coref_predict("coref", "test.conll", output="found.conll")  # doctest: +SKIP
    >>> found.documents[0].clusters  # doctest: +SKIP
    (((0, 1), (3, 4)),)
    """
    need("torch", extra="contextual", purpose="Coreference")
    from wordbias.coreference.resolver import Coreference

    opened = open_adapter(adapter, setting or (), force=force)
    target = path_of(output)
    for source in [documents] if isinstance(documents, (str, os.PathLike)) else documents:
        check_outputs({"-o": target}, {"DOCUMENTS": path_of(source)})
    if target is not None:
        write = _writer(target)
    read = read_all("DOCUMENTS", documents)
    resolver = Coreference.load(located(os.fspath(model)), device=current_config().device)
    with ExitStack() as stack:
        if opened.adapter is not None:
            encoder = resolver.encoder.model
            opened.check(encoder)
            stack.enter_context(opened.adapter.on(encoder, opened.settings[0], force=True))
        predicted = resolver.predict(read.documents)
    closing = []
    if target is not None:
        with replacing(target) as raw, compressing(raw, target) as out:
            out.writelines(line.encode() for line in write(predicted))
        closing = [f"Written: {target}."]
    removed = f" with {opened.settings[0]} removed" if opened.adapter is not None else ""
    about = facts(predicted)
    clusters = sum(len(document.clusters) for document in predicted)
    columns = ("documents", "tokens", "mentions")
    cells = [[*(f"{about[key]:,}" for key in columns), f"{clusters:,}"]]
    report = Report(
        inputs={
            Path(resolver.name).name: {"path": resolver.name, "device": resolver.encoder.device},
            "documents": read.facts(),
        },
        tables=[Table("Clusters found", [*columns, "clusters"], cells)],
        heading=[f"Coreference in {read.path} by {resolver.name}{removed}."],
        closing=closing,
        notes=read.notes,
    )
    return Clustered(predicted, report)


def _writer(target: str) -> Callable[[Iterable[Document]], Iterator[str]]:
    """Return the function that makes lines of documents, by the name of the file."""
    name = without_packing(target.lower())
    for ending, lines in ((".conll", conll_lines), (".jsonl", json_lines)):
        if name.endswith(ending):
            return lines
    raise WordbiasError(f"{target}: expected a name that ends in .conll or .jsonl")
