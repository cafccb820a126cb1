"""What programs find on their cores: what the MPI's own launcher gives them, but while two generations
share them."""

import os
import subprocess
import time

import pytest

from conftest import PATIENCE, example, run

CORES = sorted(os.sched_getaffinity(0))


def wait_for(path, text):
    end = time.monotonic() + PATIENCE
    while not path.exists() or path.read_text() != text:
        assert time.monotonic() < end, path.read_text() if path.exists() else "nothing"
        time.sleep(0.01)


def test_processes_yield_only_while_another_generation_is_there(start, tmp_path, mpi="openmpi"):
    if len(CORES) < 2:
        pytest.skip("with two processes on one core they always do")
    stop, state = tmp_path / "stop", tmp_path / "state"
    job = start(mpi, 2, "yields", stop, state)
    wait_for(tmp_path / "state.0.0", "0 ")
    job.wait_until_connected()
    assert job.resize(1).returncode == 0
    # The old ones from when the new one begins; that one until they have gone.
    for rank in (0, 1):
        assert (tmp_path / f"state.0.{rank}").read_text() == "0 1 "
    wait_for(tmp_path / "state.1.0", "1 0 ")
    # A resize that is given up leaves all as it was.
    assert job.resize(99).returncode == 1
    wait_for(tmp_path / "state.1.0", "1 0 ")
    stop.touch()
    assert job.finish()[0] == 0


def test_processes_yield_where_there_are_too_few_cores(start, tmp_path, mpi="openmpi"):
    stop, state = tmp_path / "stop", tmp_path / "state"
    job = start(mpi, 2, "yields", stop, state, options=["--cpus", CORES[0]])
    wait_for(tmp_path / "state.0.1", "1 ")
    job.wait_until_connected()
    assert job.resize(3).returncode == 0
    wait_for(tmp_path / "state.1.2", "1 ")
    stop.touch()
    assert job.finish()[0] == 0


def test_a_program_is_bound_as_by_its_own_launcher(mpi):
    # Where the processes of a job on this machine may run, and what MPI was told of waiting.
    script = "grep Cpus_allowed_list /proc/self/status; env | grep -E 'yield_when_idle|mpi_oversub'; true"
    words = ["-n", str(min(2, len(CORES)))]
    example("jacobi", mpi)
    plain = subprocess.run(
        [f"mpiexec.{mpi}", *(["--allow-run-as-root"] if mpi == "openmpi" else []), *words, "sh", "-c",
         script], capture_output=True, text=True, timeout=PATIENCE)
    done = run("run", "--kind", "rigid", "--mpi", mpi, *words, "--", "sh", "-c", script)
    assert sorted(done.stdout.splitlines()) == sorted(plain.stdout.splitlines()), plain.stderr


def test_given_cores_are_kept_to(mpi):
    done = run("run", "--kind", "rigid", "--mpi", mpi, "-n", 2, "--cpus", CORES[-1], "--", "sh", "-c",
               "grep Cpus_allowed_list /proc/self/status")
    assert [line.split()[1] for line in done.stdout.splitlines()] == 2 * [str(CORES[-1])]
