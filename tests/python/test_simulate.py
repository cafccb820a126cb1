"""simulate, and what goes in and comes out of it."""

import csv
import json
import subprocess
import threading

import pytest

ductile = pytest.importorskip("ductile", reason="the Python module is not built")
numpy = pytest.importorskip("numpy")

SMALL = "rigid:jobs=300,nodes=50,max_size=20"


def test_summary_is_that_of_the_command_line(program):
    printed = subprocess.run([program, "simulate", "--generate", SMALL, "--policy", "easy", "--seed",
                              "3", "--malleable", "0.5", "--json", "--quiet"], check=True,
                             capture_output=True, text=True).stdout
    result = ductile.simulate(generate=SMALL, policy="easy", seed=3, malleable=0.5)
    line = json.loads(printed)
    for name, value in line.items():
        if name not in ("load_seconds", "simulate_seconds", "peak_rss_bytes", "look_ahead_seconds"):
            assert result.summary[name] == value, name


def test_columns_are_those_of_jobs_csv(tmp_path):
    result = ductile.simulate(generate=SMALL, policy="mebf", malleable=0.5, seed=2,
                              out=tmp_path / "out")
    with open(tmp_path / "out/jobs.csv", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: int(row["job_id"]))
    assert len(rows) == len(result.jobs.job_id) == 300
    for name, column in result.jobs.items():
        written = [row[name] for row in rows]
        if column.dtype.kind == "U":
            assert written == column.tolist(), name
        else:
            assert [float(each or "nan") for each in written] == pytest.approx(
                column.tolist(), nan_ok=True, rel=1e-12), name


def test_arrays_outlive_the_result():
    waits = ductile.simulate(generate=SMALL).jobs.waiting_time
    assert waits.base is not None and not waits.flags.owndata
    assert waits.sum() == ductile.simulate(generate=SMALL).jobs["waiting_time"].sum()


def test_workload_in_and_out(tmp_path):
    made = ductile.Workload.generate(SMALL, seed=5, malleable=0.5)
    assert len(made) == 300 and made.nodes == 50
    columns = made.columns
    assert set(columns.type) == {"rigid", "malleable"}
    assert (columns["min"] <= columns.nodes).all() and (columns.nodes <= columns["max"]).all()
    made.write(tmp_path / "x.swf")
    read = ductile.Workload.read(tmp_path / "x.swf")
    for name, column in read.columns.items():
        assert (column == columns[name]).all(), name
    first = ductile.simulate(made, policy="mebf")
    for workload in (read, tmp_path / "x.swf", str(tmp_path / "x.swf")):
        again = ductile.simulate(workload, policy="mebf")
        assert (again.jobs.finish_time == first.jobs.finish_time).all()


def test_workload_of_columns():
    made = ductile.Workload.generate(SMALL, seed=5)
    again = ductile.Workload.from_columns(made.columns, nodes_of_machine=50)
    assert (ductile.simulate(made).jobs.finish_time ==
            ductile.simulate(again).jobs.finish_time).all()
    small = ductile.Workload.from_columns(submit=[5, 0], runtime=[10, 20], nodes=[2, 2],
                                          max=numpy.array([2, 4]), nodes_of_machine=4)
    assert small.columns.number.tolist() == [2, 1]
    assert small.columns.type.tolist() == ["malleable", "rigid"]
    assert small.columns.walltime.tolist() == [20, 10]
    assert ductile.simulate(small).summary["makespan_s"] == 20


@pytest.mark.parametrize("columns, words", [
    ({"submit": [0], "runtime": [1]}, "nodes: is missing"),
    ({"submit": [0], "runtime": [-1], "nodes": [1]}, r"runtime\[0\]: -1 is not possible"),
    ({"submit": [0], "runtime": [1], "nodes": [5]}, r"nodes\[0\]: 5 is not possible"),
    ({"submit": [0, 1], "runtime": [1], "nodes": [1, 1]}, "runtime: has 1 rows, submit 2"),
    ({"submit": [0], "runtime": [1], "nodes": [1], "sort": [1]}, "sort: is no column"),
    ({"submit": ["x"], "runtime": [1], "nodes": [1]}, "submit: is no column of numbers"),
    ({"submit": [0], "runtime": [1], "nodes": [1], "type": ["soft"]}, "there is no 'soft'"),
    ({"submit": [float("nan")], "runtime": [1], "nodes": [1]}, r"submit\[0\]: nan"),
    ({"submit": [0, 1], "runtime": [1, 1], "nodes": [1, 1], "number": [7, 7]},
     r"number\[1\]: 7 is there twice"),
])
def test_columns_that_are_no_workload(columns, words):
    with pytest.raises(ductile.Error, match=words):
        ductile.Workload.from_columns(columns, nodes_of_machine=4)


@pytest.mark.parametrize("nodes", [-1, 0, 1 << 40])
def test_machines_that_are_none(nodes):
    with pytest.raises(ductile.Error, match=f"nodes_of_machine: {nodes} is not possible"):
        ductile.Workload.from_columns({"submit": [0], "runtime": [1], "nodes": [1]},
                                      nodes_of_machine=nodes)


@pytest.mark.parametrize("options, words", [
    ({}, "a workload is needed"),
    ({"generate": "nothing"}, "there is no workload model 'nothing'"),
    ({"generate": SMALL, "policy": "best"}, "there is no policy 'best'"),
    ({"generate": SMALL, "policy": ["easy", "fcfs"]}, "several"),
    ({"generate": SMALL, "policy": object()}, "is no policy"),
    ({"generate": SMALL, "resize_delay": "soon"}, "'soon' is no duration"),
    ({"generate": SMALL, "spped": 3}, "spped"),
    ({"generate": SMALL, "seeds": "1..3"}, "seeds: is an option of the command line"),
    ({"workload": "nothing.swf"}, "nothing.swf"),
])
def test_errors_have_the_words_of_the_command_line(options, words):
    with pytest.raises(ductile.Error, match=words) as raised:
        ductile.simulate(**options)
    assert isinstance(raised.value, ValueError)


def test_record_explain_replay(tmp_path):
    result = ductile.simulate(generate=SMALL, policy="easy", record=tmp_path / "run.log")
    its = ductile.explain(result, 7)
    assert its.job == 7 and "job 7" in str(its).lower()
    assert ductile.replay(result)["decisions"] == 300
    for number in (999, -1):
        with pytest.raises(ductile.Error, match=f"no job {number}"):
            ductile.explain(result, number)
    with pytest.raises(ductile.Error, match="not recorded"):
        ductile.explain(ductile.simulate(generate=SMALL), 1)


def test_the_lock_is_free_meanwhile():
    counted = [0]
    over = threading.Event()

    def count():
        while not over.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    ductile.simulate(generate="rigid:jobs=30000,nodes=500", policy="easy")
    during = counted[0] - before
    over.set()
    thread.join()
    assert during > 1000


def test_lists():
    assert "easy" in ductile.policies() and "rigid" in ductile.models()
