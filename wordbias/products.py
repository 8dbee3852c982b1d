"""Products of matrices: in bfloat16 on request, by oneDNN where that is the faster library.

On processors with AVX-512 that are not Intel's, MKL, which torch uses, computes with half of their
width. So oneDNN is used with AVX-512; on Intel's the two were not compared. Its products have no
public name in torch; where that name is missing, torch's own are used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional
from torch.overrides import TorchFunctionMode

LEAST = 1 << 22
"""Multiplications of a product below which calling oneDNN takes longer than it saves."""


def products(device: str | torch.device, *, half: bool = False) -> AbstractContextManager[Any]:
    """Return a context for calls of models on a device; parameters stay as they are."""
    kind = torch.device(device).type
    if half:
        return torch.autocast(kind, dtype=torch.bfloat16)
    is_fast = kind == "cpu" and has_one_dnn() and bool(torch.backends.mkldnn.enabled)
    return _ByOneDNN() if is_fast else nullcontext()


def has_fast_products(x: Tensor) -> bool:
    """Return whether oneDNN multiplies a tensor faster than torch does."""
    return (
        x.device.type == "cpu"
        and (x.dtype == torch.float32 or (x.dtype == torch.bfloat16 and _has_half()))
        and has_one_dnn()
    )


@cache
def has_one_dnn() -> bool:
    """Return whether the processor has AVX-512, and torch has oneDNN's products."""
    return (
        torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and torch.backends.cpu.get_cpu_capability() == "AVX512"
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    )


@cache
def _has_half() -> bool:
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def fast_product(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, then: str = "none"
) -> Tensor:
    """Return x Wᵀ + b by oneDNN, for x of shape ``(…, n)`` and W of shape ``(m, n)``."""
    # `then` is "relu" or "none"
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, then, [], "")
    return product


class _ByOneDNN(TorchFunctionMode):
    """Context in which large linear layers are computed by oneDNN, also in the backward pass."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is functional.linear and not kwargs and _is_fit(*args):
            return _Linear.apply(*args)  # type: ignore[no-untyped-call]
        return func(*args, **(kwargs or {}))


def _is_fit(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> bool:
    # types that torch does not know as its own have products of their own
    return (
        type(x) is Tensor
        and type(weight) in (Tensor, nn.Parameter)
        and x.dtype == weight.dtype == torch.float32
        and x.device.type == weight.device.type == "cpu"
        and weight.layout == torch.strided
        and x.numel() * len(weight) >= LEAST
        and not torch.is_autocast_enabled("cpu")
    )


class _Linear(torch.autograd.Function):
    """y = x Wᵀ + b, for x of shape ``(…, n)`` and W of shape ``(m, n)``."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return fast_product(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        rows = grad.reshape(-1, grad.shape[-1])  # (N, m)
        of_x = of_weight = of_bias = None
        if ctx.needs_input_grad[0]:
            of_x = fast_product(rows, weight.T).view_as(x)
        if ctx.needs_input_grad[1]:
            of_weight = fast_product(rows.T, x.reshape(-1, x.shape[-1]).T)  # (m, n)
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            of_bias = rows.sum(0)
        return (of_x, of_weight, of_bias)[: len(ctx.needs_input_grad)]
