"""The figure of the experiment: what is drawn, and that a file is whole or not there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wordbias import Report, WordbiasError
from wordbias.biographies.results import AFTER, BEFORE, COMPRESSED, GAPS
from wordbias.biographies.summary import Summary
from wordbias.pages.bios_plots import draw_compression_fairness, plot_compression_fairness
from wordbias.results import Row

Figure = pytest.importorskip("matplotlib.figure").Figure
PathCollection = pytest.importorskip("matplotlib.collections").PathCollection
X = {"none": [4.0, 4.5, 3.5], "scrub": [1.5, 1.7, 1.6]}


pytestmark = pytest.mark.usefixtures("usual_numerics")


def rows(*, undefined: str = "") -> list[Row]:
    made = []
    for i, (name, compression) in enumerate(X.items()):
        for seed, x in enumerate(compression):
            about = {"seed": seed, "view": "own"}
            vectors = {**about, "stage": "representation", "set": "all"}
            made.append(Row(name, COMPRESSED.measure, x, vectors))
            for stage, factor in ((BEFORE, 1.0), (AFTER, 2.0)):
                for metric in GAPS:
                    value = None if metric.set == undefined else factor * (x + i + seed)
                    details = {**about, "stage": stage, "set": metric.set}
                    made.append(Row(name, metric.measure, value, details))
    return made


def save(path: Path, given: list[Row]) -> None:
    Report("bios", {}, rows=given, picture=plot_compression_fairness).save(path)


def test_a_run_is_two_marks_above_each_other() -> None:
    found = Summary.of(rows())
    axes = draw_compression_fairness(Figure().subplots(), found, GAPS[1])
    marks = [c for c in axes.collections if isinstance(c, PathCollection)]
    before, after = marks[0::2], marks[1::2]
    for i, name in enumerate(X):
        x = np.array(X[name])
        y = x + i + np.arange(3)
        assert before[i].get_offsets().data == pytest.approx(np.column_stack([x, y]))
        assert after[i].get_offsets().data == pytest.approx(np.column_stack([x, 2 * y]))
        assert len(before[i].get_facecolor()) == 0  # empty
        assert after[i].get_facecolor()[:, :3] == pytest.approx(before[i].get_edgecolor()[:, :3])
        assert after[i].get_label() == name
    colours = {tuple(mark.get_edgecolor()[0]) for mark in after}
    assert len(colours) == len(X)


def test_the_lines_are_those_of_least_squares() -> None:
    found = Summary.of(rows())
    axes = draw_compression_fairness(Figure().subplots(), found, GAPS[1])
    x = np.concatenate(list(X.values()))
    y = np.concatenate([np.array(v) + i + np.arange(3) for i, v in enumerate(X.values())])
    fits = {line.get_label(): line for line in axes.lines if line.get_label()[:3] == "fit"}
    assert set(fits) == {"fit, before (empty)", "fit, after (filled)"}
    for line, factor in zip(fits.values(), (1, 2), strict=True):
        design = np.column_stack([np.ones(6), x])
        level, slope = np.linalg.lstsq(design, factor * y, rcond=None)[0]
        ends = np.array([x.min(), x.max()])
        assert line.get_xdata() == pytest.approx(ends)
        assert line.get_ydata() == pytest.approx(level + slope * ends)
    r2 = np.corrcoef(x, y)[0, 1] ** 2
    titles = {axes.get_title(), axes.get_title(loc="left")}
    assert f"R² {r2:.2f} before, {r2:.2f} after" in titles


def test_without_enough_runs_there_is_no_line() -> None:
    few = [row for row in rows() if row.details["seed"] == 0]
    axes = draw_compression_fairness(Figure().subplots(), Summary.of(few), GAPS[1])
    assert not [line for line in axes.lines if line.get_label()[:3] == "fit"]
    assert "R² undefined" in {axes.get_title(), axes.get_title(loc="left")}


@pytest.mark.parametrize("suffix", [".png", ".SVG", ".pdf"])
def test_files_are_written_and_the_same_again(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"figure{suffix}"
    save(file, rows())
    first = file.read_bytes()
    assert first[:4] == {".png": b"\x89PNG", ".SVG": b"<?xm", ".pdf": b"%PDF"}[suffix]
    if suffix != ".pdf":
        save(file, rows())
        assert file.read_bytes() == first
    assert list(tmp_path.iterdir()) == [file]


def test_a_panel_is_a_metric_that_is_defined(tmp_path: Path) -> None:
    file = tmp_path / "figure.svg"
    save(file, rows(undefined="pearson"))
    text = file.read_text()
    assert ">TPR gap (S)<" in text
    assert ">TPR gap (P)<" not in text
    for name in X:
        assert f">{name}<" in text


def test_nothing_to_draw(tmp_path: Path) -> None:
    file = tmp_path / "figure.png"
    vectors = [row for row in rows() if row.details["stage"] == "representation"]
    for given in (vectors, []):
        with pytest.raises(WordbiasError, match=r"^no run has both a compression and"):
            save(file, given)
    assert not list(tmp_path.iterdir())
