"""`wordbias.project` of a sentence-transformers model: the site of the vector that it outputs."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_models import TEXTS, encoded, load, sentence_folder

import wordbias as wb
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.encode import encode
from wordbias.functions.project import project
from wordbias.methods.transform import Projection
from wordbias.models.adapters import Adapter
from wordbias.models.encoder import Encoder
from wordbias.models.sentence_folder import SentenceVectors
from wordbias.models.sentence_pairs import redrawn_pairs, sentence_pairs
from wordbias.subspace import Subspace

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.usefixtures("one_thread")

PAIRS = [(text, text.replace("She", "He")) for text in TEXTS if text.startswith("She")]
TOLERANCE = 1e-6
RUN = {"pairs": PAIRS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sentence_folder(tmp_path_factory.mktemp("models") / "tiny", "Normalize")


@pytest.fixture(scope="module")
def fitted(folder: Path) -> Adapter:
    return project(folder, sites="embedding", setting="embedding", **RUN)  # type: ignore[arg-type]


def expected(folder: Path, subspace: Subspace) -> Any:
    model = SentenceVectors.of(Encoder.load(folder, device="cpu"))
    removed = Projection(Subspace(subspace.basis[:1], subspace.weights[:1]), hard=True)
    return model.outputs(removed(model.job(TEXTS).vectors()[0]))


def test_the_subspace_is_that_of_the_vectors_before_normalize(
    folder: Path, fitted: Adapter
) -> None:
    model = SentenceVectors.of(Encoder.load(folder, device="cpu"))
    first, second = (
        model.job([pair[side] for pair in PAIRS]).vectors()[0].astype(float) for side in (0, 1)
    )
    _, _, vt = np.linalg.svd(first - second)
    (subspace,) = fitted.subspaces.values()
    assert abs(subspace.basis[0] @ vt[0]) == pytest.approx(1, abs=1e-6)
    assert [str(site) for site in fitted.subspaces] == ["embedding"]
    assert fitted.report is not None
    assert {row.details["site"] for row in fitted.report} == {"embedding"}


@pytest.mark.slow
def test_redraws_of_the_pairs_have_the_components_of_their_vectors(
    folder: Path, tmp_path: Path
) -> None:
    model = SentenceVectors.of(Encoder.load(folder, device="cpu"))
    given: dict[str, Any] = {
        "sites": "embedding",
        "setting": "embedding",
        "methods": "mhd-pairs:dims=1",
        **RUN,
    }
    project(folder, output=tmp_path / "a.st", seed_lists=2, seed=1, **given)
    paired = sentence_pairs(PAIRS)
    for i, drawn in enumerate(redrawn_pairs(paired, 2, 1), 1):
        assert len(set(drawn)) < len(drawn) == len(paired)
        first, second = (
            model.job([pair[side] for pair in drawn]).vectors()[0].astype(float) for side in (0, 1)
        )
        read = wb.load(tmp_path / f"a.lists{i}.st")
        (subspace,) = read.subspaces.values()
        _, _, vt = np.linalg.svd(first - second)
        assert abs(subspace.basis[0] @ vt[0]) == pytest.approx(1, abs=1e-6)
        assert str(read.chosen) == "embedding"


@pytest.mark.slow
def test_the_exported_folder_is_loaded_by_the_library(folder: Path, tmp_path: Path) -> None:
    adapter = project(folder, **RUN)  # type: ignore[arg-type]
    wb.apply(adapter, folder, output=tmp_path / "clean")
    (site,) = [place for place in adapter.subspaces if str(place) == "embedding"]
    wanted = expected(folder, adapter.subspaces[site])
    np.testing.assert_allclose(encoded(tmp_path / "clean"), wanted, rtol=0, atol=TOLERANCE)
    with wb.config(device="cpu"):
        own = encode(tmp_path / "clean", list(TEXTS), layers="last")
    np.testing.assert_allclose(own.vectors[-1], wanted, rtol=0, atol=TOLERANCE)
    assert np.abs(wanted - encoded(folder)).max() > 0.01
    kinds = [module["type"].rpartition(".")[2] for module in json.loads(
        (tmp_path / "clean" / "modules.json").read_text())]  # fmt: skip
    assert kinds == ["Transformer", "Pooling", "Dense", "Normalize"]


@pytest.mark.slow
def test_the_report_and_the_card_have_values_before_and_after(folder: Path, tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    adapter = project(folder, **RUN)  # type: ignore[arg-type]
    report = wb.apply(adapter, folder, output=tmp_path / "clean").report
    stages = [row.details["stage"] for row in report["pronoun-gap"]]
    assert stages == ["before", "after"]
    assert report["sentence-order-kept"][0].details["stage"] == "after"
    card = hub.ModelCard.load(tmp_path / "clean" / "README.md")
    assert card.data.license == "apache-2.0"
    assert f"{report['pronoun-gap'][1].value:.3f}".lstrip("-") in card.text
    assert f"Fitted on {len(PAIRS)} pairs of sentences" in card.text


@pytest.mark.slow
def test_a_loaded_model_removes_it_in_a_block_and_in_a_copy(
    folder: Path, fitted: Adapter, tmp_path: Path
) -> None:
    loaded = load(folder)
    before = encoded(loaded)
    wanted = expected(folder, next(iter(fitted.subspaces.values())))
    with fitted.on(loaded) as same:
        assert same is loaded
        np.testing.assert_allclose(encoded(loaded), wanted, rtol=0, atol=TOLERANCE)
    np.testing.assert_array_equal(encoded(loaded), before)
    folded = fitted.fold(loaded)
    np.testing.assert_allclose(encoded(folded), wanted, rtol=0, atol=TOLERANCE)
    np.testing.assert_array_equal(encoded(loaded), before)
    refitted = project(loaded, sites="embedding", **RUN)  # type: ignore[arg-type]
    wb.apply(refitted, loaded, output=tmp_path / "clean")
    np.testing.assert_allclose(encoded(tmp_path / "clean"), wanted, rtol=0, atol=TOLERANCE)


@pytest.mark.slow
def test_it_is_saved_with_other_sites(folder: Path, tmp_path: Path) -> None:
    adapter = project(folder, output=tmp_path / "a.st", **RUN)  # type: ignore[arg-type]
    read = wb.load(tmp_path / "a.st")
    assert list(map(str, read.subspaces)) == list(map(str, adapter.subspaces))
    assert str(list(read.subspaces)[-1]) == "embedding"
    assert "tokens@2" in map(str, read.subspaces)
    loaded = load(folder)
    with read.on(loaded, "tokens@2,embedding"):
        both = encoded(loaded)
    with read.on(loaded, "tokens@2"):
        inside = encoded(loaded)
    assert np.abs(both - inside).max() > 1e-4


@pytest.mark.slow
def test_what_has_no_such_site_is_refused(folder: Path, fitted: Adapter, tmp_path: Path) -> None:
    plain = sentence_folder(tmp_path / "plain")
    (plain / "modules.json").unlink()
    with pytest.raises(WordbiasError, match="has no site embedding"):
        project(plain, sites="embedding", **RUN)  # type: ignore[arg-type]
    clean = tmp_path / "clean"
    inner = project(plain, **RUN)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"no setting that it removes by default; .* setting="):
        wb.apply(inner, plain, output=clean)
    both = project(folder, **RUN)  # type: ignore[arg-type]
    with pytest.raises(WordbiasError, match="write them one after the other"):
        wb.apply(both, folder, setting="tokens@2,embedding", output=clean)
    with pytest.raises(WordbiasError, match="wordbias apply ADAPTER MODEL -o FOLDER, or give the"):
        wb.apply(fitted, plain, output=clean)
    with pytest.raises(UsageError, match="in a new folder; name that with output="):
        wb.apply(fitted, folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transformer = load(folder)[0].auto_model
    with pytest.raises(WordbiasError, match="comes after the pooling"), fitted.on(transformer):
        pass
    assert not (tmp_path / "clean").exists()


@pytest.mark.slow
def test_the_command_line(cli: Callable[..., Any], folder: Path, tmp_path: Path) -> None:
    lines = "\n".join("\t".join(pair) for pair in PAIRS)
    (tmp_path / "pairs.tsv").write_text(lines)
    adapter = tmp_path / "a"
    assert cli("project", folder, "--pairs", tmp_path / "pairs.tsv", "-o", adapter).code == 0
    done = cli("apply", adapter, folder, "-o", tmp_path / "clean", "--device", "cpu")
    assert done.code == 0, done.err
    assert "with a further module" in done.out.replace("\n", " ")
    assert encoded(tmp_path / "clean").shape == (len(TEXTS), 16)
