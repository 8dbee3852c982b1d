"""Sites of a model where something is removed, and the modules they belong to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wordbias.errors import WordbiasError, need
from wordbias.models.families import (
    FIRST,
    LAST,
    LATE,
    OUTPUTS,
    PARTS,
    Family,
    base_of,
    family_of,
    fused,
    head_of,
    layer_count,
    module_at,
    part_heads,
    read_by_head,
    width,
)
from wordbias.models.sentence_transformers import read_modules
from wordbias.resources.models import known_folder

PURPOSE = "finding the sites of a model"
ATTENTION = "attention"
KINDS = ("input", *PARTS, *OUTPUTS, "cls", "tokens", "sentence", "embedding")
"""In the order of a layer's computation."""
_WITHOUT_LAYER = ("sentence", "embedding")
_OF_ENCODERS = ("sentence", "cls")
_OF_DECODERS = ("input", *OUTPUTS)
_WRITTEN = re.compile(r"([a-z]+(?:-[a-z]+)*)(?:@([-−]?\d+))?")
_RANGE = re.compile(r"([-−]?\d+)\.\.([-−]?\d+)")
_MOST = 10_000


@dataclass(frozen=True, order=True)
class Site:
    """A position in the computation of a model, independent of the model."""

    # `sentence` is the input of the final linear layer. `embedding` is the vector that a
    # sentence-transformers model outputs. `cls` and `tokens` are the output of a layer at position
    # 0 and at all positions; for the last layer after the final norm, if there is one. `query`,
    # `key` and `value` are those of all heads of a layer, as the linear maps output them. In
    # decoders also `input`, the residual stream that enters a layer, and `attention-output` and
    # `mlp-output`, what a layer adds to it.
    kind: str
    # number of the layer: 1 for the first, −1 for the last; None for sentence and embedding
    layer: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise WordbiasError(f"site {self.kind!r}: expected one of {_expected()}")
        if (self.kind in _WITHOUT_LAYER) != (self.layer is None) or self.layer == 0:
            raise WordbiasError(f"site {self}: expected one of {_expected()}; layers count from 1")

    def __str__(self) -> str:
        return self.kind if self.layer is None else f"{self.kind}@{self.layer}"

    @classmethod
    def parse(cls, text: str) -> Site:
        """Parse a single site, such as ``sentence``, ``cls@12`` or ``value@-2``."""
        match = _WRITTEN.fullmatch(text.strip())
        if match is None or match[1] not in KINDS:
            raise WordbiasError(f"site {text!r}: expected one of {_expected()}")
        layer = None if match[2] is None else int(match[2].replace("−", "-"))
        return cls(match[1], layer)

    def within(self, model: Any) -> Site:
        """Return the same site with its layer counted from 1."""
        return self.counted(layer_count(model), type(model).__name__)

    def counted(self, layers: int, name: str = "the model") -> Site:
        """Return the same site in a model of `layers` layers; see `within`."""
        if self.layer is None:
            return self
        absolute = self.layer if self.layer > 0 else layers + 1 + self.layer
        if not 1 <= absolute <= layers:
            raise WordbiasError(
                f"site {self}: {name} has the layers 1 to {layers} (or -{layers} to -1)"
            )
        return Site(self.kind, absolute)


EMBEDDING = Site("embedding")


def sites(text: str, layers: int | None = None) -> tuple[Site, ...]:
    """Parse sites separated by commas."""
    # attention@L stands for query, key and value there, tokens@all and tokens@3..10 for all layers
    # and for those from 3 to 10. Without `layers`, single ones stay as they are; else layers are
    # counted from 1.
    parsed: list[Site] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        kind, at, where = part.partition("@")
        kinds = PARTS if kind.strip() == ATTENTION else (kind,)
        for layer in _layers(part, where.strip(), layers):
            parsed += [Site.parse(f"{name}{at}{layer}") for name in kinds]
    if not parsed:
        raise WordbiasError(f"sites {text!r}: expected some of {_expected()}")
    if layers is not None:
        parsed = [site.counted(layers) for site in parsed]
    return tuple(dict.fromkeys(parsed))


def _layers(part: str, where: str, layers: int | None) -> Sequence[str | int]:
    """Return the layers of a written site, one if it is no range."""
    match = _RANGE.fullmatch(where)
    if match is None and where != "all":
        return [where]
    ends = [1, -1] if match is None else [int(end.replace("−", "-")) for end in match.groups()]
    if layers is None and min(ends) < 0:
        raise WordbiasError(
            f"sites {part!r}: the number of layers is not known here; give the first and the last "
            "layer counted from 1, such as tokens@3..10"
        )
    first, last = (
        (Site("tokens", end).counted(layers).layer or 0) if layers else end for end in ends
    )
    if not 0 < first <= last < first + _MOST:
        raise WordbiasError(
            f"sites {part!r}: expected the first layer and then the last, such as tokens@3..10; "
            "layers count from 1"
        )
    return range(first, last + 1)


def written(wanted: Iterable[Site]) -> str:
    """Write sites with the layers that follow each other as ranges; `sites` reads it."""
    given = dict.fromkeys(wanted)
    layers: dict[str, list[int]] = {}
    for site in given:
        if site.kind not in PARTS or not set(attention(site.layer or 0)) <= set(given):
            layers.setdefault(site.kind, []).append(site.layer or 0)
        elif site.kind == PARTS[0]:
            layers.setdefault(ATTENTION, []).append(site.layer or 0)
    pieces = []
    for kind, numbers in layers.items():
        runs: list[list[int]] = []
        for number in sorted(numbers):
            if runs and number == runs[-1][-1] + 1 and runs[-1][0] > 0:
                runs[-1].append(number)
            else:
                runs.append([number])
        ends = (f"{run[0]}..{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)
        pieces += [f"{kind}@{end}" if kind not in _WITHOUT_LAYER else kind for end in ends]
    return ", ".join(pieces)


def attention(layer: int) -> tuple[Site, ...]:
    """Return query, key and value of a layer."""
    return tuple(Site(part, layer) for part in PARTS)


PUBLISHED_SITES = (*attention(-2), Site("tokens", -2), Site("cls", -1), Site("sentence"))
"""Sites of Dawkins et al. (2024), their layers counted from the end."""


def published_sites(model: Any) -> tuple[Site, ...]:
    """Return the sites of the paper in a model: its head may read other tokens than the first."""
    read = read_site(model)
    return tuple(read if site == Site("cls", -1) else site for site in PUBLISHED_SITES)


def read_site(model: Any) -> Site:
    """Return the site behind the last layer that a model's head reads."""
    first = read_by_head(model) in (FIRST, LATE)
    return Site("cls" if first else "tokens", -1).within(model)


def first_layer(wanted: Iterable[Site], layers: int) -> int:
    """Return the first layer that removals change, of `layers`."""
    # The sentence counts as the last; what enters layer 1 is layer 0 of transformers' hidden
    # states.
    counted_sites = [site.counted(layers) for site in wanted]
    numbers = [0 if site == Site("input", 1) else site.layer for site in counted_sites]
    return min((number for number in numbers if number is not None), default=layers)


def _expected() -> str:
    return (
        "sentence, embedding, cls@L, tokens@L, attention@L (or query@L, key@L, value@L); "
        f"in decoders also {_listed(_OF_DECODERS)}"
    )


def _listed(kinds: Iterable[str]) -> str:
    return ", ".join(f"{kind}@L" for kind in kinds)


@dataclass(frozen=True, eq=False)
class Place:
    """The module of a site in a model, and the part of its values that belongs to the site."""

    site: Site  # the site, its layer counted from 1
    module: Any = field(repr=False)  # module to hook
    width: int  # length of the values of the site
    entering: bool = False  # take the module's input, not its output
    first: bool = False  # take position 0 only
    # each token has a vector there, and the model's head reads that of the last one
    last: bool = False
    heads: int = 1  # number of heads that share the last axis; 1 for whole vectors
    # index of the call of a module that is called several times in a pass; None for every call
    call: int | None = None
    rewinds: Any = field(default=None, repr=False)  # module whose call restarts the count of calls
    start: int = 0  # their first place in the last axis, if a module outputs those of several sites
    # their places in the last axis, a tensor, if they are not one after another
    indices: Any = field(default=None, repr=False)

    @property
    def values(self) -> Any:
        """Places of the values of the site in the last axis: a slice, or indices."""
        return slice(self.start, self.start + self.width) if self.indices is None else self.indices


def locate(model: Any, site: Site) -> Place:
    """Find the place of a site in a model."""
    family, name = family_of(model), type(model).__name__
    if site == EMBEDDING:
        raise WordbiasError(
            f"site embedding: comes after the pooling of a sentence-transformers model, and is not "
            f"in its {name}; write a folder that removes it with: wordbias apply "
            "ADAPTER MODEL -o FOLDER, or give the SentenceTransformer"
        )
    classifies = site.kind == "sentence" and head_of(model) is not None
    if site.kind in (_OF_ENCODERS if family.causal else _OF_DECODERS) and not classifies:
        what, own = "an encoder", "sentence, cls@L, tokens@L"
        if family.causal:
            what, own = "a decoder", f"{_listed(_OF_DECODERS)}, tokens@L"
        raise WordbiasError(
            f"site {site}: {name} is {what}; it has {own} and attention@L (or query@L, key@L, "
            f"value@L) for the layers 1 to {layer_count(model)}"
        )
    site = site.within(model)
    if site.kind == "sentence":
        return _sentence(model, site)
    whole = locate_layer(model, site)
    if site.kind in PARTS:
        return _part(model, family, whole)
    if site.kind == "input":
        return replace(whole, entering=True)
    if site.kind in OUTPUTS:
        added = whole.module.get_submodule(family.outputs[OUTPUTS.index(site.kind)])
        return replace(whole, module=added)
    module, base = whole.module, base_of(model)
    for layer, path in ((1, family.mixed), (layer_count(model), family.last)):
        behind = module_at(base, path) if path and site.layer == layer else None
        module = module if behind is None else behind
    last = site.layer == layer_count(model) and read_by_head(model) == LAST
    return replace(whole, module=module, first=site.kind == "cls", last=last)


def _part(model: Any, family: Family, whole: Place) -> Place:
    """Find query, key or value of a layer: the output of a linear map, or a part of it."""
    part, heads = PARTS.index(whole.site.kind), part_heads(model)
    linear = whole.module.get_submodule(family.parts[part])
    size = linear.out_features if linear_by_rows(linear) else linear.nf
    if not fused(family):
        return replace(whole, module=linear, width=size, heads=heads[part])
    size //= sum(heads)  # of a head
    place = replace(
        whole,
        module=linear,
        width=heads[part] * size,
        heads=heads[part],
        start=sum(heads[:part]) * size,
    )
    if not family.interleaved:
        return place
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    every = torch.arange(sum(heads) * size, device=linear.weight.device)
    return replace(place, indices=every.view(-1, len(PARTS), size)[:, part].flatten())


def linear_by_rows(linear: Any) -> bool:
    """Return whether the rows of a linear map's weights make its outputs, as in no Conv1D."""
    return type(linear).__name__ != "Conv1D"


def locate_layer(model: Any, site: Site) -> Place:
    """Find the layer of a site, without the modules after it through which its output goes."""
    site = site.within(model)
    module, call = _layer(model, site)
    rewinds = None
    if call is not None:  # the module that holds the list of layers: a pass begins with its call
        holder, _, _ = family_of(model).layers.rpartition(".")
        rewinds = base_of(model).get_submodule(holder)
    return Place(site, module, width(model), call=call, rewinds=rewinds)


def locate_all(model: Any, wanted: Iterable[Site]) -> list[Place]:
    """Find the places of several sites; see `locate`."""
    return [locate(model, site) for site in wanted]


def _sentence(model: Any, site: Site) -> Place:
    head, family = head_of(model), family_of(model)
    if head is not None and read_by_head(model) == LATE:
        raise WordbiasError(
            f"site sentence: the head of this {type(model).__name__} reads every token and takes "
            f"the mean of their logits (classifier_pooling {model.config.classifier_pooling!r} in "
            "its config): there is no vector of the sentence; it has tokens@L and attention@L for "
            f"the layers 1 to {layer_count(model)}"
        )
    if head is not None:
        final = model.get_submodule(head.final)
        last = read_by_head(model) == LAST
        return Place(site, final, final.in_features, entering=True, last=last)
    pooled = getattr(model, family.pooled, None) if family.pooled else None
    if pooled is None:
        raise WordbiasError(
            f"site sentence: {type(model).__name__} has neither a classification head nor a "
            f"pooler; it has cls@L, tokens@L and attention@L for the layers 1 to "
            f"{layer_count(model)}"
        )
    return Place(site, pooled, width(model))


def check_read(model: Any, wanted: Sequence[Site], named: Sequence[Site]) -> None:
    """Refuse interventions that change no output of a model."""
    if not named or any(reads(model, site) for site in wanted):
        return
    at, name = ", ".join(str(site.within(model)) for site in named), type(model).__name__
    if not wanted:
        raise WordbiasError(
            f"{name}: the interventions at {at} remove nothing, for their weights are 0; remove "
            "hard (hard=True, a setting with n = 0), or fit others"
        )
    n = layer_count(model)
    cls = f"L12-… (cls@{n}), " if reads(model, Site("cls", n)) else ""
    raise WordbiasError(
        f"{name}: the interventions at {at} change no output: a sentence-transformers model is "
        "read by its pooling of the last layer's tokens alone; settings that would: "
        f"{cls}L11-…, attn-…, or sites such as tokens@L, attention@L and, below the last layer, "
        "cls@L"
    )


def reads(model: Any, site: Site) -> bool:
    """Return whether an output of a model depends on the values at a site."""
    # The output of a model without a head from a sentence-transformers folder is the folder's
    # pooling of the tokens of the last layer: it does not depend on the model's pooler, and on the
    # CLS token behind the last layer only if that is pooled.
    site = site.within(model)
    last_cls = site.kind == "cls" and site.layer == layer_count(model)
    if not (site.kind == "sentence" or last_cls) or head_of(model) is not None:
        return True
    if base_of(model) is not model:  # a head on all tokens, such as a masked-language one
        return True
    folder = known_folder(str(getattr(model, "name_or_path", "")))
    try:
        modules = None if folder is None else read_modules(folder)
    except WordbiasError:  # no readable folder
        return True
    return modules is None or (last_cls and modules.pools_first)


def _layer(model: Any, site: Site) -> tuple[Any, int | None]:
    """Return the module of a layer and, if it is called several times, the index of the call."""
    family, base = family_of(model), base_of(model)
    assert site.layer is not None
    modules = base.get_submodule(family.layers)
    if not family.shared:
        return modules[site.layer - 1], None
    groups = _groups(layer_count(model), len(modules))
    group = groups[site.layer - 1]
    inner = module_at(modules[group], family.shared)
    if len(inner) > 1 and site.kind in PARTS:
        raise WordbiasError(
            f"site {site}: a layer of {type(model).__name__} has {len(inner)} attentions here, "
            "not one; intervene at cls@L or tokens@L"
        )
    return inner[-1], site.layer - 1 - groups.index(group)


def _groups(layers: int, groups: int) -> list[int]:
    """Return the index of ALBERT's group for each layer."""
    return [int(i / (layers / groups)) for i in range(layers)]


def calls_of(model: Any, site: Site) -> int:
    """Return the number of layers that share the weights of a site's layer."""
    family = family_of(model)
    if not family.shared or site.layer is None:
        return 1
    n = layer_count(model)
    groups = _groups(n, len(base_of(model).get_submodule(family.layers)))
    return groups.count(groups[site.within(model).layer - 1])  # type: ignore[operator]
