"""`ductile update`: jobs that wait are other ones, and running ones have less time."""

import os
import shutil
import subprocess

import pytest

from conftest import PATIENCE, PROGRAM, example


def test_a_waiting_job_becomes_another_one(cluster):
    c = cluster("4x1")
    first = c.submit("-N", 4, c.script(f"until [ -e {c.folder}/done ]; do sleep 0.05; done\n"))
    c.wait_for_size(first, 4)
    one = c.submit("-N", 4, "-t", "10", c.script("echo one\n", "one.sh"))
    two = c.submit("-N", 1, c.script("echo two\n", "two.sh"))
    c.run("update", one, "-N", 2, "-t", "20:00", "-J", "renamed", "--priority", -5)
    row = c.queue()[one]
    assert (row["nodes"], row["time_limit_s"], row["name"], row["priority"]) == (2, 1200, "renamed", -5)
    waiting = [job for job in c.queue() if job != first]
    assert waiting == [two, one]
    c.kill()  # all of it is durable
    c.start()
    assert [job for job in c.queue() if job != first] == [two, one]
    row = c.queue()[one]
    assert (row["nodes"], row["time_limit_s"], row["name"], row["priority"]) == (2, 1200, "renamed", -5)
    (c.folder / "done").touch()
    end = c.wait_for_end(one)[0]
    assert (end["name"], end["sizes"][0]["nodes"]) == ("renamed", 2)
    c.replay()


def test_a_malleable_job_gets_another_range(cluster):
    c = cluster("4x1")
    job = c.submit("--hold", "--mpi", "mpich", "-N", 1, "--max-nodes", 2, c.script("true\n"))
    c.run("update", job, "-N", "2-4")
    assert [c.queue()[job][field] for field in ("nodes", "min_nodes", "max_nodes")] == [2, 2, 4]
    c.run("update", job, "--max-nodes", 3)
    assert [c.queue()[job][field] for field in ("nodes", "min_nodes", "max_nodes")] == [2, 2, 3]
    for wrong in (["-N", 5], ["--min-nodes", 4], ["-N", "x"], ["--max-nodes", 1], ["-t", "x"], [], ["-d", "afterok:99"]):
        assert c.run("update", job, *wrong, code=2).stderr
    assert [c.queue()[job][field] for field in ("nodes", "min_nodes", "max_nodes")] == [2, 2, 3]
    rigid = c.submit("--hold", c.script("true\n"))
    assert "a rigid job has one size" in c.run("update", rigid, "--max-nodes", 3, code=2).stderr
    assert c.ask({"do": "update", "job": job, "set": {"script": "#!/bin/rm"}})["code"] == 2
    assert c.ask({"do": "update", "job": job, "set": {"groups": [0]}})["code"] == 2


def test_what_keeps_it_back_changes(cluster):
    c = cluster("1x1")
    blocker = c.submit("--hold", c.script("true\n"))
    job = c.submit("-d", f"afterok:{blocker}", c.script("true\n"))
    assert c.queue()[job]["reason"] == "Dependency"
    c.run("update", job, "-d", "none", "-b", "now+1hour")
    c.wait_for(lambda: c.queue()[job]["reason"] == "BeginTime", "its time")
    assert c.queue()[job]["dependency"] == ""
    assert "wait for itself" in c.run("update", job, "-d", f"afterany:{job}", code=2).stderr
    other = c.submit("-d", f"afterany:{job}", c.script("true\n"))
    assert "wait for itself" in c.run("update", job, "-d", f"afterany:{other}", code=2).stderr
    c.kill()
    c.start()
    assert c.queue()[job]["reason"] == "BeginTime"
    c.run("update", job, "-b", "now")
    assert [end["state"] for end in c.wait_for_end(job, other)] == ["COMPLETED"] * 2
    # One that the policy has seen waits again.
    busy = c.submit(c.script(f"until [ -e {c.folder}/done ]; do sleep 0.05; done\n", "busy.sh"))
    seen = c.submit(c.script("true\n"))
    assert c.queue()[seen]["reason"] == "Resources"
    c.run("update", seen, "-d", f"afterok:{blocker}")
    c.wait_for(lambda: c.queue()[seen]["reason"] == "Dependency", "its dependency")
    (c.folder / "done").touch()
    c.wait_for_end(busy)
    assert c.queue()[seen]["reason"] == "Dependency"
    c.run("release", blocker)
    assert c.wait_for_end(seen)[0]["state"] == "COMPLETED"
    c.replay()


def test_arrays_are_changed_as_a_whole(cluster):
    c = cluster("2x1")
    array = c.submit("--hold", "-a", "0-3", c.script("true\n"))
    c.run("update", array, "-t", 7, "-J", "all")
    assert {(row["time_limit_s"], row["name"]) for row in c.queue().values()} == {(420, "all")}
    assert "are changed together" in c.run("update", f"{array}_1", "-t", 8, code=2).stderr
    c.run("release", array)
    c.wait_for_end(*range(array, array + 4))


def test_a_running_job_may_have_less_time(cluster):
    c = cluster("2x1")
    job = c.submit("-t", 60, c.script("sleep 100\n"))
    c.wait_for_size(job, 1)
    assert "only its limit can be changed" in c.run("update", job, "-N", 2, code=1).stderr
    c.run("update", job, "-t", 30)
    assert c.queue()[job]["time_limit_s"] == pytest.approx(1800)
    c.run("update", job, "-t", 50)  # an operator's
    assert c.queue()[job]["time_limit_s"] == pytest.approx(3000)
    c.kill()
    c.start()
    assert c.queue()[job]["time_limit_s"] == pytest.approx(3000)
    c.run("update", job, "-t", "0:01")
    end = c.wait_for_end(job)[0]
    assert (end["state"], end["reason"]) == ("TIMEOUT", "TimeLimit")
    assert "is over" in c.run("update", job, "-t", 5, code=1).stderr
    c.replay()


@pytest.mark.skipif(os.geteuid() != 0, reason="not root")
def test_only_operators_raise_the_limit_of_a_running_job(cluster):
    c = cluster("2x1")
    os.chmod(c.folder, 0o777)
    os.chmod(c.state, 0o711)
    shutil.copy(PROGRAM, c.folder / "ductile")

    def as_user(*words):
        return subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", c.folder / "ductile", *map(str, words)],
                              env=c.environment, cwd=c.folder, text=True, capture_output=True, timeout=PATIENCE)

    assert as_user("submit", "-t", 60, c.script("sleep 100\n")).returncode == 0
    c.wait_for_size(1, 1)
    assert as_user("update", 1, "-t", 30).returncode == 0
    done = as_user("update", 1, "-t", 31)
    assert done.returncode == 1 and "only operators may raise" in done.stderr
    c.run("update", 1, "-t", 31)
    mine = c.submit("--hold", c.script("true\n"))
    assert "is not yours" in as_user("update", mine, "-t", 1).stderr
