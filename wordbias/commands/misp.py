"""`wordbias misp`: measure along the subspace, remove it softly, write the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from wordbias.commands.inputs import Reading, Subject, open_subject
from wordbias.commands.options import (
    common_options,
    format_option,
    note,
    reading_options,
    seed_option,
    show,
)
from wordbias.commands.views import components_table, effect_table, moved_line
from wordbias.debias import misp
from wordbias.debias.effect import Effect, effect
from wordbias.debias.transform import transformed
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.components import DESCRIBES_DIFFERENCE, STABLE, Components, components
from wordbias.measures.lens import axis
from wordbias.results import Report, Row, Table
from wordbias.subspace import Subspace
from wordbias.vocabulary import SIZE, neutral_vocabulary
from wordbias.wordlists import Attribute, candidates, resolve, wordlist


@dataclass(frozen=True)
class Choices:
    """What the user asked for."""

    attribute: Attribute
    vocabulary: Sequence[str] | None
    strict: bool
    dims: int
    center: bool
    hard: bool
    weights: str
    seed: int

    def wanted(self) -> set[str]:
        """Every spelling that may be looked up in the embedding."""
        a = self.attribute
        words = [*a.members[0], *a.members[1], *(a.direction or ())]
        words += [word for pair in a.pairs for word in pair]
        return candidates([*words, *(self.vocabulary or ())])

    def neutral(self, embedding: Embedding) -> list[str]:
        """V_t as this embedding has it."""
        if self.vocabulary is not None:
            return list(resolve(self.vocabulary, embedding, "--vocab").at_least(2, _VOCAB).found)
        specific = {word.lower() for word in self.attribute.specific}
        words = neutral_vocabulary(embedding.words, specific, strict=self.strict)
        if len(words) < 2:
            raise WordbiasError(
                f"{embedding.name}: {len(words)} neutral words among the first {SIZE}; "
                "give words with --vocab FILE"
            )
        return words


_VOCAB = "give words this embedding has, one a line"
_NOT_WRITTEN = "Nothing written; -o FILE writes the result."


@click.command()
@click.argument("embedding", required=False)
@click.option("-o", "--output", help="Write the debiased vectors; the format is its suffix's.")
@click.option("--dims", type=click.IntRange(1), default=4, show_default=True, help="How many.")
@click.option(
    "--center/--no-center",
    default=True,
    show_default=True,
    help="Centre the differences as the paper does, or keep the groups' mean difference.",
)
@click.option("--hard", is_flag=True, help="Project the components out whole (MHD).")
@click.option(
    "--weights",
    default="variance",
    show_default=True,
    help="How much of each component to remove: variance, numbers 0.5,0.3,… or perm:2134.",
)
@click.option("--attribute", "attribute_file", help="TOML file with two groups of words.")
@click.option("--vocab", "vocab_file", help="Words to average over, one a line.")
@click.option("--strict-vocab", is_flag=True, help="Gonen and Goldberg's stricter word filter.")
@reading_options
@seed_option
@format_option
@common_options
def command(
    embedding: str | None,
    output: str | None,
    attribute_file: str | None,
    vocab_file: str | None,
    strict_vocab: bool,
    skip_bad: bool,
    allow_pickle: bool,
    cache: bool,
    to: str,
    quiet: bool,
    **settings: Any,
) -> None:
    """Measure the gender bias of EMBEDDING, remove it with MISP, and write the result.

    MISP (Dawkins 2021) attenuates each component of a gender subspace by the share of variance
    that it explains. Without EMBEDDING the sample that comes with wordbias is used.

    \b
    Examples:
      wordbias misp
      wordbias misp glove.6B.zip::glove.6B.300d.txt -o debiased.txt
      wordbias misp vectors.bin --no-center --dims 2 --format json
      wordbias misp vectors.vec --attribute age.toml -o debiased.vec
    """
    choices = Choices(
        Attribute.load(attribute_file),
        wordlist(vocab_file) if vocab_file else None,
        strict_vocab,
        **settings,
    )
    subject = open_subject(
        embedding,
        Reading(cache, skip_bad, allow_pickle),
        head=0 if vocab_file else SIZE,
        wanted=choices.wanted(),
        output=output,
        quiet=quiet,
    )
    rows, tables, (heading, closing) = _study(subject, choices, quiet)
    report = Report(
        "misp",
        {
            key: value
            for key, value in click.get_current_context().params.items()
            if key not in ("to", "quiet")
        },
        {subject.embedding.name: subject.info.to_dict()},
        rows,
        tables,
        heading,
        closing,
        choices.seed,
    )
    show(report, to)


def _study(
    subject: Subject, choices: Choices, quiet: bool
) -> tuple[list[Row], list[Table], tuple[list[str], list[str]]]:
    whole = subject.embedding
    vocabulary = choices.neutral(whole)
    part = whole.subset([*vocabulary, *choices.wanted()])
    groups = misp.find_groups(part, choices.attribute)
    misp.check_dims(choices.dims, part.dim)
    first, second = groups.vectors(part)
    fitted = Subspace.from_groups(first, second, choices.dims, center=choices.center)
    projection = misp.Projection(misp.reweighted(fitted, choices.weights), choices.hard)
    rng = np.random.default_rng(choices.seed)
    diagnosis = components(fitted, first, second, axis(part, choices.attribute)[0], rng)
    _warn(diagnosis, choices, quiet)
    measured = effect(
        part,
        transformed(part, projection),
        vocabulary,
        choices.attribute,
        dims=choices.dims,
        center=choices.center,
        seed=choices.seed,
    )
    subject.write(projection)
    rows = [*_component_rows(part.name, diagnosis, groups), *measured.rows]
    tables = [
        components_table(diagnosis, choices.attribute, choices.center),
        effect_table(measured, choices.attribute),
    ]
    return rows, tables, _lines(subject, choices, groups, vocabulary, measured)


def _component_rows(subject: str, found: Components, groups: misp.Groups) -> list[Row]:
    sizes = {
        "n": sum(len(group.found) for group in groups),
        "missing": [word for group in groups for word in group.missing],
    }
    rows = []
    for i, weight in enumerate(found.weights.tolist()):
        details = {
            "component": i + 1,
            "cos_difference": float(found.cos_difference[i]),
            "cos_direction": None if found.cos_direction is None else float(found.cos_direction[i]),
            "sign_stability": float(found.stability[i]),
        }
        rows.append(Row(subject, "explained-variance", weight, {**details, **sizes}))
    rows.append(Row(subject, "difference-in-span", found.share, sizes))
    return rows


def _warn(found: Components, choices: Choices, quiet: bool) -> None:
    if found.share < DESCRIBES_DIFFERENCE and choices.center:
        note(
            f"these components hold {found.share:.0%} of the difference between the groups: they "
            "describe variation within the groups (among names) more than that difference; "
            "--no-center keeps it",
            quiet,
        )
    noisy = [i + 1 for i, share in enumerate(found.stability) if share < STABLE]
    if noisy:
        shown = ", ".join(f"g{i}" for i in noisy)
        note(
            f"the sign of {shown} is noise (bootstrap stability below {STABLE}), and signed MIDB "
            "with it; midb-rms does not depend on signs",
            quiet,
        )


def _lines(
    subject: Subject,
    choices: Choices,
    groups: misp.Groups,
    vocabulary: Sequence[str],
    measured: Effect,
) -> tuple[list[str], list[str]]:
    info = subject.info
    counts = " + ".join(
        f"{len(group.found)} of {len(group.asked)} {name}"
        for name, group in zip(choices.attribute.groups, groups, strict=True)
    )
    method = "MHD (hard projection)" if choices.hard else "MISP"
    source = (
        "the sample of GloVe 6B 100d that comes with wordbias" if subject.is_sample else info.path
    )
    lines = [
        f"{method} on {source}: {info.words:,} words × {info.dim} ({info.format})",
        f"Attribute {choices.attribute.name}: {counts} words found. "
        f"Averages over {len(vocabulary):,} neutral words.",
    ]
    return lines, [
        moved_line(measured),
        f"Written: {subject.output}" if subject.output else _NOT_WRITTEN,
    ]
