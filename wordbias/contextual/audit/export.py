"""A folder of a model with a projection of an audit, as a module, in its weights, or an adapter."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from wordbias.contextual.audit.projections import Fitted
from wordbias.errors import WordbiasError
from wordbias.formats.files import new_folder
from wordbias.methods.leace import Erasure
from wordbias.model_folder import CARD
from wordbias.models.adapters import Adapter
from wordbias.models.encoder import Encoder
from wordbias.models.fingerprint import Fingerprint
from wordbias.models.folding import NOTE, export, fold, reasons_against, reasons_text
from wordbias.models.loading import LoadedModel
from wordbias.models.model_like import ModelLike, in_folder
from wordbias.models.sentence_folder import modules_of, write_modules
from wordbias.models.sites import Site
from wordbias.resources.hub import ADAPTER_FILE
from wordbias.resources.models import hub_name, may_be_on_hub

_BEHIND_POOLING = 2
"""Number of modules before the projection: the transformer and its pooling."""


def check_exportable(encoder: Encoder) -> None:
    """Refuse a model whose folder has no place for a projection behind its pooling."""
    if encoder.sentence is None:
        raise WordbiasError(
            f"{encoder.name}: is no sentence-transformers model and no decoder, and an encoder has "
            "no place for a projection behind its pooling; write removals inside it with: "
            "wordbias project MODEL -o ADAPTER --setting=L12-110"
        )


def export_with_step(
    encoder: Encoder,
    source: ModelLike,
    fitted: Fitted,
    folder: str | os.PathLike[str],
    card: Callable[[Path, str | None], str],
) -> None:
    """Write a folder of a model with a projection behind its pooling, whole or not at all."""
    check_exportable(encoder)
    step, label = fitted.step, fitted.method.text
    if step is None or encoder.sentence is None:
        raise WordbiasError(
            f"{label}: acts inside the encoder; write it with: wordbias project MODEL "
            f"--setting={label} -o ADAPTER"
        )
    width = encoder.dim * len(encoder.sentence.pooling)
    with in_folder(source) as name, new_folder(folder) as part:
        write_modules(Path(name), part, modules_of((step,), width), _BEHIND_POOLING)
        note = {"method": label}
        if may_be_on_hub(encoder.name):
            note["model"] = encoder.name
        (part / NOTE).write_text(json.dumps(note, indent=2) + "\n", "utf-8")
        (part / CARD).write_text(card(part, hub_name(name)), "utf-8")


def export_decoder(
    model: LoadedModel, fitted: Fitted, site: Site, folder: str | os.PathLike[str]
) -> str:
    """Write a decoder's folder with a projection in its weights, else its adapter; say which."""
    steps, label = fitted.at(site), fitted.method.text
    wanted = [step.site for step in steps]
    reasons = reasons_against(
        model.model, wanted, [step.site for step in steps if isinstance(step.what, Erasure)]
    )
    if not any(reasons):
        folded = fold(model.model, steps)
        export(folded, model.tokenizer, os.fspath(folder), label, source=model.name)
        return f"{os.fspath(folder)}: written, with {label} in its weights"
    adapter = fitted.adapter
    if adapter is None:
        by_site = {step.site: step.step for step in steps}
        adapter = Adapter({}, Fingerprint.of(model.model), chosen=str(site), steps=by_site)
    about = {**adapter.facts, "source": "the sentences of wordbias audit", "audit": label}
    adapter = replace(adapter, facts=about, fingerprint=Fingerprint.of(model.model))
    with new_folder(folder) as part:
        adapter.save(part / ADAPTER_FILE)
    left = [
        (refused_site, reason)
        for refused_site, reason in zip(wanted, reasons, strict=True)
        if reason
    ]
    return (
        f"{os.fspath(folder)}: holds {ADAPTER_FILE}, not the model: {label} cannot be in its "
        f"weights ({reasons_text(left)}); apply it with: wordbias likelihood MODEL "
        f"--adapter={os.fspath(folder)}/{ADAPTER_FILE}"
    )
