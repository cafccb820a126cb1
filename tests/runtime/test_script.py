"""`ductile run --kind script`: programs that stay, hear of their size by lines, a file or a signal, and answer."""

import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time

import pytest

from conftest import PATIENCE, PROGRAM, ROOT, processes_with, run

MASTER = ROOT / "examples/script/master.sh"


def order(job, **what):
    """What is answered to an order at the control socket."""
    import json
    import socket
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(job.socket)
        connection.sendall(json.dumps({"do": "resize", **what}).encode() + b"\n")
        return json.loads(connection.makefile().readline())


def wait_for(what, job):
    end = time.monotonic() + PATIENCE
    while not what():
        assert job.process.poll() is None, job.process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


def places(job):
    """The processors of each process of the job."""
    found = set()
    for pid in processes_with(job.mark):
        if pid == job.process.pid:
            continue
        try:
            found.add(tuple(sorted(os.sched_getaffinity(pid))))
        except ProcessLookupError:
            pass
    return found


@pytest.fixture
def script(start, tmp_path):
    """A script of the shell as such a job; it has begun when it has made the file `begun`."""

    def starter(text, *options, size=2):
        program = tmp_path / "program"
        program.write_text(f"#!/bin/bash\nPATH={pathlib.Path(PROGRAM).parent}:$PATH\ncd {tmp_path}\n{text}")
        program.chmod(0o755)
        job = start("none", size, program, options=["--kind", "script", "--max", 8, *options], is_patient=False)
        wait_for((tmp_path / "begun").exists, job)
        return job

    return starter


# Until the test is done with it: job.finish() makes this file.
UNTIL_THE_END = 'touch begun; until [ -e hurry ]; do sleep 0.01; done\n'


def test_fifty_resizes_of_the_example(start):
    chunks = 1500
    job = start("none", 2, MASTER, 400 * chunks, chunks, options=["--kind", "script", "--max", 8],
                is_patient=False)
    wait_for(lambda: os.path.exists(job.socket), job)
    draws = random.Random(1)
    size = 2
    for _ in range(50):
        old, size = size, draws.choice([other for other in range(1, 9) if other != size])
        done = order(job, size=size)
        assert (done["ok"], done["from"], done["size"]) == (True, old, size), done
    code, out, err = job.finish()
    n = 400 * chunks
    assert (code, err) == (0, "")
    assert out == f"the sum of the squares of 1 to {n} is {n * (n + 1) * (2 * n + 1) // 6}\n"
    assert len(job.events("resized")) == job.events("ended")[0]["resizes"] == 50


def test_by_a_signal_and_the_command(script):
    job = script("""
trap 'read -r size cpus hosts < $DUCTILE_RESIZE_FILE; echo "$size $cpus $hosts"; ductile ack' USR1
echo "begins with $DUCTILE_SIZE"
""" + UNTIL_THE_END, "--signal", "USR1", "--cpus", "0")
    assert order(job, size=5)["ok"]
    assert order(job, size=1, cpus="0-1")["cpus"] == "0-1"
    assert job.status()["size"] == 1
    assert job.status()["cpus"] == "0-1"
    assert run("resize", "--socket", job.socket, 3).stdout == "resized from 1 to 3 processes; they paused for 0 ms\n"
    assert job.finish() == (0, "begins with 2\n5 0 -\n1 0-1 -\n3 0-1 -\n", "")


def test_its_processes_are_on_its_processors(script):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor")
    job = script("""
(until [ -e hurry ]; do sleep 0.01; done) &
while read -r size cpus _; do echo "$size" >&$DUCTILE_RESIZE_FD; done <&$DUCTILE_RESIZE_FD &
""" + UNTIL_THE_END + "kill %2", "--cpus", "0")
    assert places(job) == {(0,)}
    assert order(job, size=4, cpus="0-1")["ok"]
    assert places(job) == {(0, 1)}
    assert order(job, size=2, cpus="1")["ok"]
    wait_for(lambda: places(job) == {(1,)}, job)
    assert job.finish()[0] == 0


def test_takes_a_part_or_refuses(script):
    job = script("""
trap 'read -r size _ < $DUCTILE_RESIZE_FILE
case $size in
  8) ductile ack 6 ;;
  1) ductile ack 9 || echo "not taken"; ductile ack 4 ;;
  3) ductile ack --refuse "a chunk is not done" ;;
  5) ductile ack 4 ;;
esac' USR1
""" + UNTIL_THE_END, "--signal", "USR1")
    part = order(job, size=8)
    assert (part["ok"], part["from"], part["to"], part["size"]) == (True, 2, 8, 6)
    assert order(job, size=1)["size"] == 4
    refused = order(job, size=3)
    assert (refused["ok"], refused["size"]) == (False, 4)
    assert refused["error"] == "the program refuses: a chunk is not done"
    assert order(job, size=5)["error"] == "the program keeps its size"
    code, out, err = job.finish()
    assert (code, out) == (0, "not taken\n")
    assert "9 is not between the 6 that it has and the 1 that it is to have" in err
    assert [event["error"] for event in job.events("aborted")] == [refused["error"], "the program keeps its size"]


def test_hears_on_which_hosts_it_is(script):
    job = script("""
touch begun
while read -r size cpus hosts <&$DUCTILE_RESIZE_FD; do
  echo "$size on $hosts"
  echo $size >&$DUCTILE_RESIZE_FD
done""", "--hosts", "h1:2,h2:4,h3:2")
    assert order(job, size=5)["hosts"] == {"h1": 2, "h2": 3}
    assert order(job, size=3, hosts="h3:2,h2:1")["size"] == 3
    job.process.send_signal(signal.SIGTERM)
    _, out, _ = job.finish()
    assert out == "5 on h1:2,h2:3\n3 on h3:2,h2:1\n"


def test_who_is_silent_refuses(script, tmp_path):
    """What it says too late is not taken, and another order only when it has said that it has its old size."""
    job = script("""
while read -r size _; do
  echo "$size" >> heard
  until [ -e awake ]; do sleep 0.01; done
  echo "$size" >&$DUCTILE_RESIZE_FD
done <&$DUCTILE_RESIZE_FD &
""" + UNTIL_THE_END + "kill %1", "--ack-timeout", "0.3")
    silent = order(job, size=4)
    assert (silent["ok"], silent["size"]) == (False, 2)
    assert silent["error"] == "the program has not answered for 0.3 s"
    again = order(job, size=3)
    assert again["error"] == "the program has not answered that it was to have 2 again"
    (tmp_path / "awake").touch()
    wait_for(lambda: order(job, size=3)["ok"], job)
    assert (tmp_path / "heard").read_text() == "4\n2\n3\n"
    code, _, err = job.finish()
    assert code == 0
    assert "the order was given up before that; the program is to have 2" in err


def test_nonsense_and_orders_that_are_withdrawn(script):
    job = script("""
while read -r size _; do
  if [ $size = 4 ]; then echo many; echo 70000000000; printf 'ok\\n'; else echo refuse no; fi >&$DUCTILE_RESIZE_FD
done <&$DUCTILE_RESIZE_FD &
""" + UNTIL_THE_END + "kill %1")
    assert order(job, size=4)["ok"]
    assert order(job, size=3)["error"] == "the program refuses: no"
    assert order(job, size=4)["error"] == "the job has 4 processes already"
    assert order(job, size=9)["error"] == "9 processes are not between 1 and 8"
    assert job.order("suspend")["error"] == "there is no place for its data"
    code, _, err = job.finish()
    assert code == 0
    assert "the program has said 'many': a program writes a size, 'ok' or 'refuse WHY'" in err
    assert "the program has said '70000000000'" in err


def test_no_other_user_can_speak_to_it(script, tmp_path):
    script('echo "$DUCTILE_ACK" > where\n' + UNTIL_THE_END)
    where = pathlib.Path((tmp_path / "where").read_text().strip())
    assert where.is_socket()
    assert where.parent.stat().st_mode & 0o077 == 0
    if os.geteuid() == 0 and shutil.which("setpriv"):
        knock = f"import socket; socket.socket(socket.AF_UNIX).connect({str(where)!r})"
        stranger = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3",
                                   "-c", knock], capture_output=True, text=True)
        assert "PermissionError" in stranger.stderr
    outside = run("ack", env={name: value for name, value in os.environ.items() if name != "DUCTILE_ACK"})
    assert outside.returncode == 2
    assert "this is no program of a `ductile run --kind script` or `--kind restart`" in outside.stderr
    assert run("ack", 5, env=dict(os.environ, DUCTILE_ACK=str(where))).stderr == (
        "ductile: not taken: there is no order for another size; the program has 2\n")


def test_its_end_is_that_of_the_job(script, start, tmp_path):
    job = script("read -r size _ <&$DUCTILE_RESIZE_FD & touch begun; wait; exit 7")
    ended = order(job, size=4)
    assert (ended["ok"], ended["error"]) == (False, "the job has ended")
    assert job.finish()[0] == 7


def test_a_signal_ends_it(script):
    job = script("trap 'echo told; exit 3' TERM\n" + UNTIL_THE_END)
    job.process.send_signal(signal.SIGTERM)
    assert job.finish() == (3, "told\n", "")


def test_the_plan_compares_with_a_rigid_run():
    done = run("run", "--kind", "script", "-n", 2, "--max", 6, "--torture", 4, "--", MASTER, 200000, 400)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"the sum of the squares of 1 to 200000 is {200000 * 200001 * 400001 // 6}\n"
    assert "the output is that of the rigid run" in done.stderr


@pytest.mark.parametrize("options, error", [
    (["--signal", "KILL"], "--signal: 'KILL' is no signal that a program can be told something by; use one of "
                           "USR1, USR2, TERM, INT, HUP, QUIT, CONT, URG, WINCH"),
    (["--ack-timeout", "0"], "--ack-timeout"),
    (["--checkpoint", "true"], "--checkpoint: this is for --kind restart; drop it, or say so"),
    (["--restart", "true"], "--restart: this is for --kind restart; drop it, or say so"),
    (["--mpi", "mpich"], "--mpi: programs of --kind script are started without an MPI"),
])
def test_bad_options(options, error):
    done = run("run", "--kind", "script", *options, "--", "/bin/true")
    assert done.returncode == 2
    assert error in done.stderr


def test_options_of_other_kinds():
    done = run("run", "--kind", "rigid", "--signal", "USR1", "--", "/bin/true")
    assert (done.returncode, done.stderr) == (
        2, "ductile: --signal: this is for --kind script and --kind restart; drop it, or say so\n")


# ---- What the guide shows -----------------------------------------------------------------------

GUIDE = (ROOT / "docs/guide/any-program.md").read_text()


def shown(language, number):
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)[number]


@pytest.mark.parametrize("text, options", [
    ("(" + shown("sh", 0) + ") &\n" + UNTIL_THE_END + "kill $!", []),
    (shown("sh", 1) + UNTIL_THE_END, ["--signal", "USR1"])])
def test_the_shell_of_the_guide(script, text, options):
    job = script("use() { echo uses $1; }\n" + text, *options)
    for size in (5, 1):
        assert order(job, size=size)["ok"]
    assert job.finish() == (0, "uses 5\nuses 1\n", "")


def test_the_python_of_the_guide(script, tmp_path):
    (tmp_path / "loop.py").write_text("""import os, time
def work_is_left(): return not os.path.exists("hurry")
def work_a_little(): open("begun", "w"); time.sleep(0.01)
def use(size): print("uses", size, flush=True)
""" + shown("python", 0))
    job = script("exec python3 loop.py")
    for size in (5, 1):
        assert order(job, size=size)["ok"]
    assert job.finish() == (0, "uses 5\nuses 1\n", "")
