"""Addresses on the hub: what is fetched, what is not, and every way in which it fails."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hub_server
import pytest
from hub_server import TOKEN, Hub
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_cases import examples

import wordbias as wb
from wordbias import WordbiasError
from wordbias.calls import WordbiasWarning
from wordbias.methods.storage import load_chain
from wordbias.resources import located
from wordbias.resources.hub import Address, fetched, is_address, named

pytest.importorskip("huggingface_hub")

VECTORS = b"she 1 0 0\nhe 0 1 0\nnurse 1 0 1\ndoctor 0 1 1\n"


@pytest.mark.parametrize(
    ("text", "kind", "repo", "revision", "path"),
    [
        ("hf://me/name", "model", "me/name", None, ""),
        ("hf://me/name/", "model", "me/name", None, ""),
        ("hf:/me/name", "model", "me/name", None, ""),
        ("me/name", "model", "me/name", None, ""),
        ("hf://gpt2", "model", "gpt2", None, ""),
        ("hf://gpt2@v1", "model", "gpt2", "v1", ""),
        ("hf://models/me/name", "model", "me/name", None, ""),
        ("hf://me/name/a/b.txt", "model", "me/name", None, "a/b.txt"),
        ("hf://me/name@v1.0/a/b.txt", "model", "me/name", "v1.0", "a/b.txt"),
        ("hf://me/name@a%2Fb/c", "model", "me/name", "a/b", "c"),
        ("hf://me/name@refs/pr/3/c", "model", "me/name", "refs/pr/3", "c"),
        ("hf://datasets/me/name/x.parquet", "dataset", "me/name", None, "x.parquet"),
        ("datasets/me/name@main", "dataset", "me/name", "main", ""),
    ],
)
def test_an_address_has_a_repository_a_revision_and_a_path(
    text: str, kind: str, repo: str, revision: str | None, path: str
) -> None:
    address = Address.parse(text)
    assert (address.kind, address.repo, address.revision, address.path) == (
        kind,
        repo,
        revision,
        path,
    )


part = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,8}", fullmatch=True).filter(
    lambda text: ".." not in text
)


@settings(max_examples=examples(50))
@given(
    st.sampled_from(["model", "dataset"]),
    part,
    part,
    st.none() | st.lists(part, min_size=1, max_size=2).map("/".join),
    st.lists(part, max_size=3).map("/".join),
)
def test_an_address_is_read_as_it_was_written(
    kind: str, owner: str, name: str, revision: str | None, path: str
) -> None:
    if owner in ("models", "datasets", "spaces", "buckets", "kernels"):
        return
    place = Address("", kind, f"{owner}/{name}", revision)
    address = Address.parse(place.to(path))
    assert (address.kind, address.repo, address.revision, address.path) == (
        kind,
        place.repo,
        revision,
        path,
    )


@pytest.mark.parametrize(
    "text",
    [
        "hf://",
        "hf:///",
        "hf://me/name@",
        "hf://me/name@v1@v2",
        "hf://me/name/../other",
        "hf://me/name@../other/file",
        "hf://me/name@..%2F..%2Fother/file",
        "hf://me/name@%2Fetc/file",
        "hf://me/name@a%00b/file",
        "hf://me/name/a\tb",
        "hf://me/a b",
        "hf://spaces/me/name",
        "hf://buckets/me/name",
        "hf://datasets",
        "hf://..",
    ],
)
def test_what_is_no_address_is_refused_with_the_form_of_one(hub: Hub, text: str) -> None:
    with pytest.raises(WordbiasError, match=r"hf://owner/name@revision/path") as caught:
        fetched(text)
    assert str(caught.value).startswith(f"{text}: ")


def test_other_names_are_paths_and_ask_nobody(hub: Hub) -> None:
    for name in ("vectors.txt", "me/name", "http://example.org/x", "", "hf", "hfx://a/b"):
        assert fetched(name) == name
    assert located("me/name") == "me/name"
    assert hub.requests == []


def test_a_name_of_an_owner_and_a_repository_may_stand_for_an_address(tmp_path: Path) -> None:
    assert named("me/name") == "hf://me/name"
    assert is_address(named("me/name"))
    for path in ("me/name.safetensors", "name", "./me/name", "a/b/c", str(tmp_path)):
        assert named(path) == path


def test_a_path_that_exists_is_not_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "me" / "name").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert named("me/name") == "me/name"


# what is fetched


@pytest.mark.slow
def test_the_only_file_of_data_is_fetched_and_read_as_vectors(hub: Hub) -> None:
    hub.put("me/glove", {"glove.txt": VECTORS, "README.md": b"---\n---\n", ".gitattributes": b""})
    path = located("hf://me/glove")
    assert Path(path).read_bytes() == VECTORS
    assert not (Path(path).parent / "README.md").exists()
    assert wb.load("hf://me/glove").words == ("she", "he", "nurse", "doctor")
    assert wb.load(Path("hf://me/glove")).name == "glove"
    assert hub.asked("GET", "README") == []


def test_what_is_in_the_cache_is_not_sent_again(hub: Hub) -> None:
    hub.put("me/glove", {"glove.txt": VECTORS})
    first = fetched("hf://me/glove")
    sent = len(hub.asked("GET", "resolve"))
    assert fetched("hf://me/glove") == first
    assert fetched("hf://me/glove/glove.txt") == first
    assert len(hub.asked("GET", "resolve")) == sent == 1


@pytest.mark.slow
def test_a_new_commit_is_noticed_and_a_revision_stays(hub: Hub) -> None:
    repository = hub.put("me/glove", {"glove.txt": VECTORS})
    repository.refs["v1"] = old = repository.refs["main"]
    fetched("hf://me/glove")
    hub.put("me/glove", {"glove.txt": VECTORS + b"cat 1 1 1\n"})
    assert Path(fetched("hf://me/glove")).read_bytes().endswith(b"cat 1 1 1\n")
    for revision in ("v1", old):
        assert Path(fetched(f"hf://me/glove@{revision}")).read_bytes() == VECTORS


def test_a_folder_of_shards_is_fetched_whole_and_nothing_else(hub: Hub) -> None:
    files = {f"data/{i}.csv": b"a,b\n1,2\n" for i in range(3)}
    hub.put("me/rows", {**files, "other/x.csv": b"a\n1\n", "README.md": b""}, "dataset")
    folder = Path(fetched("hf://datasets/me/rows/data"))
    assert sorted(file.name for file in folder.iterdir()) == ["0.csv", "1.csv", "2.csv"]
    assert hub.asked("GET", "other") == []
    assert Path(fetched("hf://datasets/me/rows/data/1.csv")).read_bytes() == b"a,b\n1,2\n"


def test_a_member_of_an_archive_is_named_behind_the_address(hub: Hub, tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "both.zip", "w") as archive:
        archive.writestr("a.txt", VECTORS)
        archive.writestr("b.txt", VECTORS)
    hub.put("me/both", {"both.zip": (tmp_path / "both.zip").read_bytes()})
    assert wb.load("hf://me/both::b.txt").words[0] == "she"
    assert wb.load("hf://me/both/both.zip::a.txt").words[0] == "she"


def test_of_a_model_only_the_files_that_are_needed_are_fetched(hub: Hub) -> None:
    listed = [{"path": ""}, {"path": "1_Pooling"}, {"path": "2_Dense"}]
    needed = {
        "modules.json": json.dumps(listed).encode(),
        "config.json": b"{}",
        "tokenizer.json": b"{}",
        "vocab.txt": b"a\n",
        "model.safetensors": b"w" * 2000,
        "1_Pooling/config.json": b"{}",
        "2_Dense/config.json": b"{}",
        "2_Dense/pytorch_model.bin": b"p",
        "README.md": b"---\nlicense: mit\n---\n",
    }
    spared = {
        "pytorch_model.bin": b"p" * 2000,
        "tf_model.h5": b"h",
        "model.onnx": b"o",
        "onnx/model.onnx": b"o",
        "checkpoint-5/model.safetensors": b"w",
        "training_args.bin": b"p",
        "modeling_own.py": b"import os",
        "1_Pooling/README.md": b"",
    }
    hub.put("me/model", {**needed, **spared})
    folder = Path(fetched("hf://me/model"))
    got = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    assert got == set(needed)


def test_pickled_weights_are_fetched_only_where_there_are_no_others(hub: Hub) -> None:
    hub.put("me/old", {"config.json": b"{}", "pytorch_model.bin": b"p"})
    assert sorted(os.listdir(fetched("hf://me/old"))) == ["config.json", "pytorch_model.bin"]


def test_weights_in_several_files_are_fetched_with_their_index(hub: Hub) -> None:
    shards = {f"model-0000{i}-of-00002.safetensors": b"w" for i in (1, 2)}
    files = {"config.json": b"{}", "model.safetensors.index.json": b"{}", **shards}
    hub.put("me/large", {**files, "pytorch_model.bin.index.json": b"{}"})
    assert sorted(os.listdir(fetched("hf://me/large"))) == sorted(files)


def test_names_with_the_characters_of_patterns_are_fetched(hub: Hub) -> None:
    hub.put("me/odd", {"a[1]*.txt": b"x", "a1.txt": b"y"})
    assert Path(fetched("hf://me/odd/a[1]*.txt")).read_bytes() == b"x"
    assert hub.asked("GET", "a1.txt") == []


# what fails


def refusal(name: str, **how: str) -> str:
    with pytest.raises(WordbiasError) as caught:
        fetched(name, **how)
    text = str(caught.value)
    assert text.startswith(f"{name.partition('::')[0]}: ")
    assert "\n" not in text
    return text


def test_a_repository_that_is_not_there(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    message = refusal("hf://me/none")
    assert f"no such model on {hub.url}, or it is private and your token gives no access" in message
    assert "if it is a data set: hf://datasets/me/none" in message
    monkeypatch.delenv("HF_TOKEN")
    message = refusal("hf://datasets/me/none")
    assert "no such data set" in message
    assert "hf auth login (or set HF_TOKEN)" in message


def test_a_private_repository_needs_a_token(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.put("me/secret", {"v.txt": VECTORS}, private=True)
    monkeypatch.setenv("HF_TOKEN", "hf_of_another")
    assert "your token gives no access" in refusal("hf://me/secret")
    monkeypatch.delenv("HF_TOKEN")
    assert "you have no token" in refusal("hf://me/secret")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert Path(fetched("hf://me/secret")).read_bytes() == VECTORS


def test_a_gated_repository_says_where_its_terms_are(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.put("me/gated", {"v.txt": VECTORS}, gated=True)
    monkeypatch.setenv("HF_TOKEN", "hf_of_another")
    assert f"is gated, and you have no access; accept its terms on {hub.url}/me/gated" in refusal(
        "hf://me/gated"
    )


def test_a_revision_or_a_file_that_is_not_there(hub: Hub) -> None:
    hub.put("me/glove", {"glove.txt": VECTORS, "more/a.txt": b"x"})
    assert "me/glove has no revision v9; name one of its branches" in refusal("hf://me/glove@v9")
    message = refusal("hf://me/glove@main/glov.txt")
    assert "has no file or folder 'glov.txt' at main; it holds glove.txt, more/a.txt" in message


def test_a_repository_of_several_files_lists_their_addresses(hub: Hub) -> None:
    hub.put("me/both", {f"{i:02}.txt": b"x" for i in range(15)})
    message = refusal("hf://me/both")
    assert "holds 15 files; name one of: hf://me/both/00.txt, hf://me/both/01.txt" in message
    assert message.endswith(", … and 3 more")


def test_a_repository_without_anything_usable_says_what_it_holds(hub: Hub) -> None:
    hub.put("me/empty", {"README.md": b"x", ".gitattributes": b"", "plot.png": b""})
    message = refusal("hf://me/empty")
    assert "holds nothing that can be used; it holds .gitattributes, README.md, plot.png" in message
    assert "has no method.safetensors; it holds" in refusal(
        "hf://me/empty", wanted="method.safetensors"
    )


def test_of_several_methods_one_must_be_named(hub: Hub) -> None:
    hub.put("me/two", {"a.safetensors": b"x", "b.safetensors": b"y"})
    message = refusal("hf://me/two", wanted="method.safetensors")
    assert "has no method.safetensors; name one of: hf://me/two/a.safetensors" in message
    hub.put("me/two", {"a.safetensors": b"x", "method.safetensors": b"y"})
    assert Path(fetched("hf://me/two", wanted="method.safetensors")).read_bytes() == b"y"


def test_a_file_of_something_else_is_refused_by_its_reader(hub: Hub) -> None:
    hub.put("me/text", {"method.safetensors": b"no tensors"})
    with pytest.raises(WordbiasError, match="cannot be read as a transform"):
        load_chain("hf://me/text")


def test_a_hub_out_of_order_is_named_with_its_answer(hub: Hub) -> None:
    hub.broken = 503
    assert "the hub answered 503: out of order; try again later" in refusal("hf://me/glove")


def test_without_a_network_the_cache_serves_and_says_so(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.put("me/glove", {"glove.txt": VECTORS})
    path = fetched("hf://me/glove")
    with socket.socket() as unused:  # bound, but nobody listens
        unused.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{unused.getsockname()[1]}"
        constants = sys.modules["huggingface_hub.constants"]
        monkeypatch.setattr(constants, "ENDPOINT", nowhere)
        with pytest.warns(WordbiasWarning, match="taken from the cache, commit"):
            assert wb.load("hf://me/glove").words[0] == "she"
        assert fetched("hf://me/glove") == path
        message = refusal("hf://me/other")
    assert f"{nowhere} cannot be reached" in message
    assert message.endswith("or give a local path")


def test_offline_the_cache_serves_and_the_rest_is_refused(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.put("me/glove", {"glove.txt": VECTORS})
    path = fetched("hf://me/glove")
    request_count = len(hub.requests)
    monkeypatch.setattr(sys.modules["huggingface_hub.constants"], "HF_HUB_OFFLINE", True)
    assert fetched("hf://me/glove") == path
    message = refusal("hf://me/other")
    assert "HF_HUB_OFFLINE" in message
    assert message.endswith("hf download me/other")
    of_data = refusal("hf://datasets/me/other@v1/rows.parquet")
    assert of_data.endswith("hf download me/other --repo-type dataset --revision v1")
    assert len(hub.requests) == request_count


def test_a_download_that_broke_off_is_resumed_where_it_broke_off(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between attempts of the library
    constants = sys.modules["huggingface_hub.constants"]
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 50_000)
    body = VECTORS * 10_000
    hub.put("me/long", {"long.txt": body})
    hub.stop("long.txt", 100_000, 150_000)
    assert Path(fetched("hf://me/long")).read_bytes() == body
    assert hub.ranges == ["bytes=100000-", "bytes=250000-"]


def test_a_download_that_never_ends_is_an_error_and_the_next_call_fetches_the_rest(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    hub.put("me/rows", {"d/a.txt": b"a" * 2000, "d/b.txt": b"b" * 2000}, "dataset")
    hub.stop("d/b.txt", *[0] * 20)
    assert "broke off while fetching" in refusal("hf://datasets/me/rows/d")
    hub.stops.clear()
    before = len(hub.asked("GET", "d/a.txt"))
    folder = Path(fetched("hf://datasets/me/rows/d"))
    assert {file.read_bytes() for file in folder.iterdir()} == {b"a" * 2000, b"b" * 2000}
    assert len(hub.asked("GET", "d/a.txt")) == before == 1


@pytest.mark.parametrize("size", [20, 2000])
def test_content_of_another_hash_than_the_hub_states_is_refused(hub: Hub, size: int) -> None:
    """Small files have the hash of git, large ones SHA-256."""
    hub.put("me/v", {"v.txt": b"a" * size})
    hub.replaced["v.txt"] = b"b" * size
    with pytest.raises(WordbiasError, match=r"v\.txt: is not the file that the hub states"):
        fetched("hf://me/v/v.txt")
    hub.replaced.clear()
    assert Path(fetched("hf://me/v/v.txt")).read_bytes() == b"a" * size


def test_a_cache_that_cannot_be_written_is_named(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.put("me/glove", {"glove.txt": VECTORS})
    (tmp_path / "file").write_text("")
    constants = sys.modules["huggingface_hub.constants"]
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "file"))
    message = refusal("hf://me/glove")
    assert "cannot be written to the cache of the hub" in message
    assert "HF_HUB_CACHE" in message


def test_without_huggingface_hub_the_line_that_installs_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    for name in [module for module in sys.modules if module.startswith("huggingface_hub.")]:
        monkeypatch.setitem(sys.modules, name, None)
    message = refusal("hf://me/glove")
    assert 'huggingface_hub; install it with: pip install "wordbias[data]"' in message


def test_an_address_is_no_output(cli: Callable[..., Any], hub: Hub) -> None:
    for arguments in (
        ["misp", "-o", "hf://me/clean.txt"],
        ["debias", "hard", "--save-transform", "hf://me/t"],
    ):
        done = cli(*arguments)
        assert (done.code, done.err.count("\n")) == (1, 1)
        assert "is a place on the hub; write to a path here, then: wordbias push" in done.err


@pytest.mark.slow
def test_the_command_line_reads_the_settings_of_huggingface_hub(hub: Hub, tmp_path: Path) -> None:
    hub.put("me/secret", {"v.txt": b"\n".join(VECTORS.split(b"\n"))}, private=True)
    variables = hub_server.environment(hub.url, tmp_path / "home", TOKEN)
    cache = {"WORDBIAS_CACHE": str(tmp_path / "cache")}
    target = tmp_path / "v.safetensors"
    call = [sys.executable, "-m", "wordbias", "convert", "hf://me/secret", str(target)]
    done = subprocess.run(
        call, env={**os.environ, **cache, **variables}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert wb.load(target).words == ("she", "he", "nurse", "doctor")
    assert (tmp_path / "home" / "hub" / "models--me--secret").is_dir()
