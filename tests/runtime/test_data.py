"""What is handed over arrives, however it lies in memory."""

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
