"""Accuracy, parity and fairness of an NLI model about occupations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from wordbias.calls import public
from wordbias.contextual.labelled_pairs import LabelledPairs, load_inferences
from wordbias.contextual.nli_fairness import (
    DROP,
    PARITIES,
    Parity,
    Viability,
    fairness_rows,
    occupation_records,
    snli_row,
)
from wordbias.embedding import EmbeddingLike
from wordbias.errors import UsageError
from wordbias.formats.files import check_writable, refuse_same, replacing
from wordbias.functions.adapters import AdapterLike, open_adapter
from wordbias.functions.inputs import ReadOptions, names_of, path_of
from wordbias.functions.lists import templates_of
from wordbias.functions.nli_models import File, open_nli_model, open_pairs
from wordbias.nli.files import Model
from wordbias.nli.hugging_face import Classifier
from wordbias.nli.pairs import PairsLike, load_pairs, pairs_name
from wordbias.nli.scoring import accuracy, notes_on_missing_words, notes_on_vectors, score_set
from wordbias.nli.test_sets import Pair, TestSet, build
from wordbias.pretrained import ModelLike
from wordbias.rendering import Table, as_csv
from wordbias.results import Report, Row, number
from wordbias.wordlists import GroupsLike, Templates, other_than_gender

if TYPE_CHECKING:
    from wordbias.contextual.adapters import Adapter

_SNLI = "snli-accuracy"
_Run = tuple[str, NDArray[np.float32], tuple[float, int] | None]
"""A setting, the probabilities of the test set, and accuracy and number of the SNLI pairs."""


class _Evaluated(NamedTuple):
    """A model and its runs: unmodified, and with each setting of an adapter."""

    subject: str
    described: str
    inputs: Mapping[str, Mapping[str, Any]]
    runs: Iterable[_Run]
    notes: Sequence[str] = ()


@public
def nli_fairness(
    model: ModelLike | Model | None = None,
    *,
    snli: PairsLike | None = None,
    embedding: EmbeddingLike | None = None,
    labels: str | Sequence[str] | None = None,
    device: str | None = None,
    adapter: AdapterLike | None = None,
    setting: str | Sequence[str] = (),
    force: bool = False,
    parity: Parity = PARITIES[0],
    base_snli: float | None = None,
    drop: float = DROP,
    relative: bool = False,
    groups: GroupsLike | None = None,
    lists: File | Templates | None = None,
    as_published: bool = False,
    output: File | None = None,
    skip_bad: bool = False,
    allow_pickle: bool = False,
    cache: bool = True,
    seed: int = 0,
) -> Report:
    """Measure whether an NLI model takes a doctor for a man (Dawkins et al. 2024, section 3).

    The premise is "The doctor bought a hat.", the hypothesis "The man bought a hat." or "The woman
    …", for 164 occupations and 33 templates: 10,824 pairs, all of them neutral. Accuracy is the
    share predicted neutral, parity the share of occupations whose prediction does not depend on
    gender, and fairness η their product. With ``groups`` the hypotheses are about two other groups
    of people: "The Christian person …".

    ``model`` is a Hugging Face model with three labels (a folder, or a name on the hub), or a file
    that wordbias nli-train wrote, with its ``embedding``. By default it is the model that comes
    with wordbias, on the sample.

    Parameters
    ----------
    model : path, hub name, (model, tokenizer), pipeline or wordbias.nli.files.Model, optional
        The model to measure; by default the one that comes with wordbias.
    snli : path, list of (label, premise, hypothesis) or pandas frame, optional
        Labelled pairs, to measure accuracy as well.
    embedding : path, fetched name, Embedding, KeyedVectors or (words, vectors), optional
        Embedding for a ``model`` that nli-train wrote.
    labels : sequence of str, optional
        Order of the NLI model's outputs, neutral,entailment,contradiction, if it does not say.
    device : str, optional
        auto, cpu, cuda or mps.  [default: auto, the first available of cuda, mps, cpu]
    adapter : path or Adapter, optional
        Adapter that wordbias project wrote; the model is measured with it as well.
    setting : str, or several
        Setting of the adapter, such as L11-11101; may be repeated.
    force : bool
        Use the adapter even if it was fitted on another model.
    parity : str
        Parity in η: labels must agree in the mean over templates, or in every template.
    base_snli : float, optional
        SNLI accuracy before debiasing.  [default: that of ``model`` without adapter]
    drop : float
        Largest loss of SNLI accuracy of a viable model.
    relative : bool
        Take ``drop`` as a share of the accuracy before debiasing.
    groups : name, path or mapping, optional
        Groups to compare: gender, gender-fr, age, religion:A,B, … (wordbias lists), or a TOML file.
    lists : path or wordbias.wordlists.Templates, optional
        Word lists in the layout of Dev et al. (2020).
    as_published : bool
        Choose "a" or "an" by the first letter only, as the published sets do: a SUV.
    output : path, optional
        File for the results of each occupation.
    skip_bad : bool
        Drop and count rows that cannot be used.
    allow_pickle : bool
        Open gensim .kv files, which are pickles and can run any code.
    cache : bool
        Cache parsed text; later calls memory-map it.
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        For the unmodified model and for each ``setting`` of the adapter the accuracy, both kinds of
        parity and η, with bootstrap intervals over occupations; with ``snli`` the accuracy on its
        pairs, and whether the setting is ``viable``.

    Raises
    ------
    UsageError
        If an argument is for the other kind of model, or ``adapter`` and ``setting`` do not come
        together.
    WordbiasError
        If a file or object cannot be used, or the adapter was fitted on another model.

    References
    ----------
    Dawkins, H., Nejadgholi, I., Gillis, D., & McCuaig, J. (2024). Projective methods for mitigating
    gender bias in pre-trained language models.

    Examples
    --------
    >>> import wordbias as wb
    >>> report = wb.nli_fairness()
    >>> 0 <= report["nli-parity"][0].value <= 1
    True
    """
    file = path_of(model)
    is_ours = model is None or isinstance(model, Model) or (file is not None and isfile(file))
    adapted = adapter is not None and bool(setting)
    if is_ours and (labels is not None or device is not None or adapted):
        raise UsageError("--labels, --device and --adapter are for a Hugging Face model")
    fitted, settings = open_adapter(adapter, setting, force=force)
    if embedding is not None and (not is_ours or model is None):
        raise UsageError("--embedding is for a model file that wordbias nli-train wrote")
    for name, share in (("--base-snli", base_snli), ("--drop", drop)):
        if share is not None and not 0 <= share <= 1:
            raise UsageError(f"{name} is {share:g}: expected a share of 1, such as 0.05")
    if output is not None:
        check_writable(output)
        read = {"MODEL": file, "--embedding": path_of(embedding), "--snli": path_of(snli)}
        read |= {"--adapter": path_of(adapter), "--groups": path_of(groups)}
        refuse_same({"-o": path_of(output)}, read)
    test = build(
        "parity",
        templates_of(lists),
        attribute=other_than_gender(groups),
        as_published=as_published,
    )
    if is_ours:
        read_options = ReadOptions(cache, skip_bad, allow_pickle)
        result = _ours(cast("File | Model | None", model), embedding, read_options, snli, test)
    else:
        texts = None if snli is None else load_inferences(open_pairs(snli))  # refused sooner
        classifier = Classifier.load(
            cast("ModelLike", model), labels=names_of(labels) or None, device=device
        )
        file = path_of(adapter) or "adapter"
        result = _hugging_face(classifier, texts, test, fitted, settings, file, force)
    rows, records = _measured(result, test, parity, Viability(base_snli, drop, relative), seed)
    if output is not None:
        with replacing(output) as stream:
            stream.write(as_csv(records).encode())
    words = " and ".join(filler.word for filler in test.hypotheses)
    return Report(
        inputs=result.inputs,
        rows=rows,
        tables=[_table(rows, parity, drop, relative)],
        heading=[
            f"NLI fairness of {result.described}: {len(test):,} pairs about {words}, all neutral."
        ],
        closing=[f"Written: {output}."] if output is not None else [],
        seed=seed,
        notes=result.notes,
    )


def _measured(
    result: _Evaluated, test: TestSet, parity: Parity, viability: Viability, seed: int
) -> tuple[list[Row], list[dict[str, Any]]]:
    """Return rows, and records of every occupation, of all runs; the first run is the base."""
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    for setting, found, right in result.runs:
        rows += fairness_rows(
            test, found, result.subject, parity=parity, setting=setting, seed=seed
        )
        records += [{"setting": setting, **one} for one in occupation_records(test, found)]
        if right is not None:
            rows.append(snli_row(*right, result.subject, setting=setting, viability=viability))
            if viability.base is None:
                viability = viability._replace(base=right[0])
    return rows, records


def _ours(
    given: File | Model | None,
    embedding: EmbeddingLike | None,
    read_options: ReadOptions,
    snli: PairsLike | None,
    test: TestSet,
) -> _Evaluated:
    """Evaluate decomposable attention on an embedding."""
    ours = open_nli_model(given, embedding, read_options)
    model, read = ours.model, ours.embedding
    inputs: dict[str, dict[str, Any]] = {
        read.name: ours.subject.info.to_dict(),
        "model": {"path": ours.path},
    }
    pairs = None if snli is None else load_pairs(open_pairs(snli))
    if snli is not None and pairs is not None:
        name = pairs_name(snli)
        inputs["snli"] = {"path": name, "pairs": len(pairs), "sha256": pairs.sha256}
    scored = score_set(model, read, test)
    right = None if pairs is None else (accuracy(model, read, pairs), len(pairs))
    notes = [*notes_on_vectors(model, read), *notes_on_missing_words([scored], read)]
    return _Evaluated(
        read.name, ours.description(), inputs, [("", scored.probabilities, right)], notes
    )


def _hugging_face(
    classifier: Classifier,
    snli: LabelledPairs | None,
    test: TestSet,
    adapter: Adapter | None,
    settings: Sequence[str],
    file: str,
    force: bool,
) -> _Evaluated:
    """Evaluate a Hugging Face model, unmodified and with each setting."""
    name = classifier.name
    about = {"path": name, "labels": classifier.labels(), "device": classifier.device}
    inputs = {"model": about} | ({} if snli is None else {"snli": snli.source()})

    def run(setting: str) -> _Run:
        found = classifier.score_set(test)
        if snli is None:
            return setting, found, None
        return (
            setting,
            found,
            (classifier.accuracy([Pair(*pair) for pair in snli.pairs], snli.labels), len(snli)),
        )

    def runs() -> Iterator[_Run]:
        yield run("")
        if adapter is not None:
            from wordbias.contextual.hooks import applied

            adapter.check(classifier.model, force=force, name=file)
            for setting in settings:
                with applied(classifier.model, adapter.interventions(setting)):
                    found = run(setting)
                yield found

    return _Evaluated(Path(name).name, f"the Hugging Face model {name}", inputs, runs())


def _table(rows: Sequence[Row], parity: str, drop: float, relative: bool) -> Table:
    """Return the table with one line a setting."""
    cells = []
    for setting in dict.fromkeys(row.details["setting"] for row in rows):
        found = {_key(row): row for row in rows if row.details["setting"] == setting}
        line = [setting or "unmodified"]
        line += [_with_interval(found[key]) for key in found if key != _SNLI]
        if snli := found.get(_SNLI):
            viable = snli.details.get("viable")
            verdict = "" if viable is None else ", viable" if viable else ", not viable"
            line.append(f"{number(snli.value)}{verdict}")
        cells.append(line)
    heads = ["accuracy", "parity, mean", "parity, strict", "fairness η"]
    has_snli = any(row.measure == _SNLI for row in rows)
    limit = f"{drop:.0%} of the base" if relative else f"{100 * drop:g} points"
    viability = f" Viable: loses at most {limit} on SNLI." if has_snli else ""
    return Table(
        rows[0].subject,
        ["", *heads, *(["SNLI"] if has_snli else [])],
        cells,
        f"1 is best. η = accuracy · parity ({parity}). 95 % intervals: bootstrap over "
        f"occupations.{viability}",
    )


def _key(row: Row) -> str:
    """Return the key of a row; both kinds of parity are one measure."""
    return f"{row.measure} {row.details['parity']}" if row.measure == "nli-parity" else row.measure


def _with_interval(row: Row) -> str:
    return f"{number(row.value, 3)} {row.details['low']:.2f}…{row.details['high']:.2f}"
