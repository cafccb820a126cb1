"""What a generation writes before it is the job: it waits for nobody to read it, and is not lost where it says why
the resize failed."""

import subprocess

import pytest

from conftest import limit, namespaces

LINE = "{}: {:0100d}\n"
# More than any pipe takes, and than the manager keeps in memory.
LINES = 30000


def written(generation):
    return "".join(LINE.format(generation, i) for i in range(LINES))


def test_much_output_before_joining_delays_no_resize(mpi, start, tmp_path):
    job = start(mpi, 2, "talks", tmp_path / "stop", LINES, "joins", options=["--start-limit", limit(20, mpi)])
    job.wait_until_connected()
    for size in (3, 2):
        done = job.resize(size)
        assert done.returncode == 0, done.stderr
    (tmp_path / "stop").touch()
    code, out, err = job.finish()
    assert (code, err) == (0, "")
    expected = ["generation 0 ends\n", written(1), "generation 1 ends\n", written(2), "generation 2 ends\n"]
    assert out == "".join(expected)


@pytest.mark.parametrize("how,why,last", [("waits", "was not ready in time", []),
                                          ("cannot", "cannot unpack", ["this byte is wrong\n"])])
def test_a_generation_that_fails_is_heard(mpi, start, tmp_path, how, why, last):
    job = start(mpi, 2, "talks", tmp_path / "stop", LINES, how, options=["--start-limit", limit(6, mpi)])
    job.wait_until_connected()
    done = job.resize(1)
    assert done.returncode == 1 and why in done.stderr
    (tmp_path / "stop").touch()
    code, out, err = job.finish()
    assert (code, out) == (0, "generation 0 ends\n")
    words = "".join(["ductile: the new generation had written:\n", written(1), *last])
    assert words in err
    assert err.count("no use for this byte") == len(last)


@pytest.fixture
def small_disk(monkeypatch):
    """Where jobs have their folders."""
    words = [*namespaces(), "sh", "-c", "mount -t tmpfs -o size=300k none /mnt && echo && exec cat"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"\n"
        folder = f"/proc/{holder.pid}/root/mnt"
        monkeypatch.setenv("TMPDIR", folder)
        yield folder
        holder.stdin.close()


@pytest.mark.parametrize("how", ["joins", "cannot"])
def test_what_cannot_be_kept_is_lost_with_the_job_that_it_becomes(start, tmp_path, small_disk, how, mpi="mpich"):
    job = start(mpi, 2, "talks", tmp_path / "stop", LINES, how)
    job.wait_until_connected()
    assert job.environment()["DUCTILE_MANAGER"].startswith(f"unix:{small_disk}/")
    done = job.resize(1)
    assert done.returncode == (0 if how == "joins" else 1), done.stderr
    (tmp_path / "stop").touch()
    code, out, err = job.finish()
    assert code == 0
    begin, end = "generation 0 ends\n", "generation 1 ends\n" if how == "joins" else ""
    assert out.startswith(begin) and out.endswith(end)
    [ended] = job.events("ended")
    if how == "joins":
        assert ended["lost_output"] == len(begin + written(1) + end) - len(out) > 1 << 20
        assert ended["lost_why"] == "No space left on device"
    else:
        assert out == begin and "lost_output" not in ended
        assert "the output cannot be written" not in err and "the new generation had written" in err
