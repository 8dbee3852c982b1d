"""The occupation experiment: whether a debiased classifier of biographies only looks fair."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from wordbias.arguments import seeds_of
from wordbias.biographies.data import Biographies, load_biographies, sample
from wordbias.biographies.synthetic import synthetic
from wordbias.calls import note, path_of, public
from wordbias.columns import TableLike
from wordbias.configuration import STARTS_PROCESSES, current_config, uses
from wordbias.draws import CONTROLS, NULL
from wordbias.errors import UsageError, WordbiasError, need
from wordbias.formats.files import check_output_folder, refuse_same
from wordbias.functions.arms import DRAWN
from wordbias.models.model_like import ModelLike, in_folder
from wordbias.nli.recipes import is_half
from wordbias.outcomes.inputs import load_shares, shares_for
from wordbias.pages.retraining_plots import plot_compression_fairness
from wordbias.probes.ceat.association import DRAWS
from wordbias.probes.ceat.sentences import find_sentences, read_sentences
from wordbias.rendering import how_many
from wordbias.reports import Report
from wordbias.resources import located
from wordbias.retraining.arms import RANDOM, is_random, with_random_changes
from wordbias.retraining.conclusions import closing
from wordbias.retraining.measuring import career_words
from wordbias.retraining.removals import is_removal
from wordbias.retraining.summary import Summary
from wordbias.retraining.tables import tables
from wordbias.workers import Workers

POOLINGS = ("first", "mean", "last")
_FEW = 6


@public
@uses("skip_bad", *STARTS_PROCESSES, "device", "precision")
def bios(
    data: TableLike | Biographies | None = None,
    model: ModelLike | None = None,
    *,
    strategies: Sequence[str] = ("none", "subsample", "oversample", "scrub"),
    random_changes: bool = False,
    seed: int | Sequence[int] = (0, 1, 2),
    head_only: bool = False,
    output: str | os.PathLike[str] | None = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    lr: float | None = None,
    every: int | None = None,
    retrain_epochs: int | None = None,
    retrain_lr: float | None = None,
    as_published: bool = False,
    max_length: int = 128,
    pooling: Literal["first", "mean", "last"] = "first",
    sentences: str | os.PathLike[str] | Iterable[str] | None = None,
    sentence_column: str | None = None,
    draws: int = DRAWS,
    shares: str | os.PathLike[str] | Mapping[str, float] | None = None,
    share_column: str | None = None,
    balanced_probe: bool = False,
    baselines: bool = True,
    holm: bool = False,
    text_column: str | None = None,
    labels: str | None = None,
    sensitive: str | None = None,
    female: str | None = None,
    split_column: str | None = None,
    name_column: str | None = None,
    limit: int | None = None,
    keep_models: bool = False,
) -> Report:
    """Measure whether debiasing a classifier's training data changed more than its last layer.

    For each strategy and seed an encoder with a classification layer is trained to predict
    occupations, from biographies that the strategy debiased (Orgad et al. 2022). Three things are
    measured: how easily its vectors reveal gender (compression), its associations of words (CEAT),
    and its gaps between women and men on a balanced test set. Then only its last layer is trained
    again, on the original data. If bias comes back, debiasing had only hidden it.

    A strategy may also change vectors instead of data. A removal is fitted to the vectors of the
    training set. It stands before the last layer of the classifier that was trained without
    debiasing. That layer reads what the removal leaves; then a new one is trained on it.

    Biographies are .tsv, .csv or .jsonl with columns such as text, profession, gender and split.
    Without ``data`` they are synthetic.

    The folder ``output`` gets a line in results.jsonl for every strategy and seed. The same call
    resumes an interrupted one; more seeds or strategies are added to the results.

    Parameters
    ----------
    data : path, fetched name, frame or Biographies, optional
        Biographies.  [default: synthetic ones]
    model : path, name on the hub, SentenceTransformer, or model and tokenizer
        Encoder to train: a folder, or a name such as roberta-base. It has to be given.
    strategies : sequence of str
        Debiasing strategies, as in wordbias rewrite; also scrub-as-published, swap, and several
        joined: scrub+subsample. Strategies for vectors: leace, inlp, misp, mhd or hard, with
        settings such as misp:dims=2; or an adapter file of wordbias project. subsample+leace is
        fitted to equally many women and men of each class. null:N adds random removals.
    random_changes : bool
        Compare each strategy also with a random change of the same size, such as random-subsample.
        This shows whether debiasing made the difference.
    seed : int or sequence of int
        Random seeds. With two or more, differences from no debiasing have an interval. With six or
        more, they are tested.
    head_only : bool
        Freeze the encoder and train only its last layer, which is quick.
    output : path, optional
        Folder of results; an interrupted call resumes from it.
    epochs : int, optional
        Number of epochs.  [default: 10; 300 with ``head_only``]
    batch_size : int, optional
        Batch size, in texts.  [default: 64]
    lr : float, optional
        Highest learning rate.  [default: 5e-5; 1e-3 with ``head_only``]
    every : int, optional
        Steps between evaluations on dev, each with a checkpoint.  [default: 1000, or an epoch]
    retrain_epochs : int, optional
        Number of epochs when the last layer is trained again.  [default: 10; 300 with
        ``head_only``]
    retrain_lr : float, optional
        Learning rate when the last layer is trained again.  [default: 1e-3]
    as_published : bool
        Use plain AdamW, and compute gaps as the released code does.
    max_length : int
        Maximum number of tokens of a text; longer ones are cut.
    pooling : str
        Tokens of the last layer that make a text's vector.
    sentences : path or iterable of str, optional
        Sentences for CEAT: one per line, or a table.  [default: those of the test set]
    sentence_column : str, optional
        With ``sentences``: column of the table.  [default: text, or sentence, or the only one]
    draws : int
        Number of samples that CEAT draws.
    shares : path or mapping, optional
        Share of women in each class: .json, .csv or .tsv.  [default: that of the training set]
    share_column : str, optional
        With ``shares``: column of the table, if it has several.
    balanced_probe : bool
        Probe gender on equally many women and men of each class.
    baselines : bool
        Probe gender also in the encoder before training, and with random weights.
    holm : bool
        Correct p-values for the number of tests (Holm).
    text_column : str, optional
        Column of the texts.  [default: a usual name, such as text]
    labels : str, optional
        Column of the occupations.  [default: profession, title, label or p]
    sensitive : str, optional
        Column of the genders.  [default: gender or g]
    female : str, optional
        Value that means female.  [default: F, female, …]
    split_column : str, optional
        Column of train, dev and test.  [default: split]
    name_column : str, optional
        Column of people's names, which scrub removes.  [default: name or names]
    limit : int, optional
        Number of biographies to use, for a trial.
    keep_models : bool
        Save the trained encoders in the folder, too.

    Returns
    -------
    Report
        The rows of every strategy and seed, before and after retraining, and summaries over seeds
        and over runs.

    Raises
    ------
    WordbiasError
        If data, encoder or folder cannot be used, the folder belongs to another study, or an
        argument would do nothing.

    Notes
    -----
    A random change has the size of its strategy, without regard to gender. It leaves out or repeats
    the same number of biographies of each class, or replaces the same number of words of each text.
    From vectors it removes random directions until they move as far; each seed has its own.
    ``null:N`` adds those of vectors alone; N is at least the number of seeds. Differences from
    random changes and from no debiasing are paired by seed. Biographies can also be a pickle that
    biosbias wrote; no code in it is run.

    Without ``output`` nothing is stored, and an interrupted call cannot be resumed.

    References
    ----------
    Orgad, H., Goldfarb-Tarrant, S., and Belinkov, Y. (2022). How Gender Debiasing Affects Internal
    Model Representations, and Why It Matters. NAACL.

    De-Arteaga, M., et al. (2019). Bias in Bios: A Case Study of Semantic Representation Bias in a
    High-Stakes Setting. FAT*.

    Examples
    --------
    >>> import wordbias as wb
    >>> report = wb.bios(
    ...     data="bios.tsv", model="roberta-base", output="study"
    ... )  # doctest: +SKIP
    >>> report.plot()  # doctest: +SKIP
    """
    how = current_config()
    if model is None:
        raise WordbiasError(
            "no encoder: give a folder, or a name on the hub, with --model; there is no default "
            "(Orgad et al. 2022 use roberta-base)"
        )
    if share_column is not None and shares is None:
        raise WordbiasError("--share-column names a column of --shares; give that file too")
    if sentence_column is not None and path_of(sentences) is None:
        raise WordbiasError("--sentence-column names a column of --sentences; give that file too")
    order = seeds_of(seed)
    chosen = with_null(strategies, order, is_removal)
    chosen = with_random_changes(chosen) if random_changes else chosen
    numbers = {"--max-length": (max_length, 3), "--draws": (draws, 2)}
    _check_early(numbers, output, keep_models, data=data, sentences=sentences, shares=shares)
    columns = {
        "text": text_column,
        "label": labels,
        "gender": sensitive,
        "split": split_column,
        "name": name_column,
    }
    people = _people(data, {**columns, "female": female}, how.skip_bad, limit)
    need("torch", extra="contextual", purpose="The occupation experiment")
    from wordbias.biographies.encoding import EncodingSettings
    from wordbias.biographies.experiment import run
    from wordbias.biographies.plan import FROZEN, HEAD, WHOLE, Plan

    recipe = (FROZEN if head_only else WHOLE).with_changes(
        epochs=epochs, rate=lr, batch=batch_size, every=every
    )
    retraining = (FROZEN if head_only else HEAD).with_changes(
        epochs=retrain_epochs, rate=retrain_lr
    )
    folder_context = (
        tempfile.TemporaryDirectory(prefix="wordbias-") if output is None else nullcontext(output)
    )
    inputs: dict[str, dict[str, Any]] = {}
    with folder_context as folder, in_folder(model) as encoder:
        plan = Plan(
            people,
            encoder,
            Path(folder),
            chosen,
            tuple(order),
            head_only,
            recipe.as_published() if as_published else recipe,
            retraining.as_published() if as_published else retraining,
            EncodingSettings(max_length, pooling, is_half(how.precision), how.device),
            baselines,
            draws=draws,
            balanced_probe=balanced_probe,
            as_published=as_published,
            keep_models=keep_models,
        )
        if shares is not None:
            where = path_of(shares) or "the shares given"
            known = load_shares(shares, share_column)
            values, _ = shares_for(people.classes, known, where)
            by_class = dict(zip(people.classes, values.tolist(), strict=True))
            plan = replace(plan, shares=by_class, shares_from=where)
            inputs["shares"] = {"path": where}
        if sentences is not None:
            where = path_of(sentences) or "the sentences given"
            if isinstance(sentences, (str, os.PathLike)):
                sentences = read_sentences(os.fspath(sentences), sentence_column)
            career_texts = find_sentences(sentences, career_words(), what=where)
            plan = replace(plan, sentences=career_texts, sentences_from=where)
            inputs["sentences"] = {"path": where}
        if people.dropped:
            dropped = how_many(people.dropped, "row")
            note(f"{people.path}: {dropped} dropped, the first: {people.problem}")
        rows = run(plan, Workers(how.jobs, how.backend))
    called = path_of(model) or type(model[0] if isinstance(model, tuple) else model).__name__
    facts = {
        "path": people.path,
        "sha256": people.sha256,
        "n": len(people),
        "classes": list(people.classes),
        "women": _women_by_class(people),
        "dropped": people.dropped,
    }
    summary = Summary.of(rows, correct=holm)
    return Report(
        inputs={"biographies": facts, "model": {"path": called}, **inputs},
        rows=[*rows, *summary.rows()],
        tables=tables(summary, frozen=head_only),
        heading=[_heading(people, called)],
        closing=closing(summary),
        seed=order[0],
        picture=plot_compression_fairness,
    )


def with_null(
    strategies: Sequence[str], seeds: Sequence[int], is_removal: Callable[[str], bool]
) -> tuple[str, ...]:
    """Put the random removal of each arm of vectors in place of ``null:N``."""
    arms: list[str] = []
    for name in strategies:
        if name.partition(":")[0] not in CONTROLS:
            arms.append(name)
            continue
        match = DRAWN.fullmatch(name)
        if match is None or match[1] != NULL:
            raise UsageError(f"strategy {name!r}: expected a number of draws from 1, as in null:6")
        if int(match[2]) < len(seeds):
            raise UsageError(
                f"strategy {name!r}: each of {len(seeds)} seeds has a random removal of its own; "
                f"give null:{len(seeds)}"
            )
        drawn = [
            strategy for strategy in strategies if is_removal(strategy) and not is_random(strategy)
        ]
        if not drawn:
            raise UsageError(
                f"strategy {name!r}: random removals are compared with those of strategies for "
                "vectors; add one to --strategies, such as leace"
            )
        arms += [f"{RANDOM}{strategy}" for strategy in drawn]
    return tuple(dict.fromkeys(arms))


def _check_early(
    numbers: Mapping[str, tuple[int, int]],
    output: str | os.PathLike[str] | None,
    keep_models: bool,
    **read: object,
) -> None:
    """Refuse numbers below their least, and files that could not be written after the work."""
    for option, (given, least) in numbers.items():
        if given < least:
            raise UsageError(f"{option}: expected {least} or more, got {given}")
    refuse_same({"-o": output}, {f"--{name}": file for name, file in read.items()})
    if output is not None:
        check_output_folder(output)
    elif keep_models:
        raise UsageError("--keep-models writes to --output; name a folder")


def _people(
    data: TableLike | Biographies | None,
    columns: Mapping[str, str | None],
    skip_bad: bool,
    limit: int | None,
) -> Biographies:
    """Read the biographies, or make up some; draw a sample of them if there is a limit."""
    if isinstance(data, Biographies) or data is None:
        if any(columns.values()):
            raise WordbiasError(
                "options for columns need a file: give one with --data, or leave them out for "
                "synthetic biographies"
            )
        people = data or synthetic()
    elif isinstance(data, (str, os.PathLike)):
        people = load_biographies(located(os.fspath(data)), **columns, skip_bad=skip_bad)
    elif hasattr(data, "notna"):
        people = load_biographies(data, **columns, skip_bad=skip_bad)
    else:
        kind = type(data).__name__
        raise WordbiasError(f"--data: expected a file, a pandas frame or Biographies, found {kind}")
    return people if limit is None else sample(people, limit)


def _heading(bios: Biographies, model: str) -> str:
    """Return the line above the tables: the data and the encoder."""
    shares = _women_by_class(bios)
    women = bios.counts()[:, 0].sum() / max(1, len(bios))
    listed = [
        f"{name} {100 * shares[name]:.0f} %" for name in sorted(shares, key=shares.__getitem__)
    ]
    by_class = ", ".join(listed) if len(listed) <= _FEW else f"from {listed[0]} to {listed[-1]}"
    return (
        f"Occupation experiment on {bios.path}: {len(bios):,} biographies, {len(shares)} "
        f"classes, {100 * women:.0f} % women ({by_class}). Encoder: {model}."
    )


def _women_by_class(bios: Biographies) -> dict[str, float]:
    """Return the share of women in each class that is not empty; `--limit` can leave one empty."""
    shares = zip(bios.classes, bios.shares().tolist(), strict=True)
    return {name: share for name, share in shares if not math.isnan(share)}
