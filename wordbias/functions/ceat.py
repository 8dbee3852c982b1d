"""CEAT: association tests on words in context, over many sentences."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from wordbias import cells
from wordbias.calls import is_given, note, public
from wordbias.configuration import current_config, uses
from wordbias.errors import Interrupted, UsageError, WordbiasError, listed
from wordbias.formats.files import check_outputs
from wordbias.functions.adapters import AdapterLike, Removal, open_adapter
from wordbias.functions.encode import notes_on_modules
from wordbias.functions.inputs import path_of
from wordbias.models.encoder import Encoder
from wordbias.models.model_like import ModelLike
from wordbias.models.representations import (
    Layers,
    Representations,
    load_representations,
    which_layers,
)
from wordbias.models.resume import check_target
from wordbias.models.template import check_template
from wordbias.models.texts import TextsLike
from wordbias.pivot import pivot, values
from wordbias.probes.ceat.association import DRAWS, Variance
from wordbias.probes.ceat.measure import Settings, check_words, swapped
from wordbias.probes.ceat.measure import ceat as measured
from wordbias.probes.ceat.sentences import (
    AS_PUBLISHED,
    PER_WORD,
    ContextSettings,
    Sentences,
    can_be_found,
    encode_contexts,
    find_sentences,
    read_sentences,
)
from wordbias.probes.inputs import is_representations
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.resources import located
from wordbias.results import Row
from wordbias.statistics import upper_tail
from wordbias.wordlists.queries import Query, QueryLike, as_queries

FEW = 10
"""Number of sentences below which tables name a word."""
_OF_MODELS = (
    "sentences", "text_column", "per_word", "template", "subword", "special_tokens",
    "short_context", "max_length", "output", "device", "precision", "random_init", "adapter",
    "setting", "force",
)  # fmt: skip
_MEDIUM, _LARGE = 0.5, 0.8
_REMEDY = "add a table [queries.NAME]"
_P_SHRINKS = (
    "p is not a test of significance. Its standard error, se, falls as 1/√draws. With enough draws "
    "any effect but 0 has p near 0 (or, one-sided and negative, near 1). Read the interval over "
    "sentences, which does not shrink."
)
_CONVENTION = (
    "Effect sizes as in WEAT: neutral 0; positive: X is associated with A, Y with B; beyond ±0.5 "
    "medium, beyond ±0.8 large. The interval is a bootstrap over the distinct sentences of every "
    "word; the words are fixed."
)


@public
@uses("device", "precision")
def ceat(
    model: ModelLike | Representations,
    query: QueryLike = "1-10",
    *,
    sentences: TextsLike | None = None,
    text_column: str | None = None,
    draws: int = DRAWS,
    layers: Layers = None,
    variance: str | None = None,
    per_word: int | None = None,
    min_sentences: int = 1,
    template: str | None = None,
    subword: str | None = None,
    special_tokens: bool | None = None,
    short_context: bool | None = None,
    as_published: bool = False,
    swap_roles: bool = False,
    max_length: int | None = None,
    adapter: AdapterLike | None = None,
    setting: str | Sequence[str] = (),
    force: bool = False,
    random_init: int | None = None,
    output: str | os.PathLike[str] | None = None,
    seed: int = 0,
) -> Report:
    """Test associations between two sets of words and two others, in context.

    CEAT (Guo and Caliskan 2021) computes WEAT many times. Each time it takes the words' vectors in
    one randomly drawn sentence per word. It combines the effect sizes by a random-effects model.
    MODEL is an encoder, a folder or a name on the hub, and needs ``sentences``. VECTORS is a file
    that ``output`` or `wordbias encode --word-column word` wrote.

    In a causal model, such as GPT-2 or Llama, a word's vector depends only on the words before it.
    A note counts the sentences that begin with the word; ``template`` can put text before them.

    Only whole words are found. A word with a capital (Bill) is found only in this form. A word
    without a capital (bill) is found in upper and lower case. Equal sentences count once.

    Parameters
    ----------
    model : folder, name, (model, tokenizer), SentenceTransformer, Representations or their file
        An encoder, or vectors of words in context with a column ``word``.
    query : str, path, Query, {"targets": {name: words, …}, "attributes": …} or several
        Queries: names or numbers of WEAT's, 1,6-8, or all; names of SEAT's, such as
        angry-black-woman, or seat. 3-5 are about ethnicity, 6-8 about gender, 10 about age. Or a
        TOML or JSON file of your own; FILE::NAME is one query in it.
    sentences : path, sequence of str, mapping or frame of columns, optional
        Sentences, one per line, or a table; for a MODEL.
    text_column : str, optional
        With ``sentences``: column of the table.  [default: text, or sentence, or the only one]
    draws : int
        Number of samples, each of one sentence per word.
    layers : int, sequence of int or str, optional
        Layers: all, last, or numbers such as 0,3,6.  [default: last of a MODEL, all of VECTORS]
    variance : str, optional
        Variance of one sample's effect size.  [default: standard-error]
    per_word : int, optional
        Maximum number of sentences per word.  [default: 1,000]
    min_sentences : int
        Minimum number of sentences; words with fewer are left out.
    template : str, optional
        Template for each sentence, which replaces its {}: "Someone said: {}". Or chat, for the
        model's chat template.
    subword : str, optional
        How a word's tokens give its vector.  [default: mean, for a causal model last]
    special_tokens : bool, optional
        Add [CLS] and [SEP] to the model's input.  [default: yes]
    short_context : bool, optional
        Cut sentences to a window around the word, as the released code does.  [default: no]
    as_published : bool
        Do as the released code does: variance, last sub-word, no special tokens, window.
    swap_roles : bool
        Exchange targets and attributes.
    max_length : int, optional
        Maximum number of tokens of a text; longer ones are cut.
    adapter : path or Adapter, optional
        Adapter that wordbias project wrote; the model is measured with it as well.
    setting : str or sequence of str, optional
        With ``adapter``: its setting to remove, such as L11-11101; may be repeated.
    force : bool
        With ``adapter``: use it even if it was fitted on another model.
    random_init : int, optional
        Use random weights of this seed, as a baseline.
    output : path, optional
        File for the words' vectors (safetensors), not for results. With one ``setting`` it gets the
        vectors after that setting.
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        A row for each query and layer, and for each ``setting``: the combined effect size, its
        interval over sentences (``low``, ``high``), and the spread of the samples.

    Raises
    ------
    WordbiasError
        If no query has enough words with sentences, or a file or an argument cannot be used.

    References
    ----------
    Guo and Caliskan, Detecting Emergent Intersectional Biases: Contextualized Word Embeddings
    Contain a Distribution of Human-like Biases, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> import wordbias as wb
    >>> from wordbias.columns import Column
    >>> from wordbias.models.representations import Representations
    >>> words = ["nurse", "aide", "surgeon", "boss", "she", "her", "he", "him"] * 5
    >>> vectors = np.random.default_rng(0).normal(size=(1, 40, 3)).astype(np.float32)
    >>> reps = Representations(vectors, (12,), {"word": Column.of(words)})
    >>> query = {"targets": {"care": ["nurse", "aide"], "lead": ["surgeon", "boss"]},
    ...          "attributes": {"female": ["she", "her"], "male": ["he", "him"]}}
    >>> wb.ceat(reps, query, draws=100)["ceat"][0].details["layer"]
    12
    """
    how = current_config()
    queries = as_queries(query, remedy=_REMEDY)
    kind = variance or ("released" if as_published else "standard-error")
    how_tested = Settings(draws, cast("Variance", kind), min_sentences, swap_roles, seed)
    given = [f"--{name.replace('_', '-')}" for name in _OF_MODELS if is_given(name)]
    path = path_of(model)
    notes: list[str] = []
    remarks: list[str] = []
    if isinstance(model, Representations) or (path is not None and Path(path).is_file()):
        vectors = _open_vectors(model if isinstance(model, Representations) else str(path), given)
        about = {"path": path} if path is not None else {}
        inputs = {"vectors": {**about, "texts": len(vectors), "dim": vectors.dim, **vectors.about}}
        several, chosen = [vectors], which_layers(layers, vectors.layers)
    elif sentences is None:
        raise WordbiasError(
            f"{path or 'the model'}: is not a file of vectors, and a model needs sentences to "
            "find words in: --sentences FILE"
        )
    else:
        file, output = path_of(sentences), path_of(output)
        read_files = {"--sentences": file, "--query": query, "--adapter": adapter}
        check_outputs({"--output": output}, read_files)
        if output is not None:
            check_target(output)
        check_template(template)
        opened = open_adapter(adapter, setting, force=force)
        if output is not None and len(opened.settings) > 1:
            raise UsageError("--output is for one --setting: a file holds the vectors after one")
        read = _find(queries, path_of(query), sentences, text_column, per_word, min_sentences, seed)
        encoder, removals = opened.load_encoder(
            model, device=how.device, precision=how.precision, random_init=random_init
        )
        default = AS_PUBLISHED if as_published else ContextSettings()
        contexts = ContextSettings(
            which_layers(layers, range(encoder.layers + 1), "last"),
            default.subword if subword is None else subword,
            default.special_tokens if special_tokens is None else special_tokens,
            default.window if short_context is None else short_context,
            max_length,
            template or "",
        )
        encoded = encode_contexts(encoder, read, contexts)
        vectors = encoded.representations
        chosen = vectors.layers
        several = [vectors, *(_behind(removal, encoder, read, contexts) for removal in removals)]
        remarks = [removal.sentence(chosen) for removal in removals]
        if output is not None:
            several[-1].save(output)
        notes += [*encoder.notes, *notes_on_modules(encoder, vectors.about["modules"])]
        notes += _left_out(read, encoded.lost, encoded.truncated, file or "sentences")
        notes += _only_before(encoder, len(vectors), encoded.first, template)
        for line in notes:
            note(line, reported=True)
        about = {"path": file} if file is not None else {}
        inputs = {
            "model": {"path": encoder.name, **vectors.about},
            "sentences": {**about, "lines": read.lines, "contexts": len(vectors)},
            **opened.about(),
        }
    try:
        rows_of = [
            measured(representations, queries, how_tested, chosen) for representations in several
        ]
    except KeyboardInterrupt:
        if output is None:
            raise
        raise Interrupted(
            f"the words' vectors are saved; resume with: wordbias ceat {output}"
        ) from None
    rows = [row for of_one in rows_of for row in of_one]
    tested = [*map(swapped, queries)] if swap_roles else queries
    return Report(
        inputs=inputs,
        rows=rows,
        tables=[table for of_one in rows_of for table in _tables(of_one, tested)],
        closing=[
            *_words_lines(rows),
            *remarks,
            _CONVENTION,
            *([] if output is None else [f"Written: {output}"]),
        ],
        seed=seed,
        notes=[_P_SHRINKS, *notes],
    )


def _open_vectors(source: Representations | str, given: Sequence[str]) -> Representations:
    """Return vectors of words in context, as they are or from their file."""
    if given:
        what = f"{source}: is a file of vectors" if isinstance(source, str) else repr(source)
        raise WordbiasError(f"{what}; {', '.join(given)} is only for a model")
    if isinstance(source, Representations):
        return source
    if not is_representations(source):
        raise WordbiasError(
            f"{source}: is no file of words in context, a .safetensors that --output and wordbias "
            "encode --word-column write; word vectors without context are tested with: wordbias "
            "weat"
        )
    return load_representations(source)


def _behind(
    removal: Removal, encoder: Encoder, sentences: Sentences, how: ContextSettings
) -> Representations:
    """Return the words' vectors while a setting of an adapter is removed."""
    with removal.on(encoder):
        vectors = encode_contexts(encoder, sentences, how).representations
    return replace(vectors, name=f"{vectors.name} {removal.setting}")


def _find(
    queries: Sequence[Query],
    query: str | None,
    sentences: TextsLike,
    column: str | None,
    per_word: int | None,
    min_sentences: int,
    seed: int,
) -> Sentences:
    """Find the sentences of all words, enough of them for one query at least."""
    words = [
        word for q in queries for _, word_set in (*q.targets, *q.attributes) for word in word_set
    ]
    if silent := next((word for word in words if not can_be_found(word)), None):
        raise WordbiasError(
            f"{query or 'query'}: the word {silent!r} has no letter and no digit, and is found in "
            "no sentence; remove it"
        )
    file = path_of(sentences)
    name = file or "sentences"
    texts = read_sentences(sentences if file is None else located(file), column)
    count = PER_WORD if per_word is None else per_word
    occurrences = find_sentences(texts, words, per_word=count, seed=seed, what=name)
    check_words(queries, occurrences.contexts, name, min_sentences)
    return occurrences


def _left_out(sentences: Sentences, lost: int, truncated: int, name: str) -> list[str]:
    """Return notes on words without sentences, and on sentences that were cut."""
    absent = sum(not contexts for contexts in sentences.contexts.values())
    notes = []
    if absent:
        notes.append(f"{name}: no sentence has {absent} of {len(sentences.contexts)} words")
    if lost:
        notes.append(
            f"{how_many(lost, 'context')} left out: the word was cut off with the end of a "
            "sentence too long for the model"
        )
    if truncated:
        notes.append(f"{how_many(truncated, 'sentence')} cut after the word")
    return notes


def _only_before(encoder: Encoder, n: int, first: int, template: str | None) -> list[str]:
    """Note that words of a causal model have no context behind them, and some none before."""
    if not encoder.causal:
        return []
    noted = (
        f"{encoder.name}: is causal: a word's vector depends on what stands before the word alone"
    )
    if not first:
        return [noted]
    where = "only the template" if template else "nothing"
    advice = "" if template else "; --template 'Someone said: {}' puts something there"
    return [f"{noted}; in {first:,} of {how_many(n, 'context')} that is {where}{advice}"]


# tables


def _tables(rows: Sequence[Row], queries: Sequence[Query]) -> list[Table]:
    """Return the tables of the rows of one subject."""
    effects = _effects_table(rows[0].subject, rows, queries)
    return [effects, *([_draws_table(rows)] if any(row.value is not None for row in rows) else [])]


def _effects_table(subject: str, rows: Sequence[Row], queries: Sequence[Query]) -> Table:
    """Return a table of combined effects, intervals, words and sentences by query and layer."""
    words = {}
    for query in queries:
        x, y, a, b = query.names
        words[query.name] = f"{x}/{y} × {a}/{b}"

    def counts(row: Row) -> str:
        sizes = [str(n) for n in row.details.get("n", {}).values()]
        return f"{'+'.join(sizes[:2])} × {'+'.join(sizes[2:])}" if sizes else "–"

    def sentences(row: Row) -> str:
        return f"{sum(_of_used(row.details).values()):,}" if row.details.get("n") else "–"

    by = {**_places(rows), "X/Y × A/B": lambda row: words[row.details["set"]]}
    size = ("", lambda row: _size(row.value))
    columns = values("effect", ("95 %, sentences", cells.interval), size)
    columns += values(("words", counts), ("sentences", sentences))
    title = f"CEAT of {subject}{_one_layer(rows)}: combined effect sizes"
    return pivot(title, rows, by, columns, _reasons(rows))


def _places(rows: Sequence[Row]) -> dict[str, object]:
    """Return what identifies a line: the query, and the layer where there are several."""
    return {"query": "set", **({} if _one_layer(rows) else {"layer": "layer"})}


def _size(effect: float | None) -> str:
    if effect is None or abs(effect) <= _MEDIUM:
        return ""
    return "large" if abs(effect) > _LARGE else "medium"


def _one_layer(rows: Sequence[Row]) -> str:
    layers = {row.details["layer"] for row in rows}
    return f", layer {layers.pop()}" if len(layers) == 1 else ""


def _reasons(rows: Sequence[Row]) -> str:
    """Return each reason once, with its query and layers."""
    by_reason: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        if reason := _reason(row):
            places = by_reason.setdefault(reason, {}).setdefault(row.details["set"], [])
            places.append(str(row.details["layer"]))
    lines = []
    for reason, of_reason in by_reason.items():
        where = "; ".join(
            f"{name}, layer{'s' * (len(layers) > 1)} {', '.join(layers)}"
            for name, layers in of_reason.items()
        )
        lines.append(f"{where}: {reason}")
    return ". ".join(lines)


def _reason(row: Row) -> str:
    """Return why there is no value, without the remedy, or why there is no interval."""
    if row.value is None:
        return str(row.details["reason"]).partition("; ")[0]
    why = str(row.details.get("reason", ""))
    return f"no interval: {why.removeprefix('undefined: ')}" if why else ""


def _draws_table(rows: Sequence[Row]) -> Table:
    """Return a table of the spread of the draws, and of p, by query and layer."""
    measured = [row for row in rows if row.value is not None]

    def tiny(p: float) -> str:
        return cells.p_value(p) if p else "< 1e-300"

    def two_sided(row: Row) -> str:
        z = abs(row.value or 0) / row.details["se"]
        return tiny(min(1.0, 2 * upper_tail(z)))

    above = ("above 0", lambda row: f"{100 * row.details['draws_above_0']:.1f} %")
    columns = values(("draws", cells.detail("draws")), ("mean", cells.detail("draws_mean")))
    columns += values(("sd", cells.detail("draws_sd")), ("middle 95 %", cells.interval_of("draws")))
    columns += values(above, ("se", cells.detail("se")))
    one_sided = ("p, one-sided", lambda row: tiny(row.details["p"]))
    columns += values(one_sided, ("two-sided", two_sided))
    title = f"The draws{_one_layer(rows)}, and p of the random-effects model"
    return pivot(title, measured, _places(measured), columns, _P_SHRINKS)


def _words_lines(rows: Sequence[Row]) -> list[str]:
    """Return a line for each query on the words that are missing or have few sentences."""
    first: dict[str, Row] = {}
    for row in rows:
        first.setdefault(row.details["set"], row)
    few_by_set = {name: _few_words(row.details) for name, row in first.items()}
    return [f"{name}: {few}." for name, few in few_by_set.items() if few]


def _few_words(about: Mapping[str, Any]) -> str:
    counts, used_counts = about.get("sentences", {}), _of_used(about)
    left_out = {word: count for word, count in counts.items() if word not in used_counts}
    missing = [word for words in about.get("missing", {}).values() for word in words]
    none = [word for word in missing if word not in left_out]
    few = {word: count for word, count in used_counts.items() if count < FEW}
    parts = [f"no sentence has {listed(none)}"] * bool(none)
    parts += [f"left out, with too few sentences: {_counted(left_out)}"] * bool(left_out)
    parts += [f"fewer than {FEW} sentences have {_counted(few)}"] * bool(few)
    if single := sum(count == 1 for count in used_counts.values()):
        noun = "word has" if single == 1 else "words have"
        narrow = "" if about.get("low") is None else ": the interval is too narrow"
        parts.append(f"{single} {noun} only one sentence, whose spread is unknown{narrow}")
    return "; ".join(parts)


def _of_used(about: Mapping[str, Any]) -> dict[str, int]:
    """Return the numbers of sentences of the words that are measured."""
    missing = {word for words in about.get("missing", {}).values() for word in words}
    counts = about.get("sentences", {})
    return {word: count for word, count in counts.items() if word not in missing}


def _counted(counts: Mapping[str, int]) -> str:
    """List words and how many sentences they have, fewest first."""
    ordered = sorted(counts.items(), key=lambda item: item[1])
    return listed([f"{word} {count}" for word, count in ordered])
