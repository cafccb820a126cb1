"""Jobs that run and of which the journal does not know: it was lost, or an older copy was put back."""

import contextlib
import os
import re
import shutil
import signal
import sqlite3
import time

import pytest

from conftest import processes_with


def nodes(c):
    return c.ask({"do": "nodes"})["nodes"]


def states(c):
    return [row["state"] for row in nodes(c)]


def lose_journal(c):
    """As whoever begins anew, and forgets the jobs."""
    for path in c.state.glob("journal*"):
        path.unlink()
    for path in c.state.glob("snapshot-*"):
        path.unlink()


def copy_of_journal(c):
    """Of a controller at work."""
    copy = c.folder / "copy.db"
    with contextlib.closing(sqlite3.connect(c.state / "journal.db")) as journal:
        with contextlib.closing(sqlite3.connect(copy)) as to:
            journal.backup(to)
    return copy


def put_back(c, copy):
    for path in c.state.glob("journal*"):
        path.unlink()
    shutil.copy(copy, c.state / "journal.db")


@pytest.mark.parametrize("is_empty", [False, True])
def test_a_new_journal_leaves_the_jobs_of_the_lost_one_alone(cluster, is_empty):
    c = cluster("3x1")
    go = c.folder / "go"
    first = c.submit(c.script(f"until [ -e {go} ]; do sleep 0.02; done; touch {c.folder}/ended", "first.sh"))
    second = c.submit(c.script("exec sleep 1000", "second.sh"))
    for job in (first, second):
        c.wait_for_size(job, 1)
    held = [row["node"] for row in nodes(c) if row["job"] == first]
    managers = {job: c.manager_of(job) for job in (first, second)}
    c.kill()
    lose_journal(c)
    if is_empty:
        (c.state / "journal.db").touch()
    c.start()
    assert "of which this journal does not know" in c.log.read_text()
    rows = nodes(c)
    assert [row["state"] for row in rows] == ["STRANGER", "STRANGER", "IDLE"] and not c.queue()
    for row, (job, manager) in zip(rows, managers.items()):
        assert re.fullmatch(rf"job {job} of the journal [0-9a-f]{{8}}, process {manager}", row["stranger"]), row
        assert row["reason"] == row["stranger"] and row["job"] is None
    assert f"process {managers[first]}" in c.run("nodes").stdout

    # No number of a stranger is given again: its files have names with it.
    mine = c.submit(c.script(f"until [ -e {c.folder}/mine ]; do sleep 0.02; done; exit 3", "mine.sh"))
    assert mine == second + 1
    c.wait_for_size(mine, 1)
    c.kill()
    c.start()
    assert c.queue()[mine]["state"] == "RUNNING" and states(c) == ["STRANGER", "STRANGER", "ALLOCATED"]
    (c.folder / "mine").touch()
    assert c.wait_for_end(mine)[0]["exit_code"] == 3
    waits = c.submit("-N", "2", c.script("echo waits", "waits.sh"))
    assert waits == mine + 1
    for _ in range(2):
        c.kill()
        c.start()
        assert states(c) == ["STRANGER", "STRANGER", "IDLE"]
        assert c.queue()[waits]["state"] == "PENDING"
        assert all(os.path.exists(f"/proc/{manager}") for manager in managers.values())
    said = c.run("drain", held[0]).stdout + c.run("drain", "--undo", held[0]).stdout
    assert f"not all of them are used again: on node {held[0]} is job {first} of the journal " in said
    assert states(c) == ["STRANGER", "STRANGER", "IDLE"]

    # It ends by itself, and its node comes back; what was drained meanwhile stays drained.
    go.touch()
    assert c.wait_for_end(waits)[0]["state"] == "COMPLETED"
    assert (c.folder / "ended").exists() and states(c).count("STRANGER") == 1
    other = states(c).index("STRANGER")
    c.run("drain", "--reason", "a fan", other)
    assert nodes(c)[other]["reason"].endswith("; a fan")
    os.kill(managers[second], signal.SIGTERM)
    c.wait_for(lambda: states(c)[other] == "DRAINED", "the end of the stranger")
    assert nodes(c)[other]["reason"] == "a fan"
    assert c.run("drain", "--undo", other).stdout == ""
    assert states(c) == ["IDLE"] * 3
    assert os.listdir(c.state / "jobs") == []
    c.replay()


def test_what_a_stranger_leaves_is_gone_before_its_node_comes_back(cluster):
    """Its manager is killed, and its processes would go on."""
    c = cluster("1x1")
    job = c.submit(c.script("sleep 1000 & exec sleep 1000", "stranger.sh"))
    c.wait_for_size(job, 1)
    manager = c.manager_of(job)
    mark = f"DUCTILE_JOB_FOLDER={c.state}/jobs/{job}"
    c.wait_for(lambda: len(processes_with(mark)) >= 3, "its processes")
    c.kill()
    lose_journal(c)
    c.start()
    assert states(c) == ["STRANGER"]
    os.kill(manager, signal.SIGKILL)
    c.wait_for(lambda: states(c) == ["IDLE"], "the end of the stranger")
    assert not processes_with(mark)
    # The same, with nobody there when it happens.
    job = c.submit(c.script("sleep 1000 & exec sleep 1000", "stranger.sh"))
    c.wait_for_size(job, 1)
    mark = f"DUCTILE_JOB_FOLDER={c.state}/jobs/{job}"
    c.wait_for(lambda: len(processes_with(mark)) >= 3, "its processes")
    manager = c.manager_of(job)
    c.kill()
    lose_journal(c)
    os.kill(manager, signal.SIGKILL)
    c.start()
    c.wait_for(lambda: states(c) == ["IDLE"], "the end of the stranger")
    assert not processes_with(mark)


def test_an_older_journal_knows_its_own_jobs_and_no_later_ones(cluster):
    c = cluster("3x1")
    runs = c.submit(c.script("exec sleep 1000", "runs.sh"))
    go = c.folder / "go"
    ends = c.submit("--requeue", c.script(f"until [ -e {go} ]; do sleep 0.02; done", "ends.sh"))
    for job in (runs, ends):
        c.wait_for_size(job, 1)
    copy = copy_of_journal(c)
    node = next(row["node"] for row in nodes(c) if row["job"] == ends)
    go.touch()
    c.wait_for_end(ends)
    go.unlink()
    # This one has the node that the copy gives to another one.
    later = c.submit("-N", "2", c.script("exec sleep 1000", "later.sh"))
    c.wait_for_size(later, 2)
    manager = c.manager_of(later)
    c.kill()
    put_back(c, copy)
    c.start("--restored")
    assert c.queue()[runs]["state"] == "RUNNING"
    assert states(c).count("STRANGER") == 2 and states(c)[node] == "STRANGER"
    c.wait_for(lambda: c.queue()[ends]["state"] == "PENDING", "the end of what is dead")
    for _ in range(2):
        c.kill()
        c.start()
        assert c.queue()[runs]["state"] == "RUNNING" and c.queue()[ends]["state"] == "PENDING"
        assert states(c).count("STRANGER") == 2
    c.stop()
    c.run("serve", "--state", c.state, "--settle")
    assert os.path.exists(f"/proc/{manager}")
    c.start()
    assert states(c).count("STRANGER") == 2
    # Once more, and what runs is known all the same.
    c.kill()
    put_back(c, copy)
    c.start("--restored")
    assert c.queue()[runs]["state"] == "RUNNING" and states(c).count("STRANGER") == 2
    go.touch()
    os.kill(manager, signal.SIGTERM)
    assert c.wait_for_end(ends)[0]["state"] == "COMPLETED"
    assert c.queue()[runs]["state"] == "RUNNING"


def test_what_runs_as_a_stranger_does_not_run_twice(cluster):
    """It waits in the copy of the journal, and has begun since."""
    c = cluster("2x1")
    go = c.folder / "go"
    first = c.submit("-N", "2", c.script(f"until [ -e {go} ]; do sleep 0.02; done", "first.sh"))
    c.wait_for_size(first, 2)
    waits = c.submit(c.script(f"echo began >> {c.folder}/ran; exec sleep 1000", "waits.sh"))
    copy = copy_of_journal(c)
    go.touch()
    c.wait_for_text(c.folder / "ran", "began")
    manager = c.manager_of(waits)
    c.kill()
    put_back(c, copy)
    c.start("--restored")
    for _ in range(2):
        c.wait_for(lambda: first not in c.queue(), "the end of what is dead")
        row = c.queue()[waits]
        assert (row["state"], row["reason"]) == ("PENDING", "JobHeldAdmin")
        assert sorted(states(c)) == ["IDLE", "STRANGER"]
        c.kill()
        c.start()
    # Unless an operator wants that.
    c.run("release", waits)
    c.wait_for_text(c.folder / "ran", "began\nbegan\n")
    assert os.path.exists(f"/proc/{manager}")
    c.cancel_all()
    os.kill(manager, signal.SIGTERM)
    c.wait_for(lambda: states(c) == ["IDLE"] * 2, "the end of the stranger")


def test_who_does_not_say_which_nodes_he_has_is_waited_for(cluster):
    c = cluster("2x1")
    job = c.submit(c.script("exec sleep 1000", "stranger.sh"))
    c.wait_for_size(job, 1)
    manager = c.manager_of(job)
    c.kill()
    # A journal of its own takes it as one of a former version.
    (c.state / "jobs" / str(job) / "holder").unlink()
    c.start()
    assert c.queue()[job]["state"] == "RUNNING"
    c.kill()
    lose_journal(c)
    done = c.run("serve", "--state", c.state, "--local", "2x1", code=2)
    assert f"nothing says on which nodes: {job} (process {manager}); wait until they are over" in done.stderr
    os.kill(manager, signal.SIGTERM)
    while os.path.exists(f"/proc/{manager}"):
        time.sleep(0.02)
    c.start()
    assert states(c) == ["IDLE"] * 2
