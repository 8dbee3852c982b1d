"""Training of a last layer: against logistic regression, and against a plain loop of torch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wordbias.biographies.plan import FROZEN, HEAD, WHOLE, Recipe
from wordbias.errors import WordbiasError

torch = pytest.importorskip("torch")

from wordbias.biographies.classifier import (  # noqa: E402
    Fitted,
    Labelled,
    new_head,
    predict,
    train_head,
)
from wordbias.classifier_training import (  # noqa: E402
    bucketed,
    schedule,
)


def overlapping(n: int = 240, d: int = 5, classes: int = 3, seed: int = 0) -> Labelled:
    """Examples of classes that no layer tells apart wholly, so that the best one is finite."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    x = rng.standard_normal((n, d)) + 0.4 * rng.standard_normal((classes, d))[y]
    return Labelled(x.astype(np.float32), y)


def parameters(head: Any) -> tuple[Any, Any]:
    return head.weight.detach().numpy().astype(float), head.bias.detach().numpy().astype(float)


def loss_and_gradient(x: Any, y: Any, w: Any, b: Any) -> tuple[float, Any, Any]:
    """Mean cross entropy in nats, its gradient and its Hessian in (W, b), from the definition."""
    ones = np.concatenate([x.astype(float), np.ones((len(x), 1))], 1)
    z = ones @ np.concatenate([w, b[:, None]], 1).T
    z = z - z.max(1, keepdims=True)
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    hot = np.eye(len(b))[y]
    gradient = (p - hot).T @ ones / len(x)
    d = ones.shape[1]
    hessian = np.zeros((len(b) * d, len(b) * d))
    for row, share in zip(ones, p, strict=True):
        hessian += np.kron(np.diag(share) - np.outer(share, share), np.outer(row, row)) / len(x)
    return float(-np.log(p[np.arange(len(y)), y]).mean()), gradient, hessian


@pytest.mark.slow
def test_training_ends_at_the_optimum_of_logistic_regression() -> None:
    """Cross entropy is convex: near its minimum f - f* ≤ ‖gradient‖² / 2μ, μ the least curvature.

    Adding the same to all classes changes nothing: μ is the least eigenvalue but for these d + 1.
    """
    from sklearn.linear_model import LogisticRegression

    data = overlapping()
    recipe = Recipe(epochs=600, batch=len(data.labels), rate=0.05, decay=0.0)
    w, b = parameters(_last(data, recipe))
    known = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000)
    known.fit(data.vectors.astype(float), data.labels)
    best, _, hessian = loss_and_gradient(*data, known.coef_, known.intercept_)
    ours, gradient, _ = loss_and_gradient(*data, w, b)
    mu = np.linalg.eigvalsh(hessian)[data.vectors.shape[1] + 1]
    assert mu > 0.01
    bound = (gradient**2).sum() / (2 * mu)
    assert -1e-9 <= ours - best <= 2 * bound + 1e-9
    assert bound < 1e-6
    far = np.linalg.norm(gradient) / mu * np.linalg.norm(data.vectors, axis=1).max() * 2 + 1e-6
    z = known.decision_function(data.vectors.astype(float))
    top = np.sort(z, axis=1)
    clear = top[:, -1] - top[:, -2] > 2 * far
    assert clear.mean() > 0.95
    own = (data.vectors @ w.T + b).argmax(1)
    assert np.array_equal(own[clear], z.argmax(1)[clear])


def _last(data: Labelled, recipe: Recipe) -> Any:
    """Train, and return the parameters of the last step instead of the most accurate ones."""
    from wordbias import classifier_training

    last = {}
    inner = classifier_training.train

    def recording(model: Any, *rest: Any, **more: Any) -> Any:
        fitted = inner(model, *rest, **more)
        last.update({name: tensor.clone() for name, tensor in model.state_dict().items()})
        return fitted

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classifier_training, "train", recording)
        head = train_head(data, data, int(data.labels.max()) + 1, recipe).head
    with torch.no_grad():
        head.weight.copy_(last["head.weight"][0])
        head.bias.copy_(last["head.bias"][0])
    return head


@pytest.mark.slow
def test_separable_classes_are_separated() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=200)
    x = rng.standard_normal((200, 4)).astype(np.float32)
    x[:, 0] = (2 * y - 1) * (0.5 + rng.random(200))
    fitted = train_head(Labelled(x, y), Labelled(x, y), 2, replace(HEAD, epochs=200, rate=0.02))
    assert fitted.accuracy == 1
    assert np.array_equal(predict(fitted.head, x), y)
    direction = np.diff(parameters(fitted.head)[0], axis=0)[0]
    assert abs(direction[0]) == np.abs(direction).max()


def reference(data: Labelled, recipe: Recipe, classes: int) -> tuple[Any, Any]:
    """The training loop written again, with torch's AdamW unfused and a group by hand."""
    head = new_head(data.vectors.shape[1], classes, recipe.seed)
    x, y = torch.from_numpy(data.vectors), torch.from_numpy(data.labels)
    if recipe.plain:
        optimizer = torch.optim.AdamW(head.parameters(), lr=recipe.rate, weight_decay=recipe.decay)
    else:
        groups = [{"params": [head.weight], "weight_decay": recipe.decay}]
        groups.append({"params": [head.bias], "weight_decay": 0.0})
        optimizer = torch.optim.AdamW(groups, lr=recipe.rate)
    total = recipe.epochs * -(-len(y) // recipe.batch)
    step = 0
    for epoch in range(recipe.epochs):
        rng = np.random.default_rng([recipe.seed, epoch])
        for rows in bucketed(np.zeros(len(y), np.intp), recipe.batch, rng):
            if not recipe.plain:
                for group in optimizer.param_groups:
                    group["lr"] = recipe.rate * schedule(step, total, recipe.warmup)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(head(x[rows]), y[rows]).backward()
            if not recipe.plain:
                torch.nn.utils.clip_grad_norm_(head.parameters(), recipe.clip)
            optimizer.step()
            step += 1
    return parameters(head)


@pytest.mark.parametrize("plain", [False, True])
def test_training_equals_a_plain_loop_of_torch(plain: bool) -> None:
    data = overlapping(n=100)
    recipe = Recipe(epochs=3, batch=16, rate=0.01, clip=0.05, decay=0.1, seed=4)
    recipe = recipe.as_published() if plain else recipe
    w, b = parameters(_last(data, recipe))
    assert not np.allclose(w, parameters(new_head(5, 3, recipe.seed))[0], atol=0.01)
    wanted_w, wanted_b = reference(data, recipe, 3)
    # 21 steps of size ≤ rate; float32 differs in the last of 24 bits each
    assert np.allclose(w, wanted_w, atol=21 * 2**-20, rtol=0)
    assert np.allclose(b, wanted_b, atol=21 * 2**-20, rtol=0)


@pytest.mark.slow
def test_the_best_on_dev_is_a_copy() -> None:
    """Dev has the labels the other way round, so that learning makes it worse and worse."""
    data = overlapping(classes=2)
    upside_down = Labelled(data.vectors, 1 - data.labels)
    fitted = train_head(data, upside_down, 2, replace(HEAD, epochs=60, rate=0.05))
    accuracy = (predict(fitted.head, data.vectors) == upside_down.labels).mean()
    assert accuracy == pytest.approx(fitted.accuracy, abs=1e-12)
    late = train_head(data, data, 2, replace(HEAD, epochs=60, rate=0.05))
    assert (predict(late.head, data.vectors) == upside_down.labels).mean() < accuracy
    assert fitted.round < 60


def test_seeds_and_the_generator_of_torch() -> None:
    data = overlapping(n=60)
    state = torch.get_rng_state()

    def weights(seed: int) -> Any:
        fitted: Fitted = train_head(data, data, 3, replace(HEAD, epochs=2, seed=seed))
        return fitted.head.weight.detach().numpy()

    assert np.array_equal(weights(0), weights(0))
    assert not np.array_equal(weights(0), weights(1))
    assert torch.equal(torch.get_rng_state(), state)
    copied = data.vectors.copy()
    weights(2)
    assert np.array_equal(data.vectors, copied)


def test_published_settings() -> None:
    """Orgad et al. (2022), appendix A.1."""
    assert (WHOLE.epochs, WHOLE.batch, WHOLE.rate) == (10, 64, 5e-5)
    assert (HEAD.epochs, HEAD.batch, HEAD.rate) == (10, 64, 1e-3)
    assert (FROZEN.epochs, FROZEN.batch, FROZEN.rate) == (300, 64, 1e-3)
    assert HEAD.as_published().plain
    changed = WHOLE.with_changes(epochs=1, rate=None)
    assert (type(changed), changed.epochs, changed.rate) == (Recipe, 1, 5e-5)
    with pytest.raises(WordbiasError, match="no setting 'speed'"):
        WHOLE.with_changes(speed=3)


def test_bad_input_is_refused() -> None:
    data = overlapping(n=30)
    nothing = Labelled(data.vectors[:0], data.labels[:0])
    with pytest.raises(WordbiasError, match="no biography is left to train on"):
        train_head(nothing, data, 3, HEAD)
    with pytest.raises(WordbiasError, match="no biography is left to choose the best epoch by"):
        train_head(data, nothing, 3, HEAD)
    broken = Labelled(data.vectors * np.float32(np.nan), data.labels)
    with pytest.raises(WordbiasError, match="lower the learning rate"):
        train_head(broken, data, 3, HEAD)
