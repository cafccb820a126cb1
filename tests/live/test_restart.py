"""The controller is killed and started again: no job is lost, none runs twice, no answer is missing."""

import os
import time

from conftest import example


def test_jobs_go_on_without_it(cluster):
    c = cluster("4x1", "equipartition")
    ends_meanwhile = c.submit(c.script(f"echo once >> {c.folder}/count; sleep 0.3; exit 3", "a.sh"))
    job = c.submit("-N", 2, "--min-nodes", 1, "--max-nodes", 4, "--", example("until", "mpich"),
                   c.folder / "done", 100)
    c.wait_for_size(job, 2)
    waits = c.submit("-N", 4, c.script("echo waited"))
    c.kill()
    time.sleep(0.6)
    c.start()
    ends = c.wait_for_end(ends_meanwhile)
    assert (ends[0]["state"], ends[0]["exit_code"]) == ("FAILED", 3)
    assert (c.folder / "count").read_text() == "once\n"
    # It can still be told to resize.
    c.run("cancel", waits)
    c.wait_for_size(job, 4)
    (c.folder / "done").touch()
    assert c.wait_for_end(job)[0]["state"] == "COMPLETED"
    assert c.output(job) == "right\n"
    c.replay()


def test_a_resize_under_way_is_settled(cluster):
    c = cluster("4x1", "equipartition")
    first = c.submit("-N", 1, c.script(f"until [ -e {c.folder}/go ]; do sleep 0.02; done"))
    job = c.submit("-N", 2, "--min-nodes", 1, "--max-nodes", 4, "--", example("until", "mpich"),
                   c.folder / "done", 100, 20000)
    c.wait_for_size(job, 2)
    # Whatever moment of the resize it is.
    for attempt, delay in enumerate((0.0, 0.03, 0.08, 0.15)):
        c.run("resize", job, 3 if attempt % 2 == 0 else 1)
        time.sleep(delay)
        c.kill()
        c.start()
        c.wait_for_size(job, 3 if attempt % 2 == 0 else 1)
    c.run("resize", job, 0)
    (c.folder / "go").touch()
    c.wait_for_size(job, 4)
    (c.folder / "done").touch()
    assert [end["state"] for end in c.wait_for_end(first, job)] == ["COMPLETED", "COMPLETED"]
    assert c.output(job) == "right\n"
    c.replay()


def test_a_job_whose_manager_is_killed_has_failed(cluster):
    c = cluster("1x1")
    job = c.submit("/bin/sleep", 100)
    c.wait_for_size(job, 1)
    c.kill()
    for pid in os.listdir("/proc"):
        try:
            words = open(f"/proc/{pid}/cmdline").read().split("\0")
        except OSError:
            continue
        if f"{c.state}/jobs/{job}/report" in words:
            os.kill(int(pid), 9)
    c.start()
    end = c.wait_for_end(job)[0]
    assert (end["state"], end["exit_code"]) == ("FAILED", None)
    assert end["note"] == "its manager was gone, and had left no exit code"


def test_a_folder_has_one_controller_and_one_size(cluster):
    c = cluster("2x1")
    arguments = ["serve", "--state", c.state, "--local"]
    assert "another controller uses the folder" in c.run(*arguments, "2x1", code=2).stderr
    c.stop()
    assert "is of a cluster of 2x1" in c.run(*arguments, "3x1", code=2).stderr
    assert "there is no policy 'best'" in c.run(*arguments, "2x1", "--policy", "best", code=2).stderr
    c.arguments[c.arguments.index("--policy") + 1] = "fcfs"
    c.start()
    assert c.ask({"do": "queue"})["policy"] == "fcfs"


def test_a_journal_that_is_none_is_refused(cluster):
    c = cluster("1x1")
    c.stop()
    journal = c.state / "journal.db"
    for name in ("journal.db-wal", "journal.db-shm"):
        (c.state / name).unlink(missing_ok=True)
    journal.write_bytes(b"no journal at all" * 1000)
    done = c.run("serve", "--state", c.state, "--local", "1x1", code=2)
    assert "this is no journal of ductile" in done.stderr
    assert journal.read_bytes() == b"no journal at all" * 1000
