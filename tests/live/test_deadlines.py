"""Orders to resize that nobody answers: by a program that never probes, or is suspended, or whose manager is."""

import contextlib
import json
import os
import signal
import socket
import time

import pytest
from conftest import PATIENCE, example, limit, processes_with


def processes_of(c, job, name):
    """Of the job, those that run this program."""
    found = []
    for pid in processes_with(f"DUCTILE_JOB_FOLDER={c.state}/jobs/{job}"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline") as file:  # it may end meanwhile
            if file.read().split("\0")[0].endswith(name):
                found.append(pid)
    return found


@pytest.mark.parametrize("silent", ("never probes", "program suspended", "manager suspended"))
def test_an_order_that_is_not_answered_is_withdrawn(cluster, silent):
    c = cluster("4x1", "equipartition:backfill=first", "--resize-deadline", limit(2))
    name = "mute" if silent == "never probes" else "until"
    victim = c.submit("-N", 3, "--min-nodes", 1, "--max-nodes", 3, "-t", 60, "--", example(name, "mpich"),
                      c.folder / "done", 100, 20000)
    c.wait_for_size(victim, 3)
    c.wait_for_text(c.state / "jobs" / str(victim) / "report", "started")
    program = c.wait_for(lambda: processes_of(c, victim, f"{name}-mpich"), "the program")
    suspended = {"program suspended": program, "manager suspended": [c.manager_of(victim)]}.get(silent, [])
    for pid in suspended:
        os.kill(pid, signal.SIGSTOP)
    try:
        # It needs a node of the victim's, and holds the idle one until it has it.
        waits = c.submit("-N", 2, "-t", 60, "/bin/sleep", 0)
        c.wait_for(lambda: c.queue()[waits]["reason"] == "Claim", "the claim")
        # Soon it is asked once more.
        row = c.wait_for(lambda: (queue := c.queue())[waits]["reason"] != "Claim" and queue[victim], "the end of the claim")
        assert (row["state"], row["nodes"], row["reason"]) == ("RUNNING", 3, "ResizeUnanswered")
        assert "has not answered an order to resize" in c.log.read_text()
        # Others go on.
        other = c.submit("-N", 1, "-t", 1, "/bin/sleep", 0)
        assert c.wait_for_end(other)[0]["state"] == "COMPLETED"
    finally:
        for pid in suspended:
            os.kill(pid, signal.SIGCONT)
    if silent != "never probes":
        # It gives now what it is asked for.
        assert c.wait_for_end(waits)[0]["state"] == "COMPLETED"
        (c.folder / "done").touch()
        assert c.wait_for_end(victim)[0]["state"] == "COMPLETED"
        assert c.output(victim) == "right\n"
    c.replay()


def ask_manager(c, job, request):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(str(c.state / "jobs" / str(job) / "control"))
        connection.sendall(json.dumps(request).encode() + b"\n")
        return json.loads(connection.makefile().readline())


def test_a_job_that_was_resized_while_nobody_looked_is_ordered_back(cluster):
    """As one does whose order was withdrawn, when the controller has gone meanwhile."""
    c = cluster("4x1")
    job = c.submit("-N", 3, "--min-nodes", 1, "--max-nodes", 3, "-t", 60, "--", example("until", "mpich"),
                   c.folder / "done", 100, 20000)
    c.wait_for_size(job, 3)
    folder = c.state / "jobs" / str(job)
    c.wait_for_text(folder / "report", "started")

    c.kill()
    assert ask_manager(c, job, {"do": "resize", "size": 1, "id": 1})["size"] == 1
    c.start()
    c.wait_for(lambda: ask_manager(c, job, {"do": "status"})["size"] == 3, "its size")
    assert c.queue()[job]["nodes"] == 3
    assert "has 1 processes after all; it is ordered back to 3" in c.log.read_text()
    (c.folder / "done").touch()
    assert c.wait_for_end(job)[0]["state"] == "COMPLETED"
    c.replay()


def test_a_job_that_is_ordered_back_keeps_to_the_cores_of_its_nodes(cluster):
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("one core")
    c = cluster("2x1")
    job = c.submit("-N", 2, "--min-nodes", 1, "--max-nodes", 2, "-t", 60, "--", example("until", "mpich"),
                   c.folder / "done", 100, 20000)
    c.wait_for_size(job, 2)
    c.wait_for_text(c.state / "jobs" / str(job) / "report", "started")
    c.kill()
    assert ask_manager(c, job, {"do": "resize", "size": 1, "cpus": str(cores[0])})["size"] == 1
    c.start()

    def cores_of_all():
        its = processes_of(c, job, "until-mpich")
        with contextlib.suppress(ProcessLookupError):
            return len(its) == 2 and sorted(set().union(*map(os.sched_getaffinity, its)))

    c.wait_for(lambda: ask_manager(c, job, {"do": "status"})["size"] == 2, "its size")
    assert c.wait_for(cores_of_all, "both processes") == cores[:2]
    (c.folder / "done").touch()
    assert c.wait_for_end(job)[0]["state"] == "COMPLETED"


def test_a_job_that_moved_while_nobody_looked_is_ordered_back(cluster):
    """As one does whose move was withdrawn: its size tells nothing."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("one core")
    c = cluster("2x1")
    job = c.submit("-N", 1, "--min-nodes", 1, "--max-nodes", 1, "--type", "malleable", "-t", 60, "--",
                   example("until", "mpich"), c.folder / "done", 100, 20000)
    own = cores[int(c.wait_for_size(job, 1)["nodelist"])]
    other = next(core for core in cores[:2] if core != own)
    c.wait_for_text(c.state / "jobs" / str(job) / "report", "started")
    assert ask_manager(c, job, {"do": "status"})["cpus"] == str(own)
    c.kill()
    told = ask_manager(c, job, {"do": "resize", "size": 1, "move": True, "cpus": str(other)})
    assert told["ok"] and told["cpus"] == str(other)
    c.start()
    c.wait_for(lambda: ask_manager(c, job, {"do": "status"})["cpus"] == str(own), "its nodes")
    assert "has 1 processes elsewhere after all; it is ordered back to its nodes" in c.log.read_text()
    assert c.queue()[job]["nodelist"] == str(cores.index(own))
    c.finishes_right(job)
    c.replay()


def test_a_job_that_cannot_be_ordered_back_is_left_alone_for_a_while(cluster):
    c = cluster("4x1")
    fails = c.folder / "fails"
    program = c.script(f"[ -e {fails} ] && exit 1\nexec {example('until', 'mpich')} \"$@\"\n")
    job = c.submit("--mpi", "mpich", "-N", 3, "--min-nodes", 1, "--max-nodes", 3, "-t", 60, "--", program,
                   c.folder / "done", 100, 20000)
    c.wait_for_size(job, 3)
    c.wait_for_text(c.state / "jobs" / str(job) / "report", "started")
    c.kill()
    assert ask_manager(c, job, {"do": "resize", "size": 1})["size"] == 1
    fails.touch()
    retry = 3  # s; longer than it takes to fail
    c.arguments[c.arguments.index("--retry") + 1] = str(retry)
    c.start()

    def tries():
        return c.log.read_text().count("it is ordered back to 3")

    c.wait_for(tries, "the first order")
    begin = time.monotonic()
    c.wait_for(lambda: tries() >= 3, "the third one")
    assert time.monotonic() - begin > 1.5 * retry
    fails.unlink()
    c.wait_for(lambda: ask_manager(c, job, {"do": "status"})["size"] == 3, "its size")
    (c.folder / "done").touch()
    assert c.wait_for_end(job)[0]["state"] == "COMPLETED"
    c.replay()
