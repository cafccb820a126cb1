"""What jobs may have of the machine, where control groups see to it; and that it is said where they do not."""

import pathlib
import re

import pytest


def group_of(cluster, job):
    """Of a running job."""
    return pathlib.Path((cluster.state / "jobs" / str(job) / "cgroup").read_text())


def kept(cluster):
    """Which limits the kernel sees to, as was said at the start."""
    said = cluster.log.read_text()
    missing = re.search("jobs are not kept to their ([^:]*):", said)
    everything = {"memory", "processors", "number of processes"}
    assert missing or "control groups keep jobs to their memory, processors and number of processes" in said
    return everything - set(missing.group(1).split(", ") if missing else [])


def test_it_is_said_at_the_start_what_jobs_are_kept_to(cluster, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text("cgroups = false\n")
    c = cluster("2x1", "easy", "--config", config)
    c.stop()
    assert "control groups" not in c.log.read_text()  # it is known to who wrote that
    config.write_text("")
    c.start()
    kept(c)


def test_memory_is_that_of_the_nodes(cluster, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('default_memory = "64M"\nmax_processes_per_node = 40\n')
    c = cluster("2x1", "easy", "--config", config)
    runs = c.script(f"until [ -e {c.folder}/go ]; do sleep 0.02; done", "runs.sh")
    jobs = [c.submit(runs), c.submit("--mem", "100M", runs)]
    for job in jobs:
        c.wait_for_size(job, 1)
    rows = c.queue()
    assert [rows[job]["memory"] for job in jobs] == [64 << 20, 100 << 20]
    assert "is no size of memory" in c.run("submit", "--mem", "much", runs, code=2).stderr
    is_kept = kept(c)
    if "memory" in is_kept:
        assert [(group_of(c, job) / "memory.max").read_text() for job in jobs] == [f"{64 << 20}\n", f"{100 << 20}\n"]
    if "number of processes" in is_kept:
        assert (group_of(c, jobs[0]) / "pids.max").read_text() == "40\n"
    (c.folder / "go").touch()
    c.wait_for_end(*jobs)
    if "memory" not in is_kept:
        pytest.skip("no control groups with a controller of memory")
    eats = c.submit("-N", 2, c.script("exec python3 -c 'x = bytearray(400 << 20)'", "eats.sh"))
    end = c.wait_for_end(eats)[0]
    assert end["state"] == "FAILED" and end["reason"] == "OutOfMemory", end
