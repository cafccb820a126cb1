"""A malleable job that is a script: each `ductile run` in it is a step on the job's present nodes."""

import os
import signal
import time

import pytest

from conftest import PROGRAM, example

MPIS = ["mpich", "openmpi"]


def steps_of(c, mpi):
    """Two steps, each until a file is there; they say of how many processes they are at their end."""
    until = example("until", mpi)
    run = f"{PROGRAM} run --report {c.folder}"
    return c.script(f"echo begin\n{run}/one {until} {c.folder}/first 1000 || exit 4\ntouch {c.folder}/between\n"
                    f"until [ -e {c.folder}/on ]; do sleep 0.05; done\n"
                    f"{run}/two {until} {c.folder}/second 1000 || exit 5\necho end\n")


@pytest.mark.parametrize("mpi", MPIS)
def test_steps_have_the_present_nodes_and_are_resized(cluster, mpi):
    c = cluster("4x1", "fcfs")
    job = c.submit("-N", 2, "--min-nodes", 1, "--max-nodes", 4, steps_of(c, mpi))
    c.wait_for_size(job, 2)
    c.wait_for_text(c.folder / "one", '"event":"started","size":2')
    c.run("resize", job, 3)
    c.wait_for_size(job, 3)
    c.wait_for_text(c.folder / "one", '"from":2,"to":3,"size":3')
    (c.folder / "first").touch()
    c.wait_for_text(c.folder / "between", "")
    c.run("resize", job, 4)  # nobody has the nodes
    c.wait_for_size(job, 4)
    (c.folder / "on").touch()
    c.wait_for_text(c.folder / "two", '"event":"started","size":4')
    c.run("resize", job, 1)
    c.wait_for_size(job, 1)
    c.wait_for_text(c.folder / "two", '"from":4,"to":1,"size":1')
    (c.folder / "second").touch()
    end = c.wait_for_end(job)[0]
    assert (end["state"], end["exit_code"]) == ("COMPLETED", 0), c.output(job)
    assert [size["nodes"] for size in end["sizes"]][-2:] == [1, 0]
    text = c.output(job)
    assert text.startswith("begin\n") and text.endswith("end\n")
    c.replay()


def test_two_steps_at_a_time_are_refused(cluster):
    c = cluster("2x1", "fcfs")
    until = example("until", "mpich")
    job = c.submit("-N", 1, "--max-nodes", 2, c.script(
        f"{PROGRAM} run {until} {c.folder}/first 1000 &\nuntil [ -e {c.folder}/on ]; do sleep 0.05; done\n"
        f"{PROGRAM} run {until} {c.folder}/first 1000 && exit 9\ntouch {c.folder}/first\nwait\n"))
    c.wait_for_size(job, 1)
    c.run("resize", job, 2)
    c.wait_for_size(job, 2)  # the first one runs
    (c.folder / "on").touch()
    end = c.wait_for_end(job)[0]
    assert end["state"] == "COMPLETED"
    assert "another step of this job runs" in c.output(job)


def test_a_step_comes_before_the_end_of_the_last_was_heard(cluster):
    """The manager of the script hears of both at once."""
    c = cluster("2x1", "fcfs")
    until = f"{PROGRAM} run --report {c.folder}/steps {example('until', 'mpich')}"
    job = c.submit("-N", 1, "--max-nodes", 2, c.script(
        f"{until} {c.folder}/first 1000 && touch {c.folder}/between && {until} {c.folder}/first 1000 || exit 5\n"))
    c.wait_for_text(c.folder / "steps", '"event":"started"')
    c.run("resize", job, 2)
    c.wait_for_text(c.folder / "steps", '"from":1,"to":2')
    c.wait_for_size(job, 2)
    manager = c.manager_of(job)
    os.kill(manager, signal.SIGSTOP)
    (c.folder / "first").touch()
    c.wait_for_text(c.folder / "between", "")
    time.sleep(1)  # the next one has come, and waits for its answer
    os.kill(manager, signal.SIGCONT)
    assert c.wait_for_end(job)[0]["state"] == "COMPLETED", c.output(job)


def test_a_script_outlives_the_controller_and_is_ended_whole(cluster):
    c = cluster("2x1", "fcfs")
    job = c.submit("-N", 1, "--max-nodes", 2, steps_of(c, "mpich"))
    c.wait_for_size(job, 1)
    c.run("resize", job, 2)
    c.kill()
    c.start()
    c.wait_for_size(job, 2)
    c.run("cancel", job)
    assert c.wait_for_end(job)[0]["state"] == "CANCELLED"
    assert "end" not in c.output(job)


def test_what_cannot_be_a_script_with_steps(cluster):
    c = cluster("2x1")
    for words in (["--type", "malleable", "--mpi", "none", "/bin/true"], ["--type", "evolving", c.script("true\n")]):
        assert "is a program of an MPI" in c.run("submit", *words, code=2).stderr
