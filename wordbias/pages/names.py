"""Where names beside points go, so that they cover as little as possible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_MARK = 3.5  # points around a mark to keep free
_STEPS = 8  # boxes that stand for a line
_PASSES = 3  # times that all names are placed again
_GAPS = {4.0: 0.0, 9.0: 0.03, 16.0: 0.08, 24.0: 0.14, 34.0: 0.22}  # points: price
_SIDES = {(1, 0): 0.0, (-1, 0): 0.01, (0, 1): 0.02, (0, -1): 0.02} | {
    (dx, dy): 0.03 for dy in (1, -1) for dx in (1, -1)
}


def name_offsets(
    sizes: NDArray[np.float64], marks: NDArray[np.float64], frame: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Choose where names go, (n, 2), relative to their marks, to cover as little as possible."""
    # A box is x0, y0, x1, y1 in points, y upwards; that of a name is relative to its mark.
    blocked = np.hstack([marks - _MARK, marks + _MARK])
    offsets = np.zeros((len(marks), 2))
    placed: dict[int, NDArray[np.float64]] = {}
    for i in [*_crowded_first(marks), *list(range(len(marks))) * _PASSES]:
        others = [boxes for j, boxes in placed.items() if j != i]
        taken = np.vstack([np.delete(blocked, i, axis=0), *others])
        offsets[i] = _offset(sizes[i], marks[i], taken, frame)
        box = sizes[i] + np.tile(marks[i] + offsets[i], 2)
        placed[i] = np.vstack([box, _line_boxes(marks[i], box)])
    return offsets


def _crowded_first(marks: NDArray[np.float64]) -> list[int]:
    """Order marks by the sum of the distances to their nearest ones, the most crowded first."""
    gaps = np.hypot(*(marks[:, None] - marks[None]).T)
    order: list[int] = np.argsort(np.sort(gaps, axis=1)[:, :4].sum(1), kind="stable").tolist()
    return order


def _line_boxes(mark: NDArray[np.float64], box: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cover the line from a mark to its name, ``(…, 4)``, with boxes, shape ``(…, _STEPS, 4)``."""
    end = np.clip(mark, box[..., :2], box[..., 2:])
    along = mark + np.linspace(0, 1, _STEPS)[:, None] * (end - mark)[..., None, :]
    return np.concatenate([along - 1, along + 1], axis=-1)


def _offset(
    size: NDArray[np.float64],
    mark: NDArray[np.float64],
    taken: NDArray[np.float64],
    frame: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Choose among places around a mark; `size` is the name's box relative to the mark."""
    width, height = size[2:] - size[:2]
    places = np.array(
        [
            [dx * (gap + 1) + width * (dx - 1) / 2, dy * gap + height * (dy - 1) / 2 + 1]
            for gap in _GAPS
            for dx, dy in _SIDES
        ]
    )
    boxes = size + np.tile(mark + places, 2)
    covered = _covered(boxes[:, None], taken).sum(1) / (width * height)
    outside = 1 - _covered(boxes, frame) / (width * height)
    lines = _covered(_line_boxes(mark, boxes)[:, :, None], taken).sum((1, 2))
    price = np.add.outer(list(_GAPS.values()), list(_SIDES.values())).ravel()
    best = np.argmin(2 * covered + 4 * outside + lines / (4 * _STEPS) + price)
    chosen: NDArray[np.float64] = places[best]
    return chosen


def _covered(boxes: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the areas that boxes ``(…, [x0, y0, x1, y1])`` share with others; they broadcast."""
    x0, y0, x1, y1 = np.moveaxis(boxes, -1, 0)
    u0, v0, u1, v1 = np.moveaxis(others, -1, 0)
    width = np.maximum(np.minimum(x1, u1) - np.maximum(x0, u0), 0)
    height = np.maximum(np.minimum(y1, v1) - np.maximum(y0, v0), 0)
    return np.asarray(width * height)


def shown_names(boxes: NDArray[np.float64], strong: Sequence[bool]) -> list[int]:
    """Choose names that do not overlap, of boxes (n, [x0, y0, x1, y1]), the strong ones first."""
    chosen: list[int] = []
    for i in sorted(range(len(boxes)), key=lambda i: not strong[i]):
        low = np.maximum(boxes[i, :2], boxes[chosen, :2])
        high = np.minimum(boxes[i, 2:], boxes[chosen, 2:])
        if not (high > low).all(axis=1).any():
            chosen.append(i)
    return sorted(chosen)
