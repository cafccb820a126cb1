"""ductile simulate: its figures, its files, and that they are the same each time."""

import csv
import json
import math
import os
import signal
import time

import pytest

from conftest import RIGID_1000, RIGID_5000, ROOT, files_of

KEYS = """policy seed jobs skipped nodes makespan_s utilization utilization_net efficiency throughput_jobs_h
mean_wait_s median_wait_s p95_wait_s p99_wait_s max_wait_s mean_turnaround_s mean_slowdown
mean_slowdown_actual mean_bounded_slowdown slowdown_of_means expands shrinks expanded_jobs backfilled
guests mates core_cuts cut_searches evolving_granted evolving_denied reconfiguration_node_s energy_j max_power_w power_cap_w
above_power_cap_s corridor_outside_s corridor_outside_ws corridor_excursions corridor_violations
corridor_solved corridor_unsolved killed killed_by_resizes rejected rejected_for_power orders_not_possible
premium_from premium_until requeued jobs_left stopped events passes choices policy_changes
look_ahead_passes delays account_delays ruled run load_seconds simulate_seconds look_ahead_seconds
peak_rss_bytes""".split()
MEASURED = {"load_seconds", "simulate_seconds", "look_ahead_seconds", "peak_rss_bytes"}

BATSIM = """job_id workload_name profile submission_time requested_number_of_resources requested_time
success final_state starting_time execution_time finish_time waiting_time turnaround_time stretch
allocated_resources consumed_energy metadata""".split()
FILES = {"allocations.csv", "decisions.csv", "jobs.csv", "report.html", "resizes.csv", "results.db", "series.csv", "summary.json", "trace.json"}


def without_measures(summary):
    return {key: value for key, value in summary.items() if key not in MEASURED}


def figures_alone(summary):
    """Without what was run, too: what different calls can have in common."""
    return {key: value for key, value in without_measures(summary).items() if key != "run"}


def references():
    names = {"depth5": "backfill:depth=5"}
    for line in (ROOT / "tests/data/rigid_figures.jsonl").read_text().splitlines():
        figures = json.loads(line)
        policy = figures.pop("policy", "easy")
        if policy != "easy" and figures["jobs"] > 1000:
            continue  # tests/reference has them
        yield figures.pop("reference"), names.get(policy, policy), figures


@pytest.mark.parametrize("workload, policy, expected", list(references()))
def test_figures_are_those_of_other_implementations(ductile, workload, policy, expected):
    [figures] = ductile.objects("simulate", "--trace", f"tests/data/{workload}.swf.xz",
                                "--policy", policy, "--json")
    assert list(figures) == KEYS
    for name, value in expected.items():
        # The references have six decimals.
        assert math.isclose(figures[name], value, rel_tol=1e-6, abs_tol=6e-7), name


def test_one_object_per_run_by_seed_and_policy(ductile):
    runs = ductile.objects("simulate", "--generate", "rigid", "--jobs", 200, "--seeds", "3..4",
                           "--policy", "fcfs", "--policy", "easy:order=sjf", "--json")
    assert [(run["seed"], run["policy"]) for run in runs] == [
        (3, "fcfs"), (3, "easy:order=sjf"), (4, "fcfs"), (4, "easy:order=sjf")]
    assert runs[0]["makespan_s"] != runs[2]["makespan_s"]


def test_threads_do_not_change_a_byte(ductile, tmp_path):
    results = []
    for threads in (1, 2):
        out = tmp_path / str(threads)
        runs = ductile.objects("simulate", "--generate", "rigid", "--jobs", 300, "--seeds", "1..3",
                               "--policy", "easy", "--policy", "conservative", "--json",
                               "--threads", threads, "--out", out)
        files = files_of(out)
        results.append(([without_measures(run) for run in runs],
                        {name: text for name, text in files.items() if "summary" not in name}))
    assert results[0] == results[1]
    assert len(results[0][1]) == 7 * 6 + 3


def test_the_table_names_policies_and_what_was_skipped(ductile):
    text = ductile.output("simulate", "--trace", "examples/kth-sp2-first-5000.swf.xz",
                          "--nodes", 100, "--policy", "fcfs", "--policy", "easy")
    assert "4997 jobs" in text and "3 without a run time (see --min-runtime)" in text
    lines = [line.split() for line in text.splitlines()]
    assert [line[0] for line in lines[-2:]] == ["fcfs", "easy"]
    assert "±" not in text


def test_several_seeds_give_intervals(ductile):
    text = ductile.output("simulate", "--generate", "rigid", "--jobs", 200, "--seeds", "1..4")
    assert text.count("\neasy ") == 1 and "±" in text


def test_nodes_come_from_the_header_and_are_told(ductile):
    done = ductile.run("simulate", "--trace", RIGID_1000, "--json")
    assert "--nodes 500, as the header" in done.stderr
    assert json.loads(done.stdout)["nodes"] == 500
    assert ductile.run("simulate", "--trace", RIGID_1000, "--json", "--quiet").stderr == ""


def test_files_of_a_run(ductile, tmp_path):
    [figures] = ductile.objects("simulate", "--trace", RIGID_1000, "--json", "--out", tmp_path)
    files = files_of(tmp_path)
    assert set(files) == FILES
    assert json.loads(files["summary.json"]) == figures

    with (tmp_path / "jobs.csv").open() as file:
        assert file.readline() == ",".join(
            BATSIM + ["user", "start_nodes", "end_nodes", "expands", "shrinks", "restarts",
                      "reason", "static_runtime"]) + "\n"
        file.seek(0)
        jobs = list(csv.DictReader(file))
    assert len(jobs) == 1000
    assert math.isclose(sum(float(job["waiting_time"]) for job in jobs) / 1000,
                        figures["mean_wait_s"])
    assert sum(job["reason"] == "backfilled" for job in jobs) == figures["backfilled"]
    finish = [float(job["finish_time"]) for job in jobs]
    assert finish == sorted(finish)

    with (tmp_path / "decisions.csv").open() as file:
        decisions = list(csv.DictReader(file))
    assert [decision["id"] for decision in decisions] == [str(i + 1) for i in range(1000)]

    with (tmp_path / "series.csv").open() as file:
        series = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    held = sum(row["held"] * (then["time"] - row["time"]) for row, then in zip(series, series[1:]))
    assert math.isclose(held / (500 * figures["makespan_s"]), figures["utilization"])
    assert all(row["held"] + row["idle"] + row["claimed"] + row["out_of_service"] == 500
               for row in series)

    trace = json.loads(files["trace.json"])
    assert sum(event["ph"] == "X" for event in trace["traceEvents"]) == 1000


def test_nodes_are_never_shared(ductile, tmp_path):
    ductile.output("simulate", "--trace", RIGID_1000, "--out", tmp_path)
    busy = {}
    with (tmp_path / "jobs.csv").open() as file:
        jobs = sorted(csv.DictReader(file), key=lambda job: float(job["starting_time"]))
    for job in jobs:
        nodes = set()
        for part in job["allocated_resources"].split():
            first, _, last = part.partition("-")
            nodes.update(range(int(first), int(last or first) + 1))
        assert len(nodes) == int(job["requested_number_of_resources"])
        for node in nodes:
            assert busy.get(node, 0) <= float(job["starting_time"])
            busy[node] = float(job["finish_time"])


def test_the_folder_changes_no_figure(ductile, tmp_path):
    arguments = ["simulate", "--trace", RIGID_1000, "--json"]
    with_files = ductile.objects(*arguments, "--out", tmp_path)
    assert [*map(without_measures, with_files)] == [*map(without_measures,
                                                          ductile.objects(*arguments))]


def test_several_runs_have_a_folder_each(ductile, tmp_path):
    ductile.output("simulate", "--trace", RIGID_1000, "--out", tmp_path,
                   "--policy", "easy", "--policy", "backfill:depth=5,order=sjf")
    folders = {"easy-s1", "backfill_depth=5_order=sjf-s1"}
    assert {path.name for path in tmp_path.iterdir()} == folders | {
        "report.html", "results.db", "runs.csv", "summary.json"}
    for folder in folders:
        assert set(files_of(tmp_path / folder)) == FILES - {"results.db"}
    runs = json.loads((tmp_path / "summary.json").read_text())["runs"]
    assert {run["folder"] for run in runs} == folders


VARIANTS = ["x y", "x_y", "X Y", "x-y", ".", "..", "a/b", "a_b", "../a_b", "x_y-2", "größe", "a\nb"]


@pytest.fixture
def variants(tmp_path):
    """An experiment whose variants differ in their numbers of jobs."""
    file = tmp_path / "variants.toml"
    file.write_text('generate = "rigid:nodes=80"\npolicy = ["fcfs", "easy"]\nseeds = "1..2"\n' + "".join(
        f"[[variant]]\nname = {json.dumps(name)}\njobs = {i + 1}\n"
        for i, name in enumerate(VARIANTS)))
    return file


def test_lines_of_an_experiment_say_their_variant(ductile, tmp_path, variants):
    lines = ductile.objects("simulate", variants, "--json", "--quiet")
    assert [(line["variant"], line["jobs"], line["seed"], line["policy"]) for line in lines] == [
        (name, i + 1, seed, policy) for i, name in enumerate(VARIANTS) for seed in (1, 2)
        for policy in ("fcfs", "easy")]
    # One matrix has no name.
    plain = tmp_path / "plain.toml"
    plain.write_text('generate = "rigid:nodes=80,jobs=2"\n')
    [line] = ductile.objects("simulate", plain, "--json")
    assert "variant" not in line


def test_each_variant_has_a_folder_of_its_own(ductile, tmp_path, variants):
    out = tmp_path / "deep" / "out"
    ductile.output("simulate", variants, "--quiet", "--out", out)
    folders = [path for path in out.iterdir() if path.is_dir()]
    assert len({folder.name.lower() for folder in folders}) == len(VARIANTS)
    assert {path.name for path in tmp_path.iterdir()} == {"deep", "variants.toml"}
    assert list((tmp_path / "deep").iterdir()) == [out]
    found = {}
    for folder in folders:
        assert {path.name for path in folder.iterdir()} == {
            "fcfs-s1", "easy-s1", "fcfs-s2", "easy-s2", "report.html", "runs.csv", "summary.json"}
        for run in json.loads((folder / "summary.json").read_text())["runs"]:
            found.setdefault(run["variant"], set()).add(run["jobs"])
        assert f": {run['variant']}" in (folder / "report.html").read_text()
        # Which is also what a report of them says.
        [line, *_] = ductile.objects("report", folder, "--json")
        assert line["variant"] == run["variant"]
    assert found == {name: {i + 1} for i, name in enumerate(VARIANTS)}
    # The same where the file names the folder.
    again = tmp_path / "again"
    variants.write_text(f'out = "{again}"\n' + variants.read_text())
    ductile.output("simulate", variants, "--quiet")
    assert {path.name for path in again.iterdir()} == {path.name for path in out.iterdir()}


@pytest.mark.parametrize("option", ["out", "record"])
def test_variants_do_not_write_over_each_other(ductile, tmp_path, option):
    file = tmp_path / "variants.toml"
    file.write_text('generate = "rigid:nodes=80,jobs=2"\n' + "".join(
        f'[[variant]]\nname = "{name}"\n{option} = "{tmp_path}/{path}"\n'
        for name, path in (("a", "x"), ("b", "y/../x/"))))
    done = ductile.run("simulate", file, "--quiet")
    assert done.returncode == 2 and f"{option}: several variants would write to" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["variants.toml"]
    file.write_text(file.read_text().replace("y/../x/", "y"))
    ductile.output("simulate", file, "--quiet")
    assert {path.name for path in tmp_path.iterdir()} == {"variants.toml", "x", "y"}


def test_perfect_estimates_and_arrivals(ductile):
    # From an independent implementation, with the run times as walltimes.
    [figures] = ductile.objects("simulate", "--trace", RIGID_1000, "--estimates", "perfect",
                                "--json")
    assert math.isclose(figures["mean_wait_s"], 814.232, rel_tol=1e-6)
    [sparse] = ductile.objects("simulate", "--trace", RIGID_1000, "--arrival-scale", 10, "--json")
    assert sparse["mean_wait_s"] < 1 and sparse["makespan_s"] > 8 * figures["makespan_s"]


def test_overrun_kill(ductile, tmp_path):
    log = tmp_path / "log.swf"
    log.write_text("; MaxNodes: 4\n1 0 -1 100 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1 -1\n")
    arguments = ["simulate", "--trace", log, "--json"]
    [killed] = ductile.objects(*arguments, "--overrun", "kill")
    assert (killed["killed"], killed["makespan_s"]) == (1, 60)
    [extended] = ductile.objects(*arguments)
    assert (extended["killed"], extended["makespan_s"]) == (0, 100)


def test_jobs_that_resizes_kill_are_counted_apart(ductile, tmp_path):
    arguments = ["simulate", "--trace", "examples/kth-sp2-first-5000.swf.xz", "--malleable", "1", "--limit", "fixed",
                 "--overrun", "kill", "--policy", "easy", "--policy", "mebf"]
    easy, mebf = ductile.objects(*arguments, "--json", "--out", tmp_path)
    assert (easy["killed"], easy["killed_by_resizes"]) == (70, 0)
    # The others are of the 70.
    assert mebf["killed_by_resizes"] > 200
    assert 0 <= mebf["killed"] - mebf["killed_by_resizes"] <= 70
    page = (tmp_path / "report.html").read_text()
    assert f"Resizes killed jobs: {mebf['killed_by_resizes']} of {mebf['killed']} under mebf." in page
    assert "Resizes killed" not in (tmp_path / "easy-s1/report.html").read_text()
    [title, *_] = [line for line in ductile.output(*arguments).splitlines() if line.startswith("policy")]
    assert "killed by resizes" in title


def test_failures_requeue_jobs(ductile, tmp_path):
    arguments = ["simulate", "--trace", RIGID_1000, "--failures", "mtbf=2e6,repair=3600", "--json"]
    [first] = ductile.objects(*arguments, "--check")
    assert first["requeued"] > 0 and first["jobs"] == 1000 and first["killed"] == 0
    [again] = ductile.objects(*arguments)
    assert without_measures(first) == without_measures(again)
    [kill] = ductile.objects(*arguments, "--on-failure", "kill")
    assert kill["requeued"] == 0 and kill["killed"] > 0
    ductile.output(*arguments, "--out", tmp_path)
    with (tmp_path / "jobs.csv").open() as file:
        assert sum(int(job["restarts"]) for job in csv.DictReader(file)) == first["requeued"]


def test_time_held_after_the_last_end_counts(ductile, tmp_path):
    log = tmp_path / "log.swf"
    log.write_text("; MaxNodes: 4\n1 0 -1 10 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1\n"
                   "2 0 -1 100 3 -1 -1 3 100 -1 1 1 1 1 1 1 -1 -1\n")
    failures = tmp_path / "failures.txt"
    failures.write_text("50 down 1-3\n")
    record = tmp_path / "run.log"
    arguments = ["simulate", "--trace", log, "--failures", failures, "--json"]
    [figures] = ductile.objects(*arguments, "--record", record)
    assert (figures["jobs"], figures["jobs_left"], figures["stopped"]) == (1, 1, False)
    assert (figures["makespan_s"], figures["utilization"]) == (50, (10 + 3 * 50) / (4 * 50))
    # Told again it is the same run.
    ductile.output("replay", record, "--out", tmp_path / "again")
    again = json.loads((tmp_path / "again/summary.json").read_text())
    for key in ["jobs", "jobs_left", "stopped", "makespan_s", "utilization", "throughput_jobs_h"]:
        assert again[key] == figures[key], key


def test_an_end_during_a_resize(ductile, tmp_path):
    # Job 1 is told at 10 s to give a node to job 2, which takes it 50 s; it is killed at 30 s.
    log = tmp_path / "log.swf"
    log.write_text("; MaxNodes: 4\n1 0 -1 100 4 -1 -1 4 30 -1 1 1 1 1 1 1 -1 -1\n"
                   "2 10 -1 10 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1\n")
    adaptive = tmp_path / "log.adaptive"
    adaptive.write_text("ductile-adaptive 1\ncores_per_node 1\njob 1 type=malleable size=2..4 cost=0:0:0:50:1\n")
    out = tmp_path / "out"
    [figures] = ductile.objects("simulate", "--trace", log, "--adaptive", adaptive, "--policy", "fpsma:tick=0",
                                "--limit", "fixed", "--overrun", "kill", "--json", "--out", out)
    assert (figures["killed"], figures["shrinks"], figures["reconfiguration_node_s"]) == (1, 0, 20 * 4)
    assert figures["killed_by_resizes"] == 0  # it asked for 30 s and needs 100
    with (out / "jobs.csv").open() as file:
        [job] = [row for row in csv.DictReader(file) if row["job_id"] == "1"]
    assert (job["start_nodes"], job["end_nodes"], job["shrinks"]) == ("4", "4", "0")


def test_foreseen_failures_are_left(ductile, tmp_path):
    log = tmp_path / "log.swf"
    log.write_text("; MaxNodes: 4\n1 0 -1 100 3 -1 -1 3 100 -1 1 1 1 1 1 1 -1 -1\n")
    failures = tmp_path / "failures.txt"
    failures.write_text("50 down 2\n200 up 2\n")
    out = tmp_path / "out"
    arguments = ["simulate", "--trace", log, "--malleable", "1:min=0.3,max=1,model=linear",
                 "--reconfiguration", "free", "--json", "--check", "--force", "--out", out]

    def run(failures, *options, decision="shrink"):
        [figures] = ductile.objects(*arguments, "--failures", failures, *options)
        with (out / "decisions.csv").open() as file:
            resizes = [(float(row["time"]), row["nodes"], row["reason"])
                       for row in csv.DictReader(file) if row["decision"] == decision]
        return figures, resizes

    # To the fourth node, which is idle.
    moved, moves = run(f"{failures},warn=10", decision="move")
    assert (moved["requeued"], moved["shrinks"], moves) == (0, 0, [(40, "0-1 3", "draining")])
    assert moved["makespan_s"] == 100
    arguments += ["--moves", "off"]

    lost, resizes = run(failures)
    assert (lost["requeued"], resizes) == (1, [])
    left, resizes = run(f"{failures},warn=10")
    assert (left["requeued"], resizes) == (0, [(40, "0-1", "draining")])
    assert left["makespan_s"] == 40 + 60 * 3 / 2
    # From the beginning.
    early, resizes = run(f"{failures},warn=1000")
    assert (early["requeued"], resizes) == (0, [])
    assert run(f"{failures},warn=0")[0]["requeued"] == 1


def test_random_failures_can_be_foreseen(ductile):
    arguments = ["simulate", "--trace", RIGID_1000, "--malleable", "1:min=0.1,max=1", "--json", "--check",
                 "--policy", "easy", "--failures"]
    [lost] = ductile.objects(*arguments, "mtbf=1e6,repair=3600")
    [left] = ductile.objects(*arguments, "warn=60,mtbf=1e6,repair=3600")
    assert lost["shrinks"] == 0 and left["shrinks"] > 0
    assert left["requeued"] < lost["requeued"] / 4


def test_load_and_simulate_are_the_wall_time(ductile):
    # What a sanitizer does at the end is not the program's.
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    jobs, shares = 5000, []
    while len(shares) < 4:
        begin = time.monotonic()
        [figures] = ductile.objects("simulate", "--generate", "rigid", "--jobs", jobs, "--json",
                                    env=environment)
        wall = time.monotonic() - begin
        if wall < 1:  # too short to tell
            jobs *= 4
            continue
        shares.append((figures["load_seconds"] + figures["simulate_seconds"]) / wall)
        if shares[-1] >= 0.95:
            break
    # Another process may have come between; not every time.
    assert 0.95 <= max(shares) <= 1.0, shares


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_leaves_whole_files(ductile, tmp_path, number):
    process = ductile.start("simulate", "--generate", "rigid:jobs=2000000", "--json",
                            "--out", tmp_path / "out")
    deadline = time.monotonic() + 60
    while not (tmp_path / "out/jobs.csv.part").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(number)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 1 and "ductile: stopped" in errors
    figures = json.loads(output)
    assert figures["stopped"] and figures["jobs_left"] > 0

    assert set(files_of(tmp_path / "out")) == FILES - {"results.db"}  # no run is over
    assert json.loads((tmp_path / "out/summary.json").read_text())["stopped"] is True
    with (tmp_path / "out/jobs.csv").open() as file:
        jobs = list(csv.DictReader(file))
    assert len(jobs) == figures["jobs"]
    assert all(job["reason"] for job in jobs)
    json.loads((tmp_path / "out/trace.json").read_text())
    assert (tmp_path / "out/report.html").read_text().endswith("</html>\n")
    assert "was stopped" in (tmp_path / "out/report.html").read_text()


def test_a_second_signal_ends_it_at_once(ductile):
    # Checks make it take minutes.
    process = ductile.start("simulate", "--generate", "rigid:jobs=300000,load=2", "--check")
    process.stdout.readline()  # the line about the workload
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode in (1, -signal.SIGINT)


def test_a_record_can_be_replayed(ductile, tmp_path):
    log = tmp_path / "run.log"
    ductile.output("simulate", "--trace", RIGID_1000, "--record", log)
    assert "are the same" in ductile.output("replay", log)


def test_a_large_run_is_checked(ductile):
    [figures] = ductile.objects("simulate", "--trace", RIGID_5000, "--check", "--json",
                                "--identities", "off", "--jobs", 1500)
    assert figures["jobs"] == 1500


def test_fairness_limits_what_requests_do_to_others(ductile):
    def run(rules):
        [figures] = ductile.objects(
            "simulate", "--generate", "rigid:jobs=800,load=1.1", "--nodes", 200, "--evolving",
            "0.3:max=4", "--policy", "dbes", "--limit", "fixed", "--fairness", rules, "--json")
        return figures

    free, counted, fair = run("none"), run("target"), run("target,target=600")
    assert free["delays"] == [] and free["evolving_granted"] > 0
    # To count changes nothing.
    assert {**counted, "delays": [], **{key: free[key] for key in MEASURED | {"run"}}} == free
    users = [row["user"] for row in counted["delays"]]
    assert users == sorted(users) and len(users) > 1
    for row in counted["delays"]:
        assert (row["delay_s"] > 0) == (row["jobs"] > 0) and row["suffered_s"] <= row["delay_s"]
        assert row["jobs"] > 0 or row["caused_s"] > 0
    # What came to some was caused by others, and is less than was planned: jobs end early.
    suffered = sum(row["suffered_s"] for row in counted["delays"])
    assert suffered == pytest.approx(sum(row["caused_s"] for row in counted["delays"]))
    assert 0 < suffered < 0.9 * sum(row["delay_s"] for row in counted["delays"])
    assert fair["evolving_denied"] > free["evolving_denied"]
    assert (sum(row["delay_s"] for row in fair["delays"])
            < sum(row["delay_s"] for row in counted["delays"]))
    done = ductile.run("simulate", "--generate", "rigid", "--fairness", "both,single=x")
    assert done.returncode == 2 and "--fairness: single=x: 'x' is no number" in done.stderr


def test_accounts_have_limits_and_figures(ductile, tmp_path):
    log = tmp_path / "x.swf"
    ductile.run("workload", "generate", "esp:evolving=all,gap=20", "--out", log)
    adaptive = tmp_path / "x.adaptive"
    lines = adaptive.read_text().splitlines()
    jobs = [f"{line} account={'odd' if number % 2 else 'even'}" if line.startswith("job") else line
            for number, line in enumerate(lines)]
    adaptive.write_text("\n".join(jobs) + "\n")

    def run(rules):
        [figures] = ductile.objects("simulate", "--trace", log, "--policy", "dbes", "--limit", "fixed",
                                    "--fairness", rules, "--json", "--quiet", "--record",
                                    tmp_path / "log")
        assert "are the same" in ductile.output("replay", tmp_path / "log")
        return {row["account"]: row for row in figures["account_delays"]}, figures["evolving_denied"]

    both, denied = run("target")
    assert list(both) == ["even", "odd"] and all(row["jobs"] > 0 for row in both.values())
    assert both["odd"]["caused_s"] > 0
    strict, more_denied = run("target,account:odd.permitted=no,account:nobody.permitted=no")
    assert strict.get("odd", {"jobs": 0})["jobs"] == 0 and more_denied > denied
    # Files keep them.
    ductile.run("workload", "transform", log, "--out", tmp_path / "y.swf")
    assert "account=odd" in (tmp_path / "y.adaptive").read_text()


def test_resampled_logs_are_those_of_workload_resample(ductile, tmp_path):
    told = ductile.objects("simulate", "--trace", RIGID_1000, "--resample", "--seeds", "2..3", "--nodes", 500,
                           "--json", "--quiet")
    for seed, line in zip((2, 3), told, strict=True):
        log = tmp_path / f"{seed}.swf"
        ductile.output("workload", "resample", RIGID_1000, "--nodes", 500, "--seed", seed, "--out", log)
        [own] = ductile.objects("simulate", "--trace", log, "--nodes", 500, "--json", "--quiet")
        assert line["seed"] == seed
        for figure in ("jobs", "makespan_s", "mean_wait_s", "mean_turnaround_s"):
            assert line[figure] == own[figure], figure
        # It is part of what was run, with its default.
        assert line["run"]["options"]["resample"] is True
        assert line["run"]["defaults"]["long-term-weeks"] == "12"
    assert told[0]["mean_wait_s"] != told[1]["mean_wait_s"]


def test_dates_of_resampled_logs_are_those_of_their_weeks(ductile, tmp_path):
    """Time 0 of a resampled log is that of the first week in which the log has a job."""
    week, log, made = 7 * 86400, tmp_path / "log.swf", tmp_path / "made.swf"
    log.write_text("; UnixStartTime: 0\n" + "".join(
        f"{job} {3 * week + job * 7200} 0 60 1 -1 -1 1 60 -1 1 {job % 7 + 1} 1 1 1 1 -1 -1\n" for job in range(300)))
    ductile.output("workload", "resample", log, "--nodes", 4, "--out", made)
    told = [ductile.objects("simulate", "--trace", trace, "--nodes", 4, "--measure-from", "1970-01-29", "--json", *more)[0]
            for trace, more in ((log, ["--resample"]), (made, []))]
    assert [each["measured_from_s"] for each in told] == [week, week] and told[0]["jobs"] == told[1]["jobs"] > 0


def test_what_cannot_be_resampled(ductile, tmp_path):
    done = ductile.run("simulate", "--generate", "rigid", "--resample")
    assert done.returncode == 2 and "--resample requires --trace" in done.stderr
    done = ductile.run("simulate", "--trace", RIGID_1000, "--long-term-weeks", 3)
    assert done.returncode == 2 and "--long-term-weeks requires --resample" in done.stderr
    nobody = tmp_path / "nobody.swf"
    nobody.write_text("".join(f"{i} {i} -1 10 1 -1 -1 1 20 -1 1 -1 -1 -1 -1 -1 -1 -1\n" for i in range(1, 9)))
    done = ductile.run("simulate", "--trace", nobody, "--nodes", 4, "--resample")
    assert done.returncode == 2 and "no job has a user" in done.stderr
