"""`--adapter` of encode, probe and ceat: what is removed, what is said, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from quick_cases import first_quick
from tiny_encoders import build, make_tokenizer, save, words_of

import wordbias as wb
from wordbias.contextual.fitting import Recipe, fit_adapter
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.ceat import ceat
from wordbias.functions.encode import encode
from wordbias.functions.encoded_texts import answers
from wordbias.functions.probe import probe
from wordbias.functions.project import project
from wordbias.models.adapters import Adapter
from wordbias.models.fingerprint import Fingerprint
from wordbias.models.representations import Representations, load_representations
from wordbias.models.sentence_pairs import sentence_pairs
from wordbias.models.sites import PUBLISHED_SITES, Site, sites
from wordbias.reports import Report
from wordbias.results import Row
from wordbias.subspace import Subspace

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.usefixtures("one_thread")

PAIRS = sentence_pairs()[:30]
TEXTS = [text for pair in PAIRS for text in (pair.first, pair.second)]
GENDER = ["F", "M"] * len(PAIRS)
SENTENCES = [text for pair in sentence_pairs() for text in (pair.first, pair.second)]
EXTRA = "tokens@1,tokens@2,attention@2"
JUDGED = ("best-probe", "ridge-probe", "rbf-probe")
QUICK: dict[str, Any] = {"seed": [0], "epochs": 2, "lr": 0.02, "fractions": [10, 50, 100]}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return make_tokenizer(words_of(*(text for pair in sentence_pairs() for text in pair)))


@pytest.fixture(scope="module")
def classifier(tokenizer: Any) -> Any:
    return build("bert", vocabulary=len(tokenizer))


@pytest.fixture(scope="module")
def folder(classifier: Any, tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("adapted") / "tiny"
    save(classifier, tokenizer, path)
    return path


@pytest.fixture(scope="module")
def loaded(folder: Path) -> tuple[Any, Any]:
    """Return the encoder of the folder and its tokenizer, which no test changes."""
    model = transformers.AutoModel.from_pretrained(folder).eval()
    return model, transformers.AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def adapter(classifier: Any, tokenizer: Any) -> Adapter:
    """Fitted on the classifier, whose encoder the functions read."""
    wanted = [*PUBLISHED_SITES, *sites(EXTRA)]
    return fit_adapter(classifier, tokenizer, PAIRS, Recipe(), wanted=wanted)


@pytest.fixture(scope="module")
def stored(adapter: Adapter, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("adapted") / "a.st"
    adapter.save(path)
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("adapted") / "texts.tsv"
    lines = [f"{g}\t{text}" for g, text in zip(GENDER, TEXTS, strict=True)]
    path.write_text("\n".join(["gender\ttext", *lines]) + "\n", encoding="utf-8")
    return path


def rows(report: Report | None) -> Any:
    assert report is not None
    return json.loads(json.dumps(report.to_dict()["rows"]))


# encode


@pytest.mark.parametrize("site", ["tokens@2", "cls@2"])
def test_vectors_are_those_of_a_hook_written_by_hand(
    folder: Path, loaded: tuple[Any, Any], adapter: Adapter, tokenizer: Any, site: str
) -> None:
    if site == "cls@2":
        adapter = replace(
            adapter,
            subspaces={**adapter.subspaces, Site("cls", 2): adapter.subspaces[Site("cls", 3)]},
        )
    reps = encode(loaded, TEXTS[:5], adapter=adapter, setting=site)
    g = torch.tensor(adapter.subspaces[Site.parse(site)].basis[:1]).float()
    model = transformers.AutoModel.from_pretrained(folder).eval()

    def remove(module: Any, args: Any, output: Any) -> Any:
        x = output[0] if isinstance(output, tuple) else output
        less = x - (x @ g.T) @ g
        if site == "cls@2":
            less = torch.cat([less[:, :1], x[:, 1:]], 1)
        return (less, *output[1:]) if isinstance(output, tuple) else less

    model.encoder.layer[1].register_forward_hook(remove)
    plain = encode(loaded, TEXTS[:5])
    for i, text in enumerate(TEXTS[:5]):
        ids = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            last = model(ids["input_ids"], ids["attention_mask"]).last_hidden_state[0, 0]
        np.testing.assert_allclose(reps[3][i], last.numpy(), atol=1e-5)
    for layer in (0, 1):
        np.testing.assert_array_equal(reps[layer], plain[layer])
    assert np.abs(reps[3] - plain[3]).max() > 1e-3


def test_a_file_records_the_setting_and_is_resumed_by_the_same_only(
    folder: Path, adapter: Adapter, stored: Path, tmp_path: Path
) -> None:
    out, texts = tmp_path / "out.st", TEXTS[:4]

    def encoded(setting: str | None, adapter: Any = stored) -> Representations:
        return encode(folder, texts, output=out, adapter=adapter, setting=setting)

    reps = encoded("tokens@2")
    assert reps.report is not None
    details = reps.report.rows[0].details
    assert (details["setting"], details["unchanged"]) == ("tokens@2", [0, 1])
    assert list(details["sites"]) == ["tokens@2"]
    assert reps.report.inputs["adapter"]["path"] == str(stored)
    message = "Removed at tokens@2. Changed: layers 2, 3; unchanged: layers 0, 1."
    assert reps.report.closing[0] == message
    written = load_representations(out)
    assert written.about["setting"] == "tokens@2"
    assert len(written.about["adapter_sha256"]) == 64
    assert rows(encoded("tokens@2").report)[0]["reason"] == "the file was complete before"
    site = Site("tokens", 2)
    turned = Subspace(adapter.subspaces[site].basis[::-1], adapter.subspaces[site].weights)
    other = replace(adapter, subspaces={**adapter.subspaces, site: turned})
    for setting, given, message in (
        ("tokens@1", stored, "its setting is 'tokens@2', not 'tokens@1'"),
        (None, None, "its setting is 'tokens@2', not None"),
        ("tokens@2", other, r"its adapter_sha256 is '\w+…', not '"),
    ):
        with pytest.raises(WordbiasError, match=f"is of another run: {message}"):
            encoded(setting, given)
    np.testing.assert_array_equal(load_representations(out).vectors, written.vectors)


def test_a_block_of_the_adapter_is_recorded_alike(folder: Path, adapter: Adapter) -> None:
    """What `adapter.on` removes in a loaded model is what the argument removes."""
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    pair = (model, transformers.AutoTokenizer.from_pretrained(folder))
    expected = encode(pair, TEXTS[:6], adapter=adapter, setting="tokens@2")
    with adapter.on(model, "tokens@2"):
        reps = encode(pair, TEXTS[:6])
    np.testing.assert_array_equal(reps.vectors, expected.vectors)
    keys = ("setting", "adapter_sha256", "weights_sha256")
    assert {key: reps.about[key] for key in keys} == {key: expected.about[key] for key in keys}
    assert "setting" not in encode(pair, TEXTS[:6]).about


def test_the_setting_of_the_adapter_is_the_default(
    loaded: tuple[Any, Any], adapter: Adapter
) -> None:
    reps = encode(loaded, TEXTS[:6], adapter=adapter.setting("L11-11101"))
    assert reps.about["setting"] == "L11-11101"
    expected = encode(loaded, TEXTS[:6], adapter=adapter, setting="L11-11101")
    np.testing.assert_array_equal(reps.vectors, expected.vectors)
    assert reps.report is not None
    assert reps.report.closing[0].startswith("Removed at tokens@2, cls@3 (L11-11101). Changed: ")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"setting": "SENT-0"}, "SENT-0 removes at sentence alone, which no vector of a layer"),
        ({"setting": "tokens@2", "layers": [0, 1]}, "tokens@2 change no vector: layers 0, 1"),
        ({"setting": "L12-110", "pooling": "mean"}, "cls@3 change no vector: .* pooled as mean"),
        ({"setting": "tokens@7"}, "tokens@7: the model has the layers 1 to 3"),
        ({"setting": "tokens@3"}, "tokens@3: not in this adapter, which has"),
        ({"setting": "tokens@2", "random_init": 0}, "random_init=VALUE draws other weights|draws"),
        ({}, "adapter= and setting= go together: the adapter has no setting that it removes"),
    ],
)
def test_what_would_change_nothing_is_refused(
    loaded: tuple[Any, Any], folder: Path, adapter: Adapter, given: dict[str, Any], message: str
) -> None:
    model = folder if "random_init" in given else loaded
    with pytest.raises(WordbiasError, match=message):
        encode(model, TEXTS[:4], adapter=adapter, **given)


def test_a_setting_without_an_adapter(folder: Path) -> None:
    for function in (
        encode,
        lambda model, texts, **given: probe(model, GENDER, texts=texts, **given),
    ):
        with pytest.raises(UsageError, match="adapter= and setting= go together"):
            function(folder, TEXTS, setting="tokens@2")
        with pytest.raises(UsageError, match="force=True goes with adapter="):
            function(folder, TEXTS, force=True)


def test_an_adapter_of_another_model(
    folder: Path, adapter: Adapter, stored: Path, tokenizer: Any, tmp_path: Path
) -> None:
    save(build("bert", seed=1, vocabulary=len(tokenizer)), tokenizer, tmp_path / "other")
    message = r"a\.st: was fitted on another model \(other weights in the same shape\)"
    for call in (
        lambda **more: encode(tmp_path / "other", TEXTS[:4], **more),
        lambda **more: probe(tmp_path / "other", GENDER, texts=TEXTS, **QUICK, **more),
        lambda **more: ceat(tmp_path / "other", sentences=SENTENCES, query=WORDS, draws=10, **more),
    ):
        with pytest.raises(WordbiasError, match=message):
            call(adapter=stored, setting="tokens@2")
    forced = encode(tmp_path / "other", TEXTS[:4], adapter=stored, setting="tokens@2", force=True)
    plain = encode(tmp_path / "other", TEXTS[:4])
    assert np.abs(forced[3] - plain[3]).max() > 1e-4
    save(build("roberta", vocabulary=len(tokenizer)), tokenizer, tmp_path / "roberta")
    with pytest.raises(WordbiasError, match="was fitted on another model"):
        encode(tmp_path / "roberta", TEXTS[:4], adapter=adapter, setting="tokens@2")


def test_half_precision_is_compared_as_it_is_stored(folder: Path, adapter: Adapter) -> None:
    for precision in ("bfloat16", "float16"):
        with wb.config(precision=precision, device="cpu"):
            reps = encode(
                folder,
                TEXTS[:4],
                adapter=adapter,
                setting="tokens@2",
            )
        assert reps.about["precision"] == precision


# what an adapter is compared with


def test_weights_that_no_file_holds_are_not_compared(tokenizer: Any, tmp_path: Path) -> None:
    """A pooler is drawn anew each time that a folder without one is loaded."""
    model = build("roberta", "MaskedLM", vocabulary=len(tokenizer))
    save(model.roberta, tokenizer, tmp_path / "m")
    adapter = project(tmp_path / "m", sites="tokens@2", pairs=[(p.first, p.second) for p in PAIRS])
    assert adapter.fingerprint.architecture == "RobertaModel"
    reloaded = transformers.AutoModel.from_pretrained(tmp_path / "m").eval()
    assert Fingerprint.of(reloaded).weights != adapter.fingerprint.weights
    with adapter.on(reloaded, "tokens@2"):
        pass
    assert encode(tmp_path / "m", TEXTS[:3], adapter=adapter, setting="tokens@2")[3].any()


def test_a_config_that_names_a_head_without_weights(tokenizer: Any, tmp_path: Path) -> None:
    """all-mpnet-base-v2 is such a folder: an encoder with a pooler, MPNetForMaskedLM by name."""
    save(build("mpnet", "Model", vocabulary=len(tokenizer)), tokenizer, tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "architectures": ["MPNetForMaskedLM"]}))
    adapter = project(tmp_path / "m", setting="L11-11101")
    assert adapter.fingerprint.architecture == "MPNetModel"
    assert Site("sentence") in adapter.subspaces
    assert encode(tmp_path / "m", TEXTS[:3], adapter=adapter)[3].any()


def test_an_adapter_of_an_earlier_version(
    adapter: Adapter, classifier: Any, tmp_path: Path
) -> None:
    """It has no hash of the encoder alone, and is compared with the whole model."""
    old = replace(adapter, fingerprint=replace(adapter.fingerprint, encoder=""))
    old.check(classifier)
    old.check(classifier, inside=True)
    with pytest.raises(WordbiasError, match="a BertForSequenceClassification for a BertModel"):
        old.check(classifier.bert, inside=True)
    adapter.check(classifier.bert, inside=True)
    with pytest.raises(WordbiasError, match="a BertForSequenceClassification for a BertModel"):
        adapter.check(classifier.bert)


# probe


@pytest.mark.slow
def test_one_command_probes_what_encode_and_probe_do(
    folder: Path, stored: Path, table: Path
) -> None:
    given = {**QUICK, "scale": False}  # by the numbers before the adapter otherwise
    report = probe(
        folder, "gender", texts=table, adapter=stored, setting=["tokens@2", "attention@2"], **given
    )
    plain = encode(folder, table)
    subjects = list(dict.fromkeys(row.subject for row in report.rows))
    assert subjects == ["tiny", "tiny tokens@2", "tiny attention@2"]
    judged = [row for row in rows(report) if row["measure"] in JUDGED]
    assert {(row["subject"], row["layer"]) for row in judged} == {
        (subject, 3) for subject in subjects
    }
    coded = [row for row in rows(report) if row not in judged]
    by_subject = {name: [row for row in coded if row["subject"] == name] for name in subjects}
    assert by_subject["tiny"] == rows(probe(plain, "gender", **given))
    for setting in ("tokens@2", "attention@2"):
        after = encode(folder, table, adapter=stored, setting=setting)
        expected = rows(probe({f"tiny {setting}": after}, "gender", **given))
        same = [row.pop("unchanged", False) for row in by_subject[f"tiny {setting}"]]
        assert by_subject[f"tiny {setting}"] == expected
        assert same == [row["layer"] < 2 for row in expected]
    beside = report.tables[0]
    assert beside.columns == ["layer", "before", "after tokens@2", "after attention@2"]
    assert [line[2] == "unchanged" for line in beside.cells] == [True, True, False, False]
    for line, site in zip(report.closing, ("tokens@2", "query@2, key@2, value@2"), strict=False):
        assert line.endswith(f"Removed at {site}. Changed: layers 2, 3. Unchanged: layers 0, 1.")
    pytest.importorskip("matplotlib")
    assert report.plot().get_title(loc="left") == "Compression along the layers"
    about = report.inputs["tiny tokens@2"]["about"]
    assert about["setting"] == "tokens@2"


def test_texts_alone_are_probed(loaded: tuple[Any, Any], folder: Path, table: Path) -> None:
    report = probe(loaded, "gender", texts=table, layers="last", **QUICK)
    assert rows(report) == rows(probe(encode(loaded, table, layers="last"), "gender", **QUICK))
    assert len(report.tables) == 1
    listed = probe(folder, GENDER, texts=TEXTS, layers="last", random=True, **QUICK)
    assert list(listed.inputs) == ["tiny", "random (tiny)"]
    limited = probe(loaded, "gender", texts=table, limit=40, pooling="mean", mdl=False, seed=0)
    assert limited["probe-accuracy"][0].details["n"] == 4


def test_after_an_adapter_vectors_are_scaled_as_before_it(
    loaded: tuple[Any, Any], stored: Path, table: Path
) -> None:
    given: dict[str, Any] = {"adapter": stored, "setting": "tokens@2"}
    report = probe(loaded, "gender", texts=table, **given, **QUICK)
    before, after = encode(loaded, table), encode(loaded, table, **given)
    x, centre = (
        before.vectors.astype(np.float64),
        before.vectors.mean(1, keepdims=True, dtype=float),
    )
    sizes = np.sqrt(((x - centre) ** 2).mean((1, 2)))[:, None, None]
    sizes[sizes < 1e-6] = 1  # the first token has the same vector in every text
    by_hand = replace(after, vectors=((after.vectors - centre) / sizes).astype(np.float32))
    expected = probe({"x": by_hand}, "gender", scale=False, **QUICK)
    coded = [row for row in report.rows if row.measure not in JUDGED]
    values = [row.value for row in coded if row.subject == "tiny tokens@2"]
    np.testing.assert_allclose(values, [row.value for row in expected.rows], rtol=1e-4, atol=1e-6)


def plain_encoder(tokenizer: Any, words: dict[str, float]) -> Any:
    """Make an encoder whose layers do nothing but norm, with a label along one direction.

    Its sign is the label, so that a vector's length does not depend on it.
    """
    model = build("bert", "Model", vocabulary=len(tokenizer))
    u = torch.zeros(16)
    u[0], u[1] = 2**-0.5, -(2**-0.5)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("LayerNorm.weight"):
                parameter.fill_(1)
            elif name.endswith("word_embeddings.weight"):
                parameter -= (parameter @ u)[:, None] * u
                for word, sign in words.items():
                    parameter[tokenizer.get_vocab()[word]] += 3 * sign * u
            else:
                parameter.zero_()
    return model.eval(), u


def test_the_answer_is_yes_where_only_a_non_linear_probe_reads_it(tokenizer: Any) -> None:
    """The label is the product of two signs; a third direction has it too, and is removed."""
    words = [word for word in sorted(tokenizer.get_vocab()) if word.isalpha()]
    model, u = plain_encoder(tokenizer, {})
    first, two = (torch.zeros(16) for _ in range(2))
    for vector, place in ((first, 4), (two, 8)):
        vector[place], vector[place + 1] = 2**-0.5, -(2**-0.5)
    signs = np.random.default_rng(0).choice([-1, 1], (len(words), 2))
    with torch.no_grad():
        embeddings = model.get_input_embeddings().weight
        for word, (a, b) in zip(words, signs.tolist(), strict=True):
            embeddings[tokenizer.get_vocab()[word]] = 3 * (a * first + b * two + a * b * u)
    exact = Subspace(u.double().numpy()[None], np.ones(1))
    adapter = Adapter({Site("tokens", 3): exact}, Fingerprint.of(model))
    labels = ["same" if a == b else "other" for a, b in signs.tolist()]
    report = probe(
        (model, tokenizer), labels, texts=words, pooling="mean", seed=0, lr=0.05, epochs=20,
        adapter=adapter, setting="tokens@3",
    )  # fmt: skip
    answer = report.closing[0]
    assert answer.startswith("Yes: the label is still readable after tokens@3: the best of several")
    assert "probe read beyond chance is left" in answer
    assert "at chance: nothing there, or too few examples for this many dimensions" in answer


@pytest.mark.parametrize("whole", first_quick([False, True]))
def test_the_answer_is_no_where_nothing_is_left(tokenizer: Any, whole: bool) -> None:
    """The whole run asks with MDL, of a removal that leaves it, and of labels that are noise."""
    rng = np.random.default_rng(0)
    others = [word for word in sorted(tokenizer.get_vocab()) if word.isalpha()]
    signs = {word: (1.0 if i % 2 else -1.0) for i, word in enumerate(others)}
    model, u = plain_encoder(tokenizer, signs)
    words = [others[i] for i in rng.choice(len(others), min(400, len(others)), replace=False)]
    texts, labels = words, ["up" if signs[word] > 0 else "down" for word in words]
    exact = Subspace(u.double().numpy()[None], np.ones(1))
    half = Subspace(np.eye(16)[5][None], np.ones(1))
    adapter = Adapter({Site("tokens", 3): exact, Site("tokens", 2): half}, Fingerprint.of(model))
    given: dict[str, Any] = {"texts": texts, "pooling": "mean", "seed": [0], "lr": 0.05}
    settings = ["tokens@3", "tokens@2"] if whole else ["tokens@3"]
    given |= {"epochs": 20, "mdl": whole, "adapter": adapter, "setting": settings}
    report = probe((model, tokenizer), labels, **given)
    first = report.closing[0]
    assert first.startswith(
        "No: no probe of these reads the label after tokens@3: the best of several probes is right "
    )
    (best,) = [row for row in report["best-probe"] if row.subject.endswith("tokens@3")]
    assert best.details["p"] > 0.05
    assert best.details["left"] < 0.2
    assert best.details["layer"] == 3
    assert first.endswith("Removed at tokens@3. Changed: layer 3. Unchanged: layers 0, 1, 2.")
    if not whole:
        return
    assert report.closing[1].startswith("Yes: the label is still readable after tokens@2: ")
    drawn = ["ab"[i] for i in rng.integers(0, 2, len(texts))]
    (answer,) = probe((model, tokenizer), drawn, **{**given, "setting": "tokens@3"}).closing[:1]
    assert answer.startswith("No: the label was not readable before tokens@3 either: ")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"vectors": None}, "texts= is for one model; none was given"),
        ({"vectors": ["a", "b"]}, "texts= is for one model; 2 were given"),
        ({"labels": None}, "texts= needs labels=: a column of the texts"),
        ({"labels": "sex"}, "labels='sex': neither a column of tiny .it has gender. nor a file"),
        ({"first_names": True}, "first_names=True is for vectors, texts= is for a model"),
        ({"layers": [0, 1]}, "tokens@2 changes no vector of layers 0, 1; ask for layers from 2"),
        ({"limit": 3}, "gender has 2 classes in 3 texts"),
        ({"where": {"gender": "F"}}, "classes|class"),
        ({"pooling": "word"}, "pooling 'word' needs a span"),
        ({"setting": "SENT-0"}, "SENT-0 removes at sentence alone"),
    ],
)
def test_bad_arguments_of_a_model(
    loaded: tuple[Any, Any], adapter: Adapter, table: Path, given: dict[str, Any], message: str
) -> None:
    usual = {"vectors": loaded, "labels": "gender", "texts": table, "adapter": adapter}
    with pytest.raises(WordbiasError, match=message):
        probe(**{**usual, "setting": "tokens@2", **QUICK, **given})


def test_options_of_a_model_without_texts(folder: Path, adapter: Adapter) -> None:
    x, y = np.random.default_rng(0).normal(size=(60, 4)), GENDER
    for given in (
        {"adapter": adapter}, {"setting": "tokens@2"}, {"force": True}, {"pooling": "mean"},
        {"where": {"a": "b"}}, {"limit": 5},
    ):  # fmt: skip
        with pytest.raises(UsageError, match="is for a model with texts="):
            probe(x, y, **QUICK, **given)
    with pytest.raises(UsageError, match="is a model, whose vectors are of texts: give them with"):
        probe(folder, "gender")


# ceat

WORDS = {
    "targets": {"men": ["he", "man"], "women": ["she", "woman"]},
    "attributes": {"one": ["the", "a"], "two": ["is", "was"]},
}


def test_ceat_measures_without_and_with_the_setting(
    loaded: tuple[Any, Any], adapter: Adapter, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"query": WORDS, "draws": 50, "layers": "all"}
    report = ceat(
        loaded,
        sentences=SENTENCES,
        adapter=adapter,
        setting="tokens@2",
        output=tmp_path / "w",
        **given,
    )
    plain = ceat(loaded, sentences=SENTENCES, **given)
    count = len(plain.rows)
    assert rows(report)[:count] == rows(plain)
    after = report.rows[count:]
    assert {row.subject for row in after} == {"tiny tokens@2"}
    values = [(row.details["layer"], row.value) for row in after]
    before = [(row.details["layer"], row.value) for row in plain.rows]
    assert [a == b for a, b in zip(values, before, strict=True)] == [True, True, False, False]
    saved = load_representations(tmp_path / "w")
    assert saved.about["setting"] == "tokens@2"
    saved_report = ceat(saved, **given)
    assert [row.value for row in saved_report.rows] == [row.value for row in after]
    assert any(
        line.startswith("Removed at tokens@2. Changed: layers 2, 3") for line in report.closing
    )


def test_ceat_refuses(loaded: tuple[Any, Any], adapter: Adapter, tmp_path: Path) -> None:
    given: dict[str, Any] = {"query": WORDS, "draws": 50}
    with pytest.raises(UsageError, match="output= is for one setting=: a file holds the vectors"):
        ceat(
            loaded, sentences=SENTENCES, adapter=adapter, setting=["tokens@2", "tokens@1"],
            output=tmp_path / "w", **given,
        )  # fmt: skip
    assert not (tmp_path / "w").exists()
    with pytest.raises(WordbiasError, match="tokens@2 change no vector: layers 1"):
        ceat(loaded, sentences=SENTENCES, adapter=adapter, setting="tokens@2", layers=[1], **given)
    reps = Representations(np.zeros((1, 1, 2), np.float32), (3,))
    with pytest.raises(WordbiasError, match="adapter=, setting= is only for a model"):
        ceat(reps, adapter=adapter, setting="tokens@2", **given)


# devices


@pytest.mark.parametrize("here", ["cpu", "mps"])
def test_auto_is_the_default_device(
    cli: Callable[..., Any],
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    here: str,
) -> None:
    """Where there is an mps device, the model would be moved there, as without the option."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: here == "mps")
    moves: list[str] = []

    def moved(self: Any, device: Any = None, dtype: Any = None) -> Any:
        moves.append(str(device))
        return self

    monkeypatch.setattr(transformers.PreTrainedModel, "to", moved)
    text = tmp_path / "t.txt"
    text.write_text("she is here\n")
    from wordbias.models.encoder import Encoder

    devices = [Encoder.load(folder, device=device).device for device in (None, "auto")]
    assert devices == [here, here]
    assert moves == [here, here]
    if here == "cpu":
        done = cli(
            "encode", folder, text, "-o", tmp_path / "o", "--device", "auto", "--format", "json"
        )
        assert json.loads(done.out)["inputs"]["model"]["device"] == "cpu"
        x, y = np.random.default_rng(0).normal(size=(60, 4)), GENDER
        with wb.config(device="auto"):
            assert rows(probe(x, y, **QUICK)) == rows(probe(x, y, **QUICK))


def test_auto_leaves_a_loaded_model_where_it_is(folder: Path) -> None:
    model = transformers.AutoModel.from_pretrained(folder)
    pair = (model, transformers.AutoTokenizer.from_pretrained(folder))
    with wb.config(device="auto"):
        reps = encode(pair, TEXTS[:2])
    np.testing.assert_array_equal(reps.vectors, encode(pair, TEXTS[:2]).vectors)


@pytest.mark.parametrize(("high", "said"), [(0.399, "Yes"), (0.4, "No")])
def test_what_is_wrong_for_most_is_readable_by_the_opposite_answers(high: float, said: str) -> None:
    def row(subject: str, low: float, high: float) -> Row:
        about = {"layer": 3, "set": "task", "neutral": 0.6, "low": low, "high": high, "classes": 2}
        return Row(subject, "probe-accuracy", (low + high) / 2, about)

    removal = SimpleNamespace(setting="tokens@3", steps=[])
    after = SimpleNamespace(removal=removal, labelled=named("after"), unchanged=())
    rows = [row("before", 0.9, 0.95), row("after", 0.3, high)]
    (text,) = answers(rows, named("before"), [after], None)  # type: ignore[arg-type, list-item]
    assert text.startswith(f"{said}: ")
    assert ("its opposite answers are right" in text) is (said == "Yes")


def named(name: str) -> Any:
    return SimpleNamespace(name=name, layers=(3,))
