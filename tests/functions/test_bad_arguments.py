"""What no function takes is refused in one line that names Python's argument."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb
from wordbias import Embedding, WordbiasError, embedding
from wordbias.arguments import accepted
from wordbias.calls import in_python
from wordbias.reports import Report
from wordbias.results import Row

FUNCTIONS = [
    name for name in wb.__all__ if name.islower() and inspect.isfunction(getattr(wb, name))
]
"""The public functions; all of them are also commands."""
SMALL = Embedding(["she", "he", "it"], np.arange(12).reshape(3, 4) + 0.5, "small")

WORDS = [f"w{i}" for i in range(8)]
MORE = Embedding(WORDS, np.random.default_rng(0).normal(size=(8, 5)), "more")
QUERY: dict[str, Any] = {
    "targets": {"f": WORDS[:2], "m": WORDS[2:4]},
    "attributes": {"a": WORDS[4:6], "b": WORDS[6:]},
}


class Odd:
    """What no argument can be."""

    def __repr__(self) -> str:
        return "an odd one"


def _words() -> Iterator[str]:
    yield from ("she", "he")


@pytest.mark.parametrize(
    ("name", "annotation", "value", "said"),
    [
        ("dims", "int", 0, "dims=: expected a whole number from 1 on, got 0"),
        ("dims", "int", True, "whole number from 1 on, got True"),
        ("dims", "int", 2.0, "got 2.0"),
        ("dims", "int", None, "got None"),
        ("dims", "int | None", np.int64(0), f"got {re.escape(repr(np.int64(0)))}"),
        ("seed", "int", -1, "seed=: expected a whole number from 0 on, got -1"),
        ("seed", "int", 10**30, "from 0 on and below 2[*][*]63, got 1000"),
        ("rate", "float", float("nan"), "rate=: expected a finite number from 0 on, got nan"),
        ("rate", "float", -0.5, "got -0.5"),
        ("rate", "float", "1", "got '1'"),
        ("holm", "bool", "yes", "holm=: expected True or False, got 'yes'"),
        ("holm", "bool", 2, "got 2"),
        ("holm", "bool", np.zeros(3), r"got ndarray of shape \(3,\)"),
        ("device", "str | None", Path("cpu"), "device=: expected a text, got PosixPath"),
        ("device", "str", "a\0b", "expected a text, got 'a.x00b'"),
        ("device", "str", "\ud800", "expected a text, got '.ud800'"),
        ("only", "Sequence[str]", 5, "only=: expected a list of texts, got 5"),
        ("only", "Sequence[str]", ["a", None], "got .'a', None."),
        ("only", "Sequence[str]", b"ab", "got b'ab'"),
        ("only", "Sequence[str]", SMALL, "a list of texts, got Embedding"),
        ("only", "Sequence[str]", np.zeros((2, 2)), r"of shape \(2, 2\)"),
        ("seeds", "Sequence[int]", [0, "1"], "seeds=: expected a list of whole numbers"),
        ("to", "Literal['a', 'b']", "c", "to=: expected one of a, b, got 'c'"),
        ("o", "str | os.PathLike[str]", 5, "o=: expected a text or a path, got 5"),
        ("o", "str | os.PathLike[str]", ["a"], "a text or a path, got"),
        ("where", "Mapping[str, str]", {"a": 1}, "where=: expected a mapping, got {'a': 1}"),
        ("where", "Mapping[str, str]", {None: "a"}, "expected a mapping"),
        ("texts", "str | Iterable[str]", 3, "texts=: expected a text or a list of texts, got 3"),
        ("texts", "str | Iterable[str]", ["a", 3], "a list of texts"),
    ],
)
def test_an_argument_is_refused_by_its_annotation(
    name: str, annotation: str, value: object, said: str
) -> None:
    with pytest.raises(WordbiasError, match=said) as caught:
        accepted(name, annotation, value, _NAMES)
    assert str(caught.value).startswith(f"{name}=: expected ")


_NAMES: dict[str, Any] = {}
exec(  # the names that annotations have in the modules of the functions
    "import os\n"
    "from collections.abc import Iterable, Mapping, Sequence\n"
    "from typing import Any, Literal\n",
    _NAMES,
)


@pytest.mark.parametrize(
    ("annotation", "value", "taken"),
    [
        ("int", np.int32(3), 3),
        ("float", np.float32(0.5), 0.5),
        ("float", 2, 2),
        ("bool", np.bool_(True), True),
        ("bool", 0, False),
        ("str", np.str_("a"), "a"),
        ("Sequence[str] | None", None, None),
        ("Sequence[str]", np.array(["a", "b"]), ["a", "b"]),
        ("Sequence[str]", ("a", "b"), ["a", "b"]),
        ("Sequence[str]", {"a": 1}.keys(), ["a"]),
        ("Sequence[int]", range(2, 4), [2, 3]),
        ("Mapping[str, Sequence[str]]", {"a": ("b",)}, {"a": ["b"]}),
        ("NotImportedHere | None", 5, 5),
    ],
)
def test_what_is_taken_is_python_s_own(annotation: str, value: object, taken: object) -> None:
    converted = accepted("x", annotation, value, _NAMES)
    assert converted == taken
    assert type(converted) is type(taken)


def test_a_generator_of_texts_is_not_used_up() -> None:
    texts = _words()
    assert accepted("x", "Iterable[str]", texts, _NAMES) is texts
    assert accepted("x", "Sequence[str]", texts, _NAMES) == ["she", "he"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_function_takes_what_is_odd(name: str, tmp_path: Path) -> None:
    """Only what was typed wrongly is refused; nothing is computed, and nothing written."""
    function: Callable[..., Any] = getattr(wb, name)
    parameters = inspect.signature(function).parameters.values()
    arguments = {
        param.name: str(tmp_path / "x") for param in parameters if param.default is param.empty
    }
    several = {param.name for param in parameters if param.kind is param.VAR_POSITIONAL}
    given = {key: value for key, value in arguments.items() if key not in several}
    for parameter in parameters:
        simple = str(parameter.annotation).removesuffix(" | None")
        if simple in ("bool", "int", "float", "str", "Sequence[str]", "Sequence[int]", "Kind"):
            for value in (Odd(), np.zeros((2, 2, 2)), {"a": 1}):
                if parameter.name in several:
                    continue
                with pytest.raises(WordbiasError, match=f"^{parameter.name}=: expected "):
                    function(**{**given, parameter.name: value})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("groups", [5, ["a"], b"gender", {"a": 1, "b": 2}, {"a": ["x"]}, np.eye(2)])
def test_groups(groups: Any) -> None:
    with pytest.raises(WordbiasError, match=r"^groups(=)?:"):
        wb.lists(groups=groups)


def test_groups_of_which_two_must_be_chosen() -> None:
    with pytest.raises(WordbiasError, match='choose two of them, groups="religion:jewish,christ'):
        wb.measure(SMALL, groups="religion")
    three = {"a": ["she"], "b": ["he"], "c": ["it"]}
    with pytest.raises(WordbiasError, match="choose two of them, or what takes all"):
        wb.measure(SMALL, groups=three)


@pytest.mark.parametrize(
    ("words", "vectors", "said"),
    [
        ([1, 2], np.eye(2), "expected a list of words, which are texts, got 1"),
        (["a", None], np.eye(2), "got None"),
        ("ab", np.eye(2), "got 'ab'"),
        (5, np.eye(2), "got 5"),
        (["a", "a"], np.eye(2), "occurs more than once"),
        (["a", "b"], [[1, 2], [3]], "expected vectors of numbers, all of one length"),
        (["a", "b"], [["x", "y"], ["z", "z"]], "expected numbers, found the text"),
        (["a", "b"], np.eye(2) * 1j, "expected vectors of numbers"),
        (["a", "b"], None, r"shape \(2, d\)"),
        (["a", "b"], np.zeros((2, 2, 2)), r"got \(2, 2, 2\)"),
        (["a", "b"], [[1, 2], [3, np.nan]], "the vector of 'b' has a value that is not finite"),
        (["a", "b"], [[np.inf, -np.inf], [3, 4]], "the vector of 'a'"),
        (["a", "b"], [[1e39, 0], [3, 4]], "too large for float32"),
    ],
)
def test_words_and_vectors(words: Any, vectors: Any, said: str) -> None:
    with pytest.raises(WordbiasError, match=said):
        Embedding(words, vectors)


@pytest.mark.parametrize(
    "source", [{}, {"a": ["he"]}, {"a": 1}, {"a": [1], "b": [1, 2]}, [], Odd()]
)
def test_what_is_no_embedding(source: Any) -> None:
    with pytest.raises(WordbiasError):
        wb.load(source)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int8, object])
def test_vectors_of_other_types_stay_as_they_are(dtype: Any) -> None:
    given = np.arange(12).reshape(3, 4)[:, ::-1].astype(dtype)
    given.flags.writeable = False
    before = given.copy()
    emb = Embedding(np.array(["a", "b", "c"]), given)
    assert emb.words == ("a", "b", "c")
    assert all(type(word) is str for word in emb)
    np.testing.assert_array_equal(given, before)
    np.testing.assert_array_equal(emb["a"], [3, 2, 1, 0])


@pytest.mark.parametrize(
    "made", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_of_embeddings_cannot_be_changed_either(made: Callable[[Any], Any]) -> None:
    report = Report(rows=[Row("a", "m", 1.0)])
    lazy = embedding.lazy(lambda: SMALL, "later", (3, 4), report)
    for source in (SMALL, lazy):
        copied = made(source)
        assert copied.words == SMALL.words
        assert not copied.vectors.flags.writeable
        np.testing.assert_array_equal(copied.vectors, SMALL.vectors)
    assert len(made(lazy).report) == 1


@pytest.mark.parametrize("word", [5, None, ["she", 5], b"she", {"she": 1}.values()])
def test_a_word_is_a_text(word: Any) -> None:
    with pytest.raises(WordbiasError, match="expected a list of words, which are texts"):
        SMALL[word]
    assert [] not in SMALL


@pytest.mark.parametrize("word", [5, None, ["she", 5], [], np.full(4, np.nan), np.zeros((2, 2))])
def test_neighbours_of_what_is_no_word(word: Any) -> None:
    with pytest.raises(WordbiasError, match="expected a word, words or a finite vector of shape"):
        SMALL.most_similar(word)


@pytest.mark.parametrize("k", [0, -1, 1.5, None, True])
def test_a_number_of_neighbours(k: Any) -> None:
    with pytest.raises(WordbiasError, match="k=: expected a whole number from 1 on"):
        SMALL.most_similar("she", k=k)


@pytest.mark.parametrize(
    "path", [5, None, b"r.json", "\0.json", "\ud800.json", "a" * 300 + ".json"]
)
def test_paths_that_no_file_can_have(path: Any, tmp_path: Path) -> None:
    report = Report(rows=[Row("a", "m", 1.0)])
    reading = () if path is None else (wb.load,)  # without a path it is the sample
    for call in (report.save, SMALL.save, *reading):
        with pytest.raises(WordbiasError) as caught:
            call(path)
        str(caught.value).encode()
    assert not list(tmp_path.iterdir())


def test_calls_in_threads_and_within_one_another_do_not_mix() -> None:
    given: list[dict[str, Any]] = [{"ddof": 0}, {"draws": 7}, {"holm": True}] * 2
    reports: dict[int, Report] = {}

    def call(i: int) -> None:
        reports[i] = wb.weat(MORE, **QUERY, **given[i])

    threads = [threading.Thread(target=call, args=(i,)) for i in range(len(given))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    plain = wb.weat(MORE, **QUERY).arguments
    for i, arguments in enumerate(given):
        assert reports[i].arguments == {**plain, **arguments}


def test_what_was_given_is_neither_changed_nor_kept() -> None:
    only = ["weat"]
    report = wb.weat(MORE, **QUERY, only=only)
    assert only == ["weat"]
    only.append("rnd")
    assert report.arguments["only"] == ["weat"]


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("--groups=religion:a,b", 'groups="religion:a,b"'),
        ("--device=cuda:0 is for", 'wb.config(device="cuda:0") is for'),
        ("--direction=means or names", 'direction="means" or names'),
        ("--from=/some/x: no", 'source="/some/x": no'),
        ("give --groups FILE", "give groups=FILE"),
        ("wordbias encode --where a=b", "wordbias encode --where a=b"),
    ],
)
def test_options_as_arguments(text: str, spelled: str) -> None:
    assert in_python(text) == spelled


@pytest.mark.parametrize(
    ("estimator", "given", "said"),
    [
        (wb.MISP, {"dims": 0}, "dims=: expected a whole number from 1 on"),
        (wb.MISP, {"centre": "x"}, "centre=: expected True or False"),
        (wb.MISP, {"weights": 5}, "weights=: expected a text or a list of finite numbers"),
        (wb.INLP, {"rounds": "x"}, "rounds=: expected a whole number"),
        (wb.INLP, {"rounds": None}, "rounds=: expected a whole number"),
        (wb.INLP, {"random_state": "x"}, "random_state=: expected a whole number from 0 on, a Ran"),
        (wb.INLP, {"random_state": -1}, "random_state=: expected"),
        (wb.Hard, {"direction": 5}, "direction=: expected a text"),
        (wb.HalfSibling, {"alpha": "x"}, "alpha=: expected a finite number"),
        (wb.DoubleHard, {"per_side": "x"}, "per_side=: expected a whole number"),
        (wb.RAN, {"words": [5]}, "words=: expected a list of texts"),
        (wb.RAN, {"lambdas": 5}, "lambdas=: expected a list of finite numbers"),
        (wb.OSCaR, {"concept": 5}, "concept=: expected"),
        (wb.GenderPreserving, {"epochs": "x"}, "epochs=: expected a whole number"),
    ],
)
def test_parameters_of_estimators(estimator: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(WordbiasError, match=said):
        estimator(**given).fit(SMALL)


def test_a_bad_file_is_refused_by_an_estimator_in_python_s_words(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("a 1 2\nb 1\n")
    with pytest.raises(WordbiasError, match=r"line 2: .*drop such rows with wb.config"):
        wb.MISP().fit(str(tmp_path / "bad.txt"))


@pytest.mark.filterwarnings("ignore::wordbias.calls.WordbiasWarning")
def test_a_generator_of_random_numbers_is_a_random_state() -> None:
    x, y = np.random.default_rng(0).normal(size=(40, 5)), np.arange(40) % 2
    first, second = (
        wb.INLP(rounds=2, random_state=np.random.default_rng(1)).fit(x, y).transform(x)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_a_reason_in_a_row_names_arguments() -> None:
    from wordbias.calls import public

    @public
    def some() -> Report:
        return Report(rows=[Row("a", "m", None, {"reason": "too few; --vocab gives more"})])

    assert some().rows[0].details["reason"] == "too few; vocab= gives more"


def test_groups_that_share_a_word_are_refused_in_python_as_in_a_file() -> None:
    groups = {"a": ["w0", "w1"], "b": ["w2", "W0"]}
    for take in (wb.measure, wb.misp):
        with pytest.raises(WordbiasError, match=r"^groups: expected .* found 'W0' in both; remove"):
            take(MORE, groups=groups)
