"""Removals fitted to labelled texts at the layers of a model: concept scrubbing.

Each is fitted on what the ones before it left, in the order of the model's computation (Belrose et
al. 2023, section 6). With all of them on, the classes' means are then equal at every site. Each
layer is computed once, and once more for each site inside of it. The hidden states of all tokens go
from layer to layer. A fit only holds counts, means and second moments, whatever the number of
tokens.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.columns import Column
from wordbias.contextual.fitting import BATCH, encode_pairs, positions
from wordbias.devices import native_threads
from wordbias.errors import WordbiasError, need
from wordbias.labelled import Labelled
from wordbias.methods.leace import Erasure
from wordbias.methods.rows import OF_MOMENTS, fit_moments
from wordbias.methods.transform import Projection
from wordbias.models.adapter_tables import FITTED
from wordbias.models.adapters import Adapter, depth
from wordbias.models.families import OUTPUTS, base_of, family_of, is_decoder, layer_count, width
from wordbias.models.fingerprint import Fingerprint
from wordbias.models.hooks import Change, Removal, changing, check_plain, recording
from wordbias.models.loading import usual_length
from wordbias.models.model_like import evaluating
from wordbias.models.sentence_pairs import SentencePair
from wordbias.models.sites import Place, Site, locate, locate_all, written
from wordbias.models.token_batches import PURPOSE, Tokens, batches, encode
from wordbias.moments import Moments, mapped
from wordbias.progress import progress

LEACE = "leace"
"""Method by default."""
TOKENS = ("all", "last", "mean", "word")
IN_MEMORY = 1 << 29
"""Bytes up to which the hidden states of all tokens are held in memory, not in a file."""
_SILENT = 1e-8
Step = Projection | Erasure
Floats = NDArray[np.float64]


def scrub(
    model: Any,
    tokenizer: Any,
    texts: Sequence[str],
    labels: Column | Sequence[object],
    *,
    wanted: Sequence[Site] | None = None,
    method: str = LEACE,
    tokens: str = TOKENS[0],
    settings: Mapping[str, Any] | None = None,
    sequential: bool = True,
    batch: int = BATCH,
    source: str = "",
    name: str = "",
) -> Adapter:
    """Fit a removal at each site of a model to labelled texts (Belrose et al. 2023, section 6)."""
    # `tokens`: the vectors of `all` tokens, each with the label of its text, of the `last` of each
    # text, or the `mean` of each. `hard` leaves vectors their lengths, which the next layer reads.
    if tokens == "word":
        raise WordbiasError(
            "tokens word: compares the sentences of a pair; give pairs, or --tokens"
        )
    check_plain(model)
    rows = Labelled(None, len(texts), name=source or "texts", kind="text")
    label = rows.with_labels({name or "label": labels}, remedy="leave those texts out").label
    encoded = encode(model, tokenizer, texts)
    cut = _count_cut(model, tokenizer, texts, encoded)
    read = Read(encoded, label.codes, label.classes, None).at(tokens)
    facts = {"source": source, "labels": name, "tokens": tokens, "cut": cut}
    return _scrubbed(model, tokenizer, read, wanted, method, settings, sequential, batch, facts)


def scrub_pairs(
    model: Any,
    tokenizer: Any,
    pairs: Sequence[SentencePair],
    *,
    wanted: Sequence[Site] | None = None,
    method: str = LEACE,
    tokens: str = TOKENS[0],
    settings: Mapping[str, Any] | None = None,
    sequential: bool = True,
    batch: int = BATCH,
    source: str = "",
) -> Adapter:
    """Fit a removal at each site to the two sides of pairs of sentences; see `scrub`."""
    # `word` is the mean of the tokens in which the two sentences of a pair differ. Pairs of unequal
    # length are then left out.
    check_plain(model)
    encoded = encode_pairs(model, tokenizer, pairs)
    indices = encoded.even() if tokens == "word" else list(range(len(encoded.pairs)))
    if len(indices) < 2:
        raise WordbiasError(
            f"usable pairs of sentences: {len(indices)}, at least two are needed; give others with "
            "--pairs"
        )
    texts = [side[i] for side in (encoded.first, encoded.second) for i in indices]
    read = Read(texts, np.repeat([0, 1], len(indices)), ("first", "second"), None)
    if tokens == "word":
        where = positions(encoded, "word")
        read = replace(read, positions=[where[i] for i in indices] * 2)
    else:
        read = read.at(tokens)
    left_out = len(pairs) - len(indices)
    facts = {"source": source, "labels": "", "tokens": tokens, "cut": 0, "left_out": left_out}
    return _scrubbed(model, tokenizer, read, wanted, method, settings, sequential, batch, facts)


@dataclass(frozen=True, eq=False)
class Read:
    """Tokenised texts with the class of each."""

    tokens: Sequence[Tokens]
    # number of the class of each text, shape `(n,)`, and the names of the classes
    codes: NDArray[np.intp] = field(repr=False)
    classes: tuple[str, ...]
    # for each text the positions whose mean is fitted on; None for the vector of every token
    positions: Sequence[Sequence[int]] | None = field(repr=False)

    def __post_init__(self) -> None:
        for place, text in enumerate(self.tokens, 1):
            if not text["input_ids"]:
                raise WordbiasError(f"text {place}: has no token to read; leave it out")

    def at(self, tokens: str) -> Read:
        """Return the same texts, fitted on all tokens, the last one or the mean."""
        if tokens not in TOKENS:
            raise WordbiasError(f"tokens {tokens!r}: expected one of {', '.join(TOKENS)}")
        sizes = [len(text["input_ids"]) for text in self.tokens]
        chosen = {
            "all": None,
            "last": [[size - 1] for size in sizes],
            "mean": [range(size) for size in sizes],
        }
        return replace(self, positions=chosen[tokens])

    @property
    def size(self) -> int:
        """Number of tokens of all texts."""
        return sum(len(text["input_ids"]) for text in self.tokens)


def _count_cut(model: Any, tokenizer: Any, texts: Sequence[str], encoded: Sequence[Tokens]) -> int:
    """Count the texts that are longer than the model reads."""
    limit = usual_length(model, tokenizer)
    full = [
        text
        for text, tokens in zip(texts, encoded, strict=True)
        if len(tokens["input_ids"]) >= limit
    ]
    lengths = [len(ids) for ids in tokenizer(full, verbose=False)["input_ids"]] if full else []
    return sum(length > limit for length in lengths)


def _scrubbed(
    model: Any,
    tokenizer: Any,
    read: Read,
    wanted: Sequence[Site] | None,
    method: str,
    settings: Mapping[str, Any] | None,
    sequential: bool,
    batch: int,
    facts: dict[str, Any],
) -> Adapter:
    """Fit the removals of all sites, and make the adapter."""
    if method not in OF_MOMENTS:
        raise WordbiasError(f"method {method!r}: expected one of {', '.join(OF_MOMENTS)}")
    every = [Site("tokens", layer) for layer in range(1, layer_count(model) + 1)]
    places = locate_all(model, every if wanted is None else wanted)
    chosen = sorted({place.site for place in places}, key=depth)
    _check_sites(model, chosen)
    if sequential and method in ("leace", "hard"):
        _check_sums(chosen, layer_count(model), normed=bool(family_of(model).last))
    steps: dict[Site, Step] = {}
    about: dict[str, Any] = {}

    def fit(site: Site, moments: Moments) -> None:
        try:
            (step,) = fit_moments(method, moments, settings, inside=True).steps
        except WordbiasError as error:
            raise WordbiasError(f"site {site}: {error}") from None
        assert isinstance(step, (Projection, Erasure))
        steps[site] = step
        after = explained(mapped(moments, step))
        about[str(site)] = {"vectors": moments.n, "before": explained(moments), "after": after}

    with Run(model, tokenizer, read, chosen[-1].layer or 0, batch) as run:
        for _, group in groupby(chosen, key=lambda site: site.layer):
            here = list(group)
            if not sequential:
                for site, moments in run.moments(here, done=here[-1].kind != "input").items():
                    fit(site, moments)
                continue
            for site in here:
                fit(site, run.moments([site], done=site.kind == "tokens")[site])
                run.remove(site, steps[site])
    counts = np.bincount(read.codes, minlength=len(read.classes)).tolist()
    facts = {
        **facts,
        "method": method,
        **({"settings": dict(settings)} if settings else {}),
        "sequential": sequential,
        "texts": len(read.tokens),
        "classes": dict(zip(read.classes, counts, strict=True)),
        "sites": about,
    }
    adapter = Adapter({}, Fingerprint.of(model), facts=facts, steps=steps)
    return adapter.setting(written(chosen))


def _check_sites(model: Any, chosen: Sequence[Site]) -> None:
    """Refuse sites at which no removal can be fitted to labels."""
    name = type(model).__name__
    if family_of(model).shared:
        raise WordbiasError(
            f"{name}: its layers share their weights, and removals are fitted to labels layer by "
            "layer; fit subspaces to pairs of sentences, without --texts and --methods"
        )
    if not chosen:
        raise WordbiasError("no site is named; name some with --sites, such as tokens@all")
    for site in chosen:
        if site.kind not in FITTED:
            raise WordbiasError(
                f"site {site}: removals are fitted to labels at "
                f"{', '.join(f'{kind}@L' for kind in FITTED)}; fit this site to pairs of "
                "sentences, without --texts and --methods"
            )


def _check_sums(chosen: Sequence[Site], layers: int, *, normed: bool) -> None:
    """Refuse a site whose vectors are those of earlier sites, or, unless `normed`, their sum."""
    equal: list[Site] = []  # sites whose removals make the classes' means equal in the stream
    for layer in range(1, layers + 1):
        for site in (Site("input", layer), Site("tokens", layer)):
            if site.kind == "tokens":
                added = [Site(kind, layer) for kind in OUTPUTS]
                equal = [*equal, *added] if equal and set(added) <= set(chosen) else []
                if normed and layer == layers:
                    return
            if site not in chosen:
                continue
            if len(equal) == 1:
                raise WordbiasError(
                    f"sites {equal[0]} and {site}: are the same vectors, and the first leaves the "
                    "second nothing; name one of them"
                )
            if equal:
                raise WordbiasError(
                    f"site {site}: its vectors are the sum of those at {written(equal)}, whose "
                    f"removals leave it nothing; leave {site} out"
                )
            equal = [site]


def explained(moments: Moments) -> float:
    r"""Return the share of the label that a linear map of the vectors explains.

    .. math:: \tfrac{1}{K-1} \mathrm{tr}\, \Sigma^{-1}
              \sum_k p_k (\mu_k - \mu)(\mu_k - \mu)^\top \in [0, 1]

    The mean squared canonical correlation of the vectors and the classes; of two classes R² of a
    least-squares fit, which is 1 whatever the labels if there are fewer vectors than dimensions.
    """
    apart = moments.means - moments.mean
    covariance = moments.covariance()
    scale = np.sqrt(np.trace(covariance) + moments.mean @ moments.mean)
    if np.abs(apart).max() <= _SILENT * scale:
        return 0.0
    along = _whitened(apart, covariance)
    shares = moments.counts @ (along**2).sum(1) / moments.n
    return float(min(shares / (len(moments.classes) - 1), 1.0))


def explained_by_chance(n: int, dim: int) -> float:
    """Return the share of random labels that a linear map of `n` vectors explains on average."""
    return min(dim / (n - 1), 1.0)


def _whitened(x: Floats, covariance: Floats) -> Floats:
    """Return rows in coordinates in which a covariance is the identity, without its kernel."""
    smallest = len(covariance) * np.finfo(float).eps
    with suppress(np.linalg.LinAlgError):  # it has a kernel
        half = np.linalg.cholesky(covariance)
        if half.diagonal().min() ** 2 > smallest * np.trace(covariance):
            whitened: Floats = np.linalg.solve(half, x.T).T
            return whitened
    values, v = np.linalg.eigh(covariance)
    positive = values > values[-1] * smallest
    along: Floats = (x @ v[:, positive]) * values[positive] ** -0.5
    return along


# Rows and table


# The layers of a model, one after another


class Run:
    """The layers of a model, computed one after another for all texts."""

    # The hidden states that enter the next layer are stored without padding, in the model's type.
    # In a pass all layers but some return their input, so masks, positions and types of layers are
    # the model's own.

    base: Any
    read: Read
    last: int
    at: int
    """First layer whose output is not stored; its input is, but for layer 1."""

    def __init__(self, model: Any, tokenizer: Any, read: Read, last: int, batch: int) -> None:
        self.base, self.read, self.last, self.at = base_of(model), read, last, 1
        self._layers = list(self.base.get_submodule(family_of(model).layers))
        self._width, self._batch = width(model), batch
        self._padding = tokenizer.pad_token_id or 0
        self._more = {"use_cache": False} if is_decoder(model) else {}
        self._changes: list[tuple[Site, Removal]] = []
        self._made: Callable[[Any], Any] | None = None

    def __enter__(self) -> Run:
        torch = need("torch", extra="contextual", purpose=PURPOSE)
        torch.set_num_threads(native_threads())
        total = self.last * self.read.size
        with ExitStack() as stack:  # which is left as it was found if Ctrl-C comes in here
            stack.enter_context(evaluating(self.base))
            stack.enter_context(torch.inference_mode())
            self._bar = stack.enter_context(progress("fitting by layer", total, "token"))
            self._stack = stack.pop_all()
        self._states = States(self.read.size, self._width, self._stack)
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(None, None, None)

    def remove(self, site: Site, step: Step) -> None:
        """Apply a removal at a site from now on."""
        what, hard = (step, False) if isinstance(step, Erasure) else (step.subspace, step.hard)
        self._changes.append((site, Removal(what, hard)))

    def moments(self, wanted: Sequence[Site], *, done: bool) -> dict[Site, Moments]:
        """Return the moments at sites of a layer; if `done`, no removal will be added inside it."""
        moments: dict[Site, Moments] = {}
        with closing(self._compute(wanted, done)) as batches_done:
            for places, mask, values in batches_done:
                for site, x in values.items():
                    rows, codes = self._rows(x, places, mask)
                    if not np.isfinite(rows).all():
                        raise WordbiasError(
                            f"site {site}: the model puts out no numbers; its weights are damaged, "
                            "or its values too large for its precision"
                        )
                    more = Moments.of_codes(rows, codes, self.read.classes)
                    moments[site] = moments[site] + more if site in moments else more
        # the rows are what the next layer reads, whatever rounding made them
        return {site: replace(site_moments, noise=0.0) for site, site_moments in moments.items()}

    def _rows(
        self, x: Any, places: Sequence[int], mask: Any
    ) -> tuple[NDArray[np.floating[Any]], NDArray[np.intp]]:
        """Return the rows of a batch that are fitted on, and their classes."""
        x = (x.float() if x.element_size() < 4 else x).cpu()
        codes = self.read.codes[list(places)]
        if x.ndim == 2:
            return x.numpy(), codes
        if self.read.positions is None:
            return x[mask].numpy(), np.repeat(codes, mask.sum(1).numpy())
        shares = np.zeros(tuple(mask.shape))
        for row, i in zip(shares, places, strict=True):
            row[list(self.read.positions[i])] = 1 / len(self.read.positions[i])
        return np.einsum("bt,btd->bd", shares, x.numpy()), codes

    def _compute(
        self, wanted: Sequence[Site], done: bool
    ) -> Generator[tuple[list[int], Any, dict[Site, Any]], None, None]:
        """Compute the layers up to that of some sites; yield batches of the values there."""
        torch = need("torch", extra="contextual", purpose=PURPOSE)
        first, layer = self.at, wanted[0].layer or 0
        target = layer + 1 if done else layer
        entering_only = not done and all(site.kind == "input" for site in wanted)
        until = max(1, layer - 1) if entering_only else layer  # last layer to be computed
        stores = first < target <= self.last
        device = next(self.base.parameters()).device
        state: dict[str, Any] = {}
        changes: list[tuple[Place, Change]] = []
        if first > 1:
            changes.append((self._entrance(first), lambda x: state["in"].to(x)))
        if stores:
            changes.append((self._entrance(target), lambda x: state.update(out=x)))
        entering = [change for site, change in self._changes if (site.layer or 0) < first]
        changes += [
            (locate(self.base, site), change)
            for site, change in self._changes
            if (site.layer or 0) >= first
        ]
        with (
            self._only_layers(first, until),
            changing(changes),
            recording(self.base, wanted) as values,
        ):
            start = 0
            for places, inputs in batches(self.read.tokens, self._batch, self._padding):
                mask = inputs["attention_mask"].bool()
                piece = slice(start, start + int(mask.sum()))
                start = piece.stop
                if first > 1:
                    stored = self._states.values[piece]
                    x = stored.new_zeros((*mask.shape, self._width))
                    x[mask] = stored
                    state["in"] = x.to(device)
                    for change in entering:
                        state["in"] = change(state["in"])
                self.base(**{name: x.to(device) for name, x in inputs.items()}, **self._more)
                if stores:
                    self._states.store(piece, state["out"].cpu()[mask], torch)
                yield places, mask, values
                self._bar.update((target - first) * (piece.stop - piece.start))
        if stores:
            self.at = target
            self._changes = [pair for pair in self._changes if (pair[0].layer or 0) >= target]

    def _entrance(self, layer: int) -> Place:
        module = self._layers[layer - 1]
        return Place(Site("input", layer), module, self._width, entering=True)

    @contextmanager
    def _only_layers(self, first: int, last: int) -> Iterator[None]:
        """Let all layers but some return their input, for a block."""

        def learn(module: Any, args: Any, output: Any) -> None:
            # some layers put out a tuple with other things behind the hidden states
            rest = len(output) - 1 if isinstance(output, tuple) else None
            self._made = lambda x: x if rest is None else (x, *[None] * rest)

        def unchanged(*args: Any, **named: Any) -> Any:
            assert self._made is not None  # by a layer before, or in the pass before
            return self._made(args[0] if args else named["hidden_states"])

        with ExitStack() as stack:
            stack.callback(self._layers[first - 1].register_forward_hook(learn).remove)
            for number, layer in enumerate(self._layers, 1):
                if not first <= number <= last:
                    stack.enter_context(_as_forward(layer, unchanged))
            yield


@contextmanager
def _as_forward(module: Any, function: Callable[..., Any]) -> Iterator[None]:
    """Let a module compute something else, for a block."""
    own = vars(module).get("forward")  # as accelerate sets it
    module.forward = function
    try:
        yield
    finally:
        if own is None:
            del module.forward
        else:
            module.forward = own


class States:
    """Vectors of all tokens, shape ``(n, d)``, in memory or, if they are large, in a file."""

    values: Any
    shape: tuple[int, int]

    def __init__(self, n: int, width: int, stack: ExitStack) -> None:
        self.shape, self._stack = (n, width), stack

    def store(self, piece: slice, x: Any, torch: Any) -> None:
        """Store some of them; the first ones decide on the type."""
        if not hasattr(self, "values"):
            n = self.shape[0] * self.shape[1]
            large = n * x.element_size() > IN_MEMORY
            values = self._mapped(n, x.dtype, torch) if large else torch.empty(n, dtype=x.dtype)
            self.values = values.view(self.shape)
        self.values[piece] = x

    def _mapped(self, n: int, dtype: Any, torch: Any) -> Any:
        """Return numbers in a temporary file, which has no name where open files need none."""
        temporary = tempfile.TemporaryDirectory(prefix="wordbias-", ignore_cleanup_errors=True)
        folder = self._stack.enter_context(temporary)
        path, needed = str(Path(folder) / "states"), n * dtype.itemsize
        if not _reserved(path, needed):
            free = shutil.disk_usage(folder).free
            raise WordbiasError(
                f"{folder}: the hidden states of all tokens take {needed / 1e9:.1f} GB there, and "
                f"{free / 1e9:.1f} GB are free; give fewer texts, or another folder with TMPDIR"
            )
        values = torch.from_file(path, shared=True, size=n, dtype=dtype)
        with suppress(OSError):  # so that a process that is killed leaves none behind
            os.unlink(path)
        return values


def _reserved(path: str, size: int) -> bool:
    """Make a file of a size; return whether the disk has room for it."""
    # A mapped file that is longer than the disk has room for would end the process when the disk is
    # full, also if something else fills it.
    if size > shutil.disk_usage(os.path.dirname(path)).free:
        return False
    try:
        with open(path, "wb") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
    except OSError:
        return False
    return True
