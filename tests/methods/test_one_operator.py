"""One name is one operator: every door of a method gives the map that its estimator gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import planted_decoder
import planted_encoder
import pytest
from numpy.typing import NDArray
from tiny_decoders import build_decoder, word_tokenizer
from tiny_encoders import build, make_tokenizer, words_of

import wordbias as wb
from wordbias.columns import Column
from wordbias.formats.rows import open_rows
from wordbias.labelled import Labelled
from wordbias.methods import density_matching, inlp
from wordbias.methods.classes import labelled_words
from wordbias.methods.rows import OF_MOMENTS, fit_rows
from wordbias.methods.settings import ROW_METHODS
from wordbias.methods.transform import Normalise
from wordbias.moments import Moments
from wordbias.settings import Configured
from wordbias.subspace import Subspace

pytestmark = [
    pytest.mark.usefixtures("one_thread", "short_descent"),
    pytest.mark.filterwarnings("ignore:INLP. the classifier of the last of 2 rounds"),
]

Floats = NDArray[np.float64]
Map = Callable[[Any], Any]


@pytest.fixture
def short_descent(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch)


def shorten(patch: pytest.MonkeyPatch) -> None:
    """Every place has the same steps, however few."""
    patch.setattr(density_matching, "_STEPS", 3)
    patch.setattr(density_matching, "_BATCH", 40)


SETTINGS: dict[str, list[dict[str, Any]]] = {
    "leace": [{}, {"method": "orth"}, {"shrinkage": False}],
    "inlp": [{"rounds": 2}, {"rounds": 2, "weights": "information", "random_state": 3}],
    "misp": [{}, {"dims": 2, "centre": True}, {"dims": 2, "weights": [0.5, 0.3]}],
    "mhd": [{"dims": 2}],
    "hard": [{}],
    "density-matching": [{"dims": 2}],
}
CALLS = [(name, given) for name in ROW_METHODS for given in SETTINGS[name]]
INSIDE = [(name, given) for name, given in CALLS if name in OF_MOMENTS]


def estimator(name: str, given: dict[str, Any]) -> Any:
    kinds: tuple[Any, ...] = (
        wb.LEACE, wb.INLP, wb.MISP, wb.MHD, wb.Hard, wb.DensityMatching
    )  # fmt: skip
    (cls,) = (kind for kind in kinds if kind._name == name)
    return cls(**given)


def inside(name: str, given: dict[str, Any], x: Floats, codes: Any) -> Map:
    """Return the map of the estimator; of `hard` without bringing rows to length one."""
    if name != "hard":
        return estimator(name, given).fit(x, codes).fitted_
    return fit_rows("hard", x, codes, given, inside=True)


def assert_one_map(found: Map, expected: Map, x: Floats) -> None:
    """Compare two maps on the rows, and on others that these do not span."""
    scale = np.abs(x).max()
    probes = np.concatenate([x, scale * np.eye(x.shape[1])])
    after = expected(probes)
    np.testing.assert_allclose(found(probes), after, rtol=0, atol=1e-12 * scale)
    assert np.abs(after - probes).max() > 1e-3 * scale


# Rows


def rows(n: int = 200, d: int = 12) -> tuple[Floats, NDArray[np.str_]]:
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=n)
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    return x + 2 * codes[:, None] * rng.normal(size=d), np.array(["female", "male"])[codes]


@pytest.mark.usefixtures("short_probes")
@pytest.mark.parametrize(("name", "given"), CALLS)
def test_of_rows_and_of_erase(name: str, given: dict[str, Any]) -> None:
    x, y = rows()
    tested, z = rows(50)
    both = np.concatenate([x, tested]), np.concatenate([y, z])
    split = ["train"] * len(x) + ["test"] * len(tested)
    erased = wb.erase(*both, methods=Configured(name, given).text, split_column=split)
    assert_one_map(erased.fitted_, estimator(name, given).fit(x, y).fitted_, x)


@pytest.mark.parametrize(("name", "given"), INSIDE)
def test_of_moments(name: str, given: dict[str, Any]) -> None:
    x, y = rows()
    moments = Moments.of(x[:90], y[:90], unit=name == "hard")
    moments += Moments.of(x[90:], y[90:], unit=name == "hard")
    fitted = estimator(name, given).fit(moments).fitted_
    assert_one_map(fitted, estimator(name, given).fit(x, y).fitted_, x)


@pytest.mark.parametrize(("name", "given"), CALLS)
def test_of_labelled_rows(name: str, given: dict[str, Any], tmp_path: Path) -> None:
    """Rows in memory, and in a file of which some have no label."""
    x, y = rows()
    expected = estimator(name, given).fit(x, y)
    method = estimator(name, given).fit(Labelled.of(x, y))
    assert_one_map(method.fitted_, expected.fitted_, x)
    assert (*method.classes_, method.origin_.size) == (*expected.classes_, len(x))
    np.save(tmp_path / "x.npy", np.concatenate([x, 9 + x[:5]]))
    streamed = Labelled.of(open_rows(tmp_path / "x.npy"))
    streamed = streamed.with_labels(Column.of([*y, *[""] * 5]), "drop")
    assert_one_map(estimator(name, given).fit(streamed).fitted_, expected.fitted_, x)
    with pytest.raises(wb.WordbiasError, match="these rows have their labels already"):
        estimator(name, given).fit(Labelled.of(x, y), y)


@pytest.mark.parametrize("name", ROW_METHODS)
def test_labelled_rows_that_lack_something_are_refused(name: str) -> None:
    x, y = rows()
    with pytest.raises(wb.WordbiasError, match="vectors has no labels; give them to Labelled"):
        estimator(name, {}).fit(Labelled.of(x))
    texts = Labelled(None, len(y), name="t.tsv").with_labels(y)
    with pytest.raises(wb.WordbiasError, match=r"t\.tsv has no vectors; give them to Labelled"):
        estimator(name, {}).fit(texts)


def test_hard_of_rows_of_length_one_is_that_inside_a_model_and_lengths() -> None:
    x, y = rows()
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    projection = inside("hard", {}, x, (y == "male").astype(np.intp))
    assert_one_map(wb.Hard().fit(x, y).fitted_, lambda z: Normalise()(projection(z)), x)


# Words


def words_of_groups() -> tuple[wb.Embedding, Any, list[str]]:
    """Return words whose float32 vectors have length one exactly, and the groups of some."""
    rng = np.random.default_rng(1)
    x = np.zeros((80, 12), np.float32)
    for i, row in enumerate(x):
        row[rng.permutation(12)[:4]] = 0.5 * np.sign(
            [rng.normal() + 1 - 2 * (i % 2), *rng.normal(size=3)]
        )
    words = [f"w{i}" for i in range(len(x))]
    attribute = {"female": words[0:60:2], "male": words[1:60:2]}
    return wb.Embedding(words, x), attribute, words[:60]


@pytest.mark.parametrize(("name", "given"), [case for case in INSIDE if case[0] != "leace"])
def test_of_words_whose_groups_are_the_labels(name: str, given: dict[str, Any]) -> None:
    embedding, groups, words = words_of_groups()
    of_words = {"direction": "means", "equalise": False} if name == "hard" else {}
    method = estimator(name, given).set_params(groups=groups, **of_words).fit(embedding)
    x = embedding[words].astype(float)
    y = np.arange(len(words)) % 2
    assert_one_map(lambda z: _of_steps(method, z), estimator(name, given).fit(x, y).fitted_, x)


def _of_steps(method: Any, x: Any) -> Any:
    for step in method.fitted_.steps:
        x = step(x)
    return x


@pytest.mark.parametrize(
    ("name", "given"), [call for call in CALLS if call[0] in ("leace", "inlp")]
)
def test_of_words_that_lean_to_the_groups(
    monkeypatch: pytest.MonkeyPatch, name: str, given: dict[str, Any]
) -> None:
    """The words that are held out, which are drawn otherwise, are those of the embedding here."""
    sample, how = wb.Embedding.sample(), {"classes": 2, "per_class": 300}
    method = estimator(name, {**given, **how}).fit(sample)
    seed = given.get("random_state", 0)
    chosen = labelled_words(sample, wb.Attribute.load(), seed=seed, **how)
    used = np.concatenate([chosen.train, chosen.dev])
    monkeypatch.setattr(inlp, "_held_out", lambda *_: np.arange(len(used)) >= len(chosen.train))
    x = chosen.vectors(sample)[used]
    expected = estimator(name, given).fit(x, chosen.labels[used])
    assert_one_map(lambda z: _of_steps(method, z), expected.fitted_, x)


# Sites of a model, which computes in float64 here


PEOPLE = {"F": ["she", "her sister", "the woman", "the queen"], "M": ["he", "his son", "the man"]}
TEXTS, LABELS = zip(
    *(
        (f"{who} {verb} {what}", label)
        for label, people in PEOPLE.items()
        for who in people
        for verb in ("saw", "left", "liked", "sold", "kept")
        for what in ("it", "the house", "a garden by the sea")
    ),
    strict=True,
)


@pytest.fixture(scope="module")
def models() -> dict[str, tuple[Any, Any]]:
    words = words_of(*TEXTS)
    encoder = build("bert", vocabulary=len(words) + 5, num_labels=2)
    tokenizer = word_tokenizer(*TEXTS)
    decoder = build_decoder("llama", len(tokenizer))
    return {
        "encoder": (encoder.double(), make_tokenizer(words)),
        "decoder": (decoder.double(), tokenizer),
    }


def last_tokens(model: Any, tokenizer: Any, layer: int) -> Floats:
    """Return the vectors behind a layer of the last token of each text, read one by one."""
    torch = pytest.importorskip("torch")
    vectors = []
    with torch.inference_mode():
        for text in TEXTS:
            ids = torch.tensor([tokenizer(text)["input_ids"]])
            states = model(input_ids=ids, output_hidden_states=True).hidden_states
            vectors.append(states[layer][0, -1].numpy())
    return np.array(vectors)


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize(("name", "given"), INSIDE)
def test_of_a_site(
    models: dict[str, tuple[Any, Any]], kind: str, name: str, given: dict[str, Any]
) -> None:
    model, tokenizer = models[kind]
    adapter = wb.project(
        (model, tokenizer), texts=TEXTS, labels=LABELS, methods=Configured(name, given).text,
        sites="tokens@1", tokens="last",
    )  # fmt: skip
    (step,) = adapter.steps.values()
    x = last_tokens(model, tokenizer, 1)
    codes = (np.array(LABELS) == "M").astype(np.intp)
    assert_one_map(step, inside(name, given, x, codes), x)


# The audit of a model


@pytest.fixture(scope="module", params=["encoder", "decoder"])
def audited(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Return the vectors that an audit of a planted model reads, and what it fits to them."""
    from wordbias.contextual.audit import measure

    folder = tmp_path_factory.mktemp("planted") / "model"
    make = {"encoder": planted_encoder, "decoder": planted_decoder}[request.param]
    make.write_folder(folder)
    fits: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        fit = measure.fit

        def seen(method: Any, reader: Any, groups: Any, seed: int, units: Any) -> Any:
            fitted = fit(method, reader, groups, seed, units)
            fits[method.text] = (*groups, fitted.step)
            return fitted

        patch.setattr(measure, "fit", seen)
        texts = [Configured(name, given).text for name, given in CALLS]
        skip = ["probe", "untrained", "seat", "ceat", "pronouns"]
        wb.audit(folder, methods=[*texts, "misp-pairs:dims=2", "mhd-pairs"], skip=skip)
    return fits


@pytest.mark.slow
@pytest.mark.parametrize(("name", "given"), CALLS)
def test_of_an_audit(audited: dict[str, Any], name: str, given: dict[str, Any]) -> None:
    first, second, step = audited[Configured(name, given).text]
    x, codes = np.concatenate([first, second]), np.repeat([0, 1], len(first))
    assert_one_map(step, inside(name, given, x, codes), x)


@pytest.mark.slow
def test_what_an_audit_fits_to_pairs_is_another_operator(audited: dict[str, Any]) -> None:
    for text, dims, hard in (("misp-pairs:dims=2", 2, False), ("mhd-pairs", 1, True)):
        first, second, step = audited[text]
        subspace = Subspace.from_pairs(first, second, dims)
        assert_one_map(step, lambda z, g=subspace, hard=hard: g.remove(z, hard), first)
        of_classes = audited["misp" if text.startswith("misp") else "hard"][2]
        assert np.abs(step(first) - of_classes(first)).max() > 1e-3 * np.abs(first).max()
