"""Removals fitted inside a model: its adapter."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from wordbias.arguments import check_choice
from wordbias.calls import current, public
from wordbias.configuration import current_config, uses
from wordbias.contextual.embedding_site import fit_embedding, sentence_vectors
from wordbias.contextual.fitting import BATCH, DIMS, ONE_SIDED, TOKENS, Recipe
from wordbias.contextual.scrubbing import LEACE
from wordbias.contextual.sent_debias import LIMIT, TextLike, fit_with_baseline
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats.files import check_outputs
from wordbias.functions.inputs import path_of
from wordbias.functions.project_labels import (
    KNOWN,
    TAKES,
    check_labels,
    check_numbers,
    decoder_caution,
    fit_labels,
    label_report,
    load_labelled,
    readable,
    sentences_of,
)
from wordbias.labelled import CellsLike
from wordbias.methods.pairs import PAIR_METHODS, MHDPairs, removed
from wordbias.models.adapter_tables import adapter_rows, adapter_tables
from wordbias.models.adapters import Adapter, depth, names_sites, sites_of
from wordbias.models.families import is_decoder, layer_count
from wordbias.models.model_like import ModelLike
from wordbias.models.sentence_folder import SentenceVectors
from wordbias.models.sentence_pairs import SentencePairsLike, redrawn_pairs, sentence_pairs
from wordbias.models.settings import SENT_DEBIAS, Settings
from wordbias.models.sites import EMBEDDING, Site, locate, read_site, written
from wordbias.models.sites import sites as read_sites
from wordbias.models.targets import HEADS, Target, load_target
from wordbias.models.texts import TextsLike
from wordbias.rendering import how_many
from wordbias.reports import Report
from wordbias.results import number
from wordbias.settings import Settings as MethodSettings
from wordbias.settings import only_method
from wordbias.wordlists import GroupsLike

PAIRS = MHDPairs._name
"""Method of an encoder by default."""
_WITH_SETTING = "--setting goes with -o, for an adapter that removes it by default; name that too"
_REDRAWN = (
    "--seed-lists redraws the pairs whose differences are fitted to, and --methods={} is fitted to "
    f"tokens: give --methods={PAIRS}, or leave out --seed-lists"
)


@public
@uses("skip_bad", "device")
def project(
    model: ModelLike,
    *,
    output: str | os.PathLike[str] | None = None,
    pairs: SentencePairsLike | None = None,
    texts: TextsLike | None = None,
    labels: CellsLike | None = None,
    text_column: str | None = None,
    where: Mapping[str, str | Sequence[str]] | None = None,
    methods: str | MethodSettings | None = None,
    sites: str | Sequence[str] | None = None,
    tokens: str | None = None,
    simultaneous: bool = False,
    one_sided: bool = False,
    unit_length: bool = False,
    sent_debias: TextLike | None = None,
    limit: int | None = None,
    groups: GroupsLike | None = None,
    head: str | None = None,
    setting: str | None = None,
    null: int | None = None,
    seed_lists: int | None = None,
    batch_size: int = BATCH,
    seed: int = 0,
) -> Adapter:
    """Fit an adapter, which removes gender or another label inside an encoder or a decoder.

    ``model`` is a folder or a name on the hub: an encoder such as BERT, RoBERTa, MPNet or
    ModernBERT, or a decoder such as GPT-2, Llama or Qwen. An adapter is a small file. Other
    commands take it with --adapter and ``setting``, and wordbias apply writes it into the model.
    Fit one for each model: adapters do not transfer.

    By default ``model`` reads sentences in a female and a male version. In an encoder the main
    components of the differences of these pairs are fitted, at the sites of Dawkins et al. (2024).
    In a decoder LEACE is fitted at all layers, to the sentences labelled female and male.

    With ``texts`` and ``labels`` a removal, by default LEACE, is fitted to the tokens of labelled
    texts at all layers. Each layer's removal is fitted to what the earlier ones left. With
    ``groups`` the texts are sentences that come with wordbias.

    In a decoder all methods but LEACE can make the model useless. Measure its perplexity with
    wordbias likelihood.

    Parameters
    ----------
    model : path, name on the hub, (model, tokenizer) or SentenceTransformer
        Model in which the removals are fitted; it is not changed.
    output : path, optional
        File for the adapter.
    pairs : path or sequence of (str, str), optional
        Pairs of sentences to fit on: TOML, or tab-separated lines.  [default: the built-in pairs]
    texts : path, sequence of str, mapping or frame of columns, optional
        Texts to fit on instead, with ``labels``; read as wordbias probe reads them.
    labels : str, path or sequence, optional
        With ``texts``: labels, a column of the texts or a file with one per line.
    text_column : str, optional
        With ``texts``: their column, by name or number.  [default: text, or sentence]
    where : mapping of str to str or sequence of str, optional
        With ``texts``: use only rows with this value; may be repeated.
    methods : str, or method such as MHD(dims=2), optional
        Method to fit. leace, hard, mhd and misp are fitted to labels, as by wordbias erase;
        misp-pairs and mhd-pairs to the differences of pairs of sentences. Settings follow:
        mhd:dims=2.  [default: leace with texts and for a decoder, else mhd-pairs]
    sites : str or sequence of str, optional
        Sites, such as cls@-1,tokens@3..10,embedding.  [default: tokens@all; of methods for pairs
        in an encoder the four published ones, and embedding]
    tokens : str, optional
        Tokens to fit on. all takes each token separately. mean, last or cls (the first) takes one
        vector for a text. word takes the tokens that differ in a pair.  [default: all; for pairs
        mean]
    simultaneous : bool
        With ``methods`` or ``texts``: fit all sites on the unmodified model, not each on what the
        sites before it left. Together they may then remove too little or too much.
    one_sided : bool
        Centre the differences of the pairs; this loses the mean gender shift.
    unit_length : bool
        Fit on vectors of length one, as SENT-Debias does.
    sent_debias : path or iterable of str, optional
        Text to fit the SENT-Debias baseline on.
    limit : int
        With ``texts``: maximum number of rows; with ``sent_debias``: number of sentence pairs to
        draw from the text.  [default: all texts; 5000 pairs]
    groups : name, path or mapping, optional
        Groups to remove, of any number: ethnicity, religion, age, pronouns, religion:A,B, … or a
        TOML file. The removal is fitted to sentences with their words, those that wordbias audit
        fits to. With ``sent_debias``: two groups whose pairs of words are swapped.  [default:
        gender]
    head : str, optional
        Head to load.  [default: the one that the model has]
    setting : str, optional
        Setting that the adapter removes by default: L11-11101, sent-debias, tokens@3..10.
        [default: none; with ``methods`` or ``texts``, and of a decoder, all sites]
    null : int, optional
        Number of null adapters to write next to ``output``, such as nli.null1.adapter. They have
        random directions with the same weights, and change vectors less.
    seed_lists : int, optional
        Number of adapters, fitted to redrawn pairs of sentences, to write next to ``output``, such
        as nli.lists1.adapter.
    batch_size : int
        Batch size, in sentences.
    seed : int
        Seed of everything random.

    Returns
    -------
    Adapter
        ``adapter.on(model)`` removes the subspaces within a ``with`` block. ``adapter.fold(model)``
        removes them in the weights of a copy, and ``adapter.save(path)`` writes the adapter. Its
        ``report`` has a row for each share of variance, and how stable each first component is.
        With ``texts`` it has how much of the label a linear map explains at each site, before and
        after.

    Raises
    ------
    WordbiasError
        If the model cannot be loaded or lacks a site, too few pairs can be used, or the labels are
        of one class.

    Notes
    -----
    Encoders can be BERT, RoBERTa, XLM-RoBERTa (also XL), CamemBERT, ELECTRA, DistilBERT, DeBERTa-v2
    and v3, MPNet, ALBERT, ModernBERT, EuroBERT, NomicBERT or GTE, with their head if they have one.
    Decoders can be GPT-2, GPT-NeoX, Llama, Mistral, Qwen, Gemma and Phi.

    With ``texts``, or ``methods`` and ``pairs``, each removal is fitted on what those before it
    left (concept scrubbing, Belrose et al. 2023). The reason is that a later layer may compute the
    label anew from what an earlier removal leaves. In a decoder this is the default.

    In most decoders the vector of the first token is about a hundred times as long as others, and
    attention rests on it. LEACE is the only removal that takes account of its length.

    A method with the name of one of wordbias erase is the same operator, with one difference:
    ``hard`` keeps the lengths of vectors, which the next layer reads. Without ``methods`` two
    components are fitted in an encoder, as the published settings need them. A setting says how
    many of them are removed, and how. At sites that ``setting`` names the first is removed
    completely: mhd-pairs. With ``tokens`` mean, methods for pairs are fitted to the mean of aligned
    tokens. Sites that are fitted simultaneously are each correct when removed alone.

    The adapters of ``null`` show how any removal with these weights changes a measure. For those of
    ``seed_lists`` the same number of pairs is drawn again, with replacement. They show how much a
    measure depends on the listed pairs.

    References
    ----------
    Dawkins et al. (2024), "Projective Methods for Mitigating Gender Bias in Pre-trained Language
    Models", section 4.

    Belrose et al. (2023), "LEACE: Perfect linear concept erasure in closed form", section 6.

    Examples
    --------
    >>> import wordbias as wb
    >>> adapter = wb.project("bert-base-uncased", setting="L12-110")  # doctest: +SKIP
    >>> with adapter.on(model):  # doctest: +SKIP
    ...     model(**inputs)
    >>> adapter = wb.project("gpt2", texts="bios.tsv", labels="gender")  # doctest: +SKIP
    """
    how = current_config()
    check_choice("--head", head, list(HEADS))
    output = path_of(output)
    named = sites if sites is None or isinstance(sites, str) else ",".join(map(str, sites))
    _check_usage(sent_debias, setting, output)

    def check(method: str | None) -> None:
        check_labels(texts, labels, pairs, method)
        check_numbers(tokens, limit, texts, method, drawn=sent_debias is not None)
        if seed_lists is not None and method is not None and method not in PAIR_METHODS:
            raise UsageError(_REDRAWN.format(method))

    chosen = None if methods is None else only_method(methods, KNOWN, TAKES)
    settings = {} if chosen is None else chosen.settings
    sentences = None
    if groups is not None and sent_debias is None:
        sentences = sentences_of(groups, None if chosen is None else chosen.name)
    labelled = texts is not None or sentences is not None
    name = (LEACE if labelled else None) if chosen is None else chosen.name
    check(name)
    nulls = _further_files("null", output, null)
    redraws = _further_files("lists", output, seed_lists)
    read: dict[str, object] = {"--pairs": pairs, "--sent-debias": sent_debias, "--texts": texts}
    _check_files(output, nulls, redraws, read | {"--labels": labels, "--groups": groups})
    given = sentences or load_labelled(texts, labels, text_column, where, limit, how.skip_bad)
    target = load_target(model, how.device, head)
    vectors = sentence_vectors(model, target.model)
    if name is None:
        decoder = is_decoder(target.model) and vectors is None
        name = LEACE if decoder else PAIRS
        check(name)
    if name not in PAIR_METHODS:
        wanted = target.outputs() if named is None else read_sites(named, layer_count(target.model))
        _check_removals(target, wanted, setting)
        given = None if given is None else readable(given, target.tokenizer, how.skip_bad)
        adapter = fit_labels(
            target,
            given,
            pairs,
            wanted=wanted,
            method=name,
            tokens=tokens,
            settings=settings,
            sequential=not simultaneous,
            batch=batch_size,
        )
        adapter = adapter if setting is None else adapter.setting(setting)
        return _saved(adapter, label_report(target, adapter, given, output), output, nulls, seed)
    wanted = _component_sites(target, vectors, named)
    setting = _setting_of(target, vectors, wanted, setting)
    if setting is not None:
        _check_setting(target, setting, wanted)
    tokens = tokens or TOKENS[0]
    dims = settings.get("dims", max(DIMS, removed(name, settings)[0]))
    recipe = Recipe(tokens, one_sided, dims, seed, unit_length)
    fitted = fit_with_baseline(
        target.model,
        target.tokenizer,
        recipe,
        pairs=pairs,
        text=sent_debias,
        groups=groups,
        limit=LIMIT if limit is None else limit,
        wanted=[site for site in wanted if site != EMBEDDING],
        batch=batch_size,
        draws=len(redraws),
    )
    if vectors is not None and EMBEDDING in wanted:
        paired = sentence_pairs(pairs)
        lists = [paired, *redrawn_pairs(paired, len(redraws), seed)]
        fitted = [
            fit_embedding(fit, vectors, drawn, recipe)
            for fit, drawn in zip(fitted, lists, strict=True)
        ]
    if chosen is not None:
        method = {"method": name, **({"settings": dict(settings)} if settings else {})}
        fitted = [replace(fit, facts={**fit.facts, **method}) for fit in fitted]
    adapter, *redrawn = (fit if setting is None else fit.setting(setting) for fit in fitted)
    for redraw, path in zip(redrawn, redraws, strict=True):
        redraw.save(path)
    subject = Path(target.name).name
    rows = adapter_rows(adapter, subject)
    report = Report(
        inputs={subject: {"path": target.name, **adapter.fingerprint.to_dict()}},
        rows=rows,
        tables=adapter_tables(rows, subject),
        closing=_said_of(redraws, "fitted to the pairs drawn again, with replacement"),
        notes=[
            *_notes(target, adapter, one_sided),
            *(decoder_caution(target.model, adapter, name, tokens) if setting else ()),
        ],
    )
    return _saved(adapter, report, output, nulls, seed)


def _check_usage(sent_debias: TextLike | None, setting: str | None, output: str | None) -> None:
    """Refuse options that contradict each other or would have no effect."""
    in_shell = current().note is not None
    if in_shell and setting is not None and output is None:
        raise UsageError(_WITH_SETTING)
    if setting == SENT_DEBIAS and sent_debias is None:
        raise UsageError("--setting=sent-debias needs --sent-debias TEXT")
    if setting is not None and setting != SENT_DEBIAS and not names_sites(setting):
        Settings.parse(setting)


def _check_files(
    output: str | None,
    nulls: Sequence[str],
    redraws: Sequence[str],
    read: Mapping[str, object],
) -> None:
    """Refuse, before anything is fitted, files that cannot be written or that are read."""
    files = {"-o": output}
    for option, paths in (("--null", nulls), ("--seed-lists", redraws)):
        files |= {f"{option}, file {i}": path for i, path in enumerate(paths, 1)}
    check_outputs(files, read)


def _further_files(
    kind: Literal["null", "lists"], output: str | None, count: int | None
) -> list[str]:
    """Return the files of adapters beside one: ``nli.null.adapter``, or numbered."""
    if count is None:
        return []
    option = "--null" if kind == "null" else "--seed-lists"
    if output is None:
        raise UsageError(f"{option} writes more adapters next to -o ADAPTER; name that too")
    path = Path(output)
    numbers = [""] if count == 1 else list(map(str, range(1, count + 1)))
    return [str(path.with_name(f"{path.stem}.{kind}{number}{path.suffix}")) for number in numbers]


def _said_of(paths: Sequence[str], what: str) -> list[str]:
    return [f"Written: {path}, {what}" for path in paths]


def _saved(
    adapter: Adapter, report: Report, output: str | None, nulls: Sequence[str], seed: int
) -> Adapter:
    """Write an adapter and its null adapters, whose seeds follow that of the fit; say so."""
    if output is not None:
        adapter.save(output)
    for draw, path in enumerate(nulls, seed):
        adapter.null(draw).save(path)
    random = _said_of(nulls, "with random directions of the same weights")
    closing = [*_closing(adapter, output), *random, *report.closing]
    return replace(adapter, report=replace(report, closing=closing, seed=seed))


def _check_removals(target: Target, wanted: Sequence[Site], setting: str | None) -> None:
    """Refuse, before anything is fitted, sites and settings that removals of labels do not have."""
    if EMBEDDING in wanted:
        raise WordbiasError(
            "site embedding: labels are removed from what a sentence-transformers model outputs "
            "by: wordbias erase --model MODEL --texts FILE --labels COLUMN"
        )
    if setting is not None and not names_sites(setting):
        raise WordbiasError(
            f"setting {setting}: is of {' and '.join(PAIR_METHODS)}, which are fitted to pairs of "
            f"sentences; name sites, such as {wanted[0]}"
        )
    _check_setting(target, setting or written(wanted), wanted)


def _component_sites(
    target: Target, vectors: SentenceVectors | None, named: str | None
) -> tuple[Site, ...]:
    """Return the sites whose components are fitted, with that of a sentence model's output."""
    if named is not None:
        return read_sites(named, layer_count(target.model))
    return target.sites() if vectors is None else (*target.sites(), EMBEDDING)


def _setting_of(
    target: Target,
    vectors: SentenceVectors | None,
    wanted: Sequence[Site],
    setting: str | None,
) -> str | None:
    """Return the setting; of a decoder by default all sites."""
    if vectors is None and EMBEDDING in wanted:
        raise WordbiasError(
            f"{target.name}: has no site embedding, which is that of a sentence-transformers model "
            "without a head"
        )
    if setting is None and is_decoder(target.model):
        return written(wanted)
    return setting


def _check_setting(target: Target, setting: str, wanted: Sequence[Site]) -> None:
    """Refuse, before anything is fitted, a setting that lacks a site."""
    fitted = {site.within(target.model) for site in wanted}
    published = not names_sites(setting)
    for site in sites_of(setting, layer_count(target.model)) if setting != SENT_DEBIAS else ():
        if published and site.kind == "cls":
            site = read_site(target.model)
        if site not in fitted:
            if site != EMBEDDING:
                locate(target.model, site)  # refuses what the model cannot have
            raise WordbiasError(
                f"setting {setting}: needs the site {site}, which is not among those to fit: "
                f"{', '.join(map(str, sorted(fitted, key=depth)))}; name it with --sites"
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
    if uneven and adapter.facts["tokens"] != "cls":
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


def _closing(adapter: Adapter, output: str | None) -> list[str]:
    """Return the lines after the table: the share of the baseline, and the written file."""
    lines = []
    if adapter.sent_debias is not None:
        share, n = adapter.sent_debias.weights[0], adapter.facts["sent_debias"]["pairs"]
        lines.append(f"Baseline {SENT_DEBIAS}: {number(share, 3)} of the variance of {n:,} pairs.")
    if output is None:
        return [*lines, "Nothing written; -o ADAPTER writes the subspaces."]
    return [*lines, f"Written: {output}"]
