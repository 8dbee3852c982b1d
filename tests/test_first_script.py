"""The script that somebody writes on the first day, as first guessed: it runs.

It imports wordbias once, looks nothing up, and does in Python what people come for.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import stand_ins
from numpy.typing import NDArray

import wordbias as wb

FEMALE = ["she", "woman", "mother", "daughter", "girl", "her", "sister", "wife"]
MALE = ["he", "man", "father", "son", "boy", "his", "brother", "husband"]
CAREER = ["executive", "management", "professional", "salary", "office", "business", "career"]
FAMILY = ["home", "parents", "children", "family", "marriage", "wedding", "relatives"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three files of vectors, as people have them."""
    stand_ins.vectors(tmp_path / "glove.txt")
    stand_ins.vectors(tmp_path / "word2vec.bin")
    stand_ins.debiased_vectors(tmp_path / "theirs.vec")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_vectors(folder: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")

    glove = wb.load("glove.txt")
    word2vec = wb.load("word2vec.bin")
    theirs = wb.load("theirs.vec")
    assert glove["nurse"].shape == (glove.dim,)
    assert glove[["she", "he"]].shape == (2, glove.dim)
    nearest, cosine = glove.most_similar("she", k=3)[0]
    unit = glove.vectors / np.linalg.norm(glove.vectors, axis=1, keepdims=True)
    cosines = dict(zip(glove, unit @ unit[list(glove).index("she")], strict=True))
    del cosines["she"]
    assert nearest == max(cosines, key=cosines.__getitem__)
    assert cosine == pytest.approx(cosines[nearest], rel=1e-5)

    groups = {"female": FEMALE, "male": MALE}
    weat = wb.weat(
        [glove, word2vec, theirs],
        query={"targets": groups, "attributes": {"career": CAREER, "family": FAMILY}},
    )
    midb = wb.measure([glove, word2vec, theirs], only=["midb"], groups=groups)
    frame = weat.to_frame()
    assert set(frame["subject"]) == {"glove", "word2vec", "theirs"}
    assert frame["value"].to_numpy() == pytest.approx(
        [effect(e) for e in (glove, word2vec, theirs)]
    )
    assert len(midb["midb"]) == 3
    assert midb.to_frame()["chance"].notna().any()
    assert weat.plot().get_title(loc="left") == "weat: female/male × career/family"
    weat.save("weat.json")
    midb.save("midb.csv")
    midb.save("midb.html")

    misp = wb.MISP(dims=4).fit(glove)
    soft = misp.transform(glove)
    hard = wb.INLP(random_state=0).fit_transform(glove)
    soft.save("soft.txt")
    misp.save("misp.safetensors")
    repeated = wb.load("misp.safetensors").transform(glove)
    assert (repeated.vectors == soft.vectors).all()

    # a projection is the same done twice; MISP shrinks its components, and lengthens no vector
    twice = wb.INLP(random_state=0).fit(glove).transform(hard)
    np.testing.assert_allclose(twice.vectors, hard.vectors, atol=1e-5)
    for clean in (soft, hard):
        longer = np.linalg.norm(clean.vectors, axis=1) - np.linalg.norm(glove.vectors, axis=1)
        assert longer.max() < 1e-5
    before, after = (
        next(row.value for row in misp.report["midb-rms"] if row.details["stage"] == stage)
        for stage in ("before", "after")
    )
    assert after < before
    beside = wb.measure(
        {"glove": glove, "misp": soft, "inlp": hard}, only=["midb", "clustering"], groups=groups
    )
    assert {row.subject for row in beside} == {"glove", "misp", "inlp"}
    assert beside["midb"][0].value == midb["midb"][0].value
    repeated = wb.measure({"misp": soft, "inlp": hard}, original=glove, only="midb,clustering")
    assert {row.subject for row in repeated} == {"misp", "inlp"}


def effect(embedding: wb.Embedding) -> float:
    """Compute WEAT's effect size of the four sets, as Caliskan et al. define it."""

    def unit(words: list[str]) -> NDArray[np.float64]:
        x = embedding[words].astype(float)
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    x, y, a, b = map(unit, (FEMALE, MALE, CAREER, FAMILY))
    nearer_x, nearer_y = ((z @ a.T).mean(1) - (z @ b.T).mean(1) for z in (x, y))
    both = np.concatenate([nearer_x, nearer_y])
    return float((nearer_x.mean() - nearer_y.mean()) / both.std(ddof=1))


def test_a_pipeline(folder: Path) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import KFold, cross_val_score
    from sklearn.pipeline import make_pipeline

    glove = wb.load("glove.txt")
    words = [word for word in glove if word.isalpha()][:600]
    x = glove[words]
    rng = np.random.default_rng(0)
    gender = (x @ (glove["she"] - glove["he"]) > 0).astype(int)
    task = (x @ rng.normal(size=glove.dim) > 0).astype(int)
    # the groups' means coincide, so that the best linear reader is a constant
    erased = wb.LEACE().fit_transform(x, gender)
    reader = LogisticRegression(max_iter=1000)
    exact = LogisticRegression(max_iter=1000, tol=1e-9)
    guesses = exact.fit(erased.astype(float), gender).predict_proba(erased)[:, 1]
    np.testing.assert_allclose(guesses, gender.mean(), atol=1e-4)
    assert reader.fit(x, gender).score(x, gender) > max(gender.mean(), 1 - gender.mean())
    pipe = make_pipeline(wb.LEACE(), reader)
    folds = KFold(5)
    scores = cross_val_score(pipe, x, task, cv=folds, params={"leace__concept": gender})
    by_hand = []
    for train, test in folds.split(x):
        leace = wb.LEACE().fit(x[train], gender[train])
        reader.fit(leace.transform(x[train]), task[train])
        by_hand.append(reader.score(leace.transform(x[test]), task[test]))
    assert list(scores) == by_hand


def test_an_encoder(folder: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    stand_ins.STAND_INS["roberta-base"](folder / "encoder")
    texts = [f"{name} {verb} ." for name in ("she", "he") for verb in CAREER + FAMILY] * 4
    labels = ["F" if text.startswith("she") else "M" for text in texts]
    reps = wb.encode("encoder", texts, layers=[0, 2])
    report = wb.probe(reps, labels)
    assert {row.details["layer"] for row in report["compression"]} == {0, 2}
    assert report.plot() is not None

    model = AutoModelForSequenceClassification.from_pretrained("encoder")
    tokenizer = AutoTokenizer.from_pretrained("encoder")
    adapter = wb.project((model, tokenizer), setting="L12-110")
    inputs = tokenizer(["she is a nurse"], return_tensors="pt")
    with torch.no_grad():
        plain = model(**inputs).logits
        with adapter.on(model):
            projected = model(**inputs).logits
        restored = model(**inputs).logits
    assert not torch.allclose(plain, projected)
    assert torch.equal(plain, restored)
    adapter.fold(model).save_pretrained("clean")
    folded = AutoModelForSequenceClassification.from_pretrained("clean")
    with torch.no_grad():
        assert torch.allclose(folded(**inputs).logits, projected, atol=1e-5)
