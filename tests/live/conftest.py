"""What the tests of `ductile serve` share: a cluster of one machine, in a folder that goes away."""

import contextlib
import functools
import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from programs import EXAMPLES, PATIENCE, PROGRAM, check, example, limit, processes_with  # noqa: E402, F401


# Several users in a namespace of this user's own: the second one is of /etc/subuid, by newuidmap. A single
# mapping, all that can be had without that, has no room for a second user.
USERS = ["unshare", "--user", "--map-root-user", "--map-auto"]


def how_to_be_root():
    """In front of a command; nothing if that cannot be had."""
    if not shutil.which("setpriv"):
        return None
    if os.geteuid() == 0:
        return []
    can = subprocess.run([*USERS, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "true"],
                         capture_output=True)
    return USERS if can.returncode == 0 else None


AS_ROOT = how_to_be_root()


def times_of(pid):
    """Of a process, in seconds: on a processor, and waiting for one."""
    try:
        with open(f"/proc/{pid}/schedstat") as file:
            worked, waited, _ = file.read().split()
    except (OSError, ValueError):
        return 0, 0
    return int(worked) / 1e9, int(waited) / 1e9


@functools.cache
def slowness():
    """How many times as long as on a machine with nothing else to do it takes here: 1 to 8."""
    return limit(1) if (EXAMPLES / "jacobi-mpich").exists() else 1


class Stopwatch:
    """How long a controller lets one wait, on a machine with nothing else to do. The time in which it, or who asks,
    waits for a processor is the machine's, and so is what makes all programs slow."""

    def __init__(self, cluster):
        slowness()  # is found out before
        self.pids = cluster.server.pid, os.getpid()
        self.begin = self.own()

    def own(self):
        return time.monotonic() - sum(times_of(pid)[1] for pid in self.pids)

    def passed(self):
        return (self.own() - self.begin) / slowness()


class Cluster:
    """`ductile serve --local` and those who ask it."""

    def __init__(self, local, policy, *options, has_clock=False):
        """Without a policy it is that of a file among the options. With `has_clock` its clock on the wall, and that
        of its clients and jobs, can be set."""
        # Not in tmp_path: paths of sockets are short.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ductile-"))
        self.state = self.folder / "state"
        self.socket = str(self.state / "socket")
        self.log = self.folder / "log"
        self.environment = dict(os.environ, DUCTILE_SOCKET=self.socket,
                                CLUSTER_TEST_OF=str(self.folder))
        if has_clock:
            self.environment.update(LD_PRELOAD=str(EXAMPLES / "libclock_shim.so"),
                                    CLOCK_SHIM_FILE=str(self.folder / "clock"),
                                    CLOCK_SHIM_BOOT_ID=str(self.folder / "boot_id"))
            self.set_boot_id("the first start")
            self.set_clock(0)
        self.arguments = ["serve", "--local", local, *(["--policy", policy] if policy else []),
                          "--state", str(self.state), "--retry", "0.5", "--patience", "2", *map(str, options)]
        self.launch_with = []  # a command that starts it
        self.server = None
        self.start()

    def set_clock(self, ahead):
        """Somebody sets the clock on the wall: so many seconds ahead of the true one."""
        (self.folder / "clock.new").write_text(str(ahead))
        (self.folder / "clock.new").rename(self.folder / "clock")

    def set_boot_id(self, name):
        (self.folder / "boot_id").write_text(name)

    def wall(self):
        return time.time() + float((self.folder / "clock").read_text())

    def launch(self, *more):
        with open(self.log, "a") as log:
            self.server = subprocess.Popen([*self.launch_with, PROGRAM, *map(str, [*self.arguments, *more])], stderr=log,
                                           env=self.environment)

    def start(self, *more):
        self.launch(*more)
        self.wait_for_socket(self.socket)

    def wait_for_socket(self, path):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.server.poll() is not None:
                raise AssertionError(self.log.read_text())
            try:
                self.ask({"do": "nodes"}, path=path)
                return
            except OSError:
                time.sleep(0.01)
        raise AssertionError("the controller does not listen")

    def kill(self):
        self.server.kill()
        self.server.wait()

    def stop(self):
        """Ends it in order; its jobs are left."""
        if self.server.poll() is None:
            self.server.send_signal(signal.SIGTERM)
            assert self.server.wait(timeout=PATIENCE) == 0, self.log.read_text()
        check(self.log.read_text())

    def ask(self, request, timeout=PATIENCE, path=None):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(timeout)
            connection.connect(path or self.socket)
            connection.sendall(json.dumps(request).encode() + b"\n")
            return json.loads(connection.makefile().readline())

    def run(self, *words, code=0, timeout=PATIENCE, **options):
        done = subprocess.run([PROGRAM, *map(str, words)], env=self.environment, text=True,
                              capture_output=True, timeout=timeout, cwd=self.folder, **options)
        check(done.stderr)
        assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr,
                                         self.log.read_text())
        return done

    def submit(self, *words, **options):
        return json.loads(self.run("submit", "--json", *words, **options).stdout)["job"]

    def submit_patient(self, first, *words):
        """A job whose program leaves out its pauses before step `first`, and does not come to its end before
        `end_after` says so: it has a number of steps that is enough for slow machines, and then hurries
        (programs/patient.c)."""
        kept = dict(self.environment)
        preloads = [str(EXAMPLES / "libpatient.so"), *kept.get("LD_PRELOAD", "").split()]
        self.environment.update(LD_PRELOAD=" ".join(preloads), PATIENT_UNTIL=str(self.folder / "hurry"),
                                PATIENT_FROM=str(first))
        try:
            return self.submit(*words)
        finally:
            self.environment.clear()
            self.environment.update(kept)

    def end_after(self, job, text, times=1):
        """Waits until a job has written this, lets it come to its end, and waits for that."""
        output = self.folder / f"ductile-{job}.out"
        self.wait_for(lambda: output.exists() and self.output(job).count(text) >= times, f"{times} times '{text}'")
        (self.folder / "hurry").touch()
        self.wait_for_end(job)
        (self.folder / "hurry").unlink()

    def open_to_others(self):
        """Several users: it is root's, and another one is `nobody`, who may come in."""
        if AS_ROOT is None:
            pytest.skip("neither root, nor newuidmap and a range in /etc/subuid")
        if AS_ROOT:
            # The same users as before, and root's name for the one who runs this.
            self.stop()
            self.launch_with = AS_ROOT
            self.start()
        os.chmod(self.folder, 0o755)
        os.chmod(self.state, 0o711)
        self.others = self.folder / "theirs"
        self.others.mkdir()
        os.chmod(self.others, 0o777)
        shutil.copy(PROGRAM, self.others / "ductile")

    def of_nobody(self, *words):
        """The command as somebody who is not root."""
        return [*AS_ROOT, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *map(str, words)]

    def as_nobody(self, *words):
        return subprocess.run(self.of_nobody(self.others / "ductile", *words), env=self.environment,
                              cwd=self.others, text=True, capture_output=True, timeout=PATIENCE)

    def script(self, text, name="script.sh"):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def queue(self):
        return {row["job"]: row for row in self.ask({"do": "queue"})["jobs"]}

    def history(self, job):
        return self.ask({"do": "history", "job": job})["jobs"][0]

    def output(self, job):
        return (self.folder / f"ductile-{job}.out").read_text()

    def wait_for(self, condition, what):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if value := condition():
                return value
            time.sleep(0.02)
        raise AssertionError(f"{what} did not come: {self.queue()}\n{self.log.read_text()}\n"
                             + "\n".join(map(self.manager, self.queue())))

    def wait_for_text(self, path, text):
        """Asks no controller."""
        end = time.monotonic() + PATIENCE
        while not (path.exists() and text in path.read_text()):
            assert time.monotonic() < end, f"there is no {text} in {path}"
            time.sleep(0.02)

    def manager_of(self, job):
        """The process of its `ductile run`."""
        for pid in processes_with(f"DUCTILE_JOB_FOLDER={self.state}/jobs/{job}"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline") as file:  # it may end meanwhile
                if f"{self.state}/jobs/{job}/report" in file.read().split("\0"):
                    return pid
        raise AssertionError(f"job {job} has no manager")

    def status_of(self, job, patience=PATIENCE):
        """What the `ductile run` of a job answers, a line."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(patience)
            connection.connect(str(self.state / "jobs" / str(job) / "control"))
            connection.sendall(b'{"do": "status"}\n')
            return connection.makefile().readline()

    def program_of(self, job):
        """The processes of its program, with their launcher, when all of them have said who they are."""
        def has_all():
            with contextlib.suppress(OSError, ValueError):
                status = json.loads(self.status_of(job, 2))
                return status["connected"] == status["size"]

        self.wait_for(has_all, "its whole program")
        every = processes_with(f"DUCTILE_JOB_FOLDER={self.state}/jobs/{job}")
        return [pid for pid in every if pid != self.manager_of(job)]

    def manager(self, job):
        """What the `ductile run` of a job says of itself."""
        folder = self.state / "jobs" / str(job)
        said = [f"job {job}:"]
        for name in ("report", "log"):
            if (folder / name).exists():
                said.append((folder / name).read_text()[-2000:])
        try:
            said.append(self.status_of(job, 2))
        except OSError as error:
            said.append(str(error))
        return "\n".join(said)

    def wait_for_size(self, job, nodes):
        def has_it():
            row = self.queue().get(job)
            return row and row["state"] == "RUNNING" and row["nodes"] == nodes and row

        return self.wait_for(has_it, f"job {job} at {nodes} nodes")

    def wait_for_end(self, *jobs):
        self.wait_for(lambda: not set(jobs) & set(self.queue()), f"the end of {jobs}")
        return [self.history(job) for job in jobs]

    def finishes_right(self, job, told_before=False):
        """A program that ran until the file `done` is there, and computed nothing wrong. Before it
        was suspended its launcher may have told something, as that it had to end it."""
        (self.folder / "done").touch()
        assert self.wait_for_end(job)[0]["state"] == "COMPLETED"
        output = self.output(job)
        assert output == "right\n" or told_before and output.endswith("\nright\n")

    def denials(self, why=""):
        """Of evolving requests, so far."""
        with contextlib.closing(sqlite3.connect(self.state / "journal.db")) as journal:
            return journal.execute("SELECT count(*) FROM records WHERE kind = 'D' AND text LIKE"
                                   " ?", [f"% deny %{why}%"]).fetchone()[0]

    def replay(self):
        """What was decided is decided again."""
        done = subprocess.run([PROGRAM, "replay", str(self.state / "journal.db"), "--json"],
                              text=True, capture_output=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def cancel_all(self):
        """Each by itself: one that ends meanwhile is unknown. True when none is left."""
        jobs = list(self.queue())
        for job in jobs:
            self.ask({"do": "cancel", "jobs": [job]})
        return not jobs

    def end(self):
        """Nothing may be left."""
        try:
            if self.server.poll() is None:
                self.server.send_signal(signal.SIGCONT)  # of a test that failed while it stood still
            if self.server.poll() is None and self.queue():
                self.wait_for(self.cancel_all, "the end of all")
            self.stop()
        finally:
            if self.server.poll() is None:
                self.kill()
            for pid in processes_with(f"CLUSTER_TEST_OF={self.folder}"):
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture
def cluster():
    clusters = []

    def make(local="4x1", policy="easy", *options, **more):
        clusters.append(Cluster(local, policy, *options, **more))
        return clusters[-1]

    yield make
    for one in clusters:
        one.end()


# Idle 400 W; each busy node 200 W more.
PLATFORM = """
[[class]]
name = "std"
count = 4
idle_w = 100
busy_w = 300
"""
PATIENT = "exec sleep 1000"


@pytest.fixture
def powered(cluster):
    def make(*options, policy="easy"):
        c = cluster("4x1", policy)
        c.stop()
        (c.folder / "platform.toml").write_text(PLATFORM)
        at = c.arguments.index("--local")
        c.arguments[at:at + 2] = ["--platform", str(c.folder / "platform.toml")]
        c.arguments += [str(option).replace("FOLDER", str(c.folder)) for option in options]
        c.start()
        return c

    return make
