"""The experiment: its jobs and its file; interruptions, processes and order change nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_bios import as_json, encoder_folder, small_bios

from wordbias import __version__
from wordbias.biographies.data import sample, split
from wordbias.biographies.plan import Recipe
from wordbias.biographies.strategies import prepare
from wordbias.errors import Interrupted, WordbiasError
from wordbias.probes.ceat.sentences import find_sentences
from wordbias.results import Row
from wordbias.workers import Workers

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from wordbias.biographies import experiment  # noqa: E402
from wordbias.biographies.classifier import (  # noqa: E402
    Labelled,
    predict,
    train_head,
)
from wordbias.biographies.encoding import (  # noqa: E402
    EncodingSettings,
    LiveEncoder,
)
from wordbias.biographies.experiment import run  # noqa: E402
from wordbias.biographies.plan import Plan  # noqa: E402
from wordbias.classifier_training import Task  # noqa: E402
from wordbias.retraining.measuring import career_words  # noqa: E402

ONE = Recipe(epochs=2, batch=16, rate=1e-3)


def tuned(plan: Plan, **changes: Any) -> Plan:
    small = {"frozen": False, "recipe": ONE, "retraining": ONE, "seeds": (0,)}
    return replace(plan, **{**small, "strategies": ("none", "scrub"), **changes})


def chosen(rows: Sequence[Row], **wanted: Any) -> list[tuple[Any, ...]]:
    """Measure, set and value of the rows that have these details."""
    return [
        (row.measure, row.details["set"], row.value)
        for row in rows
        if all({"subject": row.subject, **row.details}.get(k) == v for k, v in wanted.items())
    ]


def lines_of(plan: Plan) -> list[dict[str, Any]]:
    return [json.loads(line) for line in plan.results.read_text().splitlines()]


def stop_at(monkeypatch: pytest.MonkeyPatch, what: Any, name: str, call: int) -> list[int]:
    """Interrupt the n-th call of a function."""
    inner, calls = getattr(what, name), []

    def stopping(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return inner(*arguments, **options)

    monkeypatch.setattr(what, name, stopping)
    return calls


@pytest.mark.slow
def test_a_frozen_study(plan: Plan) -> None:
    rows = run(plan)
    jobs = [(row.subject, row.details["seed"]) for row in rows]
    assert list(dict.fromkeys(jobs)) == [tuple(job) for job in plan.jobs()]
    assert len(plan.jobs()) == 5 * 2
    for seed in (0, 1):
        none, sub, scrub = (
            {"subject": name, "seed": seed, "view": "own"} for name in plan.strategies
        )
        # the encoder stays: only new texts can have new vectors
        seen = chosen(rows, **none, stage="representation")
        assert seen == chosen(rows, **sub, stage="representation")
        assert seen != chosen(rows, **scrub, stage="representation")
        original = {**scrub, "view": "original", "stage": "representation"}
        assert [row for row in seen if row[0] != "ceat"] == chosen(rows, **original)
        # the same training on the same data, twice
        assert chosen(rows, **none, stage="before") == chosen(rows, **none, stage="after")
        # and where the data had been subsampled, retraining on all brings back all
        assert chosen(rows, **sub, stage="before") != chosen(rows, **sub, stage="after")
        assert chosen(rows, **sub, stage="after") == chosen(rows, **none, stage="after")
    for name in ("pretrained", "untrained"):
        assert {row.details["stage"] for row in rows if row.subject == name} == {"representation"}
    pretrained = chosen(rows, subject="pretrained", seed=0)
    assert pretrained == chosen(rows, subject="none", seed=0, stage="representation")
    assert pretrained != chosen(rows, subject="untrained", seed=0)
    assert all(row.details["view"] in ("own", "original") for row in rows)


@pytest.mark.slow
def test_vectors_are_kept_once_for_all_seeds(plan: Plan) -> None:
    """Of all texts, scrubbed ones, and those that the untrained encoder is probed on."""
    run(plan)
    files = sorted(file.name for file in (plan.folder / "vectors").iterdir())
    assert [name.partition("-")[0] for name in files] == ["texts"] * 3 + ["words"] * 2


@pytest.mark.slow
def test_finished_jobs_are_not_run_again(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(plan)
    before = plan.results.read_bytes()
    monkeypatch.setattr(experiment, "run_job", lambda *_: pytest.fail("a job is done again"))
    assert as_json(run(plan)) == as_json(first)
    assert plan.results.read_bytes() == before
    smaller = replace(plan, seeds=(1,), strategies=("scrub",), baselines=False)
    assert as_json(run(smaller)) == [row for row in as_json(first) if (row["subject"], row["seed"]) == ("scrub", 1)]  # fmt: skip  # noqa: E501
    with pytest.raises(pytest.fail.Exception):
        run(replace(plan, seeds=(2,)))


@pytest.mark.slow
def test_resume_after_an_interruption_between_jobs(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(replace(plan, folder=tmp_path / "whole"))
    with monkeypatch.context() as patch:
        stop_at(patch, experiment, "run_job", 4)
        with pytest.raises(Interrupted) as stopped:
            run(plan)
    assert str(stopped.value) == "the same call resumes from study: 3 of 10 jobs are done"
    assert len(lines_of(plan)) == 3
    assert as_json(run(plan)) == as_json(whole)
    assert len({(line["strategy"], line["seed"]) for line in lines_of(plan)}) == 10
    assert not list(plan.folder.glob("*.lock"))


@pytest.mark.slow
@pytest.mark.parametrize("at", [2, 4])
def test_resume_after_an_interruption_within_a_fine_tuning(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Epochs 1 and 2 are of the encoder; those behind it of its retrained last layer."""
    plan = tuned(plan, baselines=False)
    whole = run(replace(plan, folder=tmp_path / "whole"))
    with monkeypatch.context() as patch:
        stop_at(patch, Task, "losses", at)
        with pytest.raises(Interrupted):
            run(plan)
    assert (plan.folder / "none-0.checkpoint").exists()
    assert not plan.results.exists()
    calls = stop_at(monkeypatch, Task, "losses", 0)
    assert as_json(run(plan)) == as_json(whole)
    # none: what was left of 2 epochs and 2 of the last layer; scrub: 2 epochs, 2 for each view
    assert len(calls) == (2 - min(at - 1, 2) + 2) + (2 + 4)
    assert sorted(file.name for file in plan.folder.iterdir()) == ["results.jsonl"]


@pytest.mark.slow
def test_a_job_whose_line_is_cut_off_is_run_again(plan: Plan) -> None:
    first = as_json(run(plan))
    data = plan.results.read_bytes()
    for cut in (1, 40, len(data.splitlines()[-1]) + 1):
        plan.results.write_bytes(data[:-cut])
        assert as_json(run(plan)) == first
        jobs = [(line["strategy"], line["seed"], line["rows"]) for line in lines_of(plan)]
        assert jobs == [
            (line["strategy"], line["seed"], line["rows"])
            for line in map(json.loads, data.splitlines())
        ]


@pytest.mark.slow
@pytest.mark.parametrize("frozen", [True, False])
def test_processes_change_nothing(plan: Plan, tmp_path: Path, frozen: bool) -> None:
    plan = replace(plan, seeds=(0,), strategies=("none",)) if frozen else tuned(plan)
    single = run(replace(plan, folder=tmp_path / "one"))
    two = run(plan, Workers(2))
    assert as_json(single) == as_json(two)
    assert len(lines_of(plan)) == len(plan.jobs())


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of clusters that start and stop
def test_a_cluster_changes_nothing(join: Callable[[str], None], plan: Plan, tmp_path: Path) -> None:
    join("ray")
    plan = replace(plan, seeds=(0,), strategies=("none",), baselines=False)
    single = run(replace(plan, folder=tmp_path / "one"))
    assert as_json(run(plan, Workers(2, "ray"))) == as_json(single)


@pytest.mark.slow
def test_a_fine_tuned_study(plan: Plan) -> None:
    """Vectors, predictions before and after, all from the model that is kept."""
    plan = tuned(plan, keep_models=True, strategies=("none",), baselines=False)
    rows = run(plan)
    assert {row.details["stage"] for row in rows} == {"representation", "before", "after"}
    folder = plan.folder / "models" / "none-0"
    model = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    from safetensors.torch import load_file

    head = load_file(folder / "head.safetensors")
    prepared = prepare(split(plan.biographies, 0), "none", 0)
    test = prepared.views["own"].test
    right = []
    for text, label in zip(test.texts, test.labels, strict=True):
        with torch.inference_mode():
            given = tokenizer(text, truncation=True, max_length=20, return_tensors="pt")
            first = model(**given).last_hidden_state[0, 0]
        z = first @ head["head.weight"].T + head["head.bias"]
        right.append(int(z.argmax()) == label)
    (accuracy,) = (row.value for row in rows if row.measure == "accuracy"
                   and (row.details["stage"], row.details["set"]) == ("before", "all"))  # fmt: skip
    assert accuracy == pytest.approx(np.mean(right))
    (line,) = lines_of(plan)
    known = json.loads((folder / "training.json").read_text())
    assert known["classes"] == list(plan.biographies.classes)
    assert {**line["about"], **known} == known
    assert 0 <= line["training"]["dev_accuracy"] <= 1


@pytest.mark.slow
def test_a_kept_model_is_not_replaced(plan: Plan) -> None:
    plan = tuned(plan, keep_models=True, strategies=("none",), baselines=False)
    first = as_json(run(plan))
    plan.results.unlink()
    assert as_json(run(plan)) == first
    plan.results.unlink()
    with pytest.raises(WordbiasError, match=r"none, seed 0: .*none-0: holds another model: its recipe.epochs is 2, not 1"):  # fmt: skip  # noqa: E501
        run(replace(plan, recipe=replace(ONE, epochs=1)))


@pytest.mark.slow
def test_retraining_starts_from_the_vectors_alone(plan: Plan) -> None:
    """By hand: a last layer trained on the vectors of the original data of the view."""
    plan = replace(plan, strategies=("scrub",), seeds=(0,), baselines=False)
    rows = run(plan)
    prepared = prepare(split(plan.biographies, 0), "scrub", 0)
    source = LiveEncoder(plan.encoding.load(plan.model), plan.encoding)
    for name, view in prepared.views.items():
        vectors = source.vectors(view)
        retrained = train_head(
            Labelled(vectors.of(view.original_train), view.original_train.labels),
            Labelled(vectors.of(view.original_dev), view.original_dev.labels),
            3,
            plan.recipe,
        )
        right = predict(retrained.head, vectors.of(view.test)) == view.test.labels
        accuracies = [row for row in chosen(rows, view=name, stage="after") if row[:2] == ("accuracy", "all")]  # fmt: skip  # noqa: E501
        assert [value for *_, value in accuracies] == [pytest.approx(right.mean())]


@pytest.mark.slow
def test_own_shares_and_sentences_are_used(plan: Plan) -> None:
    plan = replace(plan, strategies=("none",), seeds=(0,), baselines=False)
    texts = [f"{word} is here" for word in career_words()] * 2
    named = replace(
        plan,
        folder=plan.folder / "other",
        shares={"dancer": 90, "nurse": 10, "surgeon": 50},
        shares_from="a file",
        sentences=find_sentences([*texts, "Amy and John are there"], career_words()),
        sentences_from="my sentences",
    )
    usual, own = run(plan), run(named)
    (ceat,) = [row for row in own if row.measure == "ceat"]
    assert ceat.details["missing"] == {}
    pearson = [
        {row.measure: row.value for row in rows if row.details["set"] == "pearson"}
        for rows in (usual, own)
    ]
    assert pearson[0].keys() == pearson[1].keys()
    assert pearson[0] != pearson[1]
    lacking = replace(named, shares={"nurse": 10}, folder=plan.folder / "lacking")
    with pytest.raises(WordbiasError, match="none, seed 0: a file: has no share of dancer"):
        run(lacking)


@pytest.mark.slow
def test_a_split_that_is_drawn_depends_on_the_seed(plan: Plan) -> None:
    plan = replace(plan, biographies=small_bios(splits=False), strategies=("none",))
    rows = run(replace(plan, baselines=False))
    assert chosen(rows, seed=0) != chosen(rows, seed=1)


def test_sample_is_reproducible_and_in_order() -> None:
    bios = small_bios()
    drawn = sample(bios, 30)
    assert len(drawn) == 30
    assert sample(bios, 30).sha256 == drawn.sha256 != sample(bios, 30, seed=1).sha256
    places = [bios.texts.index(text) for text in drawn.texts]
    assert len(sample(bios, 10**6)) == len(bios)
    assert set(drawn.texts) <= set(bios.texts)
    assert drawn.classes == bios.classes
    assert places == [bios.texts.index(text) for text in drawn.texts]


@pytest.mark.slow
def test_a_folder_of_another_study_is_refused(plan: Plan) -> None:
    plan = replace(plan, strategies=("none",), seeds=(0,), baselines=False)
    run(plan)
    changes: dict[str, Any] = {
        r"recipe\.epochs is 4, not 3": {"recipe": replace(plan.recipe, epochs=3)},
        r"reading\.max_tokens is 20, not 10": {"encoding": EncodingSettings(10, device="cpu")},
        r"biographies\.n is 156, not 100": {"biographies": sample(plan.biographies, 100)},
        r"biographies\.sha256 is": {"biographies": plan.biographies.take(np.arange(156)[::-1])},
        r"frozen is True, not False": {"frozen": False},
        r"ceat\.draws is 20, not 30": {"draws": 30},
        r"balanced_probe is False, not True": {"balanced_probe": True},
    }
    for message, change in changes.items():
        with pytest.raises(WordbiasError, match=f"results.jsonl: line 1: is of another study: its .*{message}"):  # fmt: skip  # noqa: E501
            run(replace(plan, **change))
    assert len(lines_of(plan)) == 1


@pytest.mark.slow
def test_a_folder_of_another_model_is_refused(plan: Plan, tmp_path: Path) -> None:
    plan = replace(plan, strategies=("none",), seeds=(0,), baselines=False)
    run(plan)
    other = encoder_folder(tmp_path / "other")
    run(replace(plan, model=other))  # another folder with the same weights
    from safetensors.torch import load_file, save_file

    weights = load_file(Path(other) / "model.safetensors")
    weights["embeddings.word_embeddings.weight"][0] += 1
    save_file(weights, Path(other) / "model.safetensors", {"format": "pt"})
    with pytest.raises(WordbiasError, match="is of another study: its model is"):
        run(replace(plan, model=other))


def test_a_file_of_something_else_is_refused(plan: Plan) -> None:
    plan.folder.mkdir()
    plan.results.write_bytes(b"nonsense\n")
    with pytest.raises(WordbiasError, match=r"results\.jsonl: holds no results .*; name another"):
        run(plan)
    assert plan.results.read_bytes() == b"nonsense\n"


def test_bad_input_is_refused(plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="strategy 'wish': expected none"):
        replace(plan, strategies=("wish",))
    with pytest.raises(WordbiasError, match="nothing to study"):
        replace(plan, strategies=(), baselines=False)
    with pytest.raises(WordbiasError, match="nothing to study"):
        replace(plan, seeds=())
    with pytest.raises(WordbiasError, match="no such folder"):
        run(replace(plan, model=str(tmp_path / "none")))
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(WordbiasError, match="is a file; name a folder"):
        run(replace(plan, folder=file))
    for below in (file / "below", tmp_path / "none" / "below"):
        with pytest.raises(WordbiasError, match=r"cannot be made, the folder .* does not exist"):
            run(replace(plan, folder=below))
    assert not (tmp_path / "none").exists()
    with pytest.raises(WordbiasError, match=r"none, seed 0: .*reads at most 64 tokens"):
        run(replace(plan, encoding=EncodingSettings(100, device="cpu"), baselines=False))
    assert not plan.folder.exists()


def test_data_are_checked_before_a_model_is_loaded(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no job could be made of is refused, and no text rewritten or folder made for that."""
    monkeypatch.setattr(EncodingSettings, "load", lambda *_: pytest.fail("a model is loaded"))
    bios = plan.biographies
    women = bios.take(bios.genders == 0)
    of_test = np.array([kind == "test" for kind in bios.splits or ()])
    few = np.flatnonzero(of_test | (bios.genders == 0))  # nobody but women to learn from
    cases: list[tuple[str, dict[str, Any]]] = [
        ("pretrained, seed 0: small: of 3 biographies none is for train: the column", {
            "biographies": bios.take(np.flatnonzero(of_test)[:3]),
        }),
        ("no class has both women and men among", {"biographies": women}),
        ("none, seed 1: .* cannot be drawn of 3", {
            "biographies": replace(bios.take([0, 1, 2]), splits=None), "baselines": False,
            "seeds": (1,), "strategies": ("none",),
        }),
        ("subsample, seed 0: .*no class has both .* to balance", {
            "biographies": bios.take(few), "strategies": ("none", "scrub+subsample", "subsample"),
        }),
        ("a file: has no share of dancer", {"shares": {"nurse": 1}, "shares_from": "a file"}),
    ]  # fmt: skip
    for message, change in cases:
        with pytest.raises(WordbiasError, match=message):
            run(replace(plan, **change))
    assert not plan.folder.exists()
    with pytest.raises(pytest.fail.Exception):
        run(plan)


@pytest.mark.slow
def test_a_study_is_finished_by_the_version_that_began_it(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its lines, nor its vectors, nor what it was interrupted in are of two versions."""
    plan = replace(plan, strategies=("none",), seeds=(0,), baselines=False)
    run(plan)
    vectors = set((plan.folder / "vectors").iterdir())
    tuning = tuned(plan, strategies=("none",), baselines=False, folder=plan.folder.parent / "whole")
    with monkeypatch.context() as patch:
        stop_at(patch, Task, "losses", 2)
        with pytest.raises(Interrupted):
            run(tuning)
    for module in ("store", "biographies.plan"):
        monkeypatch.setattr(f"wordbias.{module}.__version__", "0.0.1")
    other = rf"is of another study: its wordbias is '{__version__}', not '0.0.1'; name another"
    with pytest.raises(WordbiasError, match=rf"results\.jsonl: line 1: {other} folder"):
        run(plan)
    with pytest.raises(WordbiasError, match=rf"checkpoint: .*its wordbias is '{__version__}'"):
        run(tuning)
    plan.results.unlink()
    run(plan)
    assert len(set((plan.folder / "vectors").iterdir()) - vectors) == len(vectors)


def test_two_processes_at_one_folder(plan: Plan) -> None:
    from wordbias.formats.files import locked

    plan.folder.mkdir()
    with locked(plan.results), pytest.raises(WordbiasError, match="another process is writing it"):
        run(plan)
