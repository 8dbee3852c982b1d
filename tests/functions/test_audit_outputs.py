"""An encoder that shows its output alone has the same rows as the model that gives that output."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import embedding_server
import numpy as np
import planted_encoder
import pytest

import wordbias as wb
from wordbias.errors import WordbiasError
from wordbias.functions.audit import audit
from wordbias.functions.report import Page
from wordbias.models.read_vectors import ReadVectors
from wordbias.wordlists import model_sentences

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("one_thread", "few_names")
Cli = Callable[..., Any]
NAMES = 40
LAST = 3
METHODS = ["hard", "leace", "misp-pairs", "null:1"]
SKIPPED = "ceat,untrained"


@pytest.fixture
def few_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_sentences, "NAMES", NAMES)


@pytest.fixture(scope="module")
def patched() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_sentences, "NAMES", NAMES)
        torch.set_num_threads(1)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model with mean pooling and no module behind it, where projections act."""
    model = planted_encoder.write_folder(tmp_path_factory.mktemp("outputs") / "planted")
    modules = json.loads((model / "modules.json").read_text())
    (model / "modules.json").write_text(json.dumps(modules[:2]))
    return model


@pytest.fixture(scope="module")
def vectors(
    folder: Path, patched: None, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, int], Any]:
    """Return the sentence vectors of that model of all texts of an audit, and their places."""
    file = tmp_path_factory.mktemp("texts") / "texts.jsonl"
    wb.audit(write_texts=file)
    texts = [json.loads(line)["text"] for line in file.read_text("utf-8").splitlines()]
    reps = wb.encode(folder, file, layers="last", batch_tokens=4096)
    return {text: i for i, text in enumerate(texts)}, reps[-1]


@pytest.fixture(scope="module")
def own(folder: Path, patched: None) -> Page:
    """Return the audit of the model itself."""
    page = audit(folder, methods=METHODS, skip=SKIPPED.split(","))
    assert isinstance(page, Page)
    return page


class Documents:
    """An object as of LangChain."""

    model = "planted"

    def __init__(self, vectors: tuple[dict[str, int], Any]) -> None:
        self.places, self.vectors = vectors

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = self.vectors[[self.places[text] for text in texts]].tolist()
        return rows


def rows_of(rows: list[dict[str, Any]], layer: int) -> list[dict[str, Any]]:
    """Return the rows of a layer and those of none, without the layer and commands to write."""
    ours = [row for row in rows if row.get("layer", layer) == layer]
    left_out = ("layer", "written_by")
    return [{key: cell for key, cell in row.items() if key not in left_out} for row in ours]


def check_same(page: Any, own: Page) -> None:
    """Compare all rows: the vectors are the same."""
    rows, wanted = ([row.to_dict() for row in report.rows] for report in (page, own))
    assert len(rows) > 200
    check_near(rows_of(rows, 0), rows_of(wanted, LAST))


def check_near(ours: Any, theirs: Any) -> None:
    """Compare numbers up to the rounding of float32, which depends on where vectors lie."""
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        check_near(list(ours.values()), list(theirs.values()))
    elif isinstance(ours, (list, tuple)):
        for x, y in zip(ours, theirs, strict=True):
            check_near(x, y)
    elif isinstance(ours, float):
        assert ours == pytest.approx(theirs, rel=1e-5, abs=1e-6, nan_ok=True)
    else:
        assert ours == theirs


@pytest.mark.slow
def test_an_object_as_of_langchain(vectors: Any, own: Page) -> None:
    with pytest.warns(UserWarning, match=r"planted: is sent 1,\d+ texts of .* characters"):
        page = audit(Documents(vectors), methods=METHODS)
    check_same(page, own)
    heading = "\n".join(page.heading)
    assert "can be read from sentences that do not state it" in heading
    assert "in their vectors" in heading
    assert "layer" not in heading
    html = page.page() if isinstance(page, Page) else ""
    assert "planted: an encoder that shows the vectors of texts" in html
    assert "Inside the encoder" not in html


@pytest.mark.slow
def test_groups_of_any_number(folder: Path, patched: None, tmp_path: Path) -> None:
    """Texts, encoded elsewhere and given back, have the rows of the audit of the model."""
    groups = "ethnicity:white,black,asian"
    wb.audit(write_texts=tmp_path / "texts.jsonl", groups=groups)
    reps = wb.encode(folder, tmp_path / "texts.jsonl", layers="last", batch_tokens=4096)
    page = audit(read_vectors=reps[-1], groups=groups, methods=["leace"])
    own = audit(folder, groups=groups, methods=["leace"], skip=SKIPPED.split(","))
    rows, wanted = ([row.to_dict() for row in report.rows] for report in (page, own))
    assert {row.get("attribute") for row in rows} >= {"ethnicity white/black/asian"}
    for row in (*rows, *wanted):
        row["subject"] = "planted"
    check_near(rows_of(rows, 0), rows_of(wanted, LAST))
    with pytest.raises(WordbiasError, match="misp-pairs: is fitted to pairs"):
        audit(read_vectors=reps[-1], groups=groups, methods=["misp-pairs"])


@pytest.mark.slow
def test_an_endpoint(vectors: Any, own: Page, cli: Cli, tmp_path: Path) -> None:
    """Twice, of which the second call asks nothing."""
    with embedding_server.serving(Documents(vectors).embed_documents) as server:
        call = ("audit", "planted", "--endpoint", server.url, "--methods", " ".join(METHODS))
        first = cli(*call, "-o", tmp_path / "one.json")
        request_count = len(server.requests)
        second = cli(*call, "-o", tmp_path / "two.json")
        assert len(server.requests) == request_count == -(-len(vectors[0]) // 32)
    assert (first.code, second.code) == (0, 0)
    assert "is sent" in first.err
    assert "is sent" not in second.err
    first_page, two = (json.loads((tmp_path / f"{n}.json").read_text()) for n in ("one", "two"))
    assert (
        first_page["inputs"]["planted"]["endpoint"]
        == first_page["config"]["endpoint"]
        == server.url
    )
    assert first_page["rows"] == two["rows"]
    wanted = json.loads(json.dumps([row.to_dict() for row in own.rows]))
    check_near(rows_of(first_page["rows"], 0), rows_of(wanted, LAST))


@pytest.mark.slow
def test_a_file_of_vectors(vectors: Any, own: Page, tmp_path: Path) -> None:
    np.save(tmp_path / "planted.npy", vectors[1])
    check_same(audit(read_vectors=tmp_path / "planted.npy", methods=METHODS), own)


# what is refused, before anything is asked


class Refusing:
    """An encoder that must not be asked."""

    def encode(self, texts: list[str]) -> Any:
        raise AssertionError("asked")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"methods": "L11-01110"},
            r"acts inside a model, and Refusing gives vectors of texts alone",
        ),
        ({"methods": "concept-scrubbing"}, "acts inside a model"),
        ({"export": "x"}, r"^export= needs the model itself"),
        ({"stereoset": "x.json"}, r"^stereoset= needs the model itself"),
        ({"snli": "x.jsonl"}, r"^snli= needs the model itself"),
        ({"dims": 3}, r"^dims= is for vectors, and Refusing is a model"),
        ({"skip": ["gipe"]}, "part 'gipe': expected some of probe"),
        (
            {"skip": ["pronouns"], "groups": "age"},
            "part 'pronouns': is not measured with",
        ),
        ({"read_vectors": np.eye(3)}, "read_vectors=: holds the vectors of a model; give no other"),
        ({"write_texts": "x.jsonl"}, r"^embeddings= is for an audit"),
    ],
)
def test_what_needs_more_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(WordbiasError, match=said):
        audit(Refusing(), **given)


def test_vectors_of_other_texts(cli: Cli, tmp_path: Path) -> None:
    message = "has 3 vectors and no column 'text'; expected one for each of"
    with pytest.raises(WordbiasError, match=message):
        audit(read_vectors=np.eye(3))
    np.save(tmp_path / "v.npy", np.eye(3))
    done = cli("audit", "--read-vectors", tmp_path / "v.npy", "-o", tmp_path / "page.html")
    assert done.code == 1
    assert message in done.err
    assert not (tmp_path / "page.html").exists()


def test_texts_are_written(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "texts.jsonl"
    done = cli("audit", "--write-texts", file)
    assert done.code == 0
    texts = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert all(line.keys() == {"text"} for line in texts)
    assert f"{len(texts):,} texts of {sum(len(line['text']) for line in texts):,}" in done.out
    assert len({line["text"] for line in texts}) == len(texts)
    assert not (tmp_path / "wordbias-audit.html").exists()


def test_vectors_in_memory_have_no_path() -> None:
    assert ReadVectors.open(np.eye(3)).about == {}
