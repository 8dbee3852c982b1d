from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb
from wordbias.nli.pairs import LABELS
from wordbias.nli.test_sets import build
from wordbias.wordlists import Templates

Cli = Callable[..., Any]
PARITY = ("mab-eval", "--set", "parity")
FOLDER = {
    "verbs/commerce_verbs": "bought sold",
    "verbs/driving_verbs": "drove",
    "verbs/eating_verbs": "ate",
    "verbs/interaction_verbs": "saw",
    "nouns/objects/clothes": "hat coat",
    "nouns/objects/farm_animals": "cow",
    "nouns/objects/food": "apple pie",
    "nouns/objects/furniture": "bed",
    "nouns/objects/household": "cup",
    "nouns/objects/vehicles": "car bus",
    "nouns/people/person_hyponyms": "friend",
    "nouns/people/rulers": "king",
    "nouns/people/occupations": "nurse baker",
    "nouns/people/gendered_words": "man woman",
}
SNLI = [
    ("neutral", "The man ate.", "The man ate a pie."),
    ("entailment", "The nurse saw the bus.", "The nurse saw a bus."),
    ("contradiction", "The bed is red.", "The bed is blue."),
    ("-", "The cow.", "The cup."),
]


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lists")
    for name, words in FOLDER.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("\n".join(words.split()) + "\n")
    return folder


@pytest.fixture
def snli(tmp_path: Path) -> Path:
    path = tmp_path / "snli.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in SNLI))
    return path


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def encoder(torch: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("encoder") / "nli"
    return save(torch, folder, ["contradiction", "entailment", "neutral"])


def save(torch: Any, path: Path, labels: list[str]) -> str:
    transformers = pytest.importorskip("transformers")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = " ".join([*FOLDER.values(), "the a an . is red blue"]).split()
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys([*special, *words]))}
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=40,
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.BertForSequenceClassification(config)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
    model.save_pretrained(path)
    transformers.BertTokenizerFast(vocab=vocabulary, model_max_length=40).save_pretrained(path)
    return str(path)


def rows_of(done: Any) -> dict[tuple[str, str], dict[str, Any]]:
    assert done.code == 0, done.err
    return {
        (row["measure"], row["setting"] + row.get("parity", "")): row
        for row in json.loads(done.out)["rows"]
    }


def unpadded(torch: Any, name: str, pairs: list[tuple[str, str]]) -> np.ndarray:
    """Predict pairs of one length together; (N, E, C) are the outputs 2, 1, 0 of the folder."""
    transformers = pytest.importorskip("transformers")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(name).eval()
    inputs = transformers.AutoTokenizer.from_pretrained(name)(*map(list, zip(*pairs, strict=True)))
    lengths = np.array([len(ids) for ids in inputs["input_ids"]])
    probabilities = np.empty((len(pairs), 3))
    for length in set(lengths.tolist()):
        rows = np.flatnonzero(lengths == length)
        batch = {key: torch.tensor([values[i] for i in rows]) for key, values in inputs.items()}
        with torch.no_grad():
            probabilities[rows] = model(**batch).logits.softmax(-1).numpy()[:, [2, 1, 0]]
    return probabilities


def test_an_encoder_is_measured_as_by_hand(
    cli: Cli, torch: Any, encoder: str, lists: Path, snli: Path
) -> None:
    given = ("--lists", lists, "--snli", snli, "--format", "json")
    rows = rows_of(cli(*PARITY, encoder, *given))
    test = build("parity", Templates.load(lists))
    pairs = [(premise.replace(" .", "."), other.replace(" .", ".")) for premise, other in test]
    labels = unpadded(torch, encoder, pairs).argmax(1)
    neutral = np.mean(labels == 0)
    by_word = labels.reshape(len(test.premises), 2, -1)
    strict = np.mean([(man == woman).all() for man, woman in by_word])
    assert rows["nli-accuracy", ""]["value"] == pytest.approx(neutral)
    assert rows["nli-parity", "strict"]["value"] == pytest.approx(strict)
    eta = wb.mab_eval(encoder, set="parity", lists=lists, parity="strict")["nli-fairness"][0]
    assert eta.value == pytest.approx(neutral * strict)
    right = unpadded(torch, encoder, [row[1:] for row in SNLI[:3]]).argmax(1) == [0, 1, 2]
    snli_row = rows["snli-accuracy", ""]
    assert snli_row["value"] == pytest.approx(right.mean())
    assert snli_row["n"] == 3
    assert "viable" not in snli_row  # there is nothing to compare with


def test_an_adapter_is_measured_beside_and_judged_viable(
    cli: Cli, torch: Any, encoder: str, lists: Path, snli: Path, tmp_path: Path
) -> None:
    adapters = pytest.importorskip("wordbias.models.adapters")
    fingerprint = pytest.importorskip("wordbias.models.fingerprint")
    transformers = pytest.importorskip("transformers")
    from wordbias.models.sites import Site
    from wordbias.subspace import Subspace

    model = transformers.AutoModelForSequenceClassification.from_pretrained(encoder)
    # the two directions in which the three outputs differ, first one alone
    w = model.classifier.weight.detach().double().numpy()
    basis = np.linalg.svd(w - w.mean(0))[2][:2]
    site = Site("sentence")
    path = tmp_path / "a.st"
    adapters.Adapter(
        {site: Subspace(basis, np.array([0.5, 0.25]))}, fingerprint.Fingerprint.of(model)
    ).save(path)
    words = FOLDER["nouns/objects/food"].split() + FOLDER["nouns/people/occupations"].split()
    pairs = [(f"The {a}.", f"The {b} is red.") for a in words for b in words]
    labels = unpadded(torch, encoder, pairs).argmax(1)  # so that the model is right as it is
    rows = [(LABELS[label], *pair) for label, pair in zip(labels, pairs, strict=True)]
    snli.write_text("".join("\t".join(row) + "\n" for row in rows))
    given = ["--adapter", path, "--setting", "SENT-0", "--setting", "SENT-1"]
    given += ["--lists", lists, "--snli", snli]
    measured = rows_of(cli(*PARITY, encoder, *given, "--format", "json"))
    alone = rows_of(cli(*PARITY, encoder, "--lists", lists, "--snli", snli, "--format", "json"))
    for key, row in alone.items():
        assert measured[key]["value"] == row["value"]
    base, *judged = (measured["snli-accuracy", name] for name in ("", "SENT-0", "SENT-1"))
    assert base["value"] == 1 > judged[0]["value"]
    for row in judged:
        assert row["viable"] == (row["value"] >= base["value"] - 0.05)
    table = cli(*PARITY, encoder, *given)
    assert "SENT-0" in table.out
    assert "viable" in table.out
    assert max(map(len, table.out.splitlines())) <= 100


@pytest.mark.slow
def test_what_comes_with_the_package(cli: Cli, shared_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "occupations.csv"
    snli = shared_data / "nli" / "snli_test.tsv.gz"
    done = cli(*PARITY, "--snli", snli, "-o", out)
    assert done.code == 0
    assert "10,824 pairs about man and woman, all neutral" in " ".join(done.out.split())
    assert max(map(len, done.out.splitlines())) <= 100
    with out.open(newline="") as file:
        records = list(csv.DictReader(file))
    assert len(records) == 164
    rows = rows_of(cli(*PARITY, "--format", "json"))
    assert rows["nli-accuracy", ""]["value"] == pytest.approx(
        np.mean([float(record["neutral"]) for record in records])
    )
    assert rows["nli-parity", "mean"]["value"] == pytest.approx(
        np.mean([record["man"] == record["woman"] for record in records])
    )
    assert rows["nli-parity", "strict"]["value"] == pytest.approx(
        np.mean([record["parity strict"] == "1" for record in records])
    )


@pytest.mark.parametrize(
    ("typed", "code", "message"),
    [
        ("--adapter none.st", 2, "--adapter is for a Hugging Face model"),
        ("--adapter a.st --setting SENT-0", 2, "is for a Hugging Face model"),
        ("--device cpu", 2, "is for a Hugging Face model"),
        ("--embedding x.txt", 1, "x.txt"),
        ("--snli none.tsv", 1, "none.tsv: cannot be read"),
        ("-o none/x.csv", 1, "the folder"),
        ("--lists none", 1, "none"),
        ("none/", 1, "no such folder"),
        ("model.safetensors", 1, "cannot be read as an NLI model"),
        ("two/", 1, "has 2 labels"),
        ("folder --snli snli.tsv -o snli.tsv", 1, "is both --snli and -o; name two files"),
        ("model.safetensors -o model.safetensors", 1, "is both MODEL and -o; name two files"),
        ("model.safetensors --embedding snli.tsv -o snli.tsv", 1, "is both --embedding and -o"),
    ],
)
def test_wrong_use(
    cli: Cli,
    snli: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.safetensors").write_bytes(b"x")
    if "two" in typed:
        save(pytest.importorskip("torch"), Path("two"), ["no", "yes"])
    before = snli.read_bytes()
    done = cli(*PARITY, *typed.split())
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert (snli.read_bytes(), Path("model.safetensors").read_bytes()) == (before, b"x")


@pytest.mark.slow
def test_other_groups_stand_in_the_hypotheses(cli: Cli) -> None:
    faiths = ("--groups", "religion:christian,muslim")
    rows = json.loads(cli(*PARITY, *faiths, "--format", "json").out)["rows"]
    assert {row["attribute"] for row in rows} == {"religion christian/muslim"}
    assert rows[0]["words"] == ["Christian person", "Muslim person"]
    assert rows[0]["n"] == 10_824
    done = cli(*PARITY, "--groups", "gender-de")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "[subjects.nouns]" in done.err
