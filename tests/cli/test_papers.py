"""The policies of papers 003 and 004 against independent simulators: start and end of each job, to the microsecond."""

import csv
import json
import lzma
import os
import pathlib
import shlex

import pytest

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
# Where only a part of the random cases is asked for, as with sanitizers, each fifth of the larger ones.
EACH = 5 if "/" in os.environ.get("DUCTILE_CASES", "") else 1


def cases(paper):
    return sorted(path for path in (DATA / paper).iterdir() if path.is_dir())


CASES = cases("paper_003") + cases("paper_004")[::EACH]


def times(path, job, start, end):
    with (lzma.open if path.suffix == ".xz" else open)(path, "rt") as file:
        return {row[job]: (row[start], row[end]) for row in csv.DictReader(file) if row[start] != "rejected"}


def seconds(text):
    whole, _, part = text.partition(".")
    return int(whole) * 1_000_000 + int((part + "000000")[:6])


@pytest.mark.parametrize("folder", CASES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_each_job_runs_when_the_reference_says(ductile, tmp_path, folder):
    options = [folder / word if (folder / word).is_file() else word
               for word in shlex.split((folder / "command.txt").read_text())]
    ductile.output("simulate", *options, "--quiet", "--out", tmp_path / "out")
    [reference] = folder.glob("expected.csv*")
    expected = times(reference, "job", "start_s", "end_s")
    found = times(tmp_path / "out" / "jobs.csv", "job_id", "starting_time", "finish_time")
    assert {job: tuple(map(seconds, its)) for job, its in expected.items()} == {
        job: tuple(map(seconds, found[job])) for job in expected}
    figures = folder / "figures.json"
    if figures.is_file():
        summary = json.loads((tmp_path / "out" / "summary.json").read_text())
        assert {name: summary[name] for name in ("guests", "mates", "core_cuts")} == json.loads(figures.read_text())
