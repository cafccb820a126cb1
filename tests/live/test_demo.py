"""`./demo --live`: real programs of all job types under the policies that it is called with, to the page that it
leaves."""

import csv
import pathlib
import re
import subprocess

import pytest
from conftest import PATIENCE, PROGRAM, example

SOURCES = pathlib.Path(__file__).resolve().parents[2]

POLICIES = ["dbes", "tide", "portfolio:of=tide|easy,every=20,check=5"]


@pytest.fixture(scope="module")
def demos(tmp_path_factory):
    """All at once: for most of their two minutes they wait."""
    build = pathlib.Path(PROGRAM).resolve().parent
    assert pathlib.Path(example("jacobi", "mpich")).resolve().parent == build / "examples"
    started = {}
    for number, policy in enumerate(POLICIES):
        folder = tmp_path_factory.mktemp(f"demo{number}")
        with open(folder / "out.txt", "w") as out:
            call = [SOURCES / "scripts" / "demo-live", build, policy]
            started[policy] = folder, subprocess.Popen(call, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
    try:
        for _, demo in started.values():
            demo.wait(timeout=600 + PATIENCE)
    finally:
        for _, demo in started.values():
            if demo.poll() is None:
                demo.terminate()  # it ends its jobs and its controller
                demo.wait()
    return {policy: (folder, demo.returncode) for policy, (folder, demo) in started.items()}


@pytest.mark.parametrize("policy", POLICIES)
def test_every_job_ends_well(demos, policy):
    folder, status = demos[policy]
    text = (folder / "out.txt").read_text()
    assert status == 0, text
    with open(folder / "demo-live-out" / "jobs.csv") as file:
        jobs = list(csv.DictReader(file))
    assert [job["final_state"] for job in jobs] == ["COMPLETED_SUCCESSFULLY"] * 7, text
    assert (folder / "demo-live-out" / "report.html").stat().st_size > 10_000
    assert re.search(r"\d+ decisions of .* are the same, asked again and folded", text), text


def test_tide_resizes_running_jobs(demos):
    folder, _ = demos["tide"]
    with open(folder / "demo-live-out" / "resizes.csv") as file:
        resizes = list(csv.DictReader(file))
    assert len(resizes) > 3
