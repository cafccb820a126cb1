"""ductile simulate --elastisim-scheduler: schedulers made for ElastiSim decide in a simulation."""

import copy
import csv
import importlib.util
import json
import re
import signal
import subprocess
import sys

import pytest

from conftest import ROOT

zmq = pytest.importorskip("zmq", reason="python3-zmq is not installed: scripts/setup --dev")
from zmq_peer import peer  # noqa: E402, which needs it

ASKS, ANSWERS, ENDS = 0xFFEC4400, 0xFFEC4401, 0xFFEC44FF
PERIODIC, SUBMIT, COMPLETED, KILLED, POINT, REQUEST, RECONFIGURATION = range(7)
PENDING, RUNNING, TO_RECONFIGURE, RECONFIGURES, OVER, DEAD = 1, 4, 5, 6, 7, 8
FREE = 0


def study(folder, jobs, model, nodes=8, **more):
    """A study of these jobs, all of one application; its configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    for job in jobs:
        job.setdefault("application_model", "model.json")
        job.setdefault("submit_time", 0)
    configuration = {"jobs_file": "jobs.json", "platform_file": "platform.xml", "schedule_on_job_submit": True,
                     "schedule_on_job_finalize": True, "schedule_on_scheduling_point": True, **more}
    for name, content in {"configuration.json": configuration, "jobs.json": {"jobs": jobs}, "model.json": model}.items():
        (folder / name).write_text(json.dumps(content))
    (folder / "platform.xml").write_text(
        f"<platform><cluster id='c' radical='0-{nodes - 1}' speed='1Gf' bw='1GBps'/></platform>")
    return str(folder / "configuration.json")


def waits(delay, **more):
    return {"tasks": [{"type": "busy_wait", "delay": delay, "pattern": "uniform"}], **more}


def sized(kind, least, most, **more):
    return {"type": kind, "num_nodes_min": least, "num_nodes_max": most, **more}


class Scheduler:
    """What it has heard, and what it wants: `decide(self, message)` calls `assign` and `kill`."""

    def __init__(self, decide):
        self.decide = decide
        self.jobs, self.nodes, self.wanted, self.heard = {}, {}, {}, []

    def assign(self, job, nodes):
        self.wanted[job] = {"id": job, "assigned_node_ids": list(nodes),
                            "assigned_num_gpus_per_node": self.jobs[job]["assigned_num_gpus_per_node"],
                            "kill_flag": False, "modified_runtime_args": False}
        for node in nodes:
            self.nodes[node]["state"] = 1

    def kill(self, job):
        self.wanted[job] = {"id": job, "assigned_node_ids": [], "assigned_num_gpus_per_node": 0, "kill_flag": True,
                            "modified_runtime_args": False}

    def free(self):
        return [node for node, its in sorted(self.nodes.items()) if its["state"] == FREE]

    def waiting(self):
        return [job for job, its in sorted(self.jobs.items()) if its["state"] == PENDING]

    def __call__(self, message):
        self.heard.append(copy.deepcopy(message))  # what is told is changed below
        self.jobs.update((job["id"], job) for job in message["jobs"])
        self.nodes.update((node["id"], node) for node in message["nodes"])
        self.wanted = {}
        said = self.decide(self, message)
        return said if said is not None else {"code": ANSWERS, "jobs": list(self.wanted.values())}


def greedy(its, message):
    """First come, first served, as large as there are nodes; what comes to a point takes what is free."""
    if message["invocation_type"] == POINT:
        job = its.jobs[message["job_id"]]
        more = its.free()[:job["num_nodes_max"] - len(job["assigned_nodes"])]
        if more:
            its.assign(job["id"], job["assigned_nodes"] + more)
    elif message["invocation_type"] == REQUEST:
        job = its.jobs[message["job_id"]]
        has, wanted = job["assigned_nodes"], message["evolving_request"]
        if wanted < len(has):
            its.assign(job["id"], has[:wanted])
        elif wanted - len(has) <= len(its.free()):
            its.assign(job["id"], has + its.free()[:wanted - len(has)])
    else:
        for number in its.waiting():
            job, free = its.jobs[number], its.free()
            most = job.get("num_nodes", job.get("num_nodes_max"))
            least = job.get("num_nodes", job.get("num_nodes_min"))
            if len(free) < least:
                break
            its.assign(number, free[:most])


def scheduler(address, answers, dies_after=None):
    """Connects to that address, and answers so. An answer that is a text is sent as it is; "" is none."""
    asked = 0

    def say(message):
        nonlocal asked
        if message["code"] == ENDS or asked == dies_after:
            return [], True
        assert message["code"] == ASKS
        asked += 1
        said = answers(message)
        return [text for text in (said if isinstance(said, list) else [said]) if text != ""], False

    return peer(zmq.PAIR, lambda socket: socket.connect(address), say)


def run_with(ductile, tmp_path, configuration, decide, *arguments):
    """The files of a run; what the scheduler has heard."""
    address = f"ipc://{tmp_path}/meet"
    its = Scheduler(decide)
    with scheduler(address, its):
        ductile.output("simulate", "--elastisim", configuration, "--elastisim-scheduler", address, "--quiet", "--json",
                       "--out", tmp_path / "out", *arguments)
    return tmp_path / "out", its


def times(folder):
    with (folder / "jobs.csv").open() as file:
        return {int(row["job_id"]): (float(row["starting_time"]), float(row["finish_time"]))
                for row in csv.DictReader(file) if row["starting_time"]}


RIGID = [{"type": "rigid", "num_nodes": size, "submit_time": submit, "walltime": 100}
         for size, submit in [(3, 0), (6, 1), (4, 2), (8, 3), (1, 50)]]


def test_rigid_jobs_run_as_the_scheduler_says(ductile, tmp_path):
    folder, its = run_with(ductile, tmp_path, study(tmp_path / "s", RIGID, {"phases": [waits(10)]}), greedy)
    assert times(folder) == {0: (0, 10), 1: (10, 20), 2: (20, 30), 3: (30, 40), 4: (50, 60)}
    calls = [message["invocation_type"] for message in its.heard]
    assert calls.count(SUBMIT) == calls.count(COMPLETED) == 5
    first = its.heard[0]
    assert first["time"] == 0 and isinstance(first["time"], float) and first["job_id"] == 0
    assert [node["id"] for node in first["nodes"]] == list(range(8))
    assert first["jobs"] == [{"id": 0, "type": 0, "walltime": 100, "num_nodes": 3, "num_gpus_per_node": 0, "state": PENDING,
                              "submit_time": 0, "start_time": -1, "wait_time": -1, "end_time": -1, "makespan": -1,
                              "turnaround_time": -1, "assigned_nodes": [], "assigned_num_gpus_per_node": 0,
                              "total_phase_count": 1, "completed_phases": 0}]
    last = its.jobs[4]
    assert (last["state"], last["start_time"], last["end_time"], last["makespan"], last["completed_phases"]) == (OVER, 50, 60, 10, 1)
    assert {node["state"] for node in its.nodes.values()} == {FREE}


def test_arguments_and_attributes_are_told_as_texts(ductile, tmp_path):
    jobs = [{"type": "rigid", "num_nodes": 1, "arguments": {"a": 2, "b": 0.5, "c": "7"}, "attributes": {"owner": "me"}}]
    configuration = study(tmp_path / "s", jobs, {"phases": [waits("a")]})
    _, its = run_with(ductile, tmp_path, configuration, greedy)
    assert its.jobs[0]["arguments"] == {"a": "2", "b": "0.500000", "c": "7"}
    assert its.jobs[0]["attributes"] == {"owner": "me"}


def test_a_malleable_job_is_asked_about_at_each_point_but_the_first(ductile, tmp_path):
    jobs = [sized("malleable", 1, 8), {"type": "rigid", "num_nodes": 4, "submit_time": 0}]
    model = {"phases": [{"iterations": 4, "tasks": [{"type": "cpu", "flops": "8e9 / num_nodes", "computation_pattern": "uniform"}]}]}

    def decide(its, message):
        if message["invocation_type"] == SUBMIT:
            its.assign(message["job_id"], range(4) if message["job_id"] == 0 else range(4, 8))
        elif message["invocation_type"] == POINT:
            greedy(its, message)

    folder, its = run_with(ductile, tmp_path, study(tmp_path / "s", jobs, model), decide)
    # 8e9 flops of each of 4 nodes divided by 4: 2 s an iteration; the other one is as long as 4 of them.
    points = [message for message in its.heard if message["invocation_type"] == POINT]
    assert [(message["time"], message["job_id"]) for message in points][:3] == [(2, 0), (4, 0), (6, 0)]
    assert [job["completed_phases"] for message in points for job in message["jobs"] if job["id"] == 0][:3] == [1, 2, 3]
    assert times(folder)[0][0] == 0


def test_a_resize_at_a_point_frees_nodes_at_once_and_costs_then(ductile, tmp_path):
    jobs = [sized("malleable", 2, 8), {"type": "rigid", "num_nodes": 6, "submit_time": 1}]
    model = {"phases": [waits(10, iterations=2)], "on_reconfiguration": waits(3)}

    def decide(its, message):
        kind = message["invocation_type"]
        if kind == SUBMIT and message["job_id"] == 0:
            its.assign(0, range(8))
        elif kind == POINT and message["job_id"] == 0:
            its.assign(0, [6, 1])
        elif kind == PERIODIC and 1 in its.waiting() and len(its.free()) >= 6:
            its.assign(1, its.free())

    configuration = study(tmp_path / "s", jobs, model, scheduling_interval=11)
    folder, its = run_with(ductile, tmp_path, configuration, decide, "--record", tmp_path / "log")
    assert times(folder) == {0: (0, 23), 1: (11, 31)}
    states = [job["state"] for message in its.heard for job in message["jobs"] if job["id"] == 0]
    assert RECONFIGURES in states
    at_11 = [message for message in its.heard if message["time"] == 11]
    assert {node["id"] for message in at_11 for node in message["nodes"] if node["state"] == FREE} >= {0, 2, 3, 4, 5, 7}
    assert "are the same, folded" in ductile.output("replay", tmp_path / "log")


def test_a_decision_ahead_of_its_point_reserves_nodes_until_then(ductile, tmp_path):
    jobs = [sized("malleable", 2, 4), {"type": "rigid", "num_nodes": 1, "submit_time": 3}]
    model = {"phases": [waits(10, iterations=2)]}

    def decide(its, message):
        if message["invocation_type"] == SUBMIT and message["job_id"] == 0:
            its.assign(0, [0, 1])
        elif message["invocation_type"] == SUBMIT:
            its.assign(0, [0, 1, 2, 3])
            its.assign(1, [4])

    configuration = study(tmp_path / "s", jobs, model, schedule_on_scheduling_point=False, schedule_on_reconfiguration=True)
    _, its = run_with(ductile, tmp_path, configuration, decide)
    after = [message for message in its.heard if message["invocation_type"] == RECONFIGURATION]
    assert [(message["time"], message["job_id"]) for message in after] == [(10, 0)]
    told = {}
    for message in its.heard:
        for node in message["nodes"]:
            told.setdefault(node["id"], []).append(node["state"])
    assert told[2] == [0, 1, 0]  # as free, as allocated; reserved meanwhile, and nobody asked then
    assert its.jobs[0]["assigned_nodes"] == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", ["evolving", "adaptive"])
def test_requests_are_answered_with_any_nodes(ductile, tmp_path, kind):
    jobs = [sized(kind, 2, 8)]
    model = {"phases": [waits("10 / num_nodes", iterations=4, evolving_request="phase_iteration == 1 ? 6 : phase_iteration == 2 ? 3 : num_nodes")]}

    def decide(its, message):
        if message["invocation_type"] == SUBMIT:
            its.assign(0, [5, 4, 3, 2, 1])
        elif message["invocation_type"] == REQUEST and message["evolving_request"] == 6:
            its.assign(0, [5, 4, 3, 2, 1, 0, 7, 6])  # more than it asked for
        # the other one is denied

    folder, its = run_with(ductile, tmp_path, study(tmp_path / "s", jobs, model), decide)
    asked = [(message["time"], message["evolving_request"]) for message in its.heard if message["invocation_type"] == REQUEST]
    assert asked == [(2, 6), (3.25, 3)]
    assert POINT not in [message["invocation_type"] for message in its.heard]
    assert times(folder)[0] == (0, 2 + 3 * 1.25)


def test_jobs_are_killed_at_their_walltime_and_by_the_scheduler(ductile, tmp_path):
    jobs = [{"type": "rigid", "num_nodes": 2, "walltime": 5}, {"type": "rigid", "num_nodes": 2},
            {"type": "rigid", "num_nodes": 8, "submit_time": 4}]

    def decide(its, message):
        if message["invocation_type"] == SUBMIT and message["job_id"] < 2:
            its.assign(message["job_id"], [2 * message["job_id"], 2 * message["job_id"] + 1])
        elif message["invocation_type"] == KILLED:
            its.kill(1)
            its.kill(2)

    configuration = study(tmp_path / "s", jobs, {"phases": [waits(50)]}, job_kill_grace_period=2)
    folder, its = run_with(ductile, tmp_path, configuration, decide)
    rows = times(folder)
    assert rows == {0: (0, 7), 1: (0, 7)}  # the third one waited
    [killed] = [message for message in its.heard if message["invocation_type"] == KILLED]
    assert killed["job_id"] == 0 and killed["time"] == 7 and its.jobs[0]["state"] == DEAD


def test_periodic_questions_keep_their_distance(ductile, tmp_path):
    jobs = [{"type": "rigid", "num_nodes": 1, "submit_time": submit} for submit in (0, 1, 12)]
    configuration = study(tmp_path / "s", jobs, {"phases": [waits(7)]}, scheduling_interval=5, min_scheduling_interval=3,
                          schedule_on_job_submit=False, schedule_on_job_finalize=False)
    folder, its = run_with(ductile, tmp_path, configuration, greedy)
    assert {message["invocation_type"] for message in its.heard} == {PERIODIC}
    assert [message["time"] for message in its.heard][:3] == [0, 5, 10]
    assert times(folder) == {0: (0, 7), 1: (5, 12), 2: (15, 22)}


def test_links_of_the_file_system_are_told(ductile, tmp_path):
    configuration = study(tmp_path / "s", [{"type": "rigid", "num_nodes": 1}], {"phases": [waits(1)]},
                          forward_io_information=True, pfs_read_links=["r"], pfs_write_links=["w", "r"])
    (tmp_path / "s" / "platform.xml").write_text(
        "<platform><zone id='z' routing='Full'><cluster id='c' radical='0-7' speed='1Gf' bw='1GBps'/>"
        "<link id='r' bandwidth='3GBps' latency='0'/><link id='w' bandwidth='1GBps' latency='0'/></zone></platform>")
    _, its = run_with(ductile, tmp_path, configuration, greedy)
    assert (its.heard[0]["pfs_read_bw"], its.heard[0]["pfs_write_bw"]) == (3e9, 4e9)


def test_the_address_is_that_of_the_study(ductile, tmp_path):
    address = f"ipc://{tmp_path}/of-study"
    configuration = study(tmp_path / "s", RIGID[:1], {"phases": [waits(10)]}, zmq_url=address)
    with scheduler(address, Scheduler(greedy)):
        done = ductile.run("simulate", "--elastisim", configuration, "--elastisim-scheduler", "--json")
    assert done.returncode == 0, done.stderr
    assert "the scheduler was asked 2 times" in done.stderr


def test_the_scheduler_of_the_guide(ductile, tmp_path):
    [program] = re.findall(r"```python\n(.*?)```", (ROOT / "docs/guide/elastisim.md").read_text(), re.DOTALL)
    address = f"ipc://{tmp_path}/guide"
    configuration = study(tmp_path / "s", RIGID, {"phases": [waits(10)]}, zmq_url=address)
    guide = subprocess.Popen([sys.executable, "-c", program.replace("ipc:///tmp/elastisim.ipc", address)])
    try:
        ductile.output("simulate", "--elastisim", configuration, "--elastisim-scheduler", "--quiet", "--json", "--out", tmp_path / "out")
        assert guide.wait(timeout=60) == 0
    finally:
        guide.kill()
        guide.wait()
    assert times(tmp_path / "out") == {0: (0, 10), 1: (10, 20), 2: (20, 30), 3: (30, 40), 4: (50, 60)}


@pytest.mark.skipif(importlib.util.find_spec("elastisim_python") is None, reason="elastisim-python is not installed")
def test_a_scheduler_of_the_package_runs_unchanged(ductile, tmp_path):
    address = f"ipc://{tmp_path}/package"
    program = f"""
from elastisim_python import JobState, NodeState, pass_algorithm
def schedule(jobs, nodes, system):
    free = [node for node in nodes if node.state == NodeState.FREE]
    for job in jobs:
        if job.state == JobState.PENDING:
            if job.num_nodes > len(free):
                break
            job.assign(free[:job.num_nodes])
            del free[:job.num_nodes]
pass_algorithm(schedule, {address!r})
"""
    configuration = study(tmp_path / "s", RIGID, {"phases": [waits(10)]}, zmq_url=address)
    its = subprocess.Popen([sys.executable, "-c", program])
    try:
        ductile.output("simulate", "--elastisim", configuration, "--elastisim-scheduler", "--quiet", "--json", "--out", tmp_path / "out")
        assert its.wait(timeout=60) == 0
    finally:
        its.kill()
        its.wait()
    assert times(tmp_path / "out")[3] == (30, 40)


# ---- Schedulers that are wrong ------------------------------------------------------------------------


def order(job=0, nodes=(0, 1, 2), **more):
    return {"code": ANSWERS, "jobs": [{"id": job, "assigned_node_ids": list(nodes), "assigned_num_gpus_per_node": 0,
                                       "kill_flag": False, "modified_runtime_args": False, **more}]}


WRONG = {
    "no JSON": ("what?", "parse error"),
    "no object": ("[]", "/: is no object"),
    "another code": ({"code": ASKS, "jobs": []}, "/code: is not that of an answer"),
    "no list": ({"code": ANSWERS, "jobs": 7}, "/jobs: is no array"),
    "a job that did not come": (order(job=3), "/jobs/0/id: is no job that was submitted"),
    "a negative job": (order(job=-1), "/jobs/0/id: is no job that was submitted"),
    "a node that is not there": (order(nodes=[0, 1, 8]), "/jobs/0/assigned_node_ids/2: is no node of the machine"),
    "a node that is no number": (order(nodes=[0, 1, "2"]), "/jobs/0/assigned_node_ids/2: is no node"),
    "a node twice": (order(nodes=[0, 1, 1]), "/jobs/0/assigned_node_ids/2: names node 1 a second time"),
    "too few nodes": (order(nodes=[0]), "wants job 0 on 1 nodes, and it may have 3"),
    "runtime arguments": (order(modified_runtime_args=True), "runtime arguments cannot be changed"),
    "a job twice": ({"code": ANSWERS, "jobs": order()["jobs"] * 2}, "/jobs/1: names job 0 a second time"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_ends_the_run_with_whole_files(ductile, tmp_path, case):
    said, what = WRONG[case]
    address = f"ipc://{tmp_path}/meet"
    configuration = study(tmp_path / "s", RIGID, {"phases": [waits(10)]})
    with scheduler(address, lambda message: said):
        done = ductile.run("simulate", "--elastisim", configuration, "--elastisim-scheduler", address, "--out", tmp_path / "out", "--json")
    assert done.returncode == 2
    assert f"ductile: {address}" in done.stderr
    assert what in done.stderr
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["stopped"]
    assert not [path for path in (tmp_path / "out").rglob("*") if path.name.endswith(".tmp")]


LATER_WRONG = {
    "a node that another has": (lambda its, message: its.assign(message["job_id"], range(6)) if message["job_id"] == 1
                                else greedy(its, message), "wants job 1 on node 0, which is held by job 0"),
    "other nodes of a rigid job": (lambda its, message: its.assign(0, [5, 6, 7]) if message["job_id"] == 1
                                   else greedy(its, message), "wants job 0 on other nodes while it runs"),
    "a job that is over": (lambda its, message: its.kill(0) if message["invocation_type"] == COMPLETED
                           else greedy(its, message), "wants job 0 which is over"),
}


@pytest.mark.parametrize("case", LATER_WRONG)
def test_what_cannot_be_done_is_named(ductile, tmp_path, case):
    decide, what = LATER_WRONG[case]
    address = f"ipc://{tmp_path}/meet"
    configuration = study(tmp_path / "s", RIGID, {"phases": [waits(10)]})
    with scheduler(address, Scheduler(decide)):
        done = ductile.run("simulate", "--elastisim", configuration, "--elastisim-scheduler", address)
    assert done.returncode == 2
    assert what in done.stderr


@pytest.mark.parametrize("dies", [False, True])
def test_a_scheduler_that_hangs_or_dies(ductile, tmp_path, dies):
    address = f"ipc://{tmp_path}/meet"
    configuration = study(tmp_path / "s", RIGID, {"phases": [waits(10)]})
    with scheduler(address, lambda message: "", dies_after=0 if dies else None):
        done = ductile.run("simulate", "--elastisim", configuration, "--elastisim-scheduler", address,
                           *([] if dies else ["--elastisim-timeout", 1]), timeout=120)
    assert done.returncode == 2
    assert ("the scheduler is gone" if dies else "the scheduler has not answered within 1 s") in done.stderr


def test_who_speaks_without_being_asked(ductile, tmp_path):
    address = f"ipc://{tmp_path}/meet"
    configuration = study(tmp_path / "s", RIGID, {"phases": [waits(10)]})
    nothing = {"code": ANSWERS, "jobs": []}
    with scheduler(address, lambda message: [nothing] * 9):
        done = ductile.run("simulate", "--elastisim", configuration, "--elastisim-scheduler", address)
    assert done.returncode == 2
    assert "without being asked" in done.stderr


def test_a_second_scheduler_is_not_heard(ductile, tmp_path):
    address = f"ipc://{tmp_path}/meet"
    configuration = study(tmp_path / "s", RIGID, {"phases": [waits(10)]})
    others, context = [], zmq.Context()

    def decide(its, message):
        if not others:  # it comes while the first one decides
            others.append(context.socket(zmq.PAIR))
            others[0].setsockopt(zmq.IMMEDIATE, 1)
            others[0].connect(address)
            if others[0].poll(500, zmq.POLLOUT):
                others[0].send(b"nonsense", zmq.NOBLOCK)
        greedy(its, message)

    its = Scheduler(decide)
    with scheduler(address, its):
        done = ductile.run("simulate", "--elastisim", configuration, "--elastisim-scheduler", address, "--out", tmp_path / "out")
    for socket in others:
        socket.close(linger=0)
    context.term()
    assert done.returncode == 0, done.stderr
    assert times(tmp_path / "out")[3] == (30, 40)


def test_no_scheduler(ductile, tmp_path):
    address = f"ipc://{tmp_path}/meet"
    configuration = study(tmp_path / "s", RIGID, {"phases": [waits(10)]})
    done = ductile.run("simulate", "--elastisim", configuration, "--elastisim-scheduler", address, "--elastisim-timeout", 1.5)
    assert done.returncode == 2
    assert f"waiting for a scheduler at {address}" in done.stderr
    assert "no scheduler was there within 1.5 s" in done.stderr


def test_ctrl_c_while_it_waits(ductile, tmp_path):
    configuration = study(tmp_path / "s", RIGID, {"phases": [waits(10)]})
    run = ductile.start("simulate", "--elastisim", configuration, "--elastisim-scheduler", f"ipc://{tmp_path}/meet")
    for line in run.stderr:
        if "waiting for a scheduler" in line:
            break
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "stopped" in said


def test_a_file_that_is_no_socket_stays(ductile, tmp_path):
    configuration = study(tmp_path / "s", RIGID, {"phases": [waits(10)]})
    (tmp_path / "mine").write_text("mine")
    done = ductile.run("simulate", "--elastisim", configuration, "--elastisim-scheduler", f"ipc://{tmp_path}/mine")
    assert done.returncode == 2 and "there is a file that is no socket" in done.stderr
    assert (tmp_path / "mine").read_text() == "mine"


@pytest.mark.parametrize("arguments,what", [
    (["--elastisim-scheduler", "tcp://0.0.0.0:28000"], "others than this machine's could connect there"),
    (["--elastisim-scheduler", "tcp://*:28000"], "others than this machine's could connect there"),
    (["--elastisim-scheduler"], "the study has no zmq_url"),
    (["--elastisim-scheduler", "ipc:///x,y"], "is no address"),
    (["--elastisim-scheduler", "ipc://{}/x", "--seeds", "1..2"], "decides in one run"),
    (["--elastisim-scheduler", "ipc://{}/x", "--policy", "easy"], "excludes"),
    (["--elastisim-scheduler", "ipc://{}/x", "--apply-at", "immediate"], "resizes between scheduling points"),
    (["--elastisim-scheduler", "ipc://{}/x", "--resize-delay", "5"], "resizes that are late"),
    (["--elastisim-scheduler", "ipc://{}/x", "--malleable", "1"], "the jobs are not those of the study"),
    (["--elastisim-timeout", "3"], "requires"),
])
def test_calls_that_are_wrong(ductile, tmp_path, arguments, what):
    configuration = study(tmp_path / "s", RIGID, {"phases": [waits(10)]})
    arguments = [each.format(tmp_path) for each in arguments]
    done = ductile.run("simulate", "--elastisim", configuration, *arguments)
    assert done.returncode == 2
    assert what in done.stderr, done.stderr


def test_studies_that_never_ask_are_refused(ductile, tmp_path):
    configuration = study(tmp_path / "s", RIGID, {"phases": [waits(10)]}, schedule_on_job_submit=False)
    done = ductile.run("simulate", "--elastisim", configuration, "--elastisim-scheduler", f"ipc://{tmp_path}/x")
    assert done.returncode == 2
    assert "nothing lets the scheduler be asked" in done.stderr


def test_other_jobs_need_a_study(ductile, tmp_path):
    done = ductile.run("simulate", "--generate", "poisson:jobs=5,nodes=8", "--policy", f"elastisim-scheduler:endpoint=ipc://{tmp_path}/x")
    assert done.returncode == 2
    assert "there is no study of ElastiSim" in done.stderr
