"""Small files and folders under the names that the documents use for large ones."""

from __future__ import annotations

import gzip
import json
import shutil
import zipfile
from collections.abc import Callable
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_coreference
import small_likelihood
import small_scores
import small_winobias
import small_word_lists
import tiny_decoders
import tiny_encoders
import tiny_tasks

import wordbias.data
import wordbias.wordlists
from wordbias import Embedding
from wordbias.biographies.synthetic import synthetic
from wordbias.cli import run
from wordbias.models.sentence_pairs import sentence_pairs
from wordbias.models.settings import all_settings
from wordbias.nli.test_sets import build
from wordbias.wordlists import Attribute, Templates, load_queries

PREMISES = 40
"""Of the 1,968 "A person bought a hat ." of the marked-attribute sets."""
FREQUENT = 1_500
PEOPLE = 700
PAIRS = 90
NLI_LABELS = ("neutral", "entailment", "contradiction")
BIOGRAPHY_COLUMNS = ("split", "profession", "gender", "text", "first", "last")


def few_premises(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let marked-attribute sets have the first premises only."""
    every = Templates.premises
    monkeypatch.setattr(Templates, "premises", lambda words: tuple(islice(every(words), PREMISES)))


# vectors


@cache
def listed_words() -> tuple[str, ...]:
    """Return the words of the lists that come with wordbias, lower-cased.

    Sentences are left out, and what is newer than `tests/golden` expects: the queries of SEAT, the
    pronouns, and the Romance languages, whose names the sample has for other reasons.
    """
    folder = Path(wordbias.wordlists.__file__).parent
    left_out = ("eec", "model_sentences", "seat", "pronouns", "gender-es", "gender-fr", "gender-it")
    lists = [path for path in folder.glob("*.toml") if path.stem not in left_out]
    text = " ".join(path.read_text(encoding="utf-8") for path in sorted(lists))
    text = text.replace("grammatical_gender = true", "")  # newer than what `tests/golden` expects
    return tuple(dict.fromkeys(tiny_encoders.words_of(text)))


@cache
def small() -> Embedding:
    """Return the listed and the most frequent words of the sample."""
    sample = Embedding.sample()
    return sample.subset([*sample.words[:FREQUENT], *listed_words()])


def vectors(path: Path) -> None:
    small().save(path)


def more_vectors(path: Path) -> None:
    """Save a larger vocabulary of the same vectors."""
    sample = Embedding.sample()
    sample.subset([*small().words, *sample.words[: 2 * FREQUENT]]).save(path)


def vectors_of_seeds(path: Path) -> None:
    """Save vectors that differ a little from seed to seed."""
    path.parent.mkdir(exist_ok=True)
    for seed in range(2):
        noise = 0.1 * np.random.default_rng(seed).normal(size=small().vectors.shape)
        moved = small().with_vectors(small().vectors + noise)
        moved.save(path.with_name(path.name.replace("{seed}", str(seed))))


def french_vectors(path: Path) -> None:
    """Save random vectors of the French lists and of the words of docs/attributes.md."""
    french = Attribute.load("gender-fr")
    pairs = (*french.pairs, *french.equalise, *zip(*french.members, strict=True))
    others = ["table", "chaise", "maison", "porte", "fenêtre", "route", "fleur", "feuille"]
    others += ["montagne", "valise", "mur", "lit", "couteau", "jardin", "chemin", "pont", "arbre"]
    others += ["bateau", "toit", "nuage", "infirmière", "infirmier"]
    words = list(dict.fromkeys([*(word for pair in pairs for word in pair), *others]))
    words += [f"mot{i}" for i in range(FREQUENT)]
    x = np.random.default_rng(0).normal(size=(len(words), 20))
    Embedding(words, x, "french").save(path)


def debiased_vectors(path: Path) -> None:
    from wordbias.methods.misp import fit

    fit(small())(small()).save(path)


def cut_vectors(path: Path) -> None:
    """Copy vectors to a folder in the one where they are."""
    path.parent.mkdir(exist_ok=True)
    shutil.copy(path.parents[1] / path.name, path)


def word2vec_text(path: Path) -> None:
    small().save(path, "word2vec-text")


def zipped_vectors(path: Path) -> None:
    """Zip vectors as the published archives do: a .txt of the archive's name."""
    name = f"{path.stem}.300d.txt" if path.stem == "glove.6B" else f"{path.stem}.txt"
    text_file = path.with_name(name)
    small().save(text_file)
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(text_file, name)
    text_file.unlink()


# test sets of vectors


def sembias(path: Path) -> None:
    """Write questions of definitional pairs beside pairs of three other kinds."""
    definitions = [(b, a) for a, b in Attribute.load().pairs[:6]]
    others = (("doctor", "nurse"), ("manager", "secretary"), ("captain", "teacher"))
    plain = (("cup", "lid"), ("dog", "cat"), ("sugar", "flour"))
    also = (("book", "magazine"), ("pen", "paper"), ("shirt", "hat"))
    rows = [
        "\t".join(":".join(pair) for pair in question)
        for question in product(definitions, plain, also, others)
    ]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def quality_sets(path: Path) -> None:
    """Write a set of similar words and a set of analogies."""
    path.mkdir()
    words = small().words[100:140]
    scored = (
        f"{a}\t{b}\t{i}" for i, (a, b) in enumerate(zip(words[::2], words[1::2], strict=True))
    )
    (path / "similar.txt").write_text("\n".join(scored) + "\n", encoding="utf-8")
    pairs = ("man woman", "king queen", "boy girl")
    questions = [f"{a} {b}" for a in pairs for b in pairs if a != b]
    (path / "questions-words.txt").write_text(": family\n" + "\n".join(questions) + "\n")


def nli_model(path: Path) -> None:
    """Copy the model that comes with wordbias."""
    shutil.copy(Path(wordbias.data.__file__).parent / "nli_sample.safetensors", path)


def nli_predictions(path: Path) -> None:
    """Write random predictions for the explicit set."""
    pairs = list(build("explicit", Templates.load()))
    p = np.random.default_rng(0).dirichlet((2, 1, 1), len(pairs))
    rows = ["\t".join(("premise", "hypothesis", *NLI_LABELS))]
    rows += ["\t".join([*pair, *map(str, shares)]) for pair, shares in zip(pairs, p, strict=True)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


@cache
def _nli_pairs() -> tuple[tuple[str, str, str], ...]:
    """Make pairs whose premises have the words of WEAT 6 and of careers and families."""
    query = next(query for query in load_queries() if query.name == "weat6")
    premises = [f"The {word} was seen near the house." for word in sorted(query.candidates())]
    premises += [f"A {word} sat by the sea." for word in CAREER.split()]
    premises += [f"The man number {i} ate a pie." for i in range(PAIRS - len(premises))]
    ends = ("Somebody slept.", "Something was there.", "Nobody was there.")
    return tuple(
        (NLI_LABELS[i % 3], text, ends[(i + i // 3) % 3]) for i, text in enumerate(premises)
    )


CAREER = """executive management professional corporation salary office business career home parents
children family cousins marriage wedding relatives male man boy brother he him his son female woman
girl sister she her hers daughter"""


def nli_table(path: Path) -> None:
    rows = ["label\tpremise\thypothesis", *("\t".join(pair) for pair in _nli_pairs())]
    _write(path, "\n".join(rows) + "\n")


def nli_lines(path: Path) -> None:
    """Write pairs as SNLI has them."""
    names = ("gold_label", "sentence1", "sentence2")
    rows = [json.dumps(dict(zip(names, pair, strict=True))) for pair in _nli_pairs()]
    _write(path, "\n".join(rows) + "\n")


def sentences(path: Path) -> None:
    """Write sentences of the stimuli, one a line."""
    query = next(query for query in load_queries() if query.name == "weat6")
    names = {word for _, words in query.targets for word in words}
    lines = [*(pair[1] for pair in _nli_pairs()), *(f"We saw {n} there." for n in sorted(names))]
    _write(path, "\n".join(lines) + "\n")


# biographies and other texts


@cache
def _biographies() -> tuple[tuple[str, ...], ...]:
    bios = synthetic(PEOPLE)
    splits = np.random.default_rng(0).choice(["train", "dev", "test"], PEOPLE, p=[0.6, 0.1, 0.3])
    return tuple(
        (split, bios.classes[label], bios.groups[gender], text, *name.split(" ", 1))
        for split, label, gender, text, name in zip(
            splits.tolist(), bios.labels, bios.genders, bios.texts, bios.names or (), strict=True
        )
    )


def biographies(path: Path) -> None:
    """Write synthetic biographies."""
    _write(path, "\n".join("\t".join(row) for row in (BIOGRAPHY_COLUMNS, *_biographies())) + "\n")


def cvs(path: Path) -> None:
    """Write a few of them with a first name before each, as lines of JSON."""
    names = {"F": ("Emma", "Olivia", "Mia"), "M": ("Liam", "Noah", "James")}
    rows = [
        {"profession": job, "text": f"{names[gender][i % 3]}. {text}"}
        for i, (_, job, gender, text, *_) in enumerate(_biographies()[:24])
    ]
    _write(path, "".join(json.dumps(row) + "\n" for row in rows))


def jobs(path: Path) -> None:
    """Write advertisements of the jobs of the biographies, and of others, as lines of JSON."""
    names = [*sorted({job for _, job, *_ in _biographies()}), "cook", "clerk", "judge", "pilot"]
    rows = [
        {"profession": job, "text": f"{start} a {job}."}
        for job in names
        for start in ("We are looking for", "Wanted:", "Please work here as")
    ]
    _write(path, "".join(json.dumps(row) + "\n" for row in rows))


def professions(path: Path) -> None:
    """Write names of professions, each with two numbers."""
    names = ("nurse", "surgeon", "cook", "clerk", "judge", "pilot", "actor", "driver", "baker",
             "tailor", "farmer", "teacher")  # fmt: skip
    _write(path, json.dumps([[name, 0.0, 0.5] for name in names]))


def rated_pairs(path: Path) -> None:
    """Write pairs of sentences, each with a rating of how similar they are."""
    lines = [
        f"The {job} came home.\tThe {other} came home.\t{(i * j) % 6}"
        for i, job in enumerate(("nurse", "doctor", "teacher", "engineer"))
        for j, other in enumerate(("nurse", "guard", "artist"))
    ]
    path.write_text("\n".join(["sentence1\tsentence2\tscore", *lines]) + "\n", encoding="utf-8")


def running_text(path: Path) -> None:
    """Write biographies as documents, one sentence a line and a blank line between."""
    _write(path, "\n\n".join(row[3].replace(". ", ".\n") for row in _biographies()[:80]) + "\n")


def corpus(path: Path) -> None:
    """Write lines of random words, gendered ones and names among them, most fifty times or more."""
    attribute = Attribute.load()
    gendered = [word for pair in [*attribute.pairs, *attribute.equalise[:5]] for word in pair]
    named = [name.lower() for members in attribute.members for name in members[:12]]
    words = np.array(["the", *gendered, *named, *Templates.load().stereotypes.female])
    drawn = np.random.default_rng(0).integers(len(words), size=(900, 12))
    drawn[:, 5] = 0
    _write(path, "\n".join(" ".join(words[line]) for line in drawn) + "\n")


def documents_with_names(path: Path) -> None:
    """Write texts with the places of the names in them."""
    lines = []
    for *_, text, first, last in _biographies()[:50]:
        name = f"{first} {last}"
        text = f"{name} said that she left. {text}"
        lines.append(json.dumps({"text": text, "entities": [[0, len(name)]]}))
    _write(path, "\n".join(lines) + "\n")


def vectors_of_texts(path: Path) -> None:
    """Encode biographies by a tiny encoder."""
    data, model = path.with_name("encoded.tsv"), path.with_name("encoder")
    biographies(data)
    encoder(model)
    assert run(["encode", str(model), str(data), "--limit", "200", "-o", str(path), "-q"]) == 0


def rows_of_texts(path: Path) -> None:
    """Write vectors with labels as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rng = np.random.default_rng(len(path.name))
    women, nurses = rng.random(400) < 0.5, rng.random(400) < 0.5
    x = rng.normal(size=(400, 16)).astype(np.float32)
    x[:, 0] += 4 * women
    x[:, 1] += 4 * nurses
    columns = {
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), 16),
        "gender": np.where(women, "F", "M"),
        "profession": np.where(nurses, "nurse", "surgeon"),
        "split": np.where(rng.random(400) < 0.8, "train", "test"),
        "person": np.char.add("p", (np.arange(400) // 4).astype(str)),
    }
    parquet.write_table(pa.table(columns), path)


def shards_of_rows(path: Path) -> None:
    """Write a folder with two files of vectors."""
    path.mkdir()
    for name in ("0.parquet", "1.parquet"):
        rows_of_texts(path / name)


def word_lists(path: Path) -> None:
    """Write few words in the files of Dev et al. (2020), for few pairs of occupations."""
    small_word_lists.write(path, "nurse doctor teacher")


# classifiers


def predictions(path: Path) -> None:
    """Write what is true (y), what was predicted (r), of which group (z) and of which person."""
    rng = np.random.default_rng(0)
    classes = np.array(["doctor", "nurse", "teacher"])
    rows = [
        f"{true},{true if rng.random() < 0.7 else rng.choice(classes)},{rng.choice(['F', 'M'])},"
        f"{i // 2}"
        for i, true in enumerate(rng.choice(classes, 300))
    ]
    path.write_text("\n".join(["y,r,z,person", *rows]) + "\n", encoding="utf-8")


def winobias(path: Path) -> None:
    """Write a small WinoBias, every sentence with several endings, so that a probe has enough."""
    small_winobias.write(path)
    for file in path.iterdir():
        lines = [line.split(" ", 1)[1] for line in file.read_text().splitlines()]
        longer = [line.removesuffix(".") + end for end in ENDINGS for line in lines]
        file.write_text("".join(f"{i} {line}\n" for i, line in enumerate(longer, 1)))


ENDINGS = (".", " again.", " at noon.", " at home.", " in town.", " by car.", " on foot.")


def no_clusters(path: Path) -> None:
    """Write that a system found nothing in the sentences that lie beside."""
    given = path.with_name("sentences.jsonl").read_text(encoding="utf-8").splitlines()
    records = ({"sentence": json.loads(line)["sentence"], "clusters": []} for line in given)
    path.write_text("\n".join(map(json.dumps, records)) + "\n", encoding="utf-8")


# encoders


def gsss(path: Path) -> None:
    """Write triples in the form of enhanced StereoSet."""
    rows = [
        "context_id,context,next_sentence,label,gender,gender_swapped_context,"
        "gender_swapped_next_sentence"
    ]
    for i, thing in enumerate(("hat", "cow", "cup", "pie", "car", "bed", "book", "pen", "tea")):
        for label, she, he in (
            ("stereotype", "She cooked.", "He cooked."),
            ("anti-stereotype", "She drove.", "He drove."),
            ("unrelated", "Tea is hot.", "Tea is hot."),
        ):
            rows.append(f"{i},The woman saw a {thing}.,{she},{label},F,The man saw a {thing}.,{he}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


@cache
def _tokenizer() -> Any:
    texts = [text for pair in sentence_pairs() for text in pair]
    texts += [" ".join(pair[1:]) for pair in _nli_pairs()] + [row[3] for row in _biographies()]
    words = tiny_encoders.words_of(*texts, "she he cooked drove tea is hot saw a the cow cup pie")
    return tiny_encoders.make_tokenizer([*words, *listed_words()])


def _encoder(path: Path, purpose: str, **options: Any) -> None:
    tokenizer = _tokenizer()
    model = tiny_encoders.build("bert", purpose, vocabulary=len(tokenizer), **options)
    tiny_encoders.save(model, tokenizer, path)


def encoder(path: Path) -> None:
    _encoder(path, "Model")


def sentence_encoder(path: Path) -> None:
    """Write a folder of sentence-transformers that takes the mean of the tokens."""
    encoder(path)
    modules = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]
    listed = [{"type": f"sentence_transformers.models.{k}", "path": place} for k, place in modules]
    _write(path / "modules.json", json.dumps(listed))
    (path / "1_Pooling").mkdir()
    _write(path / "1_Pooling" / "config.json", json.dumps({"pooling_mode": "mean"}))


def static_model(path: Path) -> None:
    """Write a folder of model2vec, which has parts of words too."""
    from static_folders import model2vec_folder

    model2vec_folder(path)


def next_sentence_encoder(path: Path, seed: int = 0) -> None:
    _encoder(path, "NextSentencePrediction", num_labels=2, seed=seed)


def nli_encoder(path: Path, seed: int = 0) -> None:
    _encoder(path, "SequenceClassification", id2label=dict(enumerate(NLI_LABELS)), seed=seed)


def text_classifier(path: Path) -> None:
    """Save a small classifier of occupations, which reads gender."""
    tiny_tasks.folder(path)


def sentiment_classifier(path: Path) -> None:
    """Save the same with the classes negative and positive."""
    tiny_tasks.folder(path, id2label={0: "negative", 1: "positive"})


def labelled_texts(path: Path) -> None:
    """Write texts with professions and genders; files of different names have different texts."""
    every = tiny_tasks.texts(900, 21)
    start = 300 * ["dev", "test", "train"].index(path.stem)
    tiny_tasks.table(path, every[start : start + 300], label="profession", group="gender")


def table_of_measures(path: Path) -> None:
    """Write a line for each of six embeddings, with two measures."""
    rows = (f"e{i},{i / 10:.3f},{i * i / 20:.3f}" for i in range(6))
    _write(path, "\n".join(("emb,MIDB,E", *rows)) + "\n")


def table_of_settings(path: Path) -> None:
    """Write a table of the shape of Dawkins et al. (2024), Table 7."""
    rng = np.random.default_rng(0)
    settings = [str(setting).partition("-")[::2] for setting in all_settings()]
    columns = "strength,distance,parity,accuracy,fairness,snli_accuracy"
    lines = [f"level,settings (n11 c11 n12 c12 np),{columns}"]
    for level, numbers in [("Base", ""), ("Sent-debias", ""), *settings]:
        s, d, parity, accuracy, snli = rng.uniform(0.1, 0.9, 5).round(4)
        eta = round(parity * accuracy, 4)
        lines.append(f"{level},{' '.join(numbers)},{s},{d},{parity},{accuracy},{eta},{snli}")
    path.write_text("\n".join(lines) + "\n")


def _write(path: Path, text: str) -> None:
    content = gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode()
    path.write_bytes(content)


def few_words(path: Path) -> None:
    """Write words to debias, one a line."""
    path.write_text("nurse\ndoctor\nteacher\nsecretary\n", encoding="utf-8")


def documents(path: Path) -> None:
    """Write documents with clusters."""
    stories = [small_coreference.story(i) for i in range(3)]
    path.write_text(small_coreference.conll(stories), encoding="utf-8")


def coreference_model(path: Path) -> None:
    """Write a coreference model that is not trained, and finds any clusters."""
    from wordbias.contextual.fine_tuning import store
    from wordbias.coreference.model import Settings
    from wordbias.coreference.resolver import Coreference

    encoder(path.with_name("encoder of coref"))
    settings = Settings(segment_length=32, hidden=20)
    model = Coreference.new(path.with_name("encoder of coref"), settings, device="cpu")
    store(model.encoder, path, {}, model.write)


def checks(path: Path) -> None:
    """Write checks of the sample: two conditions that are not met, and one that is."""
    path.write_text(
        '[association]\ncommand = "weat"\nquery = "weat6"\n'
        'fail-if = ["weat > 1.9", "weat low > 1"]\n\n'
        '[lists]\ncommand = "lists"\nfail-if = "size-names > 1e6"\n',
        encoding="utf-8",
    )


STAND_INS: dict[str, Callable[[Path], None]] = {
    "FOLDER": nli_encoder,
    "checks.toml": checks,
    "coref/": coreference_model,
    "train.conll": documents,
    "dev.conll": documents,
    "test.conll": documents,
    "Gender_identity.jsonl": small_likelihood.bbq,
    "SemBias": sembias,
    "all-MiniLM-L6-v2": sentence_encoder,
    "bert-base-cased": encoder,
    "bios.parquet": rows_of_texts,
    "bios.safetensors": vectors_of_texts,
    "bios.tsv": biographies,
    "bios.tsv.gz": biographies,
    "bios600.tsv": biographies,
    "bios_dev.txt": running_text,
    "bios_surgeon_nurse.tsv.gz": biographies,
    "bios_train.tsv": biographies,
    "bios_train.txt": running_text,
    "crows_pairs.csv": small_likelihood.crows_pairs,
    **{f"cut/{name}.safetensors": cut_vectors for name in ("glove", "misp-published", "hard")},
    "cvs.jsonl": cvs,
    "jobs.jsonl": jobs,
    "professions.json": professions,
    "debiased.txt": debiased_vectors,
    "docs.jsonl": documents_with_names,
    "found.jsonl": no_clusters,
    "french.txt": french_vectors,
    "glove.6B.100d.txt": vectors,
    "glove.6B.50d.txt": vectors,
    "glove.6B.zip": zipped_vectors,
    "glove.840B.300d.zip": zipped_vectors,
    "glove.more.words.txt": more_vectors,
    **{
        f"vectors/{name}{{seed}}.txt": vectors_of_seeds
        for name in ("glove", "gn", "wa", "misp", "misp-published", "mhd")
    },
    "glove.nli.safetensors": nli_model,
    "glove.txt": vectors,
    "enwik8.txt": corpus,
    "gold.conll": small_scores.gold,
    "gap-test.tsv": small_scores.gap,
    "answers.tsv": small_scores.answers,
    "found.conll": small_scores.found,
    "pronouns-found.jsonl": small_scores.pronouns_found,
    "gsss_dev.csv": gsss,
    "gsss_test.csv": gsss,
    "hard.txt": debiased_vectors,
    "lists/": word_lists,
    "mine.csv": nli_predictions,
    "minilm-nli": nli_encoder,
    "minilm-nsp": next_sentence_encoder,
    "misp.txt": debiased_vectors,
    "my-classifier": text_classifier,
    "my-sentiment-model": sentiment_classifier,
    "pairs.tsv": small_likelihood.pairs,
    "paper1_table6.csv": table_of_measures,
    "paper2_table7_clean.csv": table_of_settings,
    "potion-base-8M": static_model,
    "predictions.csv": predictions,
    "rated.tsv": rated_pairs,
    "raw.safetensors": vectors_of_texts,
    "roberta-base": encoder,
    "sentences.txt.gz": sentences,
    "smollm2": tiny_decoders.save_decoder,
    "dev.jsonl": nli_lines,
    "dev.tsv": labelled_texts,
    "test.jsonl": nli_lines,
    "test.tsv": labelled_texts,
    "train.jsonl": nli_lines,
    "train.tsv": labelled_texts,
    "snli_dev.tsv.gz": nli_table,
    "snli_test.tsv.gz": nli_table,
    "snli_train.tsv.gz": nli_table,
    "snli_train100k.tsv.gz": nli_table,
    "shards/": shards_of_rows,
    "stereoset.json": small_likelihood.stereoset,
    "stereoset_dev.json": small_likelihood.stereoset_of_two_sentences,
    "corrected.csv": small_likelihood.control,
    "origin.toml": small_likelihood.origins,
    "test_sets/": quality_sets,
    "train.csv": predictions,
    "vectors.bin": vectors,
    "vectors.vec": word2vec_text,
    "wikipedia.txt.gz": corpus,
    "wikitext.txt": running_text,
    "words.txt": few_words,
    "winobias/": winobias,
    "winogender/": small_likelihood.winogender,
    "word2vec.bin": vectors,
}
"""What is made where a command reads a name that is not there."""


def placed(store: Path, folder: Path) -> Callable[[str], str]:
    """Return a function that puts a stand-in, made once in a store, into a folder.

    It returns the name there.
    """

    def put(name: str) -> str:
        source = store / name.rstrip("/")
        if not source.exists():
            STAND_INS[name](source)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / source.name)
        return source.name

    return put


ON_THE_HUB = {"sentence-transformers/all-MiniLM-L6-v2": sentence_encoder}
"""What the hub of the tests has where a document names it."""
