"""An embedding argument: a file or the sample, in memory or streamed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from wordbias.commands.options import note
from wordbias.data import sample_path
from wordbias.debias.transform import Transform, transformed
from wordbias.embedding import Embedding
from wordbias.formats import (
    ROW_FORMATS,
    FileInfo,
    Kind,
    VectorFile,
    output_format,
    scan,
    stream,
)
from wordbias.formats.atomic import check_writable
from wordbias.threads import blas_threads


@dataclass(frozen=True)
class Reading:
    """How a file is to be read."""

    cache: bool = True
    skip_bad: bool = False
    allow_pickle: bool = False


@dataclass
class Subject:
    """The embedding of a command; if `file` is set, only the rows that the measures need."""

    embedding: Embedding
    info: FileInfo
    reading: Reading
    is_sample: bool = False
    file: VectorFile | None = None

    def write(self, output: str, transform: Transform, kind: Kind | None = None) -> None:
        """Write the transformed embedding, from file to file if it is not in memory."""
        kind = kind or output_format(output, self.info.format)
        if self.file is None:
            transformed(self.embedding, transform).save(output, kind)
            return
        with blas_threads(1):
            tally = stream(
                self.file,
                output,
                transform,
                to=kind,
                rows=self.info.words,
                skip_bad=self.reading.skip_bad,
            )
        self.info = replace(self.info, sha256=tally.sha256)  # known after the second pass


def open_subject(
    name: str | None,
    reading: Reading,
    *,
    head: int,
    wanted: Collection[str],
    output: str | None,
    quiet: bool,
    kind: Kind | None = None,
) -> Subject:
    """Open what a command works on.

    With an output in a row format the file is streamed: this first pass picks the first `head`
    words and the `wanted` ones, and neither reads nor fills the cache.
    """
    if output is not None:
        check_writable(output)
    if name is None:
        sample = Embedding.sample()
        return Subject(sample, _known(sample), reading, is_sample=True)
    file = VectorFile.open(name)
    if output is not None and _streams(file, kind or output_format(output, file.layout.kind)):
        loaded = scan(file, head=head, wanted=wanted, skip_bad=reading.skip_bad)
        embedding = Embedding(loaded.words, loaded.vectors, loaded.name, loaded.info)
        subject = Subject(embedding, loaded.info, reading, file=file)
    else:
        embedding = Embedding.load(name, **vars(reading))
        subject = Subject(embedding, _known(embedding), reading)
    _tell(subject.info, quiet)
    return subject


def input_facts(info: FileInfo) -> dict[str, Any]:
    """What a report says about an input file."""
    return info.to_dict()


def _streams(file: VectorFile, to: Kind) -> bool:
    return file.layout.is_rows and to in ROW_FORMATS


def _known(embedding: Embedding) -> FileInfo:
    shape = (len(embedding), embedding.dim)
    return embedding.info or FileInfo("(memory)", "memory", "", *shape)


def _tell(info: FileInfo, quiet: bool) -> None:
    if info.duplicates:
        note(f"{info.path}: {info.duplicates} duplicated words, the first of each kept", quiet)
    if info.skipped:
        note(f"{info.skipped} rows dropped, the first: {info.first_problem}", quiet)
