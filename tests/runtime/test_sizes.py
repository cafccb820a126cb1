"""What a program says of itself: the sizes that it can have, and that it cannot be resized here; and
where its threads run."""

import itertools
import os
import time

from conftest import PATIENCE, example, run


def test_sizes_that_a_program_can_have_and_where_it_can_be_resized(mpi, start):
    job = start(mpi, 2, "choosy", 30000, 50, 2, 8, "pof2", options=["--max", 16])
    while not os.path.exists(job.socket):
        time.sleep(0.005)
    # The first order comes before the program has said anything, the others after it.
    for size in (3, 1, 16):
        done = job.resize(size)
        assert done.returncode == 1
        assert f"the program cannot have {size} processes, but 2 to 8, pof2" in done.stderr
    status = job.status()
    assert (status["min"], status["max"], status["constraint"]) == (2, 8, "pof2")
    for size in (4, 2, 4):
        assert job.resize(size).returncode == 0
    assert "cannot have 6" in job.resize(6).stderr  # the next generation says the same
    job.process.terminate()
    _, out, err = job.finish()
    assert "'threes'" in err
    said = job.events("sizes")[0]
    assert (said["min"], said["max"], said["constraint"]) == (2, 8, "pof2")
    events = job.events("resized")
    # Where they meet at a good probe at once, which is one in 50, nothing is postponed.
    postponed = [event.get("postponed", 0) for event in events]
    assert set(postponed) <= {0, 1} and any(postponed), postponed
    # Probes are counted from 1, by each process from its own beginning.
    assert all(event["probe"] % 50 == 1 for event in events)
    left = itertools.accumulate(event["probe"] - 1 for event in events)
    assert out.startswith("".join(f"left at {probe}\n" for probe in left))


def test_the_last_of_many_sizes_arrives(mpi, start, tmp_path):
    """However often the program says others before, of which not all are told."""
    job = start(mpi, 2, "fickle", tmp_path / "stop", 100)
    job.wait_until_connected()
    end = time.monotonic() + PATIENCE
    while not job.events("sizes") or job.events("sizes")[-1]["max"] != 102:
        assert time.monotonic() < end, job.report.read_text()
        time.sleep(0.05)
    assert len(job.events("sizes")) < 50
    (tmp_path / "stop").touch()
    assert job.finish()[0] == 0


def test_random_sizes_are_those_that_it_can_have():
    done = run("run", "-n", 2, "--max", 6, "--torture", 3, "--no-compare", "--",
               example("choosy", "mpich"), 500, 1, 2, 0, "even")
    assert done.returncode == 0
    # The first one may be drawn before the program has said it.
    assert done.stderr.count("the program cannot have") <= 1, done.stderr


def test_postponed_for_too_long(start):
    job = start("mpich", 2, "choosy", 20000, 100000, 1, 0, "any", options=["--probe-limit", 0.3])
    job.wait_until_connected()
    done = job.resize(3)
    assert done.returncode == 1 and "came to a probe in time" in done.stderr
    assert job.finish()[:2] == (0, "")


def places(output):
    """host -> rank -> the processors of each of its threads."""
    found = {}
    for line in output.splitlines():
        host, rank, _, *cpus = line.split()
        found.setdefault(host, {}).setdefault(int(rank), []).append(set(map(int, cpus)))
    return found


def test_threads_keep_to_the_cores_of_their_process(mpi):
    cores = sorted(os.sched_getaffinity(0))
    done = run("run", "--kind", "rigid", "-n", 3, "-c", 1, "--", example("threads", mpi))
    assert done.returncode == 0, done.stderr
    (ranks,) = places(done.stdout).values()
    assert ranks == {rank: [{cores[rank % len(cores)]}] for rank in range(3)}
    if len(cores) > 1:
        done = run("run", "--kind", "rigid", "-n", 2, "-c", 2, "--cpus", f"{cores[0]},{cores[-1]}",
                   "--", example("threads", mpi))
        (ranks,) = places(done.stdout).values()
        assert ranks == {rank: 2 * [{cores[0], cores[-1]}] for rank in range(2)}
