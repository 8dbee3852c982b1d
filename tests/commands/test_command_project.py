"""`wordbias project`: what it prints, what it writes, and what it says when something is wrong."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stand_ins
from quick_cases import first_quick
from safetensors.numpy import load_file, save_file
from tiny_encoders import build, save

import wordbias as wb
from wordbias.contextual.fitting import fit_adapter
from wordbias.models.adapters import load_adapter
from wordbias.models.hooks import applied
from wordbias.models.sentence_pairs import sentence_pairs
from wordbias.models.sites import Site

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

Run = Callable[..., Any]
Refused = Callable[..., str]
TEXT = "He left the house.\nThe woman is at work.\nNothing here.\nMy sister and her father came.\n"


@pytest.fixture(scope="module")
def folder(tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Return a function that writes a model of a family, each once."""
    paths: dict[tuple[str, str], str] = {}

    def write(family: str = "bert", purpose: str = "SequenceClassification") -> str:
        if (family, purpose) not in paths:
            path = tmp_path_factory.mktemp("models") / f"{family}-{purpose}"
            save(build(family, purpose, vocabulary=len(tokenizer)), tokenizer, path)
            paths[family, purpose] = str(path)
        return paths[family, purpose]

    return write


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write some of the built-in pairs, for tests of all but the values."""
    path = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    sample = sentence_pairs()[:12]
    path.write_text("".join(f"{pair.first}\t{pair.second}\n" for pair in sample))
    return path


@pytest.fixture
def adapter(
    cli: Run, folder: Callable[..., str], pairs: Path, _adapters: Path
) -> Callable[..., Path]:
    """Return a function that fits an adapter to a model by the command, each once."""

    def fit(family: str = "bert", purpose: str = "SequenceClassification", *more: str) -> Path:
        path = _adapters / "-".join([family, purpose, *more])
        if not path.exists():
            done = cli("project", folder(family, purpose), "--pairs", pairs, "-o", path, *more)
            assert done.code == 0, done.err
        return path

    return fit


@pytest.fixture(scope="module")
def _adapters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("adapters")


def _loaded(path: str | Path) -> Any:
    return transformers.AutoModelForSequenceClassification.from_pretrained(path).eval()


def test_the_table_and_the_rows_are_what_the_adapter_holds(
    cli: Run, folder: Callable[..., str], tmp_path: Path
) -> None:
    """And the same call writes the same file."""
    output = tmp_path / "my.adapter"
    done = cli("project", folder(), "-o", output, "--seed", 3)
    assert (done.code, done.err) == (0, "")
    for site in ("query@2", "key@2", "value@2", "tokens@2", "cls@3", "sentence"):
        assert re.search(rf"^  {site} +67 +0\.\d", done.out, re.M), site
    assert f"Written: {output}" in done.out.replace("\n", " ")
    assert output.stat().st_size < 100_000
    rerun = cli("project", folder(), "-o", tmp_path / "b", "--seed", 3, "--format", "json", "-q")
    assert (rerun.code, rerun.err) == (0, "")
    assert (tmp_path / "b").read_bytes() == output.read_bytes()
    report, model = json.loads(rerun.out), _loaded(folder())
    adapter = load_adapter(model, output)
    rows = {(row["measure"], row["site"], row["component"]): row for row in report["rows"]}
    for site, subspace in adapter.subspaces.items():
        heads = site.kind in ("query", "key", "value")
        shares = [float(np.median(subspace.weights))] if heads else subspace.weights.tolist()
        for i, share in enumerate(shares, 1):
            row = rows["explained-variance", str(site), i]
            assert (row["value"], row["n"]) == (share, 67)
        if not heads:
            row = rows["direction-stability", str(site), 1]
            assert row["low"] <= row["value"] <= row["high"] <= 1 + 1e-9
            assert (row["better"], row["neutral"], row["seed"]) == ("higher", 1.0, 3)
    assert report["inputs"]["bert-SequenceClassification"]["layers"] == 3
    direct = fit_adapter(
        model, transformers.AutoTokenizer.from_pretrained(folder()), sentence_pairs()
    )
    for site, subspace in direct.subspaces.items():
        np.testing.assert_array_equal(subspace.basis, adapter.subspaces[site].basis)


@pytest.mark.parametrize("family", first_quick(["bert", "distilbert", "deberta-v2"]))
def test_an_exported_model_is_the_hooked_one(
    cli: Run,
    folder: Callable[..., str],
    adapter: Callable[..., Path],
    tmp_path: Path,
    family: str,
) -> None:
    model, out = folder(family), tmp_path / "out"
    done = cli("apply", adapter(family), model, "--setting", "attn-01101", "-o", out)
    assert done.code == 0, done.err
    text = " ".join(done.out.split())
    assert f"Written: {out}, with attention@2, cls@3, sentence in its weights" in text
    assert "Not folded, tokens@2: a layer's output also goes past every linear map" in text
    about = json.loads((out / "wordbias.json").read_text())
    assert about["setting"] == "attn-01101"
    assert list(about["not_folded"]) == ["tokens@2: 2 of 16, hard"]
    plain, exported = _loaded(model), _loaded(out)
    interventions = load_adapter(plain, adapter(family)).interventions("attn-01101")
    tokenizer = transformers.AutoTokenizer.from_pretrained(out)
    x = tokenizer(["she is here", "a man left the house"], padding=True, return_tensors="pt")
    x.pop("token_type_ids", None)
    with torch.no_grad():
        with applied(plain, interventions):
            expected = plain(**x).logits
        with applied(exported, [it for it in interventions if it.site.kind == "tokens"]):
            assert torch.allclose(exported(**x).logits, expected, 0, 1e-4)
        assert not torch.allclose(plain(**x).logits, expected, 0, 1e-3)
    assert not list(tmp_path.glob(".*"))


def test_the_baseline(cli: Run, folder: Callable[..., str], pairs: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text(TEXT)
    more = ("--sent-debias", text, "--setting", "sent-debias", "-o", tmp_path / "a")
    done = cli("project", folder(), "--pairs", pairs, *more)
    assert done.code == 0
    assert cli("apply", tmp_path / "a", folder(), "-o", tmp_path / "out").code == 0
    assert re.search(r"Baseline sent-debias: 0\.\d+ of the variance of 5 pairs", done.out)
    [intervention] = wb.load(tmp_path / "a").interventions("sent-debias")
    assert intervention.hard
    g = intervention.what.basis[0]
    exported = _loaded(tmp_path / "out").classifier.weight.detach().numpy()
    assert np.abs(exported @ g).max() < 1e-5 * np.abs(exported).max()
    assert np.abs(_loaded(folder()).classifier.weight.detach().numpy() @ g).max() > 0.01


@pytest.mark.parametrize(
    ("purpose", "head"),
    [
        ("PreTraining", "NextSentencePrediction"),
        ("NextSentencePrediction", "NextSentencePrediction"),
        ("MaskedLM", "MaskedLM"),
    ],
)
def test_the_head_is_that_of_the_folder(
    adapter: Callable[..., Path], purpose: str, head: str
) -> None:
    """Of the two of BERT that of the next sentence."""
    stored = wb.load(adapter("bert", purpose))
    assert stored.fingerprint.architecture == f"BertFor{head}"
    assert Site("sentence") in stored.subspaces or head == "MaskedLM"


def test_bert_whose_config_names_its_other_head(
    cli: Run, refused: Refused, folder: Callable[..., str], pairs: Path, tmp_path: Path
) -> None:
    """As the best known checkpoint has it: both heads in the file, one in the config."""
    path = tmp_path / "both"
    shutil.copytree(folder("bert", "PreTraining"), path)
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, "architectures": ["BertForMaskedLM"]}))
    heads = {(): "NextSentencePrediction", ("--head", "masked-lm"): "MaskedLM"}
    for given, purpose in heads.items():
        call = ("project", path, "--pairs", pairs, *given, "--sites", "cls@-1")
        assert cli(*call, "-o", tmp_path / "a", "-q").code == 0
        architecture = wb.load(tmp_path / "a").fingerprint.architecture
        assert architecture == f"BertFor{purpose}"
    message = refused("project", folder("bert", "MaskedLM"), "--head", "classification")
    assert "holds a BertForSequenceClassification without" in message


def test_a_model_without_a_head(
    cli: Run, folder: Callable[..., str], pairs: Path, tmp_path: Path
) -> None:
    call = ("project", folder("distilbert", "MaskedLM"), "--pairs", pairs, "-o", tmp_path / "a")
    done = cli(*call)
    assert done.code == 0
    assert "without a trained head or pooler, so there is no site sentence" in done.err
    assert Site("sentence") not in wb.load(tmp_path / "a").subspaces


def test_a_folder_that_lacks_the_weights_of_the_head(
    refused: Refused, folder: Callable[..., str], tmp_path: Path
) -> None:
    model = build("bert", vocabulary=240)
    weights = {name: x for name, x in model.state_dict().items() if "classifier" not in name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder())
    save(model, tokenizer, tmp_path / "m", state_dict=weights)
    message = refused("project", tmp_path / "m")
    assert "holds a BertForSequenceClassification without classifier.bias" in message
    assert "give a model folder with a trained head" in message


@pytest.mark.parametrize("purpose", ["Model", "MaskedLM"])
def test_a_folder_that_lacks_weights_of_the_encoder(
    refused: Refused, folder: Callable[..., str], tmp_path: Path, purpose: str
) -> None:
    """They would be drawn at random, and the subspaces be those of no model."""
    shutil.copytree(folder("bert", purpose), tmp_path / "m")
    path = tmp_path / "m" / "model.safetensors"
    weights = {n: w for n, w in load_file(path).items() if "layer.1.attention.output" not in n}
    save_file(weights, path, {"format": "pt"})
    message = refused("project", tmp_path / "m", "-o", tmp_path / "a.st")
    assert "without trained weights for " in message
    assert "encoder.layer.1.attention.output" in message
    assert not (tmp_path / "a.st").exists()


def test_pairs_and_sites_of_ones_own(
    report: Run, folder: Callable[..., str], tmp_path: Path
) -> None:
    mine = tmp_path / "mine.tsv"
    mine.write_text("she left\the left\na girl\ta boy\nmy mother\tmy father\n")
    more = ("--sites", "cls@-1,tokens@1", "--methods", "mhd-pairs:dims=1")
    outcome = report("project", folder(), "--pairs", mine, *more)
    assert [row["site"] for row in outcome["rows"]] == ["tokens@1"] * 2 + ["cls@3"] * 2
    assert {row["n"] for row in outcome["rows"]} == {3}
    assert outcome["arguments"]["pairs"] == str(mine)


def test_what_was_left_out_is_said(cli: Run, folder: Callable[..., str], tmp_path: Path) -> None:
    mine = tmp_path / "mine.tsv"
    mine.write_text(
        "she left\the left\na girl\ta boy\nmy aunt\tmy dear uncle\nzyx left\txyz left\n"
    )
    done = cli("project", folder(), "--pairs", mine)
    assert done.code == 0
    uneven, same = done.err.splitlines()
    assert "as they do not align: 1 of 4 pairs," in uneven
    assert "my aunt / my dear uncle, 4 and 5 tokens" in uneven
    assert "as they have the same tokens: 1 of 4 pairs," in same
    assert re.search(r"tokens@2 +2 .*\n.*cls@3 +3 ", done.out)


def test_the_warning_of_a_one_sided_fit(cli: Run, folder: Callable[..., str], pairs: Path) -> None:
    done = cli("project", folder(), "--one-sided", "--pairs", pairs)
    assert done.code == 0
    assert "removes the mean shift between the genders" in done.err
    assert "Nothing written; -o ADAPTER writes the subspaces." in done.out


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        ("--sites cls@7", 1, "layers 1 to 3"),
        ("--sites ' , '", 1, "expected some of sentence"),
        ("--pairs none.toml", 1, "no such file"),
        ("--sent-debias none.txt", 1, "cannot be read"),
        ("--setting L9-0 -o x", 1, "expected SENT-p"),
        ("-o no/x", 1, "does not exist"),
        ("--pairs one.tsv", 1, "usable pairs of sentences: 1,"),
        ("--pairs one.tsv -o one.tsv", 1, "is both --pairs and -o"),
        ("--setting cls@3 --sites tokens@1 -o x", 1, "not among those to fit: tokens@1; name it"),
        ("--setting SENT-0", 2, "--setting goes with -o"),
        ("--setting sent-debias -o x", 2, "needs --sent-debias TEXT"),
        ("--groups age --limit 5", 2, "--limit is for other sentences than those of --groups"),
    ],
)
def test_mistakes(
    refused: Refused,
    folder: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    more: str,
    code: int,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    if "cls@3" in more:  # a site that is not fitted is said before anything is fitted
        monkeypatch.setattr("wordbias.contextual.sent_debias.fit_adapters", None)
    Path("one.tsv").write_text("she left\the left\n")
    assert said in refused("project", folder(), *shlex.split(more), code=code)
    assert [path.name for path in tmp_path.iterdir()] == ["one.tsv"]
    assert Path("one.tsv").read_text() == "she left\the left\n"


def test_a_family_that_is_not_known(
    refused: Refused, folder: Callable[..., str], tmp_path: Path
) -> None:
    config = transformers.BloomConfig(n_layer=1, n_head=1, hidden_size=8, vocab_size=240)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder())
    save(transformers.BloomModel(config), tokenizer, tmp_path / "bloom")
    assert "no such folder" in refused("project", tmp_path / "nowhere")
    assert "models of type 'bloom' are not known here" in refused("project", tmp_path / "bloom")


@pytest.mark.slow
def test_as_a_process(forked: Run, folder: Callable[..., str], tmp_path: Path) -> None:
    done = forked("project", folder(), "-o", tmp_path / "a")
    assert (done.code, done.err) == (0, "")
    assert "Subspaces of bert-SequenceClassification" in done.out
    assert wb.load(tmp_path / "a").facts["pairs"] == 67


@pytest.mark.parametrize(
    ("purpose", "setting", "message"),
    [
        ("Model", "SENT-0", "nothing of SENT-0 can be folded into the weights (sentence: BertMod"),
        ("Model", "L12-110", "(cls@3, sentence: BertModel has no head to fold it into); commands"),
        ("SequenceClassification", "tokens@2", "residual connection); commands that take --adapt"),
    ],
)
def test_nothing_is_written_if_nothing_can_be_folded(
    refused: Refused,
    folder: Callable[..., str],
    adapter: Callable[..., Path],
    tmp_path: Path,
    purpose: str,
    setting: str,
    message: str,
) -> None:
    call = ("apply", adapter("bert", purpose), folder("bert", purpose), "--setting", setting)
    assert message in refused(*call, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_adapter_is_applied_to_its_model_only(
    cli: Run,
    refused: Refused,
    folder: Callable[..., str],
    adapter: Callable[..., Path],
    tmp_path: Path,
) -> None:
    file, out = adapter("bert", "PreTraining"), tmp_path / "out"
    headed, plain = folder("bert", "PreTraining"), folder("distilbert")
    call = ("apply", file, headed, "-o", out)
    assert "has no setting that it removes by default; name one with --setting" in cli(*call).err
    call += ("--setting", "L12-110")
    wrong = refused(*call, "--head", "masked-lm")
    assert "on another model (a BertForNextSentencePrediction for a BertForMaskedLM)" in wrong
    assert "fitted on another model" in refused(*call[:2], plain, *call[3:])
    assert "exists already" in refused(*call[:4], tmp_path, *call[5:])
    for more in ("--array", "x"), ("--jobs", 2), ("--no-cache",):
        done = cli(*call, *more)
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert "not for an adapter and its model" in done.err
    assert not out.exists()
    file = adapter("bert", "PreTraining", "--head", "masked-lm")
    call = ("apply", file, headed, "-o", out, "--setting", "attention@2")
    call += ("--head", "masked-lm", "--format", "json")
    done = cli(*call)
    assert done.code == 0, done.err
    assert json.loads(done.out)["inputs"]["adapter"]["path"] == str(file)
    config = json.loads((out / "config.json").read_text())
    assert config["architectures"] == ["BertForMaskedLM"]


def test_options_of_models_are_refused_for_vectors(cli: Run, tmp_path: Path) -> None:
    hard = tmp_path / "hard.safetensors"
    vectors = tmp_path / "v.txt"
    stand_ins.small().save(vectors)
    wb.debias(stand_ins.small(), "hard", save_transform=hard)
    for more in ("--setting", "SENT-0"), ("--head", "none"), ("--device", "cpu"):
        done = cli("apply", hard, vectors, "-o", tmp_path / "out.txt", *more)
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert f"{more[0]} is for an adapter and its model, not for words with vectors" in done.err


def test_an_exported_sentence_transformers_folder_is_still_one(
    cli: Run, folder: Callable[..., str], pairs: Path, tmp_path: Path
) -> None:
    from wordbias.models.encoder import Encoder
    from wordbias.models.encoding import encode

    model = tmp_path / "sentences"
    shutil.copytree(folder("bert", "Model"), model)
    (model / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True}
    (model / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    names = ("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{name}"}
        for i, (name, path) in enumerate(names)
    ]
    (model / "modules.json").write_text(json.dumps(modules))
    (model / "sentence_bert_config.json").write_text('{"max_seq_length": 20}')
    given = ("--sites", "attention@2", "--setting", "attention@2", "--pairs", pairs)
    assert cli("project", model, "-o", tmp_path / "a", *given).code == 0
    done = cli("apply", tmp_path / "a", model, "-o", tmp_path / "out")
    assert done.code == 0, done.err
    plain, exported = (Encoder.load(path, device="cpu") for path in (model, tmp_path / "out"))
    assert exported.sentence is not None
    assert exported.max_length == 20
    texts = ["she is here", "a man left the house"]
    steps = load_adapter(plain.model, tmp_path / "a").interventions("attention@2")
    with applied(plain.model, steps):
        expected = encode(plain, texts)
    np.testing.assert_allclose(encode(exported, texts), expected, atol=1e-5)
    assert np.abs(encode(plain, texts) - expected).max() > 1e-3
