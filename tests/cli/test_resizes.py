"""docs/formats/resizes.csv.md is true, what it shows to do with the file works, and so do the tables made of it."""

import csv
import decimal
import io
import json
import shutil

import pytest
from conftest import ROOT
from shown_programs import command_of_page, printed, run_of_page

PAGE = (ROOT / "docs/formats/resizes.csv.md").read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return run_of_page(PAGE, tmp_path_factory.mktemp("resizes"))


@pytest.fixture(scope="module")
def rows(folder):
    with (folder / "out/resizes.csv").open() as file:
        return list(csv.DictReader(file))


def test_rows_are_those_of_the_summary(folder, rows):
    summary = json.loads((folder / "out/summary.json").read_text())
    assert sum(int(row["after"]) > int(row["before"]) for row in rows) == summary["expands"] > 0
    assert sum(int(row["after"]) < int(row["before"]) for row in rows) == summary["shrinks"] > 0
    cost = sum(decimal.Decimal(row["cost_node_s"] or 0) for row in rows)
    assert float(cost) == summary["reconfiguration_node_s"] > 0
    assert float(command_of_page(PAGE, folder)) == pytest.approx(float(cost))


@pytest.mark.parametrize("language,word", [("python", "done"), ("r", "first_size")])
def test_other_programs(folder, language, word):
    assert all(word in text for text in printed(PAGE, language, folder))


def test_tables_count_what_changed(ductile, folder, rows):
    changed = [row for row in rows if row["before"] != row["after"]]
    out = folder / "out"
    lines = list(csv.DictReader(io.StringIO(ductile.output("report", out, "--resizes", "--csv"))))
    for table in ["reason", "type"]:
        own = [line for line in lines if line["table"] == table]
        assert sum(int(line["count"]) for line in own) == len(changed)
        assert sum(float(line["share"]) for line in own) == pytest.approx(1)
    gave = [row for row in changed if row["for_job"] and int(row["after"]) < int(row["before"])]
    own = [line for line in lines if line["table"] == "gave"]
    assert sum(int(line["count"]) for line in own) == len(gave)
    [run] = [json.loads(line) for line in ductile.output("report", out, "--resizes", "--json").splitlines()]
    assert run["policy"] == "dbes" and run["resizes"] == len(changed)
    text = ductile.output("report", out, "--resizes")
    assert "resizes by reason" in text and "hand-out" in text and "%" in text


def test_a_damaged_file_says_where(ductile, folder, tmp_path):
    shutil.copytree(folder / "out", tmp_path / "bad")
    path = tmp_path / "bad/resizes.csv"
    lines = path.read_text().splitlines()
    lines[1] = lines[1].replace("malleable", "soft")
    path.write_text("\n".join(lines) + "\n")
    done = ductile.run("report", tmp_path / "bad", "--resizes")
    assert done.returncode == 2 and f"{path}:2: type: is none of rigid" in done.stderr
    path.unlink()
    done = ductile.run("report", tmp_path / "bad", "--resizes")
    assert done.returncode == 2 and f"{path}: is not there" in done.stderr
