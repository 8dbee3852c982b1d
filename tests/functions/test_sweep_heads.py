"""`sweep` with random removals, with several heads, and with settings chosen in another sweep."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stand_ins

import wordbias as wb
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.sweep import sweep
from wordbias.reports import Report

pytest.importorskip("torch")
pytest.importorskip("transformers")

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]
SEEDS = (0, 1)
DRAWS = 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("heads")
    for seed in SEEDS:
        stand_ins.next_sentence_encoder(directory / f"nsp-{seed}", seed)
        stand_ins.nli_encoder(directory / f"nli-{seed}", seed + 10)
    stand_ins.gsss(directory / "gsss.csv")
    stand_ins.nli_table(directory / "snli.tsv.gz")
    stand_ins.word_lists(directory / "lists")
    return directory


def options(folder: Path, **more: Any) -> dict[str, Any]:
    files = {"stereoset": folder / "gsss.csv", "snli": folder / "snli.tsv.gz"}
    return {**files, "lists": folder / "lists", "top": 0.5, "repair": False, **more}


@pytest.fixture(scope="module")
def heads(folder: Path) -> Report:
    """Return the sweep of both heads, with two random removals of each."""
    names = {"nli": folder / "nli-{seed}", "model_seeds": SEEDS, "null": DRAWS}
    return sweep(folder / "nsp-{seed}", **options(folder, **names, output=folder / "all.csv"))


def values(report: Report, measure: str, **wanted: Any) -> list[Any]:
    return [
        row
        for row in report[measure]
        if all(row.details.get(key) == value for key, value in wanted.items())
    ]


def test_its_table_has_the_means_of_both_heads(folder: Path, heads: Report) -> None:
    with (folder / "all.csv").open() as file:
        table = {row["level"] + row["settings (n11 c11 n12 c12 np)"]: row for row in
                 csv.DictReader(file)}  # fmt: skip
    for name, key in (("Base", "Base"), ("L12-011", "L120 1 1")):
        each = {
            measure: [
                row.value
                for seed in SEEDS
                for row in values(heads, measure, setting=name, head=seed, **more)
            ]
            for measure, more in {
                "strength": {},
                "nli-fairness": {"parity": "mean"},
                "snli-accuracy": {},
            }.items()
        }
        assert [len(column) for column in each.values()] == [2, 2, 2]
        line = table[key]
        assert line["heads"] == "2"
        assert float(line["strength"]) == pytest.approx(np.mean(each["strength"]))
        assert float(line["fairness"]) == pytest.approx(np.mean(each["nli-fairness"]))
        assert float(line["snli_accuracy"]) == pytest.approx(np.mean(each["snli-accuracy"]))
        (mean,) = values(heads, "strength", setting=name, heads=list(SEEDS))
        assert mean.value == pytest.approx(np.mean(each["strength"]))
        assert mean.details["sd"] == pytest.approx(np.std(each["strength"], ddof=1))
    reread = wb.report(folder / "all.csv")
    assert reread["best-fairness"][0].value == pytest.approx(heads["best-fairness"][0].value)
    assert not [note for note in reread.notes if "the table says" in note]
    assert not list(folder.glob("*.part"))


def test_a_null_is_what_other_commands_measure_with_a_null_adapter(
    folder: Path, heads: Report
) -> None:
    """Random directions of each head have seeds of their own, 0 and 1, then 2 and 3."""
    setting = values(heads, "null-strength")[0].details["setting"]
    null_values: dict[str, list[list[float]]] = {"strength": [], "nli-fairness": []}
    for head in SEEDS:
        nsp, nli = folder / f"nsp-{head}", folder / f"nli-{head}"
        of_nsp, of_nli = wb.project(nsp), wb.project(nli)
        drawn = range(DRAWS * head, DRAWS * (head + 1))
        adapted: dict[str, Any] = {"setting": setting}
        strengths = [
            wb.likelihood(
                nsp, data=folder / "gsss.csv", top=0.5, adapter=of_nsp.null(seed), **adapted
            )
            for seed in drawn
        ]
        null_values["strength"].append(
            [
                row.value
                for report in strengths
                for row in values(report, "strength", version="original", subset="all")
                if row.subject.endswith(setting)
            ]
        )
        fairness = [
            wb.mab_eval(
                nli, set="parity", lists=folder / "lists", adapter=of_nli.null(seed), **adapted
            )
            for seed in drawn
        ]
        null_values["nli-fairness"].append(
            [values(report, "nli-fairness", setting=setting)[0].value for report in fairness]
        )
    for measure, null in (("strength", "null-strength"), ("nli-fairness", "null-fairness")):
        each = np.array(null_values[measure])
        assert each.shape == (2, DRAWS)
        (row,) = values(heads, null, setting=setting)
        assert row.value == pytest.approx(each.mean(), abs=1e-5)
        assert row.details["draws"] == DRAWS
        change = null.removeprefix("null-") + "-change"
        (against,) = values(heads, change, setting=setting, against="null")
        own = [row.value for seed in SEEDS for row in values(
            heads, measure, setting=setting, head=seed)]  # fmt: skip
        assert against.value == pytest.approx(np.mean(own) - each.mean(), abs=1e-5)


def test_redraws_are_what_other_commands_measure_with_the_adapters_of_redraws(
    cli: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    best, draws = tmp_path / "dev.csv", 3
    best.write_text(
        "level,settings (n11 c11 n12 c12 np),strength,distance,parity,accuracy,fairness,"
        "snli_accuracy\nBase,,.2,.2,.5,.5,.25,.8\nSENT,1,.1,.1,.5,.5,.25,.8\n"
    )
    given = options(folder, nli=folder / "nli-0", best=best, seed_lists=draws)
    report = sweep(folder / "nsp-0", **given, output=tmp_path / "all.csv")
    redrawn: dict[str, list[float]] = {"strength": [], "distance": [], "fairness": []}
    for kind in ("nsp", "nli"):
        wb.project(folder / f"{kind}-0", output=tmp_path / f"{kind}.adapter", seed_lists=draws)
    for i in range(1, draws + 1):
        of_triples = wb.likelihood(
            folder / "nsp-0", data=folder / "gsss.csv", top=0.5, setting="SENT-1",
            adapter=tmp_path / f"nsp.lists{i}.adapter",
        )  # fmt: skip
        for measure in ("strength", "distance"):
            redrawn[measure] += [
                row.value
                for row in values(of_triples, measure, subset="all", version="original")
                if row.subject.endswith("SENT-1")
            ]
        of_pairs = wb.mab_eval(
            folder / "nli-0", set="parity", lists=folder / "lists", setting="SENT-1",
            adapter=tmp_path / f"nli.lists{i}.adapter",
        )  # fmt: skip
        redrawn["fairness"].append(values(of_pairs, "nli-fairness", setting="SENT-1")[0].value)
    for measure, each in redrawn.items():
        (row,) = values(report, f"{measure}-change", setting="SENT-1", against="Base")
        base = row.details["setting_value"] - row.value
        low, high = np.percentile(np.array(each) - base, [2.5, 97.5])
        assert row.details["lists_draws"] == draws
        assert row.details["lists_low"] == pytest.approx(low, abs=1e-5)
        assert row.details["lists_high"] == pytest.approx(high, abs=1e-5)
    assert not list(tmp_path.glob("*.part"))
    with pytest.raises(
        UsageError, match=r"seed_lists= fits all sites .* leave out sequential_fit="
    ):
        sweep(folder / "nsp-0", **given, sequential_fit=True)


def test_settings_chosen_in_another_sweep_are_compared(
    cli: Callable[..., Any], folder: Path, heads: Report, tmp_path: Path
) -> None:
    chosen = {row.details["setting"] for row in heads["strength-change"]}
    best = tmp_path / "dev.csv"
    lines = (folder / "all.csv").read_text().splitlines()
    selected = [line for line in lines if line.startswith(("level", "Base", "SENT,0", "L12,0 1 1"))]
    best.write_text("\n".join(selected) + "\n")
    done = cli(
        "sweep", folder / "nsp-0", "--stereoset", folder / "gsss.csv", "--nli", folder / "nli-0",
        "--snli", folder / "snli.tsv.gz", "--lists", folder / "lists", "--top", 0.5,
        "--no-repair", "--best", best, "--null", 1, "--seed", 3,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines())) <= 100
    table = done.out.partition("S of the best settings, against the base and against random")[2]
    compared = [line.split()[0] for line in table.splitlines()[2:4]]
    assert compared == ["SENT-0", "L12-011"]
    assert set(compared) != chosen
    assert "flatters" not in done.err
    assert [note for note in heads.notes if "flatters" in note]


def test_what_cannot_be_compared(folder: Path, tmp_path: Path) -> None:
    given = options(folder, nli=folder / "nli-{seed}")
    with pytest.raises(UsageError, match=r"MODEL: expected a name with \{seed\}, .* got .*nsp-0"):
        sweep(folder / "nsp-0", **given, model_seeds=(0, 1))
    with pytest.raises(UsageError, match=r"nli=: expected a name with \{seed\}"):
        sweep(folder / "nsp-{seed}", **options(folder, nli=folder / "nli-0"), model_seeds=0)
    with pytest.raises(WordbiasError, match="nsp-7: "):
        sweep(folder / "nsp-{seed}", **given, model_seeds=(0, 7))
    with pytest.raises(UsageError, match="model_seeds=: expected one at least"):
        sweep(folder / "nsp-{seed}", **given, model_seeds=())
    (tmp_path / "dev.csv").write_text(
        "level,settings (n11 c11 n12 c12 np),strength,distance,parity,accuracy,fairness,"
        "snli_accuracy\nSENT,0,.1,.1,.5,.5,.25,.8\n"
    )
    with pytest.raises(WordbiasError, match=r"dev\.csv: no model is the base"):
        sweep(folder / "nsp-0", **options(folder, nli=folder / "nli-0", best=tmp_path / "dev.csv"))
    assert [path.name for path in tmp_path.iterdir()] == ["dev.csv"]


def test_subspaces_fitted_otherwise_are_those_that_are_removed(folder: Path) -> None:
    from transformers import AutoModelForNextSentencePrediction, AutoTokenizer

    from wordbias.contextual.fitting import Recipe, fit_adapter
    from wordbias.contextual.sweep.sequential import fit_in_sequence
    from wordbias.models.sentence_pairs import sentence_pairs

    given = options(folder, nli=folder / "nli-0", sequential_fit=True)
    given |= {"unit_length": True, "one_sided": True}
    report = sweep(folder / "nsp-0", **given, null=1)
    assert any(note.startswith("one-sided: centring") for note in report.notes)
    fitting = report.inputs["next-sentence"]["fitting"]
    assert (fitting["unit"], fitting["one_sided"], fitting["sequential"]) == (True, True, True)
    model = AutoModelForNextSentencePrediction.from_pretrained(folder / "nsp-0").eval()
    tokenizer = AutoTokenizer.from_pretrained(folder / "nsp-0")
    recipe, pairs = Recipe(one_sided=True, unit=True), sentence_pairs()
    adapter = fit_adapter(model, tokenizer, pairs, recipe)
    own = fit_in_sequence(model, tokenizer, pairs, recipe, adapter)
    for setting in ("L12-010", "attn-01101"):
        (swept,) = values(report, "strength", setting=setting)
        measured = wb.likelihood(
            (model, tokenizer), data=folder / "gsss.csv", top=0.5,
            adapter=own[setting], setting=setting,
        )  # fmt: skip
        (expected,) = [
            row
            for row in values(measured, "strength", subset="all", version="original")
            if row.subject.endswith(setting)
        ]
        assert swept.value == pytest.approx(expected.value, abs=1e-5)


def test_random_removals_are_resumed(
    folder: Path, heads: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wordbias.contextual.sweep.forward import Forward
    from wordbias.errors import Interrupted

    real, output = Forward.__call__, tmp_path / "all.csv"
    names = {"nli": folder / "nli-{seed}", "model_seeds": SEEDS, "null": DRAWS, "output": output}
    arguments = options(folder, **names)

    def stop(forward: Forward, *given: Any) -> Any:
        if "null" in forward.plan.names[0] and forward.model.config.num_labels == 3:
            raise KeyboardInterrupt
        return real(forward, *given)

    monkeypatch.setattr(Forward, "__call__", stop)
    with pytest.raises(Interrupted, match=r"next-sentence\.0\.part and 4 other files"):
        sweep(folder / "nsp-{seed}", **arguments)
    parts = sorted(path.name for path in tmp_path.glob("*.part"))
    whole = [f"all.csv.{name}.{seed}.part" for name in ("inference", "next-sentence") for seed in
             SEEDS]  # fmt: skip
    assert set(whole) <= set(parts)
    assert "all.csv.next-sentence.0.null.part" in parts
    seen: list[str] = []

    def count(forward: Forward, *given: Any) -> Any:
        seen.append(forward.plan.names[0])
        return real(forward, *given)

    monkeypatch.setattr(Forward, "__call__", count)
    resumed = sweep(folder / "nsp-{seed}", **arguments)
    assert seen
    assert all("null" in name for name in seen)  # all settings were done
    assert [row.to_dict() for row in resumed.rows] == [row.to_dict() for row in heads.rows]
    assert [path.name for path in tmp_path.iterdir()] == ["all.csv"]


def test_lists_of_models_are_heads_too(folder: Path, heads: Report) -> None:
    loaded = [folder / "nsp-0", loaded_pair(folder / "nsp-1")]
    report = sweep(
        loaded,
        **options(
            folder, nli=[folder / f"nli-{seed}" for seed in SEEDS], model_seeds=SEEDS, null=DRAWS
        ),
    )
    assert [row.value for row in report.rows] == [row.value for row in heads.rows]
    for given, n in ((loaded[:1], 1), ([*loaded, folder / "nsp-0"], 3)):
        with pytest.raises(UsageError, match=f"each of 2 seeds in model_seeds=, got a list of {n}"):
            sweep(given, **options(folder, nli=folder / "nli-{seed}", model_seeds=SEEDS))


def loaded_pair(path: Path) -> tuple[Any, Any]:
    from transformers import AutoModelForNextSentencePrediction, AutoTokenizer

    model = AutoModelForNextSentencePrediction.from_pretrained(path)
    return model, AutoTokenizer.from_pretrained(path)
