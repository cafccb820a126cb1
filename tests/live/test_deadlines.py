"""Orders to resize that nobody answers: by a program that never probes, or is suspended, or whose manager is."""

import os
import signal

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
        c.wait_for(lambda: c.queue()[waits]["reason"] != "Claim", "the end of the claim")
        row = c.queue()[victim]
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
