"""All processes leave at the same probe, also when they are far apart; and a probe costs nothing."""

import time

import pytest

from conftest import example, mpiexec, run


# Without messages the fast processes run free; with some they are held back by what the MPI buffers.
@pytest.mark.parametrize("size_of_messages", [0, 16, 100000])
def test_processes_far_apart(mpi, start, size_of_messages):
    arguments = ((6000, 5000) if size_of_messages < 1000 else (400, 50000)) + (size_of_messages,)
    job = start(mpi, 3, "skewed", *arguments)
    job.wait_until_connected()
    time.sleep(0.5)  # until they are far apart
    done = job.resize(2)
    assert done.returncode == 0, done.stderr
    code, out, _ = job.finish()
    assert code == 0
    assert out == mpiexec(mpi, 3, example("skewed", mpi), arguments[0], 0, size_of_messages)
    event, = job.events("resized")
    if size_of_messages == 0:
        assert event["skew"] >= 50


def test_a_probe_costs_less_than_a_microsecond(mpi):
    with_manager = run("run", "-n", 1, "--", example("probe_cost", mpi), 2000000)
    assert with_manager.returncode == 0
    assert float(with_manager.stdout) < 1000
    assert float(mpiexec(mpi, 1, example("probe_cost", mpi), 2000000)) < 1000
