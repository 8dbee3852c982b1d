"""Models on the hub: every command takes them by address, and the result is that of the folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stand_ins
from hub_server import Hub

import wordbias as wb
from wordbias import WordbiasError

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("huggingface_hub")

TEXTS = ["The doctor said that she was late.", "He sat.", "The nurse saw him."]


@pytest.fixture(autouse=True)
def _one_thread(one_thread: None) -> None:
    """These models are too small for more."""


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[str], Path]:
    def made(name: str) -> Path:
        path = tmp_path / name
        stand_ins.STAND_INS[name](path)
        return path

    return made


def same_vectors(a: wb.Representations, b: wb.Representations) -> bool:
    return np.array_equal(a.vectors, b.vectors)


@pytest.mark.slow
def test_an_encoder_by_address_by_name_and_by_folder_gives_the_same_vectors(
    hub: Hub, folder: Callable[[str], Path]
) -> None:
    path = folder("bert-base-cased")
    hub.put_folder("me/bert", path)
    expected = wb.encode(path, TEXTS)
    for name in ("hf://me/bert", "hf://me/bert@main", "me/bert"):
        encoded = wb.encode(name, TEXTS)
        assert same_vectors(encoded, expected)
        assert encoded.about["model"] == name


@pytest.mark.slow
def test_an_encoder_with_random_weights_is_that_of_the_folder(
    hub: Hub, folder: Callable[[str], Path]
) -> None:
    path = folder("bert-base-cased")
    hub.put_folder("me/bert", path)
    a, b = (wb.encode(name, TEXTS, random_init=3) for name in (path, "hf://me/bert"))
    assert same_vectors(a, b)


@pytest.mark.slow
def test_a_model_of_sentence_transformers_is_read_with_its_modules(
    hub: Hub, folder: Callable[[str], Path]
) -> None:
    path = folder("all-MiniLM-L6-v2")
    hub.put_folder("me/minilm", path)
    expected = wb.encode(path, TEXTS)
    assert same_vectors(wb.encode("hf://me/minilm", TEXTS), expected)
    lengths = np.linalg.norm(expected.vectors[-1], axis=1)
    assert np.allclose(lengths, 1, atol=1e-6)  # of its last module, so that it was read


@pytest.mark.slow
def test_stereoset_by_address_is_that_of_the_folder(
    hub: Hub, folder: Callable[[str], Path], tmp_path: Path
) -> None:
    path = folder("minilm-nsp")
    hub.put_folder("me/nsp", path)
    hub.put("me/data", {"gsss.csv": folder("gsss_dev.csv").read_bytes()}, "dataset")
    data = tmp_path / "gsss_dev.csv"
    expected = wb.likelihood(path, data=data)
    report = wb.likelihood("hf://me/nsp", data="hf://datasets/me/data")
    assert [row.value for row in report] == [row.value for row in expected]


@pytest.mark.slow
def test_an_adapter_goes_from_a_fit_over_the_hub_to_a_measurement(
    hub: Hub, folder: Callable[[str], Path], cli: Callable[..., Any], tmp_path: Path
) -> None:
    hub.put_folder("me/nsp", folder("minilm-nsp"))
    file = tmp_path / "adapter.safetensors"
    data = folder("gsss_dev.csv")
    adapter = wb.project("hf://me/nsp", setting="L12-110", output=file)
    wb.push(adapter, "me/nsp-adapter")
    card = hub.repositories["model", "me/nsp-adapter"].files["README.md"].decode()
    assert "base_model: me/nsp\n" in card
    expected = wb.likelihood("hf://me/nsp", data=data, adapter=file)
    wb.apply("hf://me/nsp-adapter", "hf://me/nsp", output=tmp_path / "folded")
    assert (tmp_path / "folded" / "wordbias.json").exists()
    for name in ("hf://me/nsp-adapter", "me/nsp-adapter"):
        report = wb.likelihood("hf://me/nsp", data=data, adapter=name)
        assert [row.value for row in report] == [row.value for row in expected]
    done = cli("likelihood", "hf://me/nsp", "--data", data, "--adapter", "hf://me/none")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "there is no such model" in done.err


@pytest.mark.slow
def test_a_model_with_a_projection_in_its_weights_goes_over_the_hub(
    hub: Hub, folder: Callable[[str], Path], tmp_path: Path
) -> None:
    hub.put_folder("me/nsp", folder("minilm-nsp"))
    export = tmp_path / "debiased"
    wb.apply(wb.project("hf://me/nsp"), "hf://me/nsp", setting="L12-110", output=export)
    wb.push(export, "me/debiased")
    card = hub.repositories["model", "me/debiased"].files["README.md"].decode()
    assert "base_model: me/nsp\n" in card
    assert "L12-110" in card
    assert same_vectors(wb.encode("hf://me/debiased", TEXTS), wb.encode(export, TEXTS))


def test_an_audit_knows_a_model_from_vectors(
    hub: Hub, folder: Callable[[str], Path], tmp_path: Path
) -> None:
    from wordbias.functions.audit_model import model_among

    hub.put_folder("me/bert", folder("bert-base-cased"))
    hub.put("me/glove", {"glove.txt": b"she 1 0\nhe 0 1\n"})
    assert model_among("hf://me/bert") == "hf://me/bert"
    assert model_among("hf://me/glove") is None


@pytest.mark.slow
def test_offline_a_model_that_was_fetched_is_loaded(
    hub: Hub, folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.put_folder("me/bert", folder("bert-base-cased"))
    expected = wb.encode("hf://me/bert", TEXTS)
    monkeypatch.setattr(sys.modules["huggingface_hub.constants"], "HF_HUB_OFFLINE", True)
    request_count = len(hub.requests)
    assert same_vectors(wb.encode("hf://me/bert", TEXTS), expected)
    assert len(hub.requests) == request_count


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.txt": b"x"}, "is a file, and a model is a folder"),
        ({"a.bin": b"x", "b.bin": b"y"}, "holds 2 files; name one of"),
        ({"config.json": b"{}"}, "cannot be loaded as an encoder"),
    ],
)
def test_what_is_no_model_is_one_line(
    hub: Hub, cli: Callable[..., Any], tmp_path: Path, files: dict[str, bytes], message: str
) -> None:
    hub.put("me/none", files)
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    done = cli("encode", "hf://me/none", tmp_path / "texts.txt", "-o", tmp_path / "v.safetensors")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert message in done.err
    assert not (tmp_path / "v.safetensors").exists()


def test_code_that_comes_with_a_model_is_neither_fetched_nor_run(
    hub: Hub, folder: Callable[[str], Path]
) -> None:
    path = folder("bert-base-cased")
    (path / "config.json").write_text(
        '{"model_type": "own", "auto_map": {"AutoConfig": "own.Config", "AutoModel": "own.Model"}}'
    )
    (path / "own.py").write_text("raise SystemExit('it was run')\n")
    hub.put_folder("me/own", path)
    with pytest.raises(WordbiasError, match="hf://me/own: cannot be loaded as an encoder"):
        wb.encode("hf://me/own", TEXTS)
    assert hub.asked("GET", "own.py") == []


@pytest.mark.slow
def test_rows_and_labels_of_a_data_set_are_cleaned_by_address(
    hub: Hub, tmp_path: Path, cli: Callable[..., Any]
) -> None:
    rng = np.random.default_rng(0)
    labels = np.array(["f", "m"])[np.arange(200) % 2]
    rows = rng.normal(size=(200, 5)) + 3 * (labels == "f")[:, None]
    np.save(tmp_path / "rows.npy", rows.astype(np.float32))
    (tmp_path / "labels.txt").write_text("\n".join(labels) + "\n")
    hub.put_folder("me/data", tmp_path, kind="dataset")
    place = "hf://datasets/me/data"
    here, there = tmp_path / "here.npy", tmp_path / "there.npy"
    wb.push(wb.erase(tmp_path / "rows.npy", tmp_path / "labels.txt", output=here), "me/leace")
    wb.erase(f"{place}/rows.npy", f"{place}/labels.txt", output=there)
    assert there.read_bytes() == here.read_bytes()
    card = hub.repositories["model", "me/leace"].files["README.md"].decode()
    assert "| linear-probe" in card
    applied = tmp_path / "again.npy"
    done = cli("apply", "hf://me/leace", f"{place}/rows.npy", "-o", applied)
    assert (done.code, done.err) == (0, "")
    assert applied.read_bytes() == here.read_bytes()


@pytest.mark.slow
def test_texts_are_encoded_with_an_adapter_by_address(
    hub: Hub, folder: Callable[[str], Path], tmp_path: Path
) -> None:
    path = folder("bert-base-cased")
    hub.put_folder("me/bert", path)
    file = tmp_path / "adapter.safetensors"
    wb.push(wb.project(path, setting="tokens@2", sites="tokens@2", output=file), "me/adapter")
    expected = wb.encode(path, TEXTS, adapter=file)
    encoded = wb.encode("hf://me/bert", TEXTS, adapter="hf://me/adapter")
    assert same_vectors(encoded, expected)
    assert not same_vectors(encoded, wb.encode(path, TEXTS))


@pytest.mark.slow
def test_a_static_model_is_vectors_and_an_encoder_by_address(hub: Hub, tmp_path: Path) -> None:
    pytest.importorskip("model2vec")
    import static_folders

    from wordbias.functions.audit_model import model_among

    path = static_folders.model2vec_folder(tmp_path / "potion")
    wb.push(path, "me/potion")
    loaded, expected = wb.load("hf://me/potion"), wb.load(path)
    assert loaded.words == expected.words
    assert np.array_equal(loaded.vectors, expected.vectors)
    assert loaded.name == "potion"
    assert model_among("hf://me/potion") is None
    texts = [text for text in static_folders.TEXTS if text != "zqzqzq"]  # of no known token
    assert same_vectors(wb.encode("hf://me/potion", texts), wb.encode(path, texts))
    card = hub.repositories["model", "me/potion"].files["README.md"].decode()
    assert "library_name: model2vec\n" in card


@pytest.mark.slow
def test_a_label_is_erased_from_a_sentence_model_by_address(
    hub: Hub, folder: Callable[[str], Path], tmp_path: Path
) -> None:
    hub.put_folder("me/minilm", folder("all-MiniLM-L6-v2"))
    subjects = [("She", "f"), ("He", "m")]
    texts = [f"{who} sat by {i} trees." for i in range(60) for who, _ in subjects]
    labels = [label for _ in range(60) for _, label in subjects]
    clean = tmp_path / "clean"
    wb.erase(labels=labels, model="hf://me/minilm", texts=texts, output=clean)
    report = wb.push(clean, "me/clean")
    assert "with its README.md" in report.closing[0]
    card = hub.repositories["model", "me/clean"].files["README.md"].decode()
    assert "base_model: me/minilm\n" in card
    assert same_vectors(wb.encode("hf://me/clean", TEXTS), wb.encode(clean, TEXTS))


@pytest.mark.slow
def test_a_model_by_its_name_gets_a_module_from_the_files_of_the_model_alone(
    hub: Hub, folder: Callable[[str], Path], tmp_path: Path
) -> None:
    path = folder("all-MiniLM-L6-v2")
    for name in ("optimizer.pt", "modeling.py", "onnx/model.onnx", "data/train.parquet"):
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_bytes(b"x" * 1500)
    hub.put_folder("me/minilm", path)
    export = tmp_path / "clean"
    wb.encode("hf://me/minilm", TEXTS)  # so that the cache has what transformers loads
    adapter = wb.project("me/minilm", sites="embedding", setting="embedding")
    wb.apply(adapter, "me/minilm", output=export)
    for name in ("optimizer.pt", "modeling.py", "onnx", "data"):
        assert not hub.asked("GET", name)
        assert not (export / name).exists()
    assert {"modules.json", "1_Pooling", "model.safetensors"} <= {p.name for p in export.iterdir()}
