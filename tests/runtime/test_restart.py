"""`ductile run --kind restart`: programs that stop at a checkpoint and are started again at another size."""

import contextlib
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import time

import pytest

from conftest import PATIENCE, PROGRAM, ROOT, processes_with, run
from programs import told_of

RELAX = ROOT / "examples/restart/relax.py"


def order(job, what="resize", **more):
    """What is answered to an order at the control socket."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(job.socket)
        connection.sendall(json.dumps({"do": what, **more}).encode() + b"\n")
        return json.loads(connection.makefile().readline())


def wait_for(what, job):
    end = time.monotonic() + PATIENCE
    while not what():
        assert job.process.poll() is None, job.process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


# Counts in a file; `stops` is called by the signal.
COUNTER = """#!/bin/bash
PATH={path}:$PATH
cd {folder}
echo "size $DUCTILE_SIZE, restart $DUCTILE_RESTART$1"
trap 'stops' USR1
stops() {{ exit 85; }}
{text}
touch begun
until [ -e hurry ]; do sleep 0.01; done
echo end
"""


@pytest.fixture
def counter(start, tmp_path):

    def starter(text="", *options, arguments=(), size=2):
        program = tmp_path / "program"
        program.write_text(COUNTER.format(path=pathlib.Path(PROGRAM).parent, folder=tmp_path, text=text))
        program.chmod(0o755)
        job = start("none", size, program, *arguments, is_patient=False,
                    options=["--kind", "restart", "--max", 8, "--signal", "USR1", "--settle", "0.2", *options])
        wait_for((tmp_path / "begun").exists, job)
        return job

    return starter


def program_of(job):
    """Its pid."""
    [pid] = [pid for pid in processes_with(job.mark) if pid != job.process.pid
             and told_of(pid, "cmdline").split(b"\0")[1:2] == [
                 str(job.report.parent / "program").encode()]]
    return pid


def test_fifty_resizes_of_a_counter(counter, tmp_path):
    """Every number is counted once, whatever the sizes."""
    job = counter("""
next=0; [ ! -e state ] || read -r next < state
trap - USR1; stop=; trap stop=1 USR1
touch begun
ductile ack 2> ack.err
until [ -e hurry ]; do
  next=$((next + 1)); echo $next >> counted
  [ -z "$stop" ] || { echo $next > state.new; mv state.new state; exit 85; }
  sleep 0.001
done""", "--settle", "60")
    draws = random.Random(2)
    size = 2
    for _ in range(50):
        old, size = size, draws.choice([other for other in range(1, 9) if other != size])
        (tmp_path / "begun").unlink()
        done = order(job, size=size)
        assert (done["ok"], done["from"], done["size"]) == (True, old, size), done
        wait_for((tmp_path / "begun").exists, job)
    code, out, err = job.finish()
    assert (code, err) == (0, "")
    assert out.endswith("end\n")
    counted = [int(line) for line in (tmp_path / "counted").read_text().split()]
    assert counted == list(range(1, len(counted) + 1))
    assert len(job.events("resized")) == job.events("ended")[0]["resizes"] == 50


def test_the_example(start, tmp_path):
    words = [str(tmp_path / "state.json"), 2000, 1000]
    expected = subprocess.run([RELAX, *map(str, words)], capture_output=True, text=True, check=True).stdout
    job = start("none", 2, RELAX, *words, is_patient=False,
                options=["--kind", "restart", "--signal", "USR1", "--max", 4, "--settle", "0.1"])
    wait_for(lambda: os.path.exists(job.socket), job)
    for size in (3, 1):
        time.sleep(0.2)
        with contextlib.suppress(FileNotFoundError, ConnectionError, json.JSONDecodeError):  # it may be at its end
            order(job, size=size)
    code, out, err = job.finish()
    assert (code, out) == (0, expected), err
    assert job.events("resized")


def test_its_size_is_in_its_words(counter):
    job = counter(arguments=["-n{n}"])
    assert order(job, size=4)["ok"]
    code, out, _ = job.finish()
    assert (code, out) == (0, "size 2, restart 0-n2\nsize 4, restart 1-n4\nend\n")


def test_a_command_restarts_it(counter, tmp_path):
    job = counter("", "--restart", f"exec {tmp_path}/program ' from {{n}} of $DUCTILE_SIZE'", "--cpus", "0")
    done = order(job, size=3, cpus="0-1")
    assert (done["ok"], done["cpus"]) == (True, "0-1")
    assert done["pause_s"] >= 0 and done["checkpoint_s"] >= 0
    code, out, _ = job.finish()
    assert (code, out) == (0, "size 2, restart 0\nsize 3, restart 1 from 3 of $DUCTILE_SIZE\nend\n")


def test_a_command_makes_the_checkpoint(start, counter, tmp_path):
    job = counter("stops() { echo 'no signal is sent'; }", "--checkpoint",
                  f"echo $DUCTILE_SIZE to $DUCTILE_NEW_SIZE > {tmp_path}/saved && kill -TERM $DUCTILE_PID")
    # With a signal of the options, both.
    assert order(job, size=3)["ok"]
    assert (tmp_path / "saved").read_text() == "2 to 3\n"
    assert job.finish()[0] == 0


# Stops, with exit code 0, when a file is there; `hurry` ends it, with exit code 0 as well.
STOPPER = """#!/bin/bash
cd {folder}
rm -f STOP
echo "size $DUCTILE_SIZE, restart $DUCTILE_RESTART"
touch begun
until [ -e STOP -a ! -e busy ] || [ -e hurry ]; do sleep 0.01; done
[ ! -e hurry ] || {{ echo end; exit 0; }}
exit {code}
"""


@pytest.fixture
def stopper(start, tmp_path):
    """Told to stop by a command alone."""

    def starter(code, *options, command="touch {folder}/STOP"):
        program = tmp_path / "program"
        program.write_text(STOPPER.format(folder=tmp_path, code=code))
        program.chmod(0o755)
        job = start("none", 2, program, is_patient=False,
                    options=["--kind", "restart", "--max", 8, "--settle", "0.2", "--checkpoint",
                             command.format(folder=tmp_path), *options])
        wait_for((tmp_path / "begun").exists, job)
        return job

    return starter


@pytest.mark.parametrize("code, options", [(0, ["--checkpoint-exit", "0"]), (15, [])])
def test_a_command_alone_makes_the_checkpoint(stopper, code, options):
    job = stopper(code, *options)
    assert order(job, size=3)["ok"]
    ended, out, _ = job.finish()
    assert (ended, out) == (0, "size 2, restart 0\nsize 3, restart 1\nend\n")


@pytest.mark.parametrize("code, options", [(0, ["--checkpoint-exit", "0"]), (15, [])])
def test_who_stops_too_late_after_a_command_is_started_again(stopper, tmp_path, code, options):
    (tmp_path / "busy").touch()
    job = stopper(code, "--checkpoint-timeout", "0.3", *options)
    assert order(job, size=3)["error"] == "the program has not stopped at a checkpoint for 0.3 s"
    (tmp_path / "begun").unlink()
    (tmp_path / "busy").unlink()
    wait_for((tmp_path / "begun").exists, job)
    ended, out, _ = job.finish()
    assert (ended, out) == (0, "size 2, restart 0\nsize 2, restart 1\nend\n")


def test_who_is_done_is_not_started_again_whatever_the_command_says(stopper):
    job = stopper(0)
    assert order(job, size=3)["error"] == "the job has ended"
    assert job.finish()[:2] == (0, "size 2, restart 0\n")


def test_who_is_ended_while_its_checkpoint_is_made_stays_so(stopper, tmp_path):
    job = stopper(15, command="touch {folder}/STOP; sleep 0.5; touch {folder}/saving; sleep 100")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(job.socket)
        connection.sendall(b'{"do":"resize","size":3}\n')
        wait_for((tmp_path / "saving").exists, job)  # the program has ended
        job.process.send_signal(signal.SIGTERM)
        code, out, _ = job.finish()
    assert (code, out) == (128 + signal.SIGTERM, "size 2, restart 0\n")


def test_a_checkpoint_that_fails(counter, tmp_path):
    job = counter("trap '' USR1", "--checkpoint", "echo no room >&2; exit 3")
    failed = order(job, size=4)
    assert (failed["ok"], failed["size"]) == (False, 2)
    assert failed["error"] == "the checkpoint failed with exit code 3"
    assert job.status()["size"] == 2
    code, out, err = job.finish()
    assert (code, out) == (0, "size 2, restart 0\nend\n")
    assert "no room" in err


def test_who_does_not_stop_goes_on(counter, tmp_path):
    """And is started again at its old size if it stops after all."""
    job = counter("stops() { until [ -e late ]; do sleep 0.01; done; exit 85; }", "--checkpoint-timeout", "0.3")
    failed = order(job, size=4)
    assert failed["error"] == "the program has not stopped at a checkpoint for 0.3 s"
    assert job.status()["size"] == 2
    (tmp_path / "begun").unlink()
    (tmp_path / "late").touch()
    wait_for((tmp_path / "begun").exists, job)
    code, out, _ = job.finish()
    assert (code, out) == (0, "size 2, restart 0\nsize 2, restart 1\nend\n")
    assert [event["error"] for event in job.events("aborted")] == [failed["error"]]


def test_who_dies_at_the_checkpoint_goes_on_from_the_one_before(counter):
    job = counter('stops() { [ $DUCTILE_RESTART = 0 ] && kill -SEGV $$; exit 85; }')
    failed = order(job, size=4)
    assert (failed["ok"], failed["size"]) == (False, 2)
    assert failed["error"] == "the program ended at the checkpoint with exit code 139"
    assert order(job, size=4)["ok"]
    code, out, _ = job.finish()
    assert (code, out) == (0, "size 2, restart 0\nsize 2, restart 1\nsize 4, restart 1\nend\n")


def test_a_restart_that_fails_goes_on_at_the_old_size(counter):
    job = counter("[ $DUCTILE_SIZE != 5 ] || exit 9", "--cpus", "0")
    failed = order(job, size=5, cpus="0-1")
    assert (failed["ok"], failed["size"], failed["cpus"]) == (False, 2, "0")
    assert failed["error"] == "the program that was started again ended with exit code 9"
    assert job.status()["cpus"] == "0"
    assert order(job, size=3)["ok"]
    code, out, _ = job.finish()
    assert (code, out) == (
        0, "size 2, restart 0\nsize 5, restart 1\nsize 2, restart 1\nsize 3, restart 1\nend\n")


def test_what_cannot_be_started_again_at_all_fails(counter, tmp_path):
    job = counter("", "--restart", "exit 9")
    failed = order(job, size=5)
    assert failed["error"] == "the program that was started again ended with exit code 9"
    code, out, _ = job.finish()
    assert (code, out) == (9, "size 2, restart 0\n")


def test_who_is_at_its_end_is_not_started_again(counter, tmp_path):
    job = counter("stops() { echo done; exit 0; }")
    ended = order(job, size=4)
    assert (ended["ok"], ended["error"]) == (False, "the job has ended")
    assert job.finish()[:2] == (0, "size 2, restart 0\ndone\n")


def test_is_suspended_and_goes_on(counter, start, tmp_path):
    keep = tmp_path / "keep"
    keep.touch()
    job = counter("", "--keep", keep)
    assert order(job, "suspend")["ok"]
    assert job.finish()[:2] == (0, "size 2, restart 0\n")
    assert job.events("ended")[0]["suspended"]
    (tmp_path / "hurry").unlink()
    (tmp_path / "begun").unlink()
    job = counter("", "--go-on", keep, size=3)
    assert job.finish()[:2] == (0, "size 3, restart 1\nend\n")


def test_a_signal_ends_it_whatever_is_under_way(counter):
    job = counter("stops() { :; }; trap 'exit 4' TERM")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(job.socket)
        connection.sendall(b'{"do": "resize", "size": 4}\n')
        wait_for(lambda: job.status()["phase"] == "changing", job)
        job.process.send_signal(signal.SIGTERM)
        assert "the job was ended" in json.loads(connection.makefile().readline())["error"]
    assert job.finish()[0] == 4


@pytest.mark.parametrize("options, error", [
    (["--signal", "STOP"], "--signal: 'STOP' is no signal that a program can be told something by"),
    (["--checkpoint-timeout", "0"], "--checkpoint-timeout"),
    (["--checkpoint-exit", "256"], "--checkpoint-exit"),
    (["--ack-timeout", "1"], "--ack-timeout: this is for --kind script and --kind charm; drop it, or say so"),
])
def test_bad_options(options, error):
    done = run("run", "--kind", "restart", *options, "--", "/bin/true")
    assert done.returncode == 2
    assert error in done.stderr
