"""Documents with coreference as text: CoNLL-2012 in columns, and JSON lines."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator

from wordbias.coreference.documents import Document, Span
from wordbias.errors import WordbiasError

_SEPARATORS = frozenset("\t\n\r")


def json_lines(documents: Iterable[Document]) -> Iterator[str]:
    """Yield each document as a line of JSON; spans are [begin, end) over all of its tokens."""
    for document in documents:
        entry: dict[str, object] = {
            "name": document.name,
            "part": document.part,
            "sentences": document.sentences,
        }
        if document.speakers:
            entry["speakers"] = document.speakers
        yield json.dumps({**entry, "clusters": document.clusters}, ensure_ascii=False) + "\n"


def conll_lines(documents: Iterable[Document]) -> Iterator[str]:
    """Yield the lines of CoNLL-2012, 12 columns with tabs; unknown columns have a hyphen."""
    # Two mentions of one cluster that cross are refused: brackets of one number would be read as
    # nested.
    for document in documents:
        texts = (document.name, document.part, *document.speakers, *document.tokens)
        bad = [text for text in texts if not _SEPARATORS.isdisjoint(text)]
        bad += [text for text in document.tokens if not text]
        if bad or document.part.split() != [document.part]:
            raise WordbiasError(
                f"document {document.name!r:.60}: {[*bad, document.part][0]!r:.40} cannot stand in "
                "a column of CoNLL; write JSON lines, .jsonl"
            )
        cells = _brackets(document)
        name = "_".join(document.name.split()) or "-"
        yield f"#begin document ({document.name}); part {document.part}\n"
        place = 0
        for i, words in enumerate(document.sentences):
            speaker = (document.speakers[i] if document.speakers else "") or "-"
            for j, word in enumerate(words):
                cluster = "|".join(cells[place]) if place in cells else "-"
                columns = (name, document.part.lstrip("0") or "0", str(j), word, "-", "*", *"---")
                yield "\t".join((*columns, speaker, "*", cluster)) + "\n"
                place += 1
            yield "\n"
        yield "#end document\n"


def _brackets(document: Document) -> dict[int, list[str]]:
    """Return the brackets at each token: those that close, the shortest first, then open ones."""
    opening: dict[int, list[tuple[int, str]]] = defaultdict(list)
    closing: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for number, cluster in enumerate(document.clusters):
        _check_nested(document, cluster)
        for start, end in cluster:
            if end - start == 1:
                opening[start].append((end, f"({number})"))
            else:
                opening[start].append((end, f"({number}"))
                closing[end - 1].append((-start, f"{number})"))
    return {
        place: [
            *(text for _, text in sorted(opening[place], reverse=True)),
            *(text for _, text in sorted(closing[place])),
        ]
        for place in opening.keys() | closing.keys()
    }


def _check_nested(document: Document, cluster: Iterable[Span]) -> None:
    """Refuse mentions of one cluster that cross."""
    around: list[Span] = []
    for start, end in sorted(cluster, key=lambda span: (span[0], -span[1])):
        while around and around[-1][1] <= start:
            around.pop()
        if around and end > around[-1][1]:
            raise WordbiasError(
                f"document {document.name}: the mentions {around[-1]} and {(start, end)} of one "
                "cluster cross, which CoNLL columns cannot say; write JSON lines, .jsonl"
            )
        around.append((start, end))
