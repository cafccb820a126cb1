"""Output that cannot be written: the job goes on, and what was lost is counted and told."""

import json
import pathlib
import subprocess

import pytest

from conftest import PATIENCE, PROGRAM, example
from test_disk import namespaces

# Writes so many lines of 1024 bytes, says that it goes on, waits for a file, and has a code of its own.
WRITER = """i=0
while [ $i -lt {lines} ]; do printf '%01023d\\n' $i; i=$((i+1)); done
touch {folder}/written
until [ -e {folder}/end ]; do sleep 0.05; done
exit 3
"""


def on_small_disk(c, size):
    """Starts the controller anew, with a small disk of its own at `c.folder/disk`; how to see it from outside."""
    words = namespaces()
    c.stop()
    (c.folder / "disk").mkdir()
    c.launch_with = [*words, "sh", "-c", f'mount -t tmpfs -o size={size} none {c.folder}/disk && exec "$@"', "sh"]
    c.start()
    return pathlib.Path(f"/proc/{c.server.pid}/root{c.folder}/disk")


def test_a_full_disk_at_the_output_ends_no_job(cluster):
    c = cluster("2x1")
    disk = on_small_disk(c, "64k")
    job = c.submit("-o", f"{c.folder}/disk/out", c.script(WRITER.format(lines=200, folder=c.folder)))
    c.wait_for(lambda: (c.folder / "written").exists(), "the job's last line")
    row = c.wait_for(lambda: (r := c.queue()[job])["lost_output"] and r, "what was lost")
    assert row["state"] == "RUNNING"
    assert "bytes of its output could not be written: No space left on device" in row["note"]
    assert row["note"] in c.run("queue").stdout
    (c.folder / "end").touch()
    end = c.wait_for_end(job)[0]
    assert (end["state"], end["exit_code"], end["reason"]) == ("FAILED", 3, "NonZeroExitCode")
    kept = (disk / "out").stat().st_size
    assert end["lost_output"] == 200 * 1024 - kept and kept >= 32 * 1024
    assert end["note"] == (f"exit code 3; {end['lost_output']} bytes of its output could not be written: "
                           "No space left on device")
    assert end["note"] in c.run("history", job).stdout


def test_output_goes_on_when_there_is_room_again(cluster):
    c = cluster("1x1")
    disk = on_small_disk(c, "64k")
    job = c.submit("-o", f"{c.folder}/disk/out", c.script(
        "head -c 40960 /dev/zero > disk/filler\n" + WRITER.format(lines=100, folder=c.folder).replace(
            "exit 3", "echo last")))
    # All lines are written or lost by then; there is room for what comes after them only.
    c.wait_for(lambda: c.queue()[job]["lost_output"] == 100 * 1024 - (disk / "out").stat().st_size,
               "what was lost")
    (disk / "filler").unlink()
    (c.folder / "end").touch()
    end = c.wait_for_end(job)[0]
    assert (end["state"], end["exit_code"], end["reason"]) == ("COMPLETED", 0, "")
    assert end["lost_output"] == 100 * 1024 + len("last\n") - (disk / "out").stat().st_size > 0
    assert (disk / "out").read_text().endswith("\nlast\n")


def test_a_limit_of_file_sizes_at_the_output_ends_no_job(cluster):
    c = cluster("1x1")
    c.stop()
    c.launch_with = ["prlimit", "--fsize=8388608", "--"]
    c.start()
    job = c.submit(c.script("head -c 9000000 /dev/zero\nexit 0\n"))
    end = c.wait_for_end(job)[0]
    assert (end["state"], end["exit_code"]) == ("COMPLETED", 0)
    assert end["lost_output"] == 9000000 - 8388608
    assert "File too large" in end["note"]


def test_an_output_file_that_is_removed_is_told(cluster):
    c = cluster("1x1")
    job = c.submit(c.script(f"echo a line\nrm {c.folder}/ductile-$DUCTILE_JOB_ID.out\necho one\n"))
    end = c.wait_for_end(job)[0]
    assert (end["state"], end["exit_code"]) == ("COMPLETED", 0)
    assert end["note"].endswith("the file was removed")


@pytest.mark.parametrize("stream, lost", [("stdout", 6), ("stderr", 4)])
def test_run_goes_on_and_tells(stream, lost, tmp_path):
    report = tmp_path / "report"
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, "run", "--kind", "rigid", "--report", str(report), "--", "/bin/sh", "-c",
                               "echo first; echo err >&2; exit 5"], timeout=PATIENCE, text=True,
                              **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: full})
    assert done.returncode == 5
    end = json.loads(report.read_text().splitlines()[-1])
    assert (end["event"], end["exit_code"], end["lost_output"]) == ("ended", 5, lost)
    if stream == "stdout":
        assert f"{lost} bytes of the output could not be written: No space left on device" in done.stderr
    else:
        assert done.stdout == "first\n"


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_a_malleable_program_goes_on_without_its_output(mpi, tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, "run", "-n", "1", "--max", "2", "--script", "t=0.2:2", "--no-compare", "--",
                               example("jacobi", mpi), "100", "100", "400", "5"], timeout=PATIENCE, text=True,
                              stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    assert "could not be written: No space left on device" in done.stderr


def test_a_closed_pipe_still_ends_the_job():
    done = subprocess.run(f"{PROGRAM} run --kind rigid -- yes | head -n 1", shell=True, timeout=PATIENCE, text=True,
                          capture_output=True)
    assert done.stdout == "y\n" and "could not be written" not in done.stderr
