"""Names of models: one way from a name to a folder for every command."""

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
hub_library = pytest.importorskip("huggingface_hub")

from wordbias.functions.audit_model import model_among  # noqa: E402
from wordbias.resources.models import (  # noqa: E402
    cached_model,
    hub_name,
    model_folder,
    model_on_hub,
)

TEXTS = ["The doctor said that she was late.", "He sat."]
QUERY = """[sets]
x = ["doctor", "late"]
y = ["sat", "said"]
a = ["she", "the"]
b = ["he", "that"]
[queries.own]
targets = ["x", "y"]
attributes = ["a", "b"]
"""
MINILM = "all-MiniLM-L6-v2"


@pytest.fixture(autouse=True)
def _one_thread(one_thread: None) -> None:
    """These models are too small for more."""


@pytest.fixture
def minilm(hub: Hub, tmp_path: Path) -> Path:
    path = tmp_path / "folder" / MINILM
    path.parent.mkdir()
    stand_ins.STAND_INS[MINILM](path)
    hub.put_folder(f"sentence-transformers/{MINILM}", path)
    return path


@pytest.fixture
def offline(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def switch() -> None:
        monkeypatch.setattr(sys.modules["huggingface_hub.constants"], "HF_HUB_OFFLINE", True)

    return switch


@pytest.mark.slow
def test_a_name_without_an_owner_is_one_of_sentence_transformers(
    hub: Hub, minilm: Path, offline: Callable[[], None]
) -> None:
    expected = wb.encode(minilm, TEXTS)
    encoded = wb.encode(MINILM, TEXTS)
    assert np.array_equal(encoded.vectors, expected.vectors)
    assert encoded.about["model"] == MINILM
    assert hub_name(model_folder(MINILM)) == f"sentence-transformers/{MINILM}"
    assert model_on_hub(MINILM) == (f"sentence-transformers/{MINILM}", None)
    assert model_among(MINILM) == MINILM
    offline()
    request_count = len(hub.requests)
    assert np.array_equal(wb.encode(MINILM, TEXTS).vectors, expected.vectors)
    assert len(hub.requests) == request_count


def test_a_name_of_the_hub_without_an_owner_comes_first(hub: Hub, minilm: Path) -> None:
    hub.put_folder(MINILM, minilm)
    assert hub_name(model_folder(MINILM)) == MINILM


def test_a_folder_here_comes_first(hub: Hub, minilm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(minilm.parent)
    assert model_folder(MINILM) == MINILM
    assert hub.requests == []


@pytest.mark.slow
def test_a_model_that_is_in_the_cache_is_not_asked_for(hub: Hub, minilm: Path) -> None:
    name = f"sentence-transformers/{MINILM}"
    wb.encode(name, TEXTS)
    request_count = len(hub.requests)
    wb.encode(name, TEXTS)
    assert len(hub.requests) == request_count


@pytest.mark.slow
@pytest.mark.parametrize("file", ["modules.json", "1_Pooling/config.json", "model.safetensors"])
def test_what_the_cache_lacks_is_fetched(hub: Hub, minilm: Path, file: str) -> None:
    expected = wb.encode(minilm, TEXTS)
    place = Path(model_folder(MINILM))
    if "/" in file:
        (place / file).unlink()
        (place / file).parent.rmdir()
    else:
        (place / file).unlink()
    assert np.array_equal(wb.encode(MINILM, TEXTS).vectors, expected.vectors)


def test_shards_that_the_cache_lacks_are_fetched(hub: Hub, tmp_path: Path) -> None:
    shards = {f"model-0000{i}-of-00002.safetensors": b"x" for i in (1, 2)}
    index = (
        b'{"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "%s"}}'
        % list(shards)[1].encode()
    )
    files = {"config.json": b"{}", "tokenizer.json": b"{}", "model.safetensors.index.json": index}
    hub.put("me/large", {**files, **shards})
    place = Path(model_folder("me/large"))
    last = place / list(shards)[1]
    last.unlink()
    request_count = len(hub.requests)
    model_folder("me/large")
    assert last.is_file()
    assert len(hub.requests) > request_count


def test_what_is_no_name_is_not_looked_up(hub: Hub) -> None:
    with pytest.raises(WordbiasError, match="a/b/c: no such folder; give a folder"):
        model_folder("a/b/c")
    with pytest.raises(WordbiasError, match="found an empty name"):
        model_folder(" ")
    assert cached_model("a/b/c") is None
    assert hub.requests == []


def test_a_name_that_is_not_to_be_had_says_where_it_was_looked_for(
    hub: Hub, offline: Callable[[], None]
) -> None:
    cache = hub_library.constants.HF_HUB_CACHE
    with pytest.raises(WordbiasError) as caught:
        model_folder("smollm2")
    assert str(caught.value) == (
        f"smollm2: no such folder, no such model in the cache of the hub ({cache}), and none on "
        f"{hub.url}, also not as sentence-transformers/smollm2; give a model's folder, or its name "
        "on the hub, or fetch it once with: hf download OWNER/NAME"
    )
    offline()
    with pytest.raises(WordbiasError) as caught:
        model_folder("me/smollm2")
    assert "and the hub is not asked, for HF_HUB_OFFLINE or TRANSFORMERS" in str(caught.value)
    assert str(caught.value).endswith("hf download me/smollm2")


def test_without_a_network_the_error_comes_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    timeouts = []

    def unreachable(self: object, name: str, **options: Any) -> None:
        timeouts.append(options["timeout"])
        raise OSError("Name or service not known\nand more")

    monkeypatch.setattr(hub_library.HfApi, "repo_info", unreachable)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WordbiasError, match=r"\(Name or service not known\)"):
        model_folder("nothing-at-all")
    assert len(timeouts) == 1  # a second name would wait as long
    assert timeouts[0] <= 10


def test_a_gated_model_says_so(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN")
    hub.put("me/gated", {"config.json": b"{}"}, gated=True)
    with pytest.raises(WordbiasError, match="me/gated: is gated, and you have no access"):
        model_folder("me/gated")


@pytest.mark.parametrize("name", ["smollm2", "nobody/no-such-model", "a/b/c"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("audit", "MODEL"),
        ("encode", "MODEL", "TEXTS", "-o", "out.safetensors"),
        ("probe", "MODEL", "--texts", "TABLE", "--labels", "label"),
        ("erase", "--model", "MODEL", "--texts", "TABLE", "--labels", "label", "-o", "out"),
        ("project", "MODEL", "-o", "out.safetensors"),
        ("likelihood", "MODEL", "--data", "DATA"),
        ("likelihood", "MODEL", "--perplexity", "TEXTS"),
        ("ceat", "MODEL", "--sentences", "TEXTS", "--query", "QUERY"),
        ("sweep", "MODEL", "--nli", "x/y", "--stereoset", "DATA", "--snli", "SNLI"),
        ("fine-tune", "MODEL", "--head", "nsp", "--train", "DATA", "--dev", "DATA", "-o", "out"),
        ("mab-eval", "MODEL"),
        ("bios", "--model", "MODEL", "-o", "out"),
    ],
    ids=lambda arguments: " ".join(arguments[:2]).replace(" MODEL", ""),
)
def test_every_command_that_takes_a_model_says_the_same(
    hub: Hub,
    cli: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    name: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    stand_ins.STAND_INS["gsss_dev.csv"](tmp_path / "gsss_dev.csv")
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    rows = "".join(f"{who} sat by {i} trees,{who}\n" for i in range(20) for who in ("She", "He"))
    (tmp_path / "table.csv").write_text(f"text,label\n{rows}")
    stand_ins.STAND_INS["snli_dev.tsv.gz"](tmp_path / "snli.tsv.gz")
    (tmp_path / "query.toml").write_text(QUERY)
    files = {"QUERY": "query.toml", "SNLI": "snli.tsv.gz"}
    files |= {"TEXTS": "texts.txt", "TABLE": "table.csv", "DATA": "gsss_dev.csv", "MODEL": name}
    done = cli(*(files.get(argument, argument) for argument in arguments))
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1), done.err
    here = "there is no such file" if arguments[0] == "audit" else "no such folder"
    assert done.err.startswith(f"wordbias: {name}: {here}")
    if name != "a/b/c":
        assert f"and none on {hub.url}" in done.err
    assert not list(tmp_path.glob("out*"))


def test_an_audit_names_near_data_too(hub: Hub, cli: Callable[..., Any]) -> None:
    done = cli("audit", "glove-6b-50d")
    assert "no fetched data of that name" in done.err
    assert "did you mean glove.6B.50d" in done.err


@pytest.mark.parametrize("name", ["glove-100.txt", "sembias", "glove.6B"])
def test_names_of_files_and_of_data_are_no_models(hub: Hub, name: str) -> None:
    assert model_among((name,)) is None
    assert hub.requests == []


def test_a_static_model_by_its_name_says_its_address(hub: Hub, tmp_path: Path) -> None:
    pytest.importorskip("model2vec")
    import static_folders

    hub.put_folder("me/potion", static_folders.model2vec_folder(tmp_path / "potion"))
    texts = [text for text in static_folders.TEXTS if text != "zqzqzq"]  # of no known token
    assert len(wb.encode("me/potion", texts)) == len(texts)
    with pytest.raises(WordbiasError, match="give its address: hf://me/potion"):
        wb.audit("me/potion")
