"""Changes of a workload: ductile workload transform, and the same options of ductile simulate."""

import csv
import json
import math
import random
import re

import pytest

from conftest import RIGID_1000, ROOT
from test_simulate import figures_alone

CHANGES = ["--arrival-scale", "0.8", "--malleable", "0.4:rho=LS,rho_error=0.1,max=4",
           "--evolving", "0.3:x=0.005..0.01,overlap=random", "--moldable", "0.1:A=2,sigma=1",
           "--reconfiguration", "half:sync=0.015..0.1", "--estimates", "f:2"]


def figures(ductile, *arguments):
    return [figures_alone(run)
            for run in ductile.objects("simulate", "--json", "--quiet", *arguments)]


def transformed(ductile, folder, *arguments, name="x"):
    ductile.output("workload", "transform", RIGID_1000, *arguments, "--out", folder / f"{name}.swf")
    return folder / f"{name}.swf"


def adaptive_jobs(log):
    """job -> its words, of the file beside the log"""
    head, cores, *lines = log.with_suffix(".adaptive").read_text().splitlines()
    assert (head, cores) == ("ductile-adaptive 1", "cores_per_node 1")
    return {line.split()[1]: line.split()[2:] for line in lines}


def test_what_was_written_runs_as_what_was_asked_for(ductile, tmp_path):
    runs = ["--policy", "easy", "--policy", "fcfs", "--seed", 5]
    log = transformed(ductile, tmp_path, *CHANGES, "--seed", 5)
    assert figures(ductile, "--trace", log, *runs) == figures(
        ductile, "--trace", RIGID_1000, *CHANGES, *runs)


def test_the_same_seed_gives_the_same_bytes(ductile, tmp_path):
    for name, seed in ("a", 1), ("b", 1), ("c", 2):
        transformed(ductile, tmp_path, *CHANGES, "--seed", seed, name=name)
    for ending in ".swf", ".adaptive":
        a, b, c = ((tmp_path / name).with_suffix(ending).read_bytes() for name in "abc")
        assert a == b
        assert a != c


def test_a_file_that_is_written_again_is_the_same(ductile, tmp_path):
    log = transformed(ductile, tmp_path, *CHANGES)
    ductile.output("workload", "transform", log, "--out", tmp_path / "again.swf")
    assert (tmp_path / "again.adaptive").read_bytes() == log.with_suffix(".adaptive").read_bytes()

    def jobs(path):
        return [line for line in path.read_text().splitlines() if line[0] != ";"]
    assert jobs(tmp_path / "again.swf") == jobs(log)


def test_a_larger_share_contains_a_smaller_one(ductile, tmp_path):
    few, many = (adaptive_jobs(transformed(ductile, tmp_path, "--malleable", f"{share}:rho=SM",
                                           name=f"s{share}"))
                 for share in (0.4, 0.6))
    assert 350 < len(few) < 450 and 550 < len(many) < 650
    assert all(many[job] == words for job, words in few.items())


def test_a_golden_transform(ductile, tmp_path):
    """Pinned: whoever changes a draw changes the workloads of everybody."""
    log = transformed(ductile, tmp_path, "--malleable", "0.5:rho=0.1..0.2,max=4,constraint=even",
                      "--evolving", "0.5:max=4", "--jobs", "3", "--nodes", "500")
    assert log.with_suffix(".adaptive").read_text() == (
        ROOT / "tests/cli/golden/transform.adaptive").read_text()
    lines = [line.split() for line in log.read_text().splitlines() if line[0] != ";"]
    expected = (ROOT / "tests/cli/golden/transform.swf").read_text().splitlines()
    assert [" ".join(line) for line in lines] == expected


def test_the_power_law_is_anchored_where_asked(ductile):
    [at_size] = figures(ductile, "--trace", RIGID_1000, "--malleable", "1:rho=0.2,rho_reference=pref")
    [plain] = figures(ductile, "--trace", RIGID_1000)
    [at_one] = figures(ductile, "--trace", RIGID_1000, "--malleable", "1:rho=0.2")
    [rigid] = figures(ductile, "--trace", RIGID_1000, "--malleable", "0:rho=0.2")
    assert at_size["mean_wait_s"] == plain["mean_wait_s"]  # easy does not resize
    assert at_one["mean_turnaround_s"] > 1.2 * plain["mean_turnaround_s"]
    # Rigid jobs are the same applications; a job that adapts ends up to a microsecond elsewhere.
    assert math.isclose(rigid["mean_turnaround_s"], at_one["mean_turnaround_s"], rel_tol=1e-9)


# How runs go without errors, and with them in what is believed or in what is true.
SHARE = "0.5:max=4,rho=SM,rho_reference=pref"
ERRORS = ",rho_error=0.1..0.3,time_error=0.2..5"
COST = "full:alpha=1"
PERFECT = ["--estimates", "perfect"]
RIGHT = ["--malleable", SHARE, "--reconfiguration", COST, *PERFECT]
BELIEF = ["--malleable", SHARE + ERRORS + ",error_in=belief",
          "--reconfiguration", COST + ",error=0.1..10,error_in=belief", *PERFECT]
TRUTH = ["--malleable", SHARE + ERRORS, "--reconfiguration", COST, *PERFECT]


def test_what_is_believed_matters_to_those_who_ask(ductile, tmp_path):
    plain = {run["policy"]: run for run in figures(
        ductile, "--trace", RIGID_1000, "--policy", "fcfs", "--policy", "easy", "--policy", "mebf", *RIGHT)}
    wrong = {run["policy"]: run for run in figures(
        ductile, "--trace", RIGID_1000, "--policy", "fcfs", "--policy", "easy", "--policy", "mebf", *BELIEF)}
    assert wrong["fcfs"] == plain["fcfs"]
    assert wrong["easy"]["mean_wait_s"] != plain["easy"]["mean_wait_s"]
    assert wrong["mebf"]["shrinks"] != plain["mebf"]["shrinks"]

    right, misled = (transformed(ductile, tmp_path, *how, name=name)
                     for how, name in ((RIGHT, "right"), (BELIEF, "misled")))

    def truth(log):
        runs = [line.split()[:8] for line in log.read_text().splitlines() if line[0] != ";"]
        jobs = {job: [word for word in words if not word.startswith("believed_")]
                for job, words in adaptive_jobs(log).items()}
        return runs, jobs
    assert truth(misled) == truth(right)
    assert misled.read_text() != right.read_text()  # requested times
    assert "believed_cost" in misled.with_suffix(".adaptive").read_text()


def decisions_until_a_job_ends(ductile, folder, *how):
    ductile.output("simulate", "--trace", RIGID_1000, "--policy", "mebf:expand=intensive", "--jobs", 300,
                   "--arrival-scale", "0.1", "--quiet", "--out", folder, *how)
    with (folder / "jobs.csv").open() as file:
        first = min(float(row["finish_time"]) for row in csv.DictReader(file))
    with (folder / "decisions.csv").open() as file:
        return first, [(float(row["time"]), row["decision"], row["job"], row["size"], row["limit"])
                       for row in csv.DictReader(file)]


def test_what_is_true_is_seen_when_it_happens(ductile, tmp_path):
    end, right = decisions_until_a_job_ends(ductile, tmp_path / "right", *RIGHT)
    other_end, other = decisions_until_a_job_ends(ductile, tmp_path / "other", *TRUTH)
    until = min(end, other_end)

    def before(decisions):
        return [decision for decision in decisions if decision[0] < until]
    assert before(right) == before(other)
    assert {decision[1] for decision in before(right)} > {"start", "expand"}
    assert right != other
    _, misled = decisions_until_a_job_ends(ductile, tmp_path / "misled", *BELIEF)
    assert before(right) != before(misled)


def test_seeds_change_what_adapts_and_not_the_log(ductile):
    runs = figures(ductile, "--trace", RIGID_1000, "--malleable", "0.5:rho=SM", "--seeds", "1..3",
                   "--threads", 2)
    assert len({run["mean_wait_s"] for run in runs}) == 3
    assert {run["jobs"] for run in runs} == {1000}
    [second] = figures(ductile, "--trace", RIGID_1000, "--malleable", "0.5:rho=SM", "--seed", 2)
    assert second == runs[1]


@pytest.mark.parametrize("how, check", [
    ("perfect", lambda run, asked: asked == run),
    ("f:1", lambda run, asked: run <= asked <= 2 * run),
    ("menu", lambda run, asked: asked in [60 * m for m in (5, 10, 15, 30, 60, 120, 240, 480, 720)]
     or asked % 86400 == 0),
])
def test_estimates(ductile, tmp_path, how, check):
    log = transformed(ductile, tmp_path, "--estimates", how)
    for line in log.read_text().splitlines():
        if line[0] != ";":
            fields = line.split()
            assert check(float(fields[3]), float(fields[8])), line


def test_info_shows_the_types(ductile, tmp_path):
    log = transformed(ductile, tmp_path, "--malleable", "0.4", "--evolving", "0.5")
    facts = json.loads(ductile.output("workload", "info", log, "--json"))
    types = facts["jobs_by_type"]
    assert sum(types.values()) == facts["jobs"] == 1000
    assert types["moldable"] == types["adaptive"] == 0
    assert 350 < types["malleable"] < 450 and 450 < types["evolving"] < 550
    text = ductile.output("workload", "info", log)
    assert f"malleable             {types['malleable'] / 10:.1f} %" in text
    assert "x.adaptive" in text
    alone = json.loads(ductile.output("workload", "info", log, "--adaptive", "none", "--json"))
    assert alone["jobs_by_type"]["rigid"] == 1000


def test_which_file_of_adaptive_jobs(ductile, tmp_path):
    log = transformed(ductile, tmp_path, "--malleable", "0.4")
    first = ductile.output("simulate", "--trace", log, "--quiet").splitlines()[0]
    assert first.endswith(f" adapt, as {tmp_path}/x.adaptive says")
    first = ductile.output("simulate", "--trace", log, "--quiet", "--jobs", 10).splitlines()[0]
    assert "that were left out" in first
    assert "adapt" not in ductile.output("simulate", "--trace", log, "--quiet", "--adaptive",
                                         "none").splitlines()[0]
    other = tmp_path / "other"
    log.with_suffix(".adaptive").rename(other)
    assert "adapt" not in ductile.output("simulate", "--trace", log, "--quiet").splitlines()[0]
    first = ductile.output("simulate", "--trace", log, "--quiet", "--adaptive", other).splitlines()[0]
    assert first.endswith(f"{other} says")


@pytest.mark.parametrize("arguments, message", [
    (["--malleable", "2"], "--malleable: '2' is no share from 0 to 1"),
    (["--malleable", "1:min=2"], "--malleable: min: '2' is no number from 0 to 1"),
    (["--evolving", "1:max=2,size=3"], "--evolving: there is no 'size'; there are min, max,"),
    (["--moldable", "1:model=amdahl"], "--moldable: model: 'amdahl' needs its s"),
    (["--malleable", "1:count=2"], "--malleable: there is no 'count'"),
    (["--reconfiguration", "cheap"], "--reconfiguration: there is no 'cheap'; use full, half, free"),
    (["--reconfiguration", "full:alpha=2..1"], "--reconfiguration: alpha: '2..1' is empty"),
    (["--reconfiguration", "full:data_gb=1"], "add overhead_mode=bytes"),
    (["--malleable", "1:rho_error=0.1"], "--malleable: rho_error: the true rho would not be"),
    (["--estimates", "f"], "--estimates: there is no 'f'; use requested, perfect, f:F"),
    (["--speed-factor", "0"], "--speed-factor"),
    (["--adaptive", "no/such/file"], "no/such/file: "),
])
def test_wrong_options(ductile, arguments, message):
    done = ductile.run("simulate", "--trace", RIGID_1000, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_what_does_not_go_together(ductile, tmp_path):
    log = transformed(ductile, tmp_path, "--malleable", "0.4")
    done = ductile.run("simulate", "--trace", log, "--cores-per-node", 4)
    assert done.returncode == 2 and "give --cores-per-node 1" in done.stderr
    done = ductile.run("simulate", "--trace", RIGID_1000, "--adaptive", log)
    assert done.returncode == 2 and "the first line is 'ductile-adaptive 1'" in done.stderr
    done = ductile.run("simulate", "--generate", "rigid:jobs=10", "--adaptive", log)
    assert done.returncode == 2 and "give --trace" in done.stderr
    adaptive = log.with_suffix(".adaptive")
    adaptive.write_text(adaptive.read_text() + "job 77777 type=malleable size=1..2\n")
    done = ductile.run("simulate", "--trace", log)
    assert done.returncode == 2 and "1 of its jobs are not in" in done.stderr
    done = ductile.run("workload", "transform", log, "--out", tmp_path / "x.swf.gz")
    assert done.returncode == 2 and "give a name like x.swf" in done.stderr
    done = ductile.run("workload", "transform", RIGID_1000, "--out", tmp_path / "no/x.swf")
    assert done.returncode == 2 and "give another file to --out" in done.stderr


def test_files_cut_at_random_are_refused_or_are_less(ductile, tmp_path):
    log = transformed(ductile, tmp_path, "--malleable", "0.4:rho=SM")
    text = log.with_suffix(".adaptive").read_text()
    draws = random.Random(1)
    for _ in range(10):
        part = text[:draws.randrange(len(text))]
        log.with_suffix(".adaptive").write_text(part)
        done = ductile.run("simulate", "--trace", log, "--quiet")
        assert done.returncode in (0, 2)
        if done.returncode == 2:
            assert f"x.adaptive:{part.count(chr(10)) + 1}: " in done.stderr or "x.adaptive: is empty" in done.stderr


LOG = """; Computer: SP2
; Installation: a place
; Note: made by a person
; UnixStartTime: 1000000000
""" + "".join(f"{n} {n * 100} -1 {10 * n} {n} -1 -1 {n} 500 -1 1 {40 + n % 3} {n % 2 + 7} -1 -1 -1 -1 -1\n"
              for n in range(1, 10))


def jobs_of(log):
    return [line.split() for line in log.read_text().splitlines() if not line.startswith(";")]


@pytest.mark.parametrize("arguments, kept", [
    (["--last", 3], "789"),
    (["--user", "40,41"], "134679"),
    (["--user", 40, "--user", 42], "235689"),
    (["--group", 8], "13579"),
    (["--min-size", 4, "--max-size", 6], "456"),
    (["--runtime", "30..50"], "345"),
    (["--runtime", "..20"], "12"),
    (["--from", 300, "--until", 600], "345"),
    (["--from", "2001-09-09T01:51:40"], "3456789"),
    (["--until", "2001-09-09T01:51:40", "--last", 1], "2"),
])
def test_some_of_the_jobs(ductile, tmp_path, arguments, kept):
    (tmp_path / "log.swf").write_text(LOG)
    ductile.output("workload", "transform", tmp_path / "log.swf", "--nodes", 16, *arguments,
                   "--out", tmp_path / "x.swf")
    assert "".join(job[0] for job in jobs_of(tmp_path / "x.swf")) == kept
    info = json.loads(ductile.output("workload", "info", tmp_path / "log.swf", "--json", *arguments))
    assert info["jobs"] == len(kept)
    [run] = figures(ductile, "--trace", tmp_path / "log.swf", "--nodes", 16, *arguments)
    assert run["jobs"] == len(kept)


def test_a_load_is_met(ductile, tmp_path):
    log = transformed(ductile, tmp_path, "--load", 0.7, "--malleable", "0.3:rho=LS", "--seed", 2)
    info = json.loads(ductile.output("workload", "info", log, "--json"))
    assert abs(info["offered_load"] - 0.7) < 1e-6
    runs = ["--policy", "easy", "--seed", 2]
    assert figures(ductile, "--trace", log, *runs) == figures(
        ductile, "--trace", RIGID_1000, "--load", 0.7, "--malleable", "0.3:rho=LS", *runs)


def test_a_shuffle_keeps_times_and_jobs(ductile, tmp_path):
    log = transformed(ductile, tmp_path, "--shuffle", "--seed", 2)
    plain, shuffled = jobs_of(transformed(ductile, tmp_path, name="plain")), jobs_of(log)
    assert [job[1] for job in shuffled] == [job[1] for job in plain]
    by_name = {job[0]: job for job in shuffled}
    assert all(by_name[job[0]][2:] == job[2:] for job in plain)
    assert [job[0] for job in shuffled] != [job[0] for job in plain]


def test_flurries_are_taken_out(ductile, tmp_path):
    flurry = "".join(f"{n} {450 + n % 7} -1 10 1 -1 -1 1 500 -1 1 99 1 -1 -1 -1 -1 -1\n"
                     for n in range(100, 150))
    (tmp_path / "log.swf").write_text(LOG + flurry)
    what = ["--nodes", 16, "--remove-flurries", "--flurry", "jobs=40,share=0.9,days=0.001"]
    text = ductile.output("workload", "transform", tmp_path / "log.swf", *what, "--out",
                          tmp_path / "x.swf")
    assert "50 jobs in flurries left out\n" in text
    about = ductile.output("simulate", "--trace", tmp_path / "log.swf", "--quiet", *what)
    assert "50 in flurries left out" in about
    assert "".join(job[0] for job in jobs_of(tmp_path / "x.swf")) == "123456789"
    [run] = figures(ductile, "--trace", tmp_path / "log.swf", *what)
    assert run["jobs"] == 9


def test_nobody_is_named(ductile, tmp_path):
    (tmp_path / "log.swf").write_text(
        "; TimeZoneString: Europe/Stockholm\n; StartTime: Mon Sep 23 14:00:31 CEST 1996\n"
        "; EndTime: Tue Sep 24 14:00:31 CEST 1996\n" + LOG)
    (tmp_path / "log.adaptive").write_text(
        "ductile-adaptive 1\ncores_per_node 1\n# eve\n"
        "job 1 type=rigid size=1..1 account=eve partition=chemistry,lab nodelist=0-3\n"
        "job 2 type=rigid size=2..2 partition=lab\n")
    ductile.output("workload", "transform", tmp_path / "log.swf", "--nodes", 16, "--anonymise",
                   "--out", tmp_path / "x.swf")
    jobs = jobs_of(tmp_path / "x.swf")
    assert [job[11] for job in jobs] == list("123123123")
    assert [job[12] for job in jobs] == list("121212121")
    text = (tmp_path / "x.swf").read_text()
    assert not any(word in text for word in ["a place", "a person", "SP2", "Europe", "CEST"])
    assert (tmp_path / "x.adaptive").read_text() == (
        "ductile-adaptive 1\ncores_per_node 1\n"
        "job 1 type=rigid size=1..1 account=a1 partition=p1,p2 nodelist=0-3\n"
        "job 2 type=rigid size=2..2 partition=p2\n")


@pytest.mark.parametrize("arguments, message", [
    (["--user", "eve"], "--user: 'eve' is no number"),
    (["--runtime", "60"], "--runtime: '60' is no range"),
    (["--runtime", "60..50"], "--runtime: '60..50' is no range"),
    (["--from", "monday"], "--from: 'monday' is no time"),
    (["--from", "2001-01-01"], "UnixStartTime"),
    (["--flurry", "jobs=3"], "--flurry requires --remove-flurries"),
    (["--load", 0.5, "--arrival-scale", 2], "excludes"),
    (["--last", 3, "--jobs", 3], "excludes"),
])
def test_wrong_selections(ductile, tmp_path, arguments, message):
    (tmp_path / "log.swf").write_text(LOG.replace("UnixStartTime", "Time"))
    done = ductile.run("workload", "transform", tmp_path / "log.swf", "--nodes", 16, *arguments,
                       "--out", tmp_path / "x.swf")
    assert done.returncode == 2 and message in done.stderr
    assert not (tmp_path / "x.swf").exists()


def test_info_has_histograms_and_flurries(ductile, tmp_path):
    (tmp_path / "log.swf").write_text(LOG)
    call = ["workload", "info", tmp_path / "log.swf", "--flurry", "jobs=3,share=0.3,days=1"]
    info = json.loads(ductile.output(*call, "--json"))
    assert [one["jobs"] for one in info["sizes"]] == [1, 1, 2, 4, 1]
    assert [(one["from"], one["to"]) for one in info["runtimes"]][-1] == (604800, None)
    assert sum(one["jobs"] for one in info["accuracies"]) == 9
    # 2001-09-09 was a Sunday; the jobs come from 01:48:20 to 02:01:40.
    assert {i: one["jobs"] for i, one in enumerate(info["by_hour"]) if one["jobs"]} == {1: 7, 2: 2}
    assert [one["jobs"] for one in info["by_weekday"]] == [0] * 6 + [9]
    assert [one["user"] for one in info["top_users"]] == [40, 42, 41]
    assert sorted((one["user"], one["jobs"]) for one in info["flurries"]) == [
        (40, 3), (41, 3), (42, 3)]
    earlier = json.loads(ductile.output(*call, "--json", "--utc-offset", -2))
    assert [one["jobs"] for one in earlier["by_weekday"]] == [0] * 5 + [7, 2]
    text = ductile.output(*call)
    assert re.search(r"\n  Sunday +100\.0 % +100\.0 %  #{40}\n", text)
    assert re.search(r"\n  flurries of users +jobs +from \(s\) +to \(s\)\n", text)
    page = tmp_path / "page.html"
    assert ductile.output(*call, "--html", page) == text
    html = page.read_text()
    assert html.startswith("<!DOCTYPE html>") and html.endswith("</html>\n")
    assert html.count("<svg") == 5 and "Sunday: 100.0 % of the jobs" in html
    assert "http" not in html  # it needs nothing else
