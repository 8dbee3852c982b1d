"""Vectors of texts, or of words in them, out of any layer of an encoder."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from wordbias.calls import note, public
from wordbias.configuration import ASKS_ENCODERS, current_config, uses
from wordbias.errors import UsageError
from wordbias.formats.files import check_writable, refuse_same
from wordbias.formats.rows.writing import check_rows, is_row_suffix
from wordbias.functions.adapters import AdapterLike, Removal, open_adapter
from wordbias.functions.encode_outputs import (
    encode_output,
    encode_static,
    facts_of,
    output_encoder,
    static_folder,
)
from wordbias.functions.inputs import path_of
from wordbias.models.encoder import Encoder
from wordbias.models.encoding import BATCH_TOKENS, EncodingJob, Settings, pooled_tokens
from wordbias.models.model_like import ModelLike
from wordbias.models.representations import (
    Layers,
    Representations,
    load_representations,
    provenance,
    row_names,
    which_layers,
)
from wordbias.models.resume import check_target, encode_to
from wordbias.models.template import PLACE, check_template
from wordbias.models.text_encoders import EncoderLike
from wordbias.models.texts import DISTINCT, Choice, Texts, TextsLike, kept_values, load_texts
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.results import Row, number


@public
@uses("skip_bad", "device", "precision", *ASKS_ENCODERS, "cache")
def encode(
    model: EncoderLike,
    texts: TextsLike,
    *,
    output: str | os.PathLike[str] | None = None,
    layers: Layers = None,
    pooling: str | None = None,
    template: str | None = None,
    subword: str | None = None,
    special_tokens: str | None = None,
    word_column: str | None = None,
    span_columns: Sequence[str] | None = None,
    text_column: str | None = None,
    columns: Sequence[str] | None = None,
    where: Mapping[str, str | Sequence[str]] | None = None,
    limit: int | None = None,
    max_length: int | None = None,
    prompt: str | None = None,
    adapter: AdapterLike | None = None,
    setting: str | None = None,
    force: bool = False,
    random_init: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
) -> Representations:
    """Write the vectors of the texts in ``texts``, from any or all layers of the encoder ``model``.

    ``model`` is a folder or a name on the hub: an encoder, a decoder or a static model. Behind
    --endpoint it is the name of a model there, and in Python also a function of texts. ``texts``
    is plain text, one text per line, or has columns (.tsv, .csv, .jsonl, .parquet), compressed or
    not; other columns are kept as labels.

    By default a text's vector is that of its first token, as in Orgad et al. (2022). For a decoder,
    such as GPT-2 or Llama, it is that of the last token, the only one that has read all of the
    text. A sentence-transformers ``model`` uses its own pooling, length and prompt. A static
    ``model`` (model2vec, StaticEmbedding) has no layers: a text's vector is the mean of its tokens'
    vectors.

    With ``adapter`` the vectors are those of the model after the adapter's ``setting`` is removed.
    The same call resumes an interrupted one.

    Parameters
    ----------
    model : folder, name on the hub, (model, tokenizer), pipeline, SentenceTransformer or function
        The encoder. A loaded model is used as it is. If it has a head, only its encoder is used. A
        function of texts, or an object with encode, embed_documents or transform, gives vectors
        alone; {name: function} keeps its answers.
    texts : path, sequence of str, mapping or frame of columns
        The texts.
    output : path, optional
        File to write, by its suffix: safetensors, which an interrupted call resumes, or rows with
        their columns for other programs: .parquet, .arrow, .feather, .npz, .npy, .csv or .tsv.
    layers : int, sequence of int or str, optional
        Layers: all, last, or numbers such as 0,3,6; 0 is the input embeddings.  [default: all, or
        the last if ``model``'s own modules give its vectors another length]
    pooling : str, optional
        Tokens whose mean is the vector.  [default: as a sentence-transformers ``model`` says, else
        first, for a decoder last; word if words are named]
    template : str, optional
        Template for each text, which replaces its {}: "A text about a person: {}". In the shell \\n
        is a new line. Or chat, for the chat template of ``model``.
    subword : str, optional
        With words: how a word's tokens give its vector.  [default: mean, for a decoder last]
    special_tokens : str, optional
        Special tokens [CLS], [SEP]: seen by the model, counted in the mean as well, or none.
        [default: seen; counted for a sentence-transformers ``model``]
    word_column : str, optional
        Column of the word to encode in its text.
    span_columns : two str, optional
        Columns of the word's first character, from 0, and of the one after its last.
    text_column : str, optional
        Name or number of the texts' column.
    columns : sequence of str, optional
        Columns to keep as labels. That of the texts is kept, too, if it is named: audit
        --read-vectors reads it.  [default: all but the texts with at most 1,000 values]
    where : mapping of str to str or sequence of str, optional
        Use only rows with this value; may be repeated.
    limit : int, optional
        Maximum number of rows.
    max_length : int, optional
        Maximum number of tokens of a text; longer ones are cut.
    prompt : str, optional
        For a sentence-transformers ``model``: prompt before every text. Give its name there, such
        as query, or its text.  [default: that of ``model``, if it has one]
    adapter : path or Adapter, optional
        Adapter that wordbias project wrote for ``model``.
    setting : str, optional
        With ``adapter``: its setting to remove, such as L11-11101.  [default: the one stored in the
        adapter]
    force : bool
        With ``adapter``: use it even if it was fitted on another model.
    random_init : int, optional
        Use random weights of this seed, as a baseline.
    batch_tokens : int
        Batch size, in tokens.

    Returns
    -------
    Representations
        Vectors of shape ``(L, n, d)``, and the kept columns; ``reps[layer]`` has those of one
        layer, shape ``(n, d)``. They are memory-mapped from ``output`` if that is given, else in
        memory. Its ``report`` says how fast the texts were encoded, and how.

    Raises
    ------
    WordbiasError
        If the model cannot be loaded, a text cannot be used, the adapter is of another model or
        changes no vector, or the output exists already and holds something else.

    Notes
    -----
    A classifier on top of an encoder reads the first token; in layer 0 it is the same for every
    text. With ``template`` the last token of a decoder has also read what follows the text. The
    other modules of a sentence-transformers model are applied after the last layer. The vectors of
    a static model are as its library computes them. The file records the setting that was removed.
    A setting that changes none of the vectors is refused.

    With ``template`` chat the text is the user's message. The template's special tokens are then
    seen or counted, too.

    References
    ----------
    Orgad, Goldfarb-Tarrant and Belinkov, How Gender Debiasing Affects Internal Model
    Representations, and Why It Matters, 2022.

    Examples
    --------
    >>> import wordbias as wb
    >>> reps = wb.encode("roberta-base", ["She is a nurse."], layers=[0, 6])  # doctest: +SKIP
    >>> reps[6].shape  # doctest: +SKIP
    (1, 768)
    """
    how = current_config()
    by_word = _by_word(pooling, subword, word_column, span_columns)
    check_template(template)
    file = path_of(texts)
    output = None if output is None else os.fspath(output)
    refuse_same({"the output": output}, {"the texts": file, "--adapter": adapter})
    opened = open_adapter(adapter, () if setting is None else setting, force=force)
    as_rows = output is not None and is_row_suffix(output)
    if output is not None:
        check_writable(output) if as_rows else check_target(output)
    choice = Choice(
        text_column,
        None if columns is None else tuple(columns),
        kept_values(where),
        limit,
        word_column,
        None if span_columns is None else (span_columns[0], span_columns[1]),
        how.skip_bad,
    )
    given = load_texts(texts, choice)
    source = {} if file is None else {"path": file}
    if (answering := output_encoder(model, how.device)) is not None:
        representations, of_model, facts, seconds = encode_output(answering, given, output)
        for line in left_out_notes(given):
            note(line)
        return replace(
            representations,
            report=_report(answering.name, of_model, source | facts, seconds, output),
        )
    if (folder := static_folder(model)) is not None:
        representations, of_model, facts, seconds = encode_static(
            folder, given, output, max_length, how.skip_bad
        )
        name = Path(os.path.abspath(folder)).name
        return replace(
            representations, report=_report(name, of_model, source | facts, seconds, output)
        )
    encoder, removals = opened.load_encoder(
        cast("ModelLike", model),
        device=how.device,
        precision=how.precision,
        random_init=random_init,
    )
    removal = removals[0] if removals else None
    settings = Settings(
        None if layers is None else which_layers(layers, range(encoder.layers + 1)),
        pooling or ("word" if by_word else None),
        subword,
        special_tokens,
        max_length,
        template=template or "",
    )
    encoder = _with_prompt(encoder, prompt, settings)
    job = EncodingJob.of(encoder, given.texts, given.spans, settings)
    if lost := job.lost():
        given = given.without({i: f"its word {why}" for i, why in lost.items()}, how.skip_bad)
        job = EncodingJob.of(encoder, given.texts, given.spans, settings)
    chosen = job.settings.layers or ()
    for line in encoding_notes(given, job):
        note(line)
    if output is not None and as_rows:
        check_rows(output, row_names(chosen), [*given.columns])
    with nullcontext() if removal is None else removal.on(encoder):
        about = provenance(job, Path(given.name).name, given.sha256())
        if output is None or as_rows:
            start = time.perf_counter()
            vectors = job.vectors(batch_tokens)
            encoded, before, seconds = len(job.order), 0, time.perf_counter() - start
            representations = Representations(
                vectors, chosen, given.columns, about, Path(encoder.name).name
            )
            if output is not None:
                representations.save(output)
        else:
            done = encode_to(output, job, given.columns, about, batch_tokens=batch_tokens)
            encoded, before, seconds = done.encoded, done.before, done.seconds
            representations = load_representations(output)
    report = _report(
        Path(encoder.name).name,
        {
            "path": encoder.name,
            "sha256": about["weights_sha256"],
            **job.settings.to_dict(),
            "dim": job.shape[-1],
            **{name: about[name] for name in ("random_init", "precision", "device")},
        },
        source | facts_of(given, len(job.order), about, encoded, before),
        seconds,
        output,
        removal,
        opened.about(),
    )
    return replace(representations, report=report)


def _by_word(
    pooling: str | None,
    subword: str | None,
    word_column: str | None,
    span_columns: Sequence[str] | None,
) -> bool:
    """Return whether vectors are of words; refuse options that contradict that."""
    by_word = word_column is not None or span_columns is not None
    if span_columns is not None and (len(span_columns) != 2 or word_column is not None):
        raise UsageError("--span-columns takes two columns, and goes without --word-column")
    if pooling not in (None, "word") and by_word:
        raise UsageError(f"--pooling={pooling} is for whole texts; name no words")
    if pooling == "word" and not by_word:
        raise UsageError("--pooling=word needs --word-column or --span-columns")
    if subword is not None and not by_word:
        raise UsageError("--subword is for words: name them with --word-column or --span-columns")
    return by_word


def _with_prompt(encoder: Encoder, prompt: str | None, settings: Settings) -> Encoder:
    """Return an encoder with another prompt, by its name in the model's folder or as it is."""
    if prompt is None:
        return encoder
    if encoder.sentence is None:
        raise UsageError(
            f"--prompt: {encoder.name} is no sentence-transformers model; write the prompt into "
            "the texts"
        )
    if not settings.follows(encoder):
        raise UsageError(
            "--prompt goes with the pooling of the model itself; leave out --pooling and "
            "--special-tokens, or write the prompt into the texts"
        )
    text = encoder.sentence.prompts.get(prompt, prompt)
    return replace(encoder, sentence=replace(encoder.sentence, prompt=text))


def _report(
    name: str,
    model: Mapping[str, Any],
    texts: Mapping[str, Any],
    seconds: float,
    output: str | None,
    removal: Removal | None = None,
    more: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> Report:
    """Return the report of what was encoded: how fast, and how, which its inputs say."""
    encoded, layers = texts["encoded"], model["layers"]
    row = Row(
        name,
        "texts-per-second",
        encoded / seconds if encoded else None,
        {
            "n": texts["texts"],
            **({} if removal is None else removal.details(layers)),
            **({} if encoded else {"reason": "the file was complete before"}),
        },
    )
    closing = [] if removal is None else [removal.sentence(layers)]
    return Report(
        inputs={"model": model, "texts": texts, **more},
        rows=[row],
        tables=[_table(row, model, texts, seconds)],
        closing=[*closing, _closing(output, encoded, texts["before"])],
    )


def encoding_notes(texts: Texts, job: EncodingJob) -> list[str]:
    """Note what was left out, dropped or cut, and where vectors differ from what one may expect."""
    notes = [
        *left_out_notes(texts),
        *job.encoder.notes,
        *_pooling_notes(job.encoder, job.settings),
        *_first_token(job),
    ]
    if job.truncated:
        notes.append(
            f"cut to {job.settings.max_length} tokens: {job.truncated} of "
            f"{how_many(len(texts), 'text')}"
        )
    return notes


def left_out_notes(texts: Texts) -> list[str]:
    """Note which columns and rows were left out."""
    columns = [
        f"{texts.name}: columns left out, with more than {DISTINCT:,} values: "
        f"{', '.join(texts.left_out)}; choose columns with --columns"
    ]
    return [*(columns if texts.left_out else []), *texts.notes()]


def _pooling_notes(encoder: Encoder, settings: Settings) -> list[str]:
    """Note where a vector is not the one that a sentence-transformers folder describes."""
    if settings.pooling == "word":
        return notes_on_modules(encoder, settings.modules)
    if encoder.sentence is None or settings.modules:
        return []
    prompt = encoder.sentence.prompt
    without = f" and its prompt {prompt!r} is left out" if prompt else ""
    return [
        f"{encoder.name}: is a sentence-transformers model with "
        f"{' → '.join(encoder.sentence.names)}; its vectors are pooled in another way, as chosen "
        f"({settings.pooling}, special tokens {settings.special_tokens}){without}, so they are not "
        "those of its own encode"
    ]


def _first_token(job: EncodingJob) -> list[str]:
    """Note that the first token of a causal model, which is unlike the others, is in a mean."""
    encoder, settings = job.encoder, job.settings
    if not encoder.causal or settings.pooling != "mean" or settings.modules:
        return []
    if not any(pooled_tokens(job.tokens, i, settings)[0] for i in range(len(job.order))):
        return []
    tokenizer = encoder.tokenizer
    token = tokenizer.bos_token or tokenizer.eos_token
    remedy = "--pooling=last leaves it out"
    if settings.special_tokens == "counted":
        remedy = "--special-tokens=seen leaves it out where it is BOS"
    elif token is not None:
        remedy += f", and so does a token before the text: --template '{token}{PLACE}'"
    return [
        f"{encoder.name}: is causal, and the mean counts the first token of its input, whose "
        f"vector is many times longer than all others in most such models; {remedy}"
    ]


def notes_on_modules(encoder: Encoder, followed: Sequence[str]) -> list[str]:
    """Note where the vectors of words do not go through a folder's modules, which do not fit."""
    if encoder.sentence is None or not encoder.sentence.steps or followed:
        return []
    return [
        f"{encoder.name}: words do not go through the modules after its last layer "
        f"({' → '.join(encoder.sentence.names)}), which take vectors of another length"
    ]


def _table(row: Row, model: Mapping[str, Any], texts: Mapping[str, Any], seconds: float) -> Table:
    """Return a table of one line."""
    layers = list(model["layers"])
    whole = layers == list(range(layers[0], layers[-1] + 1)) and len(layers) > 1
    cells = [
        f"{texts['texts']:,}",
        f"{layers[0]} … {layers[-1]}" if whole else ", ".join(map(str, layers)),
        str(model["dim"]),
        model["pooling"] or "–",
        str(model["max_length"] or "–"),
        f"{texts['truncated']:,}",
        number(seconds, 1),
        number(row.value, 0),
    ]
    columns = ["texts", "layers", "dim", "pooling", "tokens ≤", "cut", "seconds", "texts/s"]
    followed = ""
    if model["modules"]:
        prompt = f", after the prompt {model['prompt']!r}" if model["prompt"] else ""
        followed = f"As its folder says: {' → '.join(model['modules'])}{prompt}. "
    kept_columns = ", ".join(f"{name} ({count})" for name, count in texts["columns"].items())
    counts = (
        f"{texts['distinct']:,} distinct texts; columns kept (values): {kept_columns or 'none'}."
    )
    around = f"Each text in the template {model['template']!r}. " if "template" in model else ""
    note = f"{around}{followed}{counts}"
    return Table(f"Representations by {row.subject}", columns, [cells], note)


def _closing(output: str | None, encoded: int, before: int) -> str:
    """Return the line on the file that was written, or was complete before."""
    if output is None:
        return "Nothing written; -o FILE writes the vectors."
    if not encoded:
        return f"{output} is complete already; nothing was encoded."
    earlier = f", {before:,} distinct texts by an earlier call" if before else ""
    return f"Written: {output}{earlier}."
