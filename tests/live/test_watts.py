"""What jobs draw, live: what their users say, what is measured by files and by counters, and what is believed of it."""

import contextlib
import json
import socket
import sqlite3
import threading
import time
import urllib.request

import pytest

from conftest import PATIENCE, PATIENT, example


@pytest.fixture
def metered(powered):
    """Files say what jobs draw."""
    return lambda *options, policy="easy": powered("--measure", 0.5, "--watts-from", "FOLDER/watts/%j/%n", *options,
                                                   policy=policy)


def draws(c, job, *watts, first=0):
    """A tool of the site: from this node on."""
    folder = c.folder / "watts" / str(job)
    folder.mkdir(parents=True, exist_ok=True)
    for node, its in enumerate(watts, first):
        (folder / "new").write_text(f"{its}\n")
        (folder / "new").rename(folder / str(node))


def power(c, *words, **options):
    return json.loads(c.run("power", "--json", *words, **options).stdout)


def measured(c, job, watts):
    return c.wait_for(lambda: (row := c.queue()[job])["measured_w"] == watts and row, f"{watts} W")


def told(c):
    """What the core heard of what is believed, in its order."""
    with contextlib.closing(sqlite3.connect(c.state / "journal.db")) as journal:
        rows = journal.execute("SELECT text FROM records WHERE kind = 'E' AND text LIKE '%believed%' ORDER BY rowid")
        return [row[0] for row in rows]


def test_what_a_user_says_is_believed(powered):
    c = powered("--power-cap", 1000)
    patient = c.script(PATIENT)
    job = c.submit("-N", 2, "--watts", "150-250.5", patient)
    row = c.wait_for_size(job, 2)
    assert (row["least_watts"], row["watts"], row["believed_w"], row["measured_w"]) == (150, 250.5, 501, None)
    assert (power(c)["jobs_w"], power(c)["free_w"]) == (301, 299)
    c.kill()
    c.start()
    assert power(c)["jobs_w"] == 301 and c.queue()[job]["watts"] == 250.5
    other = c.submit("-N", 1, "--watts", 400, c.script("#DUCTILE --watts=500\n" + PATIENT, "other.sh"))
    row = c.queue()[other]
    assert (row["least_watts"], row["watts"], row["reason"], row["believed_w"]) == (400, 400, "PowerNotAvail", None)
    third = c.submit("-N", 1, "--hold", c.script("#DUCTILE --watts=110\n" + PATIENT, "third.sh"))
    assert c.queue()[third]["watts"] == 110
    # Less is possible.
    c.run("update", other, "--watts", "150-200")
    row = c.wait_for_size(other, 1)
    assert (row["least_watts"], row["watts"], row["believed_w"]) == (150, 200, 200)
    assert "only its limit" in c.run("update", other, "--watts", 120, code=1).stderr
    c.run("update", third, "--watts", "")
    assert c.queue()[third]["watts"] is None
    c.cancel_all()
    c.wait_for_end(job, other, third)
    c.replay()


def test_watts_of_a_rigid_job_that_said_none_can_be_changed(powered):
    c = powered("--power-cap", 450)
    job = c.submit("-N", 1, c.script(PATIENT))
    assert c.queue()[job]["reason"] == "PowerNotAvail"
    c.run("update", job, "--watts", 150)
    assert c.wait_for_size(job, 1)["believed_w"] == 150
    c.run("cancel", job)
    c.wait_for_end(job)
    c.replay()


def test_what_are_no_watts(powered):
    c = powered()
    patient = c.script(PATIENT)
    for word in ("much", "0", "-5", "1e7", "inf", "nan", "200-100", "0-100", "100-", "-", "100-200-300", "2e2"):
        said = c.run("submit", f"--watts={word}", patient, code=2).stderr
        assert f"--watts: '{word}' is neither W nor MIN-MAX, watts of a node; write it like 250 or 150-250" in said
    job = {"name": "x", "program": ["x"], "script": "#!/bin/sh\n", "chdir": "/"}
    for field, value in (("watts", -1), ("watts", "9"), ("watts", 1e7), ("least_watts", 1), ("least_watts", None)):
        answer = c.ask({"do": "submit", "job": {**job, field: value}})
        assert not answer["ok"] and answer["error"].startswith(f"{field}: "), answer
    c.cancel_all()


def test_files_are_measured_and_summed_up_over_the_nodes(metered):
    c = metered("--power-cap", 1200)
    job = c.submit("-N", 2, "--watts", "110-300", c.script(PATIENT))
    c.wait_for_size(job, 2)
    c.wait_for_text(c.log, f"job {job}: what it draws is not measured: '{c.folder}/watts/{job}/0' cannot be read: "
                           "No such file or directory")
    assert power(c)["jobs_w"] == 400 and power(c)["measured_jobs"] == []
    draws(c, job, 150, 170.5)
    row = measured(c, job, 320.5)
    assert c.wait_for(lambda: (now := power(c))["jobs_w"] == 120.5 and now, "the belief")["measured_jobs"] == [
        {"job": job, "nodes": 2, "believed_w": 320.5, "measured_w": 320.5}]
    assert row["watts"] == 300
    said = [line.split() for line in c.run("power").stdout.splitlines()]
    assert ["measured", "320.5", "W"] in said and [str(job), "2", "320.5", "W", "320.5", "W"] in said, said
    c.kill()
    c.start()
    assert power(c)["jobs_w"] == 120.5, "what was believed is in the journal"
    measured(c, job, 320.5)
    before = len(told(c))
    draws(c, job, 152, 171)  # by less than 2 %
    measured(c, job, 323)
    assert power(c)["jobs_w"] == 120.5
    draws(c, job, 250, 250)
    c.wait_for(lambda: power(c)["jobs_w"] == 300, "the belief")
    assert len(told(c)) == before + 1
    c.run("cancel", job)
    c.wait_for_end(job)
    c.replay()


@pytest.mark.parametrize("content", ["", "much", "-3", "nan", "1e300", "5 6", "\0\1\2", "9" * 5000])
def test_what_is_no_measurement_changes_nothing(metered, content):
    c = metered()
    job = c.submit("-N", 1, c.script(PATIENT))
    node = c.wait_for_size(job, 1)["nodelist"]
    draws(c, job, 200, first=int(node))
    measured(c, job, 200)
    (c.folder / "watts" / str(job) / node).write_text(content)
    c.wait_for_text(c.log, f"job {job}: what it draws is not measured: '{c.folder}/watts/{job}/{node}' has no watts")
    assert power(c)["jobs_w"] == 100
    draws(c, job, 250, first=int(node))
    measured(c, job, 250)
    assert c.log.read_text().count("not measured") == 1
    c.run("cancel", job)
    c.wait_for_end(job)


def test_a_job_that_is_resized_is_measured_on_the_nodes_it_has(metered):
    c = metered(policy="fcfs")
    draws(c, 1, 110, 120, 130, 140)
    job = c.submit("-N", 2, "--min-nodes", 1, "--max-nodes", 4, "--watts", "105-300", "--type", "malleable", "--",
                   example("until", "mpich"), c.folder / "done", 100)
    assert job == 1
    measured(c, job, 230)
    c.run("resize", job, 4)
    c.wait_for_size(job, 4)
    assert measured(c, job, 500)["believed_w"] in (460, 500)
    c.kill()
    c.start()
    c.run("resize", job, 1)
    row = c.wait_for_size(job, 1)
    measured(c, job, 110 + 10 * int(row["nodelist"]))
    c.wait_for(lambda: power(c)["jobs_w"] == 10 + 10 * int(row["nodelist"]), "the belief")
    c.finishes_right(job)
    c.replay()


def test_steps_of_a_script_are_measured_as_well(metered):
    c = metered(policy="fcfs")
    draws(c, 1, 150, 150, 150, 150)
    job = c.submit("-N", 2, "--min-nodes", 1, "--max-nodes", 4, "--type", "malleable", c.script(PATIENT))
    measured(c, job, 300)
    c.run("resize", job, 3)
    c.wait_for_size(job, 3)
    measured(c, job, 450)
    c.run("cancel", job)
    c.wait_for_end(job)
    c.replay()


def test_counters_of_the_machine_are_of_who_has_all_of_it(powered):
    c = powered()
    zone = c.folder / "powercap" / "intel-rapl:0"
    zone.mkdir(parents=True)
    (zone / "name").write_text("package-0\n")
    (zone / "max_energy_range_uj").write_text("1000000000000\n")
    (zone / "energy_uj").write_text("0\n")
    c.stop()
    c.arguments += ["--power-from", str(zone.parent), "--measure", "0.5"]
    over = threading.Event()

    def draw():  # 800 W
        begin = time.monotonic()
        while not over.wait(0.02):
            (zone / "new").write_text(f"{int((time.monotonic() - begin) * 800e6)}\n")
            (zone / "new").rename(zone / "energy_uj")

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        c.start()
        part = c.submit("-N", 2, c.script(PATIENT))
        c.wait_for_size(part, 2)
        other = c.submit("-N", 2, c.script(PATIENT))
        c.wait_for_size(other, 2)
        time.sleep(1.5)
        assert power(c)["measured_jobs"] == [], "nobody has the machine alone"
        c.run("cancel", part, other)
        c.wait_for_end(part, other)
        whole = c.submit("-N", 4, "--watts", "101-900", c.script(PATIENT))
        row = c.wait_for(lambda: (row := c.queue()[whole])["measured_w"] and row, "a measurement")
        assert 500 < row["measured_w"] < 1100
        c.wait_for(lambda: 100 < power(c)["jobs_w"] < 700, "the belief")
    finally:
        over.set()
        thread.join()
    c.run("cancel", whole)
    c.wait_for_end(whole)
    c.replay()


def test_settings_that_cannot_be(powered):
    c = powered()
    c.stop()
    for words, said in [(("--watts-from", "watts/%j/%n"), "'watts/%j/%n' does not begin with '/'"),
                        (("--watts-from", "/w/%j"), "'/w/%j' has no %n, the number of a node"),
                        (("--power-from", "/nowhere"), "there are no counters of energy in '/nowhere'")]:
        c.launch(*words)
        assert c.server.wait() == 2 and said in c.log.read_text()
    c.start()


def test_metrics_tell_what_jobs_draw(metered):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    c = metered("--metrics", port)
    job = c.submit("-N", 1, c.script(PATIENT))
    draws(c, job, 150, 150, 150, 150)
    measured(c, job, 150)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as answer:
        text = answer.read().decode()
    assert "ductile_jobs_measured 1\n" in text and "ductile_jobs_measured_watts 150\n" in text
    c.run("cancel", job)
    c.wait_for_end(job)
