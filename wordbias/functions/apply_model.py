"""An adapter applied to its model: a folder of the model with the removal inside."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wordbias import cells
from wordbias.arguments import check_choice
from wordbias.contextual.embedding_site import embedding_effect, sentence_vectors
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats.files import check_new, new_folder
from wordbias.functions.adapters import about_adapter
from wordbias.functions.inputs import Written, path_of
from wordbias.measures.registry import short_title
from wordbias.model_folder import CARD
from wordbias.models.adapter_tables import adapter_rows, adapter_tables
from wordbias.models.adapters import Adapter, part_of_sequence, read_adapter
from wordbias.models.folding import Folded, by_reason, export, fold
from wordbias.models.model_like import ModelLike, held_by, in_folder
from wordbias.models.sentence_folder import (
    OLDEST,
    ORIGINAL_CARD,
    SentenceVectors,
    modules_of,
    write_modules,
)
from wordbias.models.sentence_transformers import is_sentence_transformer
from wordbias.models.sites import EMBEDDING, written
from wordbias.models.targets import HEADS, Target, load_target
from wordbias.pages.model_card import card_header, model_card
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.resources.models import hub_name
from wordbias.results import Row


def apply_to_model(
    given: str | Adapter,
    model: ModelLike,
    *,
    output: str | None,
    setting: str | None,
    head: str | None,
    device: str | None,
    force: bool,
) -> Written:
    """Write the folder of a model with a setting folded into its weights, or with a module."""
    # `setting` is by default that of the adapter; without one that of a sentence model's output.
    check_choice("--head", head, list(HEADS))
    if output is None:
        raise UsageError(
            "an adapter is applied to a model in a new folder; name that with -o, or fold it into "
            "a copy in memory: adapter.fold(model)"
        )
    check_new(output)
    adapter = given if isinstance(given, Adapter) else read_adapter(given)
    target = load_target(model, device, head)
    adapter.check(target.model, force=force, name=path_of(given) or "adapter")
    vectors = sentence_vectors(model, target.model)
    adapter = _with_setting(adapter, setting, vectors)
    subject = Path(target.name).name
    behind = [
        intervention for intervention in adapter.interventions() if intervention.site == EMBEDDING
    ]
    inputs = {subject: {"path": target.name, **adapter.fingerprint.to_dict()}}
    inputs["adapter"] = about_adapter(given if isinstance(given, str) else None, adapter)
    rows: list[Row] = []
    if behind and vectors is not None:
        rows = _with_module(model, target.name, vectors, adapter, output)
        closing = [
            f"Written: {output}, with a further module; sentence-transformers loads it from "
            f"version {OLDEST} on"
        ]
        weights = str(adapter.chosen)
    else:
        folded = _folded(target, model, adapter, output)
        weights = written(intervention.site for intervention in folded.folded)
        closing = [f"Written: {output}, with {weights} in its weights"]
        left = by_reason((intervention.site, reason) for intervention, reason in folded.left)
        closing += [f"Not folded, {written(sites)}: {why}." for why, sites in left.items()]
    remark = part_of_sequence(adapter, weights.replace(", ", ","))
    report = Report(
        inputs=inputs,
        rows=rows,
        tables=[_effect_table(rows)] if rows else [],
        heading=[f"Setting {adapter.chosen} applied to {target.name}"],
        closing=closing,
        notes=[f"{output}: {remark}"] if remark else [],
    )
    return Written(output, report)


def _with_setting(
    adapter: Adapter, setting: str | None, vectors: SentenceVectors | None
) -> Adapter:
    """Return the adapter with the setting to apply, which must be in one place of a folder."""
    if setting is None and adapter.chosen is None:
        if vectors is None or EMBEDDING not in adapter.subspaces:
            raise UsageError(
                "the adapter has no setting that it removes by default; name one with --setting"
            )
        setting = EMBEDDING.kind
    chosen = adapter if setting is None else adapter.setting(setting)
    places = [intervention.site for intervention in chosen.interventions()]
    if EMBEDDING in places and len(places) > 1:
        raise WordbiasError(
            f"setting {chosen.chosen}: embedding is removed by a module of the folder, other sites "
            "in its weights; write them one after the other"
        )
    return chosen


def _folded(target: Target, model: ModelLike, adapter: Adapter, output: str) -> Folded:
    """Write the folder of the model with the setting folded in."""
    folded = fold(target.model, adapter.interventions())
    whole = None
    if is_sentence_transformer(model):  # its modules need not be in a folder
        whole = copy.deepcopy(model, {id(held_by(model)): folded.model})
    setting = str(adapter.chosen)
    export(folded, target.tokenizer, output, setting, source=target.name, whole=whole)
    return folded


def _with_module(
    model: ModelLike,
    name: str,
    vectors: SentenceVectors,
    adapter: Adapter,
    output: str,
) -> list[Row]:
    """Write a folder with a module that removes the subspace, and return what that did."""
    (intervention,) = adapter.interventions()
    effect = embedding_effect(Path(name).name, vectors, intervention.step, adapter.facts["seed"])
    fitted = adapter_rows(adapter, Path(name).name) if "sites" in adapter.facts else []
    tables = adapter_tables(fitted, Path(name).name) if fitted else []
    card_tables = [*tables, _effect_table(effect)]
    with new_folder(output) as folder, in_folder(model) as source:
        write_modules(Path(source), folder, modules_of((intervention.step,), vectors.width))
        base = hub_name(source)
        header = card_header(folder / ORIGINAL_CARD)
        card = _card(output, base, Path(name).name, header, vectors, adapter, card_tables)
        (folder / CARD).write_text(card, "utf-8")
    return effect


def _effect_table(rows: Sequence[Row]) -> Table:
    """Return a table of the measures of a sentence model's output, before and after."""
    columns = values("before", stage="before") + values("after", "95 %", stage="after")
    note = (
        "Occupations between sentences about she and he; similarities and nearest sentences that "
        "unrelated sentences kept."
    )
    columns += values(("neutral", cells.neutral))
    return pivot("Vectors that the model outputs", rows, _titled, columns, note)


def _titled(row: Row) -> str:
    return short_title(row.measure)


def _card(
    output: str,
    base: str | None,
    original: str,
    header: dict[str, Any],
    vectors: SentenceVectors,
    adapter: Adapter,
    tables: Sequence[Table],
) -> str:
    """Return the card of a folder with a further module."""
    about = adapter.facts.get("sites", {}).get(str(EMBEDDING), adapter.facts)
    where = "before the last Normalize" if vectors.last.steps else "after all other modules"
    return model_card(
        Path(output).resolve().name,
        base=base,
        original=base or original,
        header=header,
        summary=[
            f"{base or original} without the direction in which its vectors of paired sentences, "
            "such as about a woman and about a man, differ most."
        ],
        oldest=OLDEST,
        fitted=[
            f"Removed: the first component of the differences, by a Dense module {where}.",
            f"Fitted on {how_many(about['pairs'], 'pair')} of sentences ({adapter.facts['source']})"
            ".",
            f"SHA-256 of the original's weights: {vectors.encoder.sha256()}.",
        ],
        tables=tables,
        limits=[
            "One direction is removed. Classifiers may still read gender from the others.",
            "The sentences are made from templates in one language; shares of women in occupations "
            "are those of one country in one year.",
        ],
    )
