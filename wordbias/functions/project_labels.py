"""Removals fitted to labels: `project` with texts, or with a method for pairs of sentences.

Apart from `wordbias.functions.project`, which has what is fitted to differences of pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from wordbias.arguments import check_choice, check_number
from wordbias.calls import refuse_given
from wordbias.columns import Column
from wordbias.contextual.audit.texts import AuditTexts
from wordbias.contextual.fitting import TOKENS
from wordbias.contextual.scrubbing import TOKENS as OF_LABELS
from wordbias.contextual.scrubbing import explained_by_chance, scrub, scrub_pairs
from wordbias.errors import UsageError
from wordbias.functions.inputs import path_of
from wordbias.functions.labelled_vectors import rows_of_texts
from wordbias.labelled import MISSING, CellsLike
from wordbias.methods.pairs import PAIR_METHODS, PAIR_SETTINGS
from wordbias.methods.rows import OF_MOMENTS
from wordbias.methods.settings import ROW_METHODS, ROW_SETTINGS
from wordbias.models.adapter_tables import scrubbing_rows, scrubbing_tables
from wordbias.models.adapters import Adapter, depth, part_of_sequence
from wordbias.models.families import base_of, is_decoder, layer_count, width
from wordbias.models.loading import usual_length
from wordbias.models.sentence_pairs import SentencePairsLike, sentence_pairs
from wordbias.models.sites import Site, written
from wordbias.models.targets import Target
from wordbias.models.texts import Choice, Texts, TextsLike, kept_values, load_texts
from wordbias.rendering import how_many
from wordbias.reports import Report
from wordbias.settings import Configured, Known, Takes
from wordbias.wordlists import GroupsLike

ALL_TOKENS = tuple(dict.fromkeys([*TOKENS, *OF_LABELS]))
"""Tokens to fit on, those of methods for pairs first."""
FEW = 10
"""Vectors for each dimension, of fewer of which a note says what they can show by chance."""


KNOWN: Known = {**{name: ROW_METHODS[name] for name in OF_MOMENTS}, **PAIR_METHODS}
TAKES: Takes = {**ROW_SETTINGS, **PAIR_SETTINGS}
"""Settings that methods take here."""


def sentences_of(groups: GroupsLike, method: str | None) -> Texts:
    """Return the sentences of an audit for fitting, with their groups as their only column."""
    others = ("texts", "labels", "text_column", "where", "pairs", "limit")
    refuse_given(others, "is for other sentences than those of --groups")
    if method in PAIR_METHODS:
        raise UsageError(
            f"--methods={method}: is fitted to pairs of sentences, and those of --groups are "
            f"labelled; choose {', '.join(OF_MOMENTS)}"
        )
    audit = AuditTexts.load(groups)
    labels = {audit.attribute: Column.of(sentence.group for sentence in audit.fit)}
    texts = load_texts([sentence.text for sentence in audit.fit])
    return replace(texts, name=f"sentences of wordbias audit, {audit.attribute}", columns=labels)


def load_labelled(
    texts: TextsLike | None,
    labels: CellsLike | None,
    text_column: str | None,
    where: Mapping[str, str | Sequence[str]] | None,
    limit: int | None,
    skip_bad: bool,
) -> Texts | None:
    """Read texts with the label of each, their only column; None without texts."""
    # The column has the name of the labels' column or file, which is empty for given values.
    if texts is None or labels is None:
        return None
    name = path_of(labels) or ""
    choice = Choice(text_column, None, kept_values(where), limit, None, None, skip_bad)
    read_texts = load_texts(texts, choice)
    rows = rows_of_texts(read_texts)
    column = rows.column("--labels", labels)
    remedy = "mend it, or drop such rows with --skip-bad"
    labelled = rows.with_labels({name or "label": column}, MISSING[skip_bad], remedy)
    without = dict.fromkeys(np.flatnonzero(~labelled.there).tolist(), f"has no {name or 'label'}")
    return replace(read_texts, columns={name: column}).without(without, skip_bad)


def readable(texts: Texts, tokenizer: Any, skip_bad: bool) -> Texts:
    """Drop the texts that have no token, such as empty ones, or refuse the first of them."""
    tokens = tokenizer(list(texts.texts), verbose=False)["input_ids"]
    bad = {place: "has no token" for place, ids in enumerate(tokens) if not ids}
    return texts.without(bad, skip_bad)


def decoder_caution(model: Any, adapter: Adapter, method: str, tokens: str) -> list[str]:
    """Return a note on removals that can cost a decoder its language."""
    # Attention rests on the first token, whose vector is many times longer than others: only LEACE
    # on all tokens takes account of it. Behind the last layer no attention reads the vectors.
    places = {step.site for step in adapter.interventions()} - {Site("tokens", layer_count(model))}
    if not is_decoder(model) or not places or (method, tokens) == ("leace", "all"):
        return []
    return [
        f"{method} on the tokens {tokens!r} at {written(sorted(places, key=depth))}: attention "
        "rests on the long vector of the first token, and only leace on all tokens takes account "
        "of it. Other removals can make a decoder useless; measure it with: wordbias likelihood "
        "MODEL --perplexity TEXT --adapter ADAPTER"
    ]


def check_labels(
    texts: TextsLike | None,
    labels: CellsLike | None,
    pairs: SentencePairsLike | None,
    method: str | None,
) -> None:
    """Refuse options of texts without texts, and options of pairs with a method for labels."""
    if texts is None:
        names = ("labels", "text_column", "where", "skip_bad")
        refuse_given(names, "goes with --texts", "give --texts, or leave it out")
    if texts is not None and pairs is not None:
        raise UsageError("choose one of --texts and --pairs: removals are fitted to one of them")
    if texts is not None and labels is None:
        raise UsageError(
            "--texts needs --labels: a column of the texts, or a file of one label a line"
        )
    if texts is not None and method in PAIR_METHODS:
        raise UsageError(
            f"--methods={method}: is fitted to pairs of sentences, --pairs; with --texts choose "
            f"{', '.join(OF_MOMENTS)}"
        )
    if method in PAIR_METHODS:
        of_labels = f"--methods={', '.join(OF_MOMENTS)}"
        reason = f"is for {of_labels}: {method} is always fitted on the unmodified model"
        refuse_given(("simultaneous",), reason)
    elif method is not None:
        refuse_given(
            ("one_sided", "unit_length", "sent_debias"),
            f"is for {' and '.join(PAIR_METHODS)}, which are fitted to pairs of sentences",
            "leave it out, or name one of them with --methods",
        )


def check_numbers(
    tokens: str | None,
    limit: int | None,
    texts: TextsLike | None,
    method: str | None,
    *,
    drawn: bool,
) -> None:
    """Refuse tokens and limits that what is fitted does not have."""
    check_choice("--tokens", tokens, ALL_TOKENS)
    if tokens == "word" and texts is not None:
        raise UsageError(
            "--tokens=word compares the two sentences of a pair; with --texts choose all, last or "
            "mean"
        )
    known = TOKENS if method in PAIR_METHODS else OF_LABELS
    if method is not None and tokens is not None and tokens not in known:
        raise UsageError(
            f"--tokens={tokens} is not for --methods={method}; expected one of {', '.join(known)}"
        )
    if limit is not None:
        check_number("--limit", limit, 1 if texts is not None else 2)
        if texts is None and not drawn:
            raise UsageError("--limit goes with --texts or --sent-debias")


def fit_labels(
    target: Target,
    given: Texts | None,
    pairs: SentencePairsLike | None,
    *,
    wanted: Sequence[Site],
    method: str,
    tokens: str | None,
    settings: Mapping[str, Any],
    sequential: bool,
    batch: int,
) -> Adapter:
    """Fit a removal at each site to labelled texts or, without them, to the sides of pairs."""
    how: dict[str, Any] = {
        "wanted": wanted,
        "method": method,
        "tokens": tokens or OF_LABELS[0],
        "settings": settings,
        "sequential": sequential,
        "batch": batch,
    }
    model, tokenizer = target.model, target.tokenizer
    if given is None:
        source = "built-in" if pairs is None else path_of(pairs) or "given"
        return scrub_pairs(model, tokenizer, sentence_pairs(pairs), source=source, **how)
    ((name, labels),) = given.columns.items()
    return scrub(model, tokenizer, given.texts, labels, source=given.name, name=name, **how)


def label_report(
    target: Target, adapter: Adapter, given: Texts | None, output: str | None
) -> Report:
    """Return the report of a fit: shares of the label, and what they do not show."""
    subject = Path(target.name).name
    inputs: dict[str, Any] = {subject: {"path": target.name, **adapter.fingerprint.to_dict()}}
    column = "COLUMN"
    facts = adapter.facts
    if given is not None:
        column = next(iter(given.columns)) or column
        inputs["texts"] = {
            "path": given.name,
            "sha256": given.sha256(),
            "n": len(given),
            "cut": facts["cut"],
            "classes": facts["classes"],
        }
    lines = (
        []
        if base_of(target.model) is target.model or not is_decoder(target.model)
        else [
            f"To measure the cost for the language: wordbias likelihood {target.name} --perplexity "
            f"TEXT --adapter {output or 'ADAPTER'}"
        ]
    )
    lines += [
        f"These are shares on the fitted texts{_by_construction(facts)}. To measure what the best "
        f"of several probes reads of other texts, before and after: wordbias probe {target.name} "
        f"--texts OTHERS --labels {column} --adapter {output or 'ADAPTER'}"
    ]
    return Report(
        inputs=inputs,
        rows=scrubbing_rows(adapter, subject),
        tables=scrubbing_tables(adapter, subject),
        closing=lines,
        notes=_notes(target, adapter, given),
    )


def _by_construction(facts: Mapping[str, Any]) -> str:
    exact = facts["method"] in ("leace", "hard")
    return f", after {facts['method']} 0 by construction" if exact else ""


def _notes(target: Target, adapter: Adapter, given: Texts | None) -> list[str]:
    """Return notes on texts that were dropped or cut, on pairs left out, and on a part of sites."""
    notes, facts = [] if given is None else given.notes(), adapter.facts
    if facts["cut"]:
        length = usual_length(target.model, target.tokenizer)
        notes.append(
            f"cut to {length} tokens: {facts['cut']} of {how_many(facts['texts'], 'text')}"
        )
    if facts.get("left_out"):
        notes.append(
            "left out, as their sentences have the same tokens, or for --tokens=word a different "
            f"number: {how_many(facts['left_out'], 'pair')}"
        )
    n, dim = next(iter(facts["sites"].values()))["vectors"], width(target.model)
    if n < FEW * dim:
        what = "tokens" if facts["tokens"] == "all" else "vectors"
        more = "more texts" if given is not None else "more pairs, or --texts and --labels"
        notes.append(
            f"{n:,} {what} are few for {dim:,} dimensions: a linear map fitted to them explains "
            f"about {100 * explained_by_chance(n, dim):.0f} % of random labels too. What is "
            f"removed is partly chance; fit to {FEW * dim:,} or more, with {more}"
        )
    if remark := part_of_sequence(adapter):
        notes.append(remark)
    method = Configured(facts["method"], facts.get("settings", {})).text
    notes += decoder_caution(target.model, adapter, method, facts["tokens"])
    return notes
