"""The same folder with another machine: more nodes, fewer, other ones."""

import json

from conftest import PATIENCE, example


def nodes(c):
    return c.ask({"do": "nodes"})["nodes"]


def states(c):
    return [row["state"] for row in nodes(c)]


def serve_again(c, local):
    """Another controller takes it up, with so many nodes."""
    c.kill()
    c.arguments[c.arguments.index("--local") + 1] = local
    c.start()


def test_a_machine_grows_and_shrinks(cluster):
    c = cluster("4x1")
    go = c.folder / "go"
    until = f"until [ -e {go} ]; do sleep 0.02; done"
    first = c.submit("-N", 4, c.script(until, "first.sh"))
    waits = c.submit("-N", 2, c.script("exec sleep 1000", "second.sh"))
    c.wait_for_size(first, 4)
    six = c.script("touch six", "six.sh")
    assert "6 are more than the 4 there are" in c.run("submit", "-N", 6, six, code=2).stderr

    serve_again(c, "8x1")
    c.wait_for_size(waits, 2)
    assert c.queue()[first]["nodelist"] == "0-3" and c.queue()[waits]["nodelist"] == "4-5"
    again = c.submit("--requeue", "-N", 1, c.script("exec sleep 1000", "again.sh"))
    c.wait_for_size(again, 1)
    large = c.submit("-N", 6, six)
    assert states(c) == ["ALLOCATED"] * 7 + ["IDLE"]
    assert len(c.run("nodes").stdout.splitlines()) == 9
    assert "the machine is now of 8 nodes with 1 core" in c.run("explain", waits).stdout

    # What is on nodes that are gone ends, what needs them is held.
    serve_again(c, "4x1")
    assert c.wait_for_end(waits)[0]["state"] == "NODE_FAIL"
    c.wait_for(lambda: c.queue()[again]["state"] == "PENDING", "its waiting again")
    assert states(c) == ["ALLOCATED"] * 4 + ["DOWN"] * 4
    assert [row["reason"] for row in nodes(c)] == [None] * 4 + ["the cluster no longer has it"] * 4
    held = c.queue()[large]
    assert held["reason"] == "BadConstraints" and "6 are more than the 4 there are" in held["note"]
    assert "6 are more than the 4 there are" in c.run("queue").stdout
    assert "6 are more than the 4 there are" in c.run("submit", "-N", 6, six, code=2).stderr
    assert "no longer has nodes 4-7" in c.run("drain", "--undo", "4-7").stdout
    go.touch()
    c.wait_for_end(first)
    assert c.wait_for_size(again, 1)["nodelist"] in "0123"

    # The same again, after a crash and in order.
    serve_again(c, "4x1")
    assert c.queue()[large]["reason"] == "BadConstraints" and states(c)[4:] == ["DOWN"] * 4
    c.stop()
    serve_again(c, "8x1")
    c.wait_for_end(large)
    assert (c.folder / "six").exists() and c.history(large)["state"] == "COMPLETED"
    assert states(c).count("IDLE") == 7
    told = json.loads(c.run("replay", c.state / "journal.db", "--json").stdout)
    assert told["events"] > 0
    c.run("cancel", again)
    c.wait_for_end(again)
    c.stop()
    assert "all is sound" in c.run("check", "--state", c.state).stdout


def has_manager(c, job):
    try:
        return c.manager_of(job) > 0
    except AssertionError:
        return False


def test_nodes_with_other_cores(cluster):
    """Not while a job runs: its processors would be those of other nodes."""
    c = cluster("2x2")
    job = c.submit("-N", 2, "--min-nodes", 1, "--", example("until", "mpich"), c.folder / "done", 100)
    c.wait_for_size(job, 2)
    c.kill()
    for local in ("4x1", "2x1", "1x4"):
        c.arguments[c.arguments.index("--local") + 1] = local
        c.launch()
        assert c.server.wait(timeout=PATIENCE) == 2
        said = (f"job {job} (process {c.manager_of(job)}) runs on nodes with 2 cores, and they are to have "
                f"{local[-1]} now; serve nodes with 2 cores")
        assert said in c.log.read_text()

    # There may be more of them.
    serve_again(c, "3x2")
    assert c.queue()[job]["nodes"] == 2 and states(c).count("IDLE") == 1
    c.run("resize", job, 1)
    c.wait_for_size(job, 1)
    assert '"size":2' in c.manager(job)
    c.run("resize", job, 2)
    c.wait_for_size(job, 2)
    assert '"size":4' in c.manager(job)
    waits = c.submit("-N", 3, "-c", 2, c.script("touch ran", "waits.sh"))

    # It ends while nobody looks.
    c.kill()
    (c.folder / "done").touch()
    c.wait_for(lambda: not has_manager(c, job), "its end")
    serve_again(c, "3x1")
    assert c.wait_for_end(job)[0]["state"] == "COMPLETED"
    assert c.queue()[waits]["reason"] == "BadConstraints"
    assert "2 cores are more than the 1 of a node" in c.queue()[waits]["note"]
    serve_again(c, "3x2")
    assert c.wait_for_end(waits)[0]["state"] == "COMPLETED"
    assert (c.folder / "ran").exists()
