"""The figure of a study: every arm's differences, a point a seed, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from wordbias import Report, WordbiasError
from wordbias.nli.differences import paired_differences
from wordbias.pages.study_plots import differences_panel, paired_panels, plot_study
from wordbias.results import Row

pytest.importorskip("matplotlib")

NAMES = ("glove", "misp", "glove.null")
SETTINGS = ("nouns", "pronouns")


def model_rows(values: Mapping[str, Sequence[float | None]]) -> list[Row]:
    """Return rows of E and d of each model, of two settings; those of d are half of E."""
    rows = []
    for name, of_seeds in values.items():
        for seed, value in enumerate(of_seeds):
            for setting in SETTINGS:
                about = {"set": "explicit", "setting": setting, "seed": seed, "neutral": 0}
                half = None if value is None else value / 2
                rows.append(Row(name, "mab-error", value, {**about, "better": "lower"}))
                rows.append(Row(name, "mab-distance", half, {**about, "better": "lower"}))
    return rows


def study(seeds: int) -> list[Row]:
    rng = np.random.default_rng(seeds)
    rows = model_rows({name: rng.random(seeds).tolist() for name in NAMES})
    return [*rows, *paired_differences(rows, "glove.null")]


def save_study(path: Path, rows: list[Row]) -> None:
    Report("mab-study", {}, rows=rows, picture=plot_study).save(path)


def test_each_point_is_the_difference_of_two_models_of_one_seed() -> None:
    rows = study(4)
    panels = paired_panels(rows)
    assert list(panels) == [(m, s) for m in ("mab-error", "mab-distance") for s in SETTINGS]
    values = {
        (row.subject, row.details["seed"]): row.value
        for row in rows
        if (row.measure, row.details["setting"]) == ("mab-error", "nouns")
    }
    panel = differences_panel(panels["mab-error", "nouns"], NAMES[1:])
    assert [row.name for row in panel.rows] == list(NAMES[1:])
    for name, row in zip(NAMES[1:], panel.rows, strict=True):
        own = [dot for dot in panel.dots if row.top < dot.place[1] < row.bottom]
        *seeds, mean = [dot.place[0] for dot in own]
        expected = [values[name, s] - values["glove", s] for s in range(4)]  # type: ignore[operator]
        np.testing.assert_allclose(seeds, expected)
        assert mean == pytest.approx(np.mean(expected))
        assert own[-1].ends is not None
        assert own[-1].ends[0][0] < mean < own[-1].ends[1][0]


def test_the_papers_effect_is_a_line_in_the_panel_of_the_outcome_alone(tmp_path: Path) -> None:
    rows = model_rows({"glove": [0.5, 0.6, 0.4], "misp": [0.4, 0.5, 0.1], "hard": [0.3, 0.1, 0.2]})
    panels = paired_panels([*rows, *paired_differences(rows, outcome="nouns")])

    def dashed(measure: str, setting: str) -> list[float]:
        panel = differences_panel(panels[measure, setting], ("misp", "hard"))
        return [path.places[0][0] for path in panel.paths if path.css == "grid effect"]

    assert dashed("mab-error", "nouns") == pytest.approx([-0.13])  # 26 % of GloVe's mean, .5
    assert not dashed("mab-error", "pronouns")
    assert not dashed("mab-distance", "nouns")
    for outcome in (None, "nouns"):
        path = tmp_path / f"{outcome}.svg"
        save_study(path, [*rows, *paired_differences(rows, outcome=outcome)])
        assert ("26 % of glove's E" in path.read_text(encoding="utf-8")) == (outcome is not None)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_a_figure_is_written_whole(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"study.{kind}"
    save_study(path, study(3))
    assert path.stat().st_size > 5000
    if kind == "svg":
        text = path.read_text(encoding="utf-8")
        for phrase in ("misp", "glove.null", "E, nouns", "d, pronouns", "difference from glove"):
            assert phrase in text
        first = path.read_bytes()
        save_study(path, study(3))
        assert path.read_bytes() == first


def test_a_seed_that_one_arm_lacks_is_no_point() -> None:
    rows = model_rows({"glove": [0.5, 0.6, 0.4], "misp": [0.4, 0.5], "hard": [0.3, None, 0.2]})
    panels = paired_panels([*rows, *paired_differences(rows)])
    differences = {arm.name: dict(arm.by_seed) for arm in panels["mab-error", "nouns"]}
    assert differences["misp"] == pytest.approx({0: -0.1, 1: -0.1})
    assert differences["hard"] == pytest.approx({0: -0.2, 2: -0.2})


@pytest.mark.parametrize("seeds", [0, 1])
def test_without_two_seeds_there_is_nothing_to_draw(tmp_path: Path, seeds: int) -> None:
    with pytest.raises(WordbiasError, match="nothing to draw: a difference needs two"):
        save_study(tmp_path / "x.svg", study(seeds))
    assert not list(tmp_path.iterdir())
