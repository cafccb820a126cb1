"""What the tests of `ductile run` share."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from programs import (EXAMPLES, PATIENCE, PROGRAM, ROOT, check, example, limit, mpiexec,  # noqa: E402, F401
                      namespaces, processes_with, run)


def left_in_shared_memory(since):
    """Files of MPIs in /dev/shm, changed after `since`, that no process has mapped. Other jobs come and
    go meanwhile, so that only what stays counts."""
    end = time.monotonic() + 10
    while True:
        names = {path.name for path in pathlib.Path("/dev/shm").iterdir()
                 if path.name.startswith(("mpich_shar_tmp", "vader_segment.", "ucx_shm_posix_"))}
        for maps in pathlib.Path("/proc").glob("[0-9]*/maps"):
            try:
                names -= set(re.findall(r"/dev/shm/(\S+)", maps.read_text()))
            except OSError:
                pass
        old = set()
        for name in names:
            try:
                if since <= os.stat(f"/dev/shm/{name}").st_ctime < time.time() - 1:
                    old.add(name)
            except OSError:
                pass
        if not old or time.monotonic() > end:
            return old
        time.sleep(0.2)


# In front of a program: its pauses last until the test is done with it.
PATIENTLY = ["sh", "-c", 'LD_PRELOAD="$0 $LD_PRELOAD" exec "$@"', str(EXAMPLES / "libpatient.so")]


class Job:
    """`ductile run` in the background, its orders and its files. A program of so many steps, with a pause in
    each, does not come to its end before finish(), and leaves out its pauses before step `patient_from`: see
    tests/live/programs/patient.c."""

    def __init__(self, folder, mpi, size, program, *arguments, options=(), is_patient=True, patient_from=0,
                 stdin=None, before=()):
        if not isinstance(program, pathlib.Path):
            program = example(program, mpi)
        self.hurry = folder / "hurry"
        program = [*(PATIENTLY if is_patient else []), str(program)]
        self.socket = str(folder / "control")
        self.mark = f"DUCTILE_TEST={folder}"
        self.report = folder / "report"
        self.process = subprocess.Popen(
            [*before, PROGRAM, "run", "-n", str(size), "--mpi", mpi, "--control", self.socket, "--report",
             str(self.report), *map(str, options), "--", *program, *map(str, arguments)],
            stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, DUCTILE_TEST=str(folder), PATIENT_UNTIL=str(self.hurry),
                     PATIENT_FROM=str(patient_from)))

    def resize(self, size):
        return run("resize", "--socket", self.socket, "--json", size)

    def order(self, what):
        import socket
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.socket)
            connection.sendall(json.dumps({"do": what}).encode() + b"\n")
            return json.loads(connection.makefile().readline())

    def status(self):
        return self.order("status")

    def wait_until_connected(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            # The socket has its name before anybody listens there.
            with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                status = self.status()
                if status["connected"] == status["size"]:
                    return status
            assert self.process.poll() is None, self.process.stderr.read()
            time.sleep(0.02)
        raise AssertionError("the job does not begin")

    def environment(self):
        """The variables DUCTILE_... of its processes."""
        for pid in processes_with(self.mark):
            text = pathlib.Path(f"/proc/{pid}/environ").read_text(errors="replace")
            variables = dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)
            if variables.get("DUCTILE_MANAGER"):
                return variables
        raise AssertionError("no process of the job was found")

    def wait_for_resizes(self, count):
        """That come by themselves, done or given up."""
        end = time.monotonic() + PATIENCE
        while not self.report.exists() or len(self.events("resized") + self.events("aborted")) < count:
            assert self.process.poll() is None, self.process.stderr.read()
            assert time.monotonic() < end, self.report.read_text() if self.report.exists() else "no report"
            time.sleep(0.02)

    def finish(self):
        """Exit code, stdout, stderr; nothing may be left."""
        self.hurry.touch()
        out, err = self.process.communicate(timeout=PATIENCE)
        check(err)
        # On a slow machine.
        err = "".join(line for line in err.splitlines(keepends=True) if "the start of " not in line)
        assert processes_with(self.mark) == []
        assert not os.path.exists(self.socket)
        return self.process.returncode, out, err

    def events(self, kind):
        events = [json.loads(line) for line in self.report.read_text().splitlines()]
        return [event for event in events if event["event"] == kind]


def connect(address):
    """As a process does: "127.0.0.1:4711" or "unix:/tmp/folder/name"."""
    import socket
    if address.startswith("unix:"):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(address.removeprefix("unix:"))
        return connection
    return socket.create_connection(address.split(":"))


@pytest.fixture(params=["mpich", "openmpi"])
def mpi(request):
    return request.param


@pytest.fixture
def start(tmp_path):
    """Starts jobs, and ends those that a failed test leaves."""
    jobs = []

    def starter(*arguments, folder=tmp_path, **options):
        jobs.append(Job(folder, *arguments, **options))
        return jobs[-1]

    yield starter
    for job in jobs:
        if job.process.poll() is None:
            job.process.send_signal(signal.SIGTERM)
            try:
                job.process.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                job.process.kill()
