"""Arms of vectors: what a removal takes away, and that its rows are those computed by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from quick_cases import first_quick
from small_bios import as_json, encoder_folder, small_bios

from wordbias.biographies.data import Biographies, split
from wordbias.biographies.plan import Recipe
from wordbias.biographies.strategies import STRATEGIES, prepare
from wordbias.errors import Interrupted, UsageError, WordbiasError
from wordbias.outcomes.balance import copies
from wordbias.retraining.removals import is_removal, remove
from wordbias.workers import Workers

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from wordbias.biographies import experiment  # noqa: E402
from wordbias.biographies.classifier import Labelled, predict, train_head  # noqa: E402
from wordbias.biographies.encoding import (  # noqa: E402
    EncodingSettings,
    LiveEncoder,
    Vectors,
    distinct_texts,
)
from wordbias.biographies.experiment import fit_to_people, run  # noqa: E402
from wordbias.biographies.plan import Plan  # noqa: E402
from wordbias.functions.bios import bios  # noqa: E402
from wordbias.models.adapters import Adapter  # noqa: E402
from wordbias.models.fingerprint import Fingerprint  # noqa: E402
from wordbias.models.sites import Site  # noqa: E402
from wordbias.retraining.measuring import usable_fractions  # noqa: E402

LAYER = Recipe(epochs=4, batch=16, rate=0.5)
ONE = Recipe(epochs=1, batch=16, rate=1e-3)
Float = NDArray[np.float64]


@pytest.fixture
def plan(plan: Plan) -> Plan:
    """The small study with an arm of vectors."""
    recipes = {"recipe": LAYER, "retraining": LAYER}
    return replace(plan, strategies=("none", "leace"), seeds=(0,), baselines=False, **recipes)


def fitted(strategy: str, x: NDArray[np.float32], genders: NDArray[np.intp], seed: int = 0) -> Any:
    return fit_to_people(strategy, x, people(genders), pooling="first", seed=seed)


def people(genders: NDArray[np.intp], labels: NDArray[np.intp] | None = None) -> Biographies:
    """Return people of these genders, by default of one occupation."""
    codes = np.zeros(len(genders), np.intp) if labels is None else labels
    named = [("F", "M")[z] for z in genders]
    return Biographies.of("people", [""] * len(genders), codes.astype(str).tolist(), named)


def planted(n: int, d: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Draw vectors of two genders, unlike in their means and correlated in all coordinates."""
    rng = np.random.default_rng(seed)
    genders = (rng.random(n) < 0.7).astype(np.intp)
    genders[:2] = 0, 1
    x = rng.standard_normal((n, d)) @ rng.standard_normal((d, d))
    return (x + 3 * np.outer(genders, rng.standard_normal(d))).astype(np.float32), genders


# Theorems


@settings(deadline=None, max_examples=15)
@given(st.integers(60, 300), st.integers(2, 12), st.integers(0, 10_000))
def test_no_linear_probe_reads_the_training_vectors_after_leace(n: int, d: int, seed: int) -> None:
    """Belrose et al. (2023), theorem 3.1: no loss is less than that of the best constant."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    x, genders = planted(n, d, seed)
    after = remove(fitted("leace", x, genders), x)
    share = genders.mean()
    constant = log_loss(genders, np.full(n, share))
    losses = []
    for vectors in (x, after):
        scale = vectors.std(0)
        probe = LogisticRegression(C=1e6, max_iter=2000).fit(vectors / scale, genders)
        losses.append(log_loss(genders, probe.predict_proba(vectors / scale)[:, 1]))
    assert losses[0] < constant - 1e-3
    assert losses[1] > constant - 1e-5  # more where the solver stopped early


@pytest.mark.parametrize("strategy", ["leace", "mhd:dims=1", "hard", "inlp"])
def test_the_gap_of_a_layer_that_reads_the_gender_alone_is_gone(strategy: str) -> None:
    rng = np.random.default_rng(0)
    genders = rng.integers(0, 2, 400)
    x = rng.standard_normal((400, 6)).astype(np.float32)
    x[:, 0] = 20 * genders
    head = torch.nn.Linear(6, 2)
    with torch.no_grad():
        head.weight[:] = torch.tensor([[0.0] * 6, [1.0, *[0.0] * 5]])
        head.bias[:] = torch.tensor([5.0, 0.0])  # the mean of all is 10, of one gender 0
    before, after = (
        [predict(head, vectors)[genders == z].mean() for z in (0, 1)]
        for vectors in (x, remove(fitted(strategy, x, genders), x))
    )
    assert before == [0, 1]
    assert after[0] == after[1]


@pytest.mark.parametrize("strategy", ["leace", "misp:dims=3", "mhd", "inlp:rounds=2"])
def test_a_random_removal_moves_vectors_as_far(strategy: str) -> None:
    """Along orthonormal directions, all but the last of them whole, others for each seed."""
    x, genders = planted(200, 12, 0)
    far = [
        np.square(remove(steps, x) - x).sum(1).mean()
        for steps in (fitted(strategy, x, genders), fitted(f"random-{strategy}", x, genders))
    ]
    assert far[1] == pytest.approx(far[0], rel=1e-5)
    (drawn,), (other,) = (fitted(f"random-{strategy}", x, genders, seed) for seed in (0, 1))
    k = len(drawn.right)
    assert np.allclose(drawn.right @ drawn.right.T, np.eye(k))
    lengths = np.linalg.norm(drawn.left, axis=0)
    assert np.allclose(lengths[:-1], 1)
    assert 0 < lengths[-1] <= 1
    assert abs(drawn.right[0] @ other.right[0]) < 0.99


def test_the_seed_ends_the_rounds_of_inlp_unless_it_is_given() -> None:
    x, genders = planted(200, 8, 0)
    removed = [
        remove(fitted(name, x, genders, seed), x)
        for name, seed in (("inlp", 3), ("inlp:random-state=3", 5), ("inlp", 5))
    ]
    assert np.array_equal(removed[0], removed[1])
    assert not np.array_equal(removed[1], removed[2])


def test_a_balanced_fit_does_not_turn_the_gap_round() -> None:
    """Where most of an occupation are men, LEACE of all turns the difference within it round.

    The means of all women and of all men become equal. As the genders have other shares of the
    occupations, their difference within these is the opposite of what the shares make up; with
    equal shares it is none.
    """
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 1000)
    genders = (rng.random(2000) < np.where(labels == 0, 0.1, 0.9)).astype(np.intp)
    x = rng.standard_normal((2000, 4)).astype(np.float32)
    x[:, 0] += 4 * labels + 2 * genders
    x[:, 1] += 2 * labels
    everyone = people(genders, labels)

    def means(strategy: str, rows: NDArray[np.intp]) -> Any:
        """Return mean vectors of the occupations and genders, shape ``(2, 2, d)``."""
        after = remove(fit_to_people(strategy, x, everyone, pooling="first", seed=0), x)[rows]
        places = [[(labels[rows] == y) & (genders[rows] == z) for z in (0, 1)] for y in (0, 1)]
        return np.array([[after[place].mean(0, dtype=float) for place in of] for of in places])

    centres = means("leace", np.arange(2000))
    along = (centres[1] - centres[0]).mean(0)  # from the women's occupation to the men's
    assert np.all((centres[:, 1] - centres[:, 0]) @ along < 0)
    balanced = np.repeat(np.arange(2000), copies(labels, genders, "oversample", 0))
    centres = means("oversample+leace", balanced)
    sizes = np.bincount(labels[balanced])
    apart = np.average(centres[:, 1] - centres[:, 0], axis=0, weights=sizes)
    assert np.allclose(apart, 0, atol=1e-5)


def test_what_is_an_arm_of_vectors() -> None:
    assert not any(
        map(is_removal, [*STRATEGIES, "scrub+subsample", "random-scrub", "scrub+leace", "wish"])
    )
    assert all(
        map(
            is_removal, ["leace", "random-misp:dims=2", "subsample+leace", "a/b.safetensors", "ran"]
        )
    )


# By hand


def by_hand(plan: Plan, removal: Callable[[Float, Float], Any]) -> dict[str, tuple[float, float]]:
    """Return accuracy and sum of gaps in TPR, before and after retraining, by scikit-learn."""
    from sklearn.metrics import accuracy_score, recall_score

    view = prepare(split(plan.biographies, 0), "none", 0).views["own"]
    vectors = LiveEncoder(plan.encoding.load(plan.model), plan.encoding).vectors(view)
    train, dev = view.original_train, view.original_dev
    parts = [(vectors.of(part), part.labels) for part in (train, dev)]
    head = train_head(*(Labelled(*part) for part in parts), 3, LAYER).head
    x = vectors.of(train).astype(float)
    change = removal(x, train.genders)
    retrained = train_head(
        *(
            Labelled(change(part_vectors).astype(np.float32), labels)
            for part_vectors, labels in parts
        ),
        3,
        LAYER,
    ).head
    test, by_stage = view.test, {}
    for stage, layer in (("before", head), ("after", retrained)):
        given = change(vectors.of(test)).astype(np.float32)
        named = (given @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()).argmax(1)
        rates = [
            recall_score(test.labels[of], named[of], labels=[0, 1, 2], average=None)
            for of in (test.genders == 0, test.genders == 1)
        ]
        gap = float(np.abs(rates[0] - rates[1]).sum())
        by_stage[stage] = accuracy_score(test.labels, named), gap
    return by_stage


def leace_by_hand(x: Float, z: NDArray[np.intp]) -> Callable[[Float], Float]:
    """Belrose et al. (2023), theorem 4.2, by the eigenvectors of the covariance."""
    mean = x.mean(0)
    values, vectors = np.linalg.eigh(np.cov(x.T, bias=True))
    positive = values > values.max() * 1e-10
    white = vectors[:, positive] / np.sqrt(values[positive])
    back = vectors[:, positive] * np.sqrt(values[positive])
    u = white.T @ ((x - mean).T @ (z - z.mean()))
    u /= np.linalg.norm(u)
    return lambda y: y - np.outer((y - mean) @ white @ u, back @ u)


def hard_by_hand(x: Float, z: NDArray[np.intp]) -> Callable[[Float], Float]:
    g = x[z == 0].mean(0) - x[z == 1].mean(0)
    g /= np.linalg.norm(g)
    return lambda y: y - np.outer(y @ g, g)


@pytest.mark.parametrize(
    ("strategy", "removal"), [("leace:shrinkage=no", leace_by_hand), ("hard", hard_by_hand)]
)
def test_an_arm_is_that_of_a_computation_by_hand(
    plan: Plan, strategy: str, removal: Callable[[Float, Float], Any]
) -> None:
    rows = run(replace(plan, strategies=("none", strategy)))
    expected = by_hand(plan, removal)
    for stage in ("before", "after"):
        values = {
            (row.measure, row.details["set"]): row.value
            for row in rows
            if row.subject == strategy and row.details["stage"] == stage
        }
        pair = values["accuracy", "all"], values["tpr-gap", "sum"]
        assert pair == pytest.approx(expected[stage], abs=1e-9)


@pytest.mark.slow
def test_the_last_layer_is_that_of_none_and_probes_read_other_people(plan: Plan) -> None:
    """A removal that takes nothing away has the rows of none, and its vectors are of the test."""
    from wordbias.measures.held_out_probes import read_groups
    from wordbias.probes.mdl import online_code

    x, genders = planted(50, 16, 0)
    nothing = replace(fitted("misp:dims=1", x, genders)[0])
    none = replace(nothing, subspace=replace(nothing.subspace, weights=np.array([0.0])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "fit_to_people", lambda *_, **__: (none,))
        rows = as_json(run(plan))
    own, arm = (
        [
            {**row, "subject": ""}
            for row in rows
            if row["subject"] == name and row["measure"] != "ceat"
        ]
        for name in ("none", "leace")
    )
    assert sorted(map(str, own)) == sorted(map(str, arm))
    view = prepare(split(plan.biographies, 0), "none", 0).views["own"]
    vectors = LiveEncoder(plan.encoding.load(plan.model), plan.encoding).vectors(view)
    read = read_groups(vectors.of(view.probe), view.probe.gender_names(), seed=0)
    (best,) = (row["value"] for row in rows
               if (row["subject"], row["measure"]) == ("leace", "best-probe"))  # fmt: skip
    assert best == read.probes[0].value
    coded = online_code(
        vectors.of(view.probe),
        view.probe.genders,
        seed=0,
        fractions=usable_fractions(len(view.probe)),
    )
    (compression,) = (
        row["value"]
        for row in rows
        if (row["subject"], row["measure"], row["set"]) == ("leace", "compression", "all")
    )
    assert compression == coded.compression


@pytest.mark.slow
def test_an_arm_of_a_fine_tuned_encoder(plan: Plan) -> None:
    """It reads the encoder that was kept, and its last layer."""
    from safetensors.torch import load_file

    plan = replace(plan, frozen=False, recipe=ONE, retraining=ONE, keep_models=True)
    rows = run(plan)
    folder = plan.folder / "models" / "none-0"
    view = prepare(split(plan.biographies, 0), "none", 0).views["own"]
    live = LiveEncoder(plan.encoding.load(str(folder)), plan.encoding)
    vectors = live.vectors(view)
    train = view.original_train
    after = Vectors.by_text(
        remove(fitted("leace", vectors.of(train), train.genders), vectors.vectors),
        distinct_texts(view),
    )
    head = load_file(folder / "head.safetensors")
    named = (after.of(view.test) @ head["head.weight"].numpy().T + head["head.bias"].numpy()).argmax(1)  # fmt: skip  # noqa: E501
    (accuracy,) = (
        row.value
        for row in rows
        if (row.subject, row.measure) == ("leace", "accuracy")
        and (row.details["stage"], row.details["set"]) == ("before", "all")
    )
    assert accuracy == pytest.approx((named == view.test.labels).mean())
    assert len(list((plan.folder / "vectors").iterdir())) == 1


# Resuming


@pytest.mark.slow
def test_arms_are_added_to_a_study_and_resumed(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = replace(plan, strategies=("none", "subsample"))
    first = as_json(run(plan))
    more = replace(plan, strategies=("none", "subsample", "leace", "random-leace"))
    whole = run(replace(more, folder=tmp_path / "whole"))
    inner, calls = experiment.run_job, list[Any]()

    def stopping(plan: Plan, job: Any) -> Any:
        calls.append(job.strategy)
        if job.strategy == "random-leace" and calls.count("random-leace") == 1:
            raise KeyboardInterrupt
        return inner(plan, job)

    monkeypatch.setattr(experiment, "run_job", stopping)
    notes: list[str] = []
    monkeypatch.setattr(experiment, "note", notes.append)
    with pytest.raises(Interrupted, match="3 of 4 jobs are done"):
        run(more)
    assert len(notes) == 1
    assert notes[0].startswith("none is trained again, with the seeds 0: ")
    resumed = as_json(run(more))
    assert calls == ["none", "leace", "random-leace", "random-leace"]
    assert resumed == as_json(whole)
    assert [row for row in resumed if row["subject"] in ("none", "subsample")
            and "probe" not in row["measure"]] == [
        row for row in first if "probe" not in row["measure"]]  # fmt: skip
    data = more.results.read_bytes()
    assert as_json(run(more)) == resumed
    assert more.results.read_bytes() == data
    assert len(calls) == 4
    assert len(notes) == 1


@pytest.mark.slow
@pytest.mark.parametrize("frozen", [True, False])
def test_processes_change_nothing(plan: Plan, tmp_path: Path, frozen: bool) -> None:
    plan = replace(plan, strategies=("none", "leace", "random-leace", "mhd"))
    if not frozen:
        plan = replace(plan, frozen=False, recipe=ONE, retraining=ONE)
    single = run(replace(plan, folder=tmp_path / "one"))
    assert as_json(run(plan, Workers(2))) == as_json(single)


# Adapters


def adapter_file(
    plan: Plan, path: Path, site: str = "tokens@3", model: str = ""
) -> tuple[Path, Any]:
    """Write an adapter with LEACE fitted to the training vectors, at a site."""
    encoder = plan.encoding.load(model or plan.model)
    view = prepare(split(plan.biographies, 0), "none", 0).views["own"]
    vectors = LiveEncoder(encoder, plan.encoding).vectors(view)
    train = view.original_train
    (erasure,) = fitted("leace", vectors.of(train), train.genders)
    fingerprint = Fingerprint.of(encoder.model)
    adapter = Adapter({}, fingerprint, chosen=site, steps={Site.parse(site): erasure})
    adapter.save(path)
    return path, encoder


@pytest.mark.slow
@pytest.mark.parametrize("site", first_quick(["tokens@3", "cls@3"]))
def test_an_adapter_is_an_arm(plan: Plan, tmp_path: Path, site: str) -> None:
    path, encoder = adapter_file(plan, tmp_path / "leace.safetensors", site)
    rows = run(replace(plan, strategies=("none", "leace", str(path))))
    arms = [[{**row, "subject": ""} for row in as_json(rows) if row["subject"] == name]
            for name in ("leace", str(path))]  # fmt: skip
    assert arms[0] == arms[1]
    # and that is what the model computes with the adapter
    from wordbias.models.adapters import read_adapter

    view = prepare(split(plan.biographies, 0), "none", 0).views["own"]
    source = LiveEncoder(encoder, plan.encoding)
    plain = source.vectors(view)
    with read_adapter(path).on(encoder.model):
        inside = source.vectors(view).vectors
    train = view.original_train
    by_rows = remove(fitted("leace", plain.of(train), train.genders), plain.vectors)
    assert np.allclose(inside, by_rows, atol=1e-4)


@pytest.mark.slow
def test_another_adapter_of_the_same_name_is_refused(plan: Plan, tmp_path: Path) -> None:
    path, _ = adapter_file(plan, tmp_path / "leace.safetensors")
    plan = replace(plan, strategies=("none", str(path)))
    run(plan)
    adapter_file(replace(plan, biographies=small_bios(1)), path)
    with pytest.raises(WordbiasError, match=r"seed 0 was measured with another adapter of this"):
        run(plan)


# Bad input


@pytest.mark.parametrize(
    ("strategies", "expected"),
    [
        (["none", "double-hard"], r"^strategy 'double-hard': double-hard is fitted to words, and"),
        (["leace"], r"^strategy 'leace': changes the vectors that the model of none reads"),
        (["none", "misp:dims=x"], r"^method 'misp:dims=x': dims: expected a whole number from 1"),
        (["none", "leace:per-class=5"], r"'per-class' is not for this command"),
        (["none", "scrub+leace"], r"^strategy 'scrub\+leace': expected none, .*found 'leace'$"),
        (["none", "gone.safetensors"], r"gone.safetensors"),
        (["none", "null:6"], r"^strategy 'null:6': random removals are compared with"),
        (["none", "leace", "null:2"], r"^strategy 'null:2': each of 3 seeds has .*give null:3$"),
        (["none", "leace", "null"], r"^strategy 'null': expected a number of draws from 1"),
        (["none", "leace", "lists:3"], r"^strategy 'lists:3': expected a number of draws from 1"),
    ],
)
def test_refused(folder: str, strategies: list[str], expected: str) -> None:
    with pytest.raises((WordbiasError, UsageError), match=expected) as error:
        bios(small_bios(), folder, strategies=strategies, head_only=True, seed=[0, 1, 2])
    assert "\n" not in str(error.value)


def test_refused_adapters(plan: Plan, tmp_path: Path) -> None:
    path, _ = adapter_file(plan, tmp_path / "a.safetensors")
    named = ("none", str(path))
    with pytest.raises(WordbiasError, match=r"every seed fine-tunes it; freeze it with --head"):
        replace(plan, strategies=named, frozen=False)
    mean = replace(plan, strategies=named, encoding=EncodingSettings(20, "mean", device="cpu"))
    assert mean.strategies == named
    first, _ = adapter_file(plan, tmp_path / "b.safetensors", "cls@3")
    with pytest.raises(WordbiasError, match=r"removes at cls@3, and the last layer reads tokens@3"):
        replace(mean, strategies=("none", str(first)))
    inner, _ = adapter_file(plan, tmp_path / "c.safetensors", "tokens@1")
    with pytest.raises(WordbiasError, match=r"removes at tokens@1, and the last layer reads"):
        replace(plan, strategies=("none", str(inner)))
    other = encoder_folder(tmp_path / "other", texts=("a few other words",))
    fitted_there, _ = adapter_file(plan, tmp_path / "d.safetensors", model=other)
    with pytest.raises(WordbiasError, match=r"d.safetensors: was fitted on another model"):
        run(replace(plan, strategies=("none", str(fitted_there))))


def test_one_gender_is_refused(plan: Plan) -> None:
    people = plan.biographies
    women = people.take(np.flatnonzero(people.genders == 0))
    with pytest.raises(WordbiasError, match="no class has both women and men"):
        run(replace(plan, biographies=women))
    with pytest.raises(WordbiasError, match="are of one class"):
        fitted("leace", np.ones((4, 3), np.float32), np.zeros(4, np.intp))
