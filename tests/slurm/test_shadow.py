"""`ductile-slurm shadow` looks at a partition that is Slurm's own, and touches nothing; `shadow-report` says what a
policy would have done."""

import contextlib
import json
import os
import signal
import subprocess

import pytest

from slurm import PATIENCE, as_user, wait_for
from slurm_controller import DUCTILE, PROGRAM

COLUMNS = ("JobID|UID|GID|Account|Partition|QOS|State|Submit|Eligible|Start|End|TimelimitRaw|NNodes|AdminComment")


class Shadow:
    """Of a cluster, as a user who may not alter jobs of others, where the tests are root's."""

    def __init__(self, slurm, folder):
        if not PROGRAM.exists():
            pytest.skip("ductile-slurm is not built: there is no libslurm-dev")
        self.slurm, self.folder = slurm, folder
        self.process = None
        self.begin()

    def begin(self):
        user = as_user("nobody") if os.geteuid() == 0 else []
        self.log = open(self.folder.parent / "shadow.log", "a+")
        self.process = subprocess.Popen(
            [*user, PROGRAM, "shadow", "--partition", "adaptive", "--record", self.folder],
            env=self.slurm.environment, stdout=self.log, stderr=self.log)
        wait_for((self.folder / "jobs.txt").exists, "the record")

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        code = self.process.wait(PATIENCE)
        assert code == (0 if how == signal.SIGTERM else -how)

    def over(self):
        """Cells of the jobs that are over, by number: a list for each line."""
        found = {}
        for line in (self.folder / "jobs.txt").read_text().splitlines()[1:]:
            cells = dict(zip(COLUMNS.split("|"), line.split("|")))
            if cells["State"] not in ("PENDING", "RUNNING"):
                found.setdefault(int(cells["JobID"]), []).append(cells)
        return found

    def report(self, *words):
        return subprocess.run([PROGRAM, "shadow-report", "--record", self.folder, *map(str, words)], text=True,
                              capture_output=True, timeout=PATIENCE)


@contextlib.contextmanager
def shadow_of(slurm):
    slurm.cancel_all()
    above = slurm.above / "shadow"
    above.mkdir(exist_ok=True)
    above.chmod(0o1777)
    with contextlib.ExitStack() as stack:
        shadow = Shadow(slurm, above / f"record{len(list(above.iterdir()))}")
        yield shadow
        if shadow.process.poll() is None:
            shadow.end()


def run_for(seconds):
    return f"#!/bin/sh\nsleep {seconds}\n"


def test_it_touches_nothing_and_records_each_job_once(bare):
    with shadow_of(bare) as shadow:
        waits = bare.submit("-N2-4", "-t", "5", "--hold")
        before = bare.call("scontrol", "show", "job", waits).stdout
        jobs = [bare.submit("-N6", "-t", "1", script=run_for(3)), bare.submit("-N2-4", "-t", "1", script=run_for(2)),
                bare.submit("-N5", "-t", "1", script=run_for(1))]
        bare.wait_for_state(jobs[0], "RUNNING")
        second = subprocess.run([PROGRAM, "shadow", "--partition", "adaptive", "--record", shadow.folder],
                                env=bare.environment, text=True, capture_output=True, timeout=PATIENCE)
        assert second.returncode == 2 and "another shadow uses the folder" in second.stderr, second.stderr
        shadow.end(signal.SIGKILL)
        with open(shadow.folder / "jobs.txt", "a") as record:
            record.write("17|0|0|a line that was cut")
        bare.wait_for_state(jobs[0], "COMPLETED")
        shadow.begin()
        bare.tell("restart", "slurmctld")
        last = bare.submit("-N1", "-t", "1", script="#!/bin/sh\nsleep 2\nexit 3\n")
        wait_for(lambda: set(shadow.over()) == {*jobs, last}, "all jobs in the record")
        found = shadow.over()
        assert [len(lines) for lines in found.values()] == [1] * 4
        for number in [*jobs, last]:
            its, there = found[number][0], bare.job(number)
            assert (int(its["Submit"]), int(its["Start"]), int(its["End"]), int(its["NNodes"])) == (
                there["submit_time"], there["start_time"], there["end_time"], there["node_count"])
            assert its["State"] == there["job_state"]
        assert bare.call("scontrol", "show", "job", waits).stdout == before
        text = (shadow.folder / "jobs.txt").read_text()
        assert f"{waits}|" in text and "|ductile:1 type=moldable nodes=2 min=2 max=4\n" in text

        done = shadow.report("--policy", "elastic", "--malleable", "1:min=0.5,max=2")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "as Slurm did" in done.stdout and "4 jobs on 8 nodes" in done.stdout
        folder = shadow.folder / "report"
        again = subprocess.run([DUCTILE, "simulate", "--trace", folder / "workload.swf", "--policy", "elastic", "--json"],
                               text=True, capture_output=True, timeout=PATIENCE, check=True)
        mine, simulated = json.loads((folder / "summary.json").read_text()), json.loads(again.stdout)
        for figure in ("jobs", "makespan_s", "mean_wait_s", "mean_turnaround_s", "mean_bounded_slowdown",
                       "utilization", "expands", "shrinks"):
            assert mine[figure] == simulated[figure], figure
        # The figures of Slurm are those of its own times.
        waited = [int(its["Start"]) - int(its["Submit"]) for (its,) in found.values()]
        row = next(line for line in done.stdout.splitlines() if line.startswith("as Slurm did"))
        assert f"{sum(waited) / len(waited):.1f}" in row or str(round(sum(waited) / len(waited))) in row, row


def test_what_the_script_in_slurmctld_reads_is_recorded_and_nothing_held(adaptive):
    hands_over = adaptive.folder / "hands-over"
    hands_over.touch()
    try:
        with shadow_of(adaptive) as shadow:
            job = adaptive.submit("-N4", "-t", "1", script="#!/bin/sh\n#DUCTILE --type malleable --min-nodes 2\nsleep 1\n")
            wait_for(lambda: job in shadow.over(), "its end")
            assert shadow.over()[job][0]["AdminComment"] == "ductile:1 type=malleable nodes=4 min=2"
            done = shadow.report("--policy", "easy", "--policy", "elastic")
            assert done.returncode == 0, done.stdout + done.stderr
            text = (shadow.folder / "report" / "workload.adaptive").read_text()
            assert "type=malleable size=2..8" in text
    finally:
        hands_over.unlink()


def test_bad_input_is_told(tmp_path):
    if not PROGRAM.exists():
        pytest.skip("ductile-slurm is not built: there is no libslurm-dev")

    def report(*words):
        return subprocess.run([PROGRAM, "shadow-report", "--record", tmp_path, *words], text=True,
                              capture_output=True, timeout=PATIENCE)

    done = report("--policy", "easy")
    assert done.returncode == 2 and "cannot be read" in done.stderr
    (tmp_path / "jobs.txt").write_text("JobID|State\n")
    done = report("--policy", "easy")
    assert done.returncode == 2 and "jobs.txt:1: is no record of a shadow of this version" in done.stderr
    (tmp_path / "jobs.txt").write_text(COLUMNS + "\n1|0|0||adaptive||COMPLETED|x|1|2|3|1|1|\n")
    done = report("--policy", "easy")
    assert done.returncode == 2 and "jobs.txt:2: Submit" in done.stderr
    (tmp_path / "jobs.txt").write_text(COLUMNS + "\n")
    done = report("--policy", "easy")
    assert done.returncode == 2 and "no job of the record" in done.stderr
    done = report("--policy", "nobody")
    assert done.returncode == 2 and "nobody" in done.stderr
