"""Jobs that leave their nodes with what they did kept, and go on at another size."""

import os
import signal
import subprocess

import pytest
from conftest import example


def start(c, mpi, nodes, least=1, most=4, program="until", *more):
    words = [example(program, mpi), *more] if more else [example(program, mpi), c.folder / "done", 100]
    job = c.submit("-N", nodes, "--min-nodes", least, "--max-nodes", most, "--type", "malleable", "--", *words)
    c.wait_for_size(job, nodes)
    return job


def wait_for_state(c, job, state):
    return c.wait_for(lambda: (row := c.queue()[job])["state"] == state and row, f"its being {state}")


def kept(c, job):
    return os.path.exists(c.state / "jobs" / f"kept-{job}")


@pytest.mark.parametrize("mpi", ("mpich", "openmpi"))
def test_a_job_goes_on_where_it_was_at_another_size(cluster, mpi):
    c = cluster("4x1", "easy")
    job = start(c, mpi, 3)
    c.run("suspend", job)
    row = wait_for_state(c, job, "SUSPENDED")
    assert row["nodelist"] == "" and row["reason"] == "JobHeldUser" and row["restarts"] == 0
    assert kept(c, job)
    # Its nodes are others'.
    other = c.submit("-N", 4, "/bin/sleep", 1000)
    c.wait_for_size(other, 4)
    c.run("cancel", other)
    c.wait_for_end(other)
    assert c.queue()[job]["state"] == "SUSPENDED"
    blocks = c.submit("-N", 2, "/bin/sleep", 1000)
    c.wait_for_size(blocks, 2)
    c.run("update", job, "-N", "2", "--min-nodes", "1", "--max-nodes", "4")
    c.run("resume", job)
    c.wait_for_size(job, 2)
    said = c.run("explain", job).stdout
    assert "it is ordered to stop: suspend" in said and "what it did is kept" in said, said
    # And once more.
    c.run("suspend", job)
    wait_for_state(c, job, "SUSPENDED")
    c.run("resume", job)
    c.wait_for_size(job, 2)
    (c.folder / "done").touch()
    assert c.wait_for_end(job)[0]["state"] == "COMPLETED"
    assert c.output(job) == "right\n"
    assert not kept(c, job)
    c.replay()


def test_a_suspended_job_outlives_the_controller(cluster):
    c = cluster("4x1", "easy")
    job = start(c, "mpich", 2)
    c.run("suspend", job)
    c.kill()
    c.start()
    wait_for_state(c, job, "SUSPENDED")
    c.kill()
    c.start()
    assert c.queue()[job]["state"] == "SUSPENDED" and kept(c, job)
    c.run("resume", job)
    c.wait_for_size(job, 2)
    c.kill()
    c.start()
    (c.folder / "done").touch()
    assert c.wait_for_end(job)[0]["state"] == "COMPLETED"
    assert c.output(job) == "right\n"
    assert not kept(c, job)


def test_a_process_that_hangs_after_it_has_left_keeps_no_nodes(cluster):
    """Beside a resize it might go on; here its nodes are to be others'."""
    c = cluster("4x1", "easy")
    program = c.script("export DUCTILE_FAULT=1:old/1:after:leaving:hang\n"
                       f"exec {example('until', 'mpich')} \"$@\"\n")
    job = c.submit("--mpi", "mpich", "-N", 2, "--min-nodes", 1, "--max-nodes", 4, "--type", "malleable", "--", program,
                   c.folder / "done", 100)
    c.wait_for_size(job, 2)
    c.run("suspend", job)
    wait_for_state(c, job, "SUSPENDED")
    assert "has not answered" not in c.log.read_text()
    program.write_text(program.read_text().replace("export", "# export"))
    c.run("resume", job)
    c.wait_for_size(job, 2)
    c.finishes_right(job, told_before=True)
    c.replay()


def test_what_cannot_be_suspended_is_refused_with_the_reason(cluster):
    c = cluster("4x1", "easy")
    rigid = c.submit("-N", 1, "/bin/sleep", 1000)
    c.wait_for_size(rigid, 1)
    waits = c.submit("-N", 4, "/bin/sleep", 1000)
    assert f"job {rigid} cannot be suspended: it is rigid" in c.run("suspend", rigid, code=1).stderr
    assert f"job {waits} waits already" in c.run("suspend", waits, code=1).stderr
    assert f"job {rigid} is not suspended" in c.run("resume", rigid, code=1).stderr
    assert f"job {waits} is not suspended by an order" in c.run("resume", waits, code=1).stderr


def test_a_job_that_loses_its_node_before_it_is_suspended_is_resumed(cluster):
    """It has begun anew, but is held as its user wanted it."""
    c = cluster("4x1", "easy")
    words = ("-N", 2, "--min-nodes", 1, "--max-nodes", 2, "--type", "malleable", "--requeue", "--",
             example("until", "mpich"), c.folder / "done", 100)
    job = c.submit(*words)
    c.wait_for_size(job, 2)
    for pid in c.program_of(job):  # it does not answer
        os.kill(pid, signal.SIGSTOP)
    c.run("suspend", job)
    c.run("drain", "--down", "0")
    row = c.wait_for(lambda: (row := c.queue()[job])["state"] == "PENDING" and row, "its waiting")
    assert row["reason"] == "JobHeldUser"
    c.run("drain", "--undo", "0")
    held = c.submit("--hold", "/bin/true")
    said = c.run("resume", held, code=1).stderr
    assert f"job {held} is not suspended but held; `ductile release {held}` lets it go" in said, said
    c.run("resume", job)
    c.wait_for_size(job, 2)
    (c.folder / "done").touch()
    assert c.wait_for_end(job)[0]["state"] == "COMPLETED"
    c.run("cancel", held)
    c.replay()


def test_a_suspended_job_can_be_cancelled_and_an_order_lifted(cluster):
    c = cluster("4x1", "easy")
    job, other = start(c, "mpich", 2, 2, 2), start(c, "mpich", 2, 2, 2)
    c.run("suspend", job)
    wait_for_state(c, job, "SUSPENDED")
    c.run("cancel", job)
    assert c.wait_for_end(job)[0]["state"] == "CANCELLED"
    assert not kept(c, job)
    # One that stands still is suspended when it goes on; until then the order can be lifted.
    c.run("requeue", other)
    c.wait_for(lambda: c.queue()[other]["restarts"] == 1, "its beginning anew")
    c.wait_for_size(other, 2)
    (c.folder / "done").touch()
    assert c.wait_for_end(other)[0]["state"] == "COMPLETED"
    assert c.output(other) == "right\n"
