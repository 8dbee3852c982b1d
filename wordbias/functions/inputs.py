"""Embeddings as arguments: a file, a fetched name, an object or the sample."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from wordbias.arguments import comma_separated
from wordbias.calls import current, note
from wordbias.calls import path_of as path_of  # noqa: PLC0414
from wordbias.configuration import current_config
from wordbias.data import sample_path
from wordbias.devices import blas_threads
from wordbias.embedding import (
    Embedding,
    EmbeddingLike,
    as_embedding,
    is_words_and_vectors,
    lazy,
    read_embedding,
)
from wordbias.errors import WordbiasError
from wordbias.formats import (
    NO_TOKENIZER,
    FileInfo,
    Kind,
    StaticModel,
    Tally,
    VectorFile,
    cached,
    check_output,
    is_row_format,
    is_streamed,
    load,
    output_format,
    save_changed,
    scan,
    stream,
)
from wordbias.formats.files import replacing
from wordbias.formats.source import as_text
from wordbias.formats.static_models import Change, check_static_output
from wordbias.formats.text import Block
from wordbias.formats.writing import BlockMap, refuse_archive
from wordbias.methods.fitted import LINEAR, Chain, Reach
from wordbias.methods.gender_preserving import remove_checkpoints
from wordbias.methods.transform import Identity, Transform, transformed, width_after
from wordbias.rendering import as_csv, how_many
from wordbias.reports import Report
from wordbias.resources import located
from wordbias.resources.hub import is_address, title

EmbeddingsLike = EmbeddingLike | Sequence[EmbeddingLike] | Mapping[str, EmbeddingLike] | None
"""One embedding or several, also as a mapping from their names in results; none is the sample."""
Facts = dict[str, Any]
RECORDS = ".csv"
"""Suffix of a table of records."""


@dataclass(frozen=True)
class ReadOptions:
    """Settings for reading a file."""

    cache: bool = True
    skip_bad: bool = False
    allow_pickle: bool = False


def reading() -> ReadOptions:
    """Return how `wordbias.config` says that files are read."""
    how = current_config()
    return ReadOptions(how.cache, how.skip_bad, how.allow_pickle)


@dataclass(frozen=True)
class Written:
    """A file or folder that a function wrote, usable as a path.

    Attributes
    ----------
    path
        Path of the file or folder.
    report
        Report of the function.
    files
        Files in the folder, in their order.
    """

    path: str
    report: Report = field(repr=False)
    files: tuple[str, ...] = ()

    def __fspath__(self) -> str:
        return self.path

    def __str__(self) -> str:
        return self.path


def check_records(path: object, option: str = "-o") -> None:
    """Refuse a name for a table of records that ends as that of another kind of file."""
    name = path_of(path)
    if name is not None and Path(name).suffix.lower() not in ("", RECORDS):
        raise WordbiasError(f"{option}: {name}: expected a name that ends in {RECORDS}")


def write_records(path: str | os.PathLike[str] | None, records: Sequence[Facts]) -> list[str]:
    """Write records as CSV, if a file is named; return the line that says so."""
    if path is None:
        return []
    with replacing(path) as file:
        file.write(as_csv(records).encode())
    return [f"Written: {os.fspath(path)}."]


@dataclass
class Subject:
    """The embedding of a command; if `file` is set, only the rows that the measures need."""

    embedding: Embedding
    info: FileInfo
    read_options: ReadOptions
    output: str | None = None
    kind: Kind = "glove"
    is_sample: bool = False
    file: VectorFile | None = None

    def description(self) -> str:
        """Name the source and its size."""
        info = self.info
        sample = "the sample of GloVe 6B 100d that comes with wordbias"
        source = sample if self.is_sample or info.path == str(sample_path()) else info.path
        size = f"{how_many(info.words, 'word')} × {info.dim} ({info.format})"
        others = info.parts + info.others
        return f"{source}: {size}" + (f", beside {how_many(others, 'other token')}" * (others > 0))

    def result(
        self, transform: Transform, report: Report, done: Embedding | None = None
    ) -> Embedding:
        """Return the embedding that a function made: loaded or computed on first use."""
        shape = self.info.words, width_after(transform, self.info.dim)
        name = f"{self.embedding.name}.{transform.name}" if done is None else done.name
        if self.output is not None and self.file is not None:
            make = partial(read_embedding, self.output, cache=self.read_options.cache)
            return lazy(make, name, shape, report)
        if self.output is not None and self.kind == "static-model":
            make = partial(read_embedding, self.output)
            return lazy(make, name, shape, report)
        if done is not None:
            return done.with_report(report)
        make = partial(transformed, self.embedding, transform)
        return lazy(make, name, shape, report)

    def output_line(self) -> str:
        """Return the line of a report that names the written file."""
        if self.output is None:
            return "Nothing written; -o FILE writes the result."
        return f"Written: {self.output} ({self.kind}){self.about_others()}"

    def about_others(self) -> str:
        """Say what becomes of the tokens of a static model that are not words; empty for others."""
        others = self.info.parts + self.info.others
        if not others:
            return ""
        if self.kind == "static-model":
            return f", with {how_many(others, 'other token')}"
        return f", words only, without {how_many(others, 'other token')}"

    def keep(self, words: Sequence[str]) -> None:
        """Drop the words that are no longer needed; a streamed file is read again for writing."""
        if self.file is not None:
            self.embedding = self.embedding.subset(words)

    def write(self, transform: Transform) -> None:
        """Write the transformed embedding, from file to file if it is not in memory."""
        if self.output is None:
            return
        if self.kind == "static-model":
            self._write_static(lambda _, rows: transform(rows), transform)
        elif self.file is None and self.kind == "safetensors":
            words, vectors = self.embedding.words, self.embedding.vectors
            dim = width_after(transform, self.embedding.dim)
            with blas_threads(1):
                save_changed(self.output, words, vectors, transform, dim)
        elif self.file is None:
            transformed(self.embedding, transform).save(self.output, self.kind)
        else:
            self._stream(lambda block: transform(block.rows), transform)

    def write_words(
        self, chain: Chain, done: Embedding, finish: Callable[[str], None] | None = None
    ) -> list[Reach]:
        """Write the words of a chain; return how many each of its methods reached."""
        # `finish` is called with the hash of the input when all that can fail has been done but for
        # this; if it fails, the output is not written. Then checkpoints of the fits are removed.
        finish = finish or (lambda sha256: None)
        if self.output is None or self.file is None:
            finish(self.info.sha256)
            if self.output is not None and self.kind == "static-model":
                self._write_static(chain.apply, chain)
            elif self.output is not None:
                done.save(self.output, self.kind)
            reached = chain.reach(self.embedding.words)
        else:
            reached = self._stream_words(chain, finish)
        remove_checkpoints(chain.parts)
        return reached

    def _write_static(self, change: Change, transform: Transform) -> None:
        """Write the folder of a static model like the one that was read, with all its tokens."""
        if self.output is None:
            return
        model = StaticModel.open(self.info.path)
        if model.sha256() != self.info.sha256:
            raise WordbiasError(
                f"{self.info.path}: has changed since it was read; read it again, with wb.load"
            )
        parts = transform.parts if isinstance(transform, Chain) else (transform,)
        steps = [step for part in parts for step in getattr(part, "steps", (part,))]
        kinds = {getattr(step, "kind", "") for step in steps}
        by_word = any(getattr(part, "by_word", False) for part in parts)
        copied = isinstance(transform, Identity)
        with blas_threads(1):
            notes = model.write(
                self.output,
                change,
                method="" if copied else transform.name,
                shared=copied or (not by_word and kinds <= LINEAR),
                keep_lengths="normalise" in kinds,
            )
        for line in notes:
            note(line)

    def _stream_words(self, chain: Chain, finish: Callable[[str], None]) -> list[Reach]:
        reached: list[list[Reach]] = []

        def work(block: Block) -> NDArray[np.float32]:
            words = [as_text(word) for word in block.words]
            reached.append(chain.reach(words))
            return chain.apply(words, block.rows)

        self._stream(work, chain, lambda tally: finish(tally.sha256))
        return [sum(parts, Reach(0, 0, 0)) for parts in zip(*reached, strict=True)]

    def _stream(
        self,
        work: BlockMap,
        transform: Transform,
        finish: Callable[[Tally], None] | None = None,
    ) -> None:
        if self.file is None or self.output is None or not is_streamed(self.kind):
            raise WordbiasError(f"{self.kind} files are not written row by row")
        with blas_threads(1):
            tally = stream(
                self.file,
                self.output,
                work,
                to=self.kind,
                rows=self.info.words,
                dim=width_after(transform, self.info.dim),
                skip_bad=self.read_options.skip_bad,
                finish=finish,
            )
        self.info = replace(  # known after the second pass
            self.info,
            sha256=tally.sha256,
            words=tally.rows - tally.duplicates,
            duplicates=tally.duplicates,
        )
        if tally.duplicates:
            _note_dropped(replace(self.info, skipped=0))


class NamedPath(str):
    """A path, or the name of fetched vectors, with the name for results."""

    def __new__(cls, path: str, name: str) -> NamedPath:
        """Make a path with a name."""
        named_path = super().__new__(cls, path)
        named_path.name = name
        return named_path

    name: str


def open_subject(
    source: EmbeddingLike | None,
    read_options: ReadOptions,
    *,
    head: int = 0,
    wanted: Collection[str] = (),
    output: str | None = None,
    kind: Kind | None = None,
    whole: bool = False,
    unchanged: bool = False,
) -> Subject:
    """Open the embedding that a function works on."""
    # With an output in a row format a file is streamed: this first pass picks the first `head`
    # words and the `wanted` ones, and neither reads nor fills the cache. If the vectors stay
    # `unchanged`, safetensors is streamed too, unless the cache has the file.
    if source is not None and not isinstance(source, (str, os.PathLike)):
        return _open_in_memory(as_embedding(source), read_options, output, kind)
    name = path_of(source)
    place = located(name)
    file = VectorFile.open(place or sample_path())
    # the format of the sample says nothing about the format that a user wants to write
    to = kind or output_format(output or "", None if name is None else file.layout.kind)
    if output is not None:
        _check_output(output, to, file.source.name if file.layout.kind == "static-model" else "")
        refuse_archive(file.source, output)
    known = None
    streamed = not whole and output is not None and file.layout.is_rows and is_row_format(to)
    if unchanged and file.layout.is_rows and to == "safetensors":
        known = cached(file, read_options.skip_bad) if read_options.cache else None
        streamed = known is None
    if known is not None:
        loaded = known
    elif streamed:
        loaded = scan(file, head=head, wanted=wanted, skip_bad=read_options.skip_bad)
    else:
        loaded = load(file.source.name, **vars(read_options))
    _note_dropped(loaded.info)
    name_in_results = loaded.name
    if isinstance(source, NamedPath):
        name_in_results = source.name
    elif name is not None and is_address(name) and place is not None and os.path.isdir(place):
        name_in_results = title(name)  # the cache calls a folder by its commit
    return Subject(
        Embedding(loaded.words, loaded.vectors, name_in_results, loaded.info),
        loaded.info,
        read_options,
        output,
        to,
        name is None,
        file if streamed else None,
    )


def _open_in_memory(
    embedding: Embedding, read_options: ReadOptions, output: str | None, kind: Kind | None
) -> Subject:
    """Open an embedding that is in memory."""
    n, d = len(embedding), embedding.dim  # one that is loaded now has its file's facts after that
    info = embedding.info or FileInfo(embedding.name, "memory", "", n, d)
    whole = info.format == "static-model" and info.words == n
    to = kind or output_format(output or "", "static-model" if whole else None)
    if output is not None:
        _check_output(output, to, info.path if whole else "")
    return Subject(embedding, info, read_options, output, to)


def _check_output(output: str, kind: Kind, folder: str) -> None:
    """Raise an error now for an output that cannot be written; `folder` is a static model's."""
    check_output(output, kind)
    if kind == "static-model":
        if not folder:
            raise WordbiasError(f"{output}: {NO_TOKENIZER}")
        check_static_output(Path(folder), output)


def open_subjects(
    sources: EmbeddingsLike, read_options: ReadOptions, *, wanted: Collection[str] = ()
) -> list[Subject]:
    """Open one embedding or several, each once; none is the sample."""
    return [open_subject(source, read_options, wanted=wanted) for source in each_once(sources)]


def each_once(sources: EmbeddingsLike) -> list[EmbeddingLike | None]:
    """Return one embedding or several as a list, each once; None is the sample."""
    distinct: list[EmbeddingLike | None] = []
    for source in as_list(sources):
        if not any(source is earlier or _equal_paths(source, earlier) for earlier in distinct):
            distinct.append(source)
    return distinct


def as_list(sources: EmbeddingsLike) -> list[EmbeddingLike | None]:
    """Return one embedding or several as a list; None is the sample."""
    if isinstance(sources, (list, tuple)) and not is_words_and_vectors(sources):
        if not sources and current().command and current().note is None:
            raise WordbiasError(
                "no embedding or vectors in the list; leave it out to take the sample"
            )
        return list(sources) or [None]
    if sources is None:
        return [None]
    if isinstance(sources, Mapping) and _holds_embeddings(sources):
        return [
            as_embedding(source).renamed(name)
            if (path := path_of(source)) is None
            else NamedPath(path, name)
            for name, source in sources.items()
        ]
    return [cast("EmbeddingLike", sources)]


def _holds_embeddings(given: Mapping[str, Any]) -> TypeGuard[Mapping[str, EmbeddingLike]]:
    """Return whether a mapping has embeddings by name, rather than vectors by word."""
    kinds = (str, os.PathLike, Embedding)
    return bool(given) and all(
        isinstance(embedding, kinds) or hasattr(getattr(embedding, "wv", embedding), "index_to_key")
        for embedding in given.values()
    )


def names_of(given: str | Sequence[str] | None) -> list[str]:
    """Return names, each once, that are listed or separated by commas."""
    several = comma_separated(given) if isinstance(given, str) else given or ()
    return list(dict.fromkeys(name.strip() for name in several if name.strip()))


def _equal_paths(a: object, b: object) -> bool:
    path, other = path_of(a), path_of(b)
    return path is not None and other is not None and Path(path) == Path(other)


def input_facts(subjects: Sequence[Subject], original: Subject | None = None) -> dict[str, Facts]:
    """Return the inputs of a report by name, each with its source and size."""
    facts = {subject.embedding.name: subject.info.to_dict() for subject in subjects}
    if original is not None:
        facts[f"original: {original.embedding.name}"] = original.info.to_dict()
    return facts


def by_name(subjects: Sequence[Subject]) -> dict[str, Subject]:
    """Return subjects by their names in results: a path, or a number, if two share a name."""
    names = [subject.embedding.name for subject in subjects]
    named: dict[str, Subject] = {}
    for name, subject in zip(names, subjects, strict=True):
        named[unused(name if names.count(name) == 1 else str(subject.info.path), named)] = subject
    return named


def unused(name: str, known: Collection[str]) -> str:
    """Return a name, with a number after it if it is known already."""
    others = (f"{name} ({i})" for i in count(2))
    return (
        name
        if name not in known
        else next(candidate for candidate in others if candidate not in known)
    )


def distinctly_named(subjects: Sequence[Subject]) -> list[Subject]:
    """Return the subjects, with embeddings named as in `by_name`."""
    return [
        replace(subject, embedding=subject.embedding.renamed(name))
        for name, subject in by_name(subjects).items()
    ]


def _note_dropped(info: FileInfo) -> None:
    if info.format == "static-model":
        note(
            f"{info.path}: a static model: {how_many(info.words, 'word')}; kept apart from them: "
            f"{how_many(info.parts, 'part')} of words and {how_many(info.others, 'other token')}",
            reported=True,
        )
    if info.duplicates:
        twice = how_many(info.duplicates, "duplicated word")
        note(f"{info.path}: {twice}, the first of each kept")
    if info.skipped:
        note(f"{how_many(info.skipped, 'row')} dropped, the first: {info.first_problem}")
