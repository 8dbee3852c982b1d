"""The networks and losses of gender-preserving debiasing, against plain loops in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wordbias.methods.gender_preserving.networks import (
    Layer,
    Networks,
    TanhEncoder,
    by_name,
    classifier_loss,
    copied,
    debiasing_terms,
    difference_vector,
    dropped,
    from_names,
    initial_networks,
    reconstruction_loss,
)

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")

Float = NDArray[np.float64]
D = 6
ROUNDING = 1e3 * np.finfo(float).eps  # sums of fewer than 1000 terms of order one in float64


def _generator(seed: int = 0) -> Any:
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def networks() -> Networks:
    drawn = by_name(initial_networks(D, _generator()))
    return from_names({name: 3 * tensor.double() for name, tensor in drawn.items()})


def _normal(*shape: int) -> Any:
    return torch.tensor(np.random.default_rng(len(shape)).normal(size=shape))


def _layer(layer: Layer, x: Float) -> Float:
    weight, bias = (tensor.numpy() for tensor in layer)
    return np.array([sum(x[i] * weight[i] for i in range(len(x))) + bias])[0]


def _encode(networks: Networks, x: Float) -> Float:
    return np.tanh(_layer(networks.encoder, x))


def _decode(networks: Networks, h: Float) -> Float:
    return np.tanh(_layer(networks.decoder, h))


def test_the_reconstruction_loss_is_the_mean_squared_error(networks: Networks) -> None:
    x, seen = _normal(5, D), _normal(5, D) + 1
    errors = [
        (_decode(networks, _encode(networks, b)) - a) ** 2
        for a, b in zip(x.numpy(), seen.numpy(), strict=True)
    ]
    loss = reconstruction_loss(networks, x, seen).item()
    assert loss == pytest.approx(np.mean(errors), rel=ROUNDING)


def test_the_classifier_loss_is_squared_for_each_classifier(networks: Networks) -> None:
    hidden, gold = _normal(7, D), (_normal(7, 2) > 0).double()
    probs = 1 / (1 + np.exp(-np.array([_layer(networks.classifiers, h) for h in hidden.numpy()])))
    expected = ((probs - gold.numpy()) ** 2).mean(0)
    np.testing.assert_allclose(classifier_loss(networks, hidden, gold), expected, rtol=ROUNDING)


def test_the_difference_vector_points_from_the_first_to_the_second_group(
    networks: Networks,
) -> None:
    pairs = _normal(4, 2, D)
    gaps = [_encode(networks, m) - _encode(networks, f) for f, m in pairs.numpy()]
    difference = difference_vector(networks, pairs)
    np.testing.assert_allclose(difference, np.mean(gaps, axis=0), atol=ROUNDING)


def test_no_gradient_passes_through_the_difference_vector(networks: Networks) -> None:
    networks.encoder.weight.requires_grad_()
    assert not difference_vector(networks, _normal(4, 2, D)).requires_grad


def test_the_main_loss(networks: Networks) -> None:
    x, v = _normal(3, 4, D), _normal(D)
    seen = x + 0.1
    terms = debiasing_terms(networks, x, seen, v)
    reconstruction, entropy, along = [], [], []
    for words, noisy in zip(x.numpy(), seen.numpy(), strict=True):
        hidden = [_encode(networks, word) for word in noisy]
        for word, h in zip(words, hidden, strict=True):
            reconstruction.append((_decode(networks, h) - word) ** 2)
        probs = [1 / (1 + np.exp(-_layer(networks.classifiers, h))) for h in hidden]
        first = -np.log([probs[0][0], 1 - probs[1][0], 1 - probs[2][0], 1 - probs[3][0]])
        second = -np.log([1 - probs[0][1], probs[1][1], 1 - probs[2][1], 1 - probs[3][1]])
        entropy.append([first.mean(), second.mean()])
        along.append([(v.numpy() @ hidden[2]) ** 2, (v.numpy() @ hidden[3]) ** 2])
    assert terms.reconstruction.item() == pytest.approx(np.mean(reconstruction), rel=ROUNDING)
    np.testing.assert_allclose(terms.classification, np.mean(entropy, axis=0), rtol=ROUNDING)
    np.testing.assert_allclose(terms.along, np.mean(along, axis=0), rtol=ROUNDING)
    total = np.mean(reconstruction) + 0.3 * (np.mean(entropy, 0).sum() + np.mean(along, 0).sum())
    assert terms.total(0.3).item() == pytest.approx(total, rel=ROUNDING)


def test_the_main_loss_of_several_quadruples_is_the_mean_of_theirs(networks: Networks) -> None:
    x, v = _normal(3, 4, D), _normal(D)
    whole = debiasing_terms(networks, x, x, v).total(0.5).item()
    each = [debiasing_terms(networks, batch, batch, v).total(0.5).item() for batch in x.split(1)]
    assert whole == pytest.approx(np.mean(each), rel=ROUNDING)


def test_every_term_trains_its_own_networks(networks: Networks) -> None:
    tensors = {name: t.requires_grad_() for name, t in by_name(copied(networks)).items()}
    terms = debiasing_terms(from_names(tensors), x := _normal(2, 4, D), x, _normal(D))
    reached = {
        "reconstruction": {"encoder", "decoder"},
        "classification": {"encoder", "classifiers"},
        "along": {"encoder"},
    }
    for term, parts in reached.items():
        gradients = torch.autograd.grad(
            getattr(terms, term).sum(), tensors.values(), retain_graph=True, allow_unused=True
        )
        pulled = {
            name.partition(".")[0]
            for name, gradient in zip(tensors, gradients, strict=True)
            if gradient is not None and gradient.abs().sum() > 0
        }
        assert pulled == parts


def test_dropout_keeps_the_mean() -> None:
    x, rate = torch.ones(400, 500), 0.05
    noisy = dropped(x, rate, _generator())
    eps = float(np.finfo(np.float32).eps)
    np.testing.assert_allclose(noisy[noisy != 0], 1 / (1 - rate), rtol=2 * eps)
    sigma = (rate * (1 - rate) / x.numel()) ** 0.5
    assert (noisy == 0).float().mean().item() == pytest.approx(rate, abs=5 * sigma)
    assert x.eq(1).all()


def test_dropout_is_drawn_from_the_generator() -> None:
    x = _normal(50, 20)
    noisy, same, other = (dropped(x, 0.5, _generator(seed)) for seed in (1, 1, 2))
    assert torch.equal(noisy, same)
    assert not torch.equal(noisy, other)
    assert torch.equal(dropped(x, 0.0, _generator()), x)


def test_weights_start_as_those_of_torch() -> None:
    d = 40
    drawn = by_name(initial_networks(d, _generator()))
    for name, tensor in drawn.items():
        assert tensor.abs().max() <= d**-0.5, name
    weight = drawn["encoder.weight"]
    # the uniform distribution's variance, and five standard errors of it (its kurtosis is 9/5)
    variance = 1 / (3 * d)
    error = variance * (0.8 / weight.numel()) ** 0.5
    assert weight.var().item() == pytest.approx(variance, abs=5 * error)
    redrawn = by_name(initial_networks(d, _generator()))
    assert all(torch.equal(drawn[name], redrawn[name]) for name in drawn)


def test_a_copy_is_not_changed_by_training_the_original(networks: Networks) -> None:
    copy = copied(networks)
    before = {name: tensor.numpy().copy() for name, tensor in by_name(copy).items()}
    for tensor in by_name(networks).values():
        tensor += 1
    for name, tensor in by_name(copy).items():
        np.testing.assert_array_equal(tensor, before[name])


def test_the_step_is_the_encoder_without_dropout() -> None:
    d, eps = 100, float(np.finfo(np.float32).eps)
    networks = initial_networks(d, _generator())
    weight, bias = (tensor.numpy() for tensor in networks.encoder)
    x = np.random.default_rng(0).normal(size=(50, d)).astype(np.float32)
    encoded = TanhEncoder(weight, bias)(x)
    expected = networks.encode(torch.tensor(x)).numpy()
    # tanh does not lengthen differences; either sum is off by d + 1 roundings of its terms' sizes
    slack = 2 * (d + 2) * eps * (np.abs(x) @ np.abs(weight) + np.abs(bias)) + 4 * eps
    assert encoded.dtype == np.float32
    assert (np.abs(encoded - expected) <= slack).all()


def test_names_and_back(networks: Networks) -> None:
    rebuilt = from_names(by_name(networks))
    assert all(
        a is b for a, b in zip(by_name(rebuilt).values(), by_name(networks).values(), strict=True)
    )
    assert list(by_name(networks))[:2] == ["encoder.weight", "encoder.bias"]
