"""`ductile update`: jobs that wait are other ones, and running ones have less time."""

import contextlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess

import pytest

from conftest import PATIENCE, PROGRAM, example


def test_a_waiting_job_becomes_another_one(cluster):
    c = cluster("4x1")
    first = c.submit("-N", 4, c.script(f"until [ -e {c.folder}/done ]; do sleep 0.05; done\n"))
    c.wait_for_size(first, 4)
    one = c.submit("-N", 4, "-t", "10", c.script("echo one\n", "one.sh"))
    two = c.submit("-N", 1, c.script("echo two\n", "two.sh"))
    c.run("update", one, "-N", 2, "-t", "20:00", "-J", "renamed", "--priority", -5)
    row = c.queue()[one]
    assert (row["nodes"], row["time_limit_s"], row["name"], row["priority"]) == (2, 1200, "renamed", -5)
    waiting = [job for job in c.queue() if job != first]
    assert waiting == [two, one]
    c.kill()  # all of it is durable
    c.start()
    assert [job for job in c.queue() if job != first] == [two, one]
    row = c.queue()[one]
    assert (row["nodes"], row["time_limit_s"], row["name"], row["priority"]) == (2, 1200, "renamed", -5)
    (c.folder / "done").touch()
    end = c.wait_for_end(one)[0]
    assert (end["name"], end["sizes"][0]["nodes"]) == ("renamed", 2)
    c.replay()


def test_a_malleable_job_gets_another_range(cluster):
    c = cluster("4x1")
    job = c.submit("--hold", "--mpi", "mpich", "-N", 1, "--max-nodes", 2, c.script("true\n"))
    c.run("update", job, "-N", "2-4")
    assert [c.queue()[job][field] for field in ("nodes", "min_nodes", "max_nodes")] == [2, 2, 4]
    c.run("update", job, "--max-nodes", 3)
    assert [c.queue()[job][field] for field in ("nodes", "min_nodes", "max_nodes")] == [2, 2, 3]
    for wrong in (["-N", 5], ["--min-nodes", 4], ["-N", "x"], ["--max-nodes", 1], ["-t", "x"], [], ["-d", "afterok:99"]):
        assert c.run("update", job, *wrong, code=2).stderr
    assert [c.queue()[job][field] for field in ("nodes", "min_nodes", "max_nodes")] == [2, 2, 3]
    rigid = c.submit("--hold", c.script("true\n"))
    assert "a rigid job has one size" in c.run("update", rigid, "--max-nodes", 3, code=2).stderr
    assert c.ask({"do": "update", "job": job, "set": {"script": "#!/bin/rm"}})["code"] == 2
    assert c.ask({"do": "update", "job": job, "set": {"groups": [0]}})["code"] == 2


def test_what_keeps_it_back_changes(cluster):
    c = cluster("1x1")
    blocker = c.submit("--hold", c.script("true\n"))
    job = c.submit("-d", f"afterok:{blocker}", c.script("true\n"))
    assert c.queue()[job]["reason"] == "Dependency"
    c.run("update", job, "-d", "none", "-b", "now+1hour")
    c.wait_for(lambda: c.queue()[job]["reason"] == "BeginTime", "its time")
    assert c.queue()[job]["dependency"] == ""
    assert "wait for itself" in c.run("update", job, "-d", f"afterany:{job}", code=2).stderr
    other = c.submit("-d", f"afterany:{job}", c.script("true\n"))
    assert "wait for itself" in c.run("update", job, "-d", f"afterany:{other}", code=2).stderr
    c.kill()
    c.start()
    assert c.queue()[job]["reason"] == "BeginTime"
    c.run("update", job, "-b", "now")
    assert [end["state"] for end in c.wait_for_end(job, other)] == ["COMPLETED"] * 2
    # One that the policy has seen waits again.
    busy = c.submit(c.script(f"until [ -e {c.folder}/done ]; do sleep 0.05; done\n", "busy.sh"))
    seen = c.submit(c.script("true\n"))
    assert c.queue()[seen]["reason"] == "Resources"
    c.run("update", seen, "-d", f"afterok:{blocker}")
    c.wait_for(lambda: c.queue()[seen]["reason"] == "Dependency", "its dependency")
    (c.folder / "done").touch()
    c.wait_for_end(busy)
    assert c.queue()[seen]["reason"] == "Dependency"
    c.run("release", blocker)
    assert c.wait_for_end(seen)[0]["state"] == "COMPLETED"
    c.replay()


def test_arrays_are_changed_as_a_whole(cluster):
    c = cluster("2x1")
    array = c.submit("--hold", "-a", "0-3", c.script("true\n"))
    c.run("update", array, "-t", 7, "-J", "all")
    assert {(row["time_limit_s"], row["name"]) for row in c.queue().values()} == {(420, "all")}
    assert "are changed together" in c.run("update", f"{array}_1", "-t", 8, code=2).stderr
    c.run("release", array)
    c.wait_for_end(*range(array, array + 4))


LONG = {"program": ["/bin/true"], "chdir": "/", "array": "1-10000", "output": "/dev/null"}


def altered(c):
    """How many tasks are changed, as the journal has it, and over how many instants."""
    with contextlib.closing(sqlite3.connect(c.state / "journal.db")) as journal:
        first, last, count = journal.execute("SELECT min(number), max(number), count(*) FROM records WHERE kind = 'E'"
                                             " AND text LIKE '% altered %'").fetchone()
        closes = journal.execute("SELECT count(*) FROM records WHERE kind = 'C' AND number BETWEEN ? AND ?",
                                 [first, last]).fetchone()[0]
    return count, closes


def send(c, request):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(PATIENCE)
    connection.connect(c.socket)
    connection.sendall(json.dumps(request).encode() + b"\n")
    return connection


def answer_of(connection):
    with connection:
        return json.loads(connection.makefile().readline())


@pytest.mark.parametrize("hold", (True, False))
def test_an_array_is_changed_over_several_turns(cluster, hold):
    """Others are answered meanwhile; who would touch it waits."""
    c = cluster("2x1")
    busy = c.submit("-N", 2, "/bin/sleep", 1000)
    c.wait_for_size(busy, 2)
    array = c.ask({"do": "submit", "job": dict(LONG, hold=hold)})["job"]
    change = send(c, {"do": "update", "job": array, "set": {"time_us": 420 * 10 ** 6, "name": "all", "priority": -3}})
    c.wait_for(lambda: altered(c)[0], "the first change")
    others = [send(c, {"do": "update", "job": array, "set": {"priority": -4}}),
              send(c, {"do": "release", "jobs": [array + 5]}),
              send(c, {"do": "hold", "jobs": [array + 6]})]
    assert answer_of(change) == {"ok": True}
    assert altered(c)[1] > 1
    assert [answer_of(other) for other in others] == [{"ok": True}] * 3
    rows = c.ask({"do": "queue", "jobs": [array]})["jobs"]
    assert {(row["time_limit_s"], row["name"], row["priority"]) for row in rows} == {(420, "all", -4)}
    assert len(rows) == 10_000
    reasons = {row["job"]: row["reason"] for row in rows}
    assert reasons[array + 5] != "JobHeldUser" and reasons[array + 6] == "JobHeldUser"
    c.run("cancel", array, busy)
    c.replay()


def test_an_array_that_is_being_added_is_changed_when_it_is_there(cluster):
    c = cluster("2x1")
    adding = send(c, {"do": "submit", "job": dict(LONG, hold=True)})
    array = min(c.wait_for(c.queue, "the first task"))
    assert c.ask({"do": "update", "job": array, "set": {"time_us": 420 * 10 ** 6}}) == {"ok": True}
    assert answer_of(adding)["tasks"] == 10_000
    rows = c.ask({"do": "queue", "jobs": [array]})["jobs"]
    assert len(rows) == 10_000 and {row["time_limit_s"] for row in rows} == {420}
    c.run("cancel", array)


def dying(c):
    """It dies within the first change of an array."""
    c.stop()
    c.environment["DUCTILE_CRASH_AT"] = "change:1"
    c.start()
    del c.environment["DUCTILE_CRASH_AT"]
    return c


def dies_within(c, change):
    """Of 10,000 tasks; and is started again. How many were changed before that."""
    with send(c, change):
        assert c.server.wait(timeout=PATIENCE) == -signal.SIGKILL
    before = altered(c)[0]
    assert 0 < before < 10_000
    c.start()
    return before


def test_nobody_waits_to_submit_while_an_array_is_changed(cluster):
    """Also where other changes wait for the end of that."""
    c = cluster("2x1")
    array = c.ask({"do": "submit", "job": dict(LONG, hold=True)})["job"]
    changes = [send(c, {"do": "update", "job": array, "set": {"priority": -priority}}) for priority in range(1, 5)]
    c.ask({"do": "nodes"})  # after this one is made, and others wait
    other = c.ask({"do": "submit", "job": {"program": ["/bin/true"], "chdir": "/", "hold": True}})["job"]
    assert [answer_of(change) for change in changes] == [{"ok": True}] * 4
    assert altered(c)[0] == 40_000
    with contextlib.closing(sqlite3.connect(c.state / "journal.db")) as journal:
        after = journal.execute("SELECT count(*) FROM records WHERE kind = 'E' AND text LIKE '% altered %' AND number >"
                                " (SELECT max(number) FROM records WHERE kind = 'E' AND text LIKE '% submitted %')")
        assert after.fetchone()[0] > 0
    c.run("cancel", array, other)
    c.replay()


def test_a_raised_limit_is_believed_of_all_tasks(cluster):
    """Also of one that runs, and that the controller did not come to before it ended."""
    c = dying(cluster("1x1"))
    array = c.ask({"do": "submit", "job": dict(LONG, program=["/bin/sleep", "1000"], hold=True, time_us=3600 * 10 ** 6)})["job"]
    last = array + 9999
    c.run("release", f"{array}_10000")
    c.wait_for_size(last, 1)
    waits = c.submit("-t", 1, "/bin/true")
    before = dies_within(c, {"do": "update", "job": array, "set": {"time_us": 6000 * 10 ** 6}})
    c.run("update", waits, "-t", 2)  # which waits for the end of that
    assert altered(c)[0] == before + 10_000
    began = c.ask({"do": "queue", "jobs": [last]})["jobs"][0]["start_s"]
    predicted = c.ask({"do": "predict", "jobs": [waits]})["jobs"][0]["start_s"]
    assert predicted - began == pytest.approx(6000, abs=10)
    c.run("cancel", array, waits)
    c.replay()


def test_a_change_that_was_begun_is_made(cluster):
    c = dying(cluster("2x1"))
    busy = c.submit("-N", 2, "/bin/sleep", 1000)
    c.wait_for_size(busy, 2)
    array = c.ask({"do": "submit", "job": LONG})["job"]
    dies_within(c, {"do": "update", "job": array, "set": {"time_us": 420 * 10 ** 6, "name": "all", "nodes": 2}})

    def changed():
        rows = c.ask({"do": "queue", "jobs": [array]})["jobs"]
        return {(row["time_limit_s"], row["name"], row["nodes"]) for row in rows} == {(420, "all", 2)}

    c.wait_for(changed, "the change")
    c.kill()  # and it is not made again
    before = altered(c)[0]
    c.start()
    assert changed() and altered(c)[0] == before
    reasons = c.wait_for(lambda: {row["reason"] for row in c.ask({"do": "queue", "jobs": [array]})["jobs"]} - {"None", "BeingChanged"}, "all")
    assert reasons <= {"Resources", "Priority"}
    c.run("cancel", array, busy)
    c.replay()


def test_a_lower_limit_does_not_raise_what_is_believed(cluster):
    """A prediction stays, unless it is more than the job may have now."""
    c = cluster("1x1", "easy", "--estimates", "predicted")
    for _ in range(2):
        c.wait_for_end(c.submit("-t", 60, "/bin/sleep", 0.5))
    job = c.submit("-t", 60, "/bin/sleep", 1000)
    c.wait_for_size(job, 1)
    waits = c.submit("-t", 60, "/bin/true")

    def begin():
        """Of the job that waits for it, as far as is believed."""
        return c.ask({"do": "predict", "jobs": [waits]})["jobs"][0]["start_s"] - c.queue()[job]["start_s"]

    # It was predicted to take a second, and has outlived that.
    assert begin() < 1800
    c.run("update", job, "-t", 50)
    assert c.queue()[job]["time_limit_s"] == pytest.approx(3000)
    assert begin() < 1800
    c.kill()
    c.start()
    assert c.queue()[job]["time_limit_s"] == pytest.approx(3000)
    assert begin() < 1800
    c.run("update", job, "-t", 100)
    assert begin() < 1800
    assert c.queue()[job]["time_limit_s"] == pytest.approx(6000)
    c.run("cancel", job)
    c.wait_for_end(job, waits)
    c.replay()


def test_a_running_job_may_have_less_time(cluster):
    c = cluster("2x1")
    job = c.submit("-t", 60, c.script("sleep 100\n"))
    c.wait_for_size(job, 1)
    assert "only its limit can be changed" in c.run("update", job, "-N", 2, code=1).stderr
    c.run("update", job, "-t", 30)
    assert c.queue()[job]["time_limit_s"] == pytest.approx(1800)
    c.run("update", job, "-t", 50)  # an operator's
    assert c.queue()[job]["time_limit_s"] == pytest.approx(3000)
    c.kill()
    c.start()
    assert c.queue()[job]["time_limit_s"] == pytest.approx(3000)
    c.run("update", job, "-t", "0:01")
    end = c.wait_for_end(job)[0]
    assert (end["state"], end["reason"]) == ("TIMEOUT", "TimeLimit")
    assert "is over" in c.run("update", job, "-t", 5, code=1).stderr
    c.replay()


@pytest.mark.skipif(os.geteuid() != 0, reason="not root")
def test_only_operators_raise_the_limit_of_a_running_job(cluster):
    c = cluster("2x1")
    os.chmod(c.folder, 0o777)
    os.chmod(c.state, 0o711)
    shutil.copy(PROGRAM, c.folder / "ductile")

    def as_user(*words):
        return subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", c.folder / "ductile", *map(str, words)],
                              env=c.environment, cwd=c.folder, text=True, capture_output=True, timeout=PATIENCE)

    assert as_user("submit", "-t", 60, c.script("sleep 100\n")).returncode == 0
    c.wait_for_size(1, 1)
    assert as_user("update", 1, "-t", 30).returncode == 0
    done = as_user("update", 1, "-t", 31)
    assert done.returncode == 1 and "only operators may raise" in done.stderr
    c.run("update", 1, "-t", 31)
    mine = c.submit("--hold", c.script("true\n"))
    assert "is not yours" in as_user("update", mine, "-t", 1).stderr
