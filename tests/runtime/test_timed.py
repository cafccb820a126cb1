"""examples/timed: takes as long as it is told at each size, and asks as it is told."""

import json

import pytest

from conftest import PATIENCE, example, run


def events(mpi, tmp_path, arguments, *options, code=0):
    """What the report says of it: kinds and sizes."""
    report = tmp_path / "report"
    done = run("run", "-n", 2, "--mpi", mpi, "--max", 4, "--report", report, *options, "--", example("timed", mpi),
               *arguments)
    assert done.returncode == code, done.stderr
    return [json.loads(line) for line in report.read_text().splitlines()], done.stderr


def test_goes_on_in_the_time_of_its_new_size(mpi, start):
    job = start(mpi, 2, "timed", 1, "5000,5000,5000,0.2", options=["--max", 4], is_patient=False)
    job.wait_until_connected()
    done = job.resize(4)
    assert done.returncode == 0, done.stderr
    job.process.communicate(timeout=PATIENCE)
    assert job.process.returncode == 0


def test_takes_its_time(mpi, tmp_path):
    came, _ = events(mpi, tmp_path, [1, "9,1.5"])
    assert [each["event"] for each in came] == ["started", "sizes", "ended"]
    assert came[2]["time_s"] - came[0]["time_s"] >= 1.4


@pytest.mark.parametrize("answer, asked, resized", [("grant", [4, 1], [4, 1]), ("deny", [4, 3, 1], [])])
def test_asks_again_only_if_it_was_denied(mpi, tmp_path, answer, asked, resized):
    came, _ = events(mpi, tmp_path, [1, "8,8,8,8", "0.1:+2:1", "0.4:+1:1:again", "0.6:-3:0"], "--evolving", answer)
    assert [each["preferred"] for each in came if each["event"] == "requested"] == asked
    assert [each["to"] for each in came if each["event"] == "resized"] == resized


@pytest.mark.parametrize("arguments, said", [(["x", "1"], "'x'"), ([1, "1,0"], "'1,0'"), ([1, "1"], "no time for this"),
                                             ([1, "1,1", "0.5"], "'0.5'"), ([1, "1,1", "0.5:1:1:x"], "'0.5:1:1:x'")])
def test_wrong_calls(mpi, tmp_path, arguments, said):
    _, stderr = events(mpi, tmp_path, arguments, code=2)
    assert said in stderr and "usage: timed" in stderr
