"""What `wordbias winobias` was asked for: what is scored, what is written, what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordbias.formats.atomic import check_writable, compressing, refuse_same, replacing
from wordbias.outcomes.metrics import Settings
from wordbias.outcomes.shares import load_shares
from wordbias.outcomes.winobias.clusters import Found, Unit, load_clusters
from wordbias.outcomes.winobias.masked import COLUMNS, masked_rows, sentence_lines
from wordbias.outcomes.winobias.measuring import classification_rows, f1_rows
from wordbias.outcomes.winobias.sentences import Sentence, load_winobias
from wordbias.rendering import how_many
from wordbias.results import Row

SHARES = "occupational_female_precentage.json"  # as the file that comes with WinoBias is spelled


@dataclass(frozen=True)
class Asked:
    """What was asked for."""

    folder: str
    clusters: str | None
    spans: Unit
    inclusive: bool
    shares: str | None
    as_published: bool
    draws: int
    sentences: str | None
    masked: str | None
    mask: str
    seed: int

    def check(self) -> None:
        """Refuse early what would fail after the work."""
        outputs = {"--sentences": self.sentences, "--masked": self.masked}
        refuse_same(outputs, {"--clusters": self.clusters, "--shares": self.shares})
        for path in outputs.values():
            if path is not None:
                check_writable(path)

    @property
    def settings(self) -> Settings:
        """How to measure."""
        return Settings(self.as_published, draws=self.draws, seed=self.seed)

    def read(self) -> Sequence[Sentence]:
        """Read the sentences."""
        return load_winobias(self.folder)

    def found(self, read: Sequence[Sentence]) -> Found | None:
        """Read what a system found, if it is named."""
        if self.clusters is None:
            return None
        return load_clusters(self.clusters, read, unit=self.spans, inclusive=self.inclusive)

    def rows(self, read: Sequence[Sentence], found: Found) -> list[Row]:
        """Score it: coreference, and the professions as classes."""
        file = self.shares or self._usual_shares()
        return [
            *f1_rows(read, found.clusters, found.path, draws=self.draws, seed=self.seed),
            *classification_rows(
                read,
                found.clusters,
                found.path,
                self.settings,
                shares=None if file is None else load_shares(file),
                shares_from=file or "the sentences",
            ),
        ]

    def write(self, read: Sequence[Sentence]) -> list[str]:
        """Write the files that are asked for; say so."""
        said = []
        if self.sentences is not None:
            _write_text(self.sentences, "".join(sentence_lines(read)))
            said.append(f"Written: {self.sentences}; let a coreference system add its clusters.")
        if self.masked is not None:
            rows = [COLUMNS, *masked_rows(read, self.mask)]
            _write_text(self.masked, "".join("\t".join(row) + "\n" for row in rows))
            said.append(
                f"Written: {self.masked}, {len(rows) - 1:,} professions in sentences; go on with "
                "wordbias encode --span-columns start,end and wordbias probe --labels gender "
                "--groups profession."
            )
        return said

    def about(self, read: Sequence[Sentence], found: Found | None) -> dict[str, dict[str, Any]]:
        """Return what the report says of what was read."""
        about = {"sentences": {"path": self.folder, "sentences": len(read)}}
        if found is None:
            return about
        return about | {"clusters": {"path": found.path, "sha256": found.sha256}}

    def notes(self, found: Found | None) -> list[str]:
        """Say what of the clusters was of no use."""
        if found is None or not found.beside:
            return []
        beside = how_many(found.beside, "sentence is", "sentences are")
        return [f"{self.clusters}: {beside} not of {self.folder}"]

    def heading(self, read: Sequence[Sentence]) -> list[str]:
        """Say what is scored."""
        scored = f"; {self.clusters}." if self.clusters else "."
        return [f"WinoBias in {self.folder}: {how_many(len(read), 'sentence')}{scored}"]

    def _usual_shares(self) -> str | None:
        file = Path(self.folder) / SHARES
        return str(file) if file.is_file() else None


def _write_text(path: str, text: str) -> None:
    with replacing(path) as file, compressing(file, path) as stream:
        stream.write(text.encode())
