"""The catalogue says what is true: addresses that do not move, hashes of real files."""

from __future__ import annotations

import hashlib
import re
import tomllib
from importlib.resources import files
from pathlib import Path, PurePosixPath

import pytest

from wordbias.errors import WordbiasError
from wordbias.resources import Resource, catalogue, choose, located
from wordbias.resources.storage import place

RESOURCES = list(catalogue().values())
KEYS = {
    "title", "url", "files", "members", "keep", "gunzip", "size", "hash", "licence", "citation",
    "how", "note",
}  # fmt: skip
# the resources of which the folder of real data has the very file
COPIES = {
    "sembias": "sembias/SemBias.tsv",
    "gsss-dev": "gsss/dev.csv",
    "men": "wordsim/EN-MEN-TR-3k.txt",
    "google-analogies": "analogy/questions-words.txt",
}


def test_every_key_is_one_that_is_read() -> None:
    text = (files("wordbias.resources") / "catalogue.toml").read_text(encoding="utf-8")
    for group, table in tomllib.loads(text).items():
        assert set(table) <= KEYS, group
        assert ("url" in table) != ("how" in table), group


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.name)
def test_every_entry_is_complete(resource: Resource) -> None:
    assert resource.title
    assert resource.licence
    assert re.search(r"\((19|20)\d\d\)", resource.citation)
    assert len(resource.files) == len(resource.urls)
    assert all(url.startswith("https://") for url in resource.urls)
    assert re.fullmatch(r"(sha256:[0-9a-f]{64}|md5:[0-9a-f]{32})?", resource.hash)
    assert not resource.hash or len(resource.urls) == 1
    for name in (resource.name, resource.group, *resource.files):
        path = PurePosixPath(name)
        assert not path.is_absolute()
        assert not {"..", "."} & set(path.parts)
        assert not name.startswith(".")


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.name)
def test_files_of_repositories_are_those_of_a_commit(resource: Resource) -> None:
    for url in resource.urls:
        if "raw.githubusercontent.com" in url:
            assert re.match(r"https://[^/]+/[^/]+/[^/]+/[0-9a-f]{7,40}/", url)


def test_groups_have_one_url_and_no_name_of_another() -> None:
    urls: dict[str, tuple[str, ...]] = {}
    for resource in RESOURCES:
        assert urls.setdefault(resource.group, resource.urls) == resource.urls
        if resource.group in catalogue():
            assert catalogue()[resource.group].group == resource.group


@pytest.mark.parametrize("name", COPIES)
def test_hashes_are_those_of_the_real_files(name: str, shared_data: Path) -> None:
    data = (shared_data / COPIES[name]).read_bytes()
    assert catalogue()[name].hash == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert catalogue()[name].size == len(data)


@pytest.mark.parametrize(
    ("name", "folder"), [("bolukbasi-lists", "bolukbasi"), ("gn-glove-lists", "gn_glove")]
)
def test_folders_have_the_size_of_the_real_files(name: str, folder: str, shared_data: Path) -> None:
    resource = catalogue()[name]
    assert resource.size == sum(
        (shared_data / folder / file).stat().st_size for file in resource.files
    )
    assert {path.name for path in (shared_data / folder).iterdir()} == set(resource.files)


def test_an_archive_is_the_source_of_its_members() -> None:
    assert [r.name for r in choose(["snli", "men", "snli-dev"])] == [
        "snli-train", "snli-dev", "snli-test", "men",
    ]  # fmt: skip


def test_a_name_that_is_none() -> None:
    with pytest.raises(WordbiasError, match=r"^SNLI-dev: is not .*did you mean snli-dev"):
        choose(["SNLI-dev"])
    for name, near in (("glove.6B.100", "glove.6B.100d, "), ("glove-6b", "glove.6B, ")):
        with pytest.raises(WordbiasError, match=f"did you mean {near}"):
            choose([name])
    with pytest.raises(WordbiasError, match=r"without names lists$"):
        choose(["§§§§"])


def test_a_path_wins_over_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WordbiasError, match=r"^men: .* not fetched yet; run: wordbias fetch men$"):
        located("men")
    Path("men").write_text("of the user")
    assert located("men") == "men"


@pytest.mark.parametrize(
    "name", ["no/such/file.txt", "", "archive.zip::member.txt", "men.txt", "vectors"]
)
def test_what_is_no_name_stays_as_it_is(name: str) -> None:
    assert located(name) == name


@pytest.mark.parametrize(
    ("name", "near"),
    [("glove.6B.100", "glove.6B.100d"), ("glove-6b-50", "glove.6B.50d"), ("Men", "men")],
)
def test_what_resembles_a_name_is_asked_about(name: str, near: str) -> None:
    message = f"{name}: there is no such file, nor are data of that name; did you mean {near}"
    with pytest.raises(WordbiasError, match=f"^{re.escape(message)}"):
        located(name)


def test_no_name_at_all_stays_none() -> None:
    assert located(None) is None


def test_names_of_no_single_file() -> None:
    with pytest.raises(WordbiasError, match=r"^snli: stands for snli-train, snli-dev, snli-test;"):
        located("snli")
    with pytest.raises(WordbiasError, match=r"^gn-glove: cannot be fetched: .*Google Drive"):
        located("gn-glove")


def test_the_default_folder_is_the_user_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    import platformdirs

    monkeypatch.delenv("WORDBIAS_DATA")
    home = platformdirs.user_data_path("wordbias", appauthor=False)
    assert place(catalogue()["men"]) == home / "men" / "EN-MEN-TR-3k.txt"
    assert place(catalogue()["winobias"]) == home / "winobias"
