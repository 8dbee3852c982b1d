"""`wordbias audit`: its formats, what it leaves out, and what it says when something is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wordbias as wb
from wordbias import Embedding
from wordbias.methods.words import listed_words
from wordbias.pages.stages import PARTS
from wordbias.wordlists import Attribute, Templates, load_queries

Run = Callable[..., Any]
QUICK = "clustering,recoverability,mab,weat,gipe,sembias,quality"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save the listed words, the occupations and the first words of the sample."""
    sample = Embedding.sample()
    queries = [word for query in load_queries() for word in sorted(query.candidates())]
    listed = [*sorted(listed_words(Attribute.load())), *Templates.load().occupations, *queries]
    path = tmp_path_factory.mktemp("vectors") / "small.safetensors"
    sample.subset([*sample.words[:1500], *listed]).save(path)
    return path


@pytest.fixture
def found(cli: Run) -> Callable[..., dict[str, Any]]:
    """Audit and return the parsed JSON."""

    def call(*arguments: object) -> dict[str, Any]:
        done = cli("audit", "--format", "json", "--quiet", *arguments)
        assert (done.code, done.err) == (0, "")
        result: dict[str, Any] = json.loads(done.out)
        return result

    return call


@pytest.mark.slow
def test_the_page_of_everything_is_the_page_of_its_rows(
    cli: Run, small: Path, tmp_path: Path
) -> None:
    skip = ("--skip", "recoverability,mab")
    one, two = tmp_path / "one.html", tmp_path / "two.html"
    done = cli("audit", small, *skip, "-o", one)
    assert done.code == 0
    assert done.out.endswith(f"Written: {one}\n")
    for question in ("Is it biased?", "Does cleaning help?", "Which method?", "At what cost?"):
        assert f"{question} " in done.out
    assert "note: not measured: SemBias" in done.err
    text = one.read_text(encoding="utf-8")
    for key in ("glance", "occupations", "midb", "direct-bias", "clustering", "gipe", "weat",
                "neighbours", "moved"):  # fmt: skip
        assert f'<section id="{key}">' in text
    rows = tmp_path / "rows.json"
    assert cli("audit", small, *skip, "--format", "json", "-o", rows, "--quiet").err == ""
    assert cli("report", rows, "-o", two).code == 0
    assert two.read_text(encoding="utf-8") == text


@pytest.mark.slow
def test_json_has_the_rows_of_all_columns(found: Run, small: Path) -> None:
    result = found(small, "--methods", "misp", "--methods", "hard,misp leace", "--skip", QUICK)
    assert result["command"] == "audit"
    assert result["inputs"]["small"]["dim"] == 100
    assert result["arguments"]["skip"] == QUICK.split(",")
    assert {row["subject"] for row in result["rows"]} == {"small"}
    midb = {row["stage"]: row for row in result["rows"] if row["measure"] == "midb-abs"}
    assert list(midb) == ["before", "misp", "hard,misp", "leace"]
    assert midb["misp"]["value"] < midb["before"]["value"]
    assert (midb["hard,misp"]["debiased"], midb["hard,misp"]["column"]) == ("hard,misp", "method")
    assert result["arguments"]["methods"] == ["misp", "hard,misp leace"]
    assert (midb["before"]["neutral"], midb["before"]["better"]) == (0, "lower")


@pytest.mark.slow
def test_the_methods_of_one_embedding_and_of_several(cli: Run, small: Path) -> None:
    skip = ("--skip", ",".join(part for part in PARTS if part != "direct-bias"), "--no-chance")
    done = cli("audit", small, *skip, "--format", "json")
    stages = [
        row["stage"] for row in json.loads(done.out)["rows"] if row["measure"] == "direct-bias"
    ]
    assert stages == ["before", "misp", "hard", "inlp", "leace"]
    other = small.with_name("other.safetensors")
    other.write_bytes(small.read_bytes())
    done = cli("audit", small, other, *skip, "--format", "json")
    assert "stage" not in done.out
    assert "several embeddings are compared as they are; --methods cleans each of them" in done.err


@pytest.mark.slow
def test_a_cleaned_file_is_a_column_of_the_page(cli: Run, small: Path, tmp_path: Path) -> None:
    cleaned, page = tmp_path / "cleaned.safetensors", tmp_path / "page.html"
    assert cli("debias", "hard", small, "-o", cleaned).code == 0
    skip = ("--skip", QUICK)
    done = cli("audit", small, "--methods", "hard", "--after", cleaned, *skip, "-o", page)
    assert done.code == 0, done.err
    text = page.read_text(encoding="utf-8")
    assert "“hard” is what the method of this name makes of it in memory" in text
    assert "“cleaned” is your own file. Nothing was written." in text
    rows = json.loads(cli("audit", small, "--methods", "hard", "--after", cleaned, *skip,
                          "--format", "json").out)["rows"]  # fmt: skip
    values = {
        stage: [row["value"] for row in rows if row.get("stage") == stage and "low" in row]
        for stage in ("hard", "cleaned")
    }
    assert values["hard"] == values["cleaned"]


@pytest.mark.slow
def test_a_column_that_fails_is_in_the_page_and_the_others_are_measured(
    cli: Run, small: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    skip = ("--skip", QUICK)
    done = cli("audit", small, "--methods", "gn-glove misp:dims=500 leace", *skip, "-o", page)
    assert done.code == 0, done.err
    assert "note: small, gn-glove: the column was not made: " in done.err
    assert "note: small, misp:dims=500: the column was not made: 500 components" in done.err
    text = page.read_text(encoding="utf-8")
    assert "500 components" in text
    assert '<th scope="col" role="columnheader" class="number">leace</th>' in text


@pytest.mark.slow
def test_compare_reads_the_rows(cli: Run, found: Run, small: Path, tmp_path: Path) -> None:
    paths = []
    result = found(small, "--methods", "misp", "--skip", QUICK)
    for i in range(3):
        for row in result["rows"]:
            row |= {"subject": f"e{i}", "value": row["value"] and row["value"] + i}
        paths.append(tmp_path / f"{i}.json")
        paths[-1].write_text(json.dumps(result), encoding="utf-8")
    done = cli("compare", *paths, "--only", "midb-abs,direct-bias", "--format", "json")
    assert done.code == 0, done.err
    pairs = [(row["x"], row["y"]) for row in json.loads(done.out)["rows"]]
    assert ("midb-abs[d=4, not centred] (before)", "direct-bias[c=1] (before)") in pairs


@pytest.mark.slow
def test_what_takes_minutes_is_said_before(
    cli: Run, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = ("--methods", "none", "--format", "json")
    done = cli("audit", small, "--skip", QUICK, *none)
    assert "minutes" not in done.err  # gipe is skipped, and the words are few
    monkeypatch.setattr("wordbias.pages.audit.MANY_WORDS", 10)
    kept = ",".join(part for part in QUICK.split(",") if part != "gipe")
    first = cli("audit", small, "--skip", kept, *none).err.splitlines()[0]
    assert first == "note: gipe may take minutes; --skip=gipe leaves it out"


@pytest.mark.slow
def test_markdown_on_stdout(cli: Run, small: Path) -> None:
    done = cli("audit", small, "--skip", QUICK, "--format", "md", "--quiet")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("# Bias report: small\n")
    assert "## The occupations that lean most" in done.out
    assert "| MIDB, mean of \\|·\\|" in done.out.replace("\\\\", "\\")


def test_skipping_leaves_out_and_only_that(found: Run, small: Path) -> None:
    everything = [part for part in PARTS if part != "direct-bias"]
    rows = found(small, "--methods", "none", "--skip", ",".join(everything))["rows"]
    assert {row["measure"] for row in rows} == {"direct-bias", "direct-bias-pca"}
    assert all("stage" not in row for row in rows)


@pytest.mark.slow
def test_several_embeddings_share_one_vocabulary_and_get_a_matrix(
    cli: Run, small: Path, tmp_path: Path
) -> None:
    other = tmp_path / "<script>alert(1)<b>.safetensors"
    vectors = wb.load(small)
    vectors.subset(vectors.words[::-1]).save(other)
    target = tmp_path / "page.html"
    done = cli("audit", small, other, "--skip", QUICK, "-o", target)
    assert done.code == 0, done.err
    text = target.read_text(encoding="utf-8")
    assert '<section id="matrix">' in text
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;b&gt;" in text


@pytest.mark.slow
def test_two_files_of_one_name_are_called_by_their_paths(
    found: Run, small: Path, tmp_path: Path
) -> None:
    copy = tmp_path / small.name
    copy.write_bytes(small.read_bytes())
    result = found(small, copy, small, "--skip", f"{QUICK},map")
    assert list(result["inputs"]) == [str(small), str(copy)]
    assert {row["subject"] for row in result["rows"]} == {str(small), str(copy)}


@pytest.mark.slow
def test_what_cannot_be_measured_is_said_and_the_rest_goes_on(
    cli: Run, small: Path, tmp_path: Path
) -> None:
    vectors = wb.load(small)
    flat = tmp_path / "flat.safetensors"
    vectors.with_vectors(vectors.vectors[:, :50]).save(flat)
    target = tmp_path / "page.html"
    done = cli("audit", flat, "--skip", "clustering,recoverability,gipe,weat", "-o", target)
    assert done.code == 0
    assert "mab was not measured: the NLI model was trained on sample of 100" in done.err
    assert "mab was not measured" in target.read_text(encoding="utf-8")


@pytest.mark.slow
def test_words_can_be_asked_for_and_an_odd_one_is_escaped(
    found: Run, small: Path, tmp_path: Path
) -> None:
    vectors = wb.load(small)
    odd = Embedding(["<script>", *vectors.words[1:]], vectors.vectors, "odd")
    odd.save(tmp_path / "odd.safetensors")
    words = ("--words", "<script>,boss", "--skip", QUICK)
    rows = found(tmp_path / "odd.safetensors", *words)["rows"]
    listed = [r["word"] for r in rows if r["measure"] == "neighbours-preserved" and "word" in r]
    assert listed[:2] == ["<script>", "boss"]


@pytest.mark.slow
def test_real_sets_of_quality_and_sembias(found: Run, small: Path, shared_data: Path) -> None:
    skip = ",".join(set(QUICK.split(",")) - {"quality", "sembias"})
    sets = (
        "--benchmarks",
        shared_data / "wordsim",
        "--sembias",
        shared_data / "sembias/SemBias.tsv",
    )
    rows = found(small, *sets, "--methods", "hard", "--skip", skip)["rows"]
    similar = [row for row in rows if row["measure"] == "similarity"]
    assert {row["stage"] for row in similar} == {"before", "hard"}
    assert all(r["change_low"] <= r["change_high"] for r in similar if r["stage"] == "hard")
    assert any(r["measure"] == "sembias-stereotype" and r["value"] is not None for r in rows)


@pytest.mark.slow
def test_without_a_name_the_page_has_one(
    cli: Run, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli("audit", small, "--skip", ",".join(p for p in PARTS if p != "direct-bias"))
    assert "Written: wordbias-audit.html" in done.out
    assert [path.name for path in tmp_path.iterdir()] == ["wordbias-audit.html"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--skip", "gip"), "part 'gip': expected some of midb, direct-bias"),
        (("--skip", "misp"), "part 'misp': expected some of midb, direct-bias"),
        (("--methods", "misp:dim=2"), "did you mean dims?"),
        (("--methods", "misp hrad"), "method 'hrad'"),
        (("--after", "nothere.txt"), "nothere.txt"),
        (("nothere.txt",), "nothere.txt"),
        (("--benchmarks", "nothere"), "nothere"),
        (("--sembias", "nothere"), "nothere"),
        (("--nli-model", "nothere"), "nothere"),
        (("-o", "no/such/folder.html"), "the folder"),
        (("--direction", "nothere.safetensors"), "nothere.safetensors"),
    ],
)
def test_bad_input_is_one_line_before_anything_is_measured(
    cli: Run, arguments: tuple[str, ...], message: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    done = cli("audit", *arguments)
    assert (done.code, done.out) == (2 if "--methods" in arguments else 1, "")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_page_is_not_written_over_an_input(cli: Run, small: Path) -> None:
    before = small.read_bytes()
    assert "is both an input" in cli("audit", small, "-o", small).err
    assert small.read_bytes() == before
