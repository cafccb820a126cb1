"""`ductile run --launcher srun` inside an allocation of a Slurm that the test starts: one node, which is this
machine. Skipped where Slurm is not installed (scripts/setup --dev does that)."""

import os
import subprocess

import pytest

from conftest import PROGRAM, check, example, mpiexec
from slurm import running


@pytest.fixture(scope="module")
def slurm():
    """The environment of those who use it."""
    with running("--nodes", "1", "--plain", "same") as cluster:
        yield cluster.environment


def inside_an_allocation(slurm, *words):
    """`ductile run` with these words, among 4 processors of the node."""
    done = subprocess.run(["salloc", "-p", "plain", "-N1", "-n4", PROGRAM, "run", "-n", "2", "--launcher", "srun",
                           *map(str, words)], env=slurm, capture_output=True, text=True, timeout=120)
    check(done.stderr)
    assert done.returncode == 0, done.stderr
    return done


def test_resized_inside_an_allocation(mpi, slurm):
    program = example("jacobi", mpi)
    done = inside_an_allocation(slurm, "--max", 4, "--script", "t=0.5:3,t=0.5:1", "--no-compare", "--",
                                program, 40, 40, 150, 20)
    assert done.stdout == mpiexec(mpi, 2, program, 40, 40, 150)
    assert "2 resizes, 0 given up" in done.stderr


def test_processes_keep_to_their_cores(mpi, slurm):
    done = inside_an_allocation(slurm, "--kind", "rigid", "-c", 1, "--", example("threads", mpi))
    cores = sorted(os.sched_getaffinity(0))
    # Host, rank, thread, processors.
    assert sorted(line.split()[1:] for line in done.stdout.splitlines()) == [
        [str(rank), "0", str(cores[rank % len(cores)])] for rank in range(2)]
