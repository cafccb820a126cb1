"""`ductile run` and `ductile resize` with real MPI programs, both MPIs."""

import contextlib
import functools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest

from conftest import EXAMPLES, PATIENCE, PROGRAM, ROOT, connect, example, mpiexec, namespaces, processes_with, run
from programs import told_of

# Rows, columns, iterations, milliseconds per iteration.
PLATE = (120, 80, 500, 200)


@functools.cache
def rigid_output(mpi, *arguments):
    return mpiexec(mpi, 2, example("jacobi_rigid", mpi), *arguments[:3])


# ---- Resizing -----------------------------------------------------------------------------------


def test_grows_and_shrinks_by_hand(mpi, start, tmp_path):
    trace = tmp_path / "trace.json"
    job = start(mpi, 2, "jacobi", *PLATE, options=["--max", 6, "--trace", trace])
    job.wait_until_connected()
    for size in (4, 1, 3):
        done = job.resize(size)
        assert done.returncode == 0, done.stderr
        status = job.status()
        assert (status["size"], status["connected"], status["phase"]) == (size, size, "running")
    code, out, err = job.finish()
    assert (code, err) == (0, "")
    assert out == rigid_output(mpi, *PLATE)
    events = job.events("resized")
    assert [(event["from"], event["to"]) for event in events] == [(2, 4), (4, 1), (1, 3)]
    spans = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
    assert len({span["pid"] for span in spans}) == 3
    assert all(span["dur"] >= 0 for span in spans)
    for event in events:
        rows = {}
        for span in spans:
            if span["pid"] == event["generation"]:
                rows.setdefault(span["tid"], []).append(span)
        old = ["computing", "waiting for the others", "handing over", "waiting for the commit", "leaving"]
        new = ["starting", "waiting for data", "taking over", "waiting for the commit", "going on"]
        assert [[span["name"] for span in rows[row]] for row in sorted(rows)] == [
            ["starting", "agreeing", "gathering", "handing over"], *event["from"] * [old],
            *event["to"] * [new]]
        # Each row without gaps.
        for row in rows.values():
            for one, next_one in zip(row, row[1:]):
                assert one["ts"] + one["dur"] == pytest.approx(next_one["ts"])
    # Of the plate every value goes over once, and to each new process the iteration.
    assert [event["bytes"] for event in events] == [120 * 80 * 8 + 8 * n for n in (4, 1, 3)]


def test_script_compares_with_the_rigid_run(mpi, start):
    job = start(mpi, 2, "jacobi", 60, 60, 250, 200, options=["--max", 4, "--script", "t=0.2:4,t=0.9:1"])
    job.wait_for_resizes(2)
    code, out, err = job.finish()
    assert code == 0, err
    assert "2 resizes, 0 given up, 0 not come to; the output is that of the rigid run" in err
    assert out == rigid_output(mpi, 60, 60, 250)


# The size belongs to the output of this one.
@pytest.mark.parametrize("options, is_same", [([], False), (["--tolerance", 0.5], True),
                                              (["--tolerance", 0.4], False), (["--ignore-lines", "^ends "], True)])
def test_script_finds_a_program_that_gives_other_results(start, options, is_same, mpi="mpich"):
    job = start(mpi, 1, "rank_printer", 20000, options=["--script", "t=0.2:2", *options])
    job.wait_for_resizes(1)
    code, out, err = job.finish()
    assert out == "begins with 1\nends with 2\n"
    assert code == (0 if is_same else 1), err
    assert ("line 2 of the output differs from the rigid run's" in err) != is_same
    assert f"the output is {'' if is_same else 'NOT '}that of the rigid run" in err


def test_a_wrong_pattern_of_lines(mpi="mpich"):
    done = run("run", "--script", "t=1:2", "--ignore-lines", "(", "--", example("rank_printer", mpi), 1)
    assert done.returncode == 2 and "'(' is no pattern" in done.stderr


def test_torture(mpi, start):
    job = start(mpi, 2, "jacobi", 60, 60, 220, 200, options=["--max", 4, "--torture", 2, "--seed", 7])
    job.wait_for_resizes(2)
    code, _, err = job.finish()
    assert code == 0, err
    assert "2 resizes, 0 given up, 0 not come to; the output is that of the rigid run" in err


def test_needs_no_manager(mpi):
    assert mpiexec(mpi, 3, example("jacobi", mpi), 60, 60, 100) == rigid_output(mpi, 60, 60, 100)


def test_fewer_than_20_changed_lines():
    folder = ROOT / "examples" / "jacobi"
    diff = subprocess.run(["diff", folder / "jacobi_rigid.c", folder / "jacobi.c"],
                          stdout=subprocess.PIPE, text=True)
    changed = [line for line in diff.stdout.splitlines() if line.startswith(">")]
    assert 0 < len(changed) < 20


def test_resizes_that_cannot_be(start, mpi="openmpi"):
    job = start(mpi, 2, "jacobi", *PLATE, options=["--max", 3])
    job.wait_until_connected()
    for size, why in ((2, "has 2 processes already"), (4, "are not between 1 and 3")):
        done = job.resize(size)
        assert done.returncode == 1 and why in done.stderr
    code, out, _ = job.finish()
    assert code == 0 and out == rigid_output(mpi, *PLATE)


def test_rigid_jobs_are_not_resized(start, mpi="openmpi"):
    job = start(mpi, 2, "jacobi", 60, 60, 300, 3, options=["--kind", "rigid"], is_patient=False)
    while not os.path.exists(job.socket):
        time.sleep(0.01)
    assert "the job is rigid" in job.resize(3).stderr
    code, out, _ = job.finish()
    assert code == 0 and out == rigid_output(mpi, 60, 60, 300)


def test_a_program_without_the_library_cannot_be_resized(mpi, start):
    job = start(mpi, 2, "jacobi_rigid", 60, 60, 200, 200, options=["--start-limit", 0.5])
    while not os.path.exists(job.socket):
        time.sleep(0.01)
    assert "does not use libductile-app" in job.resize(3).stderr
    # Not only who gave the order hears of it.
    told = [(event["from"], event["to"], event["size"]) for event in job.events("aborted")]
    assert told == [(2, 3, 2)]
    code, out, _ = job.finish()
    assert code == 0 and out == rigid_output(mpi, 60, 60, 200)


def test_a_resize_as_the_program_ends_is_given_up(mpi, start):
    job = start(mpi, 1, "jacobi", 30, 30, 100, 3, is_patient=False)
    job.wait_until_connected()
    done = job.resize(2)
    code, out, _ = job.finish()
    assert code == 0 and out == rigid_output(mpi, 30, 30, 100)
    if done.returncode != 0:  # whoever was faster, also by so much that the manager has gone
        assert "end" in done.stderr or "nobody listens" in done.stderr


def test_a_program_may_refuse(mpi, start):
    job = start(mpi, 2, "rank_printer", 20000, "in the middle of something")
    job.wait_until_connected()
    for _ in range(2):
        done = job.resize(3)
        assert done.returncode == 1
        assert "refused: in the middle of something" in done.stderr
    code, out, _ = job.finish()
    assert (code, out) == (0, "begins with 2\nends with 2\n")


def test_a_process_that_dies_before_it_joins_is_heard(mpi, start, tmp_path):
    """Each time: its words may come later than the end of its connection."""
    job = start(mpi, 2, "dies", tmp_path / "stop")
    job.wait_until_connected()
    for generation in range(1, 7):
        done = job.resize(3)
        assert done.returncode == 1, done.stdout
        assert "has gone" in done.stderr or "exit code 3" in done.stderr
    (tmp_path / "stop").touch()
    code, out, err = job.finish()
    assert (code, out) == (0, "ends\n")
    for generation in range(1, 7):
        assert f"no memory for generation {generation}\n" in err
        assert f"there is no file input.{generation}\n" in err


def test_who_does_not_come_to_the_probe_is_named(mpi, start, tmp_path):
    """After seconds, long before the limit."""
    job = start(mpi, 3, "uneven", tmp_path / "stop", options=["--log", tmp_path / "log", "--probe-limit", 60])
    job.wait_until_connected()
    order = threading.Thread(target=job.resize, args=[2])
    order.start()
    named = re.compile(r"the resize waits: process 1 is at probe \d+ for \d+ s, process 2 is at probe \d+ for "
                       r"\d+ s; 1 of 3 wait at probe \d+\n")
    end = time.monotonic() + PATIENCE
    while not named.search((tmp_path / "log").read_text()):
        assert order.is_alive() and time.monotonic() < end
        time.sleep(0.1)
    job.process.send_signal(signal.SIGTERM)
    order.join()
    aborted, = job.events("aborted")
    assert "the job was ended" in aborted["error"]
    assert job.finish()[0] != 0


@pytest.mark.skipif(os.environ.get("DUCTILE_FULL", "0") == "0", reason="takes 40 s; DUCTILE_FULL=1")
def test_a_probe_limit_is_how_long_it_may_take(start, tmp_path, mpi="mpich"):
    """Also of a process that others have waited for longer than one that comes to no probe is waited for else."""
    job = start(mpi, 3, "uneven", tmp_path / "stop", options=["--probe-limit", 36])
    job.wait_until_connected()
    done = job.resize(2)
    assert "not all processes came to a probe in time" in done.stderr, done.stderr
    job.process.terminate()
    assert job.finish()[0] != 0


# ---- The wrong MPI ------------------------------------------------------------------------------


def test_the_launcher_of_the_other_mpi(mpi):
    other = {"mpich": "openmpi", "openmpi": "mpich"}[mpi]
    done = run("run", "-n", 2, "--mpi", other, "--", example("jacobi", mpi), 30, 30, 10)
    assert done.returncode != 0
    assert f"use ductile run --mpi {mpi}" in done.stderr


def test_the_library_of_the_other_mpi(mpi, tmp_path):
    other = {"mpich": "openmpi", "openmpi": "mpich"}[mpi]
    example("jacobi", other)
    libraries = EXAMPLES.parent / "lib"
    program = tmp_path / "wrong"
    subprocess.run([f"mpicc.{mpi}", ROOT / "examples/jacobi/jacobi.c", "-o", program, "-lm",
                    f"-I{ROOT}/include", f"-L{libraries}", f"-Wl,-rpath,{libraries}",
                    f"-lductile-app-{other}"], check=True, stderr=subprocess.DEVNULL)
    done = subprocess.run([program, "30", "30", "10"], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode != 0
    assert f"link it with libductile-app-{mpi}" in done.stderr


def test_the_mpi_of_a_script_must_be_said(tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nexit 0\n")
    script.chmod(0o755)
    done = run("run", "--", script)
    assert done.returncode == 2 and "say --mpi" in done.stderr


# ---- Exit codes, signals, output ----------------------------------------------------------------


def test_exit_codes_are_passed_on():
    assert run("run", "--kind", "rigid", "--", "true").returncode == 0
    assert run("run", "--kind", "rigid", "--mpi", "none", "--", "sh", "-c", "exit 7").returncode == 7
    done = run("run", "--kind", "rigid", "--mpi", "none", "--", "sh", "-c", "kill -9 $$")
    assert done.returncode == 128 + 9


def test_exit_codes_of_mpi_programs(mpi):
    done = run("run", "-n", 2, "--mpi", mpi, "--kind", "rigid", "--", "sh", "-c", "exit 3")
    assert done.returncode == 3


def test_wrong_calls():
    assert run("run", "--", "no such program").returncode == 2
    assert run("run", "--script", "10:4", "--", "true").returncode == 2
    assert run("run", "-n", 5, "--max", 4, "--kind", "rigid", "--", "true").returncode == 2
    done = run("resize", "--socket", "/nonexistent/socket", 3)
    assert done.returncode == 2 and "nobody listens" in done.stderr


def test_stdin_and_both_outputs_of_a_rigid_program():
    done = run("run", "--kind", "rigid", "--mpi", "none", "--", "sh", "-c", "cat; echo err >&2",
               input="one\ntwo\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "one\ntwo\n", "err\n")


LATER_FIND_NOTHING = "only the first generation of processes reads standard input"
IS_NO_FILE = "standard input is no file and cannot be read again"


@pytest.mark.parametrize("says,from_file,bytes_read,word", [
    ((), True, (5, 0, 0), LATER_FIND_NOTHING),
    (("empty",), True, (5, 0, 0), ""),
    (("again",), True, (5, 5, 5), ""),
    ((), False, (6, 0, 0), ""),
    (("again",), False, (6, 0, 0), IS_NO_FILE),
])
def test_stdin_of_a_malleable_program(mpi, start, tmp_path, says, from_file, bytes_read, word):
    """As under mpiexec; and in the next generations as the program says. A file may stand elsewhere than at its
    beginning."""
    (tmp_path / "input").write_text("123456")
    with open(tmp_path / "input") as file:
        os.lseek(file.fileno(), 1, os.SEEK_SET)
        job = start(mpi, 2, "reads", tmp_path / "stop", *says, stdin=file if from_file else subprocess.PIPE)
    if not from_file:
        job.process.stdin.write("123456")
        job.process.stdin.close()
        job.process.stdin = None
    job.wait_until_connected()
    for size in (3, 2):
        assert job.resize(size).returncode == 0
    (tmp_path / "stop").touch()
    code, out, err = job.finish()
    assert (code, out) == (0, "".join(f"generation {i} reads {n} bytes\n" for i, n in enumerate(bytes_read)))
    assert err.count("standard input") == (1 if word else 0) and word in err


def test_a_resize_before_the_program_says_what_its_stdin_is(mpi, start, tmp_path):
    """The new processes have begun by then: they would find nothing."""
    (tmp_path / "input").write_text("12345")
    with open(tmp_path / "input") as file:
        job = start(mpi, 2, "reads", tmp_path / "stop", "again", tmp_path / "say", stdin=file)
    job.wait_until_connected()
    order = subprocess.Popen([PROGRAM, "resize", "--socket", job.socket, "3"], stderr=subprocess.PIPE, text=True)
    while job.status()["phase"] == "running":
        time.sleep(0.01)
    (tmp_path / "say").touch()
    said = order.communicate(timeout=PATIENCE)[1]
    assert order.returncode == 1 and "only now that it reads its standard input again" in said
    assert job.resize(1).returncode == 0
    (tmp_path / "stop").touch()
    code, out, _ = job.finish()
    assert (code, [line for line in out.splitlines() if "reads" in line]) == (
        0, ["generation 0 reads 5 bytes", "generation 2 reads 5 bytes"])


@pytest.mark.parametrize("is_file", [True, False])
# More than a pipe takes is too much for the mpiexec of MPICH, and that of Open MPI crashes of it once in a
# hundred runs, without Ductile too (docs/guide/malleable-mpi.md): such a run says nothing of Ductile.
@pytest.mark.parametrize("mpi,size", [("mpich", 6), ("openmpi", 300000)])
def test_stdin_of_both_runs_that_are_compared(tmp_path, is_file, mpi, size):
    (tmp_path / "input").write_text(size * "x")
    (tmp_path / "stop").touch()
    command = ["run", "-n", 2, "--script", "t=1000:3", "--", example("reads", mpi), tmp_path / "stop"]
    for _ in range(5):
        if is_file:
            with open(tmp_path / "input") as file:
                done = run(*command, stdin=file)
        else:
            done = run(*command, input=size * "x")
        if "orte_iof_hnp_read_local_handler" not in done.stderr:
            break
    assert (done.returncode, done.stdout) == (0, f"generation 0 reads {size} bytes\n"), done.stderr
    assert "the output is that of the rigid run" in done.stderr


def test_both_runs_do_not_wait_for_the_end_of_an_input_that_they_do_not_read(mpi):
    done = subprocess.Popen([PROGRAM, "run", "-n", "1", "--script", "t=1000:2", "--", example("jacobi", mpi), "30", "30",
                             "10"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.wait(timeout=PATIENCE) == 0
    assert "the output is that of the rigid run" in done.stderr.read()
    for stream in (done.stdin, done.stdout, done.stderr):
        stream.close()


def test_much_output_comes_whole():
    done = run("run", "--kind", "rigid", "--", "seq", 1000000)
    assert done.stdout == "".join(f"{i}\n" for i in range(1, 1000001))


def test_ends_when_nobody_reads(mpi):
    command = f"'{PROGRAM}' run -n 2 -- '{example('jacobi', mpi)}' 30 30 1000000 | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.startswith("iteration 0 ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_the_job(mpi, start, number):
    job = start(mpi, 2, "jacobi", 60, 60, 1000000, 1)
    job.wait_until_connected()
    job.process.send_signal(number)
    code, _, _ = job.finish()
    assert code != 0  # launchers have codes of their own


# ---- Nothing stays ------------------------------------------------------------------------------


def test_leftovers_are_killed(tmp_path):
    mark = f"DUCTILE_TEST={tmp_path}"
    script = "setsid sleep 1000 & (sleep 1000 &) & nohup sleep 1000 >/dev/null 2>&1 & exit 5"
    done = run("run", "--kind", "rigid", "--mpi", "none", "--", "sh", "-c", script,
               env=dict(os.environ, DUCTILE_TEST=str(tmp_path)))
    assert done.returncode == 5
    assert processes_with(mark) == []


def test_leftovers_that_hide_are_killed(tmp_path):
    # Without the environment by which they are known, and with the job's stdout.
    mark = f"DUCTILE_TEST={tmp_path}"
    done = run("run", "--kind", "rigid", "--mpi", "none", "--", "sh", "-c",
               f"env -i {mark} setsid sleep 1000 & exit 5")
    assert done.returncode == 5
    assert processes_with(mark) == []
    # Without that stdout, too, and, where generations are in control groups, in one below their own.
    script = f"""
      group=$(awk '/ - cgroup2 / {{ print $5; exit }}' /proc/self/mountinfo)$(sed -n s/^0:://p /proc/self/cgroup)
      case $group in */ductile.*) ;; *) exit 5 ;; esac
      mkdir "$group/below" || exit 6
      env -i {mark} setsid sleep 1000 >/dev/null 2>&1 &
      echo $! > "$group/below/cgroup.procs" || exit 7
      while [ "$(cat /proc/$!/comm)" != sleep ]; do sleep 0.01; done
      echo "$group"
      exit 5"""
    done = run("run", "--kind", "rigid", "--mpi", "none", "--", "sh", "-c", script)
    assert done.returncode == 5, done.stderr
    assert processes_with(mark) == []
    group = done.stdout.strip()
    assert group == "" or not os.path.exists(group)


def test_a_manager_that_is_killed_takes_its_job_along(mpi, start):
    job = start(mpi, 2, "jacobi", 60, 60, 1000000, 1)
    job.wait_until_connected()
    job.process.kill()
    end = time.monotonic() + 20
    while processes_with(job.mark) and time.monotonic() < end:
        time.sleep(0.05)
    assert processes_with(job.mark) == []


def test_a_process_that_dies_ends_the_job(mpi, start):
    job = start(mpi, 2, "jacobi", 60, 60, 1000000, 1)
    job.wait_until_connected()
    victim = next(pid for pid in processes_with(job.mark)
                  if b"jacobi" in told_of(pid, "comm"))
    os.kill(victim, signal.SIGKILL)
    code, _, _ = job.finish()
    assert code != 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a process that its job cannot kill")
def test_processes_that_cannot_be_killed_are_no_end(tmp_path):
    """Who reads the report must not take what they have for free."""
    # The shell stays: while a process becomes another program its environment reads as empty.
    helper, report, ready = tmp_path / "setpriv", tmp_path / "of nobody" / "report", tmp_path / "ready"
    shutil.copy(shutil.which("setpriv"), helper)
    helper.chmod(0o4755)
    report.parent.mkdir()
    os.chown(report.parent, 65534, 65534)
    for folder in [tmp_path, *tmp_path.parents][:-1]:
        folder.chmod(folder.stat().st_mode | 0o055)
    mark = f"DUCTILE_TEST={tmp_path}"
    try:
        done = run("run", "--kind", "rigid", "--mpi", "none", "--report", report, "--patience", 1, "--", "sh", "-c",
                   f"{helper} --reuid 0 --clear-groups env {mark} sh -c 'touch {ready}; while :; do sleep 1; done' "
                   "> /dev/null 2>&1 & "
                   f"until [ -e {ready} ]; do sleep 0.01; done",
                   user=65534, group=65534, extra_groups=[])
        assert processes_with(mark) != []
    finally:
        for pid in processes_with(mark):
            os.kill(pid, signal.SIGKILL)
    assert done.returncode == 1 and "processes of the job cannot be killed" in done.stderr
    assert [json.loads(line)["event"] for line in report.read_text().splitlines()] == ["started"]


@pytest.mark.parametrize("says,words", [
    (["-n", 3, "--max", 8, "--evolving", "grant", "-c", 1],
     "-n is 2, not 3, --max is 4, not 8, --cores-per-process is 0, not 1, --evolving is deny, not grant\n"),
    (["-n", 2, "--max", 4], None)])
def test_what_a_step_does_not_get_is_told(tmp_path, says, words, mpi="mpich"):
    step = " ".join(map(str, [PROGRAM, "run", *says, "--", example("rank_printer", mpi), 1]))
    done = run("run", "--kind", "steps", "--mpi", "none", "-n", 2, "--max", 4, "--control", tmp_path / "control", "--",
               "sh", "-c", step)
    assert (done.returncode, done.stdout) == (0, "begins with 2\nends with 2\n"), done.stderr
    told = "this is a step of a script, and has what the job has: "
    assert (told + words if words else "") in done.stderr and (told in done.stderr) == bool(words)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_what_comes_after_its_file_was_removed_is_lost(tmp_path, stream):
    """Not what came before, nor what was there before the job."""
    out, report = tmp_path / "out", tmp_path / "report"
    out.write_text("of another job\n")
    to = 1 if stream == "stdout" else 2
    script = (f"echo before >&{to}; until grep -q before {out}; do sleep 0.01; done; rm {out}; echo afterwards >&{to}")
    with open(out, "a") as file:
        done = subprocess.run([PROGRAM, "run", "--kind", "rigid", "--mpi", "none", "--report", report, "--", "sh", "-c",
                               script], timeout=PATIENCE, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: file})
    assert done.returncode == 0
    ended = json.loads(report.read_text().splitlines()[-1])
    assert (ended["lost_output"], ended["lost_why"]) == (len("afterwards\n"), "the file was removed")


# ---- Strangers ----------------------------------------------------------------------------------


VERSION = 2


def hello(token, generation=0, rank=0, size=2, version=VERSION):
    body = token.encode() + struct.pack("<III", rank, size, 1) + struct.pack("<H", 4) + b"host"
    return struct.pack("<IHHI", len(body), version, 1, generation) + body


def is_closed(connection):
    """By the other side, before long."""
    connection.settimeout(PATIENCE)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


# Anybody on this host may come to a port of the loopback; to the job's own folder only its user.
BY_TCP = ["--listen", "127.0.0.2"]


@pytest.mark.parametrize("options", [[], BY_TCP])
def test_strangers_are_refused_and_do_no_harm(start, options, mpi="openmpi"):
    job = start(mpi, 2, "jacobi", *PLATE, options=options)
    job.wait_until_connected()
    variables = job.environment()
    address = variables["DUCTILE_MANAGER"]
    good = variables["DUCTILE_TOKEN"]
    numbers = random.Random(1)
    wrong = [
        b"GET / HTTP/1.1\r\n\r\n",
        hello("0" * 32),
        hello("zz" * 16),
        hello(good, generation=9),
        hello(good, rank=5),
        hello(good, rank=0),  # taken
        struct.pack("<IHHI", 0xffffffff, VERSION, 1, 0),
        numbers.randbytes(10000),
    ]
    for bytes_ in wrong:
        with connect(address) as connection:
            with contextlib.suppress(BrokenPipeError):  # refused before it had said all
                connection.sendall(bytes_)
            assert is_closed(connection), bytes_[:50]
    # One who says half and then nothing: he waits, the job does not.
    silent = connect(address)
    silent.sendall(hello(good)[:20])
    assert job.resize(3).returncode == 0
    code, out, err = job.finish()
    assert code == 0 and out == rigid_output(mpi, *PLATE)
    assert err.count("a connection was refused") >= len(wrong)
    silent.close()


@pytest.mark.parametrize("options", [[], BY_TCP])
@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1])
def test_a_library_of_another_version_is_told(start, version, options, mpi="mpich"):
    """And whatever it says meanwhile does not break the connection."""
    job = start(mpi, 2, "jacobi", *PLATE, options=options)
    job.wait_until_connected()
    variables = job.environment()
    words = f"version {version} of the protocol, not {VERSION}; link the program with the libductile-app"
    with connect(variables["DUCTILE_MANAGER"]) as connection:
        connection.settimeout(PATIENCE)
        connection.sendall(hello(variables["DUCTILE_TOKEN"], version=version) + bytes(1 << 20))
        answer = connection.makefile("rb").read()
        connection.sendall(b"more")
    bytes_, its_version, type_, _ = struct.unpack_from("<IHHI", answer)
    assert (its_version, type_, bytes_) == (VERSION, 16, len(answer) - 12)
    assert words in answer[14:].decode()
    code, _, err = job.finish()
    assert code == 0 and words in err


def test_who_is_refused_may_not_stay(start, tmp_path, mpi="mpich"):
    job = start(mpi, 2, "until", tmp_path / "stop", 2000)
    job.wait_until_connected()
    variables = job.environment()
    with connect(variables["DUCTILE_MANAGER"]) as connection:
        connection.sendall(hello(variables["DUCTILE_TOKEN"], version=VERSION - 1))
        connection.settimeout(PATIENCE)
        assert connection.makefile("rb").read()
        end = time.monotonic() + PATIENCE
        with pytest.raises(BrokenPipeError):
            while time.monotonic() < end:
                connection.sendall(b"more")
                time.sleep(0.05)
    (tmp_path / "stop").touch()
    code, _, err = job.finish()
    assert code == 0 and err.count("a connection was refused") == 1


def test_a_program_meets_a_manager_of_another_version(mpi, tmp_path):
    """It hears of it, and does not begin."""
    path = tmp_path / "manager"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        variables = {"DUCTILE_MANAGER": f"unix:{path}", "DUCTILE_TOKEN": 32 * "0", "DUCTILE_GENERATION": "0",
                     "DUCTILE_MPI": mpi}
        program = subprocess.Popen([example("jacobi", mpi), "10", "10", "10"], env=dict(os.environ, **variables),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        connection, _ = listener.accept()
        with connection:
            body = struct.pack("<H", 5) + b"other"
            connection.sendall(struct.pack("<IHHI", len(body), VERSION + 1, 16, 0) + body)
            out, err = program.communicate(timeout=PATIENCE)
    assert program.returncode != 0 and out == ""
    assert f"version {VERSION + 1} of the protocol, not {VERSION}" in err and "link it with" in err


def listening_ports(job, program, generation):
    """Of the loopback, where the processes of this generation of a program wait; they are told to nobody else."""
    inodes = set()
    for pid in processes_with(f"DUCTILE_GENERATION={generation}"):
        process = pathlib.Path(f"/proc/{pid}")
        if (job.mark.encode() in (process / "environ").read_bytes()
                and (process / "comm").read_text().startswith(program)):
            for fd in (process / "fd").iterdir():
                with contextlib.suppress(OSError):
                    inodes.add(os.readlink(fd))
    ports = []
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if (words[1].startswith("0100007F:") and words[3] == "0A"
                and f"socket:[{words[9]}]" in inodes):
            ports.append(int(words[1][9:], 16))
    return ports


def test_strangers_bring_no_data(start, tmp_path):
    """Those who come to the new processes while these wait, because the program postpones."""
    job = start("openmpi", 2, "until", tmp_path / "stop", 20000, 2000, 1500, options=BY_TCP)
    job.wait_until_connected()
    good = job.environment()["DUCTILE_TOKEN"]
    order = threading.Thread(target=lambda: job.resize(3))
    order.start()
    while job.status()["phase"] != "gathering":
        assert order.is_alive()
        time.sleep(0.02)
    ports = listening_ports(job, "until", 1)
    assert len(ports) == 3

    def opening(token, generation=1, rank=0, size=2):
        body = token.encode() + struct.pack("<II", rank, size)
        return struct.pack("<IHHI", len(body), VERSION, 18, generation) + body

    silent = []
    for port in ports:
        for bytes_ in (b"GET / HTTP/1.1\r\n\r\n", opening("0" * 32), opening(good, generation=0),
                       opening(good, rank=7), opening(good, size=9)):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(bytes_)
                assert is_closed(connection), bytes_
        silent.append(socket.create_connection(("127.0.0.1", port)))
        silent[-1].sendall(opening(good)[:20])
    order.join()
    assert [(event["from"], event["to"]) for event in job.events("resized")] == [(2, 3)]
    (tmp_path / "stop").touch()
    code, out, err = job.finish()
    assert (code, out) == (0, "right\n")
    assert err.count("a connection for data was refused") == 5 * len(ports)
    for connection in silent:
        connection.close()


def test_silent_strangers_keep_no_resize_from_others(start, tmp_path, mpi="mpich"):
    """More than are waited for, at every place where a process listens."""
    job = start(mpi, 2, "until", tmp_path / "stop", 20000, 2000, 1000, options=BY_TCP)
    job.wait_until_connected()
    silent = [connect(job.environment()["DUCTILE_MANAGER"]) for _ in range(400)]
    done = []
    order = threading.Thread(target=lambda: done.append(job.resize(3)))
    order.start()
    while job.status()["phase"] != "gathering":
        assert order.is_alive(), done[0].stderr
        time.sleep(0.02)
    for port in listening_ports(job, "until", 1):
        silent += [socket.create_connection(("127.0.0.1", port)) for _ in range(150)]
    order.join()
    assert done[0].returncode == 0, done[0].stderr
    (tmp_path / "stop").touch()
    assert job.finish()[:2] == (0, "right\n")
    for connection in silent:
        connection.close()


def test_a_flood_of_connections_keeps_no_resize(start, tmp_path, mpi="mpich"):
    """Those that come and go, as fast as they can, and say nothing or nonsense."""
    job = start(mpi, 2, "until", tmp_path / "stop", 20000, 2000, options=[*BY_TCP, "--log", tmp_path / "log"])
    job.wait_until_connected()
    address = job.environment()["DUCTILE_MANAGER"]
    is_over, count = threading.Event(), [0, 0]

    def flood(own, bytes_):
        while not is_over.is_set():
            with contextlib.suppress(OSError), connect(address) as connection:
                connection.sendall(bytes_)
                count[own] += 1

    floods = [threading.Thread(target=flood, args=arguments) for arguments in ((0, b""), (1, b"x" * 100))]
    for one in floods:
        one.start()
    try:
        for size in (3, 2):
            done = job.resize(size)
            assert done.returncode == 0, done.stderr
    finally:
        is_over.set()
        for one in floods:
            one.join()
    assert min(count) > 100
    (tmp_path / "stop").touch()
    assert job.finish()[:2] == (0, "right\n")


def test_a_host_that_has_vanished_is_asked(start, mpi="openmpi"):
    """Both ends of each connection have the system send something when it has been still for a minute."""
    job = start(mpi, 2, "jacobi", *PLATE, options=BY_TCP)
    job.wait_until_connected()
    host, port = job.environment()["DUCTILE_MANAGER"].split(":")
    place = f"{socket.inet_aton(host)[::-1].hex().upper()}:{int(port):04X}"
    end = time.monotonic() + PATIENCE
    while True:
        # Of each connection: this end, the other one, its state, and which timer runs: 02 is this one.
        lines = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        timers = [(place == words[1], words[5]) for words in lines if place in words[1:3] and words[3] == "01"]
        asks = [timer.startswith("02:") and int(timer[3:], 16) <= 60 * os.sysconf("SC_CLK_TCK") for _, timer in timers]
        if sorted(is_manager for is_manager, _ in timers) == [False, False, True, True] and all(asks):
            break
        assert time.monotonic() < end, timers
        time.sleep(0.05)
    assert job.finish()[0] == 0


def test_a_job_on_one_host_is_reached_by_its_user_alone(start, tmp_path, mpi="openmpi"):
    job = start(mpi, 2, "until", tmp_path / "stop", 20000, 2000, 500)
    job.wait_until_connected()
    folder = pathlib.Path(job.environment()["DUCTILE_MANAGER"].removeprefix("unix:")).parent
    assert folder.stat().st_mode & 0o777 == 0o700
    order = threading.Thread(target=lambda: job.resize(3))
    order.start()
    while job.status()["phase"] != "gathering":
        assert order.is_alive()
        time.sleep(0.02)
    assert len(list(folder.glob("data.1.*"))) == 3
    assert listening_ports(job, "until", 1) == []
    order.join()
    assert not list(folder.glob("data.*"))
    (tmp_path / "stop").touch()
    assert job.finish()[:2] == (0, "right\n")
    assert not folder.exists()


def test_what_a_killed_manager_has_left_is_removed_by_the_next_one(start, tmp_path, mpi="openmpi"):
    """Its folder, and the shared memory of its program, of which it is told by the folder."""
    job = start(mpi, 2, "until", tmp_path / "stop", 100)
    job.wait_until_connected()
    folder = pathlib.Path(job.environment()["DUCTILE_MANAGER"].removeprefix("unix:")).parent
    # All at once, so that nobody can put away his own.
    left = {*processes_with(job.mark), job.process.pid}
    for pid in left:
        os.kill(pid, signal.SIGSTOP)
    memory = {path for pid in left for path in shared_memory_of(pid)}
    assert memory
    memory.add(pathlib.Path(f"/dev/shm/osc_sm.test.{os.getpid()}"))
    for path in memory:
        path.touch()
    sessions = {path for path in pathlib.Path("/tmp").glob("ompi.*/pid.*") if int(path.suffix[1:]) in left}
    assert sessions
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    job.process.communicate()
    while processes_with(job.mark):
        time.sleep(0.02)
    assert folder.exists() and all(path.exists() for path in {*memory, *sessions})
    others = folder.with_name(f"ductile-run.{os.geteuid()}.other{os.getpid()}")
    others.mkdir()
    (others / "host").write_text("another\nstart of another\n")
    assert run("run", "--kind", "rigid", "--mpi", mpi, "--", "true").returncode == 0
    assert folder.exists()
    for path in (folder, others):
        os.utime(path, (time.time() - 61,) * 2)
    assert run("run", "--kind", "rigid", "--mpi", mpi, "--", "true").returncode == 0
    assert not folder.exists() and not any(path.exists() for path in {*memory, *sessions})
    assert others.exists()  # whatever it is that cannot be seen from here
    shutil.rmtree(others)


@pytest.mark.parametrize("folder", ["/nonexistent/folder", "/" + 60 * "x"])
def test_sockets_are_elsewhere_where_tmpdir_is_no_place_for_them(start, monkeypatch, folder, mpi="mpich"):
    monkeypatch.setenv("TMPDIR", folder)
    job = start(mpi, 2, "jacobi", *PLATE)
    job.wait_until_connected()
    assert job.environment()["DUCTILE_MANAGER"].startswith("unix:/tmp/")
    assert job.finish()[0] == 0


def test_sockets_of_tcp_are_told():
    words = namespaces()
    # What is in them stays to be seen: the program may be there.
    read_only = " && ".join(f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder}"
                            for folder in ("/tmp", "/dev/shm"))
    done = subprocess.run([*words, "sh", "-c", read_only + ' && exec "$@"', "sh", PROGRAM, "run", "--mpi", "mpich", "--", "true"],
                          capture_output=True, text=True, timeout=PATIENCE,
                          env={name: value for name, value in os.environ.items() if name != "TMPDIR"})
    assert done.returncode == 0, done.stderr
    assert "there is no place for the sockets of the job, which are of TCP now: a folder in /tmp or /dev/shm: " in done.stderr


def shared_memory_of(pid):
    with contextlib.suppress(OSError):
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            if "/dev/shm/" in line:
                yield pathlib.Path(line.split()[-1])


def test_the_control_socket_is_for_its_user_alone(start):
    job = start("mpich", 1, "jacobi", *PLATE)
    job.wait_until_connected()
    assert os.stat(job.socket).st_mode & 0o077 == 0
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(job.socket)
        answers = connection.makefile()
        for line, error in (("nonsense", "JSON object"), ('{"do":"dance"}', "there are the orders"),
                            ('{"do":"resize","size":-1}', "number of processes"),
                            ('{"do":"resize","size":"x"}', "number of processes"),
                            ('[' * 2000, "JSON object")):
            connection.sendall(line.encode() + b"\n")
            assert error in answers.readline()
        with contextlib.suppress(ConnectionError):
            connection.sendall(b"x" * (2 << 20))  # no line at all
        assert is_closed(connection)
    assert job.process.poll() is None
    assert job.resize(2).returncode == 0
    code, _, _ = job.finish()
    assert code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_gives_no_orders(start):
    job = start("mpich", 1, "jacobi", *PLATE)
    job.wait_until_connected()
    # The way there is open to all, so that it is the manager who refuses.
    folder = pathlib.Path(job.socket).parent
    while folder != pathlib.Path("/"):
        folder.chmod(folder.stat().st_mode | 0o055)
        folder = folder.parent
    stranger = ("import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
                "s.settimeout(100); s.sendall(b'{\"do\":\"stop\"}\\n'); print(s.recv(100))")

    def as_nobody():
        return subprocess.run([sys.executable, "-c", stranger, job.socket], user=65534, group=65534,
                              extra_groups=[], capture_output=True, text=True, timeout=PATIENCE)

    assert "PermissionError" in as_nobody().stderr
    os.chmod(job.socket, 0o666)
    done = as_nobody()
    assert done.stdout == "b''\n" or "Reset" in done.stderr or "BrokenPipe" in done.stderr
    assert job.resize(2).returncode == 0
    code, out, err = job.finish()
    assert (code, out) == (0, rigid_output("mpich", *PLATE))
    assert err.count("an order of another user was refused") == 1


def test_two_jobs_do_not_take_one_socket(start, tmp_path):
    job = start("mpich", 1, "jacobi", 60, 60, 300, 3)
    job.wait_until_connected()
    done = run("run", "--kind", "rigid", "--control", job.socket, "--", "true")
    assert done.returncode == 2 and "somebody listens" in done.stderr
    (tmp_path / "file").write_text("precious")
    done = run("run", "--kind", "rigid", "--control", tmp_path / "file", "--", "true")
    assert done.returncode == 2 and (tmp_path / "file").read_text() == "precious"
    assert job.finish()[0] == 0
