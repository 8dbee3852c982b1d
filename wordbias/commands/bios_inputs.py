"""What `wordbias bios` works on: biographies, an encoder, and how they are to be studied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordbias.biographies.biographies import Biographies
from wordbias.biographies.loading import Named, load_biographies
from wordbias.biographies.synthetic import synthetic
from wordbias.commands.training_options import BFLOAT16
from wordbias.errors import WordbiasError
from wordbias.formats.atomic import refuse_same
from wordbias.formats.folders import check_growing
from wordbias.optional import need
from wordbias.outcomes.shares import load_shares, shares_for
from wordbias.probes.in_context.sentences import find_sentences, read_sentences
from wordbias.resources import located
from wordbias.workers import Workers

_PURPOSE = "The occupation experiment"
_EXTRA = "contextual"


@dataclass(frozen=True)
class Options:
    """What was asked for; see the command."""

    data: str | None
    model: str | None
    strategies: list[str]
    seeds: list[int]
    frozen: bool
    output: str
    plot: str | None
    epochs: int | None
    rate: float | None
    batch: int | None
    retrain_epochs: int | None
    retrain_rate: float | None
    every: int | None
    max_tokens: int
    pooling: str
    precision: str
    device: str | None
    limit: int | None
    sentences: str | None
    column: str | None
    draws: int
    shares: str | None
    share_column: str | None
    balanced_probe: bool
    baselines: bool
    keep_models: bool
    as_published: bool
    skip_bad: bool
    text: str | None
    label: str | None
    gender: str | None
    female: str | None
    split: str | None
    name: str | None

    def check(self) -> None:
        """Refuse early what would fail after the work."""
        if self.model is None:
            raise WordbiasError(
                "which encoder? name its folder, or its name on the hub, with --model; none is "
                "fetched unasked (Orgad et al. 2022 take roberta-base)"
            )
        for option, given, needed in (
            ("--share-column", self.share_column, self.shares),
            ("--column", self.column, self.sentences),
        ):
            if given is not None and needed is None:
                what = "--shares" if option == "--share-column" else "--sentences"
                raise WordbiasError(f"{option} names a column of {what}; give that file too")
        if self.plot is not None:
            from wordbias.pages.plots import check_plot

            check_plot(self.plot)
        read = {"--data": self.data, "--sentences": self.sentences, "--shares": self.shares}
        refuse_same({"--plot": self.plot, "-o": self.output}, read)
        check_growing(self.output)

    def biographies(self) -> Biographies:
        """Read the biographies, or make up some; draw some of them if there is a limit."""
        columns = (self.text, self.label, self.gender, self.split, self.name, self.female)
        if self.data is None:
            if any(columns):
                raise WordbiasError(
                    "columns are of a file: give one with --data, or leave them out for synthetic "
                    "biographies"
                )
            found = synthetic()
        else:
            found = load_biographies(located(self.data), Named(*columns), skip_bad=self.skip_bad)
        if self.limit is None:
            return found
        plan = need("wordbias.biographies.plan", extra=_EXTRA, purpose=_PURPOSE)
        some: Biographies = plan.drawn(found, self.limit)
        return some

    def plan(self, bios: Biographies) -> Any:
        """Return the plan of the study."""
        plans = need("wordbias.biographies.plan", extra=_EXTRA, purpose=_PURPOSE)
        encoding = need("wordbias.biographies.encoding", extra=_EXTRA, purpose=_PURPOSE)
        recipe, retraining = self._recipes()
        half = self.precision == BFLOAT16
        made = plans.Plan(
            bios,
            self.model,
            Path(self.output),
            tuple(self.strategies),
            tuple(self.seeds),
            self.frozen,
            recipe,
            retraining,
            encoding.Reading(self.max_tokens, self.pooling, half, self.device),
            self.baselines,
            draws=self.draws,
            balanced_probe=self.balanced_probe,
            as_published=self.as_published,
            keep_models=self.keep_models,
            **self._shares(bios),
        )
        return made if self.sentences is None else self._with_sentences(made)

    def _recipes(self) -> tuple[Any, Any]:
        from wordbias.biographies.recipe import FROZEN, HEAD, WHOLE

        changes = {"epochs": self.epochs, "rate": self.rate, "batch": self.batch}
        again = {"epochs": self.retrain_epochs, "rate": self.retrain_rate}
        recipe = (FROZEN if self.frozen else WHOLE).with_changes(**changes, every=self.every)
        retraining = (FROZEN if self.frozen else HEAD).with_changes(**again)
        if self.as_published:
            return recipe.as_published(), retraining.as_published()
        return recipe, retraining

    def _shares(self, bios: Biographies) -> Mapping[str, Any]:
        if self.shares is None:
            return {}
        known = load_shares(self.shares, self.share_column)
        values, _ = shares_for(bios.classes, known, self.shares)
        shares = dict(zip(bios.classes, values.tolist(), strict=True))
        return {"shares": shares, "shares_from": self.shares}

    def _with_sentences(self, made: Any) -> Any:
        from dataclasses import replace

        texts = read_sentences(str(self.sentences), self.column)
        found = find_sentences(texts, made.words(), what=str(self.sentences))
        return replace(made, sentences=found, sentences_from=self.sentences)


def study(plan: Any, jobs: int | None, backend: str) -> Any:
    """Run the plan in so many processes; return the rows."""
    module = need("wordbias.biographies.study", extra=_EXTRA, purpose=_PURPOSE)
    return module.run(plan, Workers(jobs, backend))
