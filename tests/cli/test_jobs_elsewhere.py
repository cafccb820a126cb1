"""What docs/formats/jobs.csv.md shows to do with the file in other programs works."""

import csv
import re
import shutil
import subprocess

import pytest
from conftest import RIGID_1000, ROOT, Ductile

PAGE = (ROOT / "docs/formats/jobs.csv.md").read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("elsewhere")
    Ductile().output("simulate", "--trace", RIGID_1000, "--policy", "easy", "--out", path / "out", "--quiet")
    return path


def shown(language):
    """The program of the page in it."""
    [program] = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return program


def printed(folder, *command):
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("language,package,word", [("python", "pandas", "mean"), ("python evalys", "evalys", "mean")])
def test_python(folder, language, package, word):
    if subprocess.run(["/usr/bin/python3", "-c", f"import {package}"], capture_output=True).returncode != 0:
        pytest.skip(f"there is no {package}")
    assert word in printed(folder, "/usr/bin/python3", "-c", shown(language))


def test_parquet(folder):
    if subprocess.run(["/usr/bin/python3", "-c", "import pyarrow"], capture_output=True).returncode != 0:
        pytest.skip("there is no pyarrow")
    with (folder / "out/jobs.csv").open() as file:
        rows = len(list(csv.reader(file))) - 1
    assert int(printed(folder, "/usr/bin/python3", "-c", shown("python pyarrow"))) == rows


def test_r(folder):
    if not shutil.which("Rscript"):
        pytest.skip("there is no R: r-base-core")
    assert "waiting_time" in printed(folder, "Rscript", "-e", shown("r"))
