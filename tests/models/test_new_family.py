"""A family of encoders costs one record: a small architecture with names of its own is added."""

from __future__ import annotations

from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import pytest
from swept_models import ALIKE, models_of, naive, swept
from test_folding import bound, subspace_for
from tiny_decoders import WITH_SITES
from tiny_encoders import FAMILIES as BUILT

from wordbias.errors import WordbiasError
from wordbias.models.families import FAMILIES, PARTS, Family, Head, layer_count
from wordbias.models.fingerprint import Fingerprint
from wordbias.models.folding import fold
from wordbias.models.hooks import Intervention, applied, recording
from wordbias.models.sites import Site, locate_all, sites

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from wordbias.models.families import logits_of, text_head_of  # noqa: E402

nn = torch.nn


def incomplete(family: Family) -> list[str]:
    """Return what a record lacks."""
    gaps = [] if family.layers else ["layers"]
    if not all(family.parts) or len({*family.parts}) not in (1, len(PARTS)):
        gaps.append("parts")
    if family.causal:
        names = ("outputs", "embeddings", "last")
        gaps += [name for name in names if not all(getattr(family, name) or [""])]
        return gaps
    if bool(family.finish) == bool(family.whole):
        gaps.append("finish, or why a layer is run whole")
    if not family.heads:
        gaps.append("heads")
    for purpose, head in family.heads.items():
        if not (head.final and head.dense):
            gaps.append(f"{purpose}: final or dense")
        if purpose == "SequenceClassification" and head.sentence is None:
            gaps.append(f"{purpose}: sentence")
    gaps += [
        f"comes with {needed}"
        for needed in family.comes_with.values()
        if needed not in family.heads
    ]
    return gaps


@pytest.mark.parametrize("family", FAMILIES)
def test_a_record_is_complete_and_is_tried_on_a_model(family: str) -> None:
    assert not incomplete(FAMILIES[family])
    assert any(FAMILIES[family] is FAMILIES[name] for name in (*BUILT, *WITH_SITES))


def test_an_incomplete_record_is_found() -> None:
    whole = FAMILIES["bert"]
    lacks = {
        "layers": "",
        "parts": ("a", "a", "b"),
        "heads": {},
        "finish": None,
        "whole": "because",
    }
    assert {*lacks} < {field.name for field in fields(Family)}
    for name, value in lacks.items():
        assert incomplete(replace(whole, **{name: value})), name
    assert incomplete(replace(whole, heads={"SequenceClassification": Head("a", "b")}))
    for name, value in {"outputs": ("a", ""), "embeddings": (), "last": ""}.items():
        assert incomplete(replace(FAMILIES["llama"], **{name: value})) == [name]


# an encoder like others, in which nothing is called as in others


class Config(transformers.PretrainedConfig):  # type: ignore[misc, name-defined]
    model_type = "renamed"
    hidden_size, num_hidden_layers, num_attention_heads, vocab_size = 16, 3, 4, 400


class Block(nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.look = nn.ModuleDict({name: nn.Linear(16, 16) for name in ("ask", "offer", "give")})
        self.gather, self.up, self.down = nn.Linear(16, 16), nn.Linear(16, 24), nn.Linear(24, 16)
        self.calm, self.calmer = nn.LayerNorm(16), nn.LayerNorm(16)

    def forward(self, x: Any, hidden: Any) -> Any:
        ask, offer, give = (
            self.look[name](x).unflatten(-1, (4, 4)).transpose(1, 2)
            for name in ("ask", "offer", "give")
        )
        scores = (ask @ offer.transpose(2, 3) / 2).masked_fill(hidden[:, None, None], -torch.inf)
        return go_on(self, (scores.softmax(-1) @ give).transpose(1, 2).flatten(2), x)


def go_on(block: Any, gathered: Any, x: Any) -> Any:
    calm = block.calm(x + block.gather(gathered))
    return block.calmer(calm + block.down(block.up(calm).relu()))


class Base(transformers.PreTrainedModel):  # type: ignore[misc, name-defined]
    config_class, base_model_prefix = Config, "trunk"

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.words = nn.Embedding(400, 16)
        self.stack = nn.Module()
        self.stack.blocks = nn.ModuleList([Block() for _ in range(3)])
        self.squeeze = nn.Linear(16, 16)

    def forward(self, input_ids: Any, attention_mask: Any, **_: Any) -> Any:
        x = self.words(input_ids)
        for block in self.stack.blocks:
            x = block(x, attention_mask == 0)
        return x


class RenamedForSequenceClassification(transformers.PreTrainedModel):  # type: ignore[misc, name-defined]
    config_class, base_model_prefix = Config, "trunk"

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.trunk, self.say = Base(config), nn.Linear(16, 3)

    def forward(self, **inputs: Any) -> Any:
        x = self.trunk.squeeze(self.trunk(**inputs)[:, 0]).tanh()
        return SimpleNamespace(logits=self.say(x))


RECORD = Family(
    "stack.blocks",
    ("look.ask", "look.offer", "look.give"),
    {
        "SequenceClassification": Head(
            "say", "trunk.squeeze", sentence=lambda model, x: model.trunk.squeeze(x).tanh()
        )
    },
    finish=go_on,
)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(FAMILIES, "renamed", RECORD)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = RenamedForSequenceClassification(Config())
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
    return network.eval()


def test_its_sites_are_found(model: Any, inputs: dict[str, Any]) -> None:
    assert not incomplete(RECORD)
    assert layer_count(model) == 3
    places = locate_all(model, sites("sentence,cls@-1,tokens@1,attention@2"))
    assert [place.width for place in places] == [16] * 6
    assert Fingerprint.of(model).layers == 3
    with torch.no_grad(), recording(model, [Site("cls", -1)]) as seen:
        logits = model(**inputs).logits
    assert torch.allclose(logits_of(model, seen[Site("cls", -1)]), logits, atol=1e-6)


def test_folding_equals_hooking(model: Any, inputs: dict[str, Any]) -> None:
    model = model.double()
    wanted = sites("sentence,cls@-1,attention@1,attention@-1")
    steps = [Intervention(site, subspace_for(site, i), True) for i, site in enumerate(wanted)]
    with torch.no_grad(), applied(model, steps):
        expected = model(**inputs).logits
    folded = fold(model, steps)
    assert folded.left == ()
    with torch.no_grad():
        logits = folded.model(**inputs).logits
        assert not torch.allclose(expected, model(**inputs).logits, 0, 1e-6)
    torch.testing.assert_close(logits, expected, rtol=0, atol=bound(expected))


def test_a_sweep_is_that_of_the_hooks(model: Any, inputs: dict[str, Any]) -> None:
    models = models_of(model, 3)
    with torch.inference_mode():
        expected, sweep = (how(model, models, inputs) for how in (naive, swept))
    assert float((sweep - expected).abs().max()) <= ALIKE
    assert float((expected - expected[:1]).abs().max()) > 100 * ALIKE


def test_without_its_record_it_is_refused(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(FAMILIES, "renamed")
    with pytest.raises(WordbiasError, match="models of type 'renamed' are not known here"):
        text_head_of(model)
