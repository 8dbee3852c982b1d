"""Figures of MDL probing: what the legend shows is what is drawn."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from wordbias.probes.mdl import CODELENGTH, TASK
from wordbias.results import Row

pytest.importorskip("matplotlib", reason="the figure is drawn with it")

from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from wordbias.pages.plots import draw_panel
from wordbias.pages.probe_plots import input_panel, layer_panel


def rows(layers: Sequence[int]) -> list[Row]:
    about = {"set": TASK, "classes": 2, "block_ends": [[10, 20, 40]]}
    return [
        Row("bert", CODELENGTH, 1.0, {**about, "layer": i, "block_bits": [[10, 8 - i / 9, 9]]})
        for i in layers
    ]


@pytest.mark.parametrize("layers", [(0, 6), (0, 3, 11), (0, 1, 12), tuple(range(13))])
def test_the_legend_has_the_colours_of_the_lines(layers: tuple[int, ...]) -> None:
    axes = Figure().subplots()
    draw_panel(axes, layer_panel(rows(layers)))
    lines = [to_rgba(line.get_color()) for line in axes.lines if len(line.get_xdata()) > 1]
    marks = axes.get_legend().legend_handles
    named = {
        text.get_text(): mark for text, mark in zip(axes.get_legend().texts, marks, strict=True)
    }
    assert [*named] == [*(f"layer {layer}" for layer in layers), "without a model"]
    assert [to_rgba(mark.get_color()) for mark in named.values()] == lines
    assert len(set(lines)) == len(layers) + 1
    assert [text.get_text() for text in axes.get_xticklabels()] == ["10", "20"]


def test_a_legend_of_many_layers_names_some() -> None:
    named = [name for name, _ in layer_panel(rows(range(25))).legend]
    assert named == [*(f"layer {layer}" for layer in range(0, 25, 2)), "without a model"]


def test_seeds_of_other_blocks_have_a_line_each() -> None:
    (row,) = rows([0])
    blocks = {"block_ends": [[10, 20, 40], [10, 40]], "block_bits": [[10, 8, 9], [10, 15]]}
    panel = input_panel([Row(row.subject, row.measure, 1.0, {**row.details, **blocks})])
    assert [[round(y, 2) for _, y in path.places] for path in panel.paths[:2]] == [
        [0.8, 0.45],
        [0.5],
    ]
    assert not panel.dots
