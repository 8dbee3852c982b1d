"""Removals fitted inside a model: its adapter, and the model with a setting folded in."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from wordbias.arguments import check_choice, check_number
from wordbias.calls import current, note, public
from wordbias.contextual.adapters import Adapter, depth, names_sites, sites_of
from wordbias.contextual.embedding_site import embedding_effect, fit_embedding, sentence_vectors
from wordbias.contextual.families import is_decoder, layer_count
from wordbias.contextual.fitting import (
    BATCH,
    DIMS,
    ONE_SIDED,
    TOKENS,
    Recipe,
    adapter_rows,
    adapter_tables,
)
from wordbias.contextual.folding import (
    Folded,
    by_reason,
    fold,
    nothing_folded,
    reasons_against,
)
from wordbias.contextual.folding import export as write_folder
from wordbias.contextual.loading import HEADS, Target, load_target
from wordbias.contextual.scrubbing import METHODS, label_rows, label_tables, scrub, scrub_pairs
from wordbias.contextual.scrubbing import TOKENS as LABEL_TOKENS
from wordbias.contextual.sent_debias import LIMIT, TextLike, fit_with_baseline
from wordbias.contextual.sentence_pairs import SentencePair, SentencePairsLike, sentence_pairs
from wordbias.contextual.settings import SENT_DEBIAS, Settings
from wordbias.contextual.sites import EMBEDDING, Site, written
from wordbias.contextual.sites import sites as read_sites
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats.files import check_new, check_writable, new_folder, refuse_same
from wordbias.functions.inputs import path_of
from wordbias.functions.label_removals import (
    check_labelled,
    label_notes,
    labelled_texts,
    what_remains,
)
from wordbias.functions.labelled_vectors import CellsLike
from wordbias.measures.registry import short_title
from wordbias.pages.model_card import card_header, model_card
from wordbias.pretrained import ModelLike, in_folder
from wordbias.probes.sentence_folder import (
    CARD,
    OLDEST,
    ORIGINAL_CARD,
    SentenceVectors,
    hub_name,
    modules_of,
    source_folder,
    write_modules,
)
from wordbias.probes.texts import Texts, TextsLike
from wordbias.rendering import Table, how_many
from wordbias.results import Report, Row, number
from wordbias.wordlists import GroupsLike

_TOGETHER = (
    "--setting and --export go together: a setting, and the folder of the model with it; or use -o "
    "to write an adapter with that setting"
)


@public
def project(
    model: ModelLike,
    *,
    output: str | os.PathLike[str] | None = None,
    pairs: SentencePairsLike | None = None,
    texts: TextsLike | None = None,
    labels: CellsLike | None = None,
    where: Mapping[str, str | Sequence[str]] | None = None,
    method: str | None = None,
    sequential: bool = True,
    sites: str | Sequence[str] | None = None,
    tokens: str | None = None,
    dims: int | None = None,
    one_sided: bool = False,
    unit: bool = False,
    sent_debias: TextLike | None = None,
    limit: int | None = None,
    groups: GroupsLike | None = None,
    head: str | None = None,
    setting: str | None = None,
    export: str | os.PathLike[str] | None = None,
    batch: int = BATCH,
    device: str | None = None,
    seed: int = 0,
) -> Adapter:
    """Fit removals inside an encoder or decoder, to pairs of sentences or to labelled texts.

    ``model`` is a folder or a name on the hub: BERT, RoBERTa, XLM-RoBERTa (also XL), CamemBERT,
    ELECTRA, DistilBERT, DeBERTa-v2 and v3, MPNet, ALBERT, ModernBERT, NomicBERT or GTE, with its
    head if it has one; or a decoder: GPT-2, GPT-NeoX, Llama, Mistral, Qwen2 and 3, Gemma2 and 3,
    Phi. What is fitted becomes an adapter, a small file that other commands take with ``--adapter``
    and ``setting``. Fit one for each model: adapters do not transfer.

    By default sentences in a female and a male version are encoded once, and the components of
    their differences are fitted, in encoders at the sites of Dawkins et al. (2024), in decoders
    behind every layer.

    With ``texts`` and ``labels``, such as biographies and gender, LEACE or another ``method`` is
    fitted behind every layer: concept scrubbing. Each removal is fitted on what those before it
    left, so that with all of them on, the classes' means are equal in every layer; ``simultaneous``
    fits all on the unmodified model, which a later layer with the earlier removals on no longer is.

    Parameters
    ----------
    model : path, name on the hub, (model, tokenizer) or SentenceTransformer
        Model in which the removals are fitted; it is not changed.
    output : path, optional
        File for the adapter.
    pairs : path or sequence of (str, str), optional
        Pairs of sentences to fit on: TOML, or tab-separated lines.
    texts : path, sequence of str, mapping or frame of columns, optional
        Texts to fit on; ``labels`` may be a column of them.
    labels : str, path or sequence, optional
        With ``texts``: labels to remove, a column, or a file with one per line.
    where : mapping of str to str or sequence of str, optional
        With ``texts``: use only rows with this value; may be repeated.
    method : str, optional
        Method for labels, which of ``pairs`` are their two sides: leace; hard, the projection that
        makes the classes' means equal; mhd or misp, principal components.  [default: leace with
        ``texts``, otherwise the components of the pairs' differences]
    sequential : bool
        Fit each removal to labels on what those before it left, or all on the unmodified model.
        [default: sequential]
    sites : str or sequence of str, optional
        Sites, such as cls@-1,tokens@3,embedding or tokens@3..10.  [default: the four published ones
        and embedding; of decoders, and with labels, tokens@all]
    tokens : str, optional
        Tokens to fit on: the mean of all tokens (of pairs: aligned ones), of those in which a pair
        differs (word), cls or the last; with labels also all, one by one.  [default: mean; with
        labels all]
    dims : int, optional
        Number of components to fit.  [default: 2; of mhd and misp 4 of two classes, or the number
        of classes minus one]
    one_sided : bool
        Centre the differences; this loses the mean gender shift.
    unit : bool
        Fit on vectors of length one, as SENT-Debias does.
    sent_debias : path or iterable of str, optional
        Text to fit the SENT-Debias baseline on.
    limit : int, optional
        With ``sent_debias``: number of sentence pairs to draw from the text; with ``texts``:
        maximum number of rows.  [default: 5,000 pairs, all rows]
    groups : name, path or mapping, optional
        With ``sent_debias``: groups whose pairs of words are swapped.  [default: gender]
    head : str, optional
        Head to load.  [default: the one that the model has]
    setting : str, optional
        Setting that the adapter removes by default, and ``export`` folds in: L11-11101,
        sent-debias, or sites.  [default: of decoders, and with labels, all sites]
    export : path, optional
        Folder for the model with the setting folded into its weights, or removed by a module.
    batch : int
        Batch size, in sentences.
    device : str, optional
        auto, cpu, cuda or mps.  [default: auto, the first available of cuda, mps, cpu]
    seed : int
        Seed of everything random.

    Returns
    -------
    Adapter
        ``adapter.on(model)`` removes the subspaces within a ``with`` block, ``adapter.fold(model)``
        in the weights of a copy, ``adapter.save(path)`` writes it; its ``report`` has a row for
        each share of variance, and how stable each first component is; with labels, for the
        share of the label that a linear map explains before and after.

    Raises
    ------
    WordbiasError
        If the model cannot be loaded or lacks a site, too few pairs can be used, the labels are of
        one class or do not differ, or nothing of the setting can be folded into weights.

    References
    ----------
    Dawkins et al. (2024), "Projective Methods for Mitigating Gender Bias in Pre-trained Language
    Models", section 4. Belrose et al. (2023), "LEACE: Perfect linear concept erasure in closed
    form", section 6.

    Examples
    --------
    >>> import wordbias as wb
    >>> adapter = wb.project("bert-base-uncased", setting="L12-110")  # doctest: +SKIP
    >>> with adapter.on(model):  # doctest: +SKIP
    ...     model(**inputs)
    """
    labelled = texts is not None or labels is not None or method is not None
    check_choice("--head", head, list(HEADS))
    check_choice("--method", method, METHODS)
    check_number("--limit", limit, 2)
    output, export = path_of(output), path_of(export)
    named = sites if sites is None or isinstance(sites, str) else ",".join(map(str, sites))
    _check_usage(sent_debias, groups, setting, export, output)
    if labelled:
        check_labelled(
            texts, labels, pairs, method, tokens, dims, setting, sent_debias, one_sided or unit
        )
    else:
        _check_unlabelled(tokens, sequential, where, limit, sent_debias)
    if export is not None:
        check_new(export)
    if output is not None:
        check_writable(output)
    read = {"--pairs": path_of(pairs), "--sent-debias": path_of(sent_debias)}
    read |= {"--texts": path_of(texts), "--labels": path_of(labels)}
    refuse_same({"-o": output, "--export": export}, read | {"--groups": path_of(groups)})
    target = load_target(model, device, head)
    if labelled:
        given = None if texts is None else labelled_texts(texts, labels or (), where, limit)
        paired = sentence_pairs(pairs) if texts is None else ()
        return _of_labels(
            target, given, paired, pairs, method or METHODS[0], sequential, named, tokens, dims,
            setting, batch, output, export,
        )  # fmt: skip
    recipe = Recipe(tokens or TOKENS[0], one_sided, dims or DIMS, seed, unit)
    baseline = (sent_debias, groups, limit or LIMIT)
    return _of_pairs(model, target, recipe, pairs, baseline, named, setting, batch, output, export)


def _check_usage(
    sent_debias: TextLike | None,
    groups: GroupsLike | None,
    setting: str | None,
    export: str | None,
    output: str | None,
) -> None:
    """Refuse options that contradict each other or would have no effect."""
    if groups is not None and sent_debias is None:
        raise UsageError("--groups goes with --sent-debias")
    in_shell = current().note is not None
    if in_shell and setting is not None and output is None and export is None:
        raise UsageError(_TOGETHER)
    if setting == SENT_DEBIAS and sent_debias is None:
        raise UsageError("--setting=sent-debias needs --sent-debias TEXT")
    if setting is not None and setting != SENT_DEBIAS and not names_sites(setting):
        Settings.parse(setting)


def _all_of(wanted: Sequence[Site]) -> str:
    """Return the setting that removes at all of some sites."""
    return written(wanted).replace(", ", ",")


# Removals of labels


def _of_labels(
    target: Target,
    given: tuple[Texts, list[str], str] | None,
    paired: Sequence[SentencePair],
    pairs: SentencePairsLike | None,
    method: str,
    sequential: bool,
    named: str | None,
    tokens: str | None,
    dims: int | None,
    setting: str | None,
    batch: int,
    output: str | None,
    export: str | None,
) -> Adapter:
    """Fit removals to labelled texts, or to the two sides of pairs, and write what is asked for."""
    layers = layer_count(target.model)
    wanted = read_sites(named or "tokens@all", layers)
    _check_setting(target, setting or _all_of(wanted), wanted, export)
    how: dict[str, Any] = {
        "wanted": wanted,
        "method": method,
        "tokens": tokens or LABEL_TOKENS[0],
        "dims": dims,
        "sequential": sequential,
        "batch": batch,
    }
    try:
        if given is None:
            source = path_of(pairs) or ("built-in" if pairs is None else "given")
            adapter = scrub_pairs(target.model, target.tokenizer, paired, source=source, **how)
        else:
            texts, cells, label = given
            adapter = scrub(
                target.model,
                target.tokenizer,
                texts.texts,
                cells,
                source=texts.name,
                name=label,
                **how,
            )
    except WordbiasError as error:
        raise WordbiasError(f"{target.name}: {error}") from None
    adapter = adapter if setting is None else adapter.setting(setting)
    if output is not None:
        adapter.save(output)
    folded = None if export is None else _exported(target, adapter, export, output)
    subject = Path(target.name).name
    rows = label_rows(adapter, subject)
    report = Report(
        inputs={subject: {"path": target.name, **adapter.fingerprint.to_dict()}},
        rows=rows,
        tables=label_tables(rows, adapter, subject),
        closing=[*what_remains(adapter), *_closing(adapter, folded, output, export)],
        notes=label_notes(adapter),
    )
    return replace(adapter, report=report)


# Components of pairs


def _of_pairs(
    model: ModelLike,
    target: Target,
    recipe: Recipe,
    pairs: SentencePairsLike | None,
    baseline: tuple[TextLike | None, GroupsLike | None, int],
    named: str | None,
    setting: str | None,
    batch: int,
    output: str | None,
    export: str | None,
) -> Adapter:
    """Fit subspaces to the differences of pairs, and write what is asked for."""
    if is_decoder(target.model) and recipe.tokens == "cls":
        raise WordbiasError(
            f"{target.name}: is a decoder, whose first token reads no other; take --tokens=last, "
            "mean or word"
        )
    vectors = sentence_vectors(model, target.model)
    wanted = target.sites()
    if named is not None:
        wanted = read_sites(named, layer_count(target.model))
    elif vectors is not None:
        wanted = (*wanted, EMBEDDING)
    setting = _setting_of(target, vectors, wanted, setting, export)
    if setting is not None:
        _check_setting(target, setting, wanted, export)
    text, groups, limit = baseline
    adapter = fit_with_baseline(
        target.model,
        target.tokenizer,
        recipe,
        pairs=pairs,
        text=text,
        groups=groups,
        limit=limit,
        wanted=[site for site in wanted if site != EMBEDDING],
        batch=batch,
    )
    if vectors is not None and EMBEDDING in wanted:
        adapter = fit_embedding(adapter, vectors, sentence_pairs(pairs), recipe)
    adapter = adapter if setting is None else adapter.setting(setting)
    if output is not None:  # first, so that the fit is stored even if the export fails
        adapter.save(output)
    subject = Path(target.name).name
    rows = adapter_rows(adapter, subject)
    tables = adapter_tables(rows, subject)
    folded = None
    if export is not None and vectors is not None and setting == EMBEDDING.kind:
        effect = _with_module(model, target.name, vectors, adapter, export, tables)
        rows, tables = [*rows, *effect], [*tables, _effect_table(effect)]
    elif export is not None:
        folded = _exported(target, adapter, export, output)
    report = Report(
        inputs={subject: {"path": target.name, **adapter.fingerprint.to_dict()}},
        rows=rows,
        tables=tables,
        closing=_closing(adapter, folded, output, export),
        seed=recipe.seed,
        notes=_notes(target, adapter, recipe.one_sided),
    )
    return replace(adapter, report=report)


def _check_unlabelled(
    tokens: str | None,
    sequential: bool,
    where: object,
    limit: int | None,
    sent_debias: TextLike | None,
) -> None:
    """Refuse options that the components of pairs do not have."""
    if where:
        raise UsageError("--where goes with --texts")
    if not sequential:
        raise UsageError("--simultaneous is for removals of labels, with --texts or --method")
    if limit is not None and sent_debias is None:
        raise UsageError("--limit goes with --sent-debias or --texts")
    check_choice("--tokens", tokens, (*TOKENS, "last"))


def _setting_of(
    target: Target,
    vectors: SentenceVectors | None,
    wanted: Sequence[Site],
    setting: str | None,
    export: str | None,
) -> str | None:
    """Return the setting, by default all sites of a decoder, or the output of a sentence model."""
    if vectors is None and EMBEDDING in wanted:
        raise WordbiasError(
            f"{target.name}: has no site embedding, which is that of a sentence-transformers model "
            "without a head"
        )
    if setting is None and vectors is None and is_decoder(target.model):
        return _all_of(wanted)
    if export is None or setting is not None:
        return setting
    if vectors is None:
        raise UsageError(_TOGETHER)
    return EMBEDDING.kind


def _check_setting(
    target: Target, setting: str, wanted: Sequence[Site], export: str | None
) -> None:
    """Refuse, before anything is fitted, a setting that lacks a site or cannot be folded."""
    needed = sites_of(setting, layer_count(target.model))
    if EMBEDDING in needed:
        if export is not None and len(needed) > 1:
            raise WordbiasError(
                f"setting {setting}: embedding is removed by a module of the folder, other sites "
                "in its weights; write them one after the other"
            )
        needed = ()
    reasons = [] if export is None else reasons_against(target.model, needed)
    fitted = {site.within(target.model) for site in wanted}
    for site in needed if setting != SENT_DEBIAS else ():
        if site not in fitted:
            raise WordbiasError(
                f"setting {setting}: needs the site {site}, which is not among those to fit: "
                f"{', '.join(map(str, sorted(fitted, key=depth)))}; name it with --sites"
            )
    left = [(site, why) for site, why in zip(needed, reasons, strict=False) if why]
    if export is not None and needed and len(left) == len(needed):
        raise nothing_folded(export, setting, left)
    for why, some in by_reason(left).items():
        note(f"{export}: {written(some)} will not be in its weights: {why}")


def _exported(target: Target, adapter: Adapter, export: str, output: str | None) -> Folded:
    """Write the folder of the model with the setting folded in."""
    try:
        folded = fold(target.model, adapter.interventions())
        setting = str(adapter.chosen)
        write_folder(folded, target.tokenizer, export, setting, source=target.name)
    except WordbiasError as error:
        kept = "" if output is None else f" (the adapter is written: {output})"
        raise WordbiasError(f"{error}{kept}") from None
    return folded


def _with_module(
    model: ModelLike,
    name: str,
    vectors: SentenceVectors,
    adapter: Adapter,
    export: str,
    tables: Sequence[Table],
) -> list[Row]:
    """Write a folder with a module that removes the subspace, and return what that did."""
    (one,) = adapter.interventions()
    effect = embedding_effect(Path(name).name, vectors, one.step, adapter.facts["seed"])
    base = hub_name(name) if isinstance(model, (str, os.PathLike)) else None
    shown = [*tables, _effect_table(effect)]
    with new_folder(export) as made, in_folder(model) as source:
        write_modules(source_folder(source), made, modules_of((one.step,), vectors.width))
        header = card_header(made / ORIGINAL_CARD)
        card = _card(export, base, Path(name).name, header, vectors, adapter, shown)
        (made / CARD).write_text(card, "utf-8")
    return effect


def _effect_table(rows: Sequence[Row]) -> Table:
    """Return a table of the measures of a sentence model's output, before and after."""
    cells = []
    for row in rows:
        if row.details["stage"] == "before":
            continue
        old = [one for one in rows if one.measure == row.measure and one is not row]
        ends = [number(row.details.get(end), 3) for end in ("low", "high")]
        value = number(old[0].value, 3) if old else ""
        neutral = number(row.details.get("neutral"), 3)
        title = short_title(row.measure)
        cells.append([title, value, number(row.value, 3), " … ".join(ends), neutral])
    return Table(
        "Vectors that the model outputs",
        ["", "before", "after", "95 %", "neutral"],
        cells,
        "Occupations between sentences about she and he; similarities and nearest sentences that "
        "unrelated sentences kept.",
    )


def _card(
    export: str,
    base: str | None,
    original: str,
    header: dict[str, Any],
    vectors: SentenceVectors,
    adapter: Adapter,
    tables: Sequence[Table],
) -> str:
    """Return the card of a folder with a further module."""
    about = adapter.facts["sites"][str(EMBEDDING)]
    where = "before the last Normalize" if vectors.last.steps else "after all other modules"
    return model_card(
        Path(export).resolve().name,
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


def _notes(target: Target, adapter: Adapter, one_sided: bool) -> list[str]:
    """Return notes on a missing site, and on pairs that were left out at some sites or all."""
    notes = [ONE_SIDED] if one_sided else []
    if not target.sentence and not is_decoder(target.model):
        notes.insert(
            0,
            f"{target.name}: a {type(target.model).__name__} without a trained head or pooler, so "
            "there is no site sentence, which every published setting needs",
        )
    left, pairs = adapter.facts["left_out"], how_many(adapter.facts["pairs"], "pair")
    same = [item for item in left if item["tokens"] is None]
    uneven = [item for item in left if item["tokens"] is not None]
    if uneven and adapter.facts["tokens"] not in ("cls", "last"):
        a, b = uneven[0]["tokens"]
        notes.append(
            f"left out where tokens are compared, as they do not align: {len(uneven)} of {pairs}, "
            f"the first: {' / '.join(uneven[0]['pair'])}, {a} and {b} tokens"
        )
    if same:
        notes.append(
            f"left out, as they have the same tokens: {len(same)} of {pairs}, "
            f"the first: {' / '.join(same[0]['pair'])}"
        )
    return notes


def _closing(
    adapter: Adapter, folded: Folded | None, output: str | None, export: str | None
) -> list[str]:
    """Return the lines after the table: the written files, and the sites that were not folded."""
    lines = []
    if adapter.sent_debias is not None:
        share, n = adapter.sent_debias.weights[0], adapter.facts["sent_debias"]["pairs"]
        lines.append(f"Baseline {SENT_DEBIAS}: {number(share, 3)} of the variance of {n:,} pairs.")
    if output is not None:
        lines.append(f"Written: {output}")
    if folded is not None:
        done = written(it.site for it in folded.folded) or "nothing"
        lines.append(f"Written: {export}, with {done} in its weights")
        left = by_reason((it.site, reason) for it, reason in folded.left)
        lines += [f"Not folded, {written(some)}: {why}." for why, some in left.items()]
    if folded is None and export is not None:
        lines.append(
            f"Written: {export}, with a further module; sentence-transformers loads it from "
            f"version {OLDEST} on"
        )
    if output is None and export is None:
        lines.append("Nothing written; -o ADAPTER writes the subspaces.")
    return lines
