"""What `wordbias project` was asked for: what is fitted, from what, and where it goes."""

from __future__ import annotations

from dataclasses import dataclass

import click

from wordbias.contextual.adapters import Adapter
from wordbias.contextual.exporting import export
from wordbias.contextual.fitting import Recipe, fit_adapter
from wordbias.contextual.folding import Folded, fold
from wordbias.contextual.loading import Target, load_target
from wordbias.contextual.sent_debias import drawn_from, with_sent_debias
from wordbias.contextual.sentence_pairs import sentence_pairs
from wordbias.contextual.settings import SENT_DEBIAS, Settings
from wordbias.contextual.sites import sites
from wordbias.formats.atomic import check_new, check_writable, refuse_same


@dataclass(frozen=True)
class Asked:
    """What was asked for."""

    model: str
    output: str | None
    pairs: str | None
    wanted: str | None
    tokens: str
    dims: int
    one_sided: bool
    unit: bool
    text: str | None
    limit: int
    attribute_file: str | None
    head: str | None
    setting: str | None
    folder: str | None
    batch: int
    device: str | None
    seed: int

    def check(self) -> None:
        """Refuse early what says two things, and what would fail after the work."""
        if self.attribute_file is not None and self.text is None:
            raise click.UsageError("--attribute goes with --sent-debias")
        if (self.setting is None) != (self.folder is None):
            raise click.UsageError(
                "--setting and --export go together: what to fold in, and where to"
            )
        if self.setting == SENT_DEBIAS and self.text is None:
            raise click.UsageError("--setting sent-debias needs --sent-debias TEXT")
        if self.setting is not None and self.setting != SENT_DEBIAS and "@" not in self.setting:
            Settings.parse(self.setting)
        self._check_outputs()

    def target(self) -> Target:
        """Load the model."""
        return load_target(self.model, self.device, self.head)

    def fit(self, target: Target) -> Adapter:
        """Fit an adapter, and the baseline if a text is named."""
        adapter = fit_adapter(
            target.model,
            target.tokenizer,
            sentence_pairs(self.pairs),
            Recipe(self.tokens, self.one_sided, self.dims, self.seed, self.unit),
            wanted=target.sites() if self.wanted is None else sites(self.wanted),
            batch=self.batch,
            source=self.pairs or "built-in",
        )
        if self.text is None:
            return adapter
        drawn = drawn_from(self.text, self.attribute_file, limit=self.limit, seed=self.seed)
        return with_sent_debias(
            adapter, target.model, target.tokenizer, drawn, source=self.text, batch=self.batch
        )

    def written(self, target: Target, adapter: Adapter) -> Folded | None:
        """Write the adapter, and the model with a setting folded in, where these were named."""
        folded = None
        if self.setting is not None and self.folder is not None:
            folded = fold(target.model, adapter.interventions(self.setting))
            export(folded, target.tokenizer, self.folder, self.setting)
        if self.output is not None:
            adapter.save(self.output)
        return folded

    def _check_outputs(self) -> None:
        if self.folder is not None:
            check_new(self.folder)
        if self.output is not None:
            check_writable(self.output)
            read = {"--pairs": self.pairs, "--sent-debias": self.text}
            read |= {"--attribute": self.attribute_file}
            refuse_same({"-o": self.output, "--export": self.folder}, read)
