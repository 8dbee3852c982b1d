"""What was fitted, in the array library, float type and device of what it is applied to."""

from __future__ import annotations

from typing import Any


def like(values: Any, x: Any) -> Any:
    """Return an array or tensor in the library, dtype and device of `x`.

    Integers are met with float64. What fits already is returned as it is, not copied. A tensor is
    told by what it can do, without importing torch.
    """
    if hasattr(x, "new_tensor"):
        # a copy, for torch does not take arrays that are read-only
        return values.to(x) if hasattr(values, "new_tensor") else x.new_tensor(values.copy())
    if hasattr(values, "new_tensor"):
        values = values.detach().cpu().double().numpy()
    return values.astype(x.dtype if x.dtype.kind == "f" else float, copy=False)
