"""Sentence pairs: every format gives the same pairs, and every bad line is named."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import lzma
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from wordbias.errors import WordbiasError
from wordbias.nli.pairs import LABELS, Pairs, load_pairs, tokenise

ROWS = [
    ("neutral", "A man isn't here.", "He is out."),
    ("-", "Nobody agreed.", "On this."),
    ("entailment", "A man isn't here.", "A man is elsewhere."),
    ("contradiction", "Tom's \u00e9toile", "A man isn't here."),
]
Write = Callable[[str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def call(content: str | bytes) -> Path:
        path = tmp_path / "pairs"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return call


def table(rows: list[tuple[str, str, str]] = ROWS, header: str = "", end: str = "\n") -> str:
    lines = ["\t".join(row) for row in rows]
    return "".join(line + end for line in ([header] if header else []) + lines)


def jsonl(rows: list[tuple[str, str, str]] = ROWS) -> str:
    """Write as SNLI does, with keys of no use to us."""
    return "".join(
        json.dumps(
            {
                "annotator_labels": [label],
                "captionID": "3416050480.jpg#4",
                "gold_label": label,
                "sentence1": premise,
                "sentence1_binary_parse": f"( {premise} )",
                "sentence2": hypothesis,
            }
        )
        + "\n"
        for label, premise, hypothesis in rows
    )


def check(pairs: Pairs, rows: list[tuple[str, str, str]] = ROWS) -> None:
    labelled = [row for row in rows if row[0] != "-"]
    assert [LABELS[i] for i in pairs.labels] == [label for label, _, _ in labelled]
    assert list(pairs.premises) == [tuple(tokenise(premise)) for _, premise, _ in labelled]
    assert list(pairs.hypotheses) == [tuple(tokenise(hypothesis)) for _, _, hypothesis in labelled]
    assert pairs.dropped == len(rows) - len(labelled)
    assert len(pairs) == len(labelled)


SNLI_TEXT = "gold_label\tsentence1_binary_parse\tsentence1\tsentence2\tcaptionID"


@pytest.mark.parametrize(
    "content",
    [
        table(),
        table(end="\r\n"),
        table().rstrip("\n"),
        "\n" + table() + "\n  \n",
        "\ufeff" + table(),
        table(header="label\tpremise\thypothesis"),
        "\ufeff" + table(header=" Label\tPremise\tHypothesis", end="\r\n"),
        table(header="gold_label\tsentence1\tsentence2"),
        "hypothesis\tid\tlabel\tpremise\n"
        + "".join(f"{h}\t7\t{label}\t{p}\n" for label, p, h in ROWS),
        SNLI_TEXT + "\n" + "".join(f"{label}\t( )\t{p}\t{h}\tx.jpg\n" for label, p, h in ROWS),
        table([(f" {label.upper()} ", premise, hypothesis) for label, premise, hypothesis in ROWS]),
        "".join(f"{label}\t{p}\t{h}\tmore\tcolumns\n" for label, p, h in ROWS),
        jsonl(),
        "\ufeff" + jsonl(),
        jsonl().replace("\n", "\n\n"),
    ],
)
def test_every_format_gives_the_same_pairs(content: str, write: Write) -> None:
    check(load_pairs(write(content)))


@pytest.mark.parametrize(
    ("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".XZ", lzma.compress)]
)
@pytest.mark.parametrize("content", [table(), jsonl()])
def test_compressed_files_are_read_like_their_content(
    suffix: str, pack: Callable[[bytes], bytes], content: str, tmp_path: Path
) -> None:
    path = tmp_path / f"pairs{suffix}"
    path.write_bytes(pack(content.encode()))
    pairs = load_pairs(path)
    check(pairs)
    assert pairs.sha256 == hashlib.sha256(content.encode()).hexdigest()


def test_equal_sentences_are_one_object(write: Write) -> None:
    pairs = load_pairs(write(table()))
    assert pairs.premises[0] is pairs.premises[1]
    assert pairs.premises[0] is pairs.hypotheses[2]


def test_quotes_are_no_syntax(write: Write) -> None:
    rows = [("neutral", '"A man', 'said ""hello'), ("neutral", "'", '"')]
    check(load_pairs(write(table(rows))), rows)


def test_an_empty_sentence_is_a_sentence(write: Write) -> None:
    pairs = load_pairs(write("neutral\tA man.\t\n"))
    assert pairs.hypotheses == [()]


def test_the_first_pairs(write: Write) -> None:
    pairs = load_pairs(write(table()))
    head = pairs.head(2)
    assert list(head.premises) == list(pairs.premises[:2])
    assert head.labels.tolist() == pairs.labels[:2].tolist()
    assert (len(head), len(pairs.head(99))) == (2, 3)


GOOD = "neutral\ta\tb\n"
EXPECTED = "expected one of neutral, entailment, contradiction, or - for none"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (GOOD + "nuetral\ta\tb\n", f"line 2: unknown label 'nuetral'; {EXPECTED}"),
        (GOOD + "\n0\ta\tb\n", f"line 3: unknown label '0'; {EXPECTED}"),
        ("lable\tpremise\thypothesis\n", f"line 1: unknown label 'lable'; {EXPECTED}"),
        (GOOD + "neutral\tonly a premise\n", "line 2: expected the columns label, premise and"),
        ("neutral a b\n", "line 1: expected the columns label, premise and hypothesis, separated"),
        ("premise\thypothesis\tlabel\na\tb\n", "line 2: expected the columns"),
        (
            GOOD.encode() + b"neutral\tcaf\xe9\tb\n",
            r"line 2: byte 12 is not UTF-8 \(b'\\xe9'",
        ),
        (GOOD.encode("utf-16"), "line 1: byte 1 is not UTF-8 but UTF-16; convert it"),
        (jsonl(ROWS[:1]) + GOOD, "line 2: expected a JSON object"),
        (jsonl(ROWS[:1]) + "{broken\n", "line 2: expected a JSON object"),
        (jsonl(ROWS[:1]) + "[1]\n", "line 2: expected a JSON object"),
        (
            '{"gold_label": "neutral", "sentence1": "a"}\n',
            "line 1: has no column 'sentence2'; it",
        ),
        (
            '{"gold_label": 0, "sentence1": "a", "sentence2": "b"}',
            f"line 1: unknown label '0'; {EXPECTED}",
        ),
        (
            '{"gold_label": "neutral", "sentence1": null, "sentence2": "b"}',
            "line 1: has no 'sentence1'",
        ),
        (jsonl([("maybe", "a", "b")]), "line 1: unknown label 'maybe'"),
        ("", "holds no labelled pair$"),
        ("\n \n", "holds no labelled pair$"),
        ("label\tpremise\thypothesis\n", "holds no labelled pair$"),
        ("-\ta\tb\n-\tc\td\n", "holds no labelled pair among 2 without a label"),
    ],
)
def test_unusable_lines_are_named(content: str | bytes, said: str, write: Write) -> None:
    path = write(content)
    with pytest.raises(WordbiasError, match=f"^{path}: {said}"):
        load_pairs(path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.gz", b"neutral\ta\tb\n"),
        ("b.gz", gzip.compress(table().encode() * 99, mtime=0)[:-20]),
        ("c.bz2", b"no archive"),
        ("d.xz", lzma.compress(table().encode() * 99)[:-20]),
        ("e.gz", gzip.compress(table().encode(), mtime=0)[:12] + b"\xff" * 40),
    ],
)
def test_damaged_archives_are_named(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(WordbiasError, match=f"^{path}: cannot be read: "):
        load_pairs(path)


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match=r"none\.tsv: cannot be read: No such file"):
        load_pairs(tmp_path / "none.tsv")
    with pytest.raises(WordbiasError, match="cannot be read: Is a directory"):
        load_pairs(tmp_path)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("dev", {"contradiction": 3278, "entailment": 3329, "neutral": 3235}),
        ("test", {"contradiction": 3237, "entailment": 3368, "neutral": 3219}),
    ],
)
def test_the_published_sizes_of_snli(name: str, counts: dict[str, int], shared_data: Path) -> None:
    pairs = load_pairs(shared_data / "nli" / f"snli_{name}.tsv.gz")
    assert Counter(LABELS[i] for i in pairs.labels) == counts
