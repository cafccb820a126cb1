"""What docs/formats/jobs.csv.md shows to do with the file in other programs works."""

import csv

import pytest
from conftest import RIGID_1000, ROOT, Ductile
from shown_programs import printed

PAGE = (ROOT / "docs/formats/jobs.csv.md").read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("elsewhere")
    Ductile().output("simulate", "--trace", RIGID_1000, "--policy", "easy", "--out", path / "out", "--quiet")
    return path


@pytest.mark.parametrize("language,word", [("python", "mean"), ("python evalys", "mean"), ("r", "waiting_time")])
def test_other_programs(folder, language, word):
    [text] = printed(PAGE, language, folder)
    assert word in text


def test_parquet(folder):
    with (folder / "out/jobs.csv").open() as file:
        rows = len(list(csv.reader(file))) - 1
    [text] = printed(PAGE, "python pyarrow", folder)
    assert int(text) == rows
