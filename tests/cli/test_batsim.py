"""ductile simulate --batsim-scheduler and ductile policy-server: schedulers made for Batsim decide in a
simulation, and policies decide for Batsim."""

import contextlib
import csv
import itertools
import json
import re
import signal
import subprocess
import sys

import pytest

from conftest import RIGID_1000, ROOT

zmq = pytest.importorskip("zmq", reason="python3-zmq is not installed: scripts/setup --dev")
from zmq_peer import peer  # noqa: E402, which needs it


def answer(now, *events):
    return {"now": now, "events": [{"timestamp": now, "type": kind, "data": data} for kind, data in events]}


def execute(job, nodes):
    return ("EXECUTE_JOB", {"job_id": job, "alloc": " ".join(map(str, nodes))})


class Backfill:
    """FCFS, or EASY: who is behind the first job that does not fit may pass if it ends before that one
    can start, or leaves it enough nodes. Takes the lowest nodes."""

    def __init__(self, easy):
        self.easy = easy
        self.waiting, self.running = [], {}  # id -> (end, nodes)

    def __call__(self, message):
        now = message["now"]
        for event in message["events"]:
            data = event["data"]
            if event["type"] == "SIMULATION_BEGINS":
                self.free = set(range(data["nb_resources"]))
            elif event["type"] == "JOB_SUBMITTED":
                self.waiting.append(data["job"])
            elif event["type"] == "JOB_COMPLETED":
                self.free |= self.running.pop(data["job_id"])[1]
        return answer(now, *self.started(now))

    def start(self, job, now):
        nodes = sorted(self.free)[:job["res"]]
        self.free -= set(nodes)
        self.running[job["id"]] = (now + job["walltime"], set(nodes))
        return execute(job["id"], nodes)

    def started(self, now):
        while self.waiting and self.waiting[0]["res"] <= len(self.free):
            yield self.start(self.waiting.pop(0), now)
        if not self.easy or not self.waiting:
            return
        first, count = self.waiting[0], len(self.free)
        # Who has outlived what he asked for ends in a second.
        ends = sorted((end if end > now else now + 1, len(nodes)) for end, nodes in self.running.values())
        for time, together in itertools.groupby(ends, lambda each: each[0]):
            count += sum(nodes for _, nodes in together)
            if count >= first["res"]:
                break
        spare = count - first["res"]
        for job in self.waiting[1:]:
            in_time = round(now + job["walltime"], 6) <= round(time, 6)
            if job["res"] > len(self.free) or not in_time and job["res"] > spare:
                continue
            spare -= 0 if in_time else job["res"]
            self.waiting.remove(job)
            yield self.start(job, now)


def scheduler(answers, dies=False):
    """The address of a scheduler that answers so. An answer that is no object is sent as it is; None: it
    says nothing more."""
    def attach(socket):
        return f"tcp://127.0.0.1:{socket.bind_to_random_port('tcp://127.0.0.1')}"

    def say(message):
        said = answers(message)
        if said is None:
            return [], dies
        return [said], any(event["type"] == "SIMULATION_ENDS" for event in message["events"])

    return peer(zmq.REP, attach, say)


def in_turn(*answers):
    """These, one after the other; then nothing is wanted."""
    left = list(answers)

    def say(message):
        said = left.pop(0) if left else answer(message["now"])
        return said(message) if callable(said) else said
    return say


def jobs_of(folder):
    """What became of each job; not why."""
    with open(folder / "jobs.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        del row["reason"]
    return {row["job_id"]: row for row in rows}


@pytest.mark.parametrize("policy", ["fcfs", "easy"])
def test_the_same_policy_outside_and_here_makes_the_same_schedule(ductile, tmp_path, policy):
    arguments = ["--trace", RIGID_1000, "--jobs", 400, "--quiet", "--json"]
    ductile.output("simulate", *arguments, "--policy", policy, "--out", tmp_path / "here")
    with scheduler(Backfill(policy == "easy")) as address:
        ductile.output("simulate", *arguments, "--batsim-scheduler", address, "--out", tmp_path / "outside")
    assert jobs_of(tmp_path / "outside") == jobs_of(tmp_path / "here")


def test_the_scheduler_of_the_guide_is_fcfs(ductile, tmp_path):
    [program] = re.findall(r"```python\n(.*?)```", (ROOT / "docs/guide/batsim.md").read_text(), re.DOTALL)
    address = f"ipc://{tmp_path}/guide"
    arguments = ["--trace", RIGID_1000, "--jobs", 100, "--quiet", "--json"]
    guide = subprocess.Popen([sys.executable, "-c", program.replace("tcp://127.0.0.1:28000", address)])
    try:
        ductile.output("simulate", *arguments, "--batsim-scheduler", address, "--out", tmp_path / "outside")
        assert guide.wait(timeout=30) == 0
    finally:
        guide.kill()
        guide.wait()
    ductile.output("simulate", *arguments, "--policy", "fcfs", "--out", tmp_path / "here")
    assert jobs_of(tmp_path / "outside") == jobs_of(tmp_path / "here")


def test_a_run_is_recorded_and_replayed_without_the_scheduler(ductile, tmp_path):
    log = tmp_path / "run.log"
    with scheduler(Backfill(True)) as address:
        [summary] = ductile.objects("simulate", "--trace", RIGID_1000, "--jobs", 100, "--quiet", "--json",
                                    "--record", log, "--policy", f"batsim:endpoint={address},timeout=60")
    assert summary["policy"] == f"batsim:endpoint={address},timeout=60"
    printed = ductile.output("replay", log)
    assert "are the same, folded: who is outside cannot be asked again" in printed
    assert " on " in log.read_text()  # the nodes
    ductile.output("replay", log, "--out", tmp_path / "again", "--json")
    assert len(jobs_of(tmp_path / "again")) == 100


def test_what_the_scheduler_was_asked_is_told(ductile):
    def say(message):
        said = backfill(message)
        said["events"].insert(0, {"timestamp": message["now"], "type": "NOTIFY",
                                  "data": {"type": "registration_finished"}})
        return said
    backfill = Backfill(False)
    with scheduler(say) as address:
        done = ductile.run("simulate", "--trace", RIGID_1000, "--jobs", 20, "--batsim-scheduler", address)
    assert done.returncode == 0, done.stderr
    assert "ductile: left out of what the scheduler said: NOTIFY (" in done.stderr
    assert "ductile: the scheduler was asked " in done.stderr


def then(*events):
    """That, as an answer at the time of the question."""
    return lambda message: answer(message["now"], *events)


FIRST = "w0!1"
WRONG = {
    "no JSON": (["what?"], "parse error at line 1, column 1"),
    "no object": (["[]"], "/: is no object"),
    "a job that is not there": ([answer(0), then(execute("w0!99999", [0]))],
                                "names a job 'w0!99999', and none of that name was submitted"),
    "nodes that are not there": ([answer(0), then(execute(FIRST, [100000]))], "there is no resource 100000"),
    "no nodes": ([answer(0), then(execute(FIRST, []))], "is no set of resources"),
    "time that goes back": ([answer(0), answer(0)], "/now: goes back in time, to 0 s from "),
    "a job that is registered": ([answer(0, ("REGISTER_JOB", {"job_id": "w0!x"}))],
                                 "a scheduler cannot submit jobs here"),
    "nodes that are switched": ([answer(0, ("SET_RESOURCE_STATE", {"resources": "0", "state": "1"}))],
                                "a scheduler cannot switch nodes here"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_ends_the_run_with_whole_files(ductile, tmp_path, case):
    answers, what = WRONG[case]
    with scheduler(in_turn(*answers)) as address:
        done = ductile.run("simulate", "--generate", "poisson:jobs=5,nodes=8", "--batsim-scheduler", address,
                           "--out", tmp_path / "out", "--json")
    assert done.returncode == 2
    assert f"ductile: {address}: " in done.stderr
    assert what in done.stderr
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["stopped"]
    assert (tmp_path / "out" / "jobs.csv").read_text().endswith("\n")
    assert not [path for path in (tmp_path / "out").rglob("*") if path.name.endswith(".tmp")]


def test_a_scheduler_that_hangs(ductile):
    with scheduler(in_turn(answer(0), None)) as address:
        done = ductile.run("simulate", "--trace", RIGID_1000, "--jobs", 5, "--batsim-scheduler", address,
                           "--batsim-timeout", 0.5)
    assert done.returncode == 2
    assert f"ductile: {address}: the scheduler has not answered within 0.5 s" in done.stderr


def test_a_scheduler_that_dies(ductile):
    with scheduler(in_turn(answer(0), None), dies=True) as address:
        done = ductile.run("simulate", "--trace", RIGID_1000, "--jobs", 5, "--batsim-scheduler", address,
                           timeout=60)
    assert done.returncode == 2
    assert f"ductile: {address}: the scheduler is gone, and has not answered" in done.stderr


def test_no_scheduler(ductile):
    address = "tcp://127.0.0.1:1"
    done = ductile.run("simulate", "--trace", RIGID_1000, "--jobs", 5, "--batsim-scheduler", address,
                       "--batsim-timeout", 1.5)
    assert done.returncode == 2
    assert f"ductile: waiting for a scheduler at {address}" in done.stderr
    assert f"ductile: {address}: no scheduler was there within 1.5 s" in done.stderr


def test_ctrl_c_while_it_waits(ductile):
    run = ductile.start("simulate", "--trace", RIGID_1000, "--jobs", 5, "--batsim-scheduler",
                        "tcp://127.0.0.1:1")
    for line in run.stderr:
        if "waiting for a scheduler" in line:
            break
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=30)
    assert run.returncode == 1
    assert "stopped" in said


@pytest.mark.parametrize("arguments,what", [
    (["--batsim-scheduler", "nowhere"], "nowhere: nobody can be asked there"),
    (["--batsim-scheduler", "tcp://127.0.0.1:1", "--seeds", "1..2"], "decides in one run"),
    (["--batsim-scheduler", "tcp://127.0.0.1:1", "--policy", "easy"], "excludes"),
    (["--policy", "batsim", "--policy", "easy"], "decides in one run"),
    (["--policy", "batsim:timeout=0"], "'0' is not possible"),
    (["--batsim-timeout", "3"], "requires"),
    (["--batsim-scheduler", "tcp://127.0.0.1:1", "--node-off-after", "60"], "cannot be told of"),
])
def test_calls_that_are_wrong(ductile, arguments, what):
    done = ductile.run("simulate", "--trace", RIGID_1000, "--jobs", 5, *arguments)
    assert done.returncode == 2
    assert what in done.stderr, done.stderr


# ---- The other way ----------------------------------------------------------------------------------


@contextlib.contextmanager
def policy_server(ductile, tmp_path, *arguments):
    address = f"ipc://{tmp_path}/server"
    server = ductile.start("policy-server", "--bind", address, *arguments)
    assert "decides for Batsim at" in server.stderr.readline()
    try:
        yield address, server
    finally:
        server.terminate()
        server.communicate(timeout=30)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "easy:order=sjf", "conservative", "backfill",
                                    "easy:order=fairshare", "slurm"])
def test_a_policy_decides_the_same_through_the_protocol(ductile, tmp_path, policy):
    arguments = ["--trace", RIGID_1000, "--jobs", 300, "--overrun", "kill", "--quiet", "--json"]
    ductile.output("simulate", *arguments, "--policy", policy, "--out", tmp_path / "here")
    with policy_server(ductile, tmp_path, "--policy", policy) as (address, server):
        ductile.output("simulate", *arguments, "--batsim-scheduler", address, "--out", tmp_path / "outside")
        assert server.wait(timeout=30) == 0
    assert jobs_of(tmp_path / "outside") == jobs_of(tmp_path / "here")


def test_a_server_serves_one_simulation_after_the_other(ductile, tmp_path):
    arguments = ["--trace", RIGID_1000, "--jobs", 20, "--quiet", "--json"]
    with policy_server(ductile, tmp_path, "--again") as (address, server):
        [one] = ductile.objects("simulate", *arguments, "--batsim-scheduler", address)
        [two] = ductile.objects("simulate", *arguments, "--batsim-scheduler", address)
        assert server.poll() is None
    assert one["mean_wait_s"] == two["mean_wait_s"]


@pytest.mark.parametrize("policy,what", [
    ("portfolio", "portfolio cannot decide in Batsim"),
    ("sd", "sd cannot decide in Batsim: it lacks"),
    ("nothing", "there is no policy 'nothing'"),
])
def test_a_policy_that_cannot_serve(ductile, policy, what):
    done = ductile.run("policy-server", "--policy", policy, "--bind", "tcp://127.0.0.1:1")
    assert done.returncode == 2
    assert what in done.stderr


def test_a_server_that_hears_nonsense_says_so(ductile, tmp_path):
    with policy_server(ductile, tmp_path) as (address, server):
        socket = zmq.Context.instance().socket(zmq.REQ)
        socket.connect(address)
        socket.send(b"what?")
        _, said = server.communicate(timeout=30)
        socket.close(linger=0)
    assert server.returncode == 2
    assert f"ductile: {address}: " in said
