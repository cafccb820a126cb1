"""Faults at every message of a resize. Before the commit the old generation goes on with exact data,
after it the new one does; what fails when no generation can go on, ends at once and leaves nothing."""

import json
import os
import pathlib
import time

import pytest

from conftest import PATIENCE, connect, example, left_in_shared_memory, limit, processes_with

COMMIT, ABORT, EITHER = "resized", "aborted", "either"

# Who, when, message, kind (src/job/fault.hpp), and what becomes of the resize.
WALK = [
    # A new process dies, loses its connection, or says what nobody understands.
    *[("new/1", when, message, kind, ABORT)
      for when, message in [("before", "hello"), ("after", "hello"), ("got", "welcome"),
                            ("before", "ready"), ("after", "ready"), ("got", "take"),
                            ("before", "taken")]
      for kind in ("exit", "cut")],
    *[("new/0", "before", message, kind, ABORT)
      for message in ("hello", "ready", "taken") for kind in ("half", "garbage")],
    ("new/0", "before", "ready", "hang", ABORT),
    ("new/0", "got", "take", "hang", ABORT),
    # It says it twice, or something of yesterday.
    *[("new/1", "before", message, kind, COMMIT)
      for message in ("ready", "taken") for kind in ("twice", "stale")],
    ("new/1", "before", "hello", "twice", COMMIT),
    ("new/1", "before", "hello", "stale", ABORT),
    # An old process is slow to answer.
    ("old/1", "got", "prepare", "stall", ABORT),
    ("old/0", "before", "reached", "stall", ABORT),
    ("old/1", "got", "go", "stall", ABORT),
    ("old/0", "before", "sent", "stall", ABORT),
    *[("old/1", "before", message, kind, COMMIT)
      for message in ("at", "reached", "sent") for kind in ("twice", "stale")],
    # The way of the data is cut, or the data is not what was promised.
    *[("old/0", "before", message, kind, ABORT)
      for message in ("open", "data", "close") for kind in ("cut", "half", "garbage", "stale")],
    ("old/1", "after", "open", "cut", ABORT),
    ("old/1", "after", "data", "cut", ABORT),
    ("old/1", "before", "open", "twice", ABORT),
    ("old/1", "before", "data", "twice", ABORT),
    # Who has all of it has closed, or is about to: the second one may find nobody.
    ("old/1", "before", "close", "twice", EITHER),
    # The manager repeats itself.
    *[("manager", "before", message, kind, COMMIT)
      for message in ("welcome", "take", "prepare", "meet", "go", "commit")
      for kind in ("twice", "stale")],
    # After the commit the old generation does not matter any more.
    ("old/0", "got", "commit", "exit", COMMIT),
    ("old/1", "got", "commit", "cut", COMMIT),
    ("old/0", "got", "commit", "hang", COMMIT),
    ("old/1", "before", "finishing", "exit", COMMIT),
    ("old/1", "after", "finishing", "exit", COMMIT),
    ("old/0", "got", "finish", "exit", COMMIT),
    # And all is well at last.
    ("nobody", "before", "hello", "exit", COMMIT),
]


FULL = os.environ.get("DUCTILE_FULL", "0") != "0"


def part(faults, mpi):
    """The protocol is the same under every MPI: all faults with one of them, every third with the
    other, which takes longer to start a process; all with DUCTILE_FULL=1."""
    if mpi == "mpich" or FULL:
        return faults
    return faults[::3] + faults[-1:]


def variable(walk):
    """DUCTILE_FAULT for a walk: one fault in each resize."""
    faults, current = [], 0
    for generation, (who, when, message, kind, outcome) in enumerate(walk, 1):
        if message in ("finishing", "finish"):
            # Not of the resize, but of the own generation, to which a process is not old.
            faults.append((current, who.replace("old", "new"), when, message, kind))
        else:
            faults.append((generation, who, when, message, kind))
        if outcome == COMMIT:
            current = generation
    return ";".join(":".join(map(str, fault)) for fault in faults)


# The same where the program postpones.
POSTPONED = [("old/1", "before", "postponed", kind, COMMIT) for kind in ("twice", "stale")] + [
    ("old/0", "before", "postponed", "stall", ABORT),
    ("old/1", "before", "reached", "twice", COMMIT),
]


def test_walk(mpi, start, tmp_path, monkeypatch):
    walk_through(part(WALK, mpi), mpi, start, tmp_path, monkeypatch)


def test_walk_while_postponing(start, tmp_path, monkeypatch):
    walk_through(POSTPONED, "mpich", start, tmp_path, monkeypatch, 2000, 7)


def walk_through(walk, mpi, start, tmp_path, monkeypatch, *arguments):
    monkeypatch.setenv("DUCTILE_FAULT", variable(walk))
    stop = tmp_path / "stop"
    begin, slow = time.time(), limit(1, mpi)
    monkeypatch.setenv("DUCTILE_FAULT_STALL", str(3 * slow))
    job = start(mpi, 2, "until", stop, 2000, *arguments, options=[
        "--start-limit", 5 * slow, "--probe-limit", 2 * slow, "--hand-over-limit", 2 * slow, "--patience", 2])
    job.wait_until_connected()
    # One who says half of it, and then nothing.
    silent = connect(job.environment()["DUCTILE_MANAGER"])
    silent.sendall(b"\x30\0\0\0\x01\0")
    size = 2
    wrong = []
    for generation, fault in enumerate(walk, 1):
        job.resize(5 - size)
        status = job.status()
        events = job.events(COMMIT) + job.events(ABORT)
        assert len(events) == generation, fault
        last = max(events, key=lambda event: event["time_s"])
        if fault[4] not in (last["event"], EITHER):
            wrong.append((generation, fault, last))
        if last["event"] == COMMIT:
            size = 5 - size
        assert (status["size"], status["connected"]) == (size, size), fault
    stop.touch()
    if len(walk) > 20:  # takes longer than a stranger is waited for
        silent.settimeout(PATIENCE)
        assert silent.recv(1) == b""
    code, out, err = job.finish()
    # A launcher may have complained about what an old generation did after the commit.
    assert code == 0 and out.endswith("right\n"), err
    assert "it did not say who it is" in err or len(walk) <= 20
    silent.close()
    assert wrong == []
    assert left_in_shared_memory(begin) == set()


def test_what_a_generation_wrote_that_did_not_come_is_dropped(mpi, start, tmp_path, monkeypatch):
    """And keeps nobody waiting at the end."""
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\necho begins\nexec {example('until', mpi)} \"$@\"\n")
    script.chmod(0o755)
    monkeypatch.setenv("DUCTILE_FAULT", "1:new/1:before:ready:exit")
    job = start(mpi, 2, script, tmp_path / "stop", 2000)
    job.wait_until_connected()
    job.resize(3)
    assert len(job.events(ABORT)) == 1
    (tmp_path / "stop").touch()
    code, out, _ = job.finish()
    assert (code, out) == (0, "begins\nbegins\nright\n")


FATAL = [
    "1:old/1:before:at:exit",
    "1:old/0:got:go:exit",
    "1:old/1:before:sent:cut",
    "1:old/0:before:reached:garbage",
    "1:manager:before:prepare:exit",
    "1:manager:before:go:exit",
    "1:manager:before:commit:exit",
    "1:manager:after:commit:exit",
    "1:manager:before:go:garbage",
    "1:new/1:got:commit:exit",
    "1:new/0:before:running:cut",
]

# A death before and after each message, on both sides.
EVERY_DEATH = [
    *[f"1:old/1:{when}:{message}:exit" for message in ("at", "reached", "open", "data", "close")
      for when in ("before", "after")],
    *[f"1:old/1:got:{message}:exit" for message in ("prepare", "meet", "go")],
    "1:old/1:before:sent:exit",
    *[f"1:new/1:{when}:running:exit" for when in ("before", "after")],
    *[f"1:manager:{when}:{message}:exit" for message in ("welcome", "take", "prepare", "meet", "go", "commit")
      for when in ("before", "after")],
    *[f"1:manager:got:{message}:exit"
      for message in ("hello", "ready", "at", "reached", "sent", "taken", "running")],
    "0:manager:got:finishing:exit", "0:manager:before:finish:exit", "0:manager:after:finish:exit",
]


@pytest.mark.parametrize("mpi,fault", [(mpi, fault) for mpi in ("mpich", "openmpi")
                                       for fault in part(FATAL, mpi) + (EVERY_DEATH if FULL else [])])
def test_when_nobody_can_go_on(mpi, start, tmp_path, monkeypatch, fault):
    """A process of the generation that is the job dies, or the manager does: the job fails, as any
    MPI program does. It does not hang and leaves nothing."""
    monkeypatch.setenv("DUCTILE_FAULT", fault)
    begin = time.time()
    job = start(mpi, 2, "until", tmp_path / "stop", 2000)
    job.wait_until_connected()
    assert job.resize(3).returncode != 0 or "new" in fault
    if "manager" in fault:
        pathlib.Path(job.socket).unlink(missing_ok=True)  # who dies does not clean up
        end = time.monotonic() + 20
        while processes_with(job.mark) and time.monotonic() < end:
            time.sleep(0.05)
    code, out, _ = job.finish()
    assert code != 0 and "right" not in out
    if "manager" not in fault or "garbage" in fault:  # one that dies cannot
        assert left_in_shared_memory(begin) == set()


@pytest.mark.parametrize("fault", ["1:old/1:after:sent:exit", "1:new/1:after:taken:exit"])
def test_a_death_beside_the_commit(start, tmp_path, monkeypatch, fault, mpi="mpich"):
    """It comes before the commit or after it. A generation goes on with exact data if its processes live."""
    monkeypatch.setenv("DUCTILE_FAULT", fault)
    begin = time.time()
    job = start(mpi, 2, "until", tmp_path / "stop", 2000)
    job.wait_until_connected()
    is_committed = job.resize(3).returncode == 0
    (tmp_path / "stop").touch()
    code, out, _ = job.finish()
    if is_committed == ("old" in fault):
        # The launcher of those that left may complain on stdout about the one that died.
        assert code == 0 and out.endswith("right\n"), out
    else:
        assert code != 0 and "right" not in out
    assert left_in_shared_memory(begin) == set()


def test_an_order_is_answered_though_a_new_process_hangs_after_the_commit(start, tmp_path, monkeypatch, mpi="mpich"):
    """It has its data and is the job: nobody waits for ever for its word that it goes on."""
    monkeypatch.setenv("DUCTILE_FAULT", "1:new/1:before:running:hang")
    job = start(mpi, 2, "until", tmp_path / "stop", 2000, options=["--start-limit", limit(3), "--patience", 2])
    job.wait_until_connected()
    done = job.resize(3)
    assert done.returncode == 0, done
    status = job.status()
    assert (status["size"], status["phase"]) == (3, "running")
    assert "pause_s" not in job.events(COMMIT)[0]
    job.process.terminate()
    code, _, err = job.finish()
    assert code == 143 and "2 of 3 new processes have said that they go on" in err, (code, err)


def test_an_order_is_answered_though_an_old_process_hangs_after_it_has_left(start, tmp_path, monkeypatch, mpi="mpich"):
    monkeypatch.setenv("DUCTILE_FAULT", "1:old/1:after:leaving:hang")
    job = start(mpi, 2, "until", tmp_path / "stop", 2000, options=["--leave-limit", 1, "--patience", 1])
    job.wait_until_connected()
    assert job.resize(3).returncode == 0
    assert job.resize(1).returncode == 0
    (tmp_path / "stop").touch()
    code, out, err = job.finish()
    assert code == 0 and out.endswith("right\n"), (out, err)
    assert "but its program works on" in err


def test_an_order_that_waits_for_the_program_can_be_withdrawn(start, tmp_path, mpi="mpich"):
    begins = tmp_path / "begins"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\nuntil [ -e {begins} ]; do sleep 0.05; done\nexec {example('until', mpi)} \"$@\"\n")
    script.chmod(0o755)
    job = start(mpi, 2, script, tmp_path / "stop", 2000)
    while not job.report.exists() or not job.events("started"):
        time.sleep(0.02)
    with connect("unix:" + job.socket) as order:
        order.sendall(b'{"do": "resize", "size": 3, "id": 7}\n')
        answers = order.makefile()
        assert job.status()["phase"] == "starting"
        with connect("unix:" + job.socket) as other:
            other.sendall(b'{"do": "withdraw"}\n')
        answer = json.loads(answers.readline())
        assert (answer["ok"], answer["error"], answer["id"]) == (False, "it was withdrawn", 7), answer
    begins.touch()
    assert job.wait_until_connected()["size"] == 2
    (tmp_path / "stop").touch()
    code, out, err = job.finish()
    assert (code, out) == (0, "right\n"), err
    assert job.events(COMMIT) == []
