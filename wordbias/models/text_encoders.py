"""Encoders of texts of any kind: what gives a vector for each text, and need not show more."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from wordbias.calls import note
from wordbias.columns import is_table
from wordbias.configuration import current_config
from wordbias.devices import as_they_arrive, find_device
from wordbias.errors import Interrupted, WordbiasError, first_line, need, without_secrets
from wordbias.formats import is_static_model
from wordbias.formats.answers import Answers
from wordbias.formats.rows import matrix_of
from wordbias.formats.static_models import is_loaded_static
from wordbias.model_folder import MODULES
from wordbias.models.encoder import Encoder
from wordbias.models.encoding import EncodingJob, Settings
from wordbias.models.endpoint import AgainError, Endpoint
from wordbias.models.model_like import ModelLike, model_and_tokenizer
from wordbias.models.sentence_transformers import (
    is_sentence_transformer,
    loaded_modules,
    read_modules,
)
from wordbias.models.static_texts import StaticEncoder
from wordbias.progress import progress
from wordbias.rendering import how_many
from wordbias.resources.models import model_folder

Float32 = NDArray[np.float32]
ATTEMPTS = 5
FIRST_WAIT = 1.0
"""Seconds before the second attempt; before each further one twice as many."""
LONGEST_WAIT = 120.0
"""Seconds beyond which nothing waits: the same call can be made later."""
AT_ONCE = 4
"""Number of requests to an endpoint at the same time."""
SLOW = 5.0
"""Seconds of the first request from which on the others follow one by one."""
_LIBRARY = "sentence_transformers"
_OF_CODE = (TypeError, NameError, AttributeError, ImportError, NotImplementedError, AssertionError)
"""Errors of a function that are the same at the next attempt."""


class Encodes(Protocol):
    """An object with ``encode``, as of sentence-transformers and model2vec."""

    def encode(self, texts: list[str], /) -> Any:
        """Return the vectors of texts, shape ``(n, d)``."""


class EmbedsDocuments(Protocol):
    """An object with ``embed_documents``, as of LangChain."""

    def embed_documents(self, texts: list[str], /) -> Any:
        """Return the vectors of texts, shape ``(n, d)``."""


class Transforms(Protocol):
    """A transformer of scikit-learn that is fitted and takes texts."""

    def fit(self, texts: Any, /) -> Any:
        """Fit the transformer."""

    def transform(self, texts: list[str], /) -> Any:
        """Return the vectors of texts, shape ``(n, d)``."""


Function = Callable[[list[str]], Any] | Encodes | EmbedsDocuments | Transforms
"""What gives the vectors of texts, shape ``(n, d)``."""
EncoderLike = ModelLike | Function | Mapping[str, Function]
"""A model, or a function or object that gives vectors of texts, perhaps with a name."""


class TextEncoder(Protocol):
    """Encoder of texts."""

    @property
    def name(self) -> str:
        """Return its name."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the notes."""

    @property
    def about(self) -> dict[str, Any]:
        """Return what it is, for the inputs of a report."""

    def encode(self, texts: Sequence[str]) -> Float32:
        """Return the vectors of texts, shape ``(n, d)``."""


def open_text_encoder(
    source: EncoderLike, *, device: str | None = None, precision: str | None = None
) -> TextEncoder:
    """Open an encoder of any kind."""
    # A setting `endpoint` makes the source a name of a model there. The answers of a mapping of one
    # name to an encoder are kept under that name.
    if (encoder := open_output_encoder(source, device=device)) is not None:
        return encoder
    if isinstance(source, (str, os.PathLike)) and is_static_model(
        folder := model_folder(os.fspath(source))
    ):
        return StaticTexts(Path(os.path.abspath(folder)).name, StaticEncoder.load(folder))
    loaded = Encoder.load(cast("ModelLike", source), device=device, precision=precision)
    return LayeredTexts(loaded)


def open_output_encoder(source: object, *, device: str | None = None) -> AnsweringEncoder | None:
    """Open an encoder that shows its output alone; None for a model whose layers can be read."""
    how = current_config()
    if isinstance(source, str) and how.endpoint is not None:
        endpoint = Endpoint(how.endpoint, source, how.key_variable)
        return AnsweringEncoder(
            source,
            endpoint.ask,
            f"{source} at {endpoint.host}",
            endpoint.cache_name,
            {"endpoint": endpoint.safe_url},
            at_once=AT_ONCE,
        )
    if isinstance(source, (str, os.PathLike)):
        return _by_library(os.fspath(source), device)
    if not is_output_only(source):
        return None
    named: dict[str, object] = dict(source) if isinstance(source, Mapping) else {}
    name, encoder = next(iter(named.items()), (_name_of(source), source))
    asking = _asking_of(encoder)
    assert asking is not None
    by, ask, elsewhere = asking
    notes: tuple[str, ...] = ()
    if is_loaded_static(encoder):
        notes = (f"{name}: is read as an encoder of texts; its folder also holds word vectors",)
    elif is_sentence_transformer(encoder):
        notes = (_library_note(str(name)),)
    return AnsweringEncoder(
        str(name), ask, str(name), f"function {name}" if named else None,
        {"by": by}, notes, elsewhere=elsewhere,
    )  # fmt: skip


def is_output_only(source: object) -> bool:
    """Return whether an argument is a function or an object that gives vectors of texts alone."""
    # A `SentenceTransformer` is one if it has modules that are not known here.
    if isinstance(source, Mapping):
        return len(source) == 1 and _asking_of(next(iter(source.values()))) is not None
    if isinstance(source, (str, os.PathLike, tuple, list)) or is_table(source):
        return False
    if is_sentence_transformer(source):
        return _is_strange(lambda: loaded_modules(source))
    try:
        model_and_tokenizer(source)
    except WordbiasError:
        return _asking_of(source) is not None
    return False


# models on this machine


@dataclass(frozen=True, eq=False)
class LayeredTexts:
    """A model of which the vectors of texts are those that `wordbias encode` has by default."""

    encoder: Encoder

    @property
    def name(self) -> str:
        """Return the name of its folder."""
        return Path(self.encoder.name).name

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the notes of the loading."""
        return self.encoder.notes

    @property
    def about(self) -> dict[str, Any]:
        """Return its path and a hash of its weights."""
        return {"path": self.encoder.name, "sha256": self.encoder.sha256()}

    def encode(self, texts: Sequence[str]) -> Float32:
        """Return the vectors of texts at the last layer."""
        job = EncodingJob.of(self.encoder, texts, settings=Settings((self.encoder.layers,)))
        vectors: Float32 = job.vectors()[0]
        return vectors


@dataclass(frozen=True, eq=False)
class StaticTexts:
    """A static model."""

    name: str
    encoder: StaticEncoder
    notes: tuple[str, ...] = ()

    @property
    def about(self) -> dict[str, Any]:
        """Return its path and a hash of its weights."""
        model = self.encoder.model
        return {"path": str(model.folder), "sha256": model.sha256()}

    def encode(self, texts: Sequence[str]) -> Float32:
        """Return the vectors of texts; refuse one without a known token."""
        tokens, _ = self.encoder.tokenise(texts)
        if empty := [i for i, ids in enumerate(tokens) if not len(ids)]:
            raise WordbiasError(
                f"{self.name}: text {empty[0] + 1} has no token that the model knows, and so no "
                "vector; leave it out"
            )
        return self.encoder.vectors(tokens)


# what answers


@dataclass(frozen=True, eq=False)
class AnsweringEncoder:
    """An encoder that is asked for the vectors of batches of texts, of equal ones once."""

    name: str
    ask: Callable[[list[str]], Any] = field(repr=False)  # function of a batch of texts
    where: str  # name in messages: of an endpoint with its host
    kept: str | None  # name under which the cache keeps answers; None: it keeps none
    details: Mapping[str, Any]  # what it is, for the inputs of a report
    notes: tuple[str, ...] = ()
    # texts may leave this machine, or cost money: their number is said first
    elsewhere: bool = True
    at_once: int = 1  # number of batches that it is asked for at the same time

    @property
    def about(self) -> dict[str, Any]:
        """Return what it is; vectors may depend on more."""
        return {"model": self.name, **self.details}

    def encode(self, texts: Sequence[str]) -> Float32:
        """Return the vectors of texts, shape ``(n, d)``, those of earlier calls from the cache."""
        distinct = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        if not distinct:
            raise WordbiasError("there is no text to encode")
        listed = list(distinct)
        how = current_config()
        cache = Answers(self.kept) if self.kept is not None and how.cache else None
        rows = {} if cache is None else cache.get(listed)
        missing = [text for i, text in enumerate(listed) if i not in rows]
        self._say(missing, len(rows), cache is not None)
        dims, before = {len(row) for row in rows.values()}, len(rows)
        self._refuse_lengths(dims, before)
        with (
            progress("encoding", len(listed), "text") as bar,
            _kept_on_the_way(self.where, rows, cache),
        ):
            bar.update(len(rows))
            size = how.batch_texts
            batches = [missing[i : i + size] for i in range(0, len(missing), size)]
            for batch, vectors in self._answers(batches):
                dims.add(vectors.shape[1])
                self._refuse_lengths(dims, before)
                if cache is not None:
                    cache.put(batch, vectors)
                rows |= {distinct[text]: row for text, row in zip(batch, vectors, strict=True)}
                bar.update(len(batch))
        return np.stack([rows[distinct[text]] for text in texts])

    def _refuse_lengths(self, lengths: Collection[int], before: int) -> None:
        """Refuse vectors of several lengths; some are kept from before."""
        if len(lengths) < 2:
            return
        values = f"vectors of {' and '.join(map(str, sorted(lengths)))} values"
        if before:
            raise WordbiasError(
                f"{self.where}: {values}, some kept from before: the model has changed; give it "
                "another name, or call with --no-cache"
            )
        raise self._odd(f"{values} in different batches")

    def _say(self, texts: Sequence[str], before: int, has_cache: bool) -> None:
        """Say how much is going to be sent."""
        if not self.elsewhere or not texts:
            return
        characters = sum(map(len, texts))
        sent = f"{how_many(len(texts), 'text')} of {characters:,} characters"
        line = f"{self.where}: is sent {sent}"
        line += f"; {before:,} are kept from before" if before else ""
        if not has_cache and self.kept is None:
            line += "; answers are not kept: give it a name, {'NAME': function}, to keep them"
        note(line)

    def _answers(self, batches: Sequence[list[str]]) -> Iterator[tuple[list[str], Float32]]:
        """Ask for batches; yield each with its vectors as they arrive."""
        # The first is asked for alone: a refusal costs one request, and a server that is slow is
        # not asked for several.
        start = time.monotonic()
        for place, batch in enumerate(batches):
            if place == 1 and self.at_once > 1 and time.monotonic() - start < SLOW:
                yield from as_they_arrive(self._answer, batches[1:], self.at_once)
                return
            yield batch, self._answer(batch)

    def _answer(self, batch: list[str], stop: threading.Event | None = None) -> Float32:
        """Ask for the vectors of a batch, again after a failure that may pass, unless stopped."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                given = self.ask(list(batch))
                break
            except WordbiasError:
                raise
            except AgainError as error:
                reason, wait, host = str(error), error.wait, True
            except Exception as error:  # whatever a function raises
                reason, wait, host = f"{type(error).__name__}: {first_line(error)}", None, False
                if isinstance(error, _OF_CODE):
                    attempt = ATTEMPTS
            wait = max(FIRST_WAIT * 2 ** (attempt - 1), wait or 0.0)
            reason = without_secrets(reason)
            failed = f"{self.where}: {reason}" if host else f"{self.where} raised {reason}"
            if attempt == ATTEMPTS:
                raise WordbiasError(
                    f"{failed}; expected an array of {len(batch)} vectors for {len(batch)} texts, "
                    "so mend that and call again"
                )
            if wait > LONGEST_WAIT:
                raise WordbiasError(
                    f"{failed}; it asks to wait {wait:,.0f} seconds: call again then"
                )
            note(f"{failed}; asking again in {wait:g} s", reported=True)
            if stop is None:
                time.sleep(wait)
            elif stop.wait(wait):
                raise WordbiasError(failed)
        return self._checked(given, len(batch))

    def _checked(self, given: Any, n: int) -> Float32:
        """Return an answer as an array, if it is vectors of `n` texts."""
        if hasattr(given, "toarray"):  # of scipy, sparse
            given = given.toarray()
        if hasattr(given, "detach"):  # of torch
            given = given.detach().float().cpu().numpy()
        try:
            x = matrix_of(given)
        except (WordbiasError, TypeError) as error:
            reason = first_line(error).removeprefix("vectors: ").partition("; ")[0]
            raise self._odd(f"{type(given).__name__} that is no array ({reason})") from None
        if x.shape[:1] != (n,) or x.ndim != 2 or not x.shape[1]:
            raise self._odd(f"an array of shape {x.shape} for {n} texts")
        if x.dtype.kind not in "fiu":
            raise self._odd(f"values of {x.dtype}, which are no numbers")
        with np.errstate(over="ignore"):
            vectors = x.astype(np.float32)
        if not np.isfinite(vectors).all():
            place = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
            raise self._odd(f"a value that is not finite for text {place + 1} of a batch")
        return vectors

    def _odd(self, what: str) -> WordbiasError:
        return WordbiasError(
            f"{self.where} returned {what}; expected one vector of finite numbers a text, shape "
            "(n, d), all of one length"
        )


@contextmanager
def _kept_on_the_way(
    where: str, rows: Mapping[int, Float32], cache: Answers | None
) -> Iterator[None]:
    """Say in an error, and after Ctrl-C, how many answers are kept."""
    try:
        yield
    except WordbiasError as error:
        if cache is not None and rows:
            error.args = (f"{error}; {how_many(len(rows), 'answer')} kept",)
        raise
    except KeyboardInterrupt:
        if cache is None:
            raise
        raise Interrupted(
            f"{where}: {how_many(len(rows), 'answer')} kept; the same call resumes"
        ) from None


def _asking_of(source: object) -> tuple[str, Callable[[list[str]], Any], bool] | None:
    """Return how an object is asked, and whether texts may leave this machine, or None."""
    # Models of transformers and arrays, which can be called too, are none.
    for name, elsewhere in (("embed_documents", True), ("encode", False)):
        if callable(method := getattr(source, name, None)) and not isinstance(source, (str, type)):
            return name, method, elsewhere
    if callable(method := getattr(source, "transform", None)) and hasattr(source, "fit"):
        return "transform", method, False
    if callable(source) and not hasattr(source, "config") and not isinstance(source, type):
        return "call", source, True
    return None


def _name_of(source: object) -> str:
    """Return the name of a function or object in messages and results."""
    for attribute in ("model", "model_name", "__name__"):
        name = getattr(source, attribute, None)
        if isinstance(name, str) and name and name != "<lambda>":
            return name
    return "function" if hasattr(source, "__name__") else type(source).__name__


# sentence-transformers with modules that are not known here


def _by_library(name: str, device: str | None) -> AnsweringEncoder | None:
    """Open a folder with modules that are not known here by its own library, if installed."""
    # Modules of other authors are not run.
    modules = Path(name, MODULES)
    if not modules.is_file() or is_static_model(name) or find_spec(_LIBRARY) is None:
        return None
    if not _is_strange(lambda: read_modules(name)) or not _are_of_library(modules):
        return None
    library = need(_LIBRARY, extra="contextual", purpose="Its own modules")
    try:
        model = library.SentenceTransformer(name, device=find_device(device))
    except Exception as error:  # whatever the library raises of a folder
        raise WordbiasError(
            f"{name}: has modules that are not known here, and sentence-transformers cannot load "
            f"it: {first_line(error)}; fetch or write it again"
        ) from None
    return AnsweringEncoder(
        Path(os.path.abspath(name)).name, model.encode, name, None, {"path": name},
        (_library_note(name),), elsewhere=False,
    )  # fmt: skip


def _library_note(name: str) -> str:
    return (
        f"{name}: has modules that are not known here; its vectors are those of "
        "sentence-transformers, by its own encode"
    )


def _is_strange(read: Callable[[], object]) -> bool:
    """Return whether the modules of a sentence-transformers model are not understood."""
    try:
        read()
    except WordbiasError:
        return True
    return False


def _are_of_library(modules: Path) -> bool:
    """Return whether all modules are of the library, so that it runs no code of the folder."""
    try:
        kinds = [str(module["type"]) for module in json.loads(modules.read_bytes())]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return False
    return all(kind.startswith(f"{_LIBRARY}.") for kind in kinds)
