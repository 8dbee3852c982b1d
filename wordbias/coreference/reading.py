"""Documents with coreference from files: CoNLL-2012, CoNLL-U, PreCo's and JSON lines."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordbias.columns import BadRows
from wordbias.configuration import current_config
from wordbias.coreference.documents import Clusters, Document, Span
from wordbias.errors import WordbiasError
from wordbias.rendering import how_many
from wordbias.text_files import Source, read_text, without_packing

BEGIN = "#begin document"
NOTHING = ("-", "_", "*")
"""What stands in a column of CoNLL-2012 that says nothing."""
_BEGIN = re.compile(r"#\s*begin document\b\s*\(?(.*?)\)?\s*(?:;\s*(?:part\s+(\S+))?)?\s*")
_END = re.compile(r"#\s*end document\b")
_HEADER = re.compile(r"#\s*([\w.]+)(?:\s+id)?\s*(?:=\s*(.*?))?\s*")
_BRACKET = re.compile(r"\(?[^()|]+\)?")
_PART = re.compile(r"(.*)\[([0-9]+)/([0-9]+)\]")
_GOLD, _ENDINGS = "gold_conll", (".conll", ".conllu", ".jsonl")
"""How names of files end: those of gold annotations in CoNLL-2012, and others."""
_CLUSTER_FIELDS = ("GRP", "eid", "entity_id")
"""Names that the header global.Entity gives the number of the cluster."""


def read_documents(
    source: str | os.PathLike[str] | Source, bad: BadRows | None = None
) -> list[Document]:
    """Read the documents of a file or folder, compressed or not; its content tells its form."""
    # In a cluster mentions have the order of the text, each once, and clusters that of their first
    # mentions. Brackets of one number that cross are read as nested, as the reference scorer does.
    # A mention of several parts, as in CoNLL-U, becomes the span from its first token to its last.
    if not isinstance(source, Source) and os.path.isdir(source):
        return _of_folder(os.fspath(source), bad)
    text = source if isinstance(source, Source) else read_text(source)
    if bad is None:
        bad = BadRows(text.path, current_config().skip_bad)
    documents = list(_form(text)(text, bad))
    if not documents:
        raise WordbiasError(f"{text.path}: holds no document")
    return documents


def files_below(folder: str) -> list[str]:
    """Return the files of documents in a folder and those below it, sorted by name."""
    # The folders of CoNLL-2012 have files of a system's annotations, `auto_conll`, beside the gold.
    names = {path: without_packing(path) for path in sorted(map(str, Path(folder).rglob("*")))}
    gold = [path for path, name in names.items() if name.endswith(_GOLD)]
    paths = gold or [path for path, name in names.items() if name.endswith(_ENDINGS)]
    return list(filter(os.path.isfile, paths))


def _of_folder(folder: str, bad: BadRows | None) -> list[Document]:
    files, documents = files_below(folder), []
    if not files:
        raise WordbiasError(
            f"{folder}: holds no documents: no file ends in {_GOLD}, {', '.join(_ENDINGS)}"
        )
    bad = bad or BadRows(folder, current_config().skip_bad)
    for file in files:
        own = BadRows(file, bad.skip)
        documents += read_documents(file, own)
        bad.count += own.count
        bad.first = bad.first or (own.first and f"{file}: {own.first}")
    return documents


def left_out(bad: BadRows) -> list[str]:
    """Return the note on mentions that were left out, if some were."""
    if not bad.count:
        return []
    return [f"{bad.name}: {how_many(bad.count, 'mention')} left out, the first: {bad.first}"]


def _form(source: Source) -> Callable[[Source, BadRows], Iterator[Document]]:
    """Return the reader of a text, by its first line."""
    first = next((line for line in source.text.split("\n") if line.strip()), "")
    if _BEGIN.match(first):
        return _from_columns
    if first.lstrip().startswith("{"):
        return _from_json
    if first.startswith("#") or (first[:1].isdigit() and first.count("\t") == 9):
        return _from_conllu
    raise WordbiasError(
        f"{source.path}: is no file of documents: expected '{BEGIN} (name); part 000', CoNLL-U, or "
        f"JSON lines with sentences and clusters; found {first!r:.60}"
    )


@dataclass
class _Open:
    """A document that is being read, and its brackets."""

    name: str
    part: str = "0"
    sentences: list[tuple[str, ...]] = field(default_factory=list)
    speakers: list[str] = field(default_factory=list)
    clusters: dict[str, list[Span]] = field(default_factory=dict)
    brackets: dict[str, list[tuple[int | None, int]]] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    place: int = 0
    speaker: str = ""

    def end_sentence(self) -> None:
        if self.words:
            self.sentences.append(tuple(self.words))
            self.speakers.append(self.speaker)
        self.words, self.speaker = [], ""

    def add(self, word: str) -> None:
        self.words.append(word)
        self.place += 1

    def open(self, key: str, line: int, *, at_word: bool = True) -> None:
        """Open a bracket at the last word, or at an empty or joined one, which is no token."""
        self.brackets.setdefault(key, []).append((self.place - 1 if at_word else None, line))

    def close(self, key: str, line: int, bad: BadRows, *, at_word: bool = True) -> None:
        """Close the bracket that was opened last; keep its span, if both ends are at words."""
        starts = self.brackets.get(key)
        if not starts:
            bad.add(f"line {line}", f"document {self.name}: {key}) closes no bracket ({key}")
        elif (start := starts.pop()[0]) is not None and at_word:
            self.clusters.setdefault(key, []).append((start, self.place))
        elif start is not None:
            bad.add(f"line {line}", f"document {self.name}: {key}) is at no token")

    def document(self, bad: BadRows) -> Document:
        """Return what was read; complain about the first bracket that is still open."""
        self.end_sentence()
        left = sorted(
            (line, key)
            for key, starts in self.brackets.items()
            for start, line in starts
            if start is not None
        )
        for line, key in left:
            bad.add(f"line {line}", f"document {self.name}: bracket ({key} does not close")
        merged: dict[str, dict[int, list[Span]]] = {}
        for key, spans in self.clusters.items():
            parts = _PART.fullmatch(key)
            number = int(parts[2]) if parts else 0
            merged.setdefault(parts[1] if parts else key, {}).setdefault(number, []).extend(spans)
        return Document(
            self.name,
            tuple(self.sentences),
            ordered(_whole(parts) for parts in merged.values()),
            self.part,
            tuple(self.speakers) if any(self.speakers) else (),
        )


def _whole(parts: dict[int, list[Span]]) -> list[Span]:
    """Join the parts of mentions: the second part follows the nearest first part before it."""
    spans = list(parts.get(0, []))
    started = sorted(parts.get(1, []))
    for number in sorted(parts):
        for start, end in sorted(parts[number]) if number > 1 else ():
            before = [i for i, span in enumerate(started) if span[0] <= start]
            if before:
                i = before[-1]
                started[i] = started[i][0], max(started[i][1], end)
            else:
                spans.append((start, end))
    return spans + started


def ordered(clusters: Iterable[Iterable[Span]]) -> Clusters:
    """Sort the mentions of each cluster, each once, and clusters by their first mentions."""
    return tuple(sorted(tuple(sorted(set(cluster))) for cluster in clusters if cluster))


def _from_columns(source: Source, bad: BadRows) -> Iterator[Document]:
    """Yield the documents of CoNLL-2012: word in column 4, speaker in 10, clusters in the last."""
    # GUM's and OntoGUM's own files have three columns: number, word and clusters. Their documents
    # may have no name; a file has one of them.
    current: _Open | None = None
    stem = Path(without_packing(os.path.basename(source.path))).stem
    for number, line in enumerate(source.text.split("\n"), 1):
        named = _BEGIN.fullmatch(line.rstrip("\r"))
        if named or _END.match(line):
            if current is not None:
                yield current.document(bad)
            current = _Open(named[1] or stem, named[2] or "0") if named else None
        elif line.strip():
            _column_word(line, number, current, source, bad)
        elif current is not None:
            current.end_sentence()
    if current is not None:
        yield current.document(bad)


def _column_word(
    line: str, number: int, current: _Open | None, source: Source, bad: BadRows
) -> None:
    """Add the word of a line to its document."""
    cells = line.rstrip("\t\r ").split("\t") if "\t" in line else line.split()
    is_short = len(cells) == 3 and cells[0].isdigit()  # GUM's own form
    if current is None or (len(cells) < 5 and not is_short):
        expected = f"'{BEGIN}' before it" if current is None else "at least 5 columns"
        raise WordbiasError(
            f"{source.path}: line {number}: expected {expected}, found {line!r:.60}"
        )
    if not current.words and len(cells) > 10 and cells[9] not in NOTHING:
        current.speaker = cells[9]
    current.add(cells[1 if is_short else 3])
    if cells[-1] not in NOTHING:
        _brackets(cells[-1], None, number, current, source, bad)


def _brackets(
    cell: str, place: int | None, line: int, current: _Open, source: Source, bad: BadRows,
    *, at_word: bool = True,
) -> None:  # fmt: skip
    """Read the brackets of a word; `place` is the field of their number, if they have fields."""
    for bracket in _BRACKET.findall(cell):
        opens, closes = bracket.startswith("("), bracket.endswith(")")
        key = bracket.removeprefix("(").removesuffix(")")
        if opens and place is not None:
            fields = key.split("-")
            if len(fields) <= place:
                raise WordbiasError(
                    f"{source.path}: line {line}: document {current.name}: ({key}: has no field "
                    f"{place + 1}, which global.Entity says is the number of the cluster"
                )
            key = fields[place]
        elif place is not None and not current.brackets.get(key):
            # releases before UD 2.9 repeat the fields where a mention closes
            fields = key.split("-")
            key = fields[place] if len(fields) > place else key
        if not opens and not closes:
            bad.add(f"line {line}", f"document {current.name}: {bracket!r:.40} is no bracket")
        if opens and not at_word:
            bad.add(f"line {line}", f"document {current.name}: {bracket!r:.40} is at no token")
        if opens:
            current.open(key, line, at_word=at_word)
        if closes:
            current.close(key, line, bad, at_word=at_word)


def _from_conllu(source: Source, bad: BadRows) -> Iterator[Document]:
    """Yield the documents of CoNLL-U; empty words and the lines of joined ones are no tokens."""
    current: _Open | None = None
    place: int | None = None
    for number, line in enumerate(source.text.split("\n"), 1):
        header = _HEADER.fullmatch(line.rstrip("\r"))
        name, value = (header[1], header[2] or "") if header else ("", "")
        if name == "newdoc":
            if current is not None:
                yield current.document(bad)
            current = _Open(value or f"line {number}")
        elif name == "global.Entity":
            place = _cluster_field(value, source, number)
        elif name == "speaker" and current is not None:
            current.speaker = "" if value in NOTHING else value
        elif line.strip() and not line.startswith("#"):
            current = current or _Open(os.path.basename(source.path))
            _conllu_word(line, place, number, current, source, bad)
        elif current is not None and not line.startswith("#"):
            current.end_sentence()
    if current is not None:
        yield current.document(bad)


def _conllu_word(
    line: str, place: int | None, number: int, current: _Open, source: Source, bad: BadRows
) -> None:
    """Add the word of a line to its document."""
    cells = line.rstrip("\r").split("\t")
    if len(cells) != 10:
        raise WordbiasError(
            f"{source.path}: line {number}: expected the 10 columns of CoNLL-U, found {len(cells)}"
        )
    entity = next(
        (attribute[7:] for attribute in cells[9].split("|") if attribute.startswith("Entity=")), ""
    )
    at_word = "-" not in cells[0] and "." not in cells[0]
    if at_word:
        current.add(cells[1])
    if place is None and any(
        "-" in bracket for bracket in _BRACKET.findall(entity) if bracket[0] == "("
    ):
        raise WordbiasError(
            f"{source.path}: line {number}: Entity={entity:.40}: has fields, but no line "
            "'# global.Entity = …' says which is the number of the cluster; add it"
        )
    _brackets(entity, place, number, current, source, bad, at_word=at_word)


def _cluster_field(fields: str, source: Source, line: int) -> int:
    names = fields.split("-")
    places = [names.index(field_name) for field_name in _CLUSTER_FIELDS if field_name in names]
    if not places:
        raise WordbiasError(
            f"{source.path}: line {line}: global.Entity: expected one of "
            f"{', '.join(_CLUSTER_FIELDS)} among its fields, found {fields!r:.60}"
        )
    return places[0]


def _from_json(source: Source, bad: BadRows) -> Iterator[Document]:
    """Yield the documents of JSON lines."""
    for number, line in enumerate(source.text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            given = json.loads(line)
            if "sentences" not in given:
                given = {"name": given["sentence"], "sentences": [given["tokens"]], **given}
            sentences = tuple(tuple(map(_word, _list(sentence))) for sentence in given["sentences"])
            name = str(given.get("name", given.get("id", f"line {number}")))
            part = str(given.get("part", "0"))
            speakers = tuple(map(str, given.get("speakers", ())))
            if speakers:
                speakers = tuple(
                    speaker
                    for speaker, sentence in zip(speakers, sentences, strict=True)
                    if sentence
                )
            raw_clusters = given.get("clusters", given.get("mention_clusters", []))
            raw_clusters = list(map(_list, _list(raw_clusters)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise WordbiasError(
                f'{source.path}: line {number}: expected {{"sentences": [["a", "word"], …], '
                '"clusters": [[[0, 2], …], …]}, and if there are "speakers" one for each sentence'
            ) from None
        starts, size = [], 0
        for words in sentences:  # empty ones have a number, too
            starts.append(size)
            size += len(words)
        clusters: list[list[Span]] = []
        for cluster in raw_clusters:
            spans: list[Span] = []
            for mention in cluster:
                span = _json_span(mention, starts, [*starts[1:], size])
                if span is None:
                    where = f"line {number}"
                    bad.add(where, f"document {name}: {mention!r:.40} is no span of its tokens")
                else:
                    spans.append(span)
            clusters.append(spans)
        yield Document(name, tuple(filter(None, sentences)), ordered(clusters), part, speakers)


def _word(word: object) -> str:
    if not isinstance(word, str):
        raise TypeError
    word.encode()  # which half of a surrogate pair, as "\\ud83d", refuses by a ValueError
    return word


def _list(given: Any) -> list[Any]:
    if not isinstance(given, list):
        raise TypeError
    return given


def _json_span(mention: Any, starts: list[int], ends: list[int]) -> Span | None:
    """Return the span of [begin, end] or, in a sentence, of [sentence, begin, end]; None if bad."""
    if not isinstance(mention, list) or any(type(index) is not int for index in mention):
        return None
    if len(mention) == 3 and 0 <= mention[0] < len(starts):
        first, last = starts[mention[0]], ends[mention[0]]
    elif len(mention) == 2 and starts:
        first, last = 0, ends[-1]
    else:
        return None
    begin, end = first + mention[-2], first + mention[-1]
    return (begin, end) if first <= begin < end <= last else None
