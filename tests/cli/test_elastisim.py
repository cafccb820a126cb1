"""ductile simulate --elastisim: the example, with times worked out by hand."""

import csv
import json

import pytest

from conftest import ROOT

EXAMPLE = "examples/elastisim/configuration.json"


def refused(ductile, *arguments):
    done = ductile.run(*arguments)
    assert done.returncode == 2
    return done.stderr


def copy(folder):
    for file in (ROOT / "examples/elastisim").iterdir():
        (folder / file.name).write_text(file.read_text())


def study(folder, jobs, model, nodes=8):
    """A workload of these jobs, all of one application."""
    folder.mkdir(parents=True, exist_ok=True)
    for job in jobs:
        job.setdefault("application_model", "model.json")
        job.setdefault("submit_time", 0)
    files = {"configuration.json": {"jobs_file": "jobs.json", "platform_file": "platform.xml"},
             "jobs.json": {"jobs": jobs}, "model.json": model}
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    (folder / "platform.xml").write_text(
        f"<platform><cluster id='c' radical='0-{nodes - 1}' speed='1Gf' bw='1GBps'/></platform>")
    return str(folder / "configuration.json")


def waits(delay, **more):
    return {"tasks": [{"type": "busy_wait", "delay": delay, "pattern": "uniform"}], **more}


def times(folder):
    with (folder / "jobs.csv").open() as file:
        return {row["job_id"]: (float(row["starting_time"]), float(row["finish_time"]))
                for row in csv.DictReader(file)}


def test_a_study_lies_where_one_says(ductile, tmp_path):
    file = study(tmp_path / "study", [{"type": "rigid", "num_nodes": 2}], {"phases": [waits(5)]})
    (tmp_path / "study" / "configuration.json").write_text(json.dumps(
        {"jobs_file": "/data/input/jobs.json", "platform_file": "/data/input/platform.xml"}))
    for name in ("jobs.json", "platform.xml"):
        (tmp_path / "study" / name).rename(tmp_path / name)
    run = ["simulate", "--elastisim", file, "--policy", "easy"]
    refused(ductile, *run)
    # The first that fits counts, and whole names of folders.
    maps = ["--map", f"/data/in={tmp_path}/study", "--map", f"/data/input={tmp_path}", "--map", f"/data={tmp_path}/study"]
    [figures] = ductile.objects(*run, *maps, "--json")
    assert figures["jobs"] == 1 and figures["makespan_s"] == 5
    error = refused(ductile, *run, "--map", f"/data={tmp_path}")
    assert f"is not there as {tmp_path}/input/platform.xml; map /data to the folder that has it" in error
    for wrong in ("/data", "=x", "/data="):
        assert f"--map: '{wrong}' does not name two folders" in refused(ductile, *run, "--map", wrong)
    assert "--map requires --elastisim" in refused(ductile, "simulate", "--generate", "esp", "--map", "/a=b")


def test_the_example_ends_when_it_should(ductile, tmp_path):
    [figures] = ductile.objects("simulate", "--elastisim", EXAMPLE, "--policy", "easy",
                                "--out", str(tmp_path / "out"), "--json", "--check")
    assert figures["jobs"] == 3 and figures["nodes"] == 8
    read = [file["file"].split("/")[-1] for file in figures["run"]["inputs"]]
    assert read[0] == EXAMPLE.split("/")[-1] and set(read) == {
        file.name for file in (ROOT / EXAMPLE).parent.iterdir() if file.suffix in (".json", ".xml")}
    assert times(tmp_path / "out") == {
        # Reads 4 GB by one node's link of 1 GB/s; then 10 times 10 GFLOP on each of 4 nodes, beside
        # which 2 GB go round, and 20 GB at 2 GB/s to the file system.
        "0": (0, 4 + 10 * (10 + 20 / 2)),
        # The same 20 times, with 10 GB to write.
        "1": (10, 10 + 4 + 20 * (10 + 10 / 2)),
        # Waits for the first. 60/2 s on 2 nodes; is granted 4, and denied 6.
        "2": (204, 204 + 30 + 15 + 15),
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
    assert len(told) == 3
    assert any("nodes are not shared" in line for line in told)
    assert any('"barrier": false' in line for line in told)
    # Whose tasks want the file system, which each job has for itself.
    [shared] = [line for line in told if "the file system" in line]
    for task, place in [("mesh", "/on_init/tasks/0"), ("checkpoint", "/phases/0/tasks/1")]:
        assert f"'{task}' ({tmp_path}/solver.json: {place})" in shared
    assert ductile.run(*call, "--quiet").stderr == ""


def test_what_is_not_modelled_is_an_error_if_it_is_to_be(ductile, tmp_path):
    message = refused(ductile, "simulate", "--elastisim", EXAMPLE, "--strict")
    assert message.startswith(f"ductile: {EXAMPLE}: each job has the file system for itself")
    assert "leave --strict away" in message
    copy(tmp_path)
    platform = (tmp_path / "platform.xml").read_text()
    (tmp_path / "platform.xml").write_text(
        platform.replace('latency="0us"/>', 'latency="0us" sharing_policy="FATPIPE"/>'))
    call = ["simulate", "--elastisim", str(tmp_path / "configuration.json"), "--strict"]
    assert ductile.run(*call).stderr == ""
    jobs = json.loads((tmp_path / "jobs.json").read_text())
    jobs["jobs"][0]["attributes"] = {"priority": 3}
    (tmp_path / "jobs.json").write_text(json.dumps(jobs))
    assert "attributes" in refused(ductile, *call)
    assert "attributes" in refused(ductile, *call, "--quiet")


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "dbes", "fpsma", "mebf",
                                    "elastic", "equipartition"])
@pytest.mark.parametrize("nodes", [7, 16])
def test_a_request_takes_effect_before_the_iteration_that_made_it(ductile, tmp_path, policy, nodes):
    model = {"phases": [waits("255/num_nodes^0.8", iterations=3, evolving_request="num_nodes + 2")]}
    job = {"type": "evolving", "num_nodes_min": 2, "num_nodes_max": 7}
    call = ["simulate", "--elastisim", study(tmp_path, [job], model, nodes), "--policy", policy]
    ductile.output(*call, "--out", str(tmp_path / "out"))
    # On 2, 4 and 6 nodes; rounded to microseconds at each resize.
    end = sum(round(255 / n**0.8, 6) for n in (2, 4, 6))
    assert times(tmp_path / "out")["0"] == (0, round(end, 6))
    assert abs(end - 291.394) < 0.001


def test_the_policy_of_the_example_scheduler(ductile, tmp_path):
    model = {"phases": [waits("work/num_nodes", iterations="n")]}
    jobs = [{"type": "rigid", "num_nodes": 4, "arguments": {"work": 120, "n": 1}},
            {"type": "malleable", "num_nodes_min": 1, "num_nodes_max": 8, "arguments": {"work": 160, "n": 3}},
            {"type": "rigid", "num_nodes": 6, "submit_time": 1, "arguments": {"work": 60, "n": 1}},
            {"type": "rigid", "num_nodes": 1, "submit_time": 2, "arguments": {"work": 1, "n": 1}}]
    ductile.output("simulate", "--elastisim", study(tmp_path, jobs, model), "--policy", "elastisim", "--check",
                   "--out", str(tmp_path / "out"))
    # The second job has what the first one leaves, and all from its scheduling point at 40 on, though the third
    # waits; nobody passes that one.
    assert times(tmp_path / "out") == {"0": (0, 30), "1": (0, 40 + 20 + 20), "2": (80, 90), "3": (80, 81)}


def test_walltimes_are_limits_whatever_the_size(ductile, tmp_path):
    job = {"type": "evolving", "num_nodes_min": 2, "num_nodes_max": 8, "walltime": 250}
    # Begins with 100 s on 2 nodes; on 8 it needs 100 s more, and then 60 s.
    model = {"phases": [waits("100", evolving_request="8"), waits("100", evolving_request="8"),
                        waits("60")]}
    configuration = study(tmp_path, [job, {"type": "rigid", "num_nodes": 8}], model)
    call = ["simulate", "--elastisim", configuration, "--policy", "dbes", "--overrun", "kill",
            "--json", "--force", "--out", str(tmp_path / "out")]
    for limit in ["fixed", "scaled"]:
        ductile.output(*call, "--limit", limit)
        assert times(tmp_path / "out")["0"] == (0, 250)
        # That one has no limit.
        assert times(tmp_path / "out")["1"] == (250, 250 + 260)


def test_no_walltime_is_no_limit(ductile, tmp_path):
    # Four times the nodes are believed to take a quarter of the time, but do for the first half.
    model = {"phases": [waits("200 / num_nodes", iterations=2, evolving_request="4 * num_nodes"),
                        waits("100", iterations=2)]}
    job = {"type": "evolving", "num_nodes_min": 2, "num_nodes_max": 8}
    configuration = study(tmp_path, [job], model)
    ductile.output("simulate", "--elastisim", configuration, "--policy", "dbes", "--overrun", "kill",
                   "--out", str(tmp_path / "out"))
    assert times(tmp_path / "out")["0"] == (0, 100 + 25 + 200)


def test_a_job_keeps_its_number_when_another_one_is_skipped(ductile, tmp_path):
    jobs = [{"type": "rigid", "num_nodes": 9}, {"type": "rigid", "num_nodes": 2}]
    configuration = study(tmp_path, jobs, {"phases": [waits(10)]})
    call = ["simulate", "--elastisim", configuration, "--out", str(tmp_path / "out")]
    # What is said of the skipped one can be done here.
    assert ("1 jobs skipped: 1 larger than the machine (see num_nodes and num_nodes_min, or the "
            "nodes of the platform)") in ductile.output(*call)
    assert times(tmp_path / "out") == {"1": (0, 10)}
    (tmp_path / "jobs.json").write_text(json.dumps({"jobs": jobs[:1]}))
    assert "has no job to simulate; 1 jobs skipped" in refused(ductile, *call)


def test_jobs_that_take_no_time_are_jobs(ductile, tmp_path):
    jobs = [{"type": kind, "num_nodes": 2, "num_nodes_min": 2, "num_nodes_max": 4}
            for kind in ["rigid", "moldable", "malleable", "evolving", "adaptive"]]
    model = {"phases": [waits(0, iterations=3, evolving_request="num_nodes + 1")]}
    configuration = study(tmp_path, jobs, model, nodes=20)
    for policy in ["easy", "dbes", "mebf", "equipartition"]:
        [figures] = ductile.objects("simulate", "--elastisim", configuration, "--policy", policy,
                                    "--check", "--json", "--force", "--out", str(tmp_path / "out"))
        assert figures["jobs"] == 5 and figures["skipped"] == 0
        for start, end in times(tmp_path / "out").values():
            assert 0 < end - start < 1e-4


@pytest.mark.parametrize("base", ["data/input/", "/data/input/", "/elsewhere/"])
def test_a_study_that_was_moved_is_read_as_it_is(ductile, tmp_path, base):
    folder = tmp_path / "study/data/input"
    job = {"type": "rigid", "num_nodes": 2, "application_model": base + "model.json",
           "arguments": {"steps": 3, "jobid": "5205826_ar2"}}
    configuration = study(folder, [job], {"phases": [waits(10, iterations="steps")]})
    (folder / "configuration.json").write_text(json.dumps(
        {"jobs_file": base + "jobs.json", "platform_file": base + "platform.xml"}))
    [figures] = ductile.objects("simulate", "--elastisim", configuration, "--json")
    assert figures["jobs"] == 1 and figures["makespan_s"] == 30
    (folder / "model.json").unlink()
    message = refused(ductile, "simulate", "--elastisim", configuration)
    assert f"jobs.json: /jobs/0/application_model: '{base}model.json' is not there" in message


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
