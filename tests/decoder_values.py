"""Where the values of a site are in the modules of each decoder, written down for the tests alone.

Nothing here reads the table of families: a test that compares with these functions compares the
table with the source of transformers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import numpy as np
import pytest
from tiny_decoders import build_decoder

from wordbias.methods.leace import Erasure
from wordbias.models.families import PARTS
from wordbias.models.hooks import Intervention, of_heads
from wordbias.models.sites import Site
from wordbias.subspace import Subspace

torch = pytest.importorskip("torch")

VOCABULARY = 40
KINDS = ("input", "query", "key", "value", "attention-output", "mlp-output", "tokens")
SITES = tuple(Site(kind, layer) for layer in (1, 2) for kind in KINDS)
KEY_HEADS = {"gpt2": 4, "gpt_neox": 4}
HEAD_SIZE = {"gemma3_text": 6, "qwen3": 6}
NORMED_OUTPUTS = ("gemma2", "gemma3_text")
"""Families with a norm between the attention or the MLP and the residual stream."""


@cache
def decoder(family: str) -> Any:
    """Return a decoder in float64, the same one for all tests; nobody may change it."""
    return build_decoder(family, VOCABULARY).double()


def heads_of(family: str, kind: str) -> int:
    return 4 if kind == "query" else KEY_HEADS.get(family, 2)


def width_of(family: str, kind: str) -> int:
    return heads_of(family, kind) * HEAD_SIZE.get(family, 4) if kind in PARTS else 16


def layer_of(family: str, model: Any, number: int) -> Any:
    path = {"gpt2": "transformer.h", "gpt_neox": "gpt_neox.layers"}.get(family, "model.layers")
    return model.get_submodule(path)[number - 1]


def final_norm(family: str, model: Any) -> Any:
    path = {
        "gpt2": "transformer.ln_f",
        "gpt_neox": "gpt_neox.final_layer_norm",
        "phi": "model.final_layernorm",
    }
    return model.get_submodule(path.get(family, "model.norm"))


def whole(x: Any) -> Any:
    return x


def place_of(family: str, model: Any, site: Site) -> tuple[Any, bool, Callable[[Any], Any]]:
    """Return a module, whether its input is meant, and a function to the part that is meant.

    The part of query, key and value is a view of shape ``(…, heads, size)``.
    """
    assert site.layer is not None
    layer = layer_of(family, model, site.layer)
    if site.kind == "input":
        return layer, True, whole
    if site.kind == "tokens":
        return (final_norm(family, model) if site.layer == 2 else layer), False, whole
    if site.kind == "attention-output":
        name = {"gpt2": "attn", "gpt_neox": "attention"}.get(family, "self_attn")
        name = "post_attention_layernorm" if family in NORMED_OUTPUTS else name
        return layer.get_submodule(name), False, whole
    if site.kind == "mlp-output":
        name = "post_feedforward_layernorm" if family in NORMED_OUTPUTS else "mlp"
        return layer.get_submodule(name), False, whole
    part, size = PARTS.index(site.kind), HEAD_SIZE.get(family, 4)
    if family == "gpt2":
        return layer.attn.c_attn, False, lambda x: x.split(16, -1)[part].unflatten(-1, (4, 4))
    if family == "gpt_neox":
        of_head = layer.attention.query_key_value
        return of_head, False, lambda x: x.unflatten(-1, (4, 3, 4))[..., part, :]
    if family == "phi3":
        every = layer.self_attn.qkv_proj
        return every, False, lambda x: x.split([16, 8, 8], -1)[part].unflatten(-1, (-1, 4))
    linear = layer.self_attn.get_submodule("qkv"[part] + "_proj")
    return linear, False, lambda x: x.unflatten(-1, (-1, size))


@contextmanager
def plain_hooks(
    family: str, model: Any, wanted: dict[Site, Callable[[Any], Any]]
) -> Iterator[None]:
    """Replace the parts at sites by functions of them, by hooks of torch."""
    with ExitStack() as stack:
        for site, change in wanted.items():
            module, entering, part = place_of(family, model, site)

            def after(_: Any, args: Any, out: Any, part: Any = part, change: Any = change) -> Any:
                x = (out[0] if isinstance(out, tuple) else out).clone()
                part(x).copy_(change(part(x)))
                return (x, *out[1:]) if isinstance(out, tuple) else x

            def before(
                _: Any, args: Any, named: Any, part: Any = part, change: Any = change
            ) -> Any:
                return (change(args[0]), *args[1:]), named

            handle = (
                module.register_forward_pre_hook(before, with_kwargs=True)
                if entering
                else module.register_forward_hook(after)
            )
            stack.callback(handle.remove)
        yield


def orthonormal(k: int, d: int, seed: int) -> Subspace:
    rng = np.random.default_rng(seed)
    return Subspace(np.linalg.qr(rng.normal(size=(d, k)))[0].T, rng.uniform(0.2, 0.9, k))


def subspace_at(family: str, site: Site, seed: int = 0) -> Subspace:
    """Return a subspace for a site; at query, key and value one direction of each head."""
    if site.kind in PARTS:
        size = HEAD_SIZE.get(family, 4)
        heads = range(heads_of(family, site.kind))
        return of_heads([orthonormal(1, size, seed + head) for head in heads])
    return orthonormal(2, 16, seed)


def by_hand(family: str, site: Site, seed: int, hard: bool) -> Callable[[Any], Any]:
    """Return the removal of `subspace_at` on the part that `place_of` gives, written out."""
    if site.kind in PARTS:
        heads = range(heads_of(family, site.kind))
        each = [orthonormal(1, HEAD_SIZE.get(family, 4), seed + head) for head in heads]
        g = torch.tensor(np.stack([head.basis[0] for head in each]))
        a = torch.tensor([1.0 if hard else head.weights[0] for head in each], dtype=torch.float64)
        return lambda x: x - ((x * g).sum(-1) * a)[..., None] * g
    subspace = orthonormal(2, 16, seed)
    g, a = torch.tensor(subspace.basis), torch.tensor(subspace.weights)
    return lambda x: (
        x - torch.einsum("...d,id,i,ie->...e", x, g, torch.ones_like(a) if hard else a, g)
    )


def interventions(family: str, wanted: tuple[Site, ...], hard: bool) -> list[Intervention]:
    return [
        Intervention(site, subspace_at(family, site, 10 * i), hard) for i, site in enumerate(wanted)
    ]


def erasure_at(family: str, site: Site, seed: int = 0) -> Erasure:
    """Return an affine map for a site that moves even the zero vector."""
    rng = np.random.default_rng(seed)
    d = width_of(family, site.kind)
    return Erasure(rng.normal(size=(d, 2)) / 4, rng.normal(size=(2, d)) / 4, rng.normal(size=d))


def rounding(x: Any) -> float:
    """Allow for the rounding of some thousand operations on values of this size."""
    return 4096 * torch.finfo(x.dtype).eps * max(1.0, float(x.abs().max()))


def texts(n: int = 2, length: int = 5, seed: int = 1) -> Any:
    """Return token ids, shorter than any window of attention."""
    return torch.randint(1, VOCABULARY, (n, length), generator=torch.Generator().manual_seed(seed))
