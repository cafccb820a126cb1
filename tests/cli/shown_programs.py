"""The programs in other languages that a page of docs/ shows: each runs in the folder of the page's run."""

import re
import shutil
import subprocess

import pytest
from conftest import Ductile

# How a language is run; which package a program needs that is marked so.
PYTHON = ["/usr/bin/python3", "-c"]
PACKAGES = {"python": "pandas", "python evalys": "evalys", "python pyarrow": "pyarrow"}


def run_of_page(page, folder):
    """Simulates what the page simulates, with its --out below the folder, which it returns."""
    [words] = re.findall(r"^\$ ductile (simulate .*)$", page, re.MULTILINE)
    Ductile().output(*words.replace("--out out", f"--out {folder / 'out'}").split())
    return folder


def command_of_page(page, folder):
    """What the page's line of awk prints."""
    [command] = re.findall(r"^\$ (awk .*)$", page, re.MULTILINE)
    return subprocess.run(command, shell=True, cwd=folder, text=True, capture_output=True, check=True).stdout


def printed(page, language, folder):
    """What each program of the page in a language prints, one or more; skips where there is none to run them."""
    if language == "r":
        if not shutil.which("Rscript"):
            pytest.skip("there is no R: r-base-core")
        start = ["Rscript", "-e"]
    else:
        package, start = PACKAGES[language], PYTHON
        if subprocess.run([*PYTHON, f"import {package}"], capture_output=True).returncode != 0:
            pytest.skip(f"there is no {package}: python3-{package}")
    programs = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
    assert programs
    texts = []
    for program in programs:
        done = subprocess.run([*start, program], cwd=folder, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
        texts.append(done.stdout)
    return texts
