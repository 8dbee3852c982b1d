"""Projections of an audit: they do to pooled vectors what hooks do to tokens, and are exported."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import planted_encoder
import pytest

from wordbias.contextual.audit import export
from wordbias.contextual.audit.projections import Fitted, Unprojected, fit, read_method
from wordbias.contextual.audit.texts import AuditTexts, Reader
from wordbias.contextual.fitting import Recipe, fit_adapter
from wordbias.errors import UsageError, WordbiasError
from wordbias.models.encoder import Encoder
from wordbias.models.encoding import Settings, encode
from wordbias.models.hooks import Intervention, applied
from wordbias.models.sentence_pairs import sentence_pairs
from wordbias.models.sites import Site
from wordbias.settings import Configured
from wordbias.subspace import Subspace

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("one_thread")
export_with_step = partial(export.export_with_step, card=lambda folder, licence: "A model.\n")

TEXTS = ["The nurse waited for the bus in the rain.", "She left.", "Emma read the newspaper."]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("planted")
    kinds = ("mean", "cls", "max", "lasttoken", "weightedmean")
    return {kind: planted_encoder.write_folder(place / kind, pooling=kind) for kind in kinds}


def reader(folder: Path) -> Reader:
    return Reader(Encoder.load(folder, device="cpu"), AuditTexts.load())


def halves(dims: int = 64, n: int = 200) -> tuple[Any, Any]:
    """Return vectors of two versions that differ along two directions."""
    rng = np.random.default_rng(0)
    both = rng.normal(size=(n, dims))
    shift = np.zeros(dims)
    shift[:2] = 1
    noise = 0.2 * rng.normal(size=(2, n, dims))
    return both + shift + noise[0], both - shift + noise[1]


def fitted(text: str, one: Reader) -> Fitted:
    return fit(read_method(text), one, halves(), seed=0)


# Names


def test_methods_are_read_with_their_settings() -> None:
    assert read_method("misp").text == "misp"
    assert read_method(" MISP:dims=2").text == "misp:dims=2"
    assert read_method("inlp:rounds=10").settings == {"rounds": 10}
    assert read_method("layer 11 (0, 1, 1, 1, 0)").text == "L11-01110"
    assert read_method("tokens@3").text == "tokens@3"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "mips",
            r"'mips': expected leace, inlp, misp, mhd, hard, density-matching, misp-pairs, "
            "mhd-pairs, with settings",
        ),
        ("misp:rounds=3", r"found 'rounds'; rounds is for: inlp"),
        ("misp:dims=0", r"dims: expected a whole number from 1 on"),
        ("misp-pairs:centre", r"misp-pairs takes dims; found 'centre'; centre is for: misp, mhd"),
        ("misp:dims=2,hard", r"expected one of leace, .*, got 'misp:dims=2,hard'"),
        (
            "leace:classes=3",
            r"'classes' is not for this command, in which leace takes method, shrinkage",
        ),
        ("misp:", r"'misp:': expected the name of a setting"),
        ("L11-9", r"'L11-9': expected leace"),
    ],
)
def test_what_is_no_method_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_method(text)


# Vectors


@pytest.mark.parametrize("pooling", ["mean", "lasttoken", "weightedmean"])
@pytest.mark.parametrize("method", ["misp", "mhd:dims=2", "hard", "leace"])
def test_a_projection_of_the_pooled_vector_is_that_of_every_token(
    folders: dict[str, Path], pooling: str, method: str
) -> None:
    embedder = reader(folders[pooling])
    assert embedder.words_follow
    done = fitted(method, embedder)
    places = {text: i for i, text in enumerate(TEXTS)}
    (pooled,) = embedder.pooled(TEXTS, [embedder.last], None)
    after = done.vectors(embedder, Unprojected(places, pooled)).layers[embedder.last]
    (removal,) = done.at(Site("tokens", embedder.last))
    with applied(embedder.encoder.model, [removal]):
        (expected,) = encode(embedder.encoder, TEXTS, None, Settings((embedder.last,)))
    np.testing.assert_allclose(after, expected, atol=1e-5)
    assert (
        np.abs(after - encode(embedder.encoder, TEXTS, None, Settings((embedder.last,)))[0]).max()
        > 1e-3
    )


def test_of_the_first_token_it_is_that_of_cls_and_words_do_not_follow(
    folders: dict[str, Path],
) -> None:
    embedder = reader(folders["cls"])
    assert not embedder.words_follow
    assert embedder.layers == (1, 2, 3)  # the first token's embedding is the same in all texts
    done = fitted("hard", embedder)
    (pooled,) = embedder.pooled(TEXTS, [embedder.last], None)
    places = {text: i for i, text in enumerate(TEXTS)}
    after = done.vectors(embedder, Unprojected(places, pooled, embedder.words([embedder.last])))
    assert after.words is None
    with applied(embedder.encoder.model, done.at(Site("cls", embedder.last))):
        (expected,) = encode(embedder.encoder, TEXTS, None, Settings((embedder.last,)))
    np.testing.assert_allclose(after.layers[embedder.last], expected, atol=1e-5)


def test_vectors_before_are_those_of_encode(folders: dict[str, Path]) -> None:
    for folder in folders.values():
        embedder = reader(folder)
        pooled = embedder.pooled(TEXTS, [1, embedder.last], None)
        lower, last = encode(embedder.encoder, TEXTS, None, Settings((1, embedder.last)))
        np.testing.assert_array_equal(pooled[0], lower)
        np.testing.assert_allclose(embedder.finished(pooled[1]), last, atol=1e-7)


def test_leace_makes_the_means_equal(folders: dict[str, Path]) -> None:
    embedder = reader(folders["mean"])
    done, (first, second) = fitted("leace", embedder), halves()
    assert done.step is not None
    moved = done.step(first).mean(0) - done.step(second).mean(0)
    assert np.abs(moved).max() < 1e-6


def test_inlp_leaves_the_training_versions_at_chance(folders: dict[str, Path]) -> None:
    from sklearn.linear_model import LogisticRegression

    embedder, (first, second) = reader(folders["mean"]), halves()
    done = fitted("inlp", embedder)
    assert done.step is not None
    x, y = np.concatenate([first, second]), np.repeat([0, 1], len(first))
    assert LogisticRegression().fit(x[::2], y[::2]).score(x[1::2], y[1::2]) > 0.8
    z = done.step(x)
    assert LogisticRegression().fit(z[::2], y[::2]).score(z[1::2], y[1::2]) < 0.65


@pytest.mark.slow
def test_settings_are_fitted_as_project_fits_them(folders: dict[str, Path]) -> None:
    embedder = reader(folders["mean"])
    done = fit(read_method("L11-01010"), embedder, halves(), seed=0)
    model, tokenizer = embedder.encoder.model, embedder.encoder.tokenizer
    adapter = fit_adapter(model, tokenizer, sentence_pairs(), Recipe(seed=0))
    expected = adapter.interventions("L11-01010")
    assert [str(it) for it in done.inside] == [str(it) for it in expected]
    for it, other in zip(done.inside, expected, strict=True):
        np.testing.assert_allclose(it.what.basis, other.what.basis)
    places = {text: i for i, text in enumerate(TEXTS)}
    (pooled,) = embedder.pooled(TEXTS, [embedder.last], None)
    after = done.vectors(embedder, Unprojected(places, pooled))
    assert sorted(after.layers) == [2, 3]  # from the tokens of the last layer but one
    with applied(model, expected):
        encoded = encode(embedder.encoder, TEXTS, None, Settings((2, 3)))
    np.testing.assert_allclose(after.layers[2], encoded[0], atol=1e-6)
    np.testing.assert_allclose(after.layers[3], encoded[1], atol=1e-6)


def test_a_setting_that_nothing_reads_is_refused(folders: dict[str, Path]) -> None:
    embedder = reader(folders["mean"])
    done = fit(read_method("SENT-0"), embedder, halves(), seed=0)
    places = {text: i for i, text in enumerate(TEXTS)}
    with pytest.raises(WordbiasError, match="change no output"):
        done.vectors(
            embedder, Unprojected(places, embedder.pooled(TEXTS, [embedder.last], None)[0])
        )


def test_an_interrupted_encoding_resumes(folders: dict[str, Path], tmp_path: Path) -> None:
    embedder, path = reader(folders["mean"]), tmp_path / "page.html.vectors"
    expected = embedder.pooled(TEXTS, [0, 3], None)
    pooled = embedder.pooled(TEXTS, [0, 3], str(path))
    np.testing.assert_array_equal(pooled, expected)
    assert path.exists()
    np.testing.assert_array_equal(embedder.pooled(TEXTS, [0, 3], str(path)), expected)
    with pytest.raises(WordbiasError, match="is of another run"):
        embedder.pooled(TEXTS[:2], [0, 3], str(path))


# Export


@pytest.mark.parametrize("method", ["hard", "leace"])
@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_the_exported_folder_gives_the_projected_vectors(
    folders: dict[str, Path], tmp_path: Path, method: str, pooling: str
) -> None:
    embedder = reader(folders[pooling])
    done = fitted(method, embedder)
    (pooled,) = embedder.pooled(TEXTS, [embedder.last], None)
    places = {text: i for i, text in enumerate(TEXTS)}
    expected = done.vectors(embedder, Unprojected(places, pooled)).layers[embedder.last]
    target = tmp_path / "clean"
    export_with_step(embedder.encoder, str(folders[pooling]), done, target)
    exported = Encoder.load(target, device="cpu")
    (encoded,) = encode(exported, TEXTS, None, Settings((embedder.last,)))
    np.testing.assert_allclose(encoded, expected, atol=2e-6)
    assert json.loads((target / "wordbias.json").read_text())["method"] == method
    library = pytest.importorskip("sentence_transformers", reason="the library is what reads it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = library.SentenceTransformer(str(target), device="cpu")
        theirs = model.encode(TEXTS, show_progress_bar=False)
    np.testing.assert_allclose(theirs, expected, atol=2e-6)


def test_an_export_can_be_exported_again(folders: dict[str, Path], tmp_path: Path) -> None:
    embedder = reader(folders["mean"])
    export_with_step(
        embedder.encoder, str(folders["mean"]), fitted("hard", embedder), tmp_path / "a"
    )
    other = reader(tmp_path / "a")
    export_with_step(other.encoder, str(tmp_path / "a"), fitted("leace", other), tmp_path / "b")
    paths = [part["path"] for part in json.loads((tmp_path / "b" / "modules.json").read_text())]
    assert paths == ["", "1_Pooling", "2_Dense_added", "2_Dense", "2_Normalize"]
    Encoder.load(tmp_path / "b", device="cpu")


def test_what_cannot_be_exported_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    embedder = reader(folders["mean"])
    inside = Fitted(
        Configured("L11-01110"), None, (Intervention(Site("tokens", 2), halves_subspace()),)
    )
    with pytest.raises(WordbiasError, match="L11-01110: acts inside the encoder; write it with: "):
        export_with_step(embedder.encoder, str(folders["mean"]), inside, tmp_path / "c")
    plain = replace(embedder.encoder, sentence=None)
    with pytest.raises(WordbiasError, match="is no sentence-transformers model"):
        export_with_step(plain, str(folders["mean"]), fitted("hard", embedder), tmp_path / "c")
    assert not (tmp_path / "c").exists()


def halves_subspace() -> Subspace:
    return Subspace.from_pairs(*halves(), 1)


def test_a_loaded_sentence_transformer_is_exported(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    library = pytest.importorskip("sentence_transformers", reason="the library is what is loaded")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = library.SentenceTransformer(str(folders["mean"]), device="cpu")
        embedder = Reader(Encoder.load(model), AuditTexts.load())
        done = fitted("hard", embedder)
        export_with_step(embedder.encoder, model, done, tmp_path / "clean")
        theirs = library.SentenceTransformer(str(tmp_path / "clean"), device="cpu").encode(
            TEXTS, show_progress_bar=False
        )
    (pooled,) = embedder.pooled(TEXTS, [embedder.last], None)
    places = {text: i for i, text in enumerate(TEXTS)}
    expected = done.vectors(embedder, Unprojected(places, pooled)).layers[embedder.last]
    np.testing.assert_allclose(theirs, expected, atol=2e-6)
