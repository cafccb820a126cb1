"""docs/formats/allocations.csv.md is true, and what it shows to do with the file works."""

import csv
import decimal
import json

import pytest
from conftest import ROOT
from shown_programs import command_of_page, printed, run_of_page

PAGE = (ROOT / "docs/formats/allocations.csv.md").read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return run_of_page(PAGE, tmp_path_factory.mktemp("allocations"))


def test_rows_add_up_to_the_utilization(folder):
    with (folder / "out/allocations.csv").open() as file:
        held = sum(int(row["size"]) * (decimal.Decimal(row["until"]) - decimal.Decimal(row["from"]))
                   for row in csv.DictReader(file))
    summary = json.loads((folder / "out/summary.json").read_text())
    assert float(held) / (summary["nodes"] * summary["makespan_s"]) == summary["utilization"]
    assert int(command_of_page(PAGE, folder)) == round(held)


@pytest.mark.parametrize("language,word", [("python", "mean"), ("r", "job")])
def test_other_programs(folder, language, word):
    assert all(word in text for text in printed(PAGE, language, folder))
