"""simulate --orders FILE: what operators order jobs, by time."""

import csv
import json

import pytest

RIGID = "type=rigid size=2..2"
MALLEABLE = "type=malleable size=1..8"


def line(job, submit, run, nodes):
    return f"{job} {submit} -1 {run} {nodes} -1 -1 {nodes} {run} -1 1 1 1 -1 -1 -1 -1 -1\n"


def write(tmp_path, lines, orders, jobs=()):
    (tmp_path / "log.swf").write_text("".join(lines))
    (tmp_path / "orders.txt").write_text(orders)
    (tmp_path / "log.adaptive").write_text(
        "ductile-adaptive 1\n" + "".join(f"job {job} {words}\n" for job, words in jobs))
    return ["simulate", "--trace", tmp_path / "log.swf", "--nodes", 4, "--orders", tmp_path / "orders.txt"]


def run(ductile, tmp_path, call, *options):
    done = ductile.run(*call, *options, "--out", tmp_path / "out", "--check", "--json")
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "out/jobs.csv") as file:
        rows = {int(row["job_id"]): row for row in csv.DictReader(file)}
    return rows, json.loads(done.stdout), done.stderr


def ends(rows):
    return {job: float(row["finish_time"]) for job, row in rows.items()}


def test_a_suspended_job_waits_until_it_is_resumed(ductile, tmp_path):
    # 30 s are done when it leaves its nodes; the other 70 s come after 50.
    call = write(tmp_path, [line(1, 0, 100, 2)], "30 suspend 1\n50 resume 1\n")
    rows, figures, stderr = run(ductile, tmp_path, call)
    assert ends(rows) == {1: 120}
    assert figures["orders_not_possible"] == 0 and "orders" not in stderr


def test_a_job_is_resized_as_ordered(ductile, tmp_path):
    # 2 nodes until 50; the other 100 node-seconds are done on 4 in 25 s.
    call = write(tmp_path, [line(1, 0, 100, 2)], "50 resize 1 4\n", [(1, MALLEABLE)])
    rows, figures, _ = run(ductile, tmp_path, call, "--policy", "fcfs")
    assert ends(rows) == {1: 75} and figures["expands"] == 1


@pytest.mark.parametrize("off, nodes", [("", "2-3"), (" off 1", "0 2")])
def test_a_job_moves_off_nodes(ductile, tmp_path, off, nodes):
    call = write(tmp_path, [line(1, 0, 100, 2)], f"50 migrate 1{off}\n", [(1, MALLEABLE)])
    rows, figures, stderr = run(ductile, tmp_path, call, "--policy", "fcfs")
    assert ends(rows) == {1: 100} and figures["orders_not_possible"] == 0, stderr
    assert nodes in (tmp_path / "out/decisions.csv").read_text()
    done = ductile.run(*call, "--moves", "off", "--policy", "fcfs")
    assert "1 order of --orders was not possible at its time" in done.stderr


def test_what_is_not_possible_is_told(ductile, tmp_path):
    # Rigid; not there yet; over; not suspended; suspended twice.
    orders = "10 resize 1 1\n20 migrate 1\n20 suspend 2\n25 resume 1\n30 suspend 1\n31 resume 1\n900 suspend 1\n"
    call = write(tmp_path, [line(1, 0, 100, 2), line(2, 200, 10, 1)], orders)
    rows, figures, stderr = run(ductile, tmp_path, call)
    assert figures["orders_not_possible"] == 5 and ends(rows) == {1: 101, 2: 210}
    assert "ductile: 5 orders of --orders were not possible at their time" in stderr
    assert ductile.run(*call, "--quiet", "--json").stderr == ""


def test_a_record_with_orders_is_told_again(ductile, tmp_path):
    call = write(tmp_path, [line(1, 0, 100, 2), line(2, 0, 100, 2)],
                 "30 suspend 1\n50 resume 1\n60 resize 2 4\n70 migrate 2 off 0-3\n", [(2, MALLEABLE)])
    rows, _, _ = run(ductile, tmp_path, call, "--record", tmp_path / "log")
    ductile.output("replay", tmp_path / "log", "--out", tmp_path / "again")
    with open(tmp_path / "again/jobs.csv") as file:
        assert ends({int(row["job_id"]): row for row in csv.DictReader(file)}) == ends(rows)
    assert ((tmp_path / "again/decisions.csv").read_text() == (tmp_path / "out/decisions.csv").read_text())


def test_an_experiment_names_a_file_beside_it(ductile, tmp_path):
    write(tmp_path, [line(1, 0, 100, 2)], "30 suspend 1\n50 resume 1\n")
    (tmp_path / "e.toml").write_text('trace = "log.swf"\nnodes = 4\n[[variant]]\nname = "with"\norders = "orders.txt"\n'
                                     '[[variant]]\nname = "without"\n')
    runs = ductile.objects("simulate", tmp_path / "e.toml", "--json")
    assert [(run["variant"], run["makespan_s"]) for run in runs] == [("with", 120), ("without", 100)]


@pytest.mark.parametrize("orders, why", [
    ("5 suspend 9\n", "orders.txt:1: job: there is no job 9 in the workload"),
    ("5 suspend 1\n4 resume 1\n", "orders.txt:2: time: is before that of the line before"),
    ("5 stop 1\n", "orders.txt:1: order: 'stop' is not possible; write suspend, resume, resize or migrate"),
    ("5 resize 1 5\n", "orders.txt:1: nodes: the machine has 4 nodes"),
])
def test_what_cannot_be_is_refused(ductile, tmp_path, orders, why):
    done = ductile.run(*write(tmp_path, [line(1, 0, 100, 2)], orders))
    assert done.returncode == 2 and why in done.stderr, done.stderr


def test_moves_need_identities(ductile, tmp_path):
    call = write(tmp_path, [line(1, 0, 100, 2)], "50 migrate 1\n", [(1, MALLEABLE)])
    done = ductile.run(*call, "--identities", "off")
    assert done.returncode == 2 and "orders to migrate need to know which nodes a job has" in done.stderr
