"""`wordbias.bios`: frames, loaded encoders, lists and mappings in place of files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tiny_encoders

import wordbias as wb
from wordbias.biographies.synthetic import synthetic
from wordbias.calls import WordbiasWarning
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.bios import bios

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL: dict[str, Any] = {
    "strategies": ["none"],
    "seed": [0],
    "head_only": True,
    "epochs": 2,
    "retrain_epochs": 2,
    "max_length": 24,
    "draws": 10,
    "baselines": False,
}
COUNT = 150


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("encoder") / "bert"
    words = sorted(set(tiny_encoders.words_of(*synthetic().texts)))
    model = tiny_encoders.build("bert", "Model", vocabulary=len(words) + 5)
    tiny_encoders.save(model, tiny_encoders.make_tokenizer(words), folder)
    return str(folder)


@pytest.fixture
def columns() -> dict[str, list[str]]:
    biographies = synthetic().take(range(COUNT))
    return {
        "profession": biographies.label_names(),
        "gender": biographies.gender_names(),
        "bio": list(biographies.texts),
    }


def rows(found: Any) -> list[dict[str, Any]]:
    plain_rows: list[dict[str, Any]] = json.loads(json.dumps([row.to_dict() for row in found]))
    return plain_rows


@pytest.mark.slow
def test_objects_in_place_of_files(
    encoder: str, columns: dict[str, list[str]], tmp_path: Path
) -> None:
    pandas = pytest.importorskip("pandas")
    data = tmp_path / "bios.tsv"
    lines = ["\t".join(columns), *map("\t".join, zip(*columns.values(), strict=True))]
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    shares = {name: 10 * i + 5 for i, name in enumerate(sorted(set(columns["profession"])))}
    (tmp_path / "shares.json").write_text(json.dumps(shares))
    sentences = ["Amy is at home.", "John has a career."]
    (tmp_path / "sentences.txt").write_text("".join(f"{sentence}\n" for sentence in sentences))
    files = {name: next(tmp_path.glob(f"{name}.*")) for name in ("shares", "sentences")}
    study = tmp_path / "study"
    with wb.config(device="cpu"):
        of_files = bios(data=data, model=encoder, output=study, **files, **SMALL)

    pair = (
        transformers.AutoModel.from_pretrained(encoder),
        transformers.AutoTokenizer.from_pretrained(encoder),
    )
    held: dict[str, Any] = {"data": pandas.DataFrame(columns), "model": pair}
    held |= {"shares": shares, "sentences": sentences, **SMALL}
    report = bios(**held)
    expected = json.dumps(rows(of_files), ensure_ascii=False)
    for name, path in files.items():
        expected = expected.replace(str(path), f"the {name} given")
    assert rows(report) == json.loads(expected)
    assert (report.command, report.seed) == ("bios", 0)
    assert report.inputs["model"] == {"path": "BertModel"}
    facts = of_files.inputs["biographies"]
    assert report.inputs["biographies"] == {**facts, "path": "the frame given"}
    assert report.heading[0].startswith("Occupation experiment on the frame given: 150 biog")

    # the study goes on with the objects, for it depends on what they hold
    finished = (study / "results.jsonl").read_bytes()
    assert rows(bios(output=study, **held)) == rows(of_files)
    assert (study / "results.jsonl").read_bytes() == finished


@pytest.mark.slow
def test_a_sentence_transformer(encoder: str) -> None:
    library = pytest.importorskip("sentence_transformers")
    model = library.SentenceTransformer(encoder, device="cpu")
    biographies = synthetic().take(range(COUNT))
    small = {**SMALL, "epochs": 1, "retrain_epochs": 1}
    assert rows(bios(data=biographies, model=model, **small)) == rows(
        bios(data=biographies, model=Path(encoder), **small)
    )


def test_it_names_what_is_wrong_as_python_does(encoder: str, tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match=r"on the hub, with model=; there is no"):
        bios()
    with pytest.raises(WordbiasError, match=r"^share_column= names a column of shares=; give"):
        bios(model=encoder, share_column="x")
    with pytest.raises(UsageError, match=r"^keep_models=True writes to output=; name a folder"):
        bios(model=encoder, keep_models=True)
    with (
        pytest.raises(WordbiasError, match=r"precision 'float16': expected float32 or bfloat16"),
        wb.config(precision="float16"),
    ):
        bios(model=encoder)
    with pytest.raises(UsageError, match=r"^max_length=: expected 3 or more, got 2$"):
        bios(model=encoder, max_length=2)
    with pytest.raises(WordbiasError, match=r"^expected a model: a folder, a name"):
        bios(model=torch.nn.Linear(1, 1), limit=100)
    with pytest.raises(WordbiasError, match=r"^data=: expected a file, a pandas frame or Biog"):
        bios(data=[1], model=encoder)  # type: ignore[arg-type]
    with pytest.raises(WordbiasError, match=r"give one with data=, or leave them out"):
        bios(model=encoder, text_column="bio")
    bad = tmp_path / "bios.tsv"
    bad.write_text("text\tprofession\tgender\nx\tnurse\tF\ny\tpoet\tM\nz\tpoet\t?\n")
    with (
        pytest.warns(WordbiasWarning, match=r"1 row dropped, the first: line 4"),
        pytest.raises(WordbiasError, match="cannot be drawn"),
        wb.config(skip_bad=True),
    ):
        bios(data=bad, model=encoder, **SMALL)
