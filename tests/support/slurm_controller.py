"""`ductile-slurm serve` on a cluster of tests/support/slurm.py."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess

import pytest

from slurm import JOB_SUBMIT, PATIENCE, ROOT, as_user, running, wait_for

DUCTILE = pathlib.Path(os.environ.get("DUCTILE", ROOT / "build" / "dev" / "ductile"))
PROGRAM = DUCTILE.with_name("ductile-slurm")


class Controller:
    """Of a cluster; can die and begin again. Ends with the test."""

    def __init__(self, slurm, *options, policy="easy"):
        if not PROGRAM.exists():
            pytest.skip("ductile-slurm is not built: there is no libslurm-dev")
        self.slurm, self.policy, self.options = slurm, policy, options
        self.socket = slurm.folder / "ductile.sock"
        self.hands_over = slurm.folder / "hands-over"
        self.state = slurm.above / "state"
        self.log = slurm.above / "controller.log"
        self.process = None
        self.begin()

    def begin(self):
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                [PROGRAM, "serve", "--partition", "adaptive", "--policy", self.policy, "--state", self.state,
                 "--socket", self.socket, "--hands-over", self.hands_over, "--retry", "1",
                 *map(str, self.options)],
                env=self.slurm.environment, stdout=log, stderr=log)
        wait_for(self.is_up, "the controller")

    def is_up(self):
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.ask({"do": "nodes"})["ok"]
        except OSError:
            return False

    def ask(self, request, user=None):
        """As this user; then nothing if there is no answer within a second."""
        if user is not None:
            code = ("import socket, sys\nline = socket.socket(socket.AF_UNIX)\nline.settimeout(1)\n"
                    f"line.connect({str(self.socket)!r})\nline.sendall(sys.stdin.buffer.read())\n"
                    "try: print(line.recv(1 << 16).decode(), end='')\nexcept TimeoutError: pass")
            done = subprocess.run([*as_user(user), "/usr/bin/python3", "-c", code], text=True, check=True,
                                  input=json.dumps(request) + "\n", capture_output=True, timeout=PATIENCE)
            return json.loads(done.stdout) if done.stdout else None
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(PATIENCE)
            line.connect(str(self.socket))
            line.sendall(json.dumps(request).encode() + b"\n")
            come = b""
            while not come.endswith(b"\n"):
                more = line.recv(1 << 16)
                if not more:
                    raise ConnectionError("the controller has gone")
                come += more
            return json.loads(come)

    def queue(self):
        """Jobs that are not over, by number."""
        return {job["job"]: job for job in self.ask({"do": "queue"})["jobs"]}

    def ductile(self, *words):
        done = subprocess.run([DUCTILE, words[0], "--socket", self.socket, *map(str, words[1:])], text=True,
                              env=self.slurm.environment, capture_output=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def die(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0, self.log.read_text()


@contextlib.contextmanager
def controlled(*options, policy="easy", cluster=()):
    with running("--lua", JOB_SUBMIT, *cluster) as slurm:
        controller = Controller(slurm, *options, policy=policy)
        try:
            yield controller
        finally:
            if controller.process.poll() is None:
                controller.end()
            text = controller.log.read_text()
            assert "defect" not in text and " E " not in text, text


@contextlib.contextmanager
def fresh(controller, policy="easy"):
    """The same cluster, with a controller that knows nothing of what was before."""
    controller.slurm.cancel_all()
    controller.end()
    shutil.rmtree(controller.state)
    controller.policy = policy
    controller.begin()
    yield controller
