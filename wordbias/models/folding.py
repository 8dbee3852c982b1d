"""Interventions folded into the weights of a model, and the model folder with such weights.

A removal is an affine map ``x ↦ Ax + c``; that of a subspace is linear, ``A = I − Σ a_i g_i g_iᵀ``.
Behind a linear layer it gives ``A(Wx + b) + c = (AW)x + (Ab + c)``, before one
``W(Ax + c) + b = (WA)x + (Wc + b)``.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordbias.errors import WordbiasError, need
from wordbias.formats.files import new_folder
from wordbias.model_folder import copy_files
from wordbias.models.families import (
    FIRST,
    LATE,
    OUTPUTS,
    PARTS,
    base_of,
    family_of,
    head_of,
    is_decoder,
    language_head_of,
    layer_count,
    read_by_head,
    width,
)
from wordbias.models.hooks import Intervention, check_plain
from wordbias.models.model_like import need_transformers, silent
from wordbias.models.peft import merged
from wordbias.models.sentence_transformers import module_files
from wordbias.models.sites import (
    Site,
    calls_of,
    linear_by_rows,
    locate,
    locate_layer,
    read_site,
    written,
)
from wordbias.resources.models import known_folder, may_be_on_hub

PURPOSE = "folding an intervention into weights"
NOTE = "wordbias.json"
"""File in an exported folder with the interventions that were folded."""
_BLOCK = 4096
"""Rows of a weight that are in float64 at a time."""


@dataclass(frozen=True, eq=False)
class Folded:
    """A model with interventions in its weights."""

    # a copy of the original model, with its adapters of PEFT, such as LoRA, merged. If a table of
    # embeddings or the language-modelling head is changed, they are no longer tied.
    model: Any = field(repr=False)
    # the interventions in its weights; its logits are those with hooks. (The hidden states that it
    # returns are not changed at `cls` and behind the final norm of a decoder, only what its head
    # reads of them.)
    folded: tuple[Intervention, ...]
    # the interventions that cannot be folded, with the reason for each
    left: tuple[tuple[Intervention, str], ...]


def fold(model: Any, interventions: Iterable[Intervention]) -> Folded:
    """Fold interventions into a copy of a model, as far as that is possible."""
    check_plain(model, "fold")
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    wanted = list(interventions)
    at: dict[Site, list[Intervention]] = {}  # those at one site make one map, in their order
    for it in wanted:
        at.setdefault(it.within(model).site, []).append(it)
    with torch.no_grad():
        adds = [site for site, steps in at.items() if _constant(model, site, steps).any()]
        order = [it.within(model).site for it in wanted]
        reasons = reasons_against(model, order, adds)
        copied = merged(model)
        folded = [site for site, reason in zip(order, reasons, strict=True) if not reason]
        for site in reversed(dict.fromkeys(folded)):  # two may go into one map, the later one first
            _fold_one(copied, site, at[site])
    done = [it for it, reason in zip(wanted, reasons, strict=True) if not reason]
    left = [(it, reason) for it, reason in zip(wanted, reasons, strict=True) if reason]
    return Folded(copied, tuple(done), tuple(left))


def _constant(model: Any, site: Site, steps: Sequence[Intervention]) -> Any:
    """Return the vector `c` of the interventions at a site, in float64."""
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    constant = torch.zeros(1, locate(model, site).width, dtype=torch.float64)
    for it in steps:
        constant = it.removal()(constant)
    return constant[0]


def _fold_one(model: Any, site: Site, steps: Sequence[Intervention]) -> None:
    """Fold the interventions at a site into the weights of a model that belongs to the caller."""
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    constant = _constant(model, site, steps)
    images = torch.eye(len(constant), dtype=torch.float64)
    for it in steps:
        images = it.removal()(images)
    matrix = (images - constant).T
    if is_decoder(model) and site.kind in ("input", "tokens"):
        _untie(model)
    if site.kind == "input":
        _fold_embeddings(model, matrix, constant)
        return
    linear = _linear_of(model, site)
    weight, bias = linear.weight.detach().clone(), getattr(linear, "bias", None)
    rows = weight if linear_by_rows(linear) else weight.mT
    if site.kind in (*PARTS, *OUTPUTS):
        values = locate(model, site).values if site.kind in PARTS else slice(None)
        rows[values] = _times(rows[values].mT, matrix.T).mT
        if bias is not None:
            changed = bias.detach().clone()
            changed[values] = _times(bias[values][None], matrix.T, constant)[0]
    else:
        if bias is not None:
            changed = bias + _times(rows, constant[:, None])[:, 0]
        rows[:] = _times(rows, matrix)
    linear.weight.data = weight
    if bias is not None:
        bias.data = changed


def _fold_embeddings(model: Any, matrix: Any, constant: Any) -> None:
    """Fold a map of the sum of the embeddings: the constant goes into the last table."""
    family = family_of(model)
    tables = [base_of(model).get_submodule(path) for path in family.embeddings]
    for table in tables:
        weight = table.weight.detach()
        # the scale is rounded to the type of the weights, as transformers does
        scale = float(weight.new_tensor(width(model) ** 0.5)) if family.scaled else 1.0
        added = constant / scale if table is tables[-1] else 0
        table.weight.data = _times(weight, matrix.T, added)


def _untie(model: Any) -> None:
    """Give the language-modelling head weights of its own, if it has those of the embeddings."""
    head = model.get_output_embeddings()
    if head is not None:
        if head.weight is model.get_input_embeddings().weight:
            head.weight = copy.deepcopy(head.weight)
        model.config.tie_word_embeddings = False


def _times(rows: Any, matrix: Any, added: Any = 0) -> Any:
    """Return rows times a matrix, and a vector added, computed in float64, in the type of rows."""
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    parts = (part.cpu().double() @ matrix + added for part in rows.split(_BLOCK))
    return torch.cat([part.to(rows) for part in parts])


def _linear_of(model: Any, site: Site) -> Any:
    """Return the linear layer that a removal at a site is folded into."""
    if site.kind in PARTS:
        return locate(model, site).module
    if site.kind in OUTPUTS:
        path = family_of(model).written_by[OUTPUTS.index(site.kind)]
        return locate_layer(model, site).module.get_submodule(path)
    head = head_of(model)
    if head is None:  # a decoder's, or there is a reason against it
        return language_head_of(model)
    return model.get_submodule(head.final if site.kind == "sentence" else head.dense)


def reasons_against(model: Any, wanted: Sequence[Site], adds: Collection[Site] = ()) -> list[str]:
    """Return for each site the reason why a removal there cannot be folded, or an empty text."""
    # It depends on the sites only, and on whether a constant is added there (`adds`, as LEACE
    # does): it is known before anything is fitted.
    placed = [locate(model, site).site for site in wanted]
    constants = {locate(model, site).site for site in adds}
    return [
        _reason(model, site)
        or _reason_of_weights(model, site, site in constants)
        or _reason_in_order(site, placed[i + 1 :])
        for i, site in enumerate(placed)
    ]


def _reason(model: Any, site: Site) -> str:
    head, n = head_of(model), layer_count(model)
    if site.kind in PARTS:
        n_calls = calls_of(model, site)
        return f"its weights are those of {n_calls} layers" if n_calls > 1 else ""
    if site.kind == "sentence" and head is not None:
        return ""
    reads = read_by_head(model)
    alone = head is not None and head.only_reader and reads != LATE
    if alone and site == read_site(model):
        return ""
    if is_decoder(model):
        return _reason_in_decoder(model, site)
    if site.kind == "tokens":
        return "a layer's output also goes past every linear map, in the residual connection"
    if head is None:
        return f"{type(model).__name__} has no head to fold it into"
    if site.layer != n:
        return f"only behind the last layer, {n}, is the CLS token read by a head alone"
    if reads != FIRST:
        return f"the head of this {type(model).__name__} reads a mean of the tokens"
    return f"{type(model).__name__} has a second head that reads the token"


def _reason_in_decoder(model: Any, site: Site) -> str:
    if site.kind in OUTPUTS:
        linear = family_of(model).written_by[OUTPUTS.index(site.kind)]
        return "" if linear else "a norm follows the linear map that computes it"
    if site == Site("input", 1):
        return ""
    if site != Site("tokens", layer_count(model)):
        instead = "input@1, attention-output@all and mlp-output@all"
        if not all(family_of(model).written_by):
            return "the residual stream also goes past every linear map of the layers"
        return (
            "the residual stream also goes past every linear map of the layers; a subspace that "
            f"is removed at {instead} is in none of their inputs, and that can be folded"
        )
    if language_head_of(model) is None:
        return f"{type(model).__name__} has no language-modelling head that alone reads it"
    return ""


def _reason_of_weights(model: Any, site: Site, adds: bool) -> str:
    """Return the reason in the weights against folding a removal that is possible elsewhere."""
    if site == Site("input", 1):
        base = base_of(model)
        stored = [base.get_submodule(path) for path in family_of(model).embeddings]
    else:
        stored = [_linear_of(model, site)]
        if adds and getattr(stored[0], "bias", None) is None:
            return "the removal adds a constant, and the linear map that it goes into has no bias"
    if all(module.weight.is_floating_point() for module in stored):
        return ""
    return f"its weights are quantised, {stored[0].weight.dtype}".replace("torch.", "")


def _reason_in_order(site: Site, later: Sequence[Site]) -> str:
    """Return the reason against folding a removal at `cls` before a hook at the same layer."""
    blocked = site.kind == "cls" and Site("tokens", site.layer) in later
    return f"tokens@{site.layer}, which cannot be folded, follows it" if blocked else ""


def by_reason(left: Iterable[tuple[Site, str]]) -> dict[str, list[Site]]:
    """Put sites that are not folded together by the reason."""
    sites_by_reason: dict[str, list[Site]] = {}
    for site, reason in left:
        sites_by_reason.setdefault(reason, []).append(site)
    return sites_by_reason


def reasons_text(left: Iterable[tuple[Site, str]]) -> str:
    """Write sites that are not folded and the reasons, those with the same reason together."""
    return "; ".join(f"{written(sites)}: {why}" for why, sites in by_reason(left).items())


def nothing_folded(
    folder: str | Path, setting: str, left: Sequence[tuple[Site, str]]
) -> WordbiasError:
    """Return the error for a folder in whose weights nothing would be folded."""
    return WordbiasError(
        f"{folder}: not written, for nothing of {setting} can be folded into the weights "
        f"({reasons_text(left)}); commands that take --adapter remove it while the model computes"
    )


def export(
    folded: Folded,
    tokenizer: Any,
    folder: str | Path,
    setting: str,
    *,
    source: str = "",
    whole: Any = None,
) -> None:
    """Write a folder for transformers, which takes its name only when it is complete."""
    # wordbias.json in it names the interventions that were folded into the weights, and those that
    # could not be. If `source` is a sentence-transformers folder and the model has no head, the new
    # one is such a folder too, with the same modules.
    if not folded.folded:
        raise nothing_folded(folder, setting, [(it.site, reason) for it, reason in folded.left])
    about = {
        "setting": setting,
        "folded": [str(it) for it in folded.folded],
        "not_folded": {str(it): reason for it, reason in folded.left},
        **({"model": source} if may_be_on_hub(source) else {}),
    }
    with_modules = whole is None and base_of(folded.model) is folded.model
    known = known_folder(source) if with_modules else None
    beside = {} if known is None else module_files(known)
    with new_folder(folder) as part, silent(need_transformers()):
        if whole is not None:
            whole.save_pretrained(str(part), create_model_card=False)
        else:
            folded.model.save_pretrained(part)
            tokenizer.save_pretrained(part)
        copy_files(beside, part)
        (part / NOTE).write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", "utf-8")
