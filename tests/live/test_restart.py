"""The controller is killed and started again: no job is lost, none runs twice, no answer is missing."""

import os
import shutil
import signal
import time

from conftest import example


def test_jobs_go_on_without_it(cluster):
    c = cluster("4x1", "equipartition")
    ends_meanwhile = c.submit("-N", 2, c.script(f"echo once >> {c.folder}/count\n"
                                                f"until [ -e {c.folder}/go ]; do sleep 0.02; done\nexit 3"))
    job = c.submit("-N", 2, "--min-nodes", 1, "--max-nodes", 4, "--", example("until", "mpich"),
                   c.folder / "done", 100)
    c.wait_for_size(job, 2)
    waits = c.submit("--hold", c.script("echo waited", "b.sh"))
    c.kill()
    (c.folder / "go").touch()
    time.sleep(0.5)
    c.start()
    ends = c.wait_for_end(ends_meanwhile)
    assert (ends[0]["state"], ends[0]["exit_code"]) == ("FAILED", 3)
    assert (c.folder / "count").read_text() == "once\n"
    # It can still be told to resize.
    c.wait_for_size(job, 4)
    c.finishes_right(job)
    c.run("release", waits)
    c.wait_for_end(waits)
    assert c.output(waits) == "waited\n"
    c.replay()


def test_a_resize_under_way_is_settled(cluster):
    c = cluster("4x1", "easy")
    job = c.submit("-N", 2, "--min-nodes", 1, "--", example("until", "mpich"), c.folder / "done",
                   100, 20000)
    c.wait_for_size(job, 2)
    # Whatever moment of the resize it is.
    for attempt, delay in enumerate((0, 0.03, 0.08, 0.15, 0.25)):
        size = (4, 1)[attempt % 2]
        c.run("resize", job, size)
        time.sleep(delay)
        c.kill()
        c.start()
        c.wait_for_size(job, size)
    c.finishes_right(job)
    c.replay()


def test_a_job_whose_manager_is_killed_has_failed(cluster):
    c = cluster("1x1")
    job = c.submit("/bin/sleep", 100)
    c.wait_for_size(job, 1)
    c.kill()
    os.kill(c.manager_of(job), 9)
    c.start()
    end = c.wait_for_end(job)[0]
    assert (end["state"], end["exit_code"]) == ("FAILED", None)
    assert end["note"] == "its manager was gone, and had left no exit code"


def test_a_job_that_loses_its_manager_starts_again_if_it_may(cluster):
    c = cluster("1x1")
    # At last it is not the machine's fault any more. What its user wants is another thing.
    job = c.submit("--requeue", c.script(f"touch {c.folder}/$DUCTILE_RESTART_COUNT\n"
                                         f"until [ -e {c.folder}/go ]; do sleep 0.02; done\n"
                                         "kill -9 $PPID; sleep 100"))
    for life in range(3):
        c.wait_for(lambda: (c.folder / str(life)).exists(), f"life {life}")
        c.run("requeue", job)
    c.wait_for(lambda: (c.folder / "3").exists(), "life 3")
    (c.folder / "go").touch()
    c.wait_for(lambda: c.queue()[job]["reason"] == "JobHeldUser", "its being held")
    assert c.queue()[job]["restarts"] == 8
    c.run("cancel", job)
    assert c.history(job)["state"] == "CANCELLED"
    c.replay()


def test_a_folder_has_one_controller(cluster):
    c = cluster("2x1")
    arguments = ["serve", "--state", c.state, "--local"]
    assert "another controller uses the folder" in c.run(*arguments, "2x1", code=2).stderr
    c.stop()
    assert "there is no policy 'best'" in c.run(*arguments, "2x1", "--policy", "best", code=2).stderr
    c.arguments[c.arguments.index("--policy") + 1] = "fcfs"
    c.start()
    assert c.ask({"do": "queue"})["policy"] == "fcfs"


def test_a_journal_that_is_none_is_refused(cluster):
    c = cluster("1x1")
    c.stop()
    journal = c.state / "journal.db"
    for name in ("journal.db-wal", "journal.db-shm", "journal.mark"):
        (c.state / name).unlink(missing_ok=True)
    journal.write_bytes(b"no journal at all" * 1000)
    done = c.run("serve", "--state", c.state, "--local", "1x1", code=2)
    assert "this is no journal of ductile" in done.stderr
    assert journal.read_bytes() == b"no journal at all" * 1000


def test_a_folder_of_jobs_that_is_none_is_refused(cluster):
    c = cluster("1x1")
    c.stop()
    jobs = c.state / "jobs"
    shutil.rmtree(jobs)
    jobs.write_text("")
    done = c.run("serve", "--state", c.state, "--local", "1x1", code=2)
    assert f"the folder '{jobs}' cannot be used" in done.stderr and "--state" in done.stderr
    jobs.unlink()
    c.start()


def test_settings_are_read_again(cluster):
    c = cluster("2x1", "fcfs")
    c.stop()
    config = c.folder / "config.toml"
    config.write_text('policy = "easy"\ndefault_time = "5"\n')
    policy = c.arguments.index("--policy")
    del c.arguments[policy:policy + 2]
    c.start("--config", config)
    assert c.ask({"do": "queue"})["policy"] == "easy"

    def reads_again(text, word):
        config.write_text(text)
        c.server.send_signal(signal.SIGHUP)
        c.wait_for(lambda: word in c.log.read_text(), word)
        c.ask({"do": "nodes"})  # the turn is over

    reads_again('policy = "conservative"\n', "the policy is conservative")
    assert c.ask({"do": "queue"})["policy"] == "conservative", c.log.read_text()
    reads_again('polizy = "easy"\n', "config.toml:1: polizy: there is no such setting")
    assert c.ask({"do": "queue"})["policy"] == "conservative", c.log.read_text()
    # In the place of the file is a folder.
    config.unlink()
    config.mkdir()
    c.server.send_signal(signal.SIGHUP)
    c.wait_for(lambda: "config.toml: Is a directory" in c.log.read_text(), "that it cannot be read")
    assert c.ask({"do": "queue"})["policy"] == "conservative", c.log.read_text()
    c.replay()


def test_ends_that_come_before_the_start(cluster):
    """Jobs are ended after their start was decided, and before there is a process: with nothing else in
    between, with the controller ended in order, and with it killed. The starts of all take many turns."""
    c = cluster("120x1", "easy")
    for leave in (lambda: None, c.stop, c.kill):
        job = c.submit("--array", "1-120", "-o", "/dev/null", "/bin/sleep", 1000)
        both = [f"{job}_119", f"{job}_120"]
        others = [f"{job}_{task}" for task in range(1, 119)]
        c.ask({"do": "nodes"})  # the starts are decided
        assert c.ask({"do": "requeue", "jobs": both})["ok"]
        assert c.ask({"do": "cancel", "jobs": others})["ok"]
        leave()
        if c.server.poll() is not None:
            c.start()
        c.wait_for(lambda: len(c.queue()) == 2, "the end of the others")
        rows = c.wait_for(lambda: all(row["state"] == "RUNNING" and row["restarts"] == 1
                                      for row in c.queue().values()) and c.queue(), "their next life")
        # What was to end a life that never was does not keep this one from being ended.
        assert c.ask({"do": "cancel", "jobs": list(rows)})["ok"]
        c.wait_for(lambda: not c.queue(), "the end of all")
        ends = c.ask({"do": "history", "job": job})["jobs"]
        assert len(ends) == 120 and {end["state"] for end in ends} == {"CANCELLED"}
    c.replay()


def test_what_is_over_has_left_the_core(cluster):
    """With many jobs before those that live; and the number of one that is long over is nobody's."""
    c = cluster("2x1")
    many = c.submit("--hold", "--array", "1-5000", "/bin/true")
    job = c.submit("--hold", "/bin/true")
    c.run("cancel", many)
    c.wait_for(lambda: sorted(c.queue()) == [job], "the end of the array")
    (c.state / "jobs" / str(many)).mkdir()
    c.kill()
    c.start()
    assert sorted(c.queue()) == [job]
    assert not (c.state / "jobs" / str(many)).exists()
    c.run("release", job)
    assert c.wait_for_end(job)[0]["state"] == "COMPLETED"
    c.replay()
