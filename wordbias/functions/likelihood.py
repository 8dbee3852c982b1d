"""Bias of a decoder, by the likelihood of texts and of answers."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from wordbias.arguments import check_choice, check_number
from wordbias.calls import path_of, public
from wordbias.contextual.adapters import weights_sha256
from wordbias.contextual.hooks import Intervention, applied, sha256_of
from wordbias.contextual.likelihood.causal_model import CausalModel
from wordbias.contextual.likelihood.evaluate import Found, Items, load_data, with_changes
from wordbias.contextual.likelihood.pairs import Record
from wordbias.contextual.likelihood.perplexity import LENGTH
from wordbias.contextual.likelihood.resume import resuming
from wordbias.contextual.sentence_pairs import SentencePairsLike, sentence_pairs
from wordbias.contextual.stereoset.scores import Settings
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats.files import check_writable, refuse_same, replacing
from wordbias.functions.adapters import AdapterLike, about_adapter, open_adapter
from wordbias.pretrained import ModelLike
from wordbias.probes.encoder import PRECISIONS
from wordbias.rendering import Table, as_csv, how_many
from wordbias.resources import located
from wordbias.results import Report, Row, number
from wordbias.text_files import read_text

PathLike = str | os.PathLike[str]
_CONDITIONS = {"ambig": "ambiguous", "disambig": "told"}
_TITLES = {
    "crows": "stereotyping one likelier",
    "likelihood-difference": "mean |difference|, nats",
    "pair-preferred": "first likelier",
    "pair-lean": "mean log p(first) − log p(second)",
    "pro-preferred": "pro-stereotyped likelier",
    "coreference-accuracy": "resolved right",
    "coreference-gap": "gap",
    "coreference-correlation": "correlation with % women",
    "bbq-accuracy": "accuracy",
    "bbq-bias": "bias score",
    "ss": "ss",
    "lms": "lms",
    "icat": "icat",
}
_NAMES = {"intrasentence": "StereoSet", "pairs": "pairs of your own"}
_OF_BIAS = (
    "crows",
    "ss",
    "coreference-gap",
    "coreference-correlation",
    "pro-preferred",
    "bbq-bias",
    "pair-preferred",
    "pair-lean",
)
"""Measures of bias of which the closing lines say the change."""
_OF_COST = ("perplexity", "lms", "bbq-accuracy")
"""Measures of what a change costs."""
_NONE = "none"
"""Name of the setting of records before any removal."""
_NOTES = {
    "CrowS-Pairs": "No preference is .5; a difference is above 0 for any model.",
    "pairs": "No preference is .5, no lean 0.",
    "intrasentence": "ss: .5 is no preference; lms and icat: 1 is best.",
    "Winogender": "Chance is .5, a gap or correlation of 0 no bias.",
    "WinoBias": "Chance and no preference are .5, a gap of 0 is no bias.",
    "BBQ": (
        "Bias 0 is none, 1 all answers as the stereotype says. Of own answers, chance is right in "
        "a third; of the harness's, which say “unknown” in ten ways, in 10 of 12 that are "
        "ambiguous and 1 of 12 that are not."
    ),
}


@public
def likelihood(
    model: ModelLike,
    *,
    data: PathLike | Sequence[PathLike] = (),
    pairs: SentencePairsLike | None = None,
    perplexity: PathLike | None = None,
    adapter: AdapterLike | None = None,
    setting: str | Sequence[str] = (),
    force: bool = False,
    as_published: bool = False,
    bos: bool = True,
    max_length: int | None = None,
    device: str | None = None,
    precision: str | None = None,
    output: PathLike | None = None,
    seed: int = 0,
) -> Report:
    """Measure by likelihood which texts a decoder prefers: stereotypes or their opposites.

    Decoders are causal language models, such as GPT-2, Llama or SmolLM. ``data`` is any of these,
    recognised by its content: CrowS-Pairs (Nangia et al. 2020), StereoSet within sentences (Nadeem
    et al. 2021), WinoBias (Zhao et al. 2018), Winogender (Rudinger et al. 2018), BBQ (Parrish et
    al. 2022). They are scored as lm-evaluation-harness does, where it has the task, and as their
    authors do. Each is measured by two scores: the log-likelihood of a text, and its mean over the
    tokens. ``pairs`` are counterfactual pairs of your own, and ``perplexity`` is the cost.

    A text without a context follows the BOS token, or EOS if the tokenizer has no BOS. A context
    that is too long is cut at its beginning.

    With ``adapter`` the same items are measured once more with each setting of it removed. The
    answer says what changed and at what cost. With ``output``, the same call resumes an interrupted
    measurement.

    Parameters
    ----------
    model : path, name on the hub, or (model, tokenizer)
        The decoder to measure.
    data : path or fetched name, or several
        A file or folder of one of the data sets; may be repeated.
    pairs : path or sequence of (first, second), optional
        Pairs of texts, a tab between the two, or a TOML file.
    perplexity : path, optional
        Text of which the perplexity is measured.
    adapter : path or Adapter, optional
        Adapter that wordbias project wrote; the model is measured with it as well.
    setting : str or sequence of str, optional
        Setting of the adapter, such as tokens@3; may be repeated.  [default: the one stored in the
        adapter]
    force : bool
        Use the adapter even if it was fitted on another model.
    as_published : bool
        Count ties as 0, as the published programs do; of StereoSet's sentences, let only the first
        token follow the BOS token, and average over terms, as its authors do.
    bos : bool
        Let texts without a context follow the BOS token. If not, their first token is not scored.
    max_length : int, optional
        Maximum number of tokens that the model reads.  [default: what it can; 1,024 for
        ``perplexity``]
    device : str, optional
        cpu, cuda or mps.  [default: the first of cuda, mps, cpu that is there]
    precision : str, optional
        Precision of the model.  [default: that of its weights]
    output : path, optional
        File for the scores of each item (CSV).
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        A row for each measure, part of the data and score; ``low`` and ``high`` are its interval:
        Wilson's of a share, else a bootstrap over pairs, occupations or templates. After a
        ``setting``, which is the row's ``stage``, ``change`` is that from the row before, and
        ``change_low`` and ``change_high`` are its interval, a bootstrap over the same items.

    Raises
    ------
    WordbiasError
        If a file cannot be used, the model is an encoder, a text is longer than it can read, or
        the adapter is of another model or changes no score.

    References
    ----------
    Gao et al. (2024), "The Language Model Evaluation Harness", v0.4.3; compared with 0.4.13.

    Examples
    --------
    >>> import wordbias as wb
    >>> report = wb.likelihood("gpt2", data="crows_pairs_anonymized.csv")  # doctest: +SKIP
    >>> report["crows"][0].value  # doctest: +SKIP
    """
    given = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    if not given and pairs is None and perplexity is None:
        raise UsageError("nothing to measure: give --data, --pairs or --perplexity")
    check_choice("--precision", precision, PRECISIONS)
    if max_length is not None:
        check_number("--max-length", max_length, 2)
    target = path_of(output)
    if target is not None:
        check_writable(target)
        read = {"--pairs": path_of(pairs), "--perplexity": path_of(perplexity)}
        read["--adapter"] = path_of(adapter)
        for one in [None, *given]:
            refuse_same({"-o": target}, {**read, "--data": path_of(one)})
    fitted, names = open_adapter(adapter, setting, force=force)
    items = Items(
        [load_data(located(os.fspath(one))) for one in given],
        None if pairs is None else sentence_pairs(pairs),
        None if perplexity is None else read_text(located(os.fspath(perplexity))),
        Settings(as_published=as_published, seed=seed),
        max_length or LENGTH,
    )
    decoder = CausalModel.load(
        model,
        device=device,
        precision=None if fitted is not None else precision,
        max_length=max_length,
        bos=bos,
    )
    about = {"model": _about(decoder), **items.about(path_of(pairs) or "given")}
    removals: dict[str, Sequence[Intervention]] = {}
    if fitted is not None:  # compared as it is stored: float16 rounds small weights away
        fitted.check(decoder.model, force=force, name=path_of(adapter) or "adapter", inside=True)
        decoder = decoder.on(device, precision)
        about |= {"model": _about(decoder), "adapter": about_adapter(adapter, fitted)}
        removals = {name: fitted.interventions(name) for name in names}
    with resuming(target, {} if target is None else _identity(decoder, removals)) as kept:
        decoder = replace(decoder, kept=kept)
        before = items.measure(decoder)
        after = {name: _after(decoder, items, before, name, of) for name, of in removals.items()}
        if target is not None:
            with replacing(target) as stream:
                stream.write(as_csv(_records(before, after)).encode())
    changed = {name: found.rows for name, found in after.items()}
    said = [line for name, rows in changed.items() for line in _said(name, before.rows, rows)]
    return Report(
        inputs=about,
        rows=[*before.rows, *(row for rows in changed.values() for row in rows)],
        tables=[*_tables(before.rows), *_change_tables(before.rows, changed)],
        heading=[f"{decoder.name} on {items.described()}."],
        closing=[*said, *([] if target is None else [f"Written: {target}."])],
        seed=seed,
        notes=_notes(decoder, before),
    )


def _after(
    decoder: CausalModel,
    items: Items,
    before: Found,
    setting: str,
    removals: Sequence[Intervention],
) -> Found:
    """Measure a decoder on the same items while a setting of an adapter is removed.

    Raises
    ------
    WordbiasError
        If every log-likelihood is as without it.
    """
    with applied(decoder.model, removals, setting):
        found = items.measure(replace(decoder, name=f"{decoder.name} {setting}"))
    values = [row.value for row in found.rows]
    if found.records == before.records and values == [row.value for row in before.rows]:
        raise WordbiasError(
            f"{decoder.name}: the setting {setting} changes no likelihood; choose sites such as "
            "tokens@L and attention-output@L"
        )
    rows = with_changes(before.rows, found.rows, setting, items.settings.seed)
    return replace(found, rows=rows)


def _identity(
    decoder: CausalModel, removals: Mapping[str, Sequence[Intervention]]
) -> dict[str, object]:
    """Return everything that log-likelihoods depend on except the texts."""
    return {
        "weights": weights_sha256(decoder.model.named_parameters()),
        "device": decoder.device,
        "precision": decoder.precision,
        "removals": {
            name: sha256_of(steps, [str(one) for one in steps]) for name, steps in removals.items()
        },
    }


def _records(before: Found, after: Mapping[str, Found]) -> list[Record]:
    """Return the records of the items, with a column for the setting if there is an adapter."""
    if not after:
        return before.records
    every = {_NONE: before, **after}
    return [{"setting": name, **one} for name, found in every.items() for one in found.records]


def _about(decoder: CausalModel) -> dict[str, object]:
    tokenizer = decoder.tokenizer
    start = tokenizer.convert_ids_to_tokens(decoder.start) if decoder.bos else None
    return {
        "path": decoder.name,
        "class": type(decoder.model).__name__,
        "device": decoder.device,
        "precision": decoder.precision,
        "tokens": decoder.limit,
        "before a text": start,
        "before a context": [tokenizer.convert_ids_to_tokens(one) for one in decoder.front],
    }


def _notes(decoder: CausalModel, found: Found) -> list[str]:
    notes = list(found.notes)
    if decoder.bos and decoder.tokenizer.bos_token_id is None:
        token = decoder.tokenizer.convert_ids_to_tokens(decoder.start)
        notes.append(f"the tokenizer has no BOS token: texts follow its EOS token, {token}")
    if found.cut:
        notes.append(
            f"{how_many(found.cut, 'text')} had a context longer than {decoder.limit} tokens, "
            "which was cut at its beginning"
        )
    return notes


# Tables


def _tables(rows: Sequence[Row]) -> list[Table]:
    """Return a table for each data set: one line a part of it, one column a measure and score."""
    tasks = list(dict.fromkeys(str(row.details.get("task", "")) for row in rows))
    made = []
    for task in tasks:
        of = [row for row in rows if row.details.get("task", "") == task]
        made.append(_perplexity_table(of) if not task else _task_table(task, of))
    return made


def _task_table(task: str, rows: Sequence[Row]) -> Table:
    lines: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        lines.setdefault(_line(row.details), {})[row.measure] = row
    measures = list(dict.fromkeys(row.measure for row in rows))
    keys = ["part", "score", *(["answers"] if task == "BBQ" else [])]
    cells = [
        [*line, str(next(iter(of.values())).details["n"]), *(_cell(of.get(m)) for m in measures)]
        for line, of in lines.items()
    ]
    title = "StereoSet, within sentences" if task == "intrasentence" else task
    heads = [*keys, "n", *(_TITLES[one] for one in measures)]
    return Table(title, heads, cells, f"{_NOTES[task]} In brackets: 95 % intervals.")


def _line(details: Mapping[str, object]) -> tuple[str, ...]:
    parts = [
        str(details["subset"]),
        _CONDITIONS.get(str(details.get("condition", "")), ""),
        "" if details.get("setting") in (None, "all") else str(details["setting"]),
    ]
    part = ", ".join(one for one in parts if one)
    return part, str(details["score"]), *([str(details["answers"])] if "answers" in details else [])


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    if "low" not in row.details:
        return number(row.value, 3)
    return f"{number(row.value, 3)} [{row.details['low']:.2f}, {row.details['high']:.2f}]"


# Before and after


def _change_tables(before: Sequence[Row], after: Mapping[str, Sequence[Row]]) -> list[Table]:
    """Return a table for each setting: each value before and after it, and its change."""
    return [
        Table(
            f"Before and after {name}",
            ["data", "part", "score", "measure", "before", "after", "change, 95 %"],
            [_change_cells(was, now) for was, now in zip(before, rows, strict=True)],
            "The intervals are a paired bootstrap over the same items.",
        )
        for name, rows in after.items()
    ]


def _change_cells(was: Row, now: Row) -> list[str]:
    task = str(was.details.get("task", "a text"))
    part, score, *answers = _line(was.details) if "subset" in was.details else ("", "")
    return [
        _NAMES.get(task, task),
        ", ".join([part, *answers]),
        score,
        _TITLES.get(was.measure, was.measure),
        number(was.value, 3),
        number(now.value, 3),
        _change(now),
    ]


def _change(row: Row) -> str:
    """Return the change of a value with its sign and its interval."""
    about = row.details
    if "change" not in about:
        return "–"
    low, high = about.get("change_low"), about.get("change_high")
    ends = "" if low is None or high is None else f" [{_signed(low)}, {_signed(high)}]"
    return f"{_signed(about['change'])}{ends}"


def _signed(value: float) -> str:
    shown = number(value, 3)
    return f"+{shown}" if value > 0 and shown.strip("0.") else shown


def _said(setting: str, before: Sequence[Row], after: Sequence[Row]) -> list[str]:
    """Say what a setting changed, and at what cost: of each data set all items, by their sums."""
    found: dict[tuple[object, ...], tuple[Row, Row]] = {}
    for was, now in zip(before, after, strict=True):
        about = was.details
        key = was.measure, about.get("task"), about.get("condition")
        if was.value is not None and now.value is not None:
            found.setdefault(key, (was, now))
    bias = [_sentence(*pair) for pair in found.values() if pair[0].measure in _OF_BIAS]
    cost = [_sentence(*pair) for pair in found.values() if pair[0].measure in _OF_COST]
    if not any(row.measure == "perplexity" for row in before):
        cost.append("perplexity not measured, which --perplexity TEXT does")
    return [
        *([f"After {setting}: {'; '.join(bias)}."] if bias else []),
        f"Cost of {setting}: {'; '.join(cost)}.",
    ]


def _sentence(was: Row, now: Row) -> str:
    """Say how a value changed: towards no bias or what is better, away from it, or not clearly."""
    about = now.details
    task = str(about.get("task", ""))
    condition = _CONDITIONS.get(str(about.get("condition", "")), "")
    what = " ".join(
        [*([_NAMES.get(task, task)] if task else []), *([condition] if condition else [])]
    )
    title = _TITLES.get(was.measure, was.measure)
    values = f"{title} {number(now.value, 3)}, {number(was.value, 3)} before"
    low, high = about.get("change_low"), about.get("change_high")
    if was.value == now.value or (low is not None and high is not None and low <= 0 <= high):
        verdict = f"no clear change, {_change(now)}"
    elif low is None:
        verdict = f"{_change(now)}, no interval"
    else:
        verdict = f"{direction(was, now)}, {_change(now)}"
    return f"{what}: {values} ({verdict})" if what else f"{values} ({verdict})"


def direction(was: Row, now: Row) -> str:
    """Say which way a value went, by its neutral value, or by which way is better."""
    a, b, neutral = was.value or 0.0, now.value or 0.0, now.details.get("neutral")
    if neutral is not None:
        far, was_far = abs(b - neutral), abs(a - neutral)
        if math.isclose(far, was_far):
            return f"as far from no bias, {number(neutral, 1)}, on the other side"
        return f"{'nearer to' if far < was_far else 'farther from'} no bias, {number(neutral, 1)}"
    better = (b > a) == (now.details.get("better") == "higher")
    return "better" if better else "worse"


def _perplexity_table(rows: Sequence[Row]) -> Table:
    about = rows[0].details
    read = (
        f"Windows of {about['length']:,} tokens; in brackets: 95 % interval, a bootstrap over "
        "windows."
    )
    if about.get("low") is None:
        read = f"One window of at most {about['length']:,} tokens: no interval."
    return Table(
        "Perplexity",
        ["", "tokens", "value"],
        [[row.measure, f"{about['n']:,}", _cell(row)] for row in rows],
        f"{read} Lower is better.",
    )
