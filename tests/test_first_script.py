"""The script that somebody writes on the first day, as first guessed: it runs.

It imports wordbias once, looks nothing up, and does in Python what people come for.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import stand_ins

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


def test_vectors(folder: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")

    import wordbias as wb

    glove = wb.load("glove.txt")
    word2vec = wb.load("word2vec.bin")
    theirs = wb.load("theirs.vec")
    assert glove["nurse"].shape == (glove.dim,)
    assert glove[["she", "he"]].shape == (2, glove.dim)
    assert glove.most_similar("she", k=3)[0][0] == "her"

    groups = {"female": FEMALE, "male": MALE}
    weat = wb.weat(
        [glove, word2vec, theirs],
        query={"targets": groups, "attributes": {"career": CAREER, "family": FAMILY}},
    )
    midb = wb.measure([glove, word2vec, theirs], only=["midb"], groups=groups)
    frame = weat.to_frame()
    assert set(frame["subject"]) == {"glove", "word2vec", "theirs"}
    assert frame["value"].notna().all()
    assert len(midb["midb"]) == 3
    assert midb.to_frame()["chance"].notna().any()
    axes = weat.plot()
    assert axes.get_title()
    weat.save("weat.json")
    midb.save("midb.csv")
    midb.save("midb.html")

    misp = wb.MISP(dims=4).fit(glove)
    soft = misp.transform(glove)
    hard = wb.INLP(random_state=0).fit_transform(glove)
    soft.save("soft.txt")
    misp.save("misp.safetensors")
    again = wb.load_method("misp.safetensors").transform(glove)
    assert (again.vectors == soft.vectors).all()

    after = wb.measure(
        [soft.renamed("misp"), hard.renamed("inlp")], original=glove, only=["midb", "clustering"]
    )
    before = wb.measure(glove, only=["midb", "clustering"])
    assert after["midb-rms"][0].value < before["midb-rms"][0].value
    assert {row.subject for row in after.rows} == {"misp", "inlp"}


def test_a_pipeline(folder: Path) -> None:
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline

    import wordbias as wb

    glove = wb.load("glove.txt")
    words = [word for word in glove if word.isalpha()][:600]
    x = glove[words]
    rng = np.random.default_rng(0)
    gender = (x @ (glove["she"] - glove["he"]) > 0).astype(int)
    task = (x @ rng.normal(size=glove.dim) > 0).astype(int)
    erased = wb.LEACE().fit_transform(x, gender)
    reader = LogisticRegression(max_iter=1000)
    blind = cross_val_score(make_pipeline(reader), erased, gender, cv=5).mean()
    able = cross_val_score(make_pipeline(reader), x, gender, cv=5).mean()
    assert blind < able - 0.2
    pipe = make_pipeline(wb.LEACE(), reader)
    pipe.fit(x, task, leace__concept=gender)
    kept = cross_val_score(pipe, x, task, cv=5, params={"leace__concept": gender})
    assert kept.mean() > 0.8


def test_an_encoder(folder: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from transformers import AutoModel, AutoTokenizer

    import wordbias as wb

    stand_ins.STAND_INS["roberta-base"](folder / "encoder")
    texts = [f"{name} {verb} ." for name in ("she", "he") for verb in CAREER + FAMILY] * 4
    labels = ["F" if text.startswith("she") else "M" for text in texts]
    reps = wb.encode("encoder", texts, layers=[0, 2])
    report = wb.probe(reps, labels)
    assert {row.details["layer"] for row in report["compression"]} == {0, 2}
    assert report.plot() is not None

    model, tokenizer = (one.from_pretrained("encoder") for one in (AutoModel, AutoTokenizer))
    adapter = wb.project((model, tokenizer))
    inputs = tokenizer(["she is a nurse"], return_tensors="pt")
    with torch.no_grad():
        plain = model(**inputs).last_hidden_state
        with adapter.on(model):
            projected = model(**inputs).last_hidden_state
        again = model(**inputs).last_hidden_state
    assert not torch.allclose(plain, projected)
    assert torch.equal(plain, again)
    adapter.fold(model).save_pretrained("clean")
    folded = AutoModel.from_pretrained("clean")
    with torch.no_grad():
        assert torch.allclose(folded(**inputs).last_hidden_state, projected, atol=1e-4)
