"""A server that answers well, and one that fails in each way; the key is seen nowhere."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embedding_server import KEY, Fault, Server, serving, toy

import wordbias as wb
from wordbias.errors import WordbiasError
from wordbias.formats import answers
from wordbias.models import endpoint, text_encoders
from wordbias.models.endpoint import Endpoint
from wordbias.models.text_encoders import ATTEMPTS, open_text_encoder

Cli = Callable[..., Any]
TEXTS = [f"text {i}" for i in range(10)]
SAID = "is sent"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_encoders, "FIRST_WAIT", 0.001)
    monkeypatch.setattr(text_encoders, "SLOW", float("inf"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def ask(server: Server, texts: list[str] = TEXTS, batch: int = 4, **config: Any) -> Any:
    with wb.config(endpoint=server.url, batch_texts=batch, **config):
        return open_text_encoder("toy").encode(texts)


def refused(server: Server, **config: Any) -> str:
    with pytest.raises(WordbiasError) as caught:
        ask(server, **config)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_answers_are_put_into_the_order_of_the_texts(server: Server) -> None:
    doubled = [*TEXTS, *TEXTS[::-1]]
    assert np.array_equal(ask(server, doubled), toy(doubled))
    assert sorted(map(len, server.requests)) == [2, 4, 4]
    assert sorted(server.answered) == TEXTS


def test_nothing_is_asked_twice_in_later_calls(server: Server) -> None:
    ask(server, TEXTS[:6])
    assert np.array_equal(ask(server), toy(TEXTS))
    assert sorted(server.answered) == TEXTS
    ask(server)
    assert sorted(server.answered) == TEXTS
    ask(server, cache=False)
    assert sorted(server.answered) == sorted([*TEXTS, *TEXTS])


def test_answers_are_of_one_model_and_one_address(server: Server) -> None:
    ask(server)
    with serving(lambda texts: -toy(texts)) as other:
        assert np.array_equal(ask(other), -toy(TEXTS))
    with wb.config(endpoint=server.url):
        open_text_encoder("another").encode(TEXTS)
    assert sorted(server.answered) == sorted([*TEXTS, *TEXTS])
    assert len(answers.entries()) == 3


@pytest.mark.parametrize(
    "fault",
    [
        Fault(429, b"{}", {"Retry-After": "0"}),
        Fault(500, b"oops"),
        Fault(503, b"{}", {"Retry-After": "Thu, 01 Jan 2015 00:00:00 GMT"}),
        Fault(cut=30),
        Fault(body=b'{"data": [{"index": 0, "embedding": [1, '),
        Fault(drop=True),
    ],
)
def test_what_may_pass_is_asked_again(server: Server, fault: Fault) -> None:
    server.faults = [fault, None, fault, fault]
    assert np.array_equal(ask(server), toy(TEXTS))
    assert sorted(server.answered) == TEXTS
    assert len(server.requests) == 6


def test_a_server_that_never_recovers_costs_nothing_twice(server: Server) -> None:
    server.faults, server.always = [None], Fault(500, b'{"error": {"message": "I am ill"}}')
    message = refused(server, batch=5)
    assert "answers 500: I am ill" in message
    assert "5 answers kept" in message
    assert len(server.requests) == 1 + ATTEMPTS
    server.always = None
    assert np.array_equal(ask(server), toy(TEXTS))
    assert sorted(server.answered) == TEXTS


MORE = [f"text {i:02}" for i in range(20)]


def together(fails: str = "") -> Callable[[list[str]], Any]:
    """Answer the first four texts, and then four requests only once all have arrived."""
    others = threading.Barrier(4)

    def encode(texts: list[str]) -> Any:
        if MORE[0] not in texts:
            others.wait(60)
        return toy(texts)[: -1 if fails in texts else None]

    return encode


def test_after_the_first_request_four_are_on_their_way(server: Server) -> None:
    server.encode = together()
    assert np.array_equal(ask(server, MORE), toy(MORE))
    assert server.requests[0] == MORE[:4]
    assert sorted(server.answered) == MORE


def test_what_arrives_beside_a_refusal_is_kept(server: Server) -> None:
    server.encode = together(fails="text 09")
    assert "16 answers kept" in refused(server, texts=MORE)
    server.encode = toy
    assert np.array_equal(ask(server, MORE), toy(MORE))
    assert server.requests[5:] == [MORE[8:12]]


def test_a_slow_server_has_one_request_at_a_time(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_encoders, "SLOW", 0)
    ask(server, MORE)
    assert server.answered == MORE


@pytest.mark.parametrize(
    ("asked", "waits"),
    [("0", [1, 2, 4, 8]), ("3", [3, 3, 4, 8]), ("100", [100, 100, 100, 100])],
)
def test_no_wait_is_shorter_than_usual_or_than_the_server_asks(
    server: Server, monkeypatch: pytest.MonkeyPatch, asked: str, waits: list[float]
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(text_encoders, "FIRST_WAIT", 1.0)
    monkeypatch.setattr("time.sleep", slept.append)
    server.always = Fault(429, b"{}", {"Retry-After": asked})
    refused(server)
    assert slept == waits


def test_a_long_wait_is_left_to_the_user(server: Server) -> None:
    server.always = Fault(429, b"{}", {"Retry-After": "3600"})
    assert "asks to wait 3,600 seconds" in refused(server)
    assert len(server.requests) == 1


def test_a_server_that_does_not_answer_in_time(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "TIMEOUT", 0.05)
    server.always = Fault(wait=True)
    assert "no answer in 0.05 seconds" in refused(server)
    assert len(server.requests) == ATTEMPTS


def _without_last(answer: Any) -> Any:
    return {**answer, "data": answer["data"][:-1]}


def _each(**changed: Any) -> Callable[[Any], Any]:
    return lambda answer: {**answer, "data": [{**row, **changed} for row in answer["data"]]}


def _first(row: Any) -> Callable[[Any], Any]:
    def change(answer: Any) -> Any:
        return {**answer, "data": [{**answer["data"][0], "embedding": row}, *answer["data"][1:]]}

    return change


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault(change=_without_last), "3 vectors for 4 texts"),
        (Fault(change=_each(index=0)), "the index 0 twice"),
        (Fault(change=_each(index=4)), "whose index is none of 0 to 3"),
        (Fault(change=_each(index=None)), "whose index is none of 0 to 3"),
        (Fault(change=_each(embedding="AAAA")), "no list of numbers for the text of index"),
        (Fault(change=_each(embedding=[])), "no list of numbers for the text of index"),
        (Fault(change=_each(embedding=[True])), "no list of numbers for the text of index"),
        (Fault(change=_first([1.0])), "vectors of 1 and 4 values"),
        (Fault(change=_first([float("nan")] * 4)), "a value that is not finite"),
        (Fault(change=_first([10**400] * 4)), "a value that is not finite"),
        (Fault(change=lambda answer: answer["data"]), "which has no list data"),
        (Fault(body=b"<html>Welcome</html>"), "'<html>Welcome</html>', which is no JSON"),
        (Fault(body=b"[" * 100_000), "which is no JSON"),
        (Fault(400, b'{"detail": "too many texts"}'), "answers 400: too many texts"),
        (Fault(307, b"", {"Location": "http://x.y/?key=1"}), "it redirects to http://x.y/; give"),
    ],
)
def test_what_is_no_answer_is_refused_at_once(server: Server, fault: Fault, said: str) -> None:
    server.always = fault
    assert said in refused(server)
    assert len(server.requests) == 1
    assert not answers.entries()


def test_vectors_of_another_length_later(server: Server) -> None:
    ask(server, TEXTS[:4])
    server.encode = lambda texts: toy(texts)[:, :3]
    assert "vectors of 3 and 4 values, some kept from before" in refused(server)
    assert "vectors of 3 and 4 values" in refused(server)
    server.encode = lambda texts: toy(texts)[:, : 4 - ("7" in "".join(texts))]
    assert "vectors of 3 and 4 values in different batches" in refused(server, cache=False)


def test_addresses(server: Server) -> None:
    wrong = server.url.removesuffix("/v1")
    with wb.config(endpoint=wrong), pytest.raises(WordbiasError, match="before /embeddings"):
        open_text_encoder("toy").encode(TEXTS)
    ask(server)
    for same in (f"{server.url}/", f"{server.url}/embeddings"):
        with wb.config(endpoint=same):
            open_text_encoder("toy").encode(TEXTS)
    assert sorted(server.answered) == TEXTS
    odds = ("api.openai.com/v1", "file:///etc/passwd", "http://", "http://[::1", "http://a:b")
    for odd in (*odds, "http://localhost/a b", "http://localhost/é", "http://localhost/\n"):
        with wb.config(endpoint=odd), pytest.raises(WordbiasError, match="expected an address"):
            open_text_encoder("toy")
    with (
        wb.config(endpoint="https://me:mine@a.b/v1"),
        pytest.raises(WordbiasError, match=r"https://a\.b/v1: has a user name") as caught,
    ):
        open_text_encoder("toy")
    assert "mine" not in str(caught.value)


def test_answers_of_a_query_are_its_own_and_do_not_show_it() -> None:
    addresses = {
        Endpoint(f"https://a.b/v1?{query}", "toy", "").cache_name for query in ("key=1", "key=2")
    }
    assert len(addresses) == 2
    assert not any("key=" in address for address in addresses)


def test_nothing_listens() -> None:
    with serving() as gone:
        pass
    with (
        wb.config(endpoint=gone.url),
        pytest.raises(WordbiasError, match="cannot be reached"),
    ):
        open_text_encoder("toy").encode(TEXTS)


# the key


def test_a_key_is_sent_and_needed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.key = KEY
    message = refused(server)
    assert "answers 401: You didn't provide an API key; $OPENAI_API_KEY is not set" in message
    monkeypatch.setenv("OTHER_KEY", KEY)
    assert np.array_equal(ask(server, key_variable="OTHER_KEY"), toy(TEXTS))
    assert server.headers[-1]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("key", ["two words", "línea", "a\x07b", "a\nb"])
def test_a_key_that_is_none(server: Server, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    message = refused(server)
    assert "$OPENAI_API_KEY: holds a character that no key has" in message
    assert key not in message
    assert not server.requests


def test_a_key_goes_over_no_open_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(WordbiasError, match="is not encrypted") as caught:
        Endpoint("http://example.org/v1", "toy", "OPENAI_API_KEY")
    assert KEY not in str(caught.value)
    Endpoint("https://example.org/v1", "toy", "OPENAI_API_KEY")
    Endpoint("http://example.org/v1", "toy", "NO_KEY")


@pytest.mark.parametrize(
    "fault",
    [
        Fault(401, f'{{"error": {{"message": "Incorrect: {KEY}"}}}}'.encode()),
        Fault(429, f'{{"message": "{KEY}"}}'.encode()),
        Fault(400, f'{{"error": "{"x" * 190}{KEY}"}}'.encode()),
        Fault(301, b"", {"Location": f"https://a.b/{KEY}"}),
        Fault(body=f"<html>{'x' * 50}{KEY}</html>".encode()),
        Fault(body=f'{{"{KEY}": 1}}'.encode()),
        Fault(change=_each(index=KEY)),
        Fault(change=_each(embedding=KEY)),
        Fault(drop=True),
    ],
)
def test_no_error_has_the_key(
    server: Server,
    fault: Fault,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    cli: Cli,
) -> None:
    """Not in the line or the traceback, nor in a part of it."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.always = fault
    (tmp_path / "t.txt").write_text("one\ntwo\n")
    out = tmp_path / "v.safetensors"
    call = ("encode", "toy", tmp_path / "t.txt", "-o", out, "--endpoint", server.url)
    outcome = cli(*call)
    assert outcome.code == 1
    for part in (KEY, KEY[:12], KEY[5:]):
        assert part not in outcome.out + outcome.err
    with pytest.raises(WordbiasError) as caught:
        ask(server)
    trace = "".join(traceback.format_exception(caught.value))
    assert KEY not in trace
    assert KEY not in repr(Endpoint(server.url, "toy", "OPENAI_API_KEY"))


def test_no_file_and_no_report_has_the_key(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cli: Cli
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.key = KEY
    (tmp_path / "t.txt").write_text("one\ntwo\n")
    out = tmp_path / "v.safetensors"
    call = ("encode", "toy", tmp_path / "t.txt", "-o", out, "--endpoint", server.url)
    outcome = cli(*call, "--format", "json")
    assert outcome.code == 0
    assert server.url in outcome.out
    assert "toy at 127.0.0.1" in outcome.err
    assert f"{SAID} 2 texts of 6 characters" in outcome.err
    written = out.read_bytes() + b"".join(answer.path.read_bytes() for answer in answers.entries())
    assert KEY.encode() not in written
    assert KEY not in outcome.out + outcome.err
