"""What `wordbias ceat` works on: vectors that were saved, or words read in sentences by a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordbias.commands.encode_views import beside_modules
from wordbias.commands.encoder_options import PRECISION
from wordbias.commands.options import note, which_layers
from wordbias.errors import WordbiasError
from wordbias.formats.atomic import check_writable, refuse_same
from wordbias.probes.encoder import Encoder
from wordbias.probes.in_context.contexts import AS_PUBLISHED, Encoded, Reading, encode_contexts
from wordbias.probes.in_context.scanning import can_be_found
from wordbias.probes.in_context.sentences import PER_WORD, Sentences, find_sentences, read_sentences
from wordbias.probes.in_context.words import check_words
from wordbias.probes.reading import is_representations
from wordbias.probes.representations import Representations
from wordbias.probes.storage import load_representations, save_representations
from wordbias.rendering import how_many
from wordbias.resources import located
from wordbias.wordlists.queries import Query

_OF_MODELS = (
    "sentences",
    "column",
    "per_word",
    "subword",
    "special_tokens",
    "window",
    "max_length",
    "save",
    "device",
    "precision",
    "random_init",
)


@dataclass(frozen=True)
class Subject:
    """Vectors of words in context, from a file or just encoded."""

    found: Representations
    layers: Sequence[int]
    inputs: dict[str, dict[str, Any]]
    closing: Sequence[str] = ()
    notes: Sequence[str] = ()


def open_subject(model: str, queries: Sequence[Query], options: dict[str, Any]) -> Subject:
    """Open saved vectors, or encode the words of the queries.

    Parameters
    ----------
    model
        A file of vectors, or a model's folder or name on the hub.
    options
        Those of the command.

    Raises
    ------
    WordbiasError
        If one of them is of no use, or does not go with the others.
    """
    if Path(model).is_file():
        return _saved(model, options)
    if options["sentences"] is None:
        raise WordbiasError(
            f"{model}: is no file, and a model needs sentences to read words in: --sentences FILE"
        )
    return _encoded(model, queries, options)


def _saved(path: str, options: dict[str, Any]) -> Subject:
    given = [f"--{name.replace('_', '-')}" for name in _OF_MODELS if options[name] is not None]
    if given:
        raise WordbiasError(f"{path}: is a file of vectors; {', '.join(given)} goes with a model")
    if not is_representations(path):
        raise WordbiasError(
            f"{path}: is no file of words in context, which --save and wordbias encode "
            "--word-column write; word vectors without context are tested with: wordbias weat"
        )
    found = load_representations(path)
    inputs = {"vectors": {"path": path, "texts": len(found), "dim": found.dim, **found.about}}
    return Subject(found, which_layers(options["layers"], found.layers), inputs)


def _encoded(name: str, queries: Sequence[Query], options: dict[str, Any]) -> Subject:
    path, save = options["sentences"], options["save"]
    if save is not None:
        check_writable(save)
        refuse_same({"--save": save}, {"--sentences": path, "--stimuli": options["stimuli"]})
    sentences = _found_sentences(path, queries, options)
    encoder = Encoder.load(
        name,
        device=options["device"],
        precision=options["precision"] or PRECISION,
        random_init=options["random_init"],
    )
    encoded = encode_contexts(encoder, sentences, _reading(options, encoder))
    found = encoded.representations
    if save is not None:
        save_representations(found, save)
    notes = [*encoder.notes, *beside_modules(encoder, found.about["modules"])]
    notes += _told(encoded, sentences, path)
    for line in notes:
        note(line, options["quiet"])
    inputs = {
        "model": {"path": name, **found.about},
        "sentences": {"path": path, "lines": sentences.lines, "contexts": len(found)},
    }
    closing = [f"Written: {save}"] if save is not None else []
    return Subject(found, found.layers, inputs, closing, notes)


def _found_sentences(path: str, queries: Sequence[Query], options: dict[str, Any]) -> Sentences:
    sets = [words for query in queries for _, words in (*query.targets, *query.attributes)]
    words = list(dict.fromkeys(word for some in sets for word in some))
    if silent := next((word for word in words if not can_be_found(word)), None):
        raise WordbiasError(
            f"{options['stimuli']}: the word {silent!r} has neither a letter nor a digit, so that "
            "no sentence has it; remove it"
        )
    per_word = options["per_word"] or PER_WORD
    texts = read_sentences(located(path), options["column"])
    seed = options["seed"]
    sentences = find_sentences(texts, words, per_word=per_word, seed=seed, what=path)
    check_words(queries, sentences.contexts, path, options["min_sentences"])
    return sentences


def _reading(options: dict[str, Any], encoder: Encoder) -> Reading:
    usual = AS_PUBLISHED if options["as_published"] else Reading()

    def chosen(name: str) -> Any:
        return getattr(usual, name) if options[name] is None else options[name]

    return Reading(
        which_layers(options["layers"], range(encoder.layers + 1), "last"),
        chosen("subword"),
        chosen("special_tokens"),
        chosen("window"),
        options["max_length"],
    )


def _told(encoded: Encoded, sentences: Sentences, path: str) -> list[str]:
    absent = sum(not found for found in sentences.contexts.values())
    said = []
    if absent:
        said.append(f"{path}: no sentence has {absent} of {len(sentences.contexts)} words")
    if encoded.lost:
        said.append(
            f"{how_many(encoded.lost, 'context')} left out: the word was cut off with the end of a "
            "sentence too long for the model"
        )
    if encoded.truncated:
        said.append(f"{how_many(encoded.truncated, 'sentence')} cut behind the word")
    return said
