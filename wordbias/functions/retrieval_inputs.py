"""Queries, documents and their versions as arguments of `wordbias.retrieval`: texts or vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from wordbias.arrays import unit
from wordbias.calls import note, path_of
from wordbias.errors import WordbiasError, listed
from wordbias.formats.rows import Rows, open_rows
from wordbias.functions.adapters import OpenAdapter, texts_with
from wordbias.models.sentence_pairs import SentencePairsLike, sentence_pairs
from wordbias.models.text_encoders import LayeredTexts, StaticTexts, TextEncoder
from wordbias.models.texts import Choice, Texts, load_texts
from wordbias.rankings.counterfactuals import (
    GIVEN,
    NAME,
    SAME,
    WORDS,
    Lengths,
    NameSets,
    Versions,
    given_versions,
    is_template,
    names_by_group,
    versions_of,
    with_synonyms,
)
from wordbias.rankings.effects import Ranked
from wordbias.rankings.ranking import (
    NOBODY,
    ROWS,
    Blocks,
    Float,
    Float32,
    Integers,
    blocks_of,
    nearest,
    pooled_ranks,
)
from wordbias.rendering import how_many
from wordbias.wordlists.groups import GroupsLike

FITTED = 2000
"""Largest number of texts that a removal is fitted to."""
Map = Callable[[Float32], Float32]
"""Removal from vectors, shape ``(n, d)``."""
QUERIES, DOCUMENTS = "queries", "documents"
SIDES = (QUERIES, DOCUMENTS)
_ROLES = {"queries": ("query",), "documents": ("document", "passage", "corpus")}
"""Names of prompts of sentence-transformers, which its own search uses for each side."""


# texts


def load_side(source: Any, side: str, text_column: str | None, needed: Sequence[str]) -> Texts:
    """Read the texts of the queries or documents, with the columns that are needed."""
    texts = load_texts(source, Choice(text_column, tuple(needed) or None))
    texts = texts if path_of(source) else replace(texts, name=side)
    blank = next((i for i, text in enumerate(texts.texts) if not text.strip()), None)
    if blank is not None:
        raise WordbiasError(f"{where_of(texts)(blank)}: is empty; write a text, or leave it out")
    return texts


def where_of(texts: Texts) -> Callable[[int], str]:
    """Return a function that names a text in messages."""
    return lambda i: f"{texts.name}: {texts.unit} {texts.lines[i]}"


def with_prompt(encoder: TextEncoder, side: str) -> tuple[TextEncoder, str]:
    """Return an encoder with the prompt that its folder has for queries or documents, and that."""
    sentence = encoder.encoder.sentence if isinstance(encoder, LayeredTexts) else None
    prompts = {} if sentence is None else sentence.prompts
    name = next((role for role in _ROLES[side] if prompts.get(role)), None)
    if name is None or sentence is None or not isinstance(encoder, LayeredTexts):
        return encoder, ""
    changed = replace(encoder.encoder, sentence=replace(sentence, prompt=prompts[name]))
    return LayeredTexts(changed), f"{side} are encoded with the prompt {prompts[name]!r}"


def lengths_of(encoder: TextEncoder) -> Lengths | None:
    """Return a function of the number of tokens of names; None where they cannot be counted."""
    if isinstance(encoder, LayeredTexts):
        tokenizer: Any = encoder.encoder.tokenizer
        return lambda names: [
            len(tokenizer(f" {name}", add_special_tokens=False)["input_ids"]) for name in names
        ]
    if isinstance(encoder, StaticTexts):
        static: Any = encoder.encoder.tokenizer
        return lambda names: [
            len(static.encode(f" {name}", add_special_tokens=False)) for name in names
        ]
    return None


# vectors


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors of queries, documents, and the versions of one of them."""

    # shape `(n, d)`; those that have versions, if queries are changed
    queries: Float32 = field(repr=False)
    documents: Blocks = field(repr=False)  # function that begins to read the documents
    n: int
    # by draw of names and kind, vectors of the texts that have versions, `(m, d)`
    versions: Sequence[Mapping[str, Float32]] = field(repr=False)
    # places of these among the documents, if documents are changed; else None
    places: Integers | None = field(repr=False, default=None)

    def ranked(self, kinds: Sequence[str], depth: int, remove: Map | None = None) -> list[Ranked]:
        """Return the pools and ranks of each draw of names, after a removal if there is one."""

        def ready(vectors: Float32) -> Float32:
            return unit(vectors if remove is None else remove(vectors))

        versions = [{kind: ready(version[kind]) for kind in kinds} for version in self.versions]
        if self.places is None:
            every = np.concatenate([version[kind] for version in versions for kind in kinds])
            neighbours, _ = nearest(every, _mapped(self.documents, ready), depth)
            parts = iter(np.split(neighbours, len(versions) * len(kinds)))
            lists = [[next(parts) for _ in kinds] for _ in versions]
            pooled = [pooled_ranks(draw_lists) for draw_lists in lists]
            return [Ranked(ids, dict(zip(kinds, ranks, strict=True))) for ids, ranks in pooled]
        queries = ready(self.queries)
        base = np.concatenate([ready(block) for block in self.documents()])
        ranked = []
        for by_kind in versions:
            changed = {kind: base.copy() for kind in kinds}
            for kind, vectors in changed.items():
                vectors[self.places] = by_kind[kind]
            several = [nearest(queries, blocks_of(v), depth)[0] for v in changed.values()]
            ids, ranks = pooled_ranks(several)
            scores = {kind: _scores(queries, vectors, ids) for kind, vectors in changed.items()}
            ranked.append(Ranked(ids, dict(zip(kinds, ranks, strict=True)), scores))
        return ranked


def _mapped(documents: Blocks, ready: Map) -> Blocks:
    return lambda: (ready(block) for block in documents())


def _scores(queries: Float32, documents: Float32, ids: Integers) -> Float:
    """Return the scores of the documents of pools, shape ``(n, m)``."""
    scores = np.full(ids.shape, -np.inf)
    for i, (query, pool) in enumerate(zip(queries.astype(np.float64), ids, strict=True)):
        there = pool != NOBODY
        scores[i, there] = (documents[pool[there]].astype(np.float64) @ query).round(9)
    return scores


Lookup = Callable[[str, Sequence[str]], Float32]
"""Function of a side and texts that were encoded; returns their vectors."""


def encode_sides(
    encoder: TextEncoder, queries: Iterable[str], documents: Iterable[str]
) -> tuple[Lookup, list[str]]:
    """Encode the texts of both sides, each distinct one once; also return notes on prompts."""
    wanted = {QUERIES: dict.fromkeys(queries), DOCUMENTS: dict.fromkeys(documents)}
    prompted = {side: with_prompt(encoder, side) for side in wanted}
    notes = [remark for _, remark in prompted.values() if remark]
    tables: dict[str, dict[str, Float32]] = {}
    if notes:
        for side, (by, _) in prompted.items():
            tables[side] = _table(by, [*wanted[side]])
    else:
        both = _table(encoder, [*{**wanted[QUERIES], **wanted[DOCUMENTS]}])
        tables = dict.fromkeys(SIDES, both)
    return lambda side, texts: np.stack([tables[side][text] for text in texts]), notes


def _table(encoder: TextEncoder, texts: list[str]) -> dict[str, Float32]:
    vectors = encoder.encode(texts)
    for i in np.flatnonzero(~vectors.any(axis=1)):
        raise WordbiasError(
            f"{encoder.name}: the vector of {texts[i]!r:.60} is zero, and has no direction; leave "
            "the text out"
        )
    return dict(zip(texts, vectors, strict=True))


def texts_of(versions: Versions) -> list[str]:
    """Return all texts of versions."""
    return [text for texts in versions.texts for kind in versions.kinds for text in texts[kind]]


def vectors_of(
    of: Lookup,
    queries: Sequence[str],
    documents: Sequence[str],
    versions: Versions,
    changed: str,
) -> Vectors:
    """Return the vectors of queries, documents and versions."""
    by_draw = [
        {kind: of(changed, texts[kind]) for kind in versions.kinds} for texts in versions.texts
    ]
    is_queries = changed == QUERIES
    return Vectors(
        by_draw[0][GIVEN] if is_queries else of(QUERIES, queries),
        blocks_of(of(DOCUMENTS, documents)),
        len(documents),
        by_draw,
        None if is_queries else versions.places,
    )


def open_vectors(
    queries: Any, documents: Any, changed: str, kinds: Mapping[str, Any], top: int
) -> Opened:
    """Open vectors of queries, documents and the versions, by kind, of one of them."""
    opened = {"queries": _opened(queries, "queries"), "documents": _opened(documents, "documents")}
    _check_documents(opened["documents"].n, top)
    base = opened[changed]
    versions = {GIVEN: _matrix(base, changed)}
    for kind, source in kinds.items():
        rows = _opened(source, f"--{kind}")
        if rows.n != base.n:
            raise WordbiasError(
                f"--{kind}: has {rows.n:,} vectors, and there are {base.n:,} {changed}; expected "
                "one for each"
            )
        versions[kind] = _matrix(rows, f"--{kind}")
        opened[f"--{kind}"] = rows
    sizes = {name: rows.dim for name, rows in opened.items()}
    if len(set(sizes.values())) > 1:
        lengths = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise WordbiasError(f"expected vectors of one length, found: {lengths}")
    of_documents = opened["documents"]
    vectors = Vectors(
        _matrix(opened["queries"], "queries"),
        lambda: _blocks(of_documents, "documents"),
        of_documents.n,
        [versions],
        np.arange(base.n) if changed == "documents" else None,
    )
    about = given_versions([""] * base.n, dict.fromkeys(kinds, [""] * base.n))
    inputs = {
        name: {**({"path": rows.path} if rows.path else {}), "n": rows.n, "dim": rows.dim}
        for name, rows in opened.items()
    }
    return Opened("vectors", vectors, about, inputs)


def _opened(source: Any, what: str) -> Rows:
    try:
        return open_rows(source)
    except WordbiasError as error:
        raise WordbiasError(f"{what}: without --model, vectors are expected: {error}") from None


def _matrix(rows: Rows, what: str) -> Float32:
    return np.concatenate([*_blocks(rows, what)])


def _blocks(rows: Rows, what: str) -> Iterator[Float32]:
    """Yield the rows in blocks; refuse one without a direction in float32."""
    name = f"{what}: {rows.path or rows.name}"
    for block in rows.blocks(rows=ROWS):
        with np.errstate(over="ignore"):
            vectors = block.vectors.astype(np.float32, copy=False)
        for i in np.flatnonzero(~np.isfinite(vectors).all(axis=1)):
            raise WordbiasError(
                f"{name}: row {block.start + i + 1} has a value beyond those of float32; divide "
                "the vectors by their lengths"
            )
        for i in np.flatnonzero(~vectors.any(axis=1)):
            raise WordbiasError(
                f"{name}: row {block.start + i + 1} is zero in float32, and has no direction; "
                "leave it out"
            )
        yield vectors


# all of a call


@dataclass(frozen=True, eq=False)
class Opened:
    """Inputs of a call, from texts or vectors."""

    name: str  # name of the encoder in the rows
    vectors: Vectors  # vectors, and the versions that they are of
    versions: Versions
    inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    # queries and documents, if they are texts
    texts: Mapping[str, Texts] = field(default_factory=dict, repr=False)
    # vectors with names of all groups, and their groups, to fit a removal to
    fit: tuple[Float32, Integers] | None = field(default=None, repr=False)
    # the vectors after an adapter's setting is removed
    after: Vectors | None = field(default=None, repr=False)
    # vectors of some texts before and after it, each of shape `(n, d)`
    moved: tuple[Float32, Float32] | None = field(default=None, repr=False)


def open_texts(
    encoder: TextEncoder,
    sources: Mapping[str, Any],
    changed: str,
    given: Mapping[str, object],
    groups: GroupsLike | None,
    *,
    synonyms: SentencePairsLike | None,
    top: int,
    columns: Sequence[str],
    of_documents: Sequence[str],
    text_column: str | None,
    draws: int,
    fit: bool,
    adapter: OpenAdapter,
    seed: int,
) -> Opened:
    """Read and encode the texts of both sides, and the versions of one."""
    # Without columns in `given`, names are changed. `fit` also encodes texts with further names, to
    # fit a removal to.
    texts: dict[str, Texts] = {}
    for side, source in sources.items():
        needed = [*columns, *(map(str, given.values()) if side == changed else [])]
        needed += of_documents if side == DOCUMENTS else []
        texts[side] = load_side(source, side, text_column, list(dict.fromkeys(needed)))
    _check_documents(len(texts[DOCUMENTS]), top)
    own, other = texts[changed], texts[DOCUMENTS if changed == QUERIES else QUERIES]
    if is_template(other.texts):
        raise WordbiasError(
            f"{other.name}: has places to fill such as {{name}}, and the {changed} are changed; "
            "change the others with --changed, or write names out"
        )
    notes = [*texts[QUERIES].notes(), *texts[DOCUMENTS].notes(), *encoder.notes]
    further: Versions | None = None
    if given:
        cells_of = {kind: _column(own, str(name)) for kind, name in given.items()}
        versions = given_versions(own.texts, cells_of)
    else:
        names, is_gender = names_by_group(groups)
        lengths = lengths_of(encoder)
        if lengths is None:
            notes.append(
                f"{encoder.name}: tokens of names cannot be counted; names are matched by their "
                "places in the lists alone"
            )
        sets = NameSets.of(names, lengths or (lambda words: [1] * len(words)), seed)
        if fit and len(sets) < 2:
            raise WordbiasError(
                f"--methods: the names of {listed(names)} make one set of two of each with the "
                "same number of tokens; expected two sets, one to fit to; give more names"
            )
        make = partial(versions_of, own.texts, names, gendered=is_gender, where=where_of(own))
        versions = make(sets.part(False) if fit else sets, draws=draws, seed=seed)
        further = make(sets.part(True), draws=1, seed=seed) if fit else None
        notes += _about_names(own, versions, changed, draws)
        if synonyms is not None:
            pairs = sentence_pairs(synonyms)
            versions, n = with_synonyms(versions, pairs, names)
            if not n:
                raise WordbiasError(
                    f"--meaningless: no text has a word that is the first of a pair, such as "
                    f"{pairs[0][0]!r}; give synonyms of words in the {changed}"
                )
            notes.append(
                f"synonyms: {n:,} of {how_many(len(versions.places), 'text')} have one of the words"
            )
    fitted, codes = ([], np.zeros(0, np.intp)) if further is None else _to_fit(further, seed)
    more = {changed: [*texts_of(versions), *fitted]}
    unchanged = [] if changed == QUERIES else texts[QUERIES].texts
    both = {
        QUERIES: [*unchanged, *more.get(QUERIES, [])],
        DOCUMENTS: [*texts[DOCUMENTS].texts, *more.get(DOCUMENTS, [])],
    }
    of, remarks = encode_sides(encoder, *both.values())
    every = texts[QUERIES].texts, texts[DOCUMENTS].texts
    vectors = vectors_of(of, *every, versions, changed)
    after, moved = None, None
    if adapter.adapter is not None and isinstance(encoder, LayeredTexts):
        with texts_with(encoder.encoder, adapter.adapter, adapter.settings[0]) as removing:
            of_after, _ = encode_sides(LayeredTexts(removing), *both.values())
        after = vectors_of(of_after, *every, versions, changed)
        first, second = (
            np.concatenate([lookup(side, strings[:FITTED]) for side, strings in both.items()])
            for lookup in (of, of_after)
        )
        moved = first, second
    inputs: dict[str, Mapping[str, Any]] = {"model": encoder.about}
    for side, side_texts in texts.items():
        path = path_of(sources[side])
        about = {} if path is None else {"path": path}
        inputs[side] = {**about, "texts": len(side_texts), "sha256": side_texts.sha256()}
    inputs |= adapter.about()
    fit_to = (of(changed, fitted), codes) if fit else None
    return Opened(
        encoder.name, vectors, versions, inputs, [*notes, *remarks], texts, fit_to, after, moved
    )


def _check_documents(n: int, top: int) -> None:
    """Refuse fewer documents than the ranks that count."""
    if n < top:
        raise WordbiasError(
            f"documents: expected at least {how_many(top, 'document')}, as --top says, found {n}"
        )


def _column(texts: Texts, name: str) -> list[str]:
    """Return a column of texts, none of which may be empty."""
    cells_of = texts.columns[name].cells()
    for i, cell in enumerate(cells_of):
        if not cell.strip():
            raise WordbiasError(f"{where_of(texts)(i)}: has no {name!r}; write the changed text")
    return cells_of


def _about_names(texts: Texts, versions: Versions, changed: str, draws: int) -> list[str]:
    """Say how many texts have no name, and how many names each text gets."""
    without = sorted({*range(len(texts))} - {*versions.places.tolist()})
    notes = []
    if without:
        first = ", ".join(str(texts.lines[i]) for i in without[:3])
        left = "left out" if changed == QUERIES else "unchanged"
        notes.append(
            f"{texts.name}: {len(without):,} of {how_many(len(texts), 'text')} have no first name "
            f"of {listed(versions.groups)}, and are {left}: {texts.unit} {first}"
            f"{' …' * (len(without) > 3)}"
        )
    if len(versions.sets) < draws:
        notes.append(
            f"each text gets {how_many(len(versions.sets), 'name')}, not {draws}, so that no set "
            "of names is used twice"
        )
    return notes


def _to_fit(versions: Versions, seed: int) -> tuple[list[str], Integers]:
    """Return texts with names of all groups to fit a removal to, and their groups."""
    n = len(versions.places)
    sample = np.random.default_rng((seed, 6)).permutation(n)[:FITTED]
    kind = WORDS if WORDS in versions.kinds else NAME
    texts = [versions.texts[0][version][i] for version in (SAME, kind) for i in sample]
    return texts, np.concatenate([versions.codes[sample], versions.others[0][sample]])


def tell(lines: Sequence[str]) -> list[str]:
    """Show notes, and return them for the report."""
    for line in lines:
        note(line, reported=True)
    return list(lines)
