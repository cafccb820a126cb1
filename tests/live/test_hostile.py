"""Those who do not keep to the protocol, and those who touch what is not theirs."""

import json
import os
import random
import shutil
import socket
import subprocess
import time

import pytest
from conftest import PROGRAM, processes_with


def connect(cluster):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(cluster.socket)
    connection.settimeout(20)
    return connection


def test_what_is_no_request_is_refused(cluster):
    c = cluster("2x1")
    for request in ([], {}, {"do": 3}, {"do": "dance"}, {"do": "submit"}, {"do": "submit", "job": 3},
                    {"do": "submit", "job": {"program": ["x"], "chdir": "relative"}},
                    {"do": "submit", "job": {"program": ["x"], "chdir": "/", "nodes": -1}},
                    {"do": "submit", "job": {"program": ["x"], "chdir": "/", "nodes": 2 ** 63}},
                    {"do": "submit", "job": {"program": ["a\0b"], "chdir": "/"}},
                    {"do": "submit", "job": {"program": ["x"], "chdir": "/", "what": 1}},
                    {"do": "submit", "job": {"program": ["x"], "chdir": "/"}, "wait": "yes"},
                    {"do": "submit", "job": {"program": ["x"], "chdir": "/", "script": "x" * 2 ** 21}},
                    {"do": "cancel"}, {"do": "cancel", "jobs": [0]}, {"do": "cancel", "jobs": [-1]},
                    {"do": "cancel", "jobs": [2 ** 40]}, {"do": "cancel", "jobs": "all"},
                    {"do": "queue", "jobs": 1}, {"do": "history", "job": 5},
                    {"do": "drain", "nodes": 3, "health": "up"},
                    {"do": "drain", "nodes": "0-9", "health": "draining"},
                    {"do": "drain", "nodes": "0", "health": "down"},
                    {"do": "resize", "job": 1, "nodes": 1}):
        answer = c.ask(request)
        assert answer["ok"] is False and answer["code"] == 2 and answer["error"], request
    assert c.queue() == {}
    assert c.submit("/bin/sleep", 0) == 1


def test_noise_and_half_messages_disturb_nobody(cluster):
    c = cluster("2x1")
    draws = random.Random(7)
    whole = json.dumps({"do": "submit", "job": {"program": ["/bin/true"], "chdir": "/",
                                                "output": "/dev/null"}}).encode() + b"\n"
    open_ones = []
    for turn in range(200):
        connection = connect(c)
        line = bytearray(whole)
        for _ in range(draws.randrange(4)):
            line[draws.randrange(len(line))] = draws.randrange(256)
        try:
            connection.sendall(line[:draws.randrange(len(line))] if turn % 2 else line)
        except OSError:
            pass
        open_ones.append(connection)
    deep = connect(c)
    deep.sendall(b'{"do": "queue", "jobs": ' + b"[" * 2_000_000 + b"\n")
    assert b"JSON" in deep.recv(2 ** 16)
    deep.close()
    too_long = connect(c)
    with pytest.raises(OSError):
        for _ in range(100):
            too_long.sendall(b"x" * 2 ** 16)
        raise OSError if too_long.recv(1) == b"" else AssertionError
    begin = time.monotonic()
    assert c.ask({"do": "nodes"})["ok"]
    assert time.monotonic() - begin < 2
    for connection in open_ones:
        connection.close()


def test_idle_connections_and_slow_readers_delay_nobody(cluster):
    c = cluster("2x1")
    for number in range(20):
        c.ask({"do": "submit", "job": {"program": ["/bin/true"], "chdir": "/", "hold": True,
                                       "name": "n" * 200, "output": "/dev/null"}})
    idle = [connect(c) for _ in range(900)]
    slow = connect(c)
    slow.setblocking(False)
    try:
        for _ in range(2000):
            slow.send(b'{"do": "queue"}\n')
    except BlockingIOError:
        pass
    begin = time.monotonic()
    for _ in range(5):
        assert c.ask({"do": "queue"})["ok"]
    assert time.monotonic() - begin < 5
    for connection in idle + [slow]:
        connection.close()


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"),
                    reason="only root can act as somebody else")
def test_users_touch_their_own_jobs_only(cluster):
    c = cluster("2x1")
    os.chmod(c.folder, 0o755)
    os.chmod(c.state, 0o711)
    others = c.folder / "theirs"
    others.mkdir(mode=0o777)
    os.chmod(others, 0o777)
    mine = c.submit("--hold", "/bin/sleep", 100)

    def as_nobody(*words):
        program = others / "ductile"
        if not program.exists():
            shutil.copy(PROGRAM, program)
        return subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program,
                               *map(str, words)], env=c.environment, cwd=others, text=True,
                              capture_output=True, timeout=60)

    assert f"job {mine} is not yours" in as_nobody("cancel", mine).stderr
    assert "only operators" in as_nobody("drain", 0).stderr
    assert json.loads(as_nobody("history", "--json").stdout)["jobs"] == []
    done = as_nobody("submit", "--wait", c.script("id -u; id -g; id -G"))
    assert done.returncode == 0, done.stderr
    assert (others / "ductile-2.out").read_text() == "65534\n65534\n65534\n"
    assert (others / "ductile-2.out").stat().st_uid == 65534
    # What it may not write is not written for it.
    done = as_nobody("submit", "--wait", "-o", c.folder / "no", "/bin/true")
    assert done.returncode == 1 and "cannot be written: Permission denied" in done.stderr
    # A job of somebody else is seen in the queue, and its operator may end it.
    job = c.ask({"do": "queue"})["jobs"]
    assert [row["user"] for row in job] == ["root"]
    as_nobody("submit", "/bin/sleep", 100)
    c.run("cancel", 4)
    assert c.wait_for_end(4)[0]["state"] == "CANCELLED"


def test_what_a_job_leaves_behind_is_removed(cluster):
    c = cluster("2x1")
    script = c.script("setsid sleep 1000 & (trap '' TERM HUP; sleep 1000) & exit 0")
    c.run("submit", "--wait", script)
    done = subprocess.run(["pgrep", "-f", "^sleep 1000$"], capture_output=True, text=True)
    ours = set(processes_with(f"CLUSTER_TEST_OF={c.folder}"))
    assert ours & set(map(int, done.stdout.split())) == set()
