"""Jobs that wait for others, sessions of users, and figures of a part of a run: ductile simulate."""

import csv
import json

import pytest

from conftest import RIGID_1000

HEAD = "; MaxProcs: 4\n; UnixStartTime: 0\n"


def line(job, submit, run, wait=-1, user=1, preceding=-1, think=-1, nodes=4):
    return (f"{job} {submit} {wait} {run} {nodes} -1 -1 {nodes} {run} -1 1 {user} -1 -1 -1 -1 "
            f"{preceding} {think}\n")


def log(folder, *lines, beside=None, name="x"):
    path = folder / f"{name}.swf"
    path.write_text(HEAD + "".join(lines))
    if beside:
        path.with_suffix(".adaptive").write_text("ductile-adaptive 1\ncores_per_node 1\n" + beside)
    return path


def jobs(ductile, path, out, *options):
    ductile.output("simulate", "--trace", path, "--policy", "fcfs", "--out", out, "--quiet",
                   *options)
    with open(out / "jobs.csv", newline="", encoding="utf-8") as file:
        return {int(row["job_id"]): row for row in csv.DictReader(file)}


def column(rows, name):
    return {job: float(row[name]) for job, row in sorted(rows.items())}


# Each takes the machine: 1 runs 0 to 10, 2 is submitted 20 s later, 3 follows 2 at once.
CHAIN = (line(1, 0, 10), line(2, 1, 5, preceding=1, think=20), line(3, 2, 5, preceding=2, think=0))


def test_a_chain_of_preceding_jobs_by_hand(ductile, tmp_path):
    path = log(tmp_path, *CHAIN, line(4, 3, 5, preceding=77, think=1))
    plain = jobs(ductile, path, tmp_path / "plain")
    assert column(plain, "starting_time") == {1: 0, 2: 10, 3: 15, 4: 20}
    assert "eligible_time" not in plain[1]
    rows = jobs(ductile, path, tmp_path / "swf", "--dependencies", "swf")
    assert column(rows, "submission_time") == {1: 0, 2: 30, 3: 35, 4: 3}
    assert column(rows, "eligible_time") == {1: 0, 2: 30, 3: 35, 4: 3}
    assert column(rows, "starting_time") == {1: 0, 2: 30, 3: 35, 4: 10}
    assert column(rows, "waiting_time") == {1: 0, 2: 0, 3: 0, 4: 7}
    text = ductile.output("simulate", "--trace", path, "--dependencies", "swf")
    assert "3 name a preceding job" in text and "dependencies on other jobs: 2" in text
    assert "dependencies left out, on jobs that are not there: 1" in text
    assert "3 name a preceding job (see --dependencies)" in ductile.output("simulate", "--trace",
                                                                           path)


def test_waits_count_from_when_a_job_could_start(ductile, tmp_path):
    path = log(tmp_path, line(1, 0, 10, nodes=2), line(2, 0, 30, nodes=2), line(3, 1, 5, nodes=2),
               beside="job 3 type=rigid size=2..2 dependency=afterok:1\n")
    row = jobs(ductile, path, tmp_path / "out")[3]
    assert (row["submission_time"], row["eligible_time"], row["starting_time"]) == ("1", "10", "10")
    assert (row["waiting_time"], row["turnaround_time"], row["stretch"]) == ("0", "5", "1")


def test_what_is_never_satisfied_is_counted_and_told(ductile, tmp_path):
    path = log(tmp_path, line(1, 0, 10), line(2, 1, 5), line(3, 2, 5),
               beside="job 2 type=rigid size=4..4 dependency=afternotok:1\n"
                      "job 3 type=rigid size=4..4 dependency=afterany:2\n")
    done = ductile.run("simulate", "--trace", path, "--json")
    figures = json.loads(done.stdout)
    assert (figures["jobs"], figures["jobs_left"]) == (1, 2)
    assert figures["dependency_never_satisfied"] == 1
    assert "under easy 1 job had a dependency that was never satisfied" in done.stderr
    assert "2 jobs are left waiting for ever" in done.stderr
    killed = ductile.objects("simulate", "--trace", log(
        tmp_path, line(1, 0, 10).replace(" 10 -1 1", " 3 -1 1"), line(2, 1, 5), name="y",
        beside="job 2 type=rigid size=4..4 dependency=afternotok:1\n"),
        "--overrun", "kill", "--json", "--quiet")
    assert (killed[0]["jobs"], killed[0]["jobs_left"]) == (2, 0)


@pytest.mark.parametrize("lines, beside, options, error", [
    ((line(1, 0, 1, preceding=2, think=0), line(2, 0, 1, preceding=1, think=0)), None,
     ("--dependencies", "swf"), "x.swf:3: preceding job (field 17): jobs wait for each other"),
    ((line(1, 0, 1),), "job 1 type=rigid size=4..4 dependency=after:1\n", (),
     "x.adaptive:3: dependency: jobs wait for each other in a circle: 1, 1"),
    ((line(1, 0, 1),), "job 1 type=rigid size=4..4 dependency=since:1\n", (),
     "x.adaptive:3: dependency: there is no dependency 'since'"),
    ((line(1, 0, 1),), None, ("--feedback", "sessions"),
     "x.swf:3: wait time (field 3): is not known"),
    ((line(1, 0, 1),), None, ("--feedback", "sessions:think=0"), "--feedback: 'sessions:think=0'"),
    ((line(1, 0, 1),), None, ("--measure-from", "110%"), "--measure-from: '110%' is no time"),
    ((line(1, 0, 1),), None, ("--measure-from", "50%", "--measure-until", "10%"),
     "--measure-until: is not after --measure-from"),
])
def test_what_cannot_be_is_refused(ductile, tmp_path, lines, beside, options, error):
    path = log(tmp_path, *lines, beside=beside)
    out = tmp_path / "out"
    done = ductile.run("simulate", "--trace", path, *options, "--out", out)
    assert done.returncode == 2 and error in done.stderr, done.stderr
    assert not out.exists()


def test_only_logs_have_an_order_of_jobs(ductile):
    for option in (("--dependencies", "swf"), ("--feedback", "sessions")):
        done = ductile.run("simulate", "--generate", "rigid", *option)
        assert done.returncode == 2 and "reads no log" in done.stderr


def test_a_transformed_log_keeps_what_jobs_wait_for(ductile, tmp_path):
    path = log(tmp_path, *CHAIN, line(4, 3, 5),
               beside="job 4 type=rigid size=4..4 dependency=afterany:1:3\n")
    ductile.output("workload", "transform", path, "--arrival-scale", 2, "--out", tmp_path / "y.swf")
    lines = (tmp_path / "y.swf").read_text().splitlines()
    assert [each.split()[-2:] for each in lines if each[0] != ";"] == [
        ["-1", "-1"], ["1", "20"], ["2", "0"], ["-1", "-1"]]
    assert "job 4 type=rigid size=4..4 dependency=afterany:1:3\n" in (
        tmp_path / "y.adaptive").read_text()


def test_sessions_follow_the_end_in_the_simulation(ductile, tmp_path):
    # In the log 1 ran from 50 to 60, and its user thought for 15 s. A session of an hour later.
    path = log(tmp_path, line(1, 0, 10, wait=50), line(2, 75, 5, wait=0), line(3, 3700, 5, wait=0))
    rows = jobs(ductile, path, tmp_path / "out", "--feedback", "sessions")
    assert column(rows, "submission_time") == {1: 0, 2: 25, 3: 3700}
    rows = jobs(ductile, path, tmp_path / "long", "--feedback", "sessions:think=1e6")
    assert column(rows, "submission_time") == {1: 0, 2: 25, 3: 3650}
    rows = jobs(ductile, path, tmp_path / "short", "--feedback", "sessions:think=10")
    assert column(rows, "submission_time") == {1: 0, 2: 75, 3: 3700}


def test_a_run_with_sessions_is_recorded_and_the_same_again(ductile, tmp_path):
    options = ("simulate", "--trace", "examples/kth-sp2-first-5000.swf.xz", "--nodes", 100,
               "--jobs", 1000, "--feedback", "sessions", "--quiet")
    record = tmp_path / "log"
    ductile.output(*options, "--record", record, "--check")
    assert "are the same, asked again and folded" in ductile.output("replay", record)
    both = [ductile.output(*options, "--policy", "easy", "--policy", "fcfs", "--json", "--threads",
                           threads) for threads in (1, 2)]
    figures = [[{key: value for key, value in json.loads(each).items()
                 if not key.endswith("_seconds") and key != "peak_rss_bytes"}
                for each in text.splitlines()] for text in both]
    assert figures[0] == figures[1]


def test_figures_of_a_part_are_of_its_jobs(ductile, tmp_path):
    options = ("simulate", "--trace", RIGID_1000, "--nodes", 500, "--quiet", "--json")
    [whole] = ductile.objects(*options, "--out", tmp_path / "whole")
    [part] = ductile.objects(*options, "--measure-from", "10%", "--measure-until", "80%", "--out",
                             tmp_path / "part")
    files = [(tmp_path / folder / "jobs.csv").read_bytes() for folder in ("whole", "part")]
    assert files[0] == files[1]
    rows = list(csv.DictReader(files[1].decode().splitlines()))
    submits = [float(row["submission_time"]) for row in rows]
    first, last = min(submits), max(submits)
    assert part["measured_from_s"] == pytest.approx(first + 0.1 * (last - first), abs=1e-6)
    assert part["measured_until_s"] == pytest.approx(first + 0.8 * (last - first), abs=1e-6)
    waits = [float(row["waiting_time"]) for row, submit in zip(rows, submits)
             if part["measured_from_s"] <= submit < part["measured_until_s"]]
    assert (part["jobs"], part["jobs_in_all"]) == (len(waits), len(rows))
    assert part["mean_wait_s"] == pytest.approx(sum(waits) / len(waits))
    held = 0
    for row in rows:
        begin = max(float(row["starting_time"]), part["measured_from_s"])
        end = min(float(row["finish_time"]), part["measured_until_s"])
        held += max(end - begin, 0) * int(row["start_nodes"])
    length = part["measured_until_s"] - part["measured_from_s"]
    assert part["utilization"] == pytest.approx(held / (500 * length))
    assert part["efficiency"] is None and "jobs_in_all" not in whole
    assert part["makespan_s"] == whole["makespan_s"]


def test_a_part_may_be_told_by_dates(ductile, tmp_path):
    path = log(tmp_path, line(1, 0, 10), line(2, 86400, 5), line(3, 90000, 5))
    text = ductile.output("simulate", "--trace", path, "--measure-from", "1970-01-02",
                          "--measure-until", "1970-01-02T00:30")
    assert "measured: jobs submitted from 86400 s to 88200 s" in text
    assert text.splitlines()[-2].split()[:3] == ["easy", "1", "3"]


def test_a_part_may_last_to_the_end(ductile, tmp_path):
    path = log(tmp_path, line(1, 0, 10), line(2, 86400, 5), line(3, 90000, 5))
    for options in (["--measure-from", 80000], ["--measure-from", 80000, "--measure-until", "100%"]):
        text = ductile.output("simulate", "--trace", path, *options)
        assert "measured: jobs submitted from 80000 s to the end, seed 1\n" in text
    text = ductile.output("simulate", "--trace", path, "--measure-from", 80000, "--measure-until", 1e6)
    assert "measured: jobs submitted from 80000 s to 1000000 s, seed 1\n" in text


def test_a_warm_up_is_detected_in_each_run(ductile, tmp_path):
    """The first hundred jobs wait longer and longer, and then there is a gap."""
    lines = [line(i, 6 * i if i <= 100 else 2000 + 20 * i, 10) for i in range(1, 401)]
    path = log(tmp_path, *lines)
    options = ("simulate", "--trace", path, "--policy", "fcfs", "--policy", "easy", "--measure-from")
    for found in ductile.objects(*options, "detected", "--json"):
        assert found["measured_from_s"] == 2000 + 20 * 101 and found["mean_wait_s"] == 0
        assert (found["jobs"], found["jobs_in_all"]) == (300, 400)
        given = ductile.objects(*options, 2000 + 20 * 101, "--json")[0]
        assert found["utilization"] == given["utilization"]
    assert "measured: jobs submitted from 4020 s on, as detected\n" in ductile.output(*options, "detected")


def test_a_warm_up_that_is_not_detected_is_told(ductile, tmp_path):
    path = log(tmp_path, line(1, 0, 10), line(2, 86400, 5), line(3, 90000, 5))
    done = ductile.run("simulate", "--trace", path, "--measure-from", "detected", "--json")
    [found] = [json.loads(line) for line in done.stdout.splitlines()]
    assert found["jobs"] == 3 and "measured_from_s" not in found
    assert "no end of the warm-up is detected" in done.stderr
    refused = ductile.run("simulate", "--trace", path, "--measure-until", "detected")
    assert refused.returncode == 2 and "'detected' is no time" in refused.stderr


@pytest.mark.parametrize("options, why", [
    (["--measure-from", "2030-01-01"],
     "--measure-from: no job is submitted then or later, but from 5 s to 90000 s"),
    (["--measure-until", 5], "--measure-until: no job is submitted before, but from 5 s"),
    (["--measure-from", 50, "--measure-until", 60],
     "--measure-from: no job is submitted from then to --measure-until, but from 5 s")])
def test_a_part_without_jobs_is_refused(ductile, tmp_path, options, why):
    path = log(tmp_path, line(1, 5, 10), line(2, 86400, 5, preceding=1, think=70),
               line(3, 90000, 5))
    done = ductile.run("simulate", "--trace", path, "--out", tmp_path / "out", *options)
    assert done.returncode == 2 and why in done.stderr
    assert not (tmp_path / "out").exists()
    # Who follows another job may come at any time.
    ductile.output("simulate", "--trace", path, "--dependencies", "swf", *options)


LOST = "dependencies left out, on jobs that are not there: "


def test_transform_tells_which_dependencies_it_loses(ductile, tmp_path):
    path, out = log(tmp_path, *CHAIN), tmp_path / "y.swf"
    text = ductile.output("workload", "transform", path, "--out", out)
    assert "left out" not in text
    text = ductile.output("workload", "transform", path, "--last", 1, "--out", out)
    assert f"{LOST}1\n" in text
    flurry = [line(i, i, 5, user=7) for i in range(1, 6)]
    path = log(tmp_path, *flurry, line(6, 9000, 5, preceding=5, think=1),
               line(7, 9001, 5, preceding=6, think=2), beside="job 6 type=rigid size=4..4 dependency=afterok:4\n")
    text = ductile.output("workload", "transform", path, "--remove-flurries", "--flurry",
                          "jobs=5,days=0.01", "--out", out)
    assert f"{LOST}2\n" in text
    assert out.read_text().splitlines()[-1].split()[-2:] == ["6", "2"]


def test_a_resampled_log_keeps_what_jobs_of_a_user_wait_for(ductile, tmp_path):
    week = 7 * 86400
    path = log(tmp_path, line(1, 0, 10), line(2, 50, 5, preceding=1, think=20),
               line(3, 60, 5, user=2, preceding=1), line(4, 100, 5),
               line(5, 2 * week, 5, user=3), beside="job 4 type=rigid size=4..4 dependency=afterok:2\n")
    out = tmp_path / "y.swf"
    text = ductile.output("workload", "resample", path, "--weeks", 30, "--out", out)
    of_user = {}
    for fields in (row.split() for row in out.read_text().splitlines() if row[0] != ";"):
        of_user.setdefault(fields[11], []).append(fields)
    rows = out.with_suffix(".adaptive").read_text().splitlines()
    beside = {row.split()[1]: row for row in rows if row.startswith("job ")}
    chains, alone = 0, 0
    for rows in of_user.values():
        if len(rows) == 1:
            alone += rows[0][1] != "0" and int(rows[0][1]) % week == 60
            assert rows[0][16] == "-1"
            continue
        first, second, third = rows
        assert second[16:] == [first[0], "20"]
        assert f"dependency=afterok:{second[0]}" in beside[third[0]]
        chains += 1
    assert chains > 5 and alone > 5
    assert f"{LOST}{alone}\n" in text


def test_failures_go_on_while_users_think(ductile, tmp_path):
    path = log(tmp_path, line(1, 0, 1), line(2, 1, 5000, preceding=1, think=1000000))
    summary, = ductile.objects("simulate", "--trace", path, "--dependencies", "swf", "--failures",
                               "mtbf=500,repair=1", "--on-failure", "kill", "--json")
    assert summary["killed"] == 1


def test_sessions_are_of_the_jobs_that_are_left(ductile, tmp_path):
    # 2 to 6 are a flurry, which ends at 107. In the log 1 ended at 100, and 7 came 70 s later.
    flurry = [line(i, 20 + i, 5, wait=80, nodes=1) for i in range(2, 7)]
    path = log(tmp_path, line(1, 0, 10, wait=90), *flurry, line(7, 170, 5, wait=0))
    options = ("--feedback", "sessions", "--flurry", "jobs=5,days=0.0001", "--remove-flurries")
    rows = jobs(ductile, path, tmp_path / "out", *options)
    assert column(rows, "submission_time") == {1: 0, 7: 80}
    text = ductile.output("simulate", "--trace", path, *options)
    assert "1 follow another one of their session" in text and "not there" not in text
