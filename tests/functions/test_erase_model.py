"""`wordbias.erase` with a model: the report, the folder that is written and its card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import static_folders
from sentence_models import TEXTS, encoded, load, sentence_folder

import wordbias as wb
from wordbias import WordbiasError
from wordbias.errors import UsageError
from wordbias.functions.erase import erase
from wordbias.functions.erase_model import ErasedModel
from wordbias.methods.settings import ROW_METHODS
from wordbias.methods.storage import load_chain
from wordbias.models.encoder import Encoder
from wordbias.models.sentence_folder import SentenceVectors

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.usefixtures("one_thread", "short_probes")

GENDER = ["f" if text.startswith(("She", "A nurse")) else "m" for text in TEXTS]
VERB = ["spoke" if " spoke " in text else "said" for text in TEXTS]
COLUMNS = {"text": TEXTS, "gender": GENDER, "verb": VERB}
TOLERANCE = 1e-6


def erase_model(model: Any, texts: Any, labels: Any, **options: Any) -> Any:
    with wb.config(device="cpu"):
        return erase(model=model, texts=texts, labels=labels, **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sentence_folder(tmp_path_factory.mktemp("models") / "tiny", "Normalize")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("pairs") / "dev.tsv"
    rng = np.random.default_rng(0)
    lines = [f"{a}\t{b}\t{rng.uniform(0, 5):.2f}" for a, b in zip(TEXTS, TEXTS[::-1], strict=True)]
    file.write_text("\n".join(["sentence1\tsentence2\tscore", *lines]))
    return file


@pytest.fixture(scope="module")
def erased(
    folder: Path, pairs: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[ErasedModel, Path]:
    target = tmp_path_factory.mktemp("made")
    erased_model = erase_model(
        folder, COLUMNS, "gender", also="verb", sts=pairs,
        output=target / "erased", save_transform=target / "map.safetensors",
    )  # fmt: skip
    return erased_model, target


def own(folder: Path, fitted: Any) -> Any:
    """Return the vectors that wordbias computes with a fitted map."""
    model = SentenceVectors.of(Encoder.load(folder, device="cpu"))
    x = model.job(TEXTS).vectors()[0]
    return model.outputs(np.asarray(fitted(x), np.float32))


@pytest.mark.slow
def test_the_library_loads_what_was_computed(
    folder: Path, erased: tuple[ErasedModel, Path]
) -> None:
    erased_model, target = erased
    expected = own(folder, erased_model.method.fitted_)
    np.testing.assert_allclose(encoded(target / "erased"), expected, rtol=0, atol=TOLERANCE)
    assert np.abs(expected - encoded(folder)).max() > 0.01
    assert erased_model.folder == str(target / "erased")
    assert repr(erased_model) == f"<ErasedModel by LEACE, written to {erased_model.folder!r}>"


def test_the_rows_are_of_three_kinds_of_vectors(erased: tuple[ErasedModel, Path]) -> None:
    rows = [row for row in erased[0].report if row.measure == "linear-probe"]
    keys = [(row.details["vectors"], row.details["stage"]) for row in rows]
    assert keys == [
        ("model output", "before"), ("model output", "after"),
        ("before Normalize", "before"), ("before Normalize", "after"),
    ]  # fmt: skip
    before, _, _, inside = (row.value or 0 for row in rows)
    assert inside < before - 0.1
    measures = {row.measure for row in erased[0].report}
    assert measures == {
        "best-probe", "ridge-probe", "rbf-probe", "linear-probe", "mlp-probe",
        "training-rows-probe", "compression", "neighbour-recall", "cosine", "task-accuracy", "sts",
    }  # fmt: skip
    assert erased[0].report.inputs["texts"]["held_out"] == 24
    assert erased[0].report.inputs["texts"]["training"] == len(TEXTS) - 24


@pytest.mark.slow
def test_texts_are_balanced_and_groups_are_held_out_whole(folder: Path, tmp_path: Path) -> None:
    """The map is that of as many texts of each gender within each verb, and so says the card."""
    people = [f"p{i // 4}" for i in range(len(TEXTS))]
    erased_model = erase_model(
        folder, {**COLUMNS, "person": people}, "gender", also="verb", balance=True,
        unit="person", output=tmp_path / "erased",
    )  # fmt: skip
    about = erased_model.report.inputs["texts"]
    assert about["held_out"] % 4 == 0
    assert about["fitted"] == erased_model.method.origin_.size <= about["training"]
    assert about["fitted"] % 2 == 0
    text = " ".join(str(erased_model.report).split())
    assert (
        f"fitted on {about['fitted']} training texts, equally many of each gender within each"
        in text
    )
    card = (tmp_path / "erased" / "README.md").read_text("utf-8")
    assert f"Fitted on {about['fitted']} texts" in card
    assert f"f ({about['fitted'] // 2}), m ({about['fitted'] // 2})" in card


@pytest.mark.slow
def test_the_map_is_fitted_on_the_training_part_alone(folder: Path) -> None:
    parts = ["test" if i % 4 == 0 else "train" for i in range(len(TEXTS))]
    columns = {**COLUMNS, "part": parts}
    swapped = [
        ("m" if cell == "f" else "f") if part == "test" else cell
        for cell, part in zip(GENDER, parts, strict=True)
    ]
    first = erase_model(folder, columns, "gender", split_column="part")
    second = erase_model(folder, {**columns, "gender": swapped}, "gender", split_column="part")
    np.testing.assert_array_equal(
        own(folder, first.method.fitted_), own(folder, second.method.fitted_)
    )


def test_the_card_has_a_header_the_values_and_the_licence(
    erased: tuple[ErasedModel, Path],
) -> None:
    hub = pytest.importorskip("huggingface_hub")
    erased_model, target = erased
    card = hub.ModelCard.load(target / "erased" / "README.md")
    assert card.data.license == "apache-2.0"
    assert card.data.library_name == "sentence-transformers"
    assert card.data.pipeline_tag == "sentence-similarity"
    assert card.data.language == "en"
    assert card.data.base_model is None  # a folder has no name on the Hub
    assert {"small", "wordbias", "sentence-transformers"} <= set(card.data.tags)
    for row in erased_model.report:
        is_shown = (
            row.details.get("vectors") != "before Normalize" or row.details["stage"] == "after"
        )
        if is_shown and row.measure in ("linear-probe", "mlp-probe", "sts"):
            assert f"{row.value:.3f}" in card.text.replace("−", "-")
    about = erased_model.report.inputs
    assert about["texts"]["sha256"] in card.text
    assert about["tiny"]["sha256"] in card.text
    assert "Removed: gender, by leace" in card.text
    assert "Fitted on 96 texts, measured on 24 others" in card.text
    assert "## Limits" in card.text
    assert (target / "erased" / "README.original.md").read_text().endswith("# Small\n")


@pytest.mark.slow
def test_the_certificate_is_a_section_of_the_card(folder: Path, tmp_path: Path) -> None:
    """Of what users read, not of what is inside; its probes stand in no second table."""
    erased_model = erase_model(folder, COLUMNS, "gender", certify=True, output=tmp_path / "erased")
    rows = [row for row in erased_model.report["network-probe"] if row.details["stage"] == "after"]
    assert [row.details["vectors"] for row in rows] == ["model output"]
    card = (tmp_path / "erased" / "README.md").read_text("utf-8")
    section = card.split("## Certificate")[1].split("## Before and after")[0]
    assert "**Certificate: gender, new rows**" in section
    for title in ("best probe", "nearest neighbours", "boosted trees", "tuned network"):
        assert f"| {title} |" in section
    assert "boosted trees" not in card.split("## Before and after")[1]
    plain = erase_model(folder, COLUMNS, "gender", output=tmp_path / "plain")
    assert "Certificate" not in (tmp_path / "plain" / "README.md").read_text("utf-8")
    assert [row for row in plain.report if row.measure != "network-probe"] == list(plain.report)


@pytest.mark.slow
def test_a_folder_of_the_hubs_cache_has_a_base_model(tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    place = tmp_path / "models--someone--small-model" / "snapshots" / "0123"
    place.parent.mkdir(parents=True)
    sentence_folder(place)
    erase_model(place, COLUMNS, "gender", output=tmp_path / "erased")
    card = hub.ModelCard.load(tmp_path / "erased" / "README.md")
    assert card.data.base_model == "someone/small-model"


def test_the_map_is_saved_for_vectors_of_the_same_width(
    erased: tuple[ErasedModel, Path],
) -> None:
    chain, origin = load_chain(erased[1] / "map.safetensors")
    x = np.random.default_rng(0).normal(size=(3, 16))
    np.testing.assert_array_equal(chain(x), erased[0].method.fitted_(x))
    assert (origin.dim, origin.size) == (16, 96)


@pytest.mark.slow
@pytest.mark.parametrize("method", ROW_METHODS)
@pytest.mark.parametrize("kinds", [(), ("Normalize",)], ids=["plain", "normalized"])
def test_every_method_is_written(tmp_path: Path, method: str, kinds: tuple[str, ...]) -> None:
    folder = sentence_folder(tmp_path / "tiny", *kinds)
    erased_model = erase_model(
        folder, COLUMNS, "gender", methods=method, output=tmp_path / "erased"
    )
    expected = own(folder, erased_model.method.fitted_)
    length = np.linalg.norm(expected, axis=1).max()
    np.testing.assert_allclose(
        encoded(tmp_path / "erased") / length, expected / length, rtol=0, atol=TOLERANCE
    )
    kinds_written = [
        module["type"].rpartition(".")[2]
        for module in json.loads((tmp_path / "erased" / "modules.json").read_text())
    ]
    normalized = ["Normalize"] * (bool(kinds) or method == "hard")
    assert kinds_written == ["Transformer", "Pooling", "Dense", *normalized]


@pytest.mark.slow
def test_inlp_is_fitted_on_a_sample_of_many_texts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wordbias.functions.erase_fit.ROUNDS_NUMBERS", 16 * 60)
    erased_model = erase_model(folder, COLUMNS, "gender", methods="inlp")
    assert "fitted on 60 of 96 training texts" in " ".join(erased_model.report.heading)
    assert erased_model.method.origin_.size == 96


def test_a_label_that_inlp_does_not_find_writes_no_folder(folder: Path, tmp_path: Path) -> None:
    arbitrary = np.random.default_rng(0).permutation(np.arange(len(TEXTS)) % 2)
    arbitrary = np.where(arbitrary == 0, "a", "b")
    columns = {"text": ["She said so."] * len(TEXTS), "label": arbitrary.tolist()}
    with pytest.raises(WordbiasError, match="inlp found no classifier better than chance"):
        erase_model(folder, columns, "label", methods="inlp", output=tmp_path / "erased")
    assert not (tmp_path / "erased").exists()


@pytest.mark.slow
def test_several_labels_are_erased_together(folder: Path) -> None:
    erased_model = erase_model(folder, COLUMNS, "gender,verb")
    x = SentenceVectors.of(Encoder.load(folder, device="cpu")).job(TEXTS).vectors()[0]
    assert {row.details["concept"] for row in erased_model.report["linear-probe"]} == {
        "gender",
        "verb",
    }
    assert np.linalg.matrix_rank(x - erased_model.method.fitted_(x), tol=1e-4) == 2


@pytest.mark.slow
def test_labels_come_from_a_column_a_file_or_values(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("\n".join(GENDER))
    texts = {"text": TEXTS}
    expected = own(folder, erase_model(folder, COLUMNS, "gender").method.fitted_)
    for labels in (tmp_path / "labels.txt", np.array(GENDER)):
        erased_model = erase_model(folder, texts, labels)
        np.testing.assert_array_equal(own(folder, erased_model.method.fitted_), expected)


@pytest.mark.slow
def test_texts_without_a_label_are_dropped_on_request(folder: Path) -> None:
    gaps = ["" if i % 8 == 0 else cell for i, cell in enumerate(GENDER)]
    columns = {**COLUMNS, "gender": gaps}
    with pytest.raises(WordbiasError, match="15 of 120 texts have no gender, the first is row 1"):
        erase_model(folder, columns, "gender")
    erased_model = erase_model(folder, columns, "gender", missing="drop")
    assert erased_model.report.inputs["texts"]["missing"] == 15
    assert (
        erased_model.report.inputs["texts"]["training"]
        + erased_model.report.inputs["texts"]["held_out"]
        == 105
    )


@pytest.mark.slow
def test_a_loaded_model_is_not_changed(folder: Path, tmp_path: Path) -> None:
    loaded = load(folder)
    before = encoded(loaded)
    erased_model = erase_model(loaded, COLUMNS, "gender", output=tmp_path / "erased")
    np.testing.assert_array_equal(encoded(loaded), before)
    expected = own(folder, erased_model.method.fitted_)
    np.testing.assert_allclose(encoded(erased_model.model), expected, rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(encoded(tmp_path / "erased"), expected, rtol=0, atol=TOLERANCE)
    assert (tmp_path / "erased" / "README.md").read_text().startswith("---\n")
    assert len(erased_model.model) == len(loaded) + 1


@pytest.mark.slow
def test_prompts_of_queries_and_documents_are_used(tmp_path: Path) -> None:
    prompts = {"query": "she ", "passage": "the surgeon "}
    folder = sentence_folder(tmp_path / "tiny", "Normalize", prompts=prompts)
    model = SentenceVectors.of(Encoder.load(folder, device="cpu"))
    first, second = model.sides(TEXTS[:4], TEXTS[4:8])
    with_prompts = [
        encoded(folder, [prompts[name] + text for text in part])
        for name, part in (("query", TEXTS[:4]), ("passage", TEXTS[4:8]))
    ]
    for side, expected in zip((first, second), with_prompts, strict=True):
        np.testing.assert_allclose(model.outputs(side), expected, rtol=0, atol=TOLERANCE)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"labels": "sex"}, "labels='sex': neither a column of texts .it has gender, verb. nor a file"),
    ({"labels": "gender,sex"}, "labels='sex': neither a column"),
    ({"labels": GENDER[:3]}, "120 texts, but 3 values of labels="),
    ({"labels": ["f"] * 120}, "label needs two classes at least; all are 'f'"),
    ({"also": "sex"}, "also='sex': neither a column"),
    ({"split_column": "sex"}, "split_column='sex': neither a column"),
    ({"methods": "magic"}, "method 'magic': expected one of leace"),
    ({"sts": {"a": ["x"], "b": ["y"]}}, "1 different second texts"),
]


@pytest.mark.parametrize(("given", "problem"), BAD)
def test_mistakes_are_refused(
    folder: Path, tmp_path: Path, given: dict[str, Any], problem: str
) -> None:
    labels = given.pop("labels", "gender")
    output = tmp_path / "erased"
    with pytest.raises(WordbiasError, match=problem):
        erase_model(folder, COLUMNS, labels, output=output, **given)
    assert not output.exists()
    assert list(tmp_path.iterdir()) == []


def test_models_that_cannot_take_a_module_are_refused(folder: Path, tmp_path: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    pair = (AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder))
    with pytest.raises(UsageError, match="expected a sentence-transformers folder"):
        erase_model(pair, COLUMNS, "gender")
    static = static_folders.sentence_folder(tmp_path / "static")
    with pytest.raises(WordbiasError, match="is a static model, whose tokens"):
        erase_model(static, COLUMNS, "gender")
    plain = sentence_folder(tmp_path / "plain")
    (plain / "modules.json").unlink()
    with pytest.raises(WordbiasError, match="is no sentence-transformers model"):
        erase_model(plain, COLUMNS, "gender")
    with pytest.raises(WordbiasError, match="exists already"):
        erase_model(folder, COLUMNS, "gender", output=folder)
