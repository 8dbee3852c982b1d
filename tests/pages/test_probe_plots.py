"""Figures of MDL probing: what the legend shows is what is drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from wordbias.probes.mdl import CODELENGTH, TASK
from wordbias.results import Row

pytest.importorskip("matplotlib", reason="the figure is drawn with it")

from matplotlib.collections import QuadMesh
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from wordbias.pages.probe_plots import draw_layers


def rows(layers: Sequence[int]) -> list[Row]:
    about = {"set": TASK, "classes": 2, "block_ends": [[10, 20, 40]]}
    return [
        Row("bert", CODELENGTH, 1.0, {**about, "layer": i, "block_bits": [[10, 8 - i / 9, 9]]})
        for i in layers
    ]


@pytest.mark.parametrize("layers", [(0, 6), (0, 3, 11), (0, 1, 12), tuple(range(13))])
def test_the_scale_has_the_colours_of_the_lines(layers: tuple[int, ...]) -> None:
    figure = Figure()
    axes = draw_layers(figure.subplots(), rows(layers))
    figure.draw_without_rendering()
    lines = [to_rgba(line.get_color()) for line in axes.lines if line.get_marker() == "o"]
    scale = figure.axes[1]
    (mesh,) = (part for part in scale.collections if isinstance(part, QuadMesh))
    np.testing.assert_allclose(mesh.to_rgba(mesh.get_array()).reshape(-1, 4), lines)
    assert len(set(lines)) == len(layers)
    named = [tick.get_text() for tick in scale.get_yticklabels()]
    assert named == [str(layer) for layer in layers]
    places = scale.get_yticks()
    ends = mesh.get_coordinates()[:, 0, 1]
    assert all(low < place < high for low, place, high in zip(ends, places, ends[1:], strict=False))
