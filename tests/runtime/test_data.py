"""What is handed over arrives, however it lies in memory."""

import os

import pytest


# Elements, bytes of each, elements of a block (0: one block each; -1: packed).
@pytest.mark.parametrize("data", [(10007, 1, 1), (10007, 2, 1), (9973, 1, 3), (10007, 4, 1), (100003, 8, 1), (10007, 16, 1), (9973, 24, 3),
                                  (30011, 8, 7), (211, 5000, 2), (3, 8, 1), (200003, 8, 0), (500009, 8, -1)])
def test_every_byte_arrives(start, tmp_path, data, mpi="mpich"):
    stop = tmp_path / "stop"
    job = start(mpi, 2, "dealt", stop, *data, options=["--max", 5])
    job.wait_until_connected()
    for size in (3, 5, 1, 4, 2):
        done = job.resize(size)
        assert done.returncode == 0, done.stderr
    stop.touch()
    assert job.finish() == (0, "right\n", "")
    if data[2] >= 0:
        assert [event["bytes"] for event in job.events("resized")] == 5 * [data[0] * data[1]]


# Many small elements: the processes write beside each other in the file.
@pytest.mark.parametrize("data", [(1000003, 1, 1), (500009, 2, 1), (10007, 1, 1), (9973, 24, 3), (30011, 8, 7), (3, 8, 1),
                                  (200003, 8, 0)])
def test_every_byte_is_kept_while_a_job_is_suspended(start, tmp_path, data, mpi="mpich"):
    stop, keep, kept = tmp_path / "stop", tmp_path / "keep", tmp_path / "kept"
    keep.touch()
    job = start(mpi, 2, "dealt", stop, *data, options=["--max", 5, "--keep", keep])
    for size in (3, 5, 1, 4):
        job.wait_until_connected()
        assert job.order("suspend")["ok"]
        assert job.finish() == (0, "", "")
        assert job.events("ended")[0]["suspended"] and len(job.events("suspended")) == 1
        os.rename(keep, kept)
        keep.touch()
        job = start(mpi, size, "dealt", stop, *data, options=["--max", 5, "--keep", keep, "--go-on", kept])
    job.wait_until_connected()
    done = job.resize(2)
    assert done.returncode == 0, done.stderr
    stop.touch()
    assert job.finish() == (0, "right\n", "")


def test_what_cannot_be_kept_goes_on(mpi, start, tmp_path):
    """Data that the program packs itself, no room, and no place at all."""
    stop, keep = tmp_path / "stop", tmp_path / "keep"
    packs = start(mpi, 2, "dealt", stop, 5009, 8, -1, options=["--keep", keep])
    packs.wait_until_connected()
    keep.touch()
    answer = packs.order("suspend")
    assert not answer["ok"] and "it cannot be kept in a file" in answer["error"], answer
    assert packs.resize(3).returncode == 0
    stop.touch()
    assert packs.finish()[:2] == (0, "right\n")
    stop.unlink()
    full = start(mpi, 2, "dealt", stop, 5009, 8, 0, options=["--keep", "/dev/full"])
    full.wait_until_connected()
    answer = full.order("suspend")
    assert not answer["ok"] and "/dev/full" in answer["error"], answer
    stop.touch()
    assert full.finish()[:2] == (0, "right\n")
    stop.unlink()
    other = start(mpi, 2, "dealt", stop, 5009, 8, 0)
    other.wait_until_connected()
    assert other.order("suspend")["error"] == "there is no place for its data"
    stop.touch()
    assert other.finish()[:2] == (0, "right\n")


@pytest.mark.parametrize("what, result, says", [
    ("empty", 0, ""),
    ("large", 0, ""),
    ("late", -1, 'ductile_add_...("late") after ductile_join()'),
    ("sizes", -3, "ductile_cyclic_count() wants elements >= 0, block >= 1 and 0 <= rank < size"),
])
def test_strange_data(mpi, start, tmp_path, what, result, says):
    """What makes no sense is told, and the job is resized as if it had not been registered."""
    job = start(mpi, 2, "strange", what, tmp_path / "stop")
    job.wait_until_connected()
    for size in (3, 1):
        done = job.resize(size)
        assert done.returncode == 0, done.stderr
    (tmp_path / "stop").touch()
    code, out, err = job.finish()
    assert (code, out) == (0, f"{result}\nsize 1, {3 if what == 'large' else 0} elements\n")
    assert says in err and (says or not err)


def test_data_without_memory_ends_the_resize_and_not_the_job(mpi, start, tmp_path):
    job = start(mpi, 2, "strange", "null", tmp_path / "stop")
    job.wait_until_connected()
    done = job.resize(3)
    assert done.returncode == 1 and "'lost' has no memory: the pointer to it is null" in done.stderr
    (tmp_path / "stop").touch()
    assert job.finish()[:2] == (0, "0\nsize 2, 0 elements\n")
