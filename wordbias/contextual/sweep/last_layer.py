"""The last layer where only position 0 of its output is read.

There is one query, so that keys and values of the tokens are not needed: with q the query of a
head, k_t = W_k h_t + b_k and a the attention over tokens t,

    q · k_t = (W_kᵀ q) · h_t + q · b_k,        Σ_t a_t v_t = W_v (Σ_t a_t h_t) + b_v,

and q · b_k, the same for all t, does not change a. A removal P at the tokens that come in, a
symmetric map, moves to where there is one vector a head: x · (P h_t) = (P x) · h_t, and
Σ_t a_t P h_t = P Σ_t a_t h_t. So any number of removals cost one product with the same tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from wordbias.contextual.families import Family, family_of, head_count
from wordbias.contextual.sweep.prefix import Call
from wordbias.contextual.sweep.removing import Chain, removed, removed_each


def quick_family(model: Any) -> Family | None:
    """Return the family of a model whose last layer can be computed at position 0 alone, or None.

    It cannot where the family's record does not say how it goes on, or where this model's scores
    depend on more than its queries and keys, or a layer is several.
    """
    config, family = model.config, family_of(model)
    plain = getattr(config, "position_embedding_type", "absolute") in ("absolute", None)
    inner = getattr(config, "inner_group_num", 1) == 1
    causal = getattr(config, "is_decoder", False)
    return family if family.finish is not None and plain and inner and not causal else None


def rows_alone(
    model: Any,
    family: Family,
    last: Call,
    hidden: Tensor,
    mask: Tensor,
    chains: Sequence[Chain],
) -> Tensor:
    """Return what the last layer puts out at position 0.

    Parameters
    ----------
    family
        What `quick_family` says of the model.
    last
        How the layer is called.
    hidden
        What comes in, shape ``(B, T, d)``.
    mask
        1 for tokens, 0 for padding, shape ``(B, T)``.
    chains
        V sequences of removals at `hidden`.

    Returns
    -------
    Tensor
        Shape ``(V, B, d)``.
    """
    parts = [last.layer.get_submodule(path) for path in family.parts]
    query, key, value = parts
    heads, (batch, _, d) = head_count(model), hidden.shape
    size = query.out_features // heads
    x = torch.stack(removed_each([hidden[:, 0]] * len(chains), chains))  # (V, B, d)
    q = query(x).view(len(chains), batch, heads, size) / size**0.5
    u = torch.einsum("vbhs,hsd->vbhd", q, _by_head(key, heads))
    u = torch.stack(removed_each(u, [chain[::-1] for chain in chains]), 1)  # (B, V, heads, d)
    scores = u.flatten(1, 2) @ hidden.transpose(1, 2)  # (B, V · heads, T)
    scores = scores + _bias(family, last, mask, len(chains), scores.dtype)
    gathered = (scores.softmax(-1) @ hidden).view(batch, len(chains), heads, d).transpose(0, 1)
    gathered = torch.stack(removed_each(gathered, chains))
    context = torch.einsum("vbhd,hsd->vbhs", gathered, _by_head(value, heads)).flatten(2)
    context = context if value.bias is None else context + value.bias
    assert family.finish is not None
    return family.finish(last.layer, context.flatten(0, 1), x.flatten(0, 1)).view(x.shape)


def rows_of_whole(last: Call, hidden: Tensor, chains: Sequence[Chain]) -> Tensor:
    """Return the same as `rows_alone` by running the layer once a chain."""
    return torch.stack([last.again(removed(hidden, chain))[:, 0] for chain in chains])


def _by_head(linear: nn.Linear, heads: int) -> Tensor:
    return linear.weight.view(heads, -1, linear.in_features)


def _bias(family: Family, last: Call, mask: Tensor, copies: int, dtype: torch.dtype) -> Tensor:
    """Return what is added to the scores, of a shape that fits ``(B, V · heads, T)``."""
    padding = torch.zeros(mask.shape, dtype=dtype, device=mask.device)
    padding = padding.masked_fill(mask == 0, -torch.inf)[:, None]
    if not family.bias:
        return padding
    own: Tensor = last.argument(family.bias)[:, :, 0]  # (B, heads, T)
    return padding + own.repeat(1, copies, 1)
