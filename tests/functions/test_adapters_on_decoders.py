"""`encode`, `probe` and `ceat` of a decoder with an adapter: as with a plain hook of torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny_decoders import build_decoder, byte_tokenizer  # noqa: E402

import wordbias as wb  # noqa: E402
from wordbias.models.adapters import Adapter  # noqa: E402
from wordbias.models.fingerprint import Fingerprint  # noqa: E402
from wordbias.models.sites import Site  # noqa: E402
from wordbias.subspace import Subspace  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
TEXTS = [
    f"{who} is a {job}." for who in ("She", "He") for job in ("nurse", "judge", "pilot", "cook")
]
LAYERS = 3


@pytest.fixture(scope="module")
def decoder() -> tuple[Any, Any]:
    tokenizer = byte_tokenizer()
    shape = {"max_position_embeddings": 256, "num_hidden_layers": LAYERS}
    return build_decoder("llama", len(tokenizer), **shape), tokenizer


@pytest.fixture(scope="module")
def adapter(decoder: tuple[Any, Any]) -> Adapter:
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(16, 2)))[0].T
    sites = {Site.parse(site): Subspace(basis, np.ones(2)) for site in ("tokens@2", "input@1")}
    return Adapter(sites, Fingerprint.of(decoder[0]))


def hooked(decoder: tuple[Any, Any], adapter: Adapter, text: str) -> Any:
    """Return the last token at the end, with the first direction removed after layer 2."""
    model, tokenizer = decoder
    direction = torch.tensor(adapter.subspaces[Site.parse("tokens@2")].basis[0]).float()

    def remove(_module: Any, _given: Any, output: Any) -> Any:
        states = output[0] if isinstance(output, tuple) else output
        projected = states - (states @ direction)[..., None] * direction
        return (projected, *output[1:]) if isinstance(output, tuple) else projected

    handle = model.model.layers[1].register_forward_hook(remove)
    try:
        with torch.no_grad():
            ids = torch.tensor([tokenizer(text)["input_ids"]])
            return model.model(input_ids=ids).last_hidden_state[0, -1].numpy()
    finally:
        handle.remove()


def test_encode_is_as_with_a_plain_hook(decoder: tuple[Any, Any], adapter: Adapter) -> None:
    plain = wb.encode(decoder, TEXTS)
    reps = wb.encode(decoder, TEXTS, adapter=adapter, setting="tokens@2")
    last = np.stack([hooked(decoder, adapter, text) for text in TEXTS])
    np.testing.assert_allclose(reps[LAYERS], last, atol=1e-4)
    direction = adapter.subspaces[Site.parse("tokens@2")].basis[0]
    removed = plain[2] - np.outer(plain[2] @ direction, direction)
    np.testing.assert_allclose(reps[2], removed, atol=1e-4)
    for layer in range(LAYERS + 1):
        assert np.array_equal(reps[layer], plain[layer]) is (layer < 2)
    assert reps.report is not None
    assert reps.report.rows[0].details["unchanged"] == [0, 1]
    inside = wb.encode(decoder, TEXTS, adapter=adapter, setting="input@1")
    assert inside.report is not None
    assert inside.report.rows[0].details["unchanged"] == []


def test_a_setting_above_the_layers_is_refused(decoder: tuple[Any, Any], adapter: Adapter) -> None:
    with pytest.raises(
        wb.WordbiasError, match=r"change no vector.*attention-output@L up to layer 1"
    ):
        wb.encode(decoder, TEXTS, layers=[0, 1], adapter=adapter, setting="tokens@2")
    with pytest.raises(wb.WordbiasError, match=r"settings that would: sites such as input@1$"):
        wb.encode(decoder, TEXTS, layers=[0], adapter=adapter, setting="tokens@2")


def test_probe_and_ceat_measure_before_and_after(
    decoder: tuple[Any, Any], adapter: Adapter
) -> None:
    texts = {"text": TEXTS * 5, "gender": (["F"] * 4 + ["M"] * 4) * 5}
    report = wb.probe(
        decoder, "gender", texts=texts, adapter=adapter, setting="tokens@2", mdl=False, seed=0,
        epochs=2, control=False,
    )  # fmt: skip
    unchanged = {row.details["layer"] for row in report if row.details.get("unchanged")}
    assert unchanged == {0, 1}
    assert "after tokens@2" in str(report)
    query = {
        "targets": {"a": ["nurse", "cook"], "b": ["judge", "pilot"]},
        "attributes": {"she": ["she", "is"], "he": ["he", "a"]},
    }
    given = {"sentences": TEXTS, "query": query, "draws": 20, "layers": "all"}
    ceat_report = wb.ceat(decoder, adapter=adapter, setting="tokens@2", **given)
    before, after = ceat_report.rows[: LAYERS + 1], ceat_report.rows[LAYERS + 1 :]
    for was, now in zip(before, after, strict=True):
        assert (was.value == now.value) is (was.details["layer"] < 2)
