"""The occupation experiment as tables for people."""

from __future__ import annotations

import math
from collections.abc import Sequence

from wordbias.biographies.biographies import Biographies
from wordbias.biographies.reading import reading
from wordbias.biographies.runs import (
    ACCURATE,
    AFTER,
    BEFORE,
    CEAT,
    COMPRESSED,
    COMPRESSED_WITHIN,
    GAPS,
    KNOWING_CLASS,
    REPRESENTATION,
    REPRESENTATIVE,
    spread,
)
from wordbias.biographies.strategies import ORIGINAL, OWN
from wordbias.biographies.summary import OF_VECTORS, Summary
from wordbias.commands.bios_associations import PAPER, STAGES, association_tables, stages_of
from wordbias.commands.bios_cells import by_strategy, drawn, note_of
from wordbias.rendering import Table
from wordbias.results import Row

_FEW = 6
_HEADS = ("compression", "as published", "class known", "probe accuracy", "CEAT")
_SHORT = (ACCURATE, *(metric for metric in GAPS if metric in (*REPRESENTATIVE, GAPS[1])))


def heading(bios: Biographies, model: str) -> list[str]:
    """Say what was measured on what."""
    shares = women_by_class(bios)
    women = bios.counts()[:, 0].sum() / max(1, len(bios))
    listed = [
        f"{name} {100 * shares[name]:.0f} %" for name in sorted(shares, key=shares.__getitem__)
    ]
    said = ", ".join(listed) if len(listed) <= _FEW else f"from {listed[0]} to {listed[-1]}"
    return [
        f"Occupation experiment on {bios.path}: {len(bios):,} biographies, {len(shares)} "
        f"classes, {100 * women:.0f} % women ({said}). Encoder: {model}."
    ]


def women_by_class(bios: Biographies) -> dict[str, float]:
    """Return the share of women in each class that anybody is of; `--limit` can leave one empty."""
    shares = zip(bios.classes, bios.shares().tolist(), strict=True)
    return {name: share for name, share in shares if not math.isnan(share)}


def tables(rows: Sequence[Row], *, frozen: bool = False, correct: bool = False) -> list[Table]:
    """Arrange the rows of all jobs (of `wordbias.biographies.study`).

    Parameters
    ----------
    frozen
        Whether the encoder was left as it is.
    correct
        Correct tests for their number (Holm).
    """
    found = Summary.of(rows, correct=correct)
    shown = [vectors_table(found)]
    if found.runs.has(BEFORE):
        shown += representative_tables(found)
        shown += association_tables(found)
        shown += stage_tables(found, BEFORE, frozen=frozen)
    if found.runs.has(AFTER):
        shown += stage_tables(found, AFTER, frozen=frozen)
    if found.runs.rewritten():
        shown += original_tables(found)
    return shown


def closing(rows: Sequence[Row]) -> list[str]:
    """Say what the figures mean: whether compression predicts what retraining restores."""
    conventions = (
        "Gaps are F − M on as many women as men of each class; 0 is fair. S: absolute sum over "
        "classes; P: Pearson's r of the gap with the share of women. Compression: 1 where nothing "
        "can be read off the vectors, in bits; the more, the more of the gender shows."
    )
    return [*reading(Summary.of(rows)), conventions]


def vectors_table(found: Summary) -> Table:
    """One line an encoder: how much of the gender shows in its vectors."""
    runs = found.runs
    subjects = [*runs.baselines, *runs.strategies]
    cells = [
        [name, *(drawn(found.cell(metric, name, REPRESENTATION)) for metric in OF_VECTORS)]
        for name in subjects
    ]
    shown = [found.cell(metric, name, REPRESENTATION) for metric in OF_VECTORS for name in subjects]
    about = "class known: compression within classes, of as many women as men each. "
    known = spread(runs.every(KNOWING_CLASS, REPRESENTATION, subjects)).mean
    if known is not None:
        about += f"Whoever knows nothing but the class compresses to {known:.3f}. "
    head = "encoder"
    return Table(
        "Gender in the vectors",
        [head, *_HEADS],
        cells,
        about + note_of(found, shown),
    )


def representative_tables(found: Summary) -> list[Table]:
    """Arrange the metrics of Table 1a, before and after retraining."""
    lines = [(metric, REPRESENTATION, metric.title) for metric in (COMPRESSED, CEAT)]
    for metric in _SHORT:
        lines += [(metric, stage, f"{metric.title}, {STAGES[stage]}") for stage in stages_of(found)]
    title = f"Before and after retraining the last layer ({PAPER}, Table 1a)"
    return by_strategy(found, title, lines)


def stage_tables(found: Summary, stage: str, *, frozen: bool) -> list[Table]:
    """Arrange all metrics of one stage: Tables 3, 4 or 5."""
    if frozen and stage == AFTER:
        title = "Frozen encoder, last layer retrained on the original data"
    elif frozen:
        title = f"Frozen encoder ({PAPER}, Table 5)"
    elif stage == BEFORE:
        title = f"As fine-tuned ({PAPER}, Table 3)"
    else:
        title = f"Last layer retrained ({PAPER}, Table 4)"
    metrics = (ACCURATE, *GAPS)
    return by_strategy(found, title, [(metric, stage, metric.title) for metric in metrics])


def original_tables(found: Summary) -> list[Table]:
    """Arrange what models do with texts that their strategy did not rewrite."""
    lines = [
        (metric, REPRESENTATION, metric.title)
        for metric in (COMPRESSED, COMPRESSED_WITHIN)
        if found.runs.has(REPRESENTATION, ORIGINAL)
    ]
    for metric in _SHORT:
        lines += [
            (metric, stage, f"{metric.title}, {STAGES[stage]}")
            for stage in (BEFORE, AFTER)
            if found.runs.has(stage, ORIGINAL)
        ]
    columns = [
        (f"{name}: {said}", name, view)
        for name in found.runs.rewritten()
        for said, view in (("rewritten texts", OWN), ("texts as they were", ORIGINAL))
    ]
    title = "Models of rewritten texts, on such and on texts as they were"
    return by_strategy(found, title, lines, columns)
