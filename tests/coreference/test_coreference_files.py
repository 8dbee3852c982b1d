"""Readers and writers of documents with coreference."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
import small_winobias
from hypothesis import given, settings
from hypothesis import strategies as st

import wordbias as wb
from wordbias.columns import BadRows
from wordbias.coreference.documents import Document
from wordbias.coreference.reading import ordered, read_documents
from wordbias.coreference.writing import conll_lines, json_lines
from wordbias.errors import WordbiasError
from wordbias.stereotypes.clusters import load_clusters
from wordbias.stereotypes.winobias import load_winobias, sentence_lines, tokens
from wordbias.text_files import Source


def _read(text: str, bad: BadRows | None = None) -> list[Document]:
    return read_documents(Source("file", text, ""), bad)


def _columns(*clusters: str, name: str = "a/b") -> str:
    rows = [f"{name}\t0\t{i}\tw{i}\t-\t-\t-\t-\t-\tAnn\t{cell}" for i, cell in enumerate(clusters)]
    return "\n".join([f"#begin document ({name}); part 003", *rows, "", "#end document", ""])


BRACKETS = [
    (("(1", "-", "1)"), (((0, 3),),)),
    (("(1)", "-", "(1)"), (((0, 1), (2, 3)),)),
    (("(1|(2)", "1)", "(2)"), (((0, 1), (2, 3)), ((0, 2),))),
    (("(1|(1)", "1)", "-"), (((0, 1), (0, 2)),)),  # nested
    (("(1|(1", "1)", "1)"), (((0, 2), (0, 3)),)),
    (("(1", "(2", "1)|2)"), (((0, 3),), ((1, 3),))),
    (("(1", "(2|1)", "2)"), (((0, 2),), ((1, 3),))),  # crossing, of two numbers
    (("(1", "(1|1)", "1)"), (((0, 3), (1, 2)),)),  # of one number: read as nested
    (("(1)|(1)", "-", "(1)"), (((0, 1), (2, 3)),)),  # twice is once
    (("_", "*", "-"), ()),
]


@pytest.mark.parametrize(("cells", "clusters"), BRACKETS)
def test_brackets_of_columns(cells: tuple[str, ...], clusters: object) -> None:
    (document,) = _read(_columns(*cells))
    assert document == Document("a/b", (("w0", "w1", "w2"),), clusters, "003", ("Ann",))  # type: ignore[arg-type]


def test_spaces_and_a_last_tab_are_read_alike() -> None:
    text = _columns("(1", "1)|(2)", "(2)")
    expected = _read(text)
    assert _read(text.replace("\t", "   ")) == expected
    assert _read(text.replace("\n", "\t\n")) == expected
    assert _read(text.replace("\n", "\r\n")) == expected


def test_parts_and_documents_are_apart() -> None:
    """A number means another cluster in each part."""
    parsed = _read(_columns("(1)", "-") + _columns("-", "(1)", name="c"))
    assert [(document.name, document.clusters) for document in parsed] == [
        ("a/b", (((0, 1),),)),
        ("c", (((1, 2),),)),
    ]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (("(7", "-"), r"file: line 2: document a/b: bracket \(7 does not close; mend it"),
        (("-", "7)"), r"file: line 3: document a/b: 7\) closes no bracket \(7; mend it"),
        (("7", "-"), r"file: line 2: document a/b: '7' is no bracket; mend it"),
    ],
)
def test_a_bad_bracket_is_refused_or_dropped(cells: tuple[str, ...], message: str) -> None:
    text = _columns(*cells, "(1)")
    with pytest.raises(WordbiasError, match=message + ".*--skip-bad"):
        _read(text)
    bad = BadRows("file", skip=True)
    assert _read(text, bad)[0].clusters == (((2, 3),),)
    assert bad.count == 1
    with wb.config(skip_bad=True):
        assert _read(text)[0].clusters == (((2, 3),),)


CONLLU = """# newdoc id = doc
# global.Entity = GRP-etype-infstat
# speaker = Ann
1-2\twe're\t_\t_\t_\t_\t_\t_\t_\t_
1\twe\t_\t_\t_\t_\t_\t_\t_\tEntity=(4-person-new)
2\t're\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No|Entity=(5[1/2]-place-new(6-x-new
2.1\tnull\t_\t_\t_\t_\t_\t_\t_\t_
3\tso\t_\t_\t_\t_\t_\t_\t_\tEntity=5[1/2])(4-person-giv)

1\tgo\t_\t_\t_\t_\t_\t_\t_\tEntity=6)(5[2/2]-place-new)

# newdoc id = next
1\tit\t_\t_\t_\t_\t_\t_\t_\tEntity=(4-x-new)
"""


def test_entities_of_conllu() -> None:
    """A mention in two parts is the span from its first token to its last."""
    first, second = _read(CONLLU)
    assert first.sentences == (("we", "'re", "so"), ("go",))
    assert first.clusters == (((0, 1), (2, 3)), ((1, 4),), ((1, 4),))
    assert first.speakers == ("Ann", "")
    assert second == Document("next", (("it",),), (((0, 1),),))


def test_the_header_says_which_field_is_the_cluster() -> None:
    other = CONLLU.replace("GRP-etype", "etype-eid").replace("4-person", "person-4")
    other = other.replace("5[1/2]-place", "place-5[1/2]").replace("6-x", "x-6")
    other = other.replace("5[2/2]-place", "place-5[2/2]").replace("4-x", "x-4")
    assert _read(other) == _read(CONLLU)
    plain = CONLLU.replace("# global.Entity = GRP-etype-infstat\n", "")
    with pytest.raises(WordbiasError, match=r"line 4: .*global.Entity"):
        _read(plain)
    with pytest.raises(WordbiasError, match=r"line 2: global.Entity: expected one of GRP, eid"):
        _read(CONLLU.replace("GRP", "number"))


def test_a_mention_at_an_empty_word_is_no_mention() -> None:
    text = CONLLU.replace(
        "2.1\tnull\t_\t_\t_\t_\t_\t_\t_\t_", "2.1\tnull" + "\t_" * 7 + "\tEntity=(4)"
    )
    with pytest.raises(WordbiasError, match=r"line 7: .*'\(4\)' is at no token"):
        _read(text)
    assert _read(text, BadRows("file", skip=True)) == _read(CONLLU)


def _conllu(*entities: str, header: str = "eid-etype-head-other") -> str:
    """Return words with an attribute Entity; one at a place such as 2.1 is empty."""
    rows, number = [], 0
    for entity in entities:
        at, _, cell = entity.rpartition(" ")
        number += not at
        rows.append(f"{at or number}\tw" + "\t_" * 7 + f"\t{'Entity=' * bool(cell)}{cell or '_'}")
    return "\n".join(["# newdoc id = d", f"# global.Entity = {header}", *rows, "", ""])


@pytest.mark.parametrize(
    ("entities", "count", "clusters"),
    [
        (("", "1.1 (5--1-)(6--1-)(7--1-)"), 3, ()),
        (("", "1.1 (5--1-", "5)"), 1, ()),  # from an empty word to a token
        (("(5--1-", "1.1 5)"), 1, ()),  # and the other way
        (("(5--3-", "1.1 (5--1-", "5)", "5)"), 1, (((0, 3),),)),  # inside one of the same number
    ],
)
def test_a_mention_with_an_end_at_an_empty_word_is_counted_once(
    entities: tuple[str, ...], count: int, clusters: object
) -> None:
    bad = BadRows("file", skip=True)
    (document,) = _read(_conllu(*entities), bad)
    assert (document.clusters, bad.count) == (clusters, count)


def test_mentions_of_two_and_of_three_parts_are_all_read() -> None:
    entities = (
        "(1--1-)", "(1[1/2]--1-)", "", "(1[2/2]--1-)", "(1[1/3]--1-)", "", "(1[2/3]--1-)", "",
        "(1[3/3]--1-)",
    )  # fmt: skip
    (document,) = _read(_conllu(*entities))
    assert document.clusters == (((0, 1), (1, 4), (4, 9)),)


def test_fields_may_be_repeated_where_a_mention_closes() -> None:
    """As in releases of GUM before Universal Dependencies 2.9."""
    entities = ("(person-97-Jensen", "(abstract-173", "abstract-173)person-97-Jensen)")
    (document,) = _read(_conllu(*entities, header="entity-GRP-identity"))
    assert document.clusters == (((0, 3),), ((1, 3),))


@pytest.mark.parametrize(
    ("first", "name", "part"),
    [
        ("# begin document GUM_art", "GUM_art", "0"),
        ("# begin document", "file", "0"),
        ("#begin document (case);", "case", "0"),
        ("#begin document (case); part 002", "case", "002"),
    ],
)
def test_files_of_three_columns_and_other_first_lines(first: str, name: str, part: str) -> None:
    """As GUM and OntoGUM are published: number, word, clusters."""
    rows = "0\tAn\t(abstract-1\n1\tArt\tabstract-1)|(2)\n\n0\tIt\t(abstract-1)\n"
    (document,) = _read(f"{first}\n{rows}# end document\n")
    clusters = (((0, 2), (2, 3)), ((1, 2),))
    assert document == Document(name, (("An", "Art"), ("It",)), clusters, part)


def _tree(folder: Path, *endings: str) -> list[str]:
    """Write a document into each of some files, those of a folder below first."""
    names = [f"{'annotations/' * (i % 2)}d{i}.{ending}" for i, ending in enumerate(endings)]
    for i, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        text = _columns("(1", "1)", "(1)", name=f"d{i}").encode()
        (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return names


def test_a_folder_is_all_its_files(tmp_path: Path) -> None:
    names = _tree(tmp_path, "conll", "conll.gz", "txt", "jsonl.log", "conll")
    assert [document.name for document in read_documents(tmp_path)] == ["d1", "d0", "d4"]
    files = [tmp_path / names[i] for i in (1, 0, 4)]
    assert read_documents(tmp_path) == [
        document for file in files for document in read_documents(file)
    ]


def test_of_a_folder_of_ontonotes_the_gold_annotations_are_read(tmp_path: Path) -> None:
    _tree(tmp_path, "v4_gold_conll", "v4_gold_conll", "v4_auto_conll", "v4_gold_skel", "conll")
    assert [document.name for document in read_documents(tmp_path)] == ["d1", "d0"]


def test_what_is_wrong_in_a_folder_is_named_with_its_file(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match=r"holds no documents: no file ends in gold_conll"):
        read_documents(tmp_path)
    _tree(tmp_path, "conll", "conll")
    for i in (2, 3):
        (tmp_path / f"d{i}.conll").write_text(_columns("(1", "-", "-"))
    with pytest.raises(WordbiasError, match=r"d2\.conll: line 2: .*does not close"):
        read_documents(tmp_path)
    bad = BadRows("folder", skip=True)
    assert len(read_documents(tmp_path, bad)) == 4
    assert bad.count == 2
    assert bad.first.startswith(f"{tmp_path / 'd2.conll'}: line 2: ")


def test_lines_of_preco() -> None:
    record = {
        "id": "x1",
        "sentences": [["a", "b"], [], ["c"]],
        "mention_clusters": [[[0, 0, 1], [2, 0, 1]], [[0, 0, 2]]],
    }
    (document,) = _read(json.dumps(record))
    assert document == Document("x1", (("a", "b"), ("c",)), (((0, 1), (2, 3)), ((0, 2),)))
    (spoken,) = _read(json.dumps({**record, "speakers": ["Ann", "", "Bob"]}))
    assert spoken == replace(document, speakers=("Ann", "Bob"))
    for mention in ([0, 1, 3], [1, 0, 1], [3, 0, 1], [0, 1, 1], ["0", 0, 1], [0]):
        with pytest.raises(
            WordbiasError, match=r"line 1: document x1: .* is no span of its tokens"
        ):
            _read(json.dumps({**record, "mention_clusters": [[mention]]}))


def test_sentences_for_a_system_are_documents() -> None:
    """`winobias --sentences` writes such lines."""
    (document,) = _read('{"sentence": "The cook left.", "tokens": ["The", "cook", "left", "."]}\n')
    assert document == Document("The cook left.", (("The", "cook", "left", "."),))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no file of documents"),
        ("a b c\n", "is no file of documents: expected .*; found 'a b c'"),
        (
            "#begin document (x)\na 0 0 w\n",
            "line 2: expected at least 5 columns, found 'a 0 0 w'",
        ),
        (_columns("-") + "a 0 0 w -\n", "line 5: expected '#begin document' before it"),
        ("# newdoc id = x\n1\ta\n", "line 2: expected the 10 columns of CoNLL-U, found 2"),
        ("# newpar\n\n", "holds no document"),
        ("#begin document (x)\na/b 0 0\n", "line 2: expected at least 5 columns, found"),
        ('{"sentences": [["a", 1]]}', "line 1: expected "),
        ('{"sentences": [["a"]], "speakers": []}\n{"sentences"', "line 2: expected "),
        ('{"sentences": [["a"]], "speakers": ["x", "y"]}', "line 1: .*one for each sentence"),
        ('{"sentences": [["a"]], "clusters": 5}', "line 1: expected "),
        ('{"sentences": [["a"]], "clusters": null}', "line 1: expected "),
        ('{"sentences": [["a"]], "clusters": [5]}', "line 1: expected "),
        ('{"sentences": ["Ann left."]}', "line 1: expected "),
        (r'{"sentences": [["a", "\ud83d"]]}', "line 1: expected "),
    ],
)
def test_what_is_no_document_is_refused(text: str, message: str) -> None:
    with pytest.raises(WordbiasError, match=f"^file: {message}"):
        _read(text)


word = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=4)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    sentences = draw(st.lists(st.lists(word, min_size=1, max_size=5).map(tuple), max_size=4))
    size = sum(map(len, sentences))
    ends = st.integers(0, size - 1).flatmap(
        lambda start: st.tuples(st.just(start), st.integers(start + 1, size))
    )
    clusters = st.lists(st.lists(ends, min_size=1, max_size=4), max_size=4)
    drawn = ordered(draw(clusters)) if size else ()
    speaker = st.sampled_from(("", "Ann", "B_2"))
    speakers = tuple(draw(speaker) for _ in sentences)
    name = draw(st.sampled_from(("bc/cctv/00", "The cook left.", "(x)")))
    part = draw(st.sampled_from(("0", "000", "012")))
    return Document(name, tuple(sentences), drawn, part, speakers if any(speakers) else ())


@settings(deadline=None)
@given(st.lists(documents(), min_size=1, max_size=3))
def test_json_lines_are_read_as_written(written: list[Document]) -> None:
    assert _read("".join(json_lines(written))) == written


def _crosses(one: Document) -> bool:
    return any(
        a[0] < b[0] < a[1] < b[1] for cluster in one.clusters for a in cluster for b in cluster
    )


@settings(deadline=None)
@given(st.lists(documents(), min_size=1, max_size=3))
def test_columns_are_read_as_written(written: list[Document]) -> None:
    """But for crossing mentions of one cluster, which brackets of one number cannot say."""
    if any(map(_crosses, written)):
        with pytest.raises(WordbiasError, match=r"of one cluster cross, .*JSON lines"):
            list(conll_lines(written))
    else:
        assert _read("".join(conll_lines(written))) == written


@pytest.mark.parametrize("word", ["", "a\tb", "a\nb", "a\r"])
def test_what_would_break_a_column_is_refused(word: str) -> None:
    with pytest.raises(WordbiasError, match=r"^document 'd': .* write JSON lines, \.jsonl"):
        list(conll_lines([Document("d", (("Ann", word),))]))


@pytest.mark.parametrize("part", ["", "1 a"])
def test_a_part_that_is_no_word_is_refused(part: str) -> None:
    with pytest.raises(WordbiasError, match=rf"^document 'd': '{part}' cannot stand in a column"):
        list(conll_lines([Document("d", (("Ann",),), part=part)]))


# real files: the counts of their documents, tokens and mentions that their sources and readme state

ONTOGUM = {"train": 177, "dev": 29, "test": 30}


def test_ontogum_whole(shared_data: Path) -> None:
    folder = shared_data / "coref"
    corpus = [
        document
        for split, count in ONTOGUM.items()
        for document in _counted(folder / f"ontogum.{split}.conll.gz", count)
    ]
    bad = BadRows("test2", skip=True)
    with pytest.raises(WordbiasError, match=r"document GENTLE_.*closes no bracket"):
        read_documents(folder / "ontogum.test2.conll.gz")
    corpus += read_documents(folder / "ontogum.test2.conll.gz", bad)
    assert bad.count == 2
    assert len(corpus) == sum(ONTOGUM.values()) + 26
    assert sum(len(document.tokens) for document in corpus) == 250_654
    assert sum(len(cluster) for document in corpus for cluster in document.clusters) == 32_510


def _counted(path: Path, count: int) -> list[Document]:
    corpus = read_documents(path)
    assert len(corpus) == count
    return corpus


def test_litbank_whole(shared_data: Path) -> None:
    corpus = read_documents(shared_data / "coref" / "litbank.conll.gz")
    assert len(corpus) == 100
    assert sum(len(document.tokens) for document in corpus) == 210_532
    clusters = [cluster for document in corpus for cluster in document.clusters]
    assert sum(map(len, clusters)) == 29_103
    assert sum(len(cluster) == 1 for cluster in clusters) == 5_763


def test_real_columns_are_read_as_written(shared_data: Path, tmp_path: Path) -> None:
    corpus = read_documents(shared_data / "coref" / "ontogum.dev.conll.gz")
    path = tmp_path / "again.conll.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(conll_lines(corpus))
    assert read_documents(path) == corpus
    assert _read("".join(json_lines(corpus))) == corpus


def test_winobias_reads_documents_with_clusters(tmp_path: Path) -> None:
    """What `winobias` writes is read as documents; with clusters it reads them again, in tokens."""
    folder = small_winobias.write(tmp_path / "winobias")
    sentences = load_winobias(folder)
    documents = _read("".join(sentence_lines(sentences)))
    gold = {sentence.text: sentence.gold for sentence in sentences}
    resolved = [
        replace(
            document,
            clusters=(tuple(_tokens_of(document.name, span) for span in gold[document.name][0]),),
        )
        for document in documents
    ]
    path = tmp_path / "found.jsonl"
    path.write_text("".join(json_lines(resolved)), encoding="utf-8")
    read = load_clusters(path, sentences)
    assert read.clusters == [sentence.gold for sentence in sentences]
    other = replace(resolved[0], sentences=(("Other", *resolved[0].tokens[1:]),))
    path.write_text("".join(json_lines([other, *resolved[1:]])), encoding="utf-8")
    with pytest.raises(WordbiasError, match=r"line 1: has other tokens than --sentences writes"):
        load_clusters(path, sentences)


def _tokens_of(text: str, span: tuple[int, int]) -> tuple[int, int]:
    inside = [i for i, (_, (a, b)) in enumerate(tokens(text)) if span[0] <= a and b <= span[1]]
    return inside[0], inside[-1] + 1
