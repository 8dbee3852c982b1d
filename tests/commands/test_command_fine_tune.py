from __future__ import annotations

import json
import shutil
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from wordbias.contextual.labelled_pairs import load_inferences
from wordbias.formats.files import locked
from wordbias.models.model_like import silent
from wordbias.nli.hugging_face import Classifier

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.usefixtures("one_thread")

Cli = Callable[..., Any]
WORDS = """
the a man woman dog sat slept cooked drove hot cold tea is was . and then
"""
NLI = [
    ("entailment", "The man sat.", "A man sat."),
    ("neutral", "The dog slept.", "The dog was hot."),
    ("contradiction", "The tea is hot.", "The tea is cold."),
    ("-", "The tea.", "The dog."),
]
TEXT = ["The man sat. The dog slept.", "The tea is hot. And then the woman drove. A dog sat."]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fine-tune")


@pytest.fixture(scope="module")
def encoder(made: Path) -> str:
    folder = made / "encoder"
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = [*string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase)]
    tokens = dict.fromkeys([*special, *letters, *WORDS.split()])
    vocabulary = {token: i for i, token in enumerate(tokens)}
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=40,
    )
    torch.manual_seed(0)
    with silent(transformers):
        transformers.BertModel(config).save_pretrained(folder)
        tokenizer = transformers.BertTokenizerFast(vocab=vocabulary, model_max_length=40)
        tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def nli(made: Path) -> Path:
    path = made / "nli.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in NLI))
    return path


@pytest.fixture
def trained(cli: Cli, encoder: str, nli: Path, made: Path) -> tuple[Path, dict[str, Any]]:
    """Return a trained model, and the report of the call, which trains once and then finds it."""
    output = made / "bert-nli"
    done = cli(*given(encoder, "nli", nli, output, "--batch-size", 2, "--format", "json"))
    assert done.code == 0, done.err
    return output, json.loads(done.out)


@pytest.fixture(scope="module")
def text(made: Path) -> Path:
    path = made / "text.txt"
    documents = ["\n".join(f"{sentence}." for sentence in doc.split(".")[:-1]) for doc in TEXT]
    path.write_text("\n\n".join(documents) + "\n")
    return path


def given(encoder: str, task: str, file: Path, output: Path, *more: Any) -> list[Any]:
    return [
        "fine-tune", encoder, "--head", task, "--train", file, "--dev", file, "-o", output,
        "--epochs", 1, *more,
    ]  # fmt: skip


def test_nli_and_what_reads_it(trained: tuple[Path, dict[str, Any]], nli: Path) -> None:
    output, report = trained
    (row,) = report["rows"]
    assert (row["subject"], row["measure"], row["n"]) == ("bert-nli", "dev-accuracy", 3)
    assert row["low"] <= row["value"] <= row["high"]
    assert report["inputs"]["train"]["dropped"] == 1
    config = json.loads((output / "config.json").read_text())
    assert config["label2id"] == {"neutral": 0, "entailment": 1, "contradiction": 2}
    judged = Classifier.load(output, device="cpu")
    pairs = load_inferences(nli)
    predicted = judged.probabilities(pairs.pairs).argmax(1)
    assert (predicted == pairs.labels).mean() == row["value"]


@pytest.mark.parametrize("head_only", [[], ["--head-only"]])
def test_nsp_from_running_text(
    cli: Cli, encoder: str, text: Path, tmp_path: Path, head_only: list[str]
) -> None:
    output = tmp_path / "bert-nsp"
    done = cli(*given(encoder, "nsp", text, output, *head_only))
    assert done.code == 0, done.err
    assert "running text, 2 documents, seed 0" in " ".join(done.out.split())
    assert all(len(line) <= 100 for line in done.out.splitlines())
    from wordbias.stereotypes.next_sentence import NextSentence

    judge = NextSentence.load(str(output), device="cpu")
    assert judge.place == 0
    assert type(judge.model).__name__ == "BertForNextSentencePrediction"


@pytest.mark.slow
def test_as_a_process(forked: Callable[..., Any], encoder: str, nli: Path, tmp_path: Path) -> None:
    """Nothing but the table on stdout, nothing at all on stderr."""
    done = forked(*given(encoder, "nli", nli, tmp_path / "o", "--threads", 1))
    assert done.code == 0, done.err
    assert done.err == ""
    assert "Accuracy on dev, of the best weights" in done.out


def test_a_finished_model_is_not_trained_again(
    cli: Cli, trained: tuple[Path, dict[str, Any]], made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same files from elsewhere are the same training."""
    output, first = trained
    files = {path: path.stat().st_mtime_ns for path in made.rglob("*")}
    monkeypatch.chdir(made)
    call = given("encoder", "nli", Path("nli.tsv"), Path("bert-nli"), "--batch-size", 2)
    rerun = cli(*call, "--format", "json")
    assert rerun.code == 0, rerun.err
    assert json.loads(rerun.out)["rows"] == first["rows"]
    printed = " ".join(cli(*call).out.split())
    assert "bert-nli was already finished; nothing was trained." in printed
    weights = load_file(output / "model.safetensors")
    size = sum(x.size for name, x in weights.items() if name.startswith("classifier."))
    assert size > 3
    assert f"with a new head ({size:,} parameters)" in printed
    assert {path: path.stat().st_mtime_ns for path in made.rglob("*")} == files


def test_a_finished_model_of_another_training_is_refused(
    refused: Callable[..., str],
    trained: tuple[Path, dict[str, Any]],
    encoder: str,
    nli: Path,
    tmp_path: Path,
) -> None:
    shutil.copytree(trained[0], tmp_path / "o")
    call = ("--batch-size", 2)
    message = refused(*given(encoder, "nli", nli, tmp_path / "o", *call, "--lr", "0.001"))
    assert "o: exists already, and holds another training: its recipe rate is 2e-05, not" in message
    other = tmp_path / "other.tsv"
    other.write_text(nli.read_text() + "neutral\tThe tea was hot.\tA dog sat.\n")
    message = refused(*given(encoder, "nli", other, tmp_path / "o", *call))
    assert "holds another training: its train sha256 is" in message
    (tmp_path / "o" / "training.json").write_text("{}")
    message = refused(*given(encoder, "nli", nli, tmp_path / "o", *call))
    assert "its training.json cannot be read; name a new folder" in message


def test_a_folder_of_something_else_is_refused(
    refused: Callable[..., str], encoder: str, nli: Path, tmp_path: Path
) -> None:
    (tmp_path / "o").mkdir()
    message = refused(*given(encoder, "nli", nli, tmp_path / "o"))
    assert f"{tmp_path / 'o'}: exists already; name a new folder" in message


def test_numbers_that_are_none(cli: Cli, encoder: str, nli: Path, tmp_path: Path) -> None:
    done = cli(*given(encoder, "nli", nli, tmp_path / "o", "--lr", "nan"))
    assert done.code == 2
    assert "Invalid value for '--lr': 'nan' is not a finite number" in done.err


def test_two_at_one_folder(
    refused: Callable[..., str], encoder: str, nli: Path, tmp_path: Path
) -> None:
    pytest.importorskip("fcntl")
    with locked(tmp_path / "o.checkpoint"):
        message = refused(*given(encoder, "nli", nli, tmp_path / "o"))
    assert "o.checkpoint: another process is writing it; wait for that one" in message
    assert not list(tmp_path.iterdir())


def test_bad_input(
    refused: Callable[..., str], encoder: str, nli: Path, text: Path, tmp_path: Path
) -> None:
    def said(*arguments: Any) -> str:
        line = refused(*arguments)
        assert not (tmp_path / "o").exists()
        return line

    output = tmp_path / "o"
    assert "line 1" in said(*given(encoder, "nli", text, output))
    assert "expected one of is_next, not_next" in said(*given(encoder, "nsp", nli, output))
    assert "no such folder" in said(*given(str(tmp_path / "none"), "nli", nli, output))
    assert "; use cpu" in said(*given(encoder, "nli", nli, output, "--device", "abacus"))
    one_label = tmp_path / "one.tsv"
    one_label.write_text("\t".join(NLI[0]) + "\n" + "\t".join(NLI[0]) + "\n")
    assert f"{one_label}: all 2 of the pairs to train on are labelled entailment; give" in said(
        *given(encoder, "nli", one_label, output)
    )
    assert "all 1 of the pairs" in said(*given(encoder, "nli", nli, output, "--limit", 1))
    wild = said(*given(encoder, "nli", nli, output, "--lr", "1e30", "--warmup", "0"))
    assert "lower the learning rate" in wild
