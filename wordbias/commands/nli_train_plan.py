"""What `wordbias nli-train` was asked for: what is read, trained, written and refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordbias.commands.training_options import BFLOAT16
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.formats.alone import alone
from wordbias.formats.atomic import check_writable, refuse_same
from wordbias.functions.inputs import Reading, open_subject
from wordbias.nli.recipes import RECIPES, Recipe
from wordbias.optional import need
from wordbias.resources import located
from wordbias.results import Row
from wordbias.workers import Workers

if TYPE_CHECKING:
    from wordbias.nli.runs import Data, Plan

_PURPOSE = "Training an NLI model"


@dataclass(frozen=True)
class Asked:
    """What was asked for."""

    embeddings: tuple[str, ...]
    train_file: str
    dev_file: str
    test_file: str | None
    output: str
    seeds: list[int]
    recipe: Recipe
    device: str | None
    precision: str
    jobs: int | None
    backend: str
    skip_bad: bool
    allow_pickle: bool
    cache: bool

    @classmethod
    def of(cls, *, recipe_name: str, no_intra: bool, **given: Any) -> Asked:
        """Tell the command's own options from those that change a setting of the recipe."""
        own = {key: given.pop(key) for key in cls.__dataclass_fields__ if key in given}
        recipe = RECIPES[recipe_name].with_changes(intra=False if no_intra else None, **given)
        return cls(**own, recipe=recipe)

    @property
    def names(self) -> list[str | None]:
        """The embeddings, each once; None is the sample."""
        return list(dict.fromkeys(self.embeddings or (None,)))

    @property
    def files(self) -> dict[str, str | None]:
        """Where the pairs of each set are."""
        return {"train": self.train_file, "dev": self.dev_file, "test": self.test_file}

    def check(self) -> None:
        """Refuse early what would fail after the work."""
        read = {f"EMBEDDING {name}": name for name in self.names}
        read |= {f"--{name}": file for name, file in self.files.items()}
        refuse_same({"-o": self.output}, read)
        self._outputs()
        need("torch", extra="torch", purpose=_PURPOSE)
        self._room("trainer").find_device(self.device)

    def data(self) -> Data:
        """Read the pairs."""
        data: Data = self._room("runs").Data.load(
            {name: located(file) for name, file in self.files.items()}
        )
        return data

    def plan(self, data: Data, inputs: dict[str, dict[str, Any]], quiet: bool) -> Plan:
        """Plan the models, and note in `inputs` what each embedding is."""
        runs = self._room("runs")
        folder, file = self._outputs()
        opened = self._opened(inputs, quiet)
        plan: Plan = runs.plan(opened, self.seeds, data, self.recipe, folder, half=self._half)
        return plan if file is None else runs.single(plan, file)

    def train(self, plan: Plan, data: Data) -> list[Row]:
        """Train what is not yet trained; return how accurate the models are."""
        with alone(self.output):
            self._room("trainer").train_all(
                plan.jobs,
                data.encoded["train"],
                data.encoded["dev"],
                self.recipe,
                device=self.device,
                half=self._half,
                workers=Workers(self.jobs, self.backend),
            )
        runs = self._room("runs")
        return [row for job in plan.jobs for row in runs.accuracy_rows(job, data)]

    def about(self, data: Data) -> dict[str, dict[str, Any]]:
        """Return what the report says of the pairs."""
        return {
            f"pairs: {name}": {
                "path": self.files[name],
                "pairs": len(pairs),
                "dropped": pairs.dropped,
                "sha256": pairs.sha256,
            }
            for name, pairs in data.pairs.items()
        }

    @property
    def _half(self) -> bool:
        return self.precision == BFLOAT16

    def _room(self, name: str) -> Any:
        return need(f"wordbias.nli.{name}", extra="torch", purpose=_PURPOSE)

    def _outputs(self) -> tuple[Path, Path | None]:
        """Return the folder of the models, and the file if there is but one to be named so."""
        path, count = Path(self.output), len(self.names) * len(self.seeds)
        if count == 1 and not path.is_dir():
            check_writable(path)
            return path.parent, path
        if path.exists() and not path.is_dir():
            raise WordbiasError(f"{path}: is a file; {count} models need a folder")
        check_writable(path / "model" if path.is_dir() else path)
        return path, None

    def _opened(self, inputs: dict[str, dict[str, Any]], quiet: bool) -> Iterator[Embedding]:
        """Open one embedding after the other, and note what each is."""
        reading = Reading(self.cache, self.skip_bad, self.allow_pickle)
        for name in self.names:
            subject = open_subject(name, reading, head=0, wanted=(), output=None, quiet=quiet)
            inputs[subject.embedding.name] = subject.info.to_dict()
            yield subject.embedding
