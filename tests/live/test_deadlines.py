"""Orders to resize that nobody answers: by a program that never probes, or is suspended, or whose manager is."""

import json
import os
import signal
import socket

import pytest
from conftest import example, processes_with


def processes_of(c, job, name):
    """Of the job, those that run this program."""
    found = []
    for pid in processes_with(f"DUCTILE_JOB_FOLDER={c.state}/jobs/{job}"):
        with open(f"/proc/{pid}/cmdline") as file:
            words = file.read().split("\0")
        if words[0].endswith(name):
            found.append(pid)
    return found


@pytest.mark.parametrize("silent", ("never probes", "program suspended", "manager suspended"))
def test_an_order_that_is_not_answered_is_withdrawn(cluster, silent):
    c = cluster("4x1", "equipartition:backfill=first", "--resize-deadline", 2)
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


def test_a_job_that_was_resized_while_nobody_looked_is_ordered_back(cluster):
    """As one does whose order was withdrawn, when the controller has gone meanwhile."""
    c = cluster("4x1")
    job = c.submit("-N", 3, "--min-nodes", 1, "--max-nodes", 3, "-t", 60, "--", example("until", "mpich"),
                   c.folder / "done", 100, 20000)
    c.wait_for_size(job, 3)
    folder = c.state / "jobs" / str(job)
    c.wait_for_text(folder / "report", "started")

    def ask(request):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(60)
            connection.connect(str(folder / "control"))
            connection.sendall(json.dumps(request).encode() + b"\n")
            return json.loads(connection.makefile().readline())

    c.kill()
    assert ask({"do": "resize", "size": 1, "id": 1})["size"] == 1
    c.start()
    c.wait_for(lambda: ask({"do": "status"})["size"] == 3, "its size")
    assert c.queue()[job]["nodes"] == 3
    assert "has 1 processes after all; it is ordered back to 3" in c.log.read_text()
    (c.folder / "done").touch()
    assert c.wait_for_end(job)[0]["state"] == "COMPLETED"
    c.replay()
