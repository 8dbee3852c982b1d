"""What `wordbias stereoset` was asked for: what is read, judged, written and refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wordbias.commands.encoder_options import check_adapter
from wordbias.contextual.stereoset.data import Data, load_data
from wordbias.contextual.stereoset.gsss import Gsss
from wordbias.contextual.stereoset.original import StereoSet
from wordbias.contextual.stereoset.repair import Repaired
from wordbias.contextual.stereoset.repair import repair as repair_swaps
from wordbias.contextual.stereoset.scores import extremes
from wordbias.contextual.stereoset.settings import Settings
from wordbias.errors import WordbiasError
from wordbias.formats.atomic import check_writable, refuse_same, replacing
from wordbias.optional import need
from wordbias.rendering import as_csv
from wordbias.resources import located
from wordbias.results import Row

if TYPE_CHECKING:
    from wordbias.contextual.stereoset.judging import Judge

_PURPOSE = "Measuring an encoder"


@dataclass
class Judged:
    """What was found, run by run: measures, a record a triple or pair, and what went missing."""

    rows: list[Row] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Asked:
    """What was asked for."""

    model: str
    file: str
    adapter: str | None
    settings_named: tuple[str, ...]
    force: bool
    share: float
    rounding: Any
    absolute: bool
    repair: bool
    as_published: bool
    next_label: str | None
    device: str | None
    output: str | None
    seed: int

    def check(self) -> None:
        """Refuse early what would fail after the work."""
        check_adapter(self.adapter, self.settings_named)
        if self.output is not None:
            check_writable(self.output)
            refuse_same({"-o": self.output}, {"--data": self.file, "--adapter": self.adapter})

    @property
    def settings(self) -> Settings:
        """How scores become measures."""
        return Settings(self.share, self.rounding, self.absolute, self.as_published, self.seed)

    def data(self) -> Data:
        """Read the data, and see that there are triples to be the most extreme."""
        data = load_data(located(self.file), as_published=self.as_published)
        if isinstance(data, Gsss):
            extremes(len(data.triples), self.share, self.rounding)
        return data

    def repaired(self, data: Data) -> Repaired | None:
        """Repair the swaps, if that was asked for and there are some."""
        return repair_swaps(data) if self.repair and isinstance(data, Gsss) else None

    def judge(self, data: Data) -> Judge:
        """Load the model with the heads that the data asks for."""
        room = need("wordbias.contextual.stereoset.judging", extra="contextual", purpose=_PURPOSE)
        judge: Judge = room.Judge.load(
            self.model, data, next_label=self.next_label, device=self.device
        )
        return judge

    def judged(self, judge: Judge, data: Data, repaired: Repaired | None) -> Judged:
        """Measure the model as it is, and with each setting of an adapter."""
        done = Judged()
        before: list[dict[str, Any]] = []
        for one in self._runs(judge):
            reached = judge.reached(one.interventions)
            with reached.intervened(one.interventions):
                found = reached.judge(data, one.subject, self.settings, repaired)
            if one.setting and all(record in before for record in found.records):
                raise _unchanged(judge, one.setting)
            before = before or found.records
            done.rows += found.rows
            done.records += [{"model": one.subject, **record} for record in found.records]
            done.notes += [f"{one.setting}: {reason}" for reason in reached.missing]
        return done

    def write(self, records: Sequence[dict[str, Any]]) -> list[str]:
        """Write the records if a file is named; say so."""
        if self.output is None:
            return []
        with replacing(self.output) as stream:
            stream.write(as_csv(records).encode())
        return [f"Written: {self.output}."]

    def about(self, judge: Judge, data: Data) -> dict[str, dict[str, Any]]:
        """Return what the report says of the model and of the data."""
        heads = [one for one in (judge.following, judge.masked) if one is not None]
        about: dict[str, Any] = {
            "path": judge.name,
            "heads": [type(one.model).__name__ for one in heads],
            "device": heads[0].device,
        }
        if judge.following is not None:
            about["is next"] = judge.following.place
        if self.adapter:
            about["adapter"] = self.adapter
        read: dict[str, Any] = {"path": data.path, "sha256": data.sha256}
        if isinstance(data, StereoSet) and judge.masked is not None and data.several_blanks:
            read["taken as published" if self.as_published else "left out"] = data.several_blanks
        return {"model": about, "data": read}

    def _runs(self, judge: Judge) -> list[_Run]:
        runs = [_Run(judge.name)]
        if self.adapter is None:
            return runs
        adapters = need("wordbias.contextual.adapter_files", extra="contextual", purpose=_PURPOSE)
        head = judge.following or judge.masked
        if head is None:
            raise WordbiasError(f"{judge.name}: was loaded without a head")
        fitted = adapters.load_adapter(head.model, self.adapter, force=self.force)
        return runs + [
            _Run(f"{judge.name} {name}", name, fitted.interventions(name))
            for name in dict.fromkeys(self.settings_named)
        ]


def _unchanged(judge: Judge, setting: str) -> WordbiasError:
    return WordbiasError(
        f"{judge.name}: the setting {setting} changes no score, for nothing that is scored reads "
        "what it changes (a masked word is not read off the last layer's CLS token); settings that "
        "would: sites such as tokens@L, attention@L and, below the last layer, cls@L"
    )


@dataclass(frozen=True)
class _Run:
    subject: str
    setting: str = ""
    interventions: Sequence[Any] = ()
