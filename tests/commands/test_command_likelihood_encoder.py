from __future__ import annotations

import csv
import json
import string
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_likelihood
import small_winobias

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.usefixtures("one_thread")

WORDS = """
the father mother man woman he she him her his hers walked into kitchen beer drank cooked tea is hot
sat hid a tv pocket from in was kind stern cup boy girl . ,
"""
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = [*string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase)]
VOCABULARY = list(dict.fromkeys([*SPECIAL, *LETTERS, *WORDS.split()]))
COLUMNS = [
    "context_id",
    "context",
    "next_sentence",
    "label",
    "gender",
    "gender_swapped_conext",
    "gender_swapped_next_sentence",
]
TRIPLES = [
    (
        ("1", "F", "The mother walked into her kitchen.", "The father walked into him kitchen."),
        ("She cooked.", "She drank beer.", "Tea is hot."),
        ("He cooked.", "He drank beer.", "Tea is hot."),
    ),
    (
        ("2", "M", "The man hid a TV in a cup.", "The woman hid a Tv in a cup."),
        ("He drank.", "He cooked.", "He is hot."),
        ("She drank.", "She cooked.", "She is hot."),
    ),
    (
        ("3", "F", "The girl sat.", "The boy sat."),
        ("She was kind.", "She was stern.", "Tea is hot."),
        ("He was kind.", "He was stern.", "Tea is hot."),
    ),
]
LABELS = ["stereotype", "anti-stereotype", "unrelated"]
FOLLOWING = ["She cooked.", "She drank.", "Tea is hot."]
Cli = Callable[..., Any]


def save(path: Path, cls: Any, **options: Any) -> str:
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    shape |= {"initializer_range": 0.5}  # else all sentences are alike
    sizes = {"vocab_size": len(VOCABULARY), "intermediate_size": 24, "max_position_embeddings": 40}
    config = transformers.BertConfig(**shape, **sizes, **options)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = cls(config)
    model.save_pretrained(path)
    vocabulary = {token: i for i, token in enumerate(VOCABULARY)}
    transformers.BertTokenizerFast(vocab=vocabulary, model_max_length=40).save_pretrained(path)
    return str(path)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model with both heads, as BERT is published."""
    return save(tmp_path_factory.mktemp("both") / "bert", transformers.BertForPreTraining)


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save(tmp_path_factory.mktemp("mlm") / "bert", transformers.BertForMaskedLM)


@pytest.fixture
def gsss(tmp_path: Path) -> Path:
    path = tmp_path / "gsss.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(COLUMNS)
        for (name, gender, context, swapped), sentences, others in TRIPLES:
            for label, sentence, other in zip(LABELS, sentences, others, strict=True):
                out.writerow([name, context, sentence, label, gender, swapped, other])
    return path


@pytest.fixture
def stereoset(tmp_path: Path) -> Path:
    def cluster(name: str, context: str, texts: list[str]) -> dict[str, Any]:
        sentences = [
            {"sentence": text, "gold_label": label}
            for text, label in zip(texts, LABELS, strict=True)
        ]
        about = {"id": name, "target": "mother", "bias_type": "gender", "context": context}
        return {**about, "sentences": sentences}

    words = [f"The mother was {word}." for word in ("kind", "stern", "cup")]
    data = {
        "intersentence": [cluster("a", "The mother sat.", FOLLOWING)],
        "intrasentence": [cluster("b", "The mother was BLANK.", words)],
    }
    path = tmp_path / "stereoset.json"
    path.write_text(json.dumps({"data": data}))
    return path


@pytest.fixture
def crows(tmp_path: Path) -> Path:
    small_likelihood.crows_pairs(tmp_path / "crows.csv")
    return tmp_path / "crows.csv"


@cache
def head(name: str) -> tuple[Any, Any]:
    model = transformers.BertForNextSentencePrediction.from_pretrained(name).eval()
    return model, transformers.AutoTokenizer.from_pretrained(name)


def next_probability(name: str, context: str, following: str) -> float:
    model, tokenizer = head(name)
    with torch.no_grad():
        logits = model(**tokenizer(context, following, return_tensors="pt")).logits[0].double()
    return float(logits.softmax(-1)[0])


def by_hand(name: str, repaired: bool) -> tuple[np.ndarray, np.ndarray]:
    """S and D of every triple from single pairs."""
    s, d = [], []
    for (_, _, context, swapped), sentences, others in TRIPLES:
        if repaired:
            swapped = swapped.replace("him kitchen", "his kitchen").replace("Tv", "TV")
        p = [next_probability(name, context, sentence) for sentence in sentences]
        q = [next_probability(name, swapped, other) for other in others]
        s.append(p[0] - p[1] - (q[0] - q[1]))
        d.append(abs(p[2] - q[2]))
    return np.array(s), np.array(d)


def test_rows_are_what_single_pairs_give(cli: Cli, both: str, gsss: Path) -> None:
    done = cli("likelihood", both, "--data", gsss, "--top", 0.5, "--format", "json")
    assert done.code == 0
    report = json.loads(done.out)
    rows = {(row["measure"], row["version"], row["subset"]): row for row in report["rows"]}
    for version in ("original", "repaired"):
        s, d = by_hand(both, version == "repaired")
        # half of three triples is 1.5, of which the nearest whole number is 2
        values = {key[0]: row["value"] for key, row in rows.items() if key[1:] == (version, "all")}
        assert values["strength"] == pytest.approx(np.sort(s)[1:].mean(), abs=1e-5)
        assert values["distance"] == pytest.approx(np.sort(d)[1:].mean(), abs=1e-5)
        assert values["mean-strength"] == pytest.approx(s.mean(), abs=1e-5)
        assert rows["strength", version, "M"]["value"] == pytest.approx(s[1], abs=1e-5)
        assert rows["strength", version, "all"]["n"] == 2
    means = [rows["mean-strength", version, "F"]["value"] for version in ("original", "repaired")]
    assert abs(means[0] - means[1]) > 1e-3  # which is no rounding
    assert report["inputs"]["model"]["heads"] == ["BertForNextSentencePrediction"]
    assert report["inputs"]["model"]["is next"] == 0
    assert len(report["inputs"]["data 1"]["sha256"]) == 64
    assert any("him → his in 1" in note for note in report["notes"])
    assert any("1 unrelated sentences are not the same" in note for note in report["notes"])


def test_every_triple_is_written(cli: Cli, both: str, gsss: Path, tmp_path: Path) -> None:
    out = tmp_path / "triples.csv"
    done = cli("likelihood", both, "--data", gsss, "-o", out)
    assert done.code == 0
    assert f"Written: {out}" in done.out
    with out.open(newline="") as file:
        records = list(csv.DictReader(file))
    assert [(record["version"], record["context_id"]) for record in records] == [
        (version, name) for version in ("original", "repaired") for name in "123"
    ]
    rules = ["", "", "", "him → his", "signs and capitals", ""]
    assert [record["repaired by"] for record in records] == rules
    s, d = by_hand(both, repaired=False)
    np.testing.assert_allclose([float(record["s"]) for record in records[:3]], s, rtol=0, atol=1e-5)
    np.testing.assert_allclose([float(record["d"]) for record in records[:3]], d, rtol=0, atol=1e-5)


def test_both_heads_measure_both_parts_of_stereoset(cli: Cli, both: str, stereoset: Path) -> None:
    done = cli("likelihood", both, "--data", stereoset, "--format", "json")
    assert done.code == 0
    rows = json.loads(done.out)["rows"]
    assert {(row["task"], row["measure"]) for row in rows} == {
        (task, measure)
        for task in ("intersentence", "intrasentence")
        for measure in ("ss", "lms", "icat")
    }
    p = [next_probability(both, "The mother sat.", following) for following in FOLLOWING]
    inter = {row["measure"]: row["value"] for row in rows if row["task"] == "intersentence"}
    assert inter["ss"] == float(p[0] > p[1])
    assert inter["lms"] == ((p[0] > p[2]) + int(p[1] > p[2])) / 2


def test_a_masked_model_measures_its_part_and_says_so(
    cli: Cli, masked: str, stereoset: Path
) -> None:
    done = cli("likelihood", masked, "--data", stereoset, "--format", "csv")
    assert done.code == 0
    rows = list(csv.DictReader(done.out.splitlines()))
    assert {row["task"] for row in rows} == {"intrasentence"}
    assert "has no trained next-sentence head" in done.err


def change(stereoset: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    data = json.loads(stereoset.read_text())
    edit(data["data"])
    stereoset.write_text(json.dumps(data))


TWO_BLANKS = "Tea is BLANK and Blank."


def add_two_blanks(data: dict[str, Any]) -> None:
    texts = [f"Tea is {word} and {word}." for word in ("hot", "kind", "stern")]
    sentences = [
        {"sentence": text, "gold_label": label} for text, label in zip(texts, LABELS, strict=True)
    ]
    about = {"id": "two", "target": "tea", "bias_type": "gender", "context": TWO_BLANKS}
    data["intrasentence"].append({**about, "sentences": sentences})


def test_items_with_two_blanks_are_named(cli: Cli, masked: str, stereoset: Path) -> None:
    change(stereoset, add_two_blanks)
    done = cli("likelihood", masked, "--data", stereoset, "--format", "json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["rows"][0]["n"] == 1
    assert report["inputs"]["data 1"]["left out"] == ["two"]
    assert "1 of 2 items within sentences have more than one blank (two) and are left" in done.err
    done = cli("likelihood", masked, "--data", stereoset, "--format", "json", "--as-published")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["rows"][0]["n"] == 2
    assert report["inputs"]["data 1"]["taken as published"] == ["two"]
    assert "(two); the word of the last one is taken" in done.err
    change(stereoset, lambda data: data["intrasentence"].pop(0))
    done = cli("likelihood", masked, "--data", stereoset)
    assert (done.code, done.out) == (1, "")
    assert "holds no item to score: all that the model could score have more than one" in done.err


def sentence_adapter(name: str, path: Path) -> Path:
    """Fit by hand: the one direction between the two outputs of the head."""
    from wordbias.models.adapters import Adapter
    from wordbias.models.fingerprint import Fingerprint
    from wordbias.models.sites import Site
    from wordbias.subspace import Subspace

    model, _ = head(name)
    weight = model.cls.seq_relationship.weight.detach().double().numpy()
    g = (weight[0] - weight[1])[None] / np.linalg.norm(weight[0] - weight[1])
    fitted = {Site("sentence"): Subspace(g, np.array([0.5]))}
    Adapter(fitted, Fingerprint.of(model)).save(path)
    return path


def test_an_adapter_is_measured_beside_the_model(
    cli: Cli, both: str, gsss: Path, tmp_path: Path
) -> None:
    sentence_adapter(both, tmp_path / "a.st")
    settings = [word for name in ("SENT-0", "SENT-1", "SENT-0") for word in ("--setting", name)]
    given = ("--adapter", tmp_path / "a.st", *settings)
    done = cli("likelihood", both, "--data", gsss, *given, "--format", "json")
    assert done.code == 0, done.err
    keys = ("subject", "measure", "version", "subset")
    report_rows = json.loads(done.out)["rows"]
    rows = {tuple(row[key] for key in keys): row for row in report_rows}
    assert len(rows) == len(report_rows)  # a setting named twice is measured once
    subjects = [both, f"{both} SENT-0", f"{both} SENT-1"]
    base, hard, soft = (
        rows[subject, "strength", "original", "all"]["value"] for subject in subjects
    )
    # without the direction between its two outputs the head says the same of every pair
    assert hard == pytest.approx(0, abs=1e-6)
    assert rows[subjects[1], "distance", "original", "all"]["value"] == pytest.approx(0, abs=1e-6)
    assert 0 < abs(soft) < abs(base)


@pytest.mark.slow
def test_a_head_that_a_setting_does_not_reach_is_left_out(
    cli: Cli, both: str, stereoset: Path, tmp_path: Path
) -> None:
    """A masked-language head reads no sentence's vector."""
    given = ("--adapter", sentence_adapter(both, tmp_path / "a.st"), "--setting", "SENT-0")
    done = cli("likelihood", both, "--data", stereoset, *given, "--format", "json")
    assert done.code == 0, done.err
    tasks = {(row["subject"], row["task"]) for row in json.loads(done.out)["rows"]}
    assert tasks == {
        (both, "intersentence"),
        (both, "intrasentence"),
        (f"{both} SENT-0", "intersentence"),
    }
    assert "SENT-0: the BertForMaskedLM is left out: " in done.err


def test_a_setting_that_changes_no_score_is_refused(
    cli: Cli, masked: str, crows: Path, tmp_path: Path
) -> None:
    """Words behind a mask are not read off the last layer's CLS token."""
    from wordbias.models.adapters import Adapter
    from wordbias.models.fingerprint import Fingerprint
    from wordbias.models.sites import Site
    from wordbias.subspace import Subspace

    model = transformers.BertForMaskedLM.from_pretrained(masked)
    size = model.config.hidden_size
    g = Subspace(np.ones((1, size)) / np.sqrt(size), np.array([0.5]))
    last = model.config.num_hidden_layers
    sites = {Site("cls", last): g, Site("tokens", last): g}
    Adapter(sites, Fingerprint.of(model)).save(tmp_path / "a.st")
    given = ("likelihood", masked, "--data", crows, "--adapter", tmp_path / "a.st")
    done = cli(*given, "--setting", "cls@-1")
    assert (done.code, done.out) == (1, "")
    assert "the setting cls@-1 changes no score" in done.err
    assert "choose other sites, such as tokens@L, attention@L" in done.err
    done = cli(*given, "--setting", "tokens@-1")
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--adapter", "none.st"], 1, "none.st: cannot be read as an adapter: No such file"),
        (["--setting", "SENT-0"], 2, "--adapter and --setting go together"),
        (["--top", "0"], 2, "0 is not in the range"),
        (["--top", "nan"], 2, "'nan' is not a finite number"),
        (["--max-length", "9"], 2, "--max-length is for a model that is a decoder, and"),
        (["--no-bos"], 2, "is an encoder; leave it out"),
        (["--rounding", "up"], 2, "No such option"),
        (["-o", "none/x.csv"], 1, "the folder"),
        (["--adapter", "none.st", "--setting", "SENT-0"], 1, "none.st"),
        (["--device", "no"], 1, "device 'no'"),
        (["--data", "WINOBIAS"], 1, "WinoBias is scored by the likelihood of a decoder, and"),
    ],
)
def test_wrong_use(
    cli: Cli, both: str, gsss: Path, arguments: list[str], code: int, message: str
) -> None:
    small_winobias.write(gsss.parent)
    named = {"WINOBIAS": str(gsss.parent)}
    done = cli(
        "likelihood",
        both,
        "--data",
        gsss,
        *(named.get(argument, argument) for argument in arguments),
    )
    assert (done.code, done.err.count("\n")) == (code, 1)
    assert message in done.err
    assert done.out == ""


def test_a_model_with_neither_head(cli: Cli, stereoset: Path, gsss: Path, tmp_path: Path) -> None:
    plain = save(tmp_path / "plain", transformers.BertModel)
    done = cli("likelihood", plain, "--data", stereoset)
    assert done.code == 1
    assert "has no head that the data asks for: has no trained next-sentence head" in done.err
    assert "has no trained masked-language head" in done.err
    done = cli("likelihood", plain, "--data", gsss)
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "is no two-way classifier" in done.err
    done = cli("likelihood", tmp_path / "none", "--data", stereoset)
    assert (done.code, done.err.count("no such folder")) == (1, 1)


@pytest.mark.slow
def test_several_data_sets(cli: Cli, both: str, gsss: Path, stereoset: Path, crows: Path) -> None:
    given = [word for path in (gsss, stereoset, crows) for word in ("--data", path)]
    together = json.loads(cli("likelihood", both, *given, "--format", "json").out)
    rows = [
        row
        for path in (gsss, stereoset, crows)
        for row in json.loads(cli("likelihood", both, "--data", path, "--format", "json").out)[
            "rows"
        ]
    ]
    assert together["rows"] == rows
    heads = ["BertForNextSentencePrediction", "BertForMaskedLM"]
    assert together["inputs"]["model"]["heads"] == heads
    assert [key for key in together["inputs"] if key != "model"] == ["data 1", "data 2", "data 3"]


def test_nothing_is_written_over_what_is_read(cli: Cli, both: str, gsss: Path) -> None:
    before = gsss.read_bytes()
    for read in ([], ["--adapter", "a.st", "--setting", "SENT-0"]):
        done = cli("likelihood", both, "--data", gsss, *read, "-o", read[1] if read else gsss)
        assert (done.code, done.out) == (1, "")
        assert f"is both {'--adapter' if read else '--data'} and -o; name two files" in done.err
    assert gsss.read_bytes() == before
