"""Several users on one machine: who may go before whom, who gets in, and a node that ends all that it gets."""

import json
import os
import resource
import select
import socket
import subprocess
import sys

import pytest
from conftest import PATIENCE, PROGRAM


def config(tmp_path, text):
    path = tmp_path / "config.toml"
    path.write_text(text)
    return path


def test_a_priority_above_the_ordinary_is_the_operators(cluster, tmp_path):
    settings = config(tmp_path, "")
    c = cluster("1x1", "easy", "--config", settings)
    c.open_to_others()
    c.submit("--hold", "--priority", 5, "/bin/true")
    done = c.as_nobody("submit", "--hold", "--priority", 1, "/bin/true")
    assert done.returncode == 1 and "only operators may give a priority above 0" in done.stderr
    assert c.as_nobody("submit", "--hold", "--priority", -1, "/bin/true").returncode == 0
    settings.write_text("max_priority = 7\n")
    c.stop()
    c.start()
    assert c.as_nobody("submit", "--hold", "--priority", 7, "/bin/true").returncode == 0
    assert "above 7" in c.as_nobody("submit", "--hold", "--priority", 8, "/bin/true").stderr
    settings.write_text('operators = ["nobody"]\n')
    c.stop()
    c.start()
    assert c.as_nobody("submit", "--hold", "--priority", 8, "/bin/true").returncode == 0
    assert [row["priority"] for row in c.queue().values()] == [5, -1, 7, 8]
    c.run("cancel", *c.queue())


def test_what_an_operator_holds_or_puts_back_is_the_operators_to_undo(cluster):
    c = cluster("1x1")
    c.open_to_others()

    def submit(*words):
        return json.loads(c.as_nobody("submit", "--json", "--hold", "-o", "/dev/null", *words, "/bin/true").stdout)["job"]

    def reason(job):
        return c.queue()[job]["reason"]

    own, theirs, array = submit(), submit(), submit("-a", "0-1")
    assert [reason(job) for job in (own, theirs)] == ["JobHeldUser"] * 2
    c.run("hold", theirs, f"{array}_1")
    assert [reason(job) for job in (theirs, array, array + 1)] == ["JobHeldAdmin", "JobHeldUser", "JobHeldAdmin"]
    c.kill()
    c.start()
    assert reason(theirs) == "JobHeldAdmin"
    assert c.as_nobody("hold", theirs).returncode == 0 and reason(theirs) == "JobHeldAdmin"
    for job in (theirs, f"{array}_1"):
        done = c.as_nobody("release", job)
        assert done.returncode == 1 and "is held by an operator, and only operators release it" in done.stderr
    # Of an array those that can be.
    assert c.as_nobody("release", own, array).returncode == 0
    c.wait_for_end(own, array)
    assert reason(array + 1) == "JobHeldAdmin"
    assert "held by an operator" in c.as_nobody("release", array).stderr
    # Each array for itself.
    other = submit("-a", "0-1")
    assert f"job {array + 1} is held by an operator" in c.as_nobody("release", array, other).stderr
    assert reason(other) == "JobHeldUser"
    c.run("cancel", other)
    c.run("release", theirs, array)
    c.wait_for_end(theirs, array + 1)
    # An operator's own job is held by its user.
    mine = c.submit("/bin/sleep", 0)
    mine = c.submit("--hold", "/bin/true")
    c.run("hold", mine)
    assert reason(mine) == "JobHeldUser"

    job = submit("--priority", -1)
    c.run("update", job, "--priority", -5)
    c.kill()
    c.start()
    done = c.as_nobody("update", job, "--priority", -4)
    assert done.returncode == 1 and "an operator gave it the priority -5, and only operators raise that" in done.stderr
    for priority in (-7, -5):
        assert c.as_nobody("update", job, "--priority", priority).returncode == 0
        assert c.queue()[job]["priority"] == priority
    c.run("update", job, "--priority", 3)
    assert c.as_nobody("update", job, "--priority", 2).returncode == 0
    own = submit("--priority", -3)
    assert c.as_nobody("update", own, "--priority", 0).returncode == 0
    c.run("cancel", job, own, mine)
    c.replay()


@pytest.mark.parametrize("shares, first", [("", "nobody"), ("shares = { nobody = 1e-9 }\n", "root")])
def test_who_has_used_less_goes_first(cluster, tmp_path, shares, first):
    """By the shares of users, and also when it is started again."""
    settings = config(tmp_path, f'policy = "easy:order=fairshare"\n{shares}')
    c = cluster("1x1", "easy:order=fairshare", "--config", settings)
    at = c.arguments.index("--policy")
    del c.arguments[at:at + 2]
    c.stop()
    c.start()
    c.open_to_others()
    script = c.script("sleep 0.2", "theirs.sh")
    done = c.as_nobody("submit", "--json", "--wait", "-o", "/dev/null", script)
    assert done.returncode == 0, done.stderr
    # Root has used more, and more again while its next job runs.
    go = c.folder / "go"
    used = c.submit("-o", "/dev/null", c.script("sleep 2", "ours.sh"))
    c.wait_for_end(used)
    runs = c.submit(c.script(f"until [ -e {go} ]; do sleep 0.02; done"))
    c.wait_for_size(runs, 1)
    ours = c.submit("-o", "/dev/null", "/bin/true")
    theirs = json.loads(c.as_nobody("submit", "--json", "-o", "/dev/null", "/bin/true").stdout)["job"]
    c.kill()
    c.start()
    go.touch()
    ends = c.wait_for_end(ours, theirs)
    by_start = sorted(ends, key=lambda end: end["start_s"])
    assert by_start[0]["user"] == ("root" if first == "root" else "nobody"), ends
    c.replay()


def test_an_operator_gets_in_when_all_connections_are_taken(cluster):
    c = cluster("1x1")
    c.open_to_others()
    c.stop()
    c.launch_with = [*c.launch_with, "prlimit", "--nofile=64"]
    c.start()
    crowd = subprocess.Popen(
        c.of_nobody(sys.executable, "-c", "import socket, sys\ntaken = []\nfor _ in range(100):\n"
                    " taken.append(socket.socket(socket.AF_UNIX)); taken[-1].connect(sys.argv[1])\n"
                    "print('taken', flush=True); sys.stdin.read()", c.socket),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert crowd.stdout.readline() == "taken\n"
        done = c.as_nobody("queue")
        assert done.returncode != 0, done
        for _ in range(40):
            assert c.ask({"do": "queue"})["ok"]
        job = c.submit("/bin/true")
        c.wait_for_end(job)
    finally:
        crowd.communicate("")
    assert "an operator needs a connection" in c.log.read_text()


def test_an_operator_gets_in_without_a_descriptor(cluster):
    """Jobs have so many of them that there may not be as many connections as otherwise."""
    c = cluster("1x1")
    job = c.submit("/bin/sleep", 1000)
    c.wait_for_size(job, 1)
    leave_descriptors(c, 5)
    there = []
    for _ in range(20):
        there.append(connection_to(c))
        assert {job} == {row["job"] for row in c.ask({"do": "queue"}, timeout=PATIENCE)["jobs"]}
    assert "an operator needs a connection" in c.log.read_text()
    assert "no connection can be taken now" not in c.log.read_text()
    for connection in there:
        connection.close()
    c.run("cancel", job)


def leave_descriptors(c, count):
    """Of the controller; it has that for operators already."""
    def used():
        return set(map(int, os.listdir(f"/proc/{c.server.pid}/fd")))

    c.wait_for(lambda: "was read again" in c.log.read_text().rpartition("serving ")[2], "a look at the past")
    # By the second answer connections of before are forgotten.
    with connection_to(c) as connection:
        connection.sendall(b'{"do": "nodes"}\n')
        assert connection.recv(1 << 16)
        most = len(used())
    c.wait_for(lambda: len(used()) < most, "the end of the connection")
    limit = len(used()) + count
    assert max(used()) < limit
    resource.prlimit(c.server.pid, resource.RLIMIT_NOFILE, (limit, limit))


def connection_to(c):
    """One that has been let in."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(PATIENCE)
    connection.connect(c.socket)
    connection.sendall(b'{"do": "nodes"}\n')
    assert connection.recv(1 << 16)
    return connection


def test_who_is_no_operator_does_not_get_in_without_a_descriptor(cluster):
    """And is not said to have too many connections, nor is that said each time."""
    c = cluster("1x1")
    c.open_to_others()
    leave_descriptors(c, 3)
    there = [connection_to(c) for _ in range(3)]
    for _ in range(3):
        done = c.as_nobody("queue")
        assert done.returncode == 1, done
    log = c.log.read_text()
    assert log.count("no descriptor is left; who is no operator is not let in") == 1
    assert "too many connections" not in log and "an operator needs" not in log
    # Nor does that keep an operator out.
    assert c.ask({"do": "queue"})["ok"]
    for connection in there:
        connection.close()
    c.wait_for(lambda: c.as_nobody("queue").returncode == 0, "a descriptor")


def test_idle_connections_are_closed(cluster, tmp_path):
    """And not those who wait for a job."""
    c = cluster("1x1", "easy", "--config", config(tmp_path, "idle_s = 0.3\n"))
    c.ask({"do": "submit", "job": {"program": ["/bin/true"], "chdir": "/", "hold": True, "array": "1-100"}})
    go = c.folder / "go"
    waits = subprocess.Popen([PROGRAM, "submit", "--wait", c.script(f"until [ -e {go} ]; do sleep 0.02; done")],
                             env=c.environment, cwd=c.folder)
    silent, half, deaf = [socket.socket(socket.AF_UNIX) for _ in range(3)]
    for connection in (silent, half, deaf):
        connection.settimeout(PATIENCE)
        connection.connect(c.socket)
    half.sendall(b'{"do": "que')
    # More than the system keeps for it, and less than is too much for the controller.
    deaf.sendall(b'{"do": "queue"}\n' * 40)
    assert silent.recv(1) == b"" and half.recv(1) == b""
    hung_up = select.poll()
    hung_up.register(deaf, 0)
    assert hung_up.poll(PATIENCE * 1000), "who does not read is still there"
    assert waits.poll() is None
    go.touch()
    assert waits.wait(timeout=PATIENCE) == 0
    for connection in (silent, half, deaf):
        connection.close()


def test_a_node_on_which_jobs_die_at_once_is_drained(cluster):
    c = cluster("3x1")
    # Node 1 ends all that it gets; the others are kept busy, so that it gets the next ones.
    c.run("drain", "0,2", "--reason", "not today")
    for name in ("a.sh", "b.sh", "c.sh"):
        dies = c.submit(c.script("kill -9 $$", name))
        c.wait_for_end(dies)
    rows = c.ask({"do": "nodes"})["nodes"]
    assert [row["state"] for row in rows] == ["DRAINED", "IDLE", "DRAINED"], "the last one stays"
    assert [row["reason"] for row in rows] == ["not today", None, "not today"]
    c.run("drain", "--undo", "0,2")

    def state():
        return {row["node"]: (row["state"], row["reason"]) for row in c.ask({"do": "nodes"})["nodes"]}

    waits = [c.submit("-N", 1, "/bin/sleep", 100) for _ in range(3)]
    for job in waits:
        c.wait_for_size(job, 1)
    on = {c.queue()[job]["nodelist"]: job for job in waits}
    c.run("cancel", on["1"])
    c.wait_for_end(on["1"])
    # One that ends in any way of its own is no sign, also where that looks like another one.
    for code in (137, 139, 1):
        for i in range(3):
            end = c.wait_for_end(c.submit(c.script(f"exit {code}", f"own-{code}-{i}.sh")))[0]
            assert (end["state"], end["exit_code"]) == ("FAILED", code)
    assert state()[1] == ("IDLE", None)
    for name in ("d.sh", "e.sh", "f.sh"):
        dies = c.submit(c.script("kill -9 $$", name))
        c.wait_for_end(dies)
    assert state()[1] == ("DRAINED", f"3 jobs in a row died at once, the last one was {dies}")
    assert f"jobs in a row died at once, the last one was {dies}" in c.run("nodes").stdout
    waits_now = c.submit("/bin/true")
    assert c.queue()[waits_now]["state"] == "PENDING"
    c.kill()
    c.start()
    assert state()[1][1].startswith("3 jobs in a row")
    c.run("drain", "--undo", 1)
    c.wait_for_end(waits_now)
    assert state()[1] == ("IDLE", None)
    c.run("cancel", *c.queue())
    c.wait_for(lambda: not c.queue(), "the end of all")
    c.replay()


def test_bad_jobs_of_one_user_drain_one_node_at_most(cluster):
    c = cluster("6x1")
    c.open_to_others()

    def drained():
        return [row["node"] for row in c.ask({"do": "nodes"})["nodes"] if row["state"] != "IDLE"]

    jobs = [c.submit("-o", "/dev/null", "/bin/sh", "-c", f"kill -SEGV $$ # {i}") for i in range(20)]
    for end in c.wait_for_end(*jobs):
        assert end["reason"] == "RaisedSignal:SIGSEGV"
    assert len(drained()) <= 1
    # Of a second user they count as well: another node gets them, beside one that is busy.
    node = next(node for node in (1, 3) if node not in drained() and node + 1 not in drained())
    c.run("drain", ",".join(str(other) for other in range(6) if other not in (node, node + 1)))
    stays = [c.submit("/bin/sleep", 1000) for _ in range(2)]
    for job in stays:
        c.wait_for_size(job, 1)
    on = {c.queue()[job]["nodelist"]: job for job in stays}
    c.run("cancel", on[str(node)])
    c.wait_for_end(on[str(node)])
    for i in range(3):
        done = c.as_nobody("submit", "-o", "/dev/null", "/bin/sh", "-c", f"kill -SEGV $$ # {i}")
        assert done.returncode == 0, done.stderr
    row = c.wait_for(lambda: next((row for row in c.ask({"do": "nodes"})["nodes"] if row["node"] == node
                                   and row["state"] == "DRAINED"), None), "the drain")
    assert row["reason"].startswith("3 jobs in a row died at once"), row
    c.wait_for(c.cancel_all, "the end of all")
    c.replay()
