"""A real Slurm of scripts/slurm-cluster, in a folder that goes away, and those who use it."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import pytest

from programs import PATIENCE, ROOT

SCRIPT = ROOT / "scripts" / "slurm-cluster"
JOB_SUBMIT = ROOT / "packaging" / "slurm" / "job_submit.lua"

SLEEPER = "#!/bin/sh\nsleep 1000\n"


def wait_for(condition, what="it"):
    """Until it is true, or something else that counts as true, which is returned."""
    end = time.monotonic() + PATIENCE
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"{what} does not come")
        time.sleep(0.05)
    return value


def as_user(name):
    """In front of a command."""
    if name is None:
        return []
    if os.geteuid() != 0:
        pytest.skip("to be another user needs root")
    return ["setpriv", f"--reuid={name}", "--regid=nogroup", "--clear-groups"]


class Slurm:
    """Up until stop(), or until the test that made it dies."""

    def __init__(self, *options):
        # Not in tmp_path: paths of sockets are short, and other users come here.
        self.above = pathlib.Path(tempfile.mkdtemp(prefix="ductile-slurm-"))
        self.above.chmod(0o755)
        self.folder = self.above / "c"
        self.out = self.above / "out"  # of jobs
        self.out.mkdir()
        self.out.chmod(0o1777)
        self.errors = open(self.above / "errors", "w+")
        self.process = subprocess.Popen([SCRIPT, "up", self.folder, "--foreground", *map(str, options)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        if not self.process.stdout.readline().startswith("ready"):
            self.process.wait()
            self.errors.seek(0)
            text = self.errors.read()
            shutil.rmtree(self.above)
            if "missing packages" in text:
                pytest.skip(text.strip())
            raise AssertionError(text)
        # Tests may run in a job of another Slurm.
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("SLURM_", "SBATCH_", "SALLOC_", "SQUEUE_"))}
        self.environment["SLURM_CONF"] = str(self.folder / "slurm.conf")

    def stop(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(PATIENCE)
        self.errors.close()
        shutil.rmtree(self.above, ignore_errors=True)

    def tell(self, *words):
        """Restart, kill, start: see the script."""
        subprocess.run([SCRIPT, words[0], self.folder, *words[1:]], check=True, timeout=PATIENCE)

    def log(self, name="slurmctld"):
        return (self.folder / "log" / f"{name}.log").read_text()

    def call(self, *words, user=None, is_checked=True, stdin=None):
        done = subprocess.run([*as_user(user), *map(str, words)], env=self.environment, input=stdin, text=True,
                              capture_output=True, timeout=PATIENCE, cwd=self.out)
        if is_checked:
            assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done

    def submit(self, *options, script=SLEEPER, user=None):
        """The job's number. Its output is in `out`."""
        return int(self.call("sbatch", "--parsable", *options, stdin=script, user=user).stdout)

    def refused(self, *options, script=SLEEPER, user=None):
        """What is said on stderr."""
        done = self.call("sbatch", *options, stdin=script, user=user, is_checked=False)
        assert done.returncode != 0, done.stdout
        return done.stderr

    def job(self, number):
        """As squeue's JSON has it; nothing if Slurm does not know it any more."""
        jobs = json.loads(self.call("squeue", "--json").stdout)["jobs"]
        return next((job for job in jobs if job["job_id"] == number), None)

    def state(self, number):
        job = self.job(number)
        return job and job["job_state"]

    def wait_for_state(self, number, *states):
        return wait_for(lambda: self.state(number) in states, f"job {number} {states}")

    def nodes_of(self, number):
        """Names."""
        text = self.call("squeue", "-h", "-j", number, "-o", "%N").stdout.strip()
        return self.call("scontrol", "show", "hostnames", text).stdout.split() if text else []

    def states_of_nodes(self):
        return dict(line.split() for line in self.call("sinfo", "-h", "-N", "-o", "%N %T").stdout.splitlines())

    def update(self, number, *changes, user=None, is_checked=True):
        return self.call("scontrol", "update", f"JobId={number}", *changes, user=user, is_checked=is_checked)

    def release(self, number, *nodes):
        """As a controller does: on exactly these nodes. Until it runs."""
        self.update(number, f"NumNodes={len(nodes)}-{len(nodes)}", f"ReqNodeList={','.join(nodes)}", f"NumTasks={len(nodes)}")
        self.call("scontrol", "release", number)
        self.wait_for_state(number, "RUNNING")

    def cancel_all(self):
        """Also those that a failed test leaves."""
        def cancel():
            jobs = self.call("squeue", "-h", "-o", "%A").stdout.split()
            if jobs:
                self.call("scancel", *jobs, is_checked=False)
            return not jobs

        wait_for(cancel, "an empty queue")


@contextlib.contextmanager
def running(*options):
    slurm = Slurm(*options)
    try:
        yield slurm
    finally:
        slurm.stop()


def is_alive(pid):
    """Zombies are not."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text[text.rindex(")") + 2] != "Z"


def name_of(pid):
    """Of a process; nothing if it has just ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def descendants(pid):
    parents = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            text = path.read_text()
            parents[int(path.parent.name)] = int(text[text.rindex(")") + 2:].split()[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}
