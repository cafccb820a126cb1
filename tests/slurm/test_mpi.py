"""Programs of an MPI in a partition of a real Slurm: `sbatch` a script with `ductile run`, and the job grows and
shrinks; the result is that of the program alone."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from programs import PROGRAM, example, mpiexec  # noqa: E402
from slurm import wait_for  # noqa: E402
from slurm_controller import controlled  # noqa: E402


@pytest.fixture(scope="module")
def controller():
    with controlled(policy="elastic", cluster=("--accounting", "--nodes", "4", "--cpus", "2")) as controller:
        yield controller


def script(*words, options):
    return f"#!/bin/sh\n#DUCTILE {options}\nexec {PROGRAM} run --listen 127.0.0.1 -- {' '.join(map(str, words))} 2> errors\n"


def jobs_over(controller):
    jobs = controller.ask({"do": "history"})["jobs"]
    return {job["job"]: job for job in jobs if job["job"] not in controller.queue()}


def test_it_shrinks_and_grows_and_computes_the_same(controller):
    slurm, program = controller.slurm, example("jacobi", "mpich")
    words = program, 200, 200, 1500, 10
    large = slurm.submit("-t", "10", "--ntasks-per-node=2",
                         script=script(*words, options="--type malleable -N 4 --min-nodes 1"))
    wait_for(lambda: len(slurm.nodes_of(large)) == 4, "four nodes")
    small = slurm.submit("-N2", "-t", "1", script="#!/bin/sh\nsleep 3\n")
    ended = wait_for(lambda: jobs_over(controller).get(small), f"the end of job {small}")
    assert ended["state"] == "COMPLETED"
    ended = wait_for(lambda: jobs_over(controller).get(large), f"the end of job {large}")
    assert ended["state"] == "COMPLETED", (slurm.out / "errors").read_text()
    assert len(ended["sizes"]) >= 2, ended  # nodes, and since when
    assert (slurm.out / f"slurm-{large}.out").read_text() == mpiexec("mpich", 2, *words)
