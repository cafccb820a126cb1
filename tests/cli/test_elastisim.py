"""ductile simulate --elastisim: the example, with times worked out by hand."""

import csv

import pytest

from conftest import ROOT

EXAMPLE = "examples/elastisim/configuration.json"


def times(folder):
    with (folder / "jobs.csv").open() as file:
        return {row["job_id"]: (float(row["starting_time"]), float(row["finish_time"]))
                for row in csv.DictReader(file)}


def test_the_example_ends_when_it_should(ductile, tmp_path):
    [figures] = ductile.objects("simulate", "--elastisim", EXAMPLE, "--policy", "easy",
                                "--out", str(tmp_path / "out"), "--json", "--check")
    assert figures["jobs"] == 3 and figures["nodes"] == 8
    assert times(tmp_path / "out") == {
        # Reads 4 GB by one node's link of 1 GB/s; then 10 times 10 GFLOP on each of 4 nodes, beside
        # which 2 GB go round, and 20 GB at 2 GB/s to the file system.
        "0": (0, 4 + 10 * (10 + 20 / 2)),
        # The same 20 times, with 10 GB to write.
        "1": (10, 10 + 4 + 20 * (10 + 10 / 2)),
        # Waits for the first; nobody grants what it asks for: 3 times 60/2 s on 2 nodes.
        "2": (204, 204 + 3 * 30),
    }


def test_resizes_come_at_scheduling_points_and_cost_what_the_application_says(ductile, tmp_path):
    ductile.output("simulate", "--elastisim", EXAMPLE, "--policy", "mebf", "--quiet", "--check",
                   "--out", str(tmp_path / "out"))
    with (tmp_path / "out/decisions.csv").open() as file:
        resizes = [(row["decision"], row["job"], float(row["time"]), int(row["size"]))
                   for row in csv.DictReader(file) if row["decision"] in ("expand", "shrink")]
    # Job 1 shall give a node for job 2. Job 2 asks for two more when its first step is done.
    assert resizes == [("shrink", "1", 20, 3), ("expand", "2", 234, 4)]
    ends = {job: end for job, (start, end) in times(tmp_path / "out").items()}
    # Job 1 shrinks after its first step, at 10 + 4 + 15; each of 3 nodes then sends a third of
    # 4 GB, and 19 steps take 40/3 s and 5 s for the checkpoint.
    assert abs(ends["1"] - (29 + 4 / 3 + 19 * (40 / 3 + 5))) < 1e-5
    # Job 2 has 4 nodes for its second step and is denied 6 for the third.
    assert ends["2"] == 204 + 30 + 15 + 15


def test_what_is_not_modelled_is_told(ductile, tmp_path):
    for name in ["platform.xml", "jobs.json", "refining.json"]:
        (tmp_path / name).write_text((ROOT / "examples/elastisim" / name).read_text())
    solver = (ROOT / "examples/elastisim/solver.json").read_text()
    (tmp_path / "solver.json").write_text(solver.replace('"iterations": "steps"',
                                                         '"iterations": "steps", "barrier": false'))
    (tmp_path / "c.json").write_text(
        '{"jobs_file": "jobs.json", "platform_file": "platform.xml",'
        ' "allow_oversubscription": true}')
    call = ["simulate", "--elastisim", str(tmp_path / "c.json"), "--json"]
    told = ductile.run(*call).stderr.splitlines()
    assert len(told) == 2
    assert any("nodes are not shared" in line for line in told)
    assert any('"barrier": false' in line for line in told)
    assert ductile.run(*call, "--quiet").stderr == ""


def refused(ductile, *arguments):
    done = ductile.run(*arguments)
    assert done.returncode == 2
    return done.stderr


def test_errors_name_file_and_place(ductile, tmp_path):
    (tmp_path / "c.json").write_text('{"jobs_file": "j.json", "platform_file": "p.xml"}')
    (tmp_path / "p.xml").write_text("<platform>\n<cluster radical='0-3' speed='1Gf' bw='1'/>\n"
                                    "</platform>")
    (tmp_path / "j.json").write_text('{"jobs": [{"type": "rigid", "submit_time": 0}]}')
    call = ["simulate", "--elastisim", str(tmp_path / "c.json")]
    assert f"{tmp_path}/j.json: /jobs/0: 'num_nodes' is missing; add it" in refused(ductile, *call)
    (tmp_path / "p.xml").write_text("<platform>\n<cluster radical='0-3' speed='slow' bw='1'/>\n"
                                    "</platform>")
    assert f"{tmp_path}/p.xml:2: speed: 'slow'" in refused(ductile, *call)
    example = ["simulate", "--elastisim", EXAMPLE]
    assert "--nodes" in refused(ductile, *example, "--nodes", "8")
    assert "--elastisim" in refused(ductile, *example, "--generate", "rigid")


OF_LOGS = [("--size", "allocated"), ("--min-runtime", "5"), ("--never-started", "drop"), ("--clip",),
           ("--partition", "1"), ("--status", "completed"), ("--max-size", "4")]


@pytest.mark.parametrize("option", OF_LOGS + [("--cores-per-node", "2")])
def test_what_is_for_lines_of_a_log_is_refused(ductile, option):
    message = refused(ductile, "simulate", "--elastisim", EXAMPLE, *option).splitlines()[0]
    assert message.startswith(f"ductile: {option[0]}: ") and "--elastisim reads no log" in message


@pytest.mark.parametrize("option", OF_LOGS)
def test_and_where_jobs_are_generated(ductile, option):
    message = refused(ductile, "simulate", "--generate", "rigid:jobs=5", *option).splitlines()[0]
    assert message.startswith(f"ductile: {option[0]}: ") and "--generate reads no log" in message
