"""docs/formats/allocations.csv.md is true, and what it shows to do with the file works."""

import csv
import decimal
import importlib.util
import json
import re
import shutil
import subprocess

import pytest
from conftest import ROOT, Ductile

PAGE = (ROOT / "docs/formats/allocations.csv.md").read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The run of the page."""
    [words] = re.findall(r"^\$ ductile (simulate .*)$", PAGE, re.MULTILINE)
    path = tmp_path_factory.mktemp("allocations")
    Ductile().output(*words.replace("--out out", f"--out {path / 'out'}").split())
    return path


def shown(language):
    """What the page has in it of a language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_rows_add_up_to_the_utilization(folder):
    with (folder / "out/allocations.csv").open() as file:
        held = sum(int(row["size"]) * (decimal.Decimal(row["until"]) - decimal.Decimal(row["from"]))
                   for row in csv.DictReader(file))
    summary = json.loads((folder / "out/summary.json").read_text())
    assert float(held) / (summary["nodes"] * summary["makespan_s"]) == summary["utilization"]
    [command] = re.findall(r"^\$ (awk .*)$", PAGE, re.MULTILINE)
    done = subprocess.run(command, shell=True, cwd=folder, text=True, capture_output=True, check=True)
    assert int(done.stdout) == round(held)


def test_python(folder):
    if not importlib.util.find_spec("pandas"):
        pytest.skip("there is no pandas: python3-pandas")
    for program in shown("python"):
        done = subprocess.run(["/usr/bin/python3", "-c", program], cwd=folder, text=True, capture_output=True)
        assert done.returncode == 0 and "mean" in done.stdout, done.stderr


def test_r(folder):
    if not shutil.which("Rscript"):
        pytest.skip("there is no R: r-base-core")
    for program in shown("r"):
        done = subprocess.run(["Rscript", "-e", program], cwd=folder, text=True, capture_output=True)
        assert done.returncode == 0 and "job" in done.stdout, done.stderr
