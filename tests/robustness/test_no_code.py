"""Nothing that is read is run: no pickle is opened, and no code that comes with a model.

Every file here would make a folder if what it holds were executed.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import fuzz_readers as readers
import fuzz_seeds as seeds
import numpy as np
import pytest
from fuzz_guard import check

from wordbias.errors import WordbiasError


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, victim: Path) -> None:
        self.victim = victim

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.victim),)


class Case(NamedTuple):
    """A file with a trap in it, made at a path for a victim, and what reads it."""

    file: str
    make: Callable[[Path, Path], None]
    read: readers.Read


def plain(protocol: int) -> Callable[[Path, Path], None]:
    def make(path: Path, victim: Path) -> None:
        path.write_bytes(pickle.dumps([{"title": "nurse", "raw": Trap(victim)}], protocol))

    return make


def objects(path: Path, victim: Path) -> None:
    np.save(path, np.array([[Trap(victim)] * 2] * 2, object), allow_pickle=True)


def several(path: Path, victim: Path) -> None:
    np.savez(path, x=np.array([[Trap(victim)] * 2] * 2, object))


def of_torch(path: Path, victim: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save({"embeddings.weight": Trap(victim)}, path)


def old_torch(path: Path, victim: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save({"x": Trap(victim)}, path, _use_new_zipfile_serialization=False)


def folder(weights: Callable[[Path, Path], None], index: bool = False) -> Any:
    """Return what writes a model whose weights are a pickle, in one file or listed in an index."""

    def make(path: Path, victim: Path) -> None:
        seeds.encoder(path)
        (path.parent / "model.safetensors").unlink()
        weights(path, victim)
        if index:
            listed = {"metadata": {}, "weight_map": {"classifier.weight": path.name}}
            place = path.parent / "pytorch_model.bin.index.json"
            place.write_text(json.dumps(listed))

    return make


def custom(**more: Any) -> Callable[[Path, Path], None]:
    """Return what writes a model that says it needs a module of its own."""

    def make(path: Path, victim: Path) -> None:
        seeds.encoder(path)
        code = f"import os\nos.mkdir({str(victim)!r})\n"
        for name in ("own", "tokenization_own", "configuration_own", "modeling_own"):
            (path.parent / f"{name}.py").write_text(code)
        known = json.loads(path.read_text())
        path.write_text(json.dumps({**known, **more}))

    return make


def in_header(make: seeds.Make) -> Callable[[Path, Path], None]:
    """Return what puts a pickle, as text, in place of the settings in a safetensors file."""

    def written(path: Path, victim: Path) -> None:
        make(path)
        known, tensors = readers.header(path)
        code = pickle.dumps(Trap(victim), 0).decode("latin-1")
        known["__metadata__"] = dict.fromkeys(known["__metadata__"], code)
        text = json.dumps(known).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + tensors)

    return written


def own_step(path: Path, victim: Path) -> None:
    """Write a transform of a kind that names a function of the system."""
    seeds.transform(path)
    known, tensors = readers.header(path)
    (key,) = known["__metadata__"]
    stored = json.loads(known["__metadata__"][key])
    stored["parts"][0]["steps"] = [{"kind": "os.mkdir", "path": str(victim)}]
    known["__metadata__"][key] = json.dumps(stored)
    text = json.dumps(known).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + tensors)


AUTO = {
    "auto_map": {
        name: f"own.{name}"
        for name in ("AutoConfig", "AutoModel", "AutoModelForSequenceClassification")
    }
}
AUTO_TOKENIZER = {
    "tokenizer_class": "OwnTokenizer",
    "auto_map": {"AutoTokenizer": ["own.Own", "own.Own"]},
}
classifier, encoder = readers.classifier, readers.encoder
masked = readers.folder(readers.call("stereotypes.masked_model:MaskedModel.load", device="cpu"))
CASES = {
    **{
        f"gensim, protocol {protocol}": Case("v.kv", plain(protocol), readers.load)
        for protocol in range(2, 6)
    },
    "gensim as text": Case("v.txt", plain(4), readers.load),
    "pickle of the oldest protocol as text": Case("v.txt", plain(0), readers.load),
    "npy": Case("x.npy", objects, readers.vectors),
    "npz": Case("x.npz", several, readers.vectors),
    "npy as an embedding": Case("v.txt", objects, readers.load),
    "pt as an embedding": Case("v.txt", of_torch, readers.load),
    "pt as vectors": Case("x.npz", of_torch, readers.vectors),
    "old pt as vectors": Case("x.npy", old_torch, readers.vectors),
    "pt as an adapter": Case("a.adapter", of_torch, readers.adapter),
    "pt as a transform": Case("t.safetensors", of_torch, readers.transform),
    "pt as an NLI model": Case("m.pt", of_torch, readers.nli_model),
    "pt as a checkpoint": Case("m.checkpoint", of_torch, readers.resumed),
    **{
        f"biographies, protocol {protocol}": Case("b.pkl", plain(protocol), readers.biographies)
        for protocol in range(6)
    },
    "weights of a classifier": Case("pytorch_model.bin", folder(of_torch), classifier),
    "old weights of a classifier": Case("pytorch_model.bin", folder(old_torch), classifier),
    "weights in parts": Case("part-1.bin", folder(of_torch, index=True), classifier),
    "weights of an encoder": Case("pytorch_model.bin", folder(of_torch), encoder),
    "weights of a masked model": Case("pytorch_model.bin", folder(of_torch), masked),
    "a classifier's code": Case("config.json", custom(model_type="own", **AUTO), classifier),
    "an encoder's code": Case("config.json", custom(model_type="own", **AUTO), encoder),
    "a masked model's code": Case("config.json", custom(model_type="own", **AUTO), masked),
    "settings of an adapter": Case("a.adapter", in_header(seeds.adapter), readers.adapter),
    "settings of a transform": Case("t.st", in_header(seeds.transform), readers.transform),
    "settings of an NLI model": Case("m.st", in_header(seeds.nli_model), readers.nli_model),
    "settings of a checkpoint": Case("m.ch", in_header(seeds.checkpoint), readers.resumed),
    "settings of vectors": Case("x.st", in_header(seeds.representations), readers.vectors),
    "a step of a transform": Case("t.st", own_step, readers.transform),
}
HARMLESS = {
    "code beside a known architecture": Case("config.json", custom(**AUTO), classifier),
    "code asked for in the config": Case(
        "config.json", custom(trust_remote_code=True, **AUTO), encoder
    ),
    "a tokenizer's code": Case("tokenizer_config.json", custom(**AUTO_TOKENIZER), encoder),
}
"""Models that say what is theirs and can be loaded without it."""


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    return tmp_path / "victim"


def made(case: Case, tmp_path: Path, victim: Path) -> Path:
    path = tmp_path / "made" / case.file
    path.parent.mkdir()
    case.make(path, victim)
    assert not victim.exists(), "making it has sprung it"
    return path


@pytest.mark.parametrize("name", CASES)
def test_what_would_run_is_refused_in_one_line(name: str, tmp_path: Path, victim: Path) -> None:
    if CASES[name].read in (readers.adapter, readers.resumed, classifier, encoder, masked):
        pytest.importorskip("transformers")
    path = made(CASES[name], tmp_path, victim)
    with pytest.raises(WordbiasError) as caught:
        CASES[name].read(path)
    assert not victim.exists(), "it was run"
    assert len(str(caught.value).splitlines()) == 1
    assert str(path) in str(caught.value) or str(path.parent) in str(caught.value)


@pytest.mark.parametrize("name", HARMLESS)
def test_code_beside_a_model_is_not_run(name: str, tmp_path: Path, victim: Path) -> None:
    pytest.importorskip("transformers")
    path = made(HARMLESS[name], tmp_path, victim)
    before = set(sys.modules)
    check(HARMLESS[name].read, path)
    assert not victim.exists(), "it was run"
    assert not [module for module in set(sys.modules) - before if module.endswith("own")]


def test_the_traps_are_live(tmp_path: Path) -> None:
    """Else the tests above would say nothing."""
    torch = pytest.importorskip("torch")
    for name, make, spring in (
        ("a.kv", plain(4), lambda path: pickle.loads(path.read_bytes())),
        ("b.npy", objects, lambda path: np.load(path, allow_pickle=True)),
        ("c.npz", several, lambda path: np.load(path, allow_pickle=True)["x"]),
        ("d.pt", of_torch, lambda path: torch.load(path, weights_only=False)),
        ("e.pt", old_torch, lambda path: torch.load(path, weights_only=False)),
    ):
        victim = tmp_path / f"victim of {name}"
        make(tmp_path / name, victim)
        assert not victim.exists()
        with suppress(FileExistsError):  # the second of the traps in one file
            spring(tmp_path / name)
        assert victim.exists(), name


COMMANDS = {
    "convert": ("v.kv", plain(4), ["convert", "IN", "OUT.txt"]),
    "misp": ("v.kv", plain(4), ["misp", "IN"]),
    "measure": ("v.kv", plain(4), ["measure", "IN"]),
    "probe": ("x.npy", objects, ["probe", "IN", "--labels", "LABELS"]),
    "ceat": ("x.npy", objects, ["ceat", "IN"]),
    "encode": ("pytorch_model.bin", folder(of_torch), ["encode", "FOLDER", "LABELS", "-o", "OUT"]),
    "apply": ("t.safetensors", own_step, ["apply", "IN", "LABELS", "-o", "OUT.txt"]),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_say_it_in_one_line(name: str, cli: Any, tmp_path: Path, victim: Path) -> None:
    file, make, command = COMMANDS[name]
    if name == "encode":
        pytest.importorskip("transformers")
    path = made(Case(file, make, readers.load), tmp_path, victim)
    (tmp_path / "labels.txt").write_text("she 1 2\nhe 3 4\n")
    places = {"IN": path, "FOLDER": path.parent, "LABELS": tmp_path / "labels.txt"}
    outputs = {part: tmp_path / part for part in command if part.startswith("OUT")}
    done = cli(*({**places, **outputs}.get(part, part) for part in command))
    assert (done.code, done.out) == (1, ""), done
    assert done.err.startswith("wordbias: ")
    assert len(done.err.splitlines()) == 1
    assert "unexpected" not in done.err
    assert not victim.exists()
    assert not any(output.exists() for output in outputs.values())


def test_allow_pickle_is_the_users_word_and_no_other_option_is(
    cli: Any, tmp_path: Path, victim: Path
) -> None:
    pytest.importorskip("gensim")
    path = made(CASES["gensim, protocol 4"], tmp_path, victim)
    for more in ([], ["--skip-bad"], ["--no-cache"]):
        assert cli("convert", path, tmp_path / "out.txt", *more).code == 1
        assert not victim.exists()
    done = cli("convert", path, tmp_path / "out.txt", "--allow-pickle")
    assert victim.exists()
    assert done.code == 1
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("name", ["npy", "npz"])
def test_allow_pickle_does_not_open_arrays(
    name: str, cli: Any, tmp_path: Path, victim: Path
) -> None:
    path = made(CASES[name], tmp_path, victim)
    (tmp_path / "labels.txt").write_text("a\nb\n")
    done = cli("probe", path, "--labels", tmp_path / "labels.txt", "--allow-pickle")
    assert done.code == 1
    assert not victim.exists()


def test_a_pickle_in_the_cache_is_not_opened(
    cache_folder: Path, tmp_path: Path, victim: Path
) -> None:
    from wordbias.formats import load

    path = tmp_path / "v.txt"
    path.write_text("she 1 2\nhe 3 4\n")
    load(path)
    (entry,) = cache_folder.glob("*.safetensors")
    entry.write_bytes(pickle.dumps(Trap(victim)))
    assert load(path).words == ["she", "he"]
    assert not victim.exists()
