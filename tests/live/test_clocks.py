"""The clock on the wall is set while the controller serves, or while it does not; the machine is started again."""

import json
import os
import signal
import time

import pytest
from conftest import processes_with

DAY = 86_400


def is_about(one, other):
    return one == pytest.approx(other, abs=300)  # clocks are days apart, and machines may be slow


def test_begin_is_a_time_of_the_wall(cluster):
    c = cluster("2x1", has_clock=True)
    waits = c.submit("--begin", "now+2hours", "/bin/true")
    c.wait_for(lambda: c.queue()[waits]["reason"] == "BeginTime", "the wait")
    c.set_clock(3 * 3600)
    assert c.wait_for_end(waits)[0]["state"] == "COMPLETED"
    end = c.history(waits)
    assert is_about(end["start_s"], c.wall()) and is_about(end["end_s"], c.wall())
    # And back: what is later now waits.
    c.set_clock(-DAY)
    waits = c.submit("--begin", "now+10minutes", "/bin/true")
    row = c.queue()[waits]
    assert row["reason"] == "BeginTime" and row["begin_s"] == pytest.approx(c.wall() + 600, abs=30)
    assert is_about(row["submit_s"], c.wall()) and is_about(c.ask({"do": "queue"})["now_s"], c.wall())
    c.kill()
    c.start()
    assert c.queue()[waits]["reason"] == "BeginTime"
    c.set_clock(-DAY + 700)
    c.wait_for_end(waits)
    c.replay()


@pytest.mark.parametrize("how", ("while it serves", "while it does not", "with the machine"))
def test_reservations_are_at_times_of_the_wall(cluster, how):
    c = cluster("3x1", has_clock=True)

    def set_clock(ahead):
        if how == "while it serves":
            return c.set_clock(ahead)
        c.kill()
        if how == "with the machine":
            c.set_boot_id(f"started at {ahead}")
        c.set_clock(ahead)
        return c.start()

    def row(name):
        found = [row for row in c.ask({"do": "reservations"})["reservations"] if row["name"] == name]
        return found[0] if found else None

    # One after the other on the same node.
    hours = {"a": (2, 3), "b": (3, 4), "c": (4, 6)}
    for name, (first, last) in hours.items():
        c.run("reserve", name, "--nodes", 2, "--from", f"now+{first}hours", "--to", f"now+{last}hours")
    c.run("reserve", "now", "--nodes", 0, "--duration", "10:0:0")
    c.wait_for(lambda: row("now")["state"] == "ACTIVE", "its begin")
    times = {name: (row(name)["from_s"], row(name)["to_s"]) for name in hours}
    c.set_clock(0)
    for ahead in (3600, -3600):
        set_clock(ahead)
        c.wait_for(lambda: is_about(c.ask({"do": "queue"})["now_s"], c.wall()), "the clock")
        for name in hours:
            assert (row(name)["from_s"], row(name)["to_s"]) == pytest.approx(times[name], abs=5), name
            assert row(name)["state"] == "INACTIVE"
        assert row("now")["state"] == "ACTIVE"  # what has begun stays
    set_clock(int(3.5 * 3600))
    c.wait_for(lambda: row("b")["state"] == "ACTIVE", "its begin")
    assert row("a") is None and row("c")["state"] == "INACTIVE"
    set_clock(DAY)
    c.wait_for(lambda: row("c") is None and row("now") is None, "their ends")
    c.replay()


@pytest.mark.parametrize("hour", (12, 23.5))
def test_explain_tells_times_of_the_wall(cluster, hour):
    """Also of the next day: the plan is an hour ahead."""
    c = cluster("1x1", has_clock=True)
    now = time.localtime()
    to_midnight = DAY - 3600 * now.tm_hour - 60 * now.tm_min - now.tm_sec
    busy = c.submit("-t", 60, "/bin/sleep", 1000)
    c.wait_for_size(busy, 1)
    waits = c.submit("-t", 60, "/bin/true")
    c.set_clock(9 * DAY + to_midnight + hour * 3600)
    c.wait_for(lambda: is_about(c.ask({"do": "queue"})["now_s"], c.wall()), "the clock")
    row = c.queue()[waits]
    for more in ([], ["--log", c.state / "journal.db"]):
        said = json.loads(c.run("explain", "--json", *more, waits).stdout)
        assert all(is_about(line["time_s"], c.wall()) for line in said["history"] + said["now"]), said
        assert said["history"][0]["time_s"] == pytest.approx(row["submit_s"], abs=1)
        # In the words as well.
        text = c.run("explain", *more, waits).stdout
        planned = time.localtime(row["planned_start_s"])
        hours = [time.strftime(f"planned to start at {form}", planned) for form in ("%X", "%F %X")]
        assert any(words in text for words in hours), text
    c.run("cancel", busy, waits)


@pytest.mark.parametrize("ahead", (2 * DAY, -2 * DAY))
def test_no_limit_and_no_length_comes_from_the_wall(cluster, ahead):
    c = cluster("2x1", has_clock=True)
    begin = time.monotonic()
    job = c.submit("-t", 10, c.script(f"until [ -e {c.folder}/go ]; do sleep 0.02; done"))
    short = c.submit("-t", "0:02", "/bin/sleep", 1000)
    c.wait_for_size(job, 1)
    c.set_clock(ahead)
    c.kill()
    c.start()
    assert c.wait_for_end(short)[0]["state"] == "TIMEOUT"
    row = c.queue()[job]
    assert row["state"] == "RUNNING" and row["elapsed_s"] <= time.monotonic() - begin
    assert row["start_s"] == pytest.approx(c.wall() - row["elapsed_s"], abs=10)
    (c.folder / "go").touch()
    ends = c.wait_for_end(job, short)
    assert ends[0]["state"] == "COMPLETED"
    for end in ends:
        assert 0 < end["end_s"] - end["start_s"] <= time.monotonic() - begin
        assert 0 < end["node_s"] <= time.monotonic() - begin
    c.replay()


def test_a_job_that_ends_without_a_controller_ended_when_it_did(cluster):
    c = cluster("2x1", has_clock=True)
    begin = time.monotonic()
    job = c.submit("-N", 2, c.script(f"until [ -e {c.folder}/go ]; do sleep 0.02; done"))
    c.wait_for_size(job, 2)
    c.kill()
    (c.folder / "go").touch()
    c.wait_for_text(c.state / "jobs" / str(job) / "report", '"ended"')
    ran = time.monotonic() - begin
    c.set_clock(DAY)
    time.sleep(2)  # for which nobody is to pay
    c.start()
    end = c.wait_for_end(job)[0]
    assert end["state"] == "COMPLETED"
    assert 0 < end["end_s"] - end["start_s"] <= ran and 0 < end["node_s"] <= 2 * ran


def test_nobody_pays_for_the_time_the_machine_was_off(cluster):
    c = cluster("2x1", has_clock=True)
    begin = time.monotonic()
    job = c.submit("/bin/sleep", 1000)
    c.wait_for_size(job, 1)
    late = c.submit("--begin", "now+10hours", "/bin/true")
    c.kill()
    for pid in processes_with(f"DUCTILE_JOB_FOLDER={c.state}/jobs/{job}"):
        os.kill(pid, signal.SIGKILL)
    c.set_boot_id("the second start")
    c.set_clock(DAY)
    c.start()
    end = c.wait_for_end(job)[0]
    assert end["state"] == "FAILED" and 0 < end["node_s"] <= time.monotonic() - begin
    assert c.wait_for_end(late)[0]["state"] == "COMPLETED"
    # Its clock may have lost its battery: the time of schedules goes forwards all the same.
    c.kill()
    c.set_boot_id("the third start")
    c.set_clock(-1000 * DAY)
    c.start()
    again = c.submit("-t", "0:02", "/bin/sleep", 1000)
    end = c.wait_for_end(again)[0]
    assert end["state"] == "TIMEOUT" and is_about(end["end_s"], c.wall())
    c.replay()


def lose_manager(c, job):
    os.kill(c.manager_of(job), signal.SIGKILL)


def lose_all(c, job):
    """As if a job had been killed as a whole, with the controller that was to hear of it."""
    c.kill()
    for pid in processes_with(f"DUCTILE_JOB_FOLDER={c.state}/jobs/{job}"):
        os.kill(pid, signal.SIGKILL)
    c.start()


@pytest.mark.parametrize("lose", (lose_manager, lose_all))
def test_an_end_that_nobody_reports_is_when_it_was_seen(cluster, lose):
    """And not when anything else happened before, or at the start of all time."""
    c = cluster("2x1")
    job = c.submit("-N", 2, "/bin/sleep", 1000)
    c.wait_for_size(job, 2)
    begin = time.monotonic()
    time.sleep(1.5)  # nothing else happens
    ran = time.monotonic() - begin
    lose(c, job)
    end = c.wait_for_end(job)[0]
    assert end["state"] == "FAILED"
    assert ran - 0.1 < end["end_s"] - end["start_s"] and is_about(end["end_s"], time.time()), end
    # It has paid since its start was decided, a moment before it began.
    assert 0 <= end["node_s"] - 2 * (end["end_s"] - end["start_s"]) < 10, end


@pytest.mark.parametrize("lose", (lose_manager, lose_all))
def test_a_life_that_nobody_reports_is_charged_until_it_was_over(cluster, lose):
    c = cluster("1x1")
    job = c.submit("--requeue", "/bin/sleep", 1000)
    c.wait_for_size(job, 1)
    time.sleep(1.5)
    lose(c, job)
    c.wait_for(lambda: c.queue()[job]["restarts"] == 1, "its next life")
    c.wait_for_size(job, 1)
    c.run("cancel", job)
    end = c.wait_for_end(job)[0]
    times = [size["time_s"] for size in end["sizes"]]
    assert times == sorted(times) and [size["nodes"] for size in end["sizes"]] == [1, 0, 1, 0], end
    assert times[1] - times[0] > 1.4 and is_about(times[1], time.time()), end
    assert end["node_s"] == pytest.approx(times[1] - times[0] + times[3] - times[2], abs=0.1), end


def test_a_job_pays_for_the_time_it_needs_to_die(cluster):
    c = cluster("1x1")
    job = c.submit(c.script("trap 'sleep 1; exit 1' TERM\ntouch ready\nwhile :; do sleep 0.02; done"))
    c.wait_for(lambda: (c.folder / "ready").exists(), "the job")
    c.run("requeue", job)
    asked = time.time()
    c.wait_for(lambda: c.queue()[job]["restarts"] == 1, "its next life")
    c.run("cancel", job)
    end = c.wait_for_end(job)[0]
    assert end["sizes"][1]["nodes"] == 0 and end["sizes"][1]["time_s"] > asked + 0.7, (asked, end)


def test_a_crash_before_the_ends_of_before_a_reboot_are_written_loses_nothing(cluster):
    """Whatever its moment: the next controller still knows that the machine was started again meanwhile."""
    c = cluster("1x1", has_clock=True)
    begin = time.monotonic()
    job = c.submit("/bin/sleep", 1000)
    c.wait_for_size(job, 1)
    c.kill()
    for pid in processes_with(f"DUCTILE_JOB_FOLDER={c.state}/jobs/{job}"):
        os.kill(pid, signal.SIGKILL)
    c.set_boot_id("the second start")
    c.set_clock(DAY)
    c.environment["DUCTILE_CRASH_AT"] = "1"
    c.launch()
    assert c.server.wait(60) == -signal.SIGKILL
    del c.environment["DUCTILE_CRASH_AT"]
    c.start()
    end = c.wait_for_end(job)[0]
    assert end["state"] == "FAILED" and 0 < end["node_s"] <= time.monotonic() - begin, end
    c.replay()
