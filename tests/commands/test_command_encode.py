"""`wordbias encode`: its options, what it writes and prints, and what it refuses."""

from __future__ import annotations

import json
import signal
import string
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias.models.encoder import Encoder
from wordbias.models.encoding import Settings, encode, encode_spans
from wordbias.models.representations import load_representations

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

Run = Callable[..., Any]
BIOS = (
    "split\tgender\tjob\ttext\n"
    "train\tF\tnurse\tShe is a nurse.\n"
    "test\tM\tnurse\tHe is a nurse.\n"
    "test\tF\tsurgeon\tA surgeon: she.\n"
    "test\tM\tsurgeon\tHe is one, he is a very very very good surgeon\n"
)
TEXTS = [line.split("\t")[3] for line in BIOS.splitlines()[1:]]
POSITIONS = 24


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a tiny BERT that knows a few words and spells the others."""
    folder = tmp_path_factory.mktemp("encode") / "tiny-bert"
    letters = string.ascii_lowercase
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "she", "he", "is", "a", ".", ",", ":"]
    words += [*letters[1:], *(f"##{letter}" for letter in letters)]
    folder.mkdir()
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=12,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=12,
        max_position_embeddings=POSITIONS,
        initializer_range=0.5,
    )
    transformers.utils.logging.disable_progress_bar()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        transformers.BertModel(config).save_pretrained(folder)
    tokens = {word: i for i, word in enumerate(words)}
    transformers.BertTokenizer(vocab=tokens).save_pretrained(folder)
    return folder


@pytest.fixture
def bios(tmp_path: Path) -> Path:
    path = tmp_path / "bios.tsv"
    path.write_text(BIOS, encoding="utf-8")
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out" / "bios.safetensors"


@pytest.fixture(autouse=True)
def _folder(out: Path) -> None:
    out.parent.mkdir()


def facts(text: str) -> dict[str, Any]:
    """Return the row of a report with what its inputs say."""
    report = json.loads(text)
    (row,) = report["rows"]
    return {**report["inputs"]["model"], **report["inputs"]["texts"], **row}


@pytest.fixture
def encoded(cli: Run, model: Path, bios: Path, out: Path) -> Run:
    """Run with arguments behind MODEL DATA -o OUT; return the row and what was written."""

    def call(*arguments: object) -> tuple[dict[str, Any], Any]:
        done = cli("encode", model, bios, "-o", out, "--format", "json", "-q", *arguments)
        assert (done.code, done.err) == (0, "")
        return facts(done.out), load_representations(out)

    return call


@pytest.fixture
def plain(model: Path) -> Encoder:
    return Encoder.load(model, device="cpu")


def close(found: Any, expected: Any) -> None:
    """Compare what was computed in batches of other sizes."""
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_by_default_the_first_token_of_all_layers(encoded: Run, plain: Encoder) -> None:
    row, stored = encoded()
    close(stored.vectors, encode(plain, TEXTS))
    assert (stored.layers, stored.dim, len(stored)) == ((0, 1, 2), 12, 4)
    assert {name: column.cells() for name, column in stored.columns.items()} == {
        "split": ["train", "test", "test", "test"],
        "gender": ["F", "M", "F", "M"],
        "job": ["nurse", "nurse", "surgeon", "surgeon"],
    }
    assert (row["subject"], row["measure"]) == ("tiny-bert", "texts-per-second")
    assert row["value"] > 0
    expected = {
        "n": 4,
        "distinct": 4,
        "layers": [0, 1, 2],
        "pooling": "first",
        "max_length": POSITIONS,
        "dim": 12,
        "truncated": 1,
        "dropped": 0,
        "columns": {"split": 2, "gender": 2, "job": 2},
        "encoded": 4,
        "before": 0,
        "random_init": None,
    }
    assert {key: row[key] for key in expected} == expected
    assert stored.about["texts"] == "bios.tsv"


def test_the_table_fits_and_says_what_was_cut(cli: Run, model: Path, bios: Path, out: Path) -> None:
    done = cli("encode", model, bios, "-o", out, "--device", "cpu")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 100
    text = " ".join(done.out.split())
    assert "Representations by tiny-bert" in text
    assert "4 0 … 2 12 first 24 1" in text
    assert "columns kept (values): split (2), gender (2), job (2)" in text
    assert f"Written: {out}." in " ".join(done.out.split())
    assert done.err == f"note: cut to {POSITIONS} tokens: 1 of 4 texts\n"


def test_options_are_the_library_s(encoded: Run, plain: Encoder) -> None:
    typed = ("--pooling", "mean", "--special-tokens", "counted", "--max-length", 6)
    row, stored = encoded("--layers", "2, 0", *typed, "--batch-tokens", 1, "--device", "cpu")
    settings = Settings((2, 0), "mean", special_tokens="counted", max_length=6)
    close(stored.vectors, encode(plain, TEXTS, settings=settings))
    assert tuple(row["layers"]) == stored.layers == (2, 0)


def test_rows_and_columns(encoded: Run, plain: Encoder) -> None:
    given = ("--where", "split=test", "--where", "job=surgeon", "--where", "job=nurse")
    row, stored = encoded(*given, "--limit", 2, "--columns", "job", "--text-column", "4")
    close(stored.vectors, encode(plain, TEXTS[1:3]))
    assert stored.columns["job"].cells() == ["nurse", "surgeon"]
    assert row["columns"] == {"job": 2}


def test_columns_of_many_values_are_left_out_and_named(
    cli: Run, model: Path, out: Path, tmp_path: Path
) -> None:
    path = tmp_path / "many.csv"
    path.write_text("id,text\n" + "".join(f"{i},she\n" for i in range(1001)), encoding="utf-8")
    done = cli("encode", model, path, "-o", out, "--layers", "last")
    assert f"note: {path}: columns left out, with more than 1,000 values: id;" in done.err
    assert "1 distinct texts" in done.out


def test_words_by_name(cli: Run, model: Path, bios: Path, out: Path, plain: Encoder) -> None:
    """The last text is cut before its word."""
    done = cli("encode", model, bios, "-o", out, "--word-column", "job")
    assert (done.code, done.out) == (1, "")
    assert "line 5: its word is cut off with the end of its text; mend it, or drop" in done.err
    done = cli("encode", model, bios, "-o", out, "--word-column", "job", "--skip-bad")
    assert (done.code, done.err.count("\n")) == (0, 1)
    assert "note: 1 row dropped, the first: line 5: its word is cut off" in done.err
    stored = load_representations(out)
    spans = [(9, 14), (8, 13), (2, 9)]
    close(stored.vectors, encode_spans(plain, TEXTS[:3], spans))
    assert stored.columns["gender"].cells() == ["F", "M", "F"]
    assert stored.about["pooling"] == "word"


def test_words_by_characters(
    cli: Run, model: Path, out: Path, tmp_path: Path, plain: Encoder
) -> None:
    path = tmp_path / "spans.jsonl"
    lines = [{"text": "a nurse", "from": 2, "to": 7}, {"text": "she", "from": 0, "to": 3}]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    given = ("encode", model, path, "-o", out, "--span-columns", "from,to", "--subword", "last")
    done = cli(*given)
    assert (done.code, done.err) == (0, "")
    expected = encode_spans(plain, ["a nurse", "she"], [(2, 7), (0, 3)], subword="last")
    close(load_representations(out).vectors, expected)


def test_untrained_weights_of_a_seed(encoded: Run, model: Path) -> None:
    row, stored = encoded("--random-init", 3)
    close(stored.vectors, encode(Encoder.load(model, device="cpu", random_init=3), TEXTS))
    assert row["random_init"] == stored.about["random_init"] == 3


@pytest.mark.slow
def test_an_interruption_is_one_line_and_the_same_command_resumes(
    cli: Run, model: Path, out: Path, tmp_path: Path
) -> None:
    """A real process and a real Ctrl-C."""
    path = tmp_path / "many.txt"
    path.write_text("".join(f"she is {'a' * (i % 15)}{i}\n" for i in range(4_000)))
    given = ["encode", model, path, "-o", out, "--batch-tokens", 1, "--layers", "last"]
    worker = subprocess.Popen(
        [sys.executable, "-m", "wordbias", *map(str, given)], stderr=subprocess.PIPE, text=True
    )
    part = out.with_name(f"{out.name}.unfinished")
    try:
        while not (part.exists() and _rows_done(part)):
            assert worker.poll() is None, worker.stderr and worker.stderr.read()
            time.sleep(0.05)
        worker.send_signal(signal.SIGINT)
        _, message = worker.communicate()
    finally:
        worker.kill()
        worker.wait()
    assert worker.returncode == 130
    assert [line for line in message.splitlines() if line] == [
        f"wordbias: interrupted; the same call resumes from {part.name}",
    ]
    assert not out.exists()
    before = json.loads(part.with_name(f"{part.name}.json").read_text())["done"]
    assert 0 < before < 4_000
    given[given.index(1)] = 4096  # the size of the batches is no part of what is encoded
    done = cli(*given)
    assert done.code == 0
    assert f"{before:,} distinct texts by an earlier call" in " ".join(done.out.split())
    vectors = load_representations(out).vectors[0]
    assert vectors.any(axis=1).all()
    assert [file.name for file in out.parent.iterdir()] == [out.name]


def _rows_done(part: Path) -> bool:
    return bool(load_representations(part).vectors.any())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--layers", "0,3"), 1, "no layer 3; it has layers 0 (input embeddings) to 2"),
        (("--max-length", 25), 1, "reads at most 24 tokens, got a length of 25"),
        (("--max-length", 2), 1, "have none of their own; allow more"),
        (("--device", "abacus"), 1, "device 'abacus': "),
        (("--text-column", "bio"), 1, "has no column 'bio'; it has split, gender, job, text"),
        (("--where", "split=dev"), 1, "holds no text where split is dev"),
        (("--where", "fold=1"), 1, "has no column 'fold'"),
        (("--columns", "age"), 1, "has no column 'age'"),
        (("--word-column", "gender"), 1, "line 2: the word 'F' is not in its text"),
        (("--span-columns", "gender,job"), 1, "line 2: expected two whole numbers as a span"),
        (("-o", "bios.tsv"), 1, "is both the texts and the output; name two files"),
        (("-o", "."), 1, "is a folder"),
        (("-o", "no/x"), 1, "does not exist"),
        (("-o", "weightless/config.json"), 1, "writes vectors, and the results are printed"),
        (("--layers", "first"), 2, "expected all, last, or numbers such as 0,3,6"),
        (("--layers", ","), 2, "expected all, last, or numbers"),
        (("--where", "split"), 2, "expected COLUMN=VALUE, found 'split'"),
        (("--pooling", "word"), 2, "--pooling=word needs --word-column or --span-columns"),
        (("--pooling", "mean", "--word-column", "job"), 2, "is for whole texts; name no words"),
        (("--span-columns", "a"), 2, "--span-columns takes two columns"),
        (("--span-columns", "a,b", "--word-column", "job"), 2, "goes without --word-column"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_nothing_is_written(
    cli: Run, model: Path, weightless: Path, arguments: tuple[object, ...], code: int, message: str
) -> None:
    done = cli("encode", model, "bios.tsv", "-o", "out/bios.safetensors", *arguments)
    assert (done.code, done.out, done.err.count("\n")) == (code, "", 1)
    assert message in done.err
    assert {path.name for path in weightless.parent.iterdir()} == {"bios.tsv", "out", "weightless"}
    assert not list(Path("out").iterdir())
    assert Path("bios.tsv").read_text(encoding="utf-8") == BIOS


@pytest.fixture
def weightless(model: Path, bios: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to the folder of the biographies, and put a model without weights into it."""
    monkeypatch.chdir(bios.parent)
    folder = bios.parent / "weightless"
    folder.mkdir()
    for path in model.glob("*.json"):
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def test_what_is_not_there_is_refused(
    model: Path, weightless: Path, refused: Callable[..., str]
) -> None:
    for given, message in (
        ((model, "gone.tsv"), "cannot be read: No such file"),
        (("gone", "bios.tsv"), "no such folder"),
        ((weightless, "bios.tsv"), "cannot be loaded as an encoder: "),
    ):
        assert message in refused("encode", *given, "-o", "out/x")


@pytest.fixture
def sentences(model: Path, tmp_path: Path) -> Path:
    """Copy the model into a sentence-transformers folder: mean, a Dense that halves, Normalize."""
    import shutil

    from safetensors.torch import save_file

    folder = tmp_path / "sentences"
    shutil.copytree(model, folder)
    modules = ("Transformer", ""), ("Pooling", "1"), ("Dense", "2"), ("Normalize", "3")
    configs = {
        "modules.json": [
            {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for i, (kind, path) in enumerate(modules)
        ],
        "1/config.json": {"word_embedding_dimension": 12, "pooling_mode_mean_tokens": True},
        "2/config.json": {
            "in_features": 12,
            "out_features": 6,
            "bias": False,
            "activation_function": "torch.nn.modules.linear.Identity",
        },
        "sentence_bert_config.json": {"max_seq_length": 10, "do_lower_case": False},
        "config_sentence_transformers.json": {
            "prompts": {"ask": "is: "},
            "default_prompt_name": "ask",
        },
    }
    for name, config in configs.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(config), encoding="utf-8")
    save_file({"linear.weight": torch.eye(12)[:6]}, folder / "2" / "model.safetensors")
    return folder


def test_a_sentence_transformers_folder_is_followed_and_said(
    cli: Run, sentences: Path, model: Path, bios: Path, out: Path
) -> None:
    done = cli("encode", sentences, bios, "-o", out, "--format", "json")
    assert done.code == 0, done.err
    row = facts(done.out)
    stored = load_representations(out)
    plain = Encoder.load(model, device="cpu")
    counted = Settings((2,), "mean", special_tokens="counted", max_length=10)
    x = encode(plain, [f"is: {text}" for text in TEXTS], settings=counted)[0][:, :6]
    close(stored.vectors[-1], x / np.linalg.norm(x, axis=1, keepdims=True))
    followed = {
        "pooling": "mean",
        "special_tokens": "counted",
        "max_length": 10,
        "prompt": "is: ",
        "modules": ["Pooling(mean)", "Dense(12 to 6, Identity)", "Normalize"],
        "layers": [2],
    }
    assert {key: row[key] for key in followed} == followed
    assert {key: stored.about[key] for key in followed} == followed
    assert row["dim"] == stored.dim == 6
    done = cli("encode", sentences, bios, "-o", out)
    assert "As its folder says: Pooling(mean) → Dense(12 to 6, Identity) → Normalize" in done.out


def test_another_pooling_of_such_a_folder_is_noted(
    cli: Run, sentences: Path, bios: Path, out: Path
) -> None:
    done = cli("encode", sentences, bios, "-o", out, "--pooling", "first", "--layers", "last")
    assert done.code == 0
    assert "is a sentence-transformers model with Pooling(mean) → Dense(12 to 6, Id" in done.err
    note = "in another way, as chosen (first, special tokens seen) and its prompt 'is: ' is left"
    assert note in done.err


def test_words_go_through_the_modules_of_such_a_folder(
    cli: Run, sentences: Path, model: Path, bios: Path, out: Path
) -> None:
    given = ("--word-column", "job", "--limit", 1, "--format", "json")
    done = cli("encode", sentences, bios, "-o", out, *given, "--max-length", 20)
    assert done.code == 0, done.err
    row = facts(done.out)
    assert (row["modules"], row["prompt"]) == (["Dense(12 to 6, Identity)", "Normalize"], "")
    plain = Encoder.load(model, device="cpu")
    x = encode_spans(plain, TEXTS[:1], [(9, 14)], [2])[0][:, :6]
    close(load_representations(out).vectors[-1], x / np.linalg.norm(x, axis=1, keepdims=True))
