"""`wordbias ceat`: a model, saved vectors, its options and tables, and what it refuses."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias.columns import Column
from wordbias.models.encoder import Encoder
from wordbias.models.representations import (
    Representations,
    load_representations,
    save_representations,
)
from wordbias.probes.ceat import Settings, ceat
from wordbias.probes.ceat.sentences import (
    AS_PUBLISHED,
    encode_contexts,
    find_sentences,
)
from wordbias.wordlists.queries import as_queries

Run = Callable[..., Any]
Refused = Callable[..., str]
Reported = Callable[..., dict[str, Any]]
MINE = """
[sets]
men = ["John", "Bill", "zed"]
women = ["Amy", "Ann"]
career = ["office", "salary"]
family = ["home", "wedding"]
[queries.mine]
targets = ["men", "women"]
attributes = ["career", "family"]
"""
WORDS = ("John", "Bill", "Amy", "Ann", "office", "salary", "home", "wedding")
FILLERS = ("he", "she", "the", "saw", "of", "in", "at", "a")


def _sentences() -> list[str]:
    """Fifteen of each word but `Ann`, which has one, and never alone in a line."""
    pick = random.Random(0)

    def around() -> str:
        return " ".join(pick.choices(FILLERS, k=pick.randint(0, 4)))

    lines = [f"{around()} {word} {around()}." for word in WORDS for _ in range(15)]
    return [line for line in lines if "Ann" not in line] + ["Ann saw the annex ."]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(MINE, encoding="utf-8")
    return path


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(_sentences()) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Save contexts of the words: X and A on one side, Y and B on the other."""
    rng = np.random.default_rng(0)
    words = [word for word in WORDS for _ in range(20)]
    side = np.array([1.0 if word in ("John", "Bill", "office", "salary") else -1 for word in words])
    vectors = rng.standard_normal((2, len(words), 8)) + 0.7 * side[:, None]
    path = tmp_path / "words.safetensors"
    column = {"word": Column.of(words)}
    save_representations(Representations(vectors.astype(np.float32), (0, 5), column), path)
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a tiny BERT with capitals, which spells the words it does not know."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("ceat") / "tiny-bert"
    letters = string.ascii_letters
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *FILLERS, "John", "Bill", "home"]
    words += [letter for letter in letters if letter not in words]
    words += [f"##{letter}" for letter in letters]
    folder.mkdir()
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=12,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=12,
        max_position_embeddings=40,
        initializer_range=0.5,
    )
    transformers.utils.logging.disable_progress_bar()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        transformers.BertModel(config).save_pretrained(folder)
    transformers.BertTokenizerFast(
        vocab={word: i for i, word in enumerate(words)}, do_lower_case=False
    ).save_pretrained(folder)
    return folder


def test_saved_vectors_give_what_the_library_gives(
    report: Reported, saved: Path, mine: Path
) -> None:
    result = report("ceat", saved, "--query", mine, "--draws", 3000, "--seed", 5)
    rows = ceat(load_representations(saved), as_queries(str(mine)), Settings(3000, seed=5))
    assert result["rows"] == [json.loads(json.dumps(row.to_dict())) for row in rows]
    assert [row["layer"] for row in result["rows"]] == [0, 5]
    assert all(row["value"] > 0.8 for row in result["rows"])
    assert all(row["low"] < row["value"] < row["high"] for row in result["rows"])
    assert result["rows"][0]["missing"] == {"men": ["zed"]}
    assert (result["command"], result["seed"]) == ("ceat", 5)
    assert result["inputs"]["vectors"]["path"] == str(saved)
    assert "not a test of significance" in result["notes"][0]


def test_a_reason_is_said_once_for_all_layers(cli: Run, tmp_path: Path, mine: Path) -> None:
    vectors = np.random.default_rng(0).standard_normal((3, len(WORDS), 6)).astype(np.float32)
    path = tmp_path / "single.safetensors"
    column = {"word": Column.of(WORDS)}
    save_representations(Representations(vectors, (0, 5, 6), column), path)
    printed = " ".join(cli("ceat", path, "--query", mine, "--draws", 50).out.split())
    reason = "no interval: every word has only one sentence, whose spread is unknown"
    assert f"mine, layers 0, 5, 6: {reason} The draws" in printed
    assert printed.count("every word has only one sentence") == 1
    assert "too narrow" not in printed  # there is no interval
    single_layer = " ".join(
        cli("ceat", path, "--query", mine, "--draws", 50, "--layers", "5").out.split()
    )
    assert f"mine, layer 5: {reason}" in single_layer


def test_a_wide_table_of_all_stimuli_fits(cli: Run, tmp_path: Path) -> None:
    queries = as_queries("all")
    words = sorted({w for q in queries for _, ws in (*q.targets, *q.attributes) for w in ws})
    rng = np.random.default_rng(0)
    cells = [word for word in words for _ in range(3)]
    vectors = rng.standard_normal((2, len(cells), 6)).astype(np.float32)
    path = tmp_path / "all.safetensors"
    save_representations(Representations(vectors, (11, 12), {"word": Column.of(cells)}), path)
    done = cli("ceat", path, "--draws", 100, "--query", "3,4,7")
    assert done.code == 0
    text = " ".join(done.out.split())
    assert max(map(len, done.out.splitlines())) <= 100
    # weat7 has 32 words, and all have 3 sentences
    assert "and 20 more" in text


def test_words_that_are_left_out_are_told_from_those_that_are_few(
    cli: Run, tmp_path: Path, mine: Path
) -> None:
    cells = [
        w
        for w, n in zip((*WORDS, "zed"), (9, 10, 11, 8, 20, 20, 20, 20, 2), strict=True)
        for _ in range(n)
    ]
    vectors = np.random.default_rng(0).standard_normal((1, len(cells), 6)).astype(np.float32)
    path = tmp_path / "some.safetensors"
    save_representations(Representations(vectors, (4,), {"word": Column.of(cells)}), path)
    done = cli("ceat", path, "--query", mine, "--min-sentences", 5, "--draws", 50)
    printed = " ".join(done.out.split())
    assert (
        "mine: left out, with too few sentences: zed 2; fewer than 10 sentences have Ann 8, John 9."
        in printed
    )


def test_a_model_on_sentences(
    report: Reported, model: Path, text: Path, mine: Path, tmp_path: Path
) -> None:
    path = tmp_path / "out.safetensors"
    given = ("--query", mine, "--draws", 400, "--layers", "0,2")
    result = report("ceat", model, "--sentences", text, *given, "--output", path)
    first, second = result["rows"]
    assert (first["layer"], second["layer"], first["subject"]) == (0, 2, "tiny-bert")
    assert first["sentences"]["Ann"] == 1  # the annex is no Ann
    assert first["sentences"]["John"] <= 15
    assert result["inputs"]["sentences"]["lines"] == len(_sentences())
    assert result["inputs"]["model"]["subword"] == "mean"
    saved_rows = report("ceat", path, "--query", mine, "--draws", 400)["rows"]
    assert [row["value"] for row in saved_rows] == [first["value"], second["value"]]
    assert load_representations(path).about["window"] == "whole sentence"


def test_an_interruption_behind_the_model_says_where_the_vectors_are(
    cli: Run, model: Path, text: Path, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    given = ("ceat", model, "--sentences", text, "--query", mine, "--draws", 200)
    output = tmp_path / "kept.safetensors"
    with monkeypatch.context() as patch:
        patch.setattr("wordbias.functions.ceat.measured", stop)
        done = cli(*given, "--output", output)
        assert done.code == 130
        assert f"the words' vectors are saved; resume with: wordbias ceat {output}" in done.err
        assert "no output was changed" in cli(*given).err
    assert cli("ceat", output, "--query", mine, "--draws", 200).code == 0


def test_as_published(report: Reported, model: Path, text: Path, mine: Path) -> None:
    given = (model, "--sentences", text, "--query", mine, "--draws", 300)
    parsed = report("ceat", *given, "--as-published")
    (row,), published = parsed["rows"], parsed["inputs"]["model"]
    encoder = Encoder.load(model, device="cpu")
    (query,) = as_queries(str(mine))
    words = [word for _, stimuli in (*query.targets, *query.attributes) for word in stimuli]
    lines = text.read_text(encoding="utf-8").splitlines()
    stripped = [line.strip() for line in lines]
    contexts = encode_contexts(encoder, find_sentences(stripped, words), AS_PUBLISHED)
    (expected,) = ceat(contexts.representations, [query], Settings(300, variance="released"))
    assert row["value"] == pytest.approx(expected.value, rel=1e-4)
    (usual,) = report("ceat", *given)["rows"]
    (mixed,) = report("ceat", *given, "--as-published", "--variance", "standard-error")["rows"]
    assert mixed["draws_mean"] == row["draws_mean"] != usual["draws_mean"]
    assert (published["subword"], published["special_tokens"]) == ("last", "none")
    assert published["window"] == "published"


@pytest.mark.slow
def test_saved_vectors_need_no_torch_and_no_scipy(process: Run, saved: Path, mine: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys\n"
        "from wordbias.cli import run\n"
        f"assert run(['ceat', {str(saved)!r}, '--query', {str(mine)!r}, '--draws', '50']) == 0\n"
        "assert not {'torch', 'transformers', 'scipy', 'sklearn'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothere",), "nothere: is not a file of vectors, and a model needs"),
        (("nothere", "--query", "11"), "query 'weat11': expected one of weat1, weat2,"),
        (("x", "--sentences", "none.txt"), "none.txt: cannot be read: No such file"),
        (
            ("x", "--sentences", "x", "--output", "no/such/folder.st"),
            "folder.st: cannot be written",
        ),
        (("x", "--sentences", "x", "--output", "x"), "x: is both --sentences and --output"),
    ],
)
def test_bad_input_is_one_line(refused: Refused, arguments: tuple[str, ...], message: str) -> None:
    assert message in refused("ceat", *arguments, code=2 if "expected one of" in message else 1)


def test_stimuli_of_no_use_are_named(refused: Refused, tmp_path: Path) -> None:
    text, file = tmp_path / "text.txt", tmp_path / "sets.json"
    text.write_text("he ran\n")
    file.write_text(json.dumps({"x": ["he"], "y": ["she"], "a": ["ran"], "b": ["sat"]}))
    message = refused("ceat", "x", "--sentences", text, "--query", file)
    assert (
        f"{file}: expected queries, found only sets of words; add a table [queries.NAME]" in message
    )
    assert "--" not in message  # ceat has no options for sets
    file = tmp_path / "silent.toml"
    file.write_text(
        '[sets]\nx = ["he"]\ny = ["she"]\na = ["ran"]\nb = ["?!"]\n'
        '[queries.q]\ntargets = ["x", "y"]\nattributes = ["a", "b"]\n'
    )
    message = refused("ceat", "x", "--sentences", text, "--query", file)
    assert f"{file}: the word '?!' has no letter and no digit" in message


def test_bad_sentences_are_one_line(refused: Refused, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    for content, message in (
        (b"nothing here\n", "bad.txt: none of 1 has any of the 32 words"),
        (b"John saw Paul in the office\n", "female_names: 0 of 8 words found (at least 2 needed)"),
    ):
        path.write_bytes(content)
        assert message in refused("ceat", model, "--sentences", path, "--query", "6")


def test_bad_vectors_are_one_line(
    refused: Refused, saved: Path, mine: Path, tmp_path: Path
) -> None:
    static = tmp_path / "glove.txt"
    static.write_text("he 1 2\nshe 2 1\n", encoding="utf-8")
    assert "word vectors without context are tested with: wordbias weat" in refused("ceat", static)
    np.save(tmp_path / "x.npy", np.zeros((4, 3)))
    assert "x.npy: is no file of words in context, a .saf" in refused("ceat", tmp_path / "x.npy")
    (tmp_path / "x.safetensors").write_bytes(b"no header at all")
    assert "x.safetensors" in refused("ceat", tmp_path / "x.safetensors")
    contexts = load_representations(saved)
    bare = tmp_path / "bare.safetensors"
    save_representations(Representations(contexts.vectors, contexts.layers), bare)
    assert "bare: has no column 'word'" in refused("ceat", bare, "--query", mine)
    vectors = np.array(contexts.vectors)
    vectors[0, 0] = np.nan
    broken = tmp_path / "broken.safetensors"
    save_representations(Representations(vectors, contexts.layers, contexts.columns), broken)
    message = refused("ceat", broken, "--query", mine)
    assert "broken, layer 0: mine: John: one of its vectors holds a value that is no" in message
    assert "--sentences, --subword is only for a model" in refused(
        "ceat", saved, "--sentences", "x", "--subword", "last"
    )


def test_a_bad_model_or_layer_is_one_line(
    refused: Refused, model: Path, text: Path, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    given = ("--sentences", text, "--query", "6")
    assert "empty: is a folder without a config.json" in refused("ceat", empty, *given)
    path = tmp_path / "out.safetensors"
    message = refused("ceat", model, *given, "--layers", "7", "--output", path)
    assert "no layer 7; it has layers 0" in message
    assert not path.exists()
    mine = tmp_path / "mine.toml"
    mine.write_text(MINE, encoding="utf-8")
    refusal = refused("ceat", model, "--sentences", text, "--query", mine, "--output", mine)
    assert "is both --query and --output; name two files" in refusal
    assert mine.read_text(encoding="utf-8") == MINE
