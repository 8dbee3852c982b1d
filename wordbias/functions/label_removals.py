"""Removals fitted to labels as `project` offers them: their texts, options, notes and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from wordbias.arguments import check_choice
from wordbias.contextual.adapters import Adapter, names_sites
from wordbias.contextual.scrubbing import METHODS, TOKENS
from wordbias.contextual.sent_debias import TextLike
from wordbias.contextual.sentence_pairs import SentencePairsLike
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.inputs import path_of
from wordbias.functions.labelled_vectors import CellsLike, column_of, refuse_blank
from wordbias.probes.texts import Choice, Texts, TextsLike, load_texts
from wordbias.rendering import how_many
from wordbias.resources import located


def check_labelled(
    texts: TextsLike | None,
    labels: CellsLike | None,
    pairs: SentencePairsLike | None,
    method: str | None,
    tokens: str | None,
    dims: int | None,
    setting: str | None,
    sent_debias: TextLike | None,
    components: bool,
) -> None:
    """Refuse options that a fit to labels does not have, or that lack another one."""
    if (texts is None) != (labels is None):
        raise UsageError("--texts and --labels go together: the texts, and what is removed of them")
    if texts is not None and pairs is not None:
        raise UsageError("choose one of --texts, with --labels, and --pairs")
    if sent_debias is not None or components:
        raise UsageError(
            "--sent-debias, --one-sided and --unit are for the components of pairs of sentences, "
            "without --texts and --method"
        )
    if dims is not None and (method or METHODS[0]) not in ("mhd", "misp"):
        raise UsageError("--dims: with labels is for --method=mhd and misp; others remove all")
    check_choice("--tokens", tokens, TOKENS if texts is None else TOKENS[:-1])
    if setting is not None and not names_sites(setting):
        raise UsageError(
            f"--setting={setting}: what is fitted to labels is removed at sites; name them, such "
            "as tokens@3..10"
        )


def labelled_texts(
    texts: TextsLike,
    labels: CellsLike,
    where: Mapping[str, str | Sequence[str]] | None,
    limit: int | None,
) -> tuple[Texts, list[str], str]:
    """Read texts and the label of each; return also the name of the labels, if they have one."""
    file = path_of(texts)
    kept = {
        name: (values,) if isinstance(values, str) else tuple(map(str, values))
        for name, values in (where or {}).items()
    }
    given = load_texts(texts if file is None else located(file), Choice(where=kept, limit=limit))
    column = column_of("--labels", labels, given.name, given.columns)
    refuse_blank(given.name, labels, column)
    cells = column.cells()
    if len(cells) != len(given.texts):
        raise WordbiasError(
            f"--labels: {len(cells):,} labels for {len(given.texts):,} texts of {given.name}; give "
            "one for each"
        )
    return given, cells, Path(path_of(labels) or "").stem


def what_remains(adapter: Adapter) -> list[str]:
    """Say what the fit shows, and how to measure what remains on other texts."""
    facts = adapter.facts
    fitted = "Equal means hold on the texts of the fit, and for all removals together"
    if facts["method"] in ("mhd", "misp"):
        fitted = "Components are removed, not all by which the classes differ"
    elif not facts["sequential"]:
        fitted = "Each was fitted on the unmodified model: with all on, later layers differ again"
    return [
        f"{fitted}; probes may still read the label from other texts, or otherwise than linearly.",
        "Read what remains: wordbias probe MODEL --texts OTHERS --labels COLUMN --adapter ADAPTER",
    ]


def label_notes(adapter: Adapter) -> list[str]:
    """Return notes on texts that were cut, and on pairs that were left out."""
    notes, facts = [], adapter.facts
    if facts["cut"]:
        notes.append(f"cut to the length that the model reads: {how_many(facts['cut'], 'text')}")
    if facts.get("left_out"):
        notes.append(
            f"left out, as their tokens are the same or do not align: "
            f"{how_many(facts['left_out'], 'pair')}"
        )
    if part := adapter.partly():
        notes.append(part)
    return notes
