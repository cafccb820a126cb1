"""Jobs that leave nodes for others, at the same size: off nodes that drain, and by order."""

import pytest
from conftest import example


def start(c, mpi, nodes):
    job = c.submit("-N", nodes, "--min-nodes", nodes, "--max-nodes", nodes, "--type", "malleable", "--",
                   example("until", mpi), c.folder / "done", 100)
    c.wait_for_size(job, nodes)
    return job


def wait_for_nodes(c, job, nodes):
    return c.wait_for(lambda: (row := c.queue()[job])["nodelist"] == nodes and row, f"its moving to {nodes}")


@pytest.mark.parametrize("mpi", ("mpich", "openmpi"))
def test_a_job_leaves_nodes_at_its_smallest_size(cluster, mpi):
    c = cluster("5x1", "easy")
    job = start(c, mpi, 2)
    c.run("drain", "0")
    wait_for_nodes(c, job, "1-2")
    said = c.run("explain", job).stdout
    assert "moves to 2 nodes (1 2) to leave nodes that drain" in said or "moves to 2 nodes (1-2)" in said, said
    c.run("drain", "--undo", "0")
    # By order it leaves all that it has, or only what is said.
    c.run("migrate", job)
    wait_for_nodes(c, job, "0 3")
    c.run("migrate", "--off", "3,4", job)
    wait_for_nodes(c, job, "0-1")
    assert "it is ordered to leave 2 nodes" in c.run("explain", job).stdout
    c.finishes_right(job)
    c.replay()


def test_an_order_waits_for_nodes_and_outlives_the_controller(cluster):
    c = cluster("4x1", "easy")
    job = start(c, "mpich", 2)
    other = c.submit("-N", 1, "/bin/sleep", 1000)
    c.wait_for_size(other, 1)
    c.run("migrate", job)  # one node is idle, and it needs two
    c.kill()
    c.start()
    assert c.queue()[job]["nodelist"] == "0-1"
    c.run("cancel", other)
    wait_for_nodes(c, job, "2-3")
    # What it has left is there for others.
    third = c.submit("-N", 2, "/bin/sleep", 0)
    assert c.wait_for_end(third)[0]["state"] == "COMPLETED"
    # One that is lifted before there were nodes does nothing.
    other = c.submit("-N", 1, "/bin/sleep", 1000)
    c.wait_for_size(other, 1)
    c.run("migrate", job)
    c.run("migrate", "--undo", job)
    c.run("cancel", other)
    c.wait_for_end(other)
    assert c.queue()[job]["nodelist"] == "2-3"
    c.finishes_right(job)
    c.replay()


def test_what_cannot_move_is_told(cluster):
    c = cluster("4x1", "easy")
    rigid = c.submit("-N", 1, "/bin/sleep", 1000)
    c.wait_for_size(rigid, 1)
    waits = c.submit("-N", 4, "/bin/sleep", 1000)
    assert f"job {rigid} is rigid, and stays where it is" in c.run("migrate", rigid, code=1).stderr
    assert f"job {waits} does not run" in c.run("migrate", waits, code=1).stderr
    assert "there are 0 to 3" in c.run("migrate", "--off", "4", rigid, code=2).stderr
    assert "there is no job 9" in c.run("migrate", 9, code=2).stderr
    c.run("cancel", waits)
    job = start(c, "mpich", 1)
    assert f"job {job} has none of these nodes" in c.run("migrate", "--off", "0", job, code=1).stderr
    c.run("cancel", rigid, job)
    c.wait_for_end(rigid, job)
