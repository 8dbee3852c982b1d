"""The estimators: scikit-learn's contract, the theorems, and the command line's own results."""

from __future__ import annotations

import doctest
import inspect
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import wordbias as wb
from wordbias import Attribute, Embedding, Subspace, WordbiasError, estimators
from wordbias.calls import WordbiasWarning
from wordbias.estimators import (
    BAM,
    INLP,
    LEACE,
    MHD,
    MISP,
    RAN,
    Conceptor,
    DoubleHard,
    GenderPreserving,
    GNGloVe,
    HalfSibling,
    Hard,
    MultiHard,
    OSCaR,
    read_method,
)
from wordbias.methods.fitted import Chain
from wordbias.methods.leace import fit_erasure
from wordbias.methods.methods import defaults_of, fit_chain
from wordbias.methods.settings import EVERY, METHODS
from wordbias.methods.storage import Origin, load_chain, save_chain
from wordbias.methods.words import listed_words
from wordbias.settings import Configured, settings_of
from wordbias.wordlists import WordSets

Run = Callable[..., Any]
ROOT = Path(__file__).resolve().parent.parent

ON_ROWS = (MISP, MHD, Hard, INLP, LEACE)
ALL = {
    MISP: "misp",
    MHD: "mhd",
    Hard: "hard",
    INLP: "inlp",
    LEACE: "leace",
    MultiHard: "multi-hard",
    DoubleHard: "double-hard",
    BAM: "bam",
    OSCaR: "oscar",
    HalfSibling: "half-sibling",
    Conceptor: "conceptor",
    RAN: "ran",
    GenderPreserving: "gender-preserving",
    GNGloVe: "gn-glove",
}
"""The class of each method, and its name on the command line."""
ON_WORDS = [cls for cls in ALL if cls not in ON_ROWS]
QUICK: dict[Any, dict[str, Any]] = {
    DoubleHard: {"candidates": 3},
    INLP: {"rounds": 3},
    LEACE: {"per_class": 100},
    RAN: {"iterations": 3},
    GenderPreserving: {"pretrain_epochs": 1, "classifier_epochs": 1, "epochs": 1},
    GNGloVe: {"check": False},
}
"""Settings with which the sample is fitted in a moment; its last coordinate is no w_g."""


@cache
def few() -> Embedding:
    """The frequent words of the sample, and those that are listed."""
    sample = Embedding.sample()
    listed = sorted(listed_words(Attribute.load()) | WordSets.load().specific)
    return sample.subset([*sample.words[:5000], *listed, "nurse", "engineer"])


@cache
def fitted(cls: Any) -> Any:
    if cls is GenderPreserving and find_spec("torch") is None:
        pytest.skip("torch is not installed")
    return cls(**QUICK.get(cls, {})).fit(few())


def rows(n: int = 300, d: int = 8, k: int = 2) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows whose first coordinates tell their groups apart, and the groups' names."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, k, n)
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3 * np.eye(k, d)[labels]
    return x, np.array(["a", "b", "c", "d"])[labels]


def task(n: int = 300) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Rows, the label of a task, and a concept that is correlated with it."""
    x, concept = rows(n)
    z = concept == "a"
    return x, (x[:, 4] + 2 * z > np.median(x[:, 4])).astype(int), z


@pytest.mark.filterwarnings("ignore::wordbias.calls.WordbiasWarning")
@parametrize_with_checks([cls() for cls in (*ON_ROWS, estimators.DensityMatching)])
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    with np.errstate(all="warn"):
        check(estimator)


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_parameters_are_the_settings_of_the_method(cls: Any) -> None:
    signature = inspect.signature(cls).parameters
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in signature.values())
    given = {name: parameter.default for name, parameter in signature.items()}
    assert given.pop("groups") is None
    assert given == {
        name: setting.default for name, setting in settings_of(METHODS[ALL[cls]]).items()
    }
    fit = import_module(f"wordbias.methods.{ALL[cls].replace('-', '_')}").fit
    takes = inspect.signature(fit).parameters.items()
    of_fit = {
        key: parameter.default
        for key, parameter in takes
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    if cls is MISP:
        assert of_fit.pop("hard") is False  # MHD is a class of its own
    assert defaults_of(ALL[cls]) == of_fit
    assert set(signature) == set(cls().get_params())


def test_there_is_a_class_for_every_method_and_each_is_public() -> None:
    assert set(ALL.values()) == set(METHODS)
    rows_alone = {name for name, method in EVERY.items() if not method._is_of_words}
    others = {cls.__name__ for cls in estimators.Method.__subclasses__() if cls._name in rows_alone}
    assert set(estimators.__all__) == {cls.__name__ for cls in ALL} | others
    assert len(others) == len(rows_alone)


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_parameters_are_kept_untouched_and_cloned(cls: Any) -> None:
    groups = {"a": ["she", "her"], "b": ["he", "him"]}
    method = cls(groups=groups)
    assert method.get_params()["groups"] is groups
    copied = clone(method)
    assert copied is not method
    assert copied.get_params() == method.get_params()
    assert method.set_params(groups="gender") is method
    assert method.groups == "gender"
    assert repr(method) == f"{cls.__name__}(groups='gender')"
    assert cls.__name__ in method._repr_html_()
    with pytest.raises(NotFittedError):
        method.transform(few())
    with pytest.raises(NotFittedError):
        method.save("nowhere.safetensors")


@pytest.mark.slow
def test_doctests() -> None:
    with np.errstate(all="warn"):
        outcome = doctest.testmod(estimators)
    assert (outcome.failed, outcome.attempted > 40) == (0, True)


# embeddings


@pytest.mark.slow
@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_an_embedding_is_debiased_as_the_command_line_does(
    cls: Any, cli: Run, tmp_path: Path
) -> None:
    method = fitted(cls)
    before, out, saved = (tmp_path / f"{name}.safetensors" for name in ("few", "out", "fitted"))
    few().save(before)
    named = Configured(ALL[cls], QUICK.get(cls, {})).text
    cleaned = method.transform(few())
    assert isinstance(cleaned, Embedding)
    done = cli("debias", named, before, "-o", out, "--save-transform", saved, "-q")
    assert (done.code, done.err) == (0, "")
    np.testing.assert_array_equal(cleaned.vectors, wb.load(out).vectors)
    loaded = wb.load(saved)
    assert type(loaded) is cls
    np.testing.assert_array_equal(loaded.transform(few()).vectors, cleaned.vectors)
    method.save(tmp_path / "own.safetensors")
    applied = tmp_path / "again.safetensors"
    done = cli("apply", tmp_path / "own.safetensors", before, "-o", applied, "-q")
    assert (done.code, done.err) == (0, "")
    np.testing.assert_array_equal(cleaned.vectors, wb.load(applied).vectors)


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_a_saved_estimator_is_loaded_whole(cls: Any, tmp_path: Path) -> None:
    method = fitted(cls)
    method.save(tmp_path / "fitted.safetensors")
    loaded = wb.load(tmp_path / "fitted.safetensors")
    assert type(loaded) is cls
    for name, value in QUICK.get(cls, {}).items():
        if name != "classifier_epochs":
            assert getattr(loaded, name) == value
    assert loaded.n_features_in_ == few().dim
    assert load_chain(tmp_path / "fitted.safetensors")[1].size == len(few())
    for path in ("fitted", "anew"):
        loaded.save(tmp_path / f"{path}.safetensors")
    assert (tmp_path / "fitted.safetensors").read_bytes() == (
        tmp_path / "anew.safetensors"
    ).read_bytes()
    with pytest.raises(AttributeError, match="only after a fit on an embedding"):
        _ = loaded.report
    copied = pickle.loads(pickle.dumps(method))
    np.testing.assert_array_equal(copied.transform(few()).vectors, method.transform(few()).vectors)


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_a_report_has_removal_and_cost(cls: Any) -> None:
    report = fitted(cls).report
    assert report is fitted(cls).report
    measures = list(fitted(cls).fitted_.found)
    assert list(report)[: len(measures)] == measures
    (changed,) = report["words-changed"]
    assert 0 < changed.value <= len(few())
    for measure in ("displacement", "neighbours-preserved"):
        assert report[measure][0].value is not None
    assert ALL[cls] in str(report)
    assert report.to_dict()["arguments"]["methods"] == ALL[cls]
    bias = {row.measure for row in report}
    assert ("midb" in bias) is (cls is not MultiHard)  # whose sets are of three religions


@pytest.mark.slow
def test_the_report_of_misp_is_that_of_its_study(cli: Run) -> None:
    import json

    report = MISP().fit(Embedding.sample()).report
    printed = json.loads(cli("misp", "--format", "json", "-q", "--no-chance").out)["rows"]
    own = [row.to_dict() for row in report if row.measure != "words-changed"]
    assert json.loads(json.dumps(own)) == printed


def test_a_report_of_more_groups_or_fewer_values_has_no_bias() -> None:
    several = MISP(groups="religion").fit(Embedding.sample()).report
    assert {"variance-between-means", "displacement"} <= {row.measure for row in several}
    assert "midb" not in {row.measure for row in several}
    dropped = GNGloVe(drop_last=True, check=False).fit(few())
    assert dropped.transform(few()).dim == 99
    assert "displacement" not in {row.measure for row in dropped.report}


def test_groups_are_named_by_the_parameter() -> None:
    groups = {"a": ["she", "her", "woman", "girl"], "b": ["he", "him", "man", "boy"]}
    given = MHD(dims=1, groups=groups).fit(few())
    attribute = Attribute.load(groups)
    chain, _ = fit_chain("mhd:dims=1", few(), attribute)
    np.testing.assert_array_equal(
        given.fitted_.steps[0].subspace.basis, chain.parts[0].steps[0].subspace.basis
    )


def test_groups_are_saved_with_an_estimator(tmp_path: Path) -> None:
    groups = {"a": ["she", "her", "woman", "girl"], "b": ["he", "him", "man", "boy"]}
    MHD(dims=1, groups=groups).fit(few()).save(tmp_path / "groups.safetensors")
    loaded: Any = wb.load(tmp_path / "groups.safetensors")
    assert loaded.get_params() == MHD(dims=1, groups=groups).get_params()


def test_files_of_something_else_are_refused(tmp_path: Path) -> None:
    few().save(tmp_path / "few.safetensors")
    with pytest.raises(WordbiasError, match="holds an embedding, but no transform"):
        read_method(tmp_path / "few.safetensors")
    chain, _ = fit_chain("misp", few())
    named = Chain((replace(chain.parts[0], name="other"),))
    save_chain(tmp_path / "other.safetensors", named, Origin.of(few()))
    with pytest.raises(WordbiasError, match="holds 'other', expected misp, mhd, hard"):
        wb.load(tmp_path / "other.safetensors")


def test_all_containers_of_words_are_accepted(tmp_path: Path) -> None:
    expected = MHD().fit_transform(few()).vectors
    few().save(tmp_path / "few.safetensors")
    held: list[Any] = [
        (few().words, few().vectors),
        dict(zip(few().words, few().vectors, strict=True)),
        tmp_path / "few.safetensors",
        str(tmp_path / "few.safetensors"),
    ]
    if find_spec("pandas") is not None:
        import pandas

        held.append(pandas.DataFrame(few().vectors, index=list(few().words)))
    if find_spec("gensim") is not None:
        held.append(few().to_gensim())
    for container in held:
        cleaned = MHD().fit_transform(container)
        assert isinstance(cleaned, Embedding)
        np.testing.assert_array_equal(cleaned.vectors, expected)


def test_a_pipeline_is_a_chain(tmp_path: Path, cli: Run) -> None:
    pipeline = make_pipeline(Hard(), MISP())
    cleaned = pipeline.fit_transform(few())
    expected = fit_chain("hard,misp", few())[1]
    np.testing.assert_array_equal(cleaned.vectors, expected.vectors)
    np.testing.assert_array_equal(pipeline.transform(few()).vectors, expected.vectors)
    few().save(tmp_path / "few.safetensors")
    saved = tmp_path / "chain.safetensors"
    done = cli("debias", "hard,misp", tmp_path / "few.safetensors", "--save-transform", saved)
    assert done.code == 0
    loaded = wb.load(saved)
    assert [name for name, _ in loaded.steps] == ["hard", "misp"]
    np.testing.assert_array_equal(loaded.transform(few()).vectors, expected.vectors)


def test_an_embedding_takes_no_labels_and_other_dimensions_are_refused() -> None:
    with pytest.raises(WordbiasError, match=r"an embedding has no labels.*MISP\(groups=…\)"):
        MISP().fit(few(), np.zeros(len(few())))
    with pytest.raises(WordbiasError, match="MISP: fitted on sample, whose vectors have 100"):
        fitted(MISP).transform(few().with_vectors(few().vectors[:, :50]))


def test_messages_name_arguments_as_python_does() -> None:
    with pytest.raises(WordbiasError) as caught:
        MISP(dims=1000).fit(few())
    assert "(dims)" in str(caught.value)
    assert "--" not in str(caught.value)


def test_methods_with_exempt_words_warn_on_rows() -> None:
    x = few().vectors[:5].astype(float)
    with pytest.warns(WordbiasWarning, match=r"Hard leaves out .* words and replaces .* rows do"):
        mapped = fitted(Hard).transform(x)
    np.testing.assert_allclose(mapped, fitted(Hard).fitted_(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(MISP).transform(x)


@pytest.mark.parametrize(
    "cls", [cls for cls in ALL if cls not in ON_ROWS], ids=lambda cls: cls.__name__
)
def test_methods_that_need_words_refuse_rows(cls: Any) -> None:
    x, y = rows()
    with pytest.raises(WordbiasError, match=f"{cls.__name__} needs words, which the rows of an"):
        cls().fit(x, y)


# arrays


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("cls", [LEACE, Hard], ids=lambda cls: cls.__name__)
def test_the_means_of_groups_are_equal_afterwards(cls: Any, k: int) -> None:
    x, y = rows(k=k)
    if cls is Hard:
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    method = cls().fit(x, y)
    mapped = x
    for step in method.fitted_.steps[:1]:  # Hard brings rows to length one behind it
        mapped = step(mapped)
    means = np.stack([mapped[y == label].mean(0) for label in method.classes_])
    before = np.stack([x[y == label].mean(0) for label in method.classes_])
    assert np.ptp(means, axis=0).max() < 1e-12 * np.ptp(before, axis=0).max()
    if cls is Hard:
        np.testing.assert_allclose(np.linalg.norm(method.transform(x), axis=1), 1)


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("model", [LogisticRegression, LinearSVC])
def test_after_leace_no_linear_classifier_beats_the_largest_group(model: Any, k: int) -> None:
    """The cross-covariance is zero (Belrose et al. 2023, theorem 3.1)."""
    x, y = rows(k=k)
    erased = LEACE().fit_transform(x, y)
    z = (y[:, None] == np.unique(y)).astype(float)
    cross = (erased - erased.mean(0)).T @ (z - z.mean(0)) / len(x)
    assert np.abs(cross).max() < 1e-12
    np.testing.assert_allclose(erased.mean(0), x.mean(0), atol=1e-12)
    centred = erased - erased.mean(0)
    learned = model(max_iter=10_000, tol=1e-10).fit(centred, y)
    assert np.abs(learned.coef_).max() < 1e-6
    assert learned.score(centred, y) == z.mean(0).max()
    assert model(max_iter=10_000).fit(x, y).score(x, y) > z.mean(0).max() + 0.1


@pytest.mark.skipif(find_spec("concept_erasure") is None, reason="concept-erasure not installed")
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("method", ["leace", "orth"])
def test_leace_is_that_of_concept_erasure(method: str, k: int) -> None:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from concept_erasure import LeaceEraser
    x, y = rows(n=2000, d=30, k=k)
    z = torch.nn.functional.one_hot(torch.tensor(np.unique(y, return_inverse=True)[1])).double()
    expected = LeaceEraser.fit(torch.tensor(x), z, method=method, constrain_cov_trace=False)
    erased = LEACE(method=method).fit_transform(x, y)
    np.testing.assert_allclose(erased, expected(torch.tensor(x)).numpy(), rtol=0, atol=1e-7)


def test_of_all_affine_erasures_leace_moves_rows_least() -> None:
    x, y = rows(n=5000)
    moved = {cls.__name__: ((cls().fit_transform(x, y) - x) ** 2).sum() for cls in (LEACE, MHD)}
    orthogonal = ((LEACE(method="orth").fit_transform(x, y) - x) ** 2).sum()
    assert moved["LEACE"] < orthogonal < moved["MHD"]


CLOSE = {"rtol": 0, "atol": 1e-12}
"""Rounding: rows are fitted by their moments, subspaces of groups by the rows themselves."""


def test_misp_and_mhd_on_rows_are_their_subspaces() -> None:
    x, y = rows()
    a, b = x[y == "a"], x[y == "b"]
    for given, subspace in (
        ({}, Subspace.from_groups(a, b, 4)),
        ({"dims": 2, "centre": True}, Subspace.from_groups(a, b, 2, centre=True)),
        ({"dims": 2, "as_published": True}, Subspace.from_groups(a, b, 2, centre=True)),
    ):
        np.testing.assert_allclose(MISP(**given).fit_transform(x, y), subspace.remove(x), **CLOSE)
        hard = MHD(**given).fit_transform(x, y)
        np.testing.assert_allclose(hard, subspace.remove(x, hard=True), **CLOSE)
    x, y = rows(k=3)
    means = Subspace.from_means([x[y == group] for group in "abc"])
    np.testing.assert_allclose(MHD().fit_transform(x, y), means.remove(x, hard=True), **CLOSE)
    halves = MISP(weights="0.5,0.25").fit(x, y).fitted_.steps[0].subspace
    assert halves.weights.tolist() == [0.5, 0.25]
    with pytest.raises(WordbiasError, match="centre= is for two groups"):
        MISP(centre=True).fit(x, y)
    with pytest.raises(WordbiasError, match="take 1 to 2"):
        MISP(dims=3).fit(x, y)


def test_few_values_keep_one_and_the_components_that_there_are() -> None:
    x, y = rows(d=3)
    assert MHD().fit(x, y).fitted_.steps[0].subspace.dims == 2
    x[:, 1:] = 1.0
    with pytest.warns(WordbiasWarning, match="MHD: every direction in which the rows vary"):
        assert MHD().fit(x, y).fitted_.steps[0].subspace.dims == 1
    with pytest.raises(ValueError, match=r"1 feature\(s\)"):
        MHD().fit(x[:, :1], y)
    with pytest.warns(WordbiasWarning, match="MISP: every direction in which the rows vary"):
        flat = MISP().fit(x[:, :1], y)
    assert flat.fitted_.steps[0].subspace.dims == 1


def test_inlp_ends_at_chance_and_depends_on_its_seed() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    x = rng.normal(size=(4000, 10)) + 3 * np.eye(2, 10)[y]
    first, from_state, other = (
        INLP(random_state=seed).fit(x, y) for seed in (0, np.random.RandomState(0), 1)
    )
    assert 1 <= first.fitted_.steps[0].subspace.dims <= 4
    for cls in (LogisticRegression, LinearSVC):
        assert cls(max_iter=10_000).fit(x, y).score(x, y) > 0.95
        learned = cls(max_iter=10_000).fit(first.transform(x), y)
        assert learned.score(first.transform(x), y) < 0.55
    same = INLP().fit(x, y).fitted_.steps[0].subspace.basis
    np.testing.assert_array_equal(first.fitted_.steps[0].subspace.basis, same)
    assert from_state.fitted_.settings["seed"] != 0
    assert not np.array_equal(other.fitted_.steps[0].subspace.basis, same)


def test_inlp_warns_where_something_is_left_and_where_nothing_is() -> None:
    x, y = rows(k=3)
    with pytest.warns(WordbiasWarning, match="of the last of 1 rounds .* ask for more rounds"):
        INLP(rounds=1).fit(x, y)
    with pytest.warns(WordbiasWarning, match="of 3 dimensions one is left"):
        assert INLP().fit(x[:, :3], y).fitted_.steps[0].subspace.dims == 2
    with pytest.raises(ValueError, match=r"1 feature\(s\)"):
        INLP().fit(x[:, :1], y)


def test_inlp_trains_on_every_group_however_small() -> None:
    x, y = rows(k=2)
    y[0] = "c"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WordbiasWarning)
        assert INLP().fit(x, y).classes_.tolist() == ["a", "b", "c"]
    with pytest.raises(WordbiasError, match="no group has two rows or more"):
        INLP().fit(x[:2], ["a", "b"])
    with pytest.raises(WordbiasError, match="one group has two rows or more"):
        INLP().fit(x[:9], ["a"] + ["b"] * 8)


def test_inlp_warns_where_there_is_nothing_to_remove() -> None:
    x = np.random.default_rng(0).normal(size=(400, 5))
    y = np.arange(400) % 2
    with pytest.warns(WordbiasWarning, match="INLP: no classifier was better than chance"):
        mapped = INLP().fit_transform(x, y)
    np.testing.assert_array_equal(mapped, x)
    assert mapped is not x


def test_hard_takes_the_means_of_rows_only() -> None:
    x, y = rows()
    by_pca, other = (Hard(direction=name).fit_transform(x, y) for name in ("pca", "means"))
    np.testing.assert_array_equal(by_pca, other)
    with pytest.raises(WordbiasError, match="the direction 'axis' is for words"):
        Hard(direction="axis").fit(x, y)


@pytest.mark.parametrize(
    ("method", "named"),
    [
        (LEACE(groups="age"), "groups="),
        (LEACE(per_class=10, classes=2), "classes=, per_class="),
        (Hard(as_published=True), "as_published="),
    ],
)
def test_parameters_for_words_are_refused_with_rows(method: Any, named: str) -> None:
    with pytest.raises(WordbiasError, match=f"{named} is for words; rows have labels instead"):
        method.fit(*rows())


@pytest.mark.parametrize("cls", ON_ROWS, ids=lambda cls: cls.__name__)
def test_labels_are_needed_and_differ(cls: Any) -> None:
    x, y = rows()
    with pytest.raises(WordbiasError, match="requires y to be passed, but the target y is None"):
        cls().fit(x)
    with pytest.raises(WordbiasError, match="all 300 labels are the same, one class"):
        cls().fit(x, np.zeros(300))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        cls().fit(x, y[:-1])
    with pytest.raises(ValueError, match="Unknown label type"):
        cls().fit(x, x[:, 0])
    with pytest.raises(ValueError, match="NaN"):
        cls().fit(x, np.where(y == "a", np.nan, 1.0))


@pytest.mark.parametrize("cls", ON_ROWS, ids=lambda cls: cls.__name__)
def test_rows_keep_their_float_type_and_are_not_changed(cls: Any) -> None:
    x, y = rows()
    single = x.astype(np.float32)
    before = x.copy()
    double = cls().fit_transform(x, y)
    np.testing.assert_array_equal(x, before)
    mapped = cls().fit_transform(single, y)
    assert (double.dtype, mapped.dtype) == (np.float64, np.float32)
    if cls is not INLP:  # whose rounds may end otherwise
        np.testing.assert_allclose(mapped, double, atol=2e-4)
    lists = cls().fit_transform(x.tolist(), list(y))
    np.testing.assert_array_equal(lists, double)


@pytest.mark.parametrize("cls", ON_ROWS, ids=lambda cls: cls.__name__)
def test_a_fit_on_rows_is_saved_and_applied_to_words(cls: Any, tmp_path: Path, cli: Run) -> None:
    x, labels = few().vectors[:400], np.arange(400) % 2
    x = x + labels[:, None] * np.ones(100, np.float32)
    method = cls().fit(x, labels)
    method.save(tmp_path / "rows.safetensors")
    loaded = wb.load(tmp_path / "rows.safetensors")
    np.testing.assert_array_equal(loaded.transform(x), method.transform(x))
    few().save(tmp_path / "few.safetensors")
    call = ["apply", tmp_path / "rows.safetensors", tmp_path / "few.safetensors", "-o"]
    refused = cli(*call, tmp_path / "out.safetensors")
    assert refused.code == 1
    assert "fitted on 400 rows of an array" in refused.err
    assert cli(*call, tmp_path / "out.safetensors", "--force", "-q").code == 0
    np.testing.assert_array_equal(
        wb.load(tmp_path / "out.safetensors").vectors, method.transform(few()).vectors
    )
    with pytest.raises(AttributeError, match="not after a fit on an array"):
        _ = method.report


def test_one_estimator_is_fitted_on_words_and_on_rows_in_turn() -> None:
    x, y = rows()
    method = MHD().fit(x, y)
    assert method.classes_.tolist() == ["a", "b"]
    method.fit(few())
    assert not hasattr(method, "classes_")
    assert method.n_features_in_ == 100
    assert method.report["difference-removed"][0].value > 0.9
    method.fit(x, y)
    assert method.n_features_in_ == 8
    assert not hasattr(method, "report")


# pipelines


def test_in_a_pipeline_the_concept_is_erased_and_not_the_target() -> None:
    x, y, z = task()
    pipeline = make_pipeline(LEACE(), LogisticRegression()).fit(x, y, leace__concept=z)
    erased = pipeline[0].transform(x)
    np.testing.assert_allclose(erased[z].mean(0), erased[~z].mean(0), atol=1e-12)
    assert pipeline.score(x, y) > 0.7
    own = make_pipeline(LEACE(), LogisticRegression()).fit(x, y)
    assert own.score(x, y) == max(y.mean(), 1 - y.mean())  # the warning of the docstring
    assert (
        (LEACE.__doc__ or "")
        .split("\n\n")[1]
        .startswith("In a pipeline give ``leace__concept=``, or the task's own label is erased.")
    )


def test_a_loaded_method_is_kept_in_pipelines_and_cross_validation(tmp_path: Path) -> None:
    """Fitted anew in each fold it would erase the target, and accuracy would be the majority's."""
    rng = np.random.default_rng(0)
    y, z = rng.integers(2, size=(2, 400))
    x = (
        rng.standard_normal((400, 6))
        + 2 * np.outer(y, np.eye(6)[0])
        + 2 * np.outer(z, np.eye(6)[1])
    )
    LEACE().fit(x[:100], z[:100]).save(tmp_path / "z.safetensors")
    loaded = wb.load(tmp_path / "z.safetensors")
    expected = loaded.transform(x)
    assert clone(loaded) is loaded
    assert repr(loaded).endswith("(fitted, frozen)")
    for held in (loaded, FrozenEstimator(loaded)):
        pipeline = make_pipeline(held, LogisticRegression()).fit(x, y)
        np.testing.assert_array_equal(pipeline[0].transform(x), expected)
        by_hand = cross_val_score(LogisticRegression(), expected, y)
        np.testing.assert_array_equal(cross_val_score(pipeline, x, y), by_hand)
        assert by_hand.mean() > 0.75
    np.testing.assert_array_equal(loaded.fit_transform(x, y), expected)
    for call in (
        lambda: loaded.fit(x, concept=z),
        lambda: loaded.fit(few()),
        lambda: loaded.set_params(method="orth"),
    ):
        with pytest.raises(WordbiasError, match=r"frozen.*wb\.LEACE\(…\)\.fit"):
            call()
    unpickled = pickle.loads(pickle.dumps(loaded))
    np.testing.assert_array_equal(unpickled.fit(x, y).transform(x), expected)
    assert not hasattr(clone(LEACE().fit(x, z)), "fitted_")


@pytest.mark.parametrize("cls", ON_ROWS, ids=lambda cls: cls.__name__)
def test_cross_validation_gives_each_fold_its_part_of_the_concept(cls: Any) -> None:
    x, y, z = task()
    pipeline = make_pipeline(cls(), LogisticRegression())
    name = f"{cls.__name__.lower()}__concept"
    scores = cross_val_score(pipeline, x, y, params={name: z})
    assert np.isfinite(scores).all()
    validated = cross_validate(
        pipeline, x, y, params={name: z}, return_estimator=True, error_score="raise"
    )
    np.testing.assert_array_equal(validated["test_score"], scores)
    assert all(trained[0].classes_.tolist() == [False, True] for trained in validated["estimator"])
    if cls is not LEACE:
        return
    grid = {"leace__method": ["leace", "orth"]}
    search = GridSearchCV(pipeline, grid, error_score="raise").fit(x, y, leace__concept=z)
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(scores.mean())


def test_the_concept_is_routed_as_metadata() -> None:
    x, y, z = task()
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(LEACE().set_fit_request(concept=True), LogisticRegression())
        validated = cross_validate(
            pipeline, x, y, params={"concept": z}, return_estimator=True, error_score="raise"
        )
        search = GridSearchCV(pipeline, {"leace__method": ["leace", "orth"]}, error_score="raise")
        search.fit(x, y, concept=z)
    assert all(trained[0].classes_.tolist() == [False, True] for trained in validated["estimator"])
    plain = cross_val_score(
        make_pipeline(LEACE(), LogisticRegression()), x, y, params={"leace__concept": z}
    )
    np.testing.assert_array_equal(validated["test_score"], plain)


def test_frames_are_rows_where_labels_are_given() -> None:
    pandas = pytest.importorskip("pandas")
    x, y = rows()
    frame = pandas.DataFrame(x, columns=list("pqrstuvw"), index=[f"row {i}" for i in range(300)])
    method = LEACE().set_output(transform="pandas").fit(frame, pandas.Series(y))
    mapped = method.transform(frame)
    assert mapped.columns.tolist() == frame.columns.tolist()
    assert mapped.index.tolist() == frame.index.tolist()
    np.testing.assert_allclose(mapped.to_numpy(), LEACE().fit_transform(x, y), atol=1e-12)
    assert method.feature_names_in_.tolist() == list("pqrstuvw")
    assert LEACE().fit(x, concept=pandas.Series(y, dtype="category")).classes_.tolist() == [
        "a",
        "b",
    ]


def test_an_embedding_stays_an_embedding_under_set_output() -> None:
    pytest.importorskip("pandas")
    with config_context(transform_output="pandas"):
        cleaned = MHD().fit_transform(few())
        assert isinstance(cleaned, Embedding)
        dropped = GNGloVe(drop_last=True, check=False).fit(few())
        assert isinstance(dropped.transform(few()), Embedding)
        assert dropped.transform(few().vectors).shape == (len(few()), 99)


# what is loaded


def _loaded(code: str) -> str:
    run = f"{code}\nimport sys\nprint(sorted({{'numpy', 'scipy', 'sklearn'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


@pytest.mark.slow
def test_neither_the_package_nor_misp_loads_scikit_learn() -> None:
    assert _loaded("import wordbias") == "[]"
    for command in ("['misp', '-q']", "['debias', 'hard,leace', '--help']"):
        modules = _loaded(f"from wordbias.cli import run\nrun({command})")
        assert modules in ("['numpy']", "[]")
    code = "from wordbias import Embedding; from wordbias.methods import misp"
    assert _loaded(f"{code}\nmisp.fit(Embedding.sample())") == "['numpy']"


def test_no_other_module_imports_scikit_learn_when_it_is_imported() -> None:
    importers = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "wordbias").rglob("*.py"))
        for line in path.read_text().splitlines()
        if line.startswith(("import sklearn", "from sklearn"))
    ]
    assert set(importers) == {"wordbias/estimators.py"}
    assert "sklearn.base" not in "".join(
        path.read_text()
        for path in (ROOT / "wordbias").rglob("*.py")
        if path.name != "estimators.py"
    )


def test_the_repr_of_a_fitted_method_is_one_line() -> None:
    text = repr(fitted(Hard).fitted_)
    assert text.startswith("<Fitted hard: projection, normalise; ")
    assert "\n" not in text
    chain = fit_chain("misp", few())[0]
    assert repr(chain) == (
        "<Chain <Fitted misp: projection; 0 words kept as they are, 0 with vectors of their own>>"
    )


def test_leace_on_rows_is_the_eraser_of_the_methods() -> None:
    x, y = rows(k=3)
    labels = np.unique(y, return_inverse=True)[1]
    np.testing.assert_array_equal(LEACE().fit_transform(x, y), fit_erasure(x, labels)(x))


def test_a_setting_that_is_not_there_names_the_nearest() -> None:
    for cls, wrong, meant in ((INLP, "seed", "random_state"), (MISP, "center", "centre")):
        with pytest.raises(TypeError, match=rf"'{wrong}'; did you mean {meant}=\? It takes"):
            cls(**{wrong: 0})
