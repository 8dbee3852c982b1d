"""The coreference experiment: rows computed by hand, arms of vectors, resuming, refusals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import small_winobias
from hypothesis import given, settings
from hypothesis import strategies as st
from interrupted_trainings import interrupted_in
from small_coreference import conll, encoder_folder, story, with_large_head

import wordbias as wb
from wordbias.errors import Interrupted, UsageError, WordbiasError
from wordbias.outcomes.conll import conll_f1
from wordbias.retraining.results import AFTER, BEFORE, COREFERENCE
from wordbias.stereotypes.winobias import load_winobias

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from wordbias.coreference import experiment  # noqa: E402
from wordbias.coreference.experiment import (  # noqa: E402
    Plan,
    fit_to_pronouns,
    mask_of,
    predict_sentences,
    profession_vectors,
    run,
    token_vectors,
)
from wordbias.coreference.model import Settings  # noqa: E402
from wordbias.coreference.resolver import Coreference  # noqa: E402
from wordbias.coreference.strategies import debias  # noqa: E402
from wordbias.coreference.training import Recipe, Task, tallies, train_model  # noqa: E402
from wordbias.models.encoder import Encoder  # noqa: E402
from wordbias.retraining.arms import Job  # noqa: E402
from wordbias.workers import Workers  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
RECIPE = Recipe(epochs=1, rate=1e-4, task_rate=1e-3)
SLIGHT = Recipe(epochs=1, rate=1e-7, task_rate=1e-7)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """A study of two strategies and an arm of vectors."""
    return Plan(
        [story(i, 60) for i in range(3)],
        [story(10)],
        [story(20), story(21)],
        load_winobias(small_winobias.write(tmp_path / "winobias")),
        encoder_folder(tmp_path / "encoder"),
        tmp_path / "study",
        ("none", "swap", "leace", "random-leace"),
        (0,),
        RECIPE,
        RECIPE,
        Settings(segment_length=32, hidden=8),
        baselines=False,
        keep_models=True,
    )


def values(rows: list[Any], subject: str, stage: str) -> dict[tuple[str, str], float | None]:
    return {
        (row.measure, row.details["set"]): row.value
        for row in rows
        if (row.subject, row.details["stage"]) == (subject, stage)
    }


def test_rows_are_those_computed_by_hand(plan: Plan) -> None:
    plan = replace(plan, strategies=("none", "swap", "leace"))
    rows = run(plan)
    stored = Coreference.load(plan.model_folder(Job("swap", 0)))
    retrained = stored.with_new_head(0)
    train_model(retrained, plan.train, plan.dev, replace(RECIPE, head_only=True))
    for stage, model in ((BEFORE, stored), (AFTER, retrained)):
        measured = values(rows, "swap", stage)
        f1 = conll_f1(tallies(plan.test, model.predict(plan.test)).sum(0))
        assert measured["conll-f1", "test"] == pytest.approx(100 * float(f1))
        clusters = dict(
            zip(
                (sentence.text for sentence in plan.sentences),
                map(list, predict_sentences(model, plan.sentences)),
                strict=True,
            )
        )
        scored = wb.winobias(plan.folder.parent / "winobias", clusters=clusters, draws=0)
        for row in scored.rows:
            if row.details.get("setting", "all") == "all":
                assert measured[row.measure, row.details["set"]] == row.value
    removed, trained = (values(rows, name, BEFORE) for name in ("leace", "none"))
    assert removed.keys() == trained.keys()
    assert values(rows, "leace", "representation") != values(rows, "none", "representation")
    assert {row.details["seed"] for row in rows} == {0}


def test_a_removal_takes_the_difference_of_pronouns_and_a_random_one_goes_as_far(
    plan: Plan,
) -> None:
    model = Coreference.new(plan.model, plan.sizes)
    pronouns, genders, pieces = token_vectors(model, plan.train, 0)
    words = [
        token for document in plan.train for token in document.tokens if token in ("she", "he")
    ]
    assert len(pronouns) == len(words)
    assert genders.tolist() == [int(word == "he") for word in words]
    with experiment._removal(plan, Job("leace", 0), model).on(model.encoder.model):
        removed, _, after = token_vectors(model, plan.train, 0)
    means = [removed[genders == gender].mean(0, dtype=np.float64) for gender in (0, 1)]
    old = [pronouns[genders == gender].mean(0, dtype=np.float64) for gender in (0, 1)]
    assert np.linalg.norm(old[0] - old[1]) > 1e3 * np.linalg.norm(means[0] - means[1])
    far = np.square(after - pieces).sum(1).mean()
    (step,) = fit_to_pronouns("random-leace", pronouns, genders, pieces, 0)
    assert np.square(step(pieces) - pieces).sum(1).mean() == pytest.approx(far, rel=1e-3)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000))
def test_random_removals_differ_by_seed_and_move_pieces_as_far(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 6)).astype(np.float32)
    genders = (np.arange(60) % 2).astype(np.intp)
    pronouns = x + genders[:, None] * rng.normal(size=6).astype(np.float32)
    pieces = 2 * rng.normal(size=(200, 6)).astype(np.float32)
    moved = []
    for strategy in ("leace", "random-leace"):
        (step,) = fit_to_pronouns(strategy, pronouns, genders, pieces, seed)
        moved.append(np.square(step(pieces) - pieces).sum())
    assert moved[1] == pytest.approx(moved[0], rel=1e-5)
    (other,) = fit_to_pronouns("random-leace", pronouns, genders, pieces, seed + 1)
    assert not np.allclose(other(pieces), step(pieces))


def test_professions_are_probed_where_pronouns_are_masked(plan: Plan) -> None:
    encoder = Encoder.load(plan.model)
    vectors, genders, professions = profession_vectors(encoder, plan.sentences)
    assert {*zip(professions, genders, strict=True)} == {
        ("farmer", "M"), ("nurse", "F"), ("construction worker", "M"), ("sheriff", "M"),
        ("teacher", "F"),
    }  # fmt: skip
    anti = [
        replace(sentence, stereotype="pro")
        for sentence in plan.sentences
        if sentence.stereotype == "anti"
    ]
    turned, other, _ = profession_vectors(encoder, anti)
    assert np.array_equal(vectors, turned)
    assert not (genders == other).any()


@pytest.mark.slow
def test_finished_jobs_are_not_run_again(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = replace(plan, strategies=("none",), baselines=True)
    rows = run(plan)
    monkeypatch.setattr(experiment, "run_job", lambda *_: pytest.fail("a job is done again"))
    assert [row.to_dict() for row in run(plan)] == [row.to_dict() for row in rows]
    other = replace(plan, recipe=replace(plan.recipe, epochs=2))
    with pytest.raises(WordbiasError, match=r"recipe.epochs: 1.* 2|epochs"):
        run(other)


@pytest.mark.slow
def test_models_that_nothing_needs_are_not_kept(plan: Plan) -> None:
    run(replace(plan, strategies=("none", "swap", "leace"), keep_models=False))
    left = [path for path in (plan.folder / "models").iterdir() if path.suffix != ".jsonl"]
    assert [path.name for path in left] == ["none-0"]


@pytest.mark.slow
def test_a_kept_removal_is_what_the_study_measured(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before and after retraining, by the commands alone; what heads link depends on vectors."""
    real = Coreference._assembled
    large = staticmethod(lambda *given: with_large_head(real(*given)))
    monkeypatch.setattr(Coreference, "_assembled", large)
    plan = replace(
        plan,
        strategies=("none", "leace", "random-leace"),
        recipe=SLIGHT,
        retraining=SLIGHT,
        sizes=replace(plan.sizes, kept=2.0),
    )
    rows = run(plan)
    sentences, clusters = tmp_path / "sentences.jsonl", tmp_path / "found.jsonl"
    wb.winobias(tmp_path / "winobias", sentences=sentences)
    models, differ = plan.folder / "models", 0
    for name in ("none", "leace", "random-leace"):
        for stage, folder in ((BEFORE, "none-0"), (AFTER, f"{name}-0-retrained")):
            adapter = None if name == "none" else models / f"{name}-0.adapter"
            measured = values(rows, name, stage)
            predicted = wb.coref_predict(
                models / folder, list(plan.test), adapter=adapter
            ).documents
            f1 = conll_f1(tallies(plan.test, predicted).sum(0))
            assert measured["conll-f1", "test"] == pytest.approx(100 * float(f1))
            wb.coref_predict(models / folder, sentences, adapter=adapter, output=clusters)
            scored = wb.winobias(tmp_path / "winobias", clusters=clusters, draws=0)
            for row in scored.rows:
                if row.details.get("setting", "all") == "all":
                    assert measured[row.measure, row.details["set"]] == row.value
            plain = wb.coref_predict(models / folder, list(plan.test)).documents
            differ += plain != predicted
    assert differ == 4


def test_removals_run_again_with_the_model_that_they_stand_in(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    monkeypatch.setattr(experiment, "note", notes.append)
    plan = replace(plan, strategies=("none", "leace", "inlp"), keep_models=False)
    entries = {Job("none", 0): 1, Job("leace", 0): 1, Job("leace", 1): 1, Job("swap", 0): 1}
    store: Any = SimpleNamespace(entries=entries, get=lambda *key: entries.get(Job(*key)))
    experiment._forget_jobs_without_models(plan, store)
    assert entries == {Job("leace", 1): 1, Job("swap", 0): 1}
    assert notes[0].endswith(": none, seed 0; leace, seed 0")


@pytest.mark.slow
def test_models_are_kept_of_a_study_that_kept_none(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    monkeypatch.setattr(experiment, "note", notes.append)
    plan = replace(plan, strategies=("none", "leace"))
    rows = run(replace(plan, keep_models=False))
    assert [row.to_dict() for row in run(plan)] == [row.to_dict() for row in rows]
    (line,) = notes
    assert line == (
        f"run again, because their models were not kept in {plan.folder}: none, seed 0; "
        "leace, seed 0"
    )
    names = {path.name for path in (plan.folder / "models").iterdir() if path.suffix != ".jsonl"}
    assert names == {"none-0", "none-0-retrained", "leace-0.adapter", "leace-0-retrained"}
    run(plan)
    assert len(notes) == 1


@pytest.mark.slow
def test_an_interrupted_retraining_ends_with_the_same_bytes(plan: Plan, tmp_path: Path) -> None:
    """The first training has one epoch: the second one alone is interrupted."""
    plan = replace(
        plan, strategies=("none", "leace"), retraining=replace(RECIPE, epochs=3), baselines=True
    )
    rows = run(replace(plan, folder=tmp_path / "straight"))
    for epoch in (1, 2):
        with pytest.raises(Interrupted, match="resumes"), interrupted_in(epoch, Task):
            run(plan)
        log = plan.folder / "models" / "none-0-retrained.log.jsonl"
        assert len(log.read_text().splitlines()) == epoch
        assert (plan.folder / "models" / "none-0-retrained.checkpoint").exists()
    assert [row.to_dict() for row in run(plan)] == [row.to_dict() for row in rows]
    for folder in ("none-0-retrained", "leace-0-retrained"):
        for file in (plan.folder / "models" / folder).iterdir():
            other = tmp_path / "straight" / "models" / folder / file.name
            assert other.read_bytes() == file.read_bytes(), file.name
    assert not list((plan.folder / "models").glob("*.checkpoint"))


@pytest.mark.slow
def test_arms_of_one_seed_load_its_model_at_once(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after a study without arms of vectors, which did not keep the model of `none`."""
    notes: list[str] = []
    monkeypatch.setattr(experiment, "note", notes.append)
    plan = replace(plan, strategies=("none",), keep_models=False)
    alone = run(plan)
    rows = run(replace(plan, strategies=("none", "leace", "mhd", "random-leace")), Workers(2))
    assert [row.to_dict() for row in rows[: len(alone)]] == [row.to_dict() for row in alone]
    assert {row.subject for row in rows} == {"none", "leace", "mhd", "random-leace"}
    assert [line.partition(f"{plan.folder}: ")[2] for line in notes] == ["none, seed 0"]


def study(tmp_path: Path, **more: Any) -> wb.Report:
    for name, stories in {"train": range(3), "dev": (10,), "test": (20, 21)}.items():
        file = tmp_path / f"{name}.conll"
        file.write_text(conll([story(i, 30 if name == "train" else 8) for i in stories]))
    given: dict[str, Any] = {
        "dev": tmp_path / "dev.conll",
        "test": tmp_path / "test.conll",
        "winobias": small_winobias.write(tmp_path / "winobias"),
        "model": encoder_folder(tmp_path / "encoder"),
        "strategies": ["none", "swap"],
        "seed": [0, 1],
        "epochs": 1,
        "segment_length": 32,
        "hidden": 8,
        "baselines": False,
        **more,
    }
    return wb.coref_study(tmp_path / "train.conll", **given)


@pytest.mark.slow
def test_tables_are_those_of_the_paper(tmp_path: Path) -> None:
    report = study(tmp_path, output=tmp_path / "study")
    titles = [table.title for table in report.tables]
    paper = "as Orgad et al. 2022"
    assert f"Before and after retraining all above the encoder ({paper}, Table 1b)" in titles
    assert f"As fine-tuned ({paper}, Table 7)" in titles
    assert f"All above the encoder retrained ({paper}, Table 8)" in titles
    means = [row for row in report.rows if row.details.get("unit") == "seeds"]
    measured = {(row.measure, row.details["set"]) for row in means}
    assert {(wanted.measure, wanted.set) for wanted in COREFERENCE.of_predictions} <= measured
    assert "Difference of CoNLL F1 (pro − anti)" in "\n".join(report.closing)
    assert str(report).count("Gender in the vectors") == 1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"strategies": ["scrub"]}, "strategy 'scrub': expected none, anonymise, swap"),
        ({"strategies": ["leace"]}, "changes the vectors that the model of none reads"),
        ({"strategies": ["none", "ran"]}, "strategy 'ran': ran is fitted to words"),
        ({"strategies": ["none"], "random_changes": True}, "no strategy given changes anything"),
        ({"strategies": ["none", "leace", "null:1"]}, "give null:2"),
        ({"strategies": ["none", "a.adapter"]}, "'a.adapter': was fitted to the encoder as it is"),
        (
            {"strategies": ["none", "subsample+leace"]},
            "pronouns have no class within",
        ),
        ({"spacy": "en"}, "finds names for anonymise"),
        ({"keep_models": True}, "writes to output=; name a folder"),
        ({"lr": 0}, "lr"),
        ({"strategies": []}, "nothing to study"),
    ],
)
def test_bad_usage(tmp_path: Path, more: dict[str, Any], message: str) -> None:
    with pytest.raises((WordbiasError, UsageError), match=message):
        study(tmp_path, **more)


def test_an_encoder_without_a_mask_is_refused(plan: Plan) -> None:
    encoder = Encoder.load(plan.model)
    encoder.tokenizer.mask_token = None
    with pytest.raises(WordbiasError, match="has no mask token, which stands for pronouns"):
        mask_of(encoder)


@pytest.mark.slow
def test_an_adapter_stands_behind_a_frozen_encoder(plan: Plan, tmp_path: Path) -> None:
    layers = Encoder.load(plan.model).layers
    file = tmp_path / "gender.adapter"
    site = f"tokens@{layers}"
    adapter = wb.project(plan.model, output=file, sites=[site], setting=site)
    frozen = replace(
        plan,
        strategies=("none", str(file)),
        recipe=replace(RECIPE, head_only=True),
        keep_models=False,
    )
    rows = run(frozen)
    trained = Coreference.load(frozen.model_folder(Job("none", 0)))
    with adapter.on(trained.encoder.model, site):
        f1 = conll_f1(tallies(plan.test, trained.predict(plan.test)).sum(0))
    assert values(rows, str(file), BEFORE)["conll-f1", "test"] == pytest.approx(100 * float(f1))
    file.unlink()
    wb.project(plan.model, output=file, sites=[site], setting=site, methods="mhd")
    with pytest.raises(WordbiasError, match="was measured with another adapter of this name"):
        run(frozen)


def test_few_pronouns_are_refused(plan: Plan) -> None:
    with pytest.raises(WordbiasError, match="is fitted to 20 of each or more"):
        run(replace(plan, train=plan.train[:1], strategies=("none", "leace")))


@pytest.mark.slow
def test_the_command(cli: Callable[..., Any], tmp_path: Path) -> None:
    report = study(tmp_path, output=tmp_path / "here")
    done = cli(
        "coref-study", tmp_path / "train.conll", "--dev", tmp_path / "dev.conll",
        "--test", tmp_path / "test.conll", "--winobias", tmp_path / "winobias",
        "--model", tmp_path / "encoder", "--strategies", "none,swap", "--seed", "0,1",
        "--epochs", "1", "--segment-length", "32", "--hidden", "8", "--no-baselines",
        "-o", tmp_path / "there", "--plot", tmp_path / "study.svg",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert [line for line in done.out.splitlines() if "Difference of CoNLL F1" in line] == [
        line for line in str(report).splitlines() if "Difference of CoNLL F1" in line
    ]
    assert (tmp_path / "study.svg").stat().st_size > 10_000


def test_strategies_reach_the_training(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def stop(source: Any, data: Any, dev: Any, folder: Path, **_: Any) -> None:
        seen[folder.name] = (data, dev)
        raise WordbiasError("seen")

    monkeypatch.setattr(experiment, "train_coreference", stop)
    for strategy in ("swap", "random-swap"):
        with pytest.raises(WordbiasError, match="seen"):
            run(replace(plan, strategies=(strategy,), seeds=(4,)))
        data, dev = seen[f"{strategy}-4"]
        assert data == debias(plan.train, strategy, 4)
        assert dev == plan.dev
