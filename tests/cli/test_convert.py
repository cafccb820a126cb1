"""ductile workload convert: workloads of other programs become SWF and back."""

import json

import pytest

from conftest import RIGID_1000, ROOT

GOLDEN = ROOT / "tests/cli/golden"


def convert(ductile, file, out, *arguments):
    done = ductile.run("workload", "convert", file, "--out", out, *arguments)
    assert done.returncode == 0, done.stderr
    return done


def refused(ductile, file, out, *arguments):
    done = ductile.run("workload", "convert", file, "--out", out, *arguments)
    assert done.returncode == 2, done.stderr
    assert not out.exists() and not out.with_name(out.name + ".part").exists()
    return done.stderr


def jobs_of(log):
    """The lines of a log without its header."""
    return [line.split() for line in log.read_text().splitlines() if not line.startswith(";")]


def test_what_sacct_prints_becomes_a_log(ductile, tmp_path):
    out = tmp_path / "log.swf"
    done = convert(ductile, GOLDEN / "convert.sacct", out, "--nodes", 10, "--cores-per-node", 48)
    assert out.read_text() == (GOLDEN / "convert.swf").read_text()
    assert done.stdout == f"{out}: 4 jobs\n"
    assert "2 lines of steps are not read\n" in done.stderr
    assert "2 jobs that wait or run are left out\n" in done.stderr
    assert "1 jobs have the limit UNLIMITED, which says no time\n" in done.stderr
    info = json.loads(ductile.output("workload", "info", out, "--cores-per-node", 48, "--json"))
    assert info["nodes"] == 10 and info["jobs"] == 3 and info["unix_start_time_s"] == 1709280000
    assert info["skipped_by_cause"]["no_runtime"] == 1


def test_sizes_arrivals_and_names_are_as_one_wants_them(ductile, tmp_path):
    out = tmp_path / "log.swf"
    convert(ductile, GOLDEN / "convert.sacct", out, "--count", "nodes", "--cores-per-node", 48,
            "--arrival", "eligible", "--anonymise")
    text = out.read_text()
    assert not any(name in text for name in ["alice", "chem", "batch", "normal", "User"])
    assert [(job[1], job[4], job[7]) for job in jobs_of(out)] == [
        ("0", "96", "96"), ("600", "48", "48"), ("600", "-1", "48"), ("3900", "48", "48")]


def test_a_missing_column_says_what_to_call(ductile, tmp_path):
    (tmp_path / "jobs.txt").write_text("JobID|State|Start|End\n")
    error = refused(ductile, tmp_path / "jobs.txt", tmp_path / "x.swf")
    assert "jobs.txt:1: there is no column Submit; call `TZ=UTC sacct --allusers" in error


def test_an_error_in_the_last_line_leaves_an_older_file_as_it_was(ductile, tmp_path):
    text = (GOLDEN / "convert.sacct").read_text()
    (tmp_path / "jobs.txt").write_text(text + "105|x\n")
    out = tmp_path / "x.swf"
    out.write_text("older\n")
    done = ductile.run("workload", "convert", tmp_path / "jobs.txt", "--out", out)
    assert done.returncode == 2 and "jobs.txt:10: has 2 columns" in done.stderr
    assert out.read_text() == "older\n" and list(tmp_path.glob("*.part")) == []


def test_a_log_comes_back_from_batsim(ductile, tmp_path):
    for version in ["batsim", "batsim5"]:
        convert(ductile, RIGID_1000, tmp_path / "w.json", "--to", version)
        convert(ductile, tmp_path / "w.json", tmp_path / "again.swf")
        # What both have: number, submission, run time, processors, requested time, user, group.
        plain = tmp_path / "plain.swf"
        ductile.output("workload", "transform", RIGID_1000, "--out", plain)
        fields = [0, 1, 3, 7, 8, 11, 12]
        again = jobs_of(tmp_path / "again.swf")
        assert len(again) == 1000
        assert [[job[f] for f in fields] for job in again] == [
            [job[f] for f in fields] for job in jobs_of(plain)]


def test_batsim_gets_what_it_knows(ductile, tmp_path):
    convert(ductile, GOLDEN / "convert.sacct", tmp_path / "w.json", "--nodes", 10,
            "--cores-per-node", 48)
    assert (tmp_path / "w.json").read_text() == (GOLDEN / "convert.json").read_text()
    workload = json.loads((tmp_path / "w.json").read_text())
    assert workload["jobs"][0] == {"id": "1", "subtime": 0, "res": 2, "walltime": 7200,
                                   "profile": "3600", "user": 1, "group": 1}
    assert workload["profiles"]["3600"] == {"type": "delay", "delay": 3600}
    convert(ductile, tmp_path / "w.json", tmp_path / "v5.json", "--to", "batsim5")
    workload = json.loads((tmp_path / "v5.json").read_text())
    assert workload["profiles"]["3600"] == {"type": "DelayProfile", "delay": 3600}


def test_profiles_of_batsim_take_their_time(ductile, tmp_path):
    profiles = {"net": {"type": "ParallelTaskHomogeneousProfile", "cpu": 0, "com": 3e9},
                "five": {"type": "composed", "repeat": 5, "seq": ["net", "d"]},
                "d": {"type": "delay", "delay": 0.5},
                "mpi": {"type": "smpi", "trace": "t"}}
    jobs = [{"id": name, "subtime": 0, "res": 5, "profile": name} for name in ["five", "mpi"]]
    file = tmp_path / "w.json"
    file.write_text(json.dumps({"nb_res": 8, "jobs": jobs, "profiles": profiles}))
    out = tmp_path / "w.swf"
    assert "give --bandwidth" in refused(ductile, file, out)
    network = ["--bandwidth", 1e9, "--backbone", 3e9]
    error = refused(ductile, file, out, *network)
    assert "/jobs/1/profile" in error and "type 'smpi'" in error and "--unsupported skip" in error
    done = convert(ductile, file, out, *network, "--unsupported", "skip")
    assert "left out: profiles of type 'smpi' are not supported" in done.stderr
    assert [job[3] for job in jobs_of(out)] == ["102.5"]


def test_a_platform_of_simgrid_says_what_batsim_runs_on(ductile, tmp_path):
    platform = tmp_path / "platform.xml"
    platform.write_text("""<platform version="4.1"><zone id="z" routing="Full">
      <cluster id="A" prefix="a" suffix="" radical="0-11" speed="2Gf" bw="1GBps" lat="5us" bb_bw="3GBps" bb_lat="3us"/>
      <cluster id="M" prefix="m" suffix="" radical="0-0" speed="1Gf" bw="1GBps" lat="5us">
        <prop id="role" value="master"/></cluster></zone></platform>""")
    profiles = {"net": {"type": "parallel_homogeneous", "cpu": 0, "com": 3e9},
                "work": {"type": "parallel_homogeneous", "cpu": 1e10, "com": 0}}
    jobs = [{"id": number, "subtime": 0, "res": 5, "profile": name} for number, name in enumerate(profiles, 1)]
    file, out = tmp_path / "w.json", tmp_path / "w.swf"
    file.write_text(json.dumps({"nb_res": 8, "jobs": jobs, "profiles": profiles}))
    convert(ductile, file, out, "--platform", platform)
    assert [job[3] for job in jobs_of(out)] == ["20", "5"]
    assert "; MaxNodes: 12\n" in out.read_text()
    convert(ductile, file, out, "--platform", platform, "--flops", 1e9, "--backbone", 6e9, "--nodes", 9)
    assert [job[3] for job in jobs_of(out)] == ["12", "10"]  # now a node's link is what is narrow
    assert "; MaxNodes: 9\n" in out.read_text()
    out.unlink()
    platform.write_text(platform.read_text().replace("lat=\"5us\" bb_bw",
                                                     "lat=\"5us\" topology=\"TORUS\" bb_bw"))
    error = refused(ductile, file, out, "--platform", platform)
    assert "the network of the machine" in error and "give --bandwidth" in error
    platform.write_text("<platform/>")
    assert f"{platform}: there are no compute nodes" in refused(ductile, file, out, "--platform", platform)
    assert f"{tmp_path}/none.xml" in refused(ductile, file, out, "--platform", tmp_path / "none.xml")


def test_elastisim_keeps_the_times_at_each_size(ductile, tmp_path):
    for file in (ROOT / "examples/elastisim").iterdir():
        (tmp_path / file.name).write_text(file.read_text())
    # Without the costs of resizes, which a file of adaptive jobs has no words for.
    solver = json.loads((tmp_path / "solver.json").read_text())
    del solver["on_reconfiguration"]
    (tmp_path / "solver.json").write_text(json.dumps(solver))
    jobs = json.loads((tmp_path / "jobs.json").read_text())["jobs"][:2]
    jobs.append({**jobs[0], "submit_time": 20, "num_nodes": 2})  # the second makes room for it
    (tmp_path / "jobs.json").write_text(json.dumps({"jobs": jobs}))
    study, out = tmp_path / "configuration.json", tmp_path / "out.swf"
    convert(ductile, study, out, "--from", "elastisim")
    runs = ["--policy", "mebf", "--policy", "easy", "--overrun", "kill", "--quiet", "--json",
            "--apply-at", "phase_end"]
    keys = ["jobs", "makespan_s", "mean_wait_s", "mean_turnaround_s", "shrinks", "expands"]
    here = ductile.objects("simulate", "--elastisim", study, "--links", "alone", *runs)
    there = ductile.objects("simulate", "--trace", out, *runs)
    for one, other in zip(here, there, strict=True):
        for key in keys:
            assert abs(one[key] - other[key]) < 1e-3, key
    assert here[0]["shrinks"] > 0


def test_what_a_file_of_adaptive_jobs_has_no_words_for_is_named(ductile, tmp_path):
    study = "examples/elastisim/configuration.json"
    error = refused(ductile, study, tmp_path / "x.swf", "--from", "elastisim")
    assert "job 1: " in error and "on_reconfiguration" in error
    done = convert(ductile, study, tmp_path / "x.swf", "--from", "elastisim", "--unsupported",
                   "skip")
    assert "2 jobs are left out" in done.stderr
    assert "it is malleable" in refused(ductile, study, tmp_path / "x.json", "--from", "elastisim",
                                        "--to", "batsim")


def test_calls_that_make_no_sense(ductile, tmp_path):
    assert "is SWF already" in refused(ductile, RIGID_1000, tmp_path / "x.swf")
    assert "its name does not say" in refused(ductile, "README.md", tmp_path / "x.swf")
    assert "nothing is written as sacct" in refused(ductile, RIGID_1000, tmp_path / "x.txt")
    assert "--from elastisim" in refused(ductile, "examples/elastisim/configuration.json",
                                         tmp_path / "x.swf")
    (tmp_path / "x.adaptive").write_text("ductile-adaptive 1\ncores_per_node 1\n")
    assert "would be read with" in refused(ductile, GOLDEN / "convert.sacct", tmp_path / "x.swf")


def log_with(folder, *jobs, beside=""):
    """A log of jobs (number, preceding job), and what is said beside it."""
    path = folder / "log.swf"
    path.write_text("; MaxProcs: 4\n" + "".join(
        f"{job} 0 -1 10 1 -1 -1 1 20 -1 1 1 -1 -1 -1 -1 {preceding} -1\n"
        for job, preceding in jobs))
    if beside:
        path.with_suffix(".adaptive").write_text("ductile-adaptive 1\ncores_per_node 1\n" + beside)
    return path


@pytest.mark.parametrize("words, message", [
    ("dependency=afterok:1", "it waits for another job"),
    ("priority=3", "it has the priority 3"),
    ("account=physics", "it has the account physics"),
    ("barrier=yes", "(barrier)"),
    ("bound=memory", "(bound)"),
    ("watts=200", "(watts)"),
    ("walltime=belief", "(walltime=belief)"),
    ("gres=gpu:1", "it says where it may run"),
])
def test_what_batsim_has_no_words_for_is_named(ductile, tmp_path, words, message):
    log = log_with(tmp_path, (1, -1), (2, -1), beside=f"job 2 type=rigid size=1..1 {words}\n")
    error = refused(ductile, log, tmp_path / "x.json")
    assert f"{log}: job 2: has what the other format has no words for: " in error
    assert message in error and "--unsupported skip" in error
    done = convert(ductile, log, tmp_path / "x.json", "--unsupported", "skip")
    assert "1 jobs are left out" in done.stderr and message in done.stderr
    jobs = json.loads((tmp_path / "x.json").read_text())["jobs"]
    assert [job["id"] for job in jobs] == ["1"]


def test_a_job_that_waits_for_a_preceding_one_is_no_job_of_batsim(ductile, tmp_path):
    log = log_with(tmp_path, (1, -1), (2, 1), (3, 77))  # nobody is 77
    assert "job 2: has what" in refused(ductile, log, tmp_path / "x.json")
    done = convert(ductile, log, tmp_path / "x.json", "--unsupported", "skip")
    assert "1 jobs are left out" in done.stderr
    jobs = json.loads((tmp_path / "x.json").read_text())["jobs"]
    assert [job["id"] for job in jobs] == ["1", "3"]


def test_two_jobs_of_one_number_are_no_jobs_of_batsim(ductile, tmp_path):
    log = log_with(tmp_path, (7, -1), (7, -1))
    error = refused(ductile, log, tmp_path / "x.json")
    assert f"{log}: job number (field 1): 7 is there more than once; give each job its own" in error


@pytest.mark.parametrize("file, kind, to, option, message", [
    *((RIGID_1000, "swf", "json", option, "is of what sacct prints") for option in
      ["--count=nodes", "--arrival=submit", "--anonymise"]),
    *((GOLDEN / "convert.json", "batsim", "swf", option, "is of what sacct prints") for option in
      ["--count=nodes", "--arrival=submit", "--anonymise"]),
    *((RIGID_1000, "swf", "json", option, "is of Batsim's parallel tasks") for option in
      ["--platform=p.xml", "--flops=1", "--bandwidth=1", "--backbone=1"]),
    *((GOLDEN / "convert.sacct", "sacct", "swf", option, "is of Batsim's parallel tasks")
      for option in ["--platform=p.xml", "--flops=1", "--bandwidth=1", "--backbone=1"]),
    ("examples/elastisim/configuration.json", "elastisim", "swf", "--nodes=4", "own platform"),
    (GOLDEN / "convert.json", "batsim", "json", "--cores-per-node=4", "nothing is written as SWF"),
])
def test_options_of_another_format_are_refused(ductile, tmp_path, file, kind, to, option, message):
    error = refused(ductile, file, tmp_path / f"x.{to}", "--from", kind, option)
    assert f"{option.split('=')[0]}: {message}" in error or message in error
    assert f"{file} is read as {kind}" in error and f"leave {option.split('=')[0]} away" in error
