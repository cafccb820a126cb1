"""`ductile-slurm watch` on a real Slurm: the partition is Slurm's own when the controller does not come back, and
the controller's again when it does."""

import contextlib
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from slurm import PATIENCE, wait_for  # noqa: E402
from slurm_controller import PROGRAM, controlled  # noqa: E402

pytestmark = pytest.mark.skipif(os.environ.get("DUCTILE_TEST_SLURM") != "all",
                                reason="takes long: DUCTILE_TEST_SLURM=all, or ./test --slurm")


@pytest.fixture
def controller():
    with controlled(cluster=("--nodes", "2", "--plain", "0")) as controller:
        yield controller


@contextlib.contextmanager
def watch(controller, after):
    process = subprocess.Popen([PROGRAM, "watch", "--partition", "adaptive", "--socket", controller.socket,
                                "--hands-over", controller.hands_over, "--after", after],
                               env=controller.slurm.environment)
    try:
        yield process
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == 0


def test_slurm_gets_the_partition_and_gives_it_back(controller):
    slurm = controller.slurm
    runs = slurm.submit("-N2", "-t", "10")
    slurm.wait_for_state(runs, "RUNNING")
    waits = slurm.submit("-N1", "-t", "10")
    users = slurm.submit("-N1", "-t", "10", "--hold")
    wait_for(lambda: {waits, users} <= controller.queue().keys(), "both in the queue")
    with watch(controller, after="0:01"):
        controller.die()
        wait_for(controller.hands_over.exists, "the file")
        slurm.call("scancel", runs)
        slurm.wait_for_state(waits, "RUNNING")  # Slurm has started it
        assert slurm.state(users) == "PENDING"
        late = slurm.submit("-N2", "-t", "10")
        assert slurm.job(late)["priority"] != 0  # it waits for nodes alone
        controller.begin()
        assert not controller.hands_over.exists()
        wait_for(lambda: slurm.job(late)["priority"] == 0, "a job that is held again")
        assert controller.queue()[waits]["state"] == "RUNNING"
        slurm.call("scancel", waits)
        slurm.wait_for_state(late, "RUNNING")  # the controller has
        assert slurm.state(users) == "PENDING"
