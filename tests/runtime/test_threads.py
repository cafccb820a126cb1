"""`ductile run --kind threads`: programs whose cores change while they run."""

import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import statistics
import stat
import subprocess
import tempfile
import time

import pytest

from conftest import PATIENCE, PROGRAM, check, processes_with, run
from programs import LIBRARIES, compiled, plainly, steps, told_of

CORES = len(os.sched_getaffinity(0))

if not (LIBRARIES / "libductile-threads-preload.so").exists():
    pytest.skip("libductile-threads-preload is not built", allow_module_level=True)


@pytest.fixture(scope="module", params=["gcc", "clang"])
def pils(request, tmp_path_factory):
    return compiled(tmp_path_factory.mktemp(request.param), "examples/threads/pils.c", request.param, "-fopenmp",
                    "-lm")


@pytest.fixture(scope="module")
def gcc_pils(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("gcc"), "examples/threads/pils.c", "gcc", "-fopenmp", "-lm")


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("pool"), "examples/threads/pool.cpp", "g++", "-std=c++20", "-pthread",
                    f"-L{LIBRARIES}", "-lductile-threads", f"-Wl,-rpath,{LIBRARIES}")


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("tasks"), "examples/threads/tasks.cpp", "g++", "-std=c++20",
                    f"-L{LIBRARIES}", "-lductile-threads", "-ltbb", f"-Wl,-rpath,{LIBRARIES}")


class Threads:
    """A job of threads, and a connection for its orders."""

    def __init__(self, folder, cores, *program, options=(), environment=None):
        self.folder, self.mark, self.report = folder, f"DUCTILE_TEST={folder}", folder / "report"
        self.socket = str(folder / "control")
        self.said = folder / "said"
        with open(self.said, "w", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                [PROGRAM, "run", "--kind", "threads", "-n", str(cores), "--control", self.socket, "--report",
                 str(self.report), *map(str, options), "--", *map(str, program)], stdout=subprocess.PIPE,
                stderr=said, text=True, env=dict(os.environ, DUCTILE_TEST=str(folder), **(environment or {})))
        self.connection = socket.socket(socket.AF_UNIX)
        end = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                self.connection.connect(self.socket)
                break
            assert self.process.poll() is None, self.said.read_text()
            assert time.monotonic() < end
            time.sleep(0.01)
        self.answers = self.connection.makefile()

    def order(self, **what):
        self.connection.sendall(json.dumps(what).encode() + b"\n")
        return json.loads(self.answers.readline())

    def resize(self, size, **more):
        return self.order(do="resize", size=size, **more)

    def status(self):
        return self.order(do="status")

    def pid(self, name):
        """Of the process of this name."""
        return next(int(pid) for pid in processes_with(self.mark)
                    if told_of(pid, "comm").decode().strip() == name)

    def wait_for(self, name):
        """Its pid, as soon as it is there."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with contextlib.suppress(StopIteration, FileNotFoundError):
                return self.pid(name)
            time.sleep(0.01)
        raise AssertionError(f"there is no {name}")

    def wait_for_followers(self, count=1):
        end = time.monotonic() + PATIENCE
        while self.status()["processes"] < count:
            assert time.monotonic() < end
            time.sleep(0.01)

    def finish(self):
        out, _ = self.process.communicate(timeout=PATIENCE)
        err = self.said.read_text()
        check(err)
        assert processes_with(self.mark) == []
        return self.process.returncode, out, err


@pytest.fixture
def start(tmp_path):
    jobs = []

    def starter(*arguments, **more):
        jobs.append(Threads(tmp_path, *arguments, **more))
        return jobs[-1]

    yield starter
    for job in jobs:
        if job.process.poll() is None:
            job.process.send_signal(signal.SIGTERM)
            job.process.communicate(timeout=30)


def changes(job, count, sizes, seed=1):
    """Random ones, one after the other; the answers."""
    draws, size, answers = random.Random(seed), job.status()["size"], []
    for _ in range(count):
        size = draws.choice([other for other in sizes if other != size])
        answers.append(job.resize(size))
        time.sleep(draws.uniform(0, 0.002))
    return answers


def test_programs_of_openmp_follow_each_of_200_changes(start, pils):
    job = start(1, pils, 0, 20, options=["--oversubscribe", "--max", 4], environment={"OMP_WAIT_POLICY": "passive"})
    job.wait_for_followers()
    answers = changes(job, 200, [1, 2, 3, 4])
    assert all(answer["ok"] and answer["processes"] == answer["followed"] == 1 for answer in answers), answers
    job.process.send_signal(signal.SIGUSR1)
    code, out, _ = job.finish()
    assert code == 0
    assert out == plainly(pils, steps(out), 20)
    times = [answer["followed_s"] for answer in answers]
    print(f"followed after {1000 * statistics.median(times):.3f} ms (median), {1000 * max(times):.1f} ms at most")


def said(job):
    """What pils tells of each step."""
    lines = [line.split() for line in job.said.read_text().splitlines() if line.startswith("step ")]
    return [dict(zip(words[0::2], map(int, words[1::2]))) for words in lines if len(words) == 10]


@pytest.mark.skipif(CORES < 2, reason="there is one core")
def test_what_a_program_believes_is_what_it_has(start, pils):
    job = start(1, pils, 0, 100, "say")
    job.wait_for_followers()
    for size in (2, 1, 2):
        assert job.resize(size)["followed"] == 1
        now = len(said(job))
        end = time.monotonic() + PATIENCE
        while len(said(job)) < now + 5 and time.monotonic() < end:
            time.sleep(0.01)
        last = said(job)[-1]
        assert {last[what] for what in ("threads", "max", "procs", "affinity")} == {size}
        assert len(os.sched_getaffinity(job.pid("pils"))) == size
    job.process.send_signal(signal.SIGUSR1)
    assert job.finish()[0] == 0


@pytest.mark.skipif(CORES < 2, reason="there is one core")
def test_bound_threads_get_processors_that_they_did_not_begin_with(start, pils):
    job = start(1, pils, 0, 100, environment={"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"})
    job.wait_for_followers()
    assert job.resize(2)["followed"] == 1
    pid = job.pid("pils")

    def places():
        found = set()
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(ProcessLookupError):
                found.add(frozenset(os.sched_getaffinity(int(task.name))))
        return found

    cores = sorted(os.sched_getaffinity(0))[:2]
    end = time.monotonic() + PATIENCE
    while places() != {frozenset([core]) for core in cores}:
        assert time.monotonic() < end, places()
        time.sleep(0.01)
    assert job.resize(1)["followed"] == 1
    job.process.send_signal(signal.SIGUSR1)
    assert job.finish()[0] == 0


@pytest.mark.skipif(CORES < 2, reason="there is one core")
@pytest.mark.parametrize("bind", [{}, {"OMP_PROC_BIND": "close"}], ids=["free", "bound"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_what_is_asked_inside_of_a_region_takes_no_change_away(start, tmp_path, compiler, bind):
    program = compiled(tmp_path, "tests/runtime/inside.c", compiler, "-fopenmp")
    job = start(1, program, options=["--max", 2], environment=bind)
    job.wait_for_followers()
    assert job.resize(2)["followed"] == 1
    code, out, _ = job.finish()
    regions = [tuple(map(int, line.split())) for line in out.splitlines()]
    assert code == 0 and regions[0] == (1, 0) and regions[-1][0] == 2, regions
    assert sum(moved for _, moved in regions[-50:]) == 0, regions


@pytest.mark.parametrize("word, binds", [("False", False), ("false", False), ("TRUE", True), ("close", True)])
def test_who_says_that_threads_are_not_bound_is_heard(start, word, binds):
    job = start(1, "sleep", 1000, environment={"OMP_PROC_BIND": word, "OMP_PLACES": "cores"})
    environment = pathlib.Path(f"/proc/{job.wait_for('sleep')}/environ").read_bytes().split(b"\0")
    assert any(line.startswith(b"DUCTILE_THREADS_BIND=") for line in environment) == binds
    assert job.order(do="stop")["ok"]
    job.finish()


def test_a_program_without_openmp_may_ask_for_it(start, tmp_path):
    job = start(1, compiled(tmp_path, "tests/runtime/weak.c", "gcc"))
    assert job.finish()[:2] == (0, "1 1\n")


def test_any_program_is_kept_to_its_cores(start):
    job = start(1, "sleep", 1000)
    cores = sorted(os.sched_getaffinity(0))
    answer = job.resize(min(2, CORES)) if CORES > 1 else job.resize(1, move=True)
    assert answer["ok"] and answer["processes"] == 0 and answer["unit"] == "cores"
    pid = job.pid("sleep")
    assert sorted(os.sched_getaffinity(pid)) == cores[:2]
    assert job.resize(1, cpus=str(cores[-1]), move=True)["cpus"] == str(cores[-1])
    assert sorted(os.sched_getaffinity(pid)) == cores[-1:]
    if job.status()["kept_by"] == "cpuset" and CORES > 1:
        with pytest.raises(OSError):
            os.sched_setaffinity(pid, cores[:1])
    assert job.order(do="stop")["ok"]
    assert job.finish()[0] == 128 + signal.SIGTERM


@pytest.mark.parametrize("name", ["pool", "tasks"])
def test_pools_of_threads_poll_and_acknowledge(start, request, name):
    program = request.getfixturevalue(name)
    job = start(1, program, 0, 20, options=["--oversubscribe", "--max", 4])
    job.wait_for_followers()
    answers = changes(job, 50, [1, 2, 3, 4])
    assert all(answer["ok"] and answer["processes"] == answer["followed"] == 1 for answer in answers), answers
    job.process.send_signal(signal.SIGUSR1)
    code, out, _ = job.finish()
    assert code == 0
    assert out == plainly(program, steps(out), 20)


def test_a_program_that_does_not_come_to_a_region_has_its_cores_all_the_same(start, pool):
    job = start(1, pool, 0, 50, options=["--oversubscribe"])
    job.wait_for_followers()
    pid = job.pid("pool")
    os.kill(pid, signal.SIGSTOP)
    answer = job.resize(2)
    assert answer["ok"] and (answer["processes"], answer["followed"]) == (1, 0)
    os.kill(pid, signal.SIGCONT)
    # It follows the last one.
    assert job.resize(3)["followed"] == 1
    job.process.send_signal(signal.SIGUSR1)
    assert job.finish()[0] == 0


def test_a_program_that_ends_meanwhile_ends_the_resize(start, pool):
    job = start(1, pool, 0, 50, options=["--oversubscribe"])
    job.wait_for_followers()
    pid = job.pid("pool")
    os.kill(pid, signal.SIGSTOP)
    job.connection.sendall(b'{"do": "resize", "size": 2}\n')
    time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    answer = json.loads(job.answers.readline())
    # Who looks first: its process has gone, or the job has ended.
    assert answer["ok"] or answer["error"] == "the job has ended"
    assert job.finish()[0] == 128 + signal.SIGKILL


def test_no_other_user_reaches_the_page(start, pool, tmp_path):
    job = start(1, pool, 0, 50, options=["--oversubscribe"])
    page = pathlib.Path(job.status()["page"])
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
    if os.geteuid() == 0:
        denied = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "cat", str(page)],
                                capture_output=True, text=True)
        assert denied.returncode != 0 and "Permission denied" in denied.stderr
    # Whatever the program does to its page, the manager lives.
    os.truncate(page, 8)
    assert job.status()["processes"] == 0
    assert job.order(do="stop")["ok"]
    assert job.finish()[0] != 0
    assert not page.exists()


def test_others_of_the_user_list_get_and_set(start, pool, tmp_path):
    look = compiled(tmp_path, "tests/runtime/programs/look/look.c", "gcc", f"-L{LIBRARIES}", "-lductile-threads",
                    f"-Wl,-rpath,{LIBRARIES}")
    job = start(1, pool, 0, 50, options=["--oversubscribe", "--max", 4])
    job.wait_for_followers()
    page = job.status()["page"]
    pid = job.pid("pool")
    assert plainly(look, page) == f"1 cores, processes {pid}\n"
    assert plainly(look, page, 3) == f"3 cores, processes {pid}\n"
    assert job.status()["size"] == 3
    refused = subprocess.run([str(look), page, "9"], capture_output=True, text=True)
    assert refused.returncode == 1
    assert refused.stderr == "Operation canceled: 9 cores are not between 1 and 4\n"
    nothing = subprocess.run([str(look), "/dev/null"], capture_output=True, text=True)
    assert nothing.returncode == 1 and nothing.stderr == "Permission denied\n"
    job.process.send_signal(signal.SIGUSR1)
    assert job.finish()[0] == 0


def test_torture_compares_with_a_run_of_a_constant_size(gcc_pils):
    done = run("run", "--kind", "threads", "-n", 1, "--max", 3, "--oversubscribe", "--torture", 2, "--",
               gcc_pils, 2000, 200)
    assert done.returncode == 0
    assert done.stderr == ("ductile: 2 resizes, 0 given up, 0 not come to; the output is that of the rigid run\n")


@pytest.mark.parametrize("options, message", [
    (["-n", "100000"], f"-n: there are {CORES} cores for the job, not 100000"),
    (["--cpus", "9000"], "-n: there are no such processors"),
    (["--mpi", "mpich"], "--mpi: programs of --kind threads are started without an MPI"),
    (["--cores-per-process", "1"], "--cores-per-process: the size of a job of threads is its cores"),
    (["--hosts", "a:2"], "--hosts: programs of --kind threads are started on this host"),
])
def test_what_does_not_fit_is_told(options, message):
    options = options if "-n" in options else ["-n", "1", *options]
    if "100000" in options:
        options = ["-n", "30000"]
        message = message.replace("100000", "30000")
    done = run("run", "--kind", "threads", *options, "--", "true")
    assert done.returncode == 2
    assert message in done.stderr


def test_orders_that_do_not_fit_are_refused(start):
    job = start(1, "sleep", 1000, options=["--max", 30000])
    assert job.resize(30000)["error"] == f"there are {CORES} cores for the job, not 30000"
    assert job.resize(1)["error"] == "the job has 1 cores already"
    assert job.resize(1, cpus="9000", move=True)["error"] == "there are no such processors"
    assert job.order(do="suspend")["ok"] is False
    job.order(do="stop")
    job.finish()


def test_a_resize_that_the_kernel_refuses_is_no_resize():
    """A program with another user's rights: who started it may not say where it runs."""
    if os.geteuid() != 0 or CORES < 2:
        pytest.skip("needs root, and two cores")
    cores = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o777)
        if os.statvfs(folder).f_flag & os.ST_NOSUID:
            pytest.skip("files of this file system give no rights")
        program = folder / "sleep"
        shutil.copy("/bin/sleep", program)
        program.chmod(0o4755)
        report = folder / "report"
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", PROGRAM, "run", "--kind", "threads", "-n", "2",
             "--script", "t=0.5:1", "--report", str(report), "--", str(program), "10"], capture_output=True, text=True,
            timeout=PATIENCE, env=dict(os.environ, TMPDIR=name, DUCTILE_TEST=name))
        events = [json.loads(line) for line in report.read_text().splitlines()]
    aborted = next(event for event in events if event["event"] == "aborted")
    assert "Operation not permitted" in aborted["error"], done.stderr
    kept = [list(map(int, part.split("-"))) for part in aborted["cpus"].split(",")]
    kept = [cpu for part in kept for cpu in range(part[0], part[-1] + 1)]
    assert aborted["size"] == 2 and kept == sorted(cores)[:2]
    assert events[-1]["event"] == "ended" and events[-1]["resizes"] == 0
