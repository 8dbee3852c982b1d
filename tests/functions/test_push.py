"""Publishing on the hub: what is uploaded, what the card says, and that it loads from there."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stand_ins
from hub_server import Hub, Repository

import wordbias as wb
from wordbias import WordbiasError
from wordbias.models.adapters import read_adapter
from wordbias.models.fingerprint import Fingerprint
from wordbias.models.sites import Site

hub_library = pytest.importorskip("huggingface_hub")
Cli = Callable[..., Any]

ROWS, LABELS = np.random.default_rng(0).normal(size=(40, 6)), np.arange(40) % 2


@pytest.fixture(scope="module")
def leace() -> Any:
    return wb.LEACE().fit(ROWS + LABELS[:, None], LABELS)


@pytest.fixture
def method_file(leace: Any, tmp_path: Path) -> Path:
    leace.save(tmp_path / "mine.safetensors")
    return tmp_path / "mine.safetensors"


@pytest.fixture
def adapter() -> wb.Adapter:
    subspace = wb.Subspace(np.eye(2, 6), np.array([0.5, 0.2]))
    shape = Fingerprint("BertModel", 2, 6, 2, "0" * 64)
    return wb.Adapter({Site("tokens", 2): subspace}, shape, chosen="tokens@2")


def there(hub: Hub, repo: str, kind: str = "model") -> Repository:
    return hub.repositories[kind, repo]


def card_of(hub: Hub, repo: str, kind: str = "model") -> Any:
    text = there(hub, repo, kind).files["README.md"].decode()
    return hub_library.RepoCard(text, ignore_metadata_errors=False)


# methods


def test_a_method_is_published_and_loads_from_there(hub: Hub, leace: Any) -> None:
    report = wb.push(leace, "me/gender-leace")
    files = there(hub, "me/gender-leace").files
    assert set(files) == {".gitattributes", "README.md", "method.safetensors"}
    loaded = wb.load("hf://me/gender-leace")
    assert np.array_equal(loaded.transform(ROWS), leace.transform(ROWS))
    sizes = {row.subject: row.value for row in report["bytes-published"]}
    assert sizes == {name: len(files[name]) for name in ("method.safetensors", "README.md")}
    assert report.rows[0].details["address"] == "hf://me/gender-leace"
    assert report.rows[0].details["commit"] == there(hub, "me/gender-leace").refs["main"]
    card = card_of(hub, "me/gender-leace")
    assert card.data.library_name == "wordbias"
    assert "wordbias" in card.data.tags
    assert card.data.get("license") is None
    assert "for vectors of 6 dimensions: `leace`" in card.text
    assert "Fitted on 40 rows: 40 rows × 6" in card.text
    assert 'method = wb.load("hf://me/gender-leace")' in card.text
    assert "wordbias apply hf://me/gender-leace VECTORS -o OUTPUT" in card.text
    assert "## Limits" in card.text
    assert "Bias before and after" not in card.text  # it was fitted on rows, and has no report
    second = wb.push(leace, "hf://me/gender-leace")  # what has not changed is not committed
    assert second.rows[0].details["commit"] == report.rows[0].details["commit"]
    assert second.closing[0].startswith("Nothing new")
    assert len(there(hub, "me/gender-leace").commits) == 2  # with the first, of the hub itself


def test_the_card_of_a_method_fitted_on_words_has_the_bias_before_and_after(hub: Hub) -> None:
    misp = wb.MISP().fit(stand_ins.small())
    wb.push(misp, "me/misp")
    text = card_of(hub, "me/misp").text
    rows = {
        row.details["stage"]: row.value
        for row in misp.report["midb"]
        if row.details.get("reference") != "self"  # the components before, also after
    }
    line = next(text_line for text_line in text.split("\n") if text_line.startswith("| midb |"))
    cells = [cell.strip() for cell in line.split("|")[2:4]]
    assert [float(cell.split(" ")[0]) for cell in cells] == pytest.approx(
        [rows["before"], rows["after"]], abs=5e-4
    )


@pytest.mark.slow
def test_what_the_card_says_can_be_typed(
    hub: Hub, method_file: Path, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small = stand_ins.small()
    wb.debias(small, "hard", save_transform="hard.safetensors")
    small.save("vectors.txt")
    assert cli("push", "hard.safetensors", "me/hard").code == 0
    text = card_of(hub, "me/hard").text
    command = text.partition("```sh\n")[2].partition("\n```")[0].split()
    placeholders = {"VECTORS": "vectors.txt", "OUTPUT": "clean.txt"}
    done = cli(*(placeholders.get(word, word) for word in command[1:]))
    assert (done.code, done.err) == (0, "")
    vectors = wb.load("vectors.txt")
    names: dict[str, Any] = {"vectors": vectors}
    exec(text.partition("```python\n")[2].partition("\n```")[0], names)
    assert np.array_equal(names["clean"].vectors, wb.apply("hf://me/hard", vectors).vectors)
    assert np.allclose(wb.load("clean.txt").vectors, names["clean"].vectors, atol=1e-5)


def test_a_pipeline_of_methods_is_published(hub: Hub, tmp_path: Path) -> None:
    wb.debias(stand_ins.small(), "hard,misp", save_transform=tmp_path / "both.safetensors")
    both = wb.load(tmp_path / "both.safetensors")
    wb.push(both, "me/both")
    assert "`hard`" in card_of(hub, "me/both").text
    cleaned = wb.load("hf://me/both").transform(stand_ins.small())
    assert np.array_equal(cleaned.vectors, both.transform(stand_ins.small()).vectors)


# adapters, models and vectors


@pytest.mark.slow
def test_an_adapter_is_published_and_loads_by_address_and_by_name(
    hub: Hub, adapter: wb.Adapter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its card names its model, if the hub has that."""
    monkeypatch.chdir(tmp_path)
    hub.put("they/bert", {"config.json": b"{}"}, card={"license": "apache-2.0"})
    inputs = {"bert": {"path": "they/bert"}}
    rows = [
        wb.Row("bert", "stereotype-score", value, {"stage": stage, "neutral": 50.0})
        for stage, value in (("before", 61.0), ("after", 52.0))
    ]
    wb.push(replace(adapter, report=wb.Report("project", inputs=inputs, rows=rows)), "me/adapter")
    for name in ("hf://me/adapter", "me/adapter", "hf://me/adapter@main/adapter.safetensors"):
        loaded = wb.load(name) if name.startswith("hf") else read_adapter(name)
        assert loaded.fingerprint == adapter.fingerprint
        assert loaded.chosen == "tokens@2"
        assert np.array_equal(loaded.subspaces[Site("tokens", 2)].basis, np.eye(2, 6))
    card = card_of(hub, "me/adapter")
    assert "a BertModel of 2 layers and 6 dimensions computes, at: tokens@2" in card.text
    assert 'wb.load("hf://me/adapter")' in card.text
    assert card.data.base_model == "they/bert"
    assert card.data.get("license") is None  # it has none of the model's weights
    assert "| stereotype-score | 61.000 | 52.000 | 50.000 |" in card.text


def test_a_folder_of_a_model_names_its_model_and_its_licence(hub: Hub, tmp_path: Path) -> None:
    hub.put("they/bert", {"config.json": b"{}"}, card={"license": "apache-2.0"})
    folder = model_folder(tmp_path)
    (folder / "wordbias.json").write_text(json.dumps({"setting": "L12-110", "model": "they/bert"}))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    wb.push(folder, "me/clean")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    files = there(hub, "me/clean").files
    assert files["model.safetensors"] == b"w" * 2000
    assert not any("git/" in name for name in files)
    card = card_of(hub, "me/clean")
    assert (card.data.base_model, card.data.license) == ("they/bert", "apache-2.0")
    assert card.data.library_name == "transformers"
    assert "A BertModel from which wordbias removed a concept" in card.text
    assert "Removed, as wordbias project names it: L12-110." in card.text
    assert 'AutoModel.from_pretrained("me/clean")' in card.text


def model_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text("x")
    (folder / "config.json").write_text(json.dumps({"architectures": ["BertModel"]}))
    (folder / "model.safetensors").write_bytes(b"w" * 2000)
    return folder


@pytest.mark.parametrize(
    ("config", "modules", "library", "line"),
    [
        ({"model_type": "model2vec"}, False, "model2vec", "StaticModel.from_pretrained"),
        ({"architectures": ["BertModel"]}, True, "sentence-transformers", "SentenceTransformer("),
    ],
)
def test_the_card_of_a_model_names_the_library_that_loads_it(
    hub: Hub, tmp_path: Path, config: dict[str, Any], modules: bool, library: str, line: str
) -> None:
    folder = model_folder(tmp_path)
    (folder / "config.json").write_text(json.dumps(config))
    if modules:
        (folder / "modules.json").write_text("[]")
    wb.push(folder, "me/model")
    card = card_of(hub, "me/model")
    assert card.data.library_name == library
    assert f'model = {line.rstrip("(")}("me/model")' in card.text
    assert f"A {library} model from which wordbias removed a concept" in card.text


@pytest.mark.slow
def test_a_card_that_is_there_stays(hub: Hub, tmp_path: Path, method_file: Path) -> None:
    folder = model_folder(tmp_path)
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# Mine\n")
    wb.push(folder, "me/clean")
    assert there(hub, "me/clean").files["README.md"] == b"---\nlicense: mit\n---\n# Mine\n"
    (folder / "README.md").unlink()
    report = wb.push(folder, "me/clean")
    assert "Nothing new" in report.closing[0]
    hub.put("me/other", {"README.md": b"theirs"})
    report = wb.push(method_file, "me/other")
    assert there(hub, "me/other").files["README.md"] == b"theirs"
    assert "its README.md stays" in report.closing[0]


@pytest.mark.slow
def test_vectors_are_published_and_load_from_there(hub: Hub, tmp_path: Path) -> None:
    small = stand_ins.small().renamed("clean")
    wb.push(small, "me/clean")
    assert "clean.safetensors" in there(hub, "me/clean").files
    loaded = wb.load("hf://me/clean")
    assert loaded.words == small.words
    assert np.array_equal(loaded.vectors, small.vectors)
    assert 'wb.load("hf://me/clean/clean.safetensors")' in card_of(hub, "me/clean").text


def test_rows_are_published_as_a_data_set(hub: Hub, tmp_path: Path) -> None:
    file = tmp_path / "clean.parquet"
    file.write_bytes(b"PAR1")
    with pytest.raises(WordbiasError, match="publish it in datasets/me/clean"):
        wb.push(file, "me/clean")
    assert hub.repositories == {}
    wb.push(file, "datasets/me/clean/part")
    files = there(hub, "me/clean", "dataset").files
    assert set(files) == {".gitattributes", "README.md", "part/clean.parquet"}
    text = card_of(hub, "me/clean", "dataset").text
    assert 'load_dataset("me/clean")' in text
    assert "wordbias probe hf://datasets/me/clean/part/clean.parquet --labels COLUMN" in text


# repositories


def test_private_branch_message_and_results_reach_the_hub(
    hub: Hub, method_file: Path, cli: Cli, tmp_path: Path
) -> None:
    rows = [
        wb.Row("v", "linear-probe", value, {"stage": stage, "concept": concept, "neutral": 0.5})
        for concept in ("gender", "age")
        for stage, value in (("before", 0.9), ("after", 0.51))
    ]
    wb.Report("erase", rows=rows).save(tmp_path / "effect.json")
    more = ("--revision", "v2", "--message", "Second try", "--report", tmp_path / "effect.json")
    done = cli("push", method_file, "me/x", "--private", *more)
    assert done.code == 0, done.err
    assert "Published: " in done.out
    repo = there(hub, "me/x")
    assert repo.private
    assert repo.messages[-1] == "Second try"
    assert "method.safetensors" not in repo.files
    assert "method.safetensors" in repo.commits[repo.refs["v2"]]
    assert wb.load("hf://me/x@v2").n_features_in_ == 6
    text = repo.commits[repo.refs["v2"]]["README.md"].decode()
    assert "hf://me/x@v2" in text
    assert "| linear-probe gender | 0.900 | 0.510 | 0.500 |" in text
    assert "| linear-probe age | 0.900 | 0.510 | 0.500 |" in text


# errors: one line, and nothing is published


@pytest.mark.parametrize(
    ("repo", "message"),
    [
        ("x", "expected OWNER/NAME, such as me/x"),
        ("me/x y", "is not an address on the hub"),
        ("spaces/me/x", "expected the owner and the name of a model"),
        ("me/x@v1/../y", "is not an address on the hub"),
        ("me/-x", "is not a name on the hub"),
        ("", "is empty"),
    ],
)
def test_a_bad_name_is_refused(
    hub: Hub, method_file: Path, cli: Cli, repo: str, message: str
) -> None:
    done = cli("push", method_file, repo)
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert message in done.err
    assert hub.repositories == {}


def test_two_revisions_are_wrong_usage(hub: Hub, method_file: Path, cli: Cli) -> None:
    done = cli("push", method_file, "me/x@v1", "--revision", "v2")
    assert done.code == 2
    assert "names a revision, and --revision another" in done.err


def test_what_is_nothing_to_publish_is_refused(
    hub: Hub, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.txt").write_text("a")
    (tmp_path / "text.txt").write_text("She said that it was so.\nHe said that it was not.\n")
    (tmp_path / "nothing.txt").write_text("")
    from safetensors.numpy import save_file

    save_file({"w": np.zeros(2)}, tmp_path / "weights.safetensors")
    for name, message in {
        "none": "there is no such file or folder",
        "empty": "is an empty folder",
        "plain": "is no folder of a model (no config.json or modules.json) and has no README.md",
        "text.txt": "",
        "nothing.txt": "the file is empty",
        "weights.safetensors": "holds no method, adapter or vectors",
        "hf://me/other": "is on the hub already",
    }.items():
        done = cli("push", name, "me/x")
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert done.err.startswith(f"wordbias: {name}: ")
        assert message in done.err
    for given in (object(), wb.LEACE(), 3):
        with pytest.raises(WordbiasError, match=r"source"):
            wb.push(given, "me/x")  # type: ignore[arg-type]
    assert hub.repositories == {}


def test_hidden_files_and_links_to_files_elsewhere_are_not_published(
    hub: Hub, cli: Cli, tmp_path: Path
) -> None:
    folder = model_folder(tmp_path)
    (folder / ".env").write_text("TOKEN=secret")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / ".key").write_text("secret")
    (folder / "vocab.txt").symlink_to("config.json")
    planned = cli("push", folder, "me/x", "--dry-run", "--format", "json")
    names = {row["subject"] for row in json.loads(planned.out)["rows"]}
    assert "vocab.txt" in names
    assert not any("/." in f"/{name}" for name in names)
    (tmp_path / "key").write_text("secret")
    (folder / "merges.txt").symlink_to(tmp_path / "key")
    done = cli("push", folder, "me/y")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert f"merges.txt: is a link to {tmp_path.resolve() / 'key'}" in done.err
    (folder / "merges.txt").unlink()
    (folder / ".git").mkdir(exist_ok=True)
    (folder / ".git" / "config").write_text("secret")
    (folder / "NOTES.md").symlink_to(Path(".git", "config"))
    done = cli("push", folder, "me/y")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "NOTES.md: is a link" in done.err
    assert ("model", "me/y") not in hub.repositories


def test_only_what_belongs_to_a_model_is_published(hub: Hub, cli: Cli, tmp_path: Path) -> None:
    """The state of a training, keys and weights of other programs stay, and a note names them."""
    folder = model_folder(tmp_path)
    modules = [{"path": "", "type": "t.Transformer"}, {"path": "1_Dense", "type": "t.Dense"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    published = [
        "LICENSE", "card.svg", "1_Dense/config.json", "1_Dense/model.safetensors", "vocab.txt",
        "tokenizer.json", "tokenizer_config.json", "sentence_bert_config.json", "spiece.model",
        "chat_template.jinja", "model.safetensors.index.json", "README.md",
        "model-00001-of-00002.safetensors",
    ]  # fmt: skip
    others = [
        "optimizer.pt", "training_args.bin", "trainer_state.json", "id_rsa", "hf_token.txt",
        "service_account.json", "pytorch_model.bin", "onnx/model.onnx", "run/config.json",
        "modeling.py", "adapter.safetensors", "license_key.pem", "secret.model", "1_Dense/a.json",
        "1_Dense/notes.txt", "run/NOTES.md", "other.svg",
    ]  # fmt: skip
    for name in (*published, *others):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x")
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# Mine\n![card](card.svg)\n")
    planned = cli("push", folder, "me/x", "--dry-run", "--format", "json")
    rows = {row["subject"]: row["value"] for row in json.loads(planned.out)["rows"]}
    assert ("model", "me/x") not in hub.repositories
    assert rows["LICENSE"] == 1
    done = cli("push", folder, "me/x")
    assert (done.code, done.err.count("\n")) == (0, 2)
    assert f"to publish: {', '.join(rows)}" in done.err
    assert set(there(hub, "me/x").files) - {".gitattributes"} == {
        *published, "config.json", "modules.json", "model.safetensors"
    }  # fmt: skip
    named = done.err.partition("not published, as no part of the model: ")[2].partition(";")[0]
    assert set(named.split(", ")) < {*others, f"… and {len(others) - 12} more"}


def test_a_folder_of_vectors_is_published_and_one_with_something_else_is_not(
    hub: Hub, cli: Cli, tmp_path: Path
) -> None:
    folder = tmp_path / "vectors"
    folder.mkdir()
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# Mine\n")
    (folder / "a.txt").write_text("she 1 0\nhe 0 1\n")
    (folder / "a.csv").write_text("x,y\n1,2\n")
    assert cli("push", folder, "datasets/me/x").code == 0
    names = {"README.md", "a.txt", "a.csv"}
    assert set(there(hub, "me/x", "dataset").files) - {".gitattributes"} == names
    (folder / "key.txt").write_text("-----BEGIN PRIVATE KEY-----")
    done = cli("push", folder, "datasets/me/y")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "key.txt" in done.err
    assert ("dataset", "me/y") not in hub.repositories


def test_a_model_in_the_cache_of_the_hub_is_published(hub: Hub, tmp_path: Path) -> None:
    """Its files are links to the blobs beside it."""
    folder = model_folder(tmp_path)
    blobs, snapshot = tmp_path / "m" / "blobs", tmp_path / "m" / "snapshots" / "abc"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for file in (folder / "config.json", folder / "model.safetensors"):
        file.rename(blobs / f"of-{file.name}")
        (snapshot / file.name).symlink_to(Path("..", "..", "blobs", f"of-{file.name}"))
    assert "config.json" in {row.subject for row in wb.push(snapshot, "me/x", dry_run=True)}


def test_what_the_hub_refuses_is_one_line(
    hub: Hub, method_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(**more: Any) -> str:
        with pytest.raises(WordbiasError) as error:
            wb.push(method_file, "me/x", **more)
        assert "\n" not in str(error.value)
        return str(error.value)

    with monkeypatch.context() as patch:
        patch.setattr(sys.modules["huggingface_hub.constants"], "HF_HUB_OFFLINE", True)
        assert "nothing is published while HF_HUB_OFFLINE" in said()
    assert hub.requests == []
    with monkeypatch.context() as patch:
        patch.delenv("HF_TOKEN")
        assert "needs a token with write access; log in with" in said()
    assert hub.asked("POST", "") == []
    with monkeypatch.context() as patch:
        patch.setenv("HF_TOKEN", "hf_of_another")
        assert "me/x: the hub refused it while publishing (403)" in said()
    hub.broken = 500
    assert "the hub answered 500 while publishing" in said()
    hub.broken = None
    assert hub.repositories == {}
    hub.put("me/x", {"a.txt": b"x"})
    assert "is public already; leave out private=True" in said(private=True)
    assert set(there(hub, "me/x").files) == {"a.txt"}


def test_a_card_whose_header_the_hub_refuses_is_one_line(
    hub: Hub, cli: Cli, tmp_path: Path
) -> None:
    folder = model_folder(tmp_path)
    (folder / "README.md").write_text("---\nlicense: [a, b]\n---\n# Mine\n")
    done = cli("push", folder, "me/x")
    assert (done.code, done.out) == (1, "")
    assert done.err.count("\n") == 2, "the files that were to be published, and the error"
    assert "Invalid metadata in README.md" in done.err
    assert '"license" must be a string' in done.err
    assert "README.md" not in there(hub, "me/x").files
