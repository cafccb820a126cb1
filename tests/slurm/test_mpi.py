"""Programs of an MPI in a partition of a real Slurm: `sbatch` a script with `ductile run`, and the job grows and
shrinks; the result is that of the program alone."""

import os
import pathlib
import random
import statistics
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from programs import PROGRAM, example, mpiexec  # noqa: E402
from slurm import wait_for  # noqa: E402
from slurm_controller import controlled  # noqa: E402


pytestmark = pytest.mark.skipif(os.environ.get("DUCTILE_TEST_SLURM") != "all",
                                reason="takes long: DUCTILE_TEST_SLURM=all, or ./test --slurm")
ACCOUNTS = ["--accounting"] if os.environ.get("DUCTILE_TEST_SLURM") == "all" else []


@pytest.fixture(scope="module")
def controller():
    with controlled(policy="elastic", cluster=("--nodes", "4", "--cpus", "2", *ACCOUNTS)) as controller:
        yield controller


@pytest.fixture
def accounted(controller):
    if not ACCOUNTS:
        pytest.skip("more than one resize of a job needs a database: DUCTILE_TEST_SLURM=all, or ./test --slurm")
    controller.slurm.cancel_all()
    return controller


def script(*words, options):
    return f"#!/bin/sh\n#DUCTILE {options}\nexec {PROGRAM} run --listen 127.0.0.1 -- {' '.join(map(str, words))} 2> errors\n"


def jobs_over(controller):
    jobs = controller.ask({"do": "history"})["jobs"]
    return {job["job"]: job for job in jobs if job["job"] not in controller.queue()}


def test_it_shrinks_and_grows_and_computes_the_same(controller):
    slurm, program = controller.slurm, example("jacobi", "mpich")
    words = program, 200, 200, 800, 10
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


def test_a_hundred_random_resizes(accounted):
    """None is lost, and Slurm's own view is right after each. Prints how long they took."""
    slurm, stop = accounted.slurm, accounted.slurm.out / "stop"
    job = slurm.submit("-t", "60", "--ntasks-per-node=1",
                       script=script(example("until", "mpich"), stop, 1000,
                                     options="--type malleable -N 2 --min-nodes 1 --max-nodes 4"))
    draws, size, took = random.Random(1), None, {"shrink": [], "grow": []}

    def has(count):
        its = accounted.queue()[job]
        return (its["state"] == "RUNNING" and its["nodes"] == count and len(slurm.nodes_of(job)) == count)

    wait_for(lambda: job in accounted.queue() and accounted.queue()[job]["state"] == "RUNNING", "its start")
    size = accounted.queue()[job]["nodes"]
    for _ in range(100):
        wanted = draws.choice([each for each in (1, 2, 3, 4) if each != size])
        begin = time.monotonic()
        assert accounted.ask({"do": "resize", "job": job, "nodes": wanted})["ok"]
        wait_for(lambda: has(wanted), f"{wanted} nodes")
        took["grow" if wanted > size else "shrink"].append(time.monotonic() - begin)
        size = wanted
    stop.touch()
    ended = wait_for(lambda: jobs_over(accounted).get(job), "its end")
    assert ended["state"] == "COMPLETED", (slurm.out / "errors").read_text()
    assert (slurm.out / f"slurm-{job}.out").read_text() == "right\n"
    for kind, times in took.items():
        print(f"{kind}: {len(times)}, median {statistics.median(times):.2f} s, longest {max(times):.2f} s")
