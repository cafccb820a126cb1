"""MPI time over compute time, of programs that know nothing of it."""

import json

from conftest import example, run


def measured(report):
    events = [json.loads(line) for line in report.read_text().splitlines()]
    return [event for event in events if event["event"] == "measured"]


def test_one_computes_and_one_waits(mpi, tmp_path):
    report = tmp_path / "report"
    done = run("run", "--kind", "rigid", "-n", 2, "--measure", 1, "--report", report, "--",
               example("half", mpi), 200, 20)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    events = measured(report)
    assert len(events) >= 2
    # Half of all looks, but for the time that starting takes.
    looks = sum(event["looks"] for event in events)
    assert 0.35 < sum(event["in_mpi"] for event in events) / looks < 0.65
    for event in events:
        assert event["mtct"] == event["in_mpi"] / (event["looks"] - event["in_mpi"])
    # One message a second of each process, whatever it does; one report a second of the manager.
    assert len(events) <= 1 + events[-1]["time_s"]


def test_resized_while_measured(mpi, tmp_path):
    report = tmp_path / "report"
    done = run("run", "-n", 1, "--max", 3, "--measure", 0.5, "--report", report, "--no-compare",
               "--script", "t=1.5:3", "--", example("jacobi", mpi), 60, 60, 300, 10)
    assert done.returncode == 0, done.stderr
    sizes = {event["size"] for event in measured(report)}
    assert sizes == {1, 3}


def test_only_for_programs_of_an_mpi():
    done = run("run", "--kind", "rigid", "--measure", 1, "--", "true")
    assert done.returncode == 2
