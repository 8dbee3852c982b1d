"""What `wordbias project` was asked for: what is fitted, from what, and where it goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

from wordbias.contextual.adapters import Adapter, depth, sites_of
from wordbias.contextual.exporting import export, nothing_folded
from wordbias.contextual.families import layer_count
from wordbias.contextual.fitting import Recipe, fit_adapter
from wordbias.contextual.folding import Folded, fold, reasons_against
from wordbias.contextual.loading import Target, load_target
from wordbias.contextual.sent_debias import drawn_from, with_sent_debias
from wordbias.contextual.sentence_pairs import sentence_pairs
from wordbias.contextual.settings import SENT_DEBIAS, Settings
from wordbias.contextual.sites import Site, sites
from wordbias.errors import WordbiasError
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

    def check_folding(self, target: Target) -> list[str]:
        """Refuse, before anything is fitted, what cannot be folded; return what to say of a part.

        Raises
        ------
        WordbiasError
            If nothing of the setting can be folded, or it needs a site that is not to be fitted.
        """
        if self.setting is None or self.folder is None:
            return []
        wanted = sites_of(self.setting, layer_count(target.model))
        reasons = reasons_against(target.model, wanted)
        if self.setting != SENT_DEBIAS:
            self._check_fitted(target, wanted)
        left = [(site, why) for site, why in zip(wanted, reasons, strict=True) if why]
        if len(left) == len(wanted):
            raise nothing_folded(self.folder, self.setting, left)
        return [f"{self.folder}: {site} will not be in its weights: {why}" for site, why in left]

    def _check_fitted(self, target: Target, wanted: Sequence[Site]) -> None:
        asked = target.sites() if self.wanted is None else sites(self.wanted)
        fitted = {site.within(target.model) for site in asked}
        for site in wanted:
            if site not in fitted:
                raise WordbiasError(
                    f"setting {self.setting}: needs the site {site}, which is not among those to "
                    f"fit: {', '.join(map(str, sorted(fitted, key=depth)))}; name it with --sites"
                )

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
        if self.output is not None:  # first: whatever becomes of the folder, the work is kept
            adapter.save(self.output)
        if self.setting is None or self.folder is None:
            return None
        try:
            folded = fold(target.model, adapter.interventions(self.setting))
            export(folded, target.tokenizer, self.folder, self.setting, source=target.name)
        except WordbiasError as error:
            kept = f" (the adapter is written: {self.output})" if self.output is not None else ""
            raise WordbiasError(f"{error}{kept}") from None
        return folded

    def _check_outputs(self) -> None:
        if self.folder is not None:
            check_new(self.folder)
        if self.output is not None:
            check_writable(self.output)
            read = {"--pairs": self.pairs, "--sent-debias": self.text}
            read |= {"--attribute": self.attribute_file}
            refuse_same({"-o": self.output, "--export": self.folder}, read)
