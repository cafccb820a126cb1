"""Power caps: who waits, what is drawn, caps that fall, reservations of watts, and what is refused."""

import csv
import json

import pytest

from conftest import page_data

# Idle 400 W; each busy node 200 W more.
PLATFORM = """
[[class]]
name = "std"
count = 4
idle_w = 100
busy_w = 300
"""
KNOWN = ("energy_j", "max_power_w", "power_cap_w", "above_power_cap_s")


def line(job, submit, run, nodes, time=None, queue=-1):
    return f"{job} {submit} -1 {run} {nodes} -1 -1 {nodes} {time or run} -1 1 1 1 -1 {queue} -1 -1 -1\n"


def write(tmp_path, lines, platform=PLATFORM):
    (tmp_path / "log.swf").write_text("".join(lines))
    (tmp_path / "platform.toml").write_text(platform)
    return ["simulate", "--trace", tmp_path / "log.swf", "--platform", tmp_path / "platform.toml"]


def rows_of(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def starts(folder):
    return {int(row["job_id"]): row["starting_time"] for row in rows_of(folder / "jobs.csv")}


def simulate(ductile, tmp_path, call, *options):
    """Starts by job, and the figures of power."""
    [figures] = ductile.objects(*call, *options, "--out", tmp_path / "out", "--force", "--check", "--json")
    assert figures["jobs_left"] == 0
    return starts(tmp_path / "out"), [figures[name] for name in KNOWN]


def test_a_cap_keeps_jobs_waiting(ductile, tmp_path):
    # 600 W for jobs: job 2 does not fit beside 1, job 3 does, and ends before 2 can start.
    call = write(tmp_path, [line(1, 0, 100, 2), line(2, 0, 100, 2), line(3, 1, 50, 1)])
    when, power = simulate(ductile, tmp_path, call, "--power-cap", 1000)
    assert when == {1: "0", 2: "100", 3: "1"}
    assert power == [800 * 1 + 1000 * 50 + 800 * 149, 1000, 1000, 0]
    rows = (tmp_path / "out/series.csv").read_text().splitlines()
    assert rows[0].endswith(",adaptive,power_w,power_cap_w")
    assert [row.split(",")[-2:] for row in rows[1:3]] == [["800", "1000"], ["1000", "1000"]]
    assert "power" in page_data(tmp_path / "out/report.html")["drawn"][0]["series"]["columns"]
    table = ductile.output(*call, "--power-cap", 1000)
    assert "highest power" in table and "above the cap" not in table

    when, power = simulate(ductile, tmp_path, call)
    assert when == {1: "0", 2: "0", 3: "100"}
    assert power[1:] == [1200, None, None]
    assert (tmp_path / "out/series.csv").read_text().splitlines()[1].endswith(",1200,")
    assert [figures[name] for figures in ductile.objects(*call, "--power-cap", "none", "--json")
            for name in KNOWN] == power


def test_what_was_written_can_be_compared_again(ductile, tmp_path):
    call = write(tmp_path, [line(1, 0, 100, 2), line(2, 0, 100, 2)])
    simulate(ductile, tmp_path, call, "--power-cap", 1000)
    page = tmp_path / "page.html"
    [figures] = ductile.objects("report", tmp_path / "out", "--html", page, "--json")
    assert figures["max_power_w"] == 800 and "Power" in page.read_text()
    # Of a version that knew nothing of power.
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    for name in ("max_power_w", "power_cap_w", "above_power_cap_s", "rejected_for_power"):
        del summary[name]
    (tmp_path / "out/summary.json").write_text(json.dumps(summary))
    [figures] = ductile.objects("report", tmp_path / "out", "--json")
    assert figures["max_power_w"] is None and figures["rejected_for_power"] == 0


def test_a_record_is_told_again_with_its_power(ductile, tmp_path):
    call = write(tmp_path, [line(1, 0, 100, 2), line(2, 0, 100, 4), line(3, 0, 60, 3)])
    [figures] = ductile.objects(*call, "--power-cap", 1000, "--record", tmp_path / "log", "--json")
    assert (figures["rejected"], figures["rejected_for_power"]) == (1, 1)
    ductile.output("replay", tmp_path / "log", "--out", tmp_path / "again")
    again = json.loads((tmp_path / "again/summary.json").read_text())
    assert [again[name] for name in KNOWN] == [figures[name] for name in KNOWN]
    assert again["rejected"] == 1


def test_a_lowered_cap_ends_nobody(ductile, tmp_path):
    caps = tmp_path / "caps.txt"
    caps.write_text("# by day\n0 none\n50 700\n")
    call = write(tmp_path, [line(1, 0, 100, 2), line(2, 0, 100, 2), line(3, 60, 10, 1)])
    when, power = simulate(ductile, tmp_path, call, "--power-cap", caps)
    assert when == {1: "0", 2: "0", 3: "100"}
    assert power == [1200 * 100 + 600 * 10, 1200, 700, 50]
    assert "above the cap" in ductile.output(*call, "--power-cap", caps)


def test_a_cap_that_rises_starts_who_waits(ductile, tmp_path):
    caps = tmp_path / "caps.txt"
    caps.write_text("0 500\n30 1200\n")
    when, power = simulate(ductile, tmp_path, write(tmp_path, [line(1, 0, 100, 4)]), "--power-cap", caps)
    assert when == {1: "30"}
    assert power == [400 * 30 + 1200 * 100, 1200, 500, 0]


def test_a_cap_holds_from_the_first_job_on(ductile, tmp_path):
    call = write(tmp_path, [line(1, 1000, 100, 4), line(2, 1001, 100, 1)])
    when, power = simulate(ductile, tmp_path, call, "--power-cap", 1200)
    assert when == {1: "1000", 2: "1100"}
    assert power == [1200 * 100 + 600 * 100, 1200, 1200, 0]
    assert (tmp_path / "out/series.csv").read_text().splitlines()[1].startswith("1000,")


def test_watts_of_a_reservation_are_kept_from_who_would_run_then(ductile, tmp_path):
    # From 50 to 150 there are 200 W for jobs: one node that ends later than 50.
    night = '[[reservation]]\nname = "night"\nfrom_s = 50\nto_s = 150\nwatts = 400\n'
    call = write(tmp_path, [line(1, 0, 100, 2), line(2, 0, 100, 1), line(3, 0, 50, 2)], PLATFORM + night)
    when, power = simulate(ductile, tmp_path, call, "--power-cap", 1000)
    assert when == {1: "150", 2: "0", 3: "0"}
    assert power == [1000 * 50 + 600 * 50 + 400 * 50 + 800 * 100, 1000, 600, 0]
    done = ductile.run(*call)
    assert done.returncode == 2
    assert done.stderr.startswith(f"ductile: {tmp_path}/platform.toml:7: watts: there is no power cap"), done.stderr


def test_jobs_say_their_watts_themselves(ductile, tmp_path):
    call = write(tmp_path, [line(1, 0, 100, 2), line(2, 0, 100, 2), line(3, 0, 100, 2)])[:3]
    (tmp_path / "log.adaptive").write_text("ductile-adaptive 1\ncores_per_node 1\n"
                                           "job 1 type=rigid size=2..2 watts=200\n"
                                           "job 2 type=rigid size=2..2 watts=200\n")
    when, power = simulate(ductile, tmp_path, [*call, "--nodes", 4], "--power-cap", 500)
    assert when == {1: "0", 2: "100", 3: "0"}
    assert power == [400 * 200, 400, 500, 0]


@pytest.mark.parametrize("policy", ["easy", "fcfs", "conservative", "dbes", "mebf", "equipartition"])
def test_who_is_too_large_for_every_cap_is_rejected(ductile, tmp_path, policy):
    call = write(tmp_path, [line(1, 0, 10, 4), line(2, 0, 10, 3), line(3, 1, 10, 3), line(4, 500, 10, 4)])
    done = ductile.run(*call, "--power-cap", 1000, "--policy", policy, "--out", tmp_path / "out", "--json")
    figures = json.loads(done.stdout)
    assert (figures["jobs"], figures["rejected"], figures["rejected_for_power"]) == (2, 2, 2)
    assert figures["makespan_s"] == 20, "a job that never ran is no end of the run"
    assert "2 jobs need more power than --power-cap ever leaves" in done.stderr
    assert ",REJECTED," in (tmp_path / "out/jobs.csv").read_text()
    assert "infeasible" in (tmp_path / "out/jobs.csv").read_text().splitlines()[1]
    assert ductile.run(*call, "--power-cap", 1000, "--quiet", "--json").stderr == ""
    # Large enough at night.
    (tmp_path / "caps").write_text("0 1000\n100 1200\n")
    [figures] = ductile.objects(*call, "--power-cap", tmp_path / "caps", "--policy", policy, "--json")
    assert (figures["jobs"], figures["rejected"]) == (4, 0)


@pytest.mark.parametrize("of_type", ["malleable", "moldable"])
def test_who_may_start_smaller_is_judged_by_his_smallest_size(ductile, tmp_path, of_type):
    # 600 W for jobs: three nodes.
    call = write(tmp_path, [line(1, 0, 100, 4), line(2, 0, 100, 4)])
    (tmp_path / "log.adaptive").write_text("ductile-adaptive 1\ncores_per_node 1\n"
                                           f"job 1 type={of_type} size=1..4\n"
                                           "job 2 type=rigid size=4..4\n")
    for policy, rejected in [("elastic", 1), ("mebf", 1), ("equipartition", 1), ("dbes", 1),
                             ("easy", 2), ("fpsma", 2)]:
        [figures] = ductile.objects(*call, "--power-cap", 1000, "--policy", policy, "--quiet", "--check", "--json")
        assert (figures["jobs"], figures["rejected_for_power"], figures["jobs_left"]) == (2 - rejected, rejected, 0), policy
    # Too large at any size.
    [figures] = ductile.objects(*call, "--power-cap", 599, "--policy", "elastic", "--quiet", "--json")
    assert figures["rejected_for_power"] == 2


STEPS = PLATFORM + "[[step]]\nspeed = 0.8\npower = 0.6\n[[step]]\nspeed = 0.5\npower = 0.25\n"


def test_who_lacks_watts_starts_at_a_lower_frequency(ductile, tmp_path):
    # 600 W for jobs. Job 2 needs 400 and has 200: at the second step it needs 100, and takes 200 s. So it ends no later
    # than if it waited for job 1. When that ends it goes on at full frequency, with half of its work done.
    call = write(tmp_path, [line(1, 0, 100, 2), line(2, 0, 100, 2)], STEPS)
    when, power = simulate(ductile, tmp_path, call, "--power-cap", 1000, "--slow-for-power", "--overrun", "kill")
    assert when == {1: "0", 2: "0"}
    assert power == [900 * 100 + 800 * 50, 900, 1000, 0]
    rows = rows_of(tmp_path / "out/jobs.csv")
    assert [(row["job_id"], row["finish_time"], row["frequency_step"], row["final_state"]) for row in rows] == [
        ("1", "100", "0", "COMPLETED_SUCCESSFULLY"), ("2", "150", "2", "COMPLETED_SUCCESSFULLY")]
    raised = [row for row in rows_of(tmp_path / "out/decisions.csv") if row["decision"] in ("frequency", "set-limit")]
    assert [(row["time"], row["decision"], row["job"], row["reason"], row["limit"], row["frequency_step"]) for row in raised] == [
        ("100", "frequency", "2", "hand-out", "", "0"), ("100", "set-limit", "2", "hand-out", "150", "")]
    assert [row["frequency_step"] for row in rows_of(tmp_path / "out/decisions.csv") if row["decision"] == "start"] == ["0", "2"]
    # Without it, and where it waits for less time than it would lose.
    when, _ = simulate(ductile, tmp_path, call, "--power-cap", 1000)
    assert when == {1: "0", 2: "100"}
    assert all("frequency" not in (tmp_path / "out" / name).read_text() for name in ("jobs.csv", "decisions.csv"))
    call = write(tmp_path, [line(1, 0, 99, 2), line(2, 0, 100, 2)], STEPS)
    assert simulate(ductile, tmp_path, call, "--power-cap", 1000, "--slow-for-power")[0] == {1: "0", 2: "99"}


def test_who_was_slowed_is_recorded_told_again_and_explained(ductile, tmp_path):
    call = write(tmp_path, [line(1, 0, 100, 2), line(2, 0, 100, 2)], STEPS)
    [figures] = ductile.objects(*call, "--power-cap", 1000, "--slow-for-power", "--record", tmp_path / "log", "--json")
    for how in ([], ["--fold"]):
        ductile.output("replay", tmp_path / "log", *how)
    ductile.output("replay", tmp_path / "log", "--out", tmp_path / "again")
    again = json.loads((tmp_path / "again/summary.json").read_text())
    assert [again[name] for name in (*KNOWN, "makespan_s")] == [figures[name] for name in (*KNOWN, "makespan_s")]
    said = ductile.output("explain", "--log", tmp_path / "log", 2)
    assert "at a lower frequency (step 2), 0.5 times as fast, so that it lacks no power" in said, said
    assert "it computes at the full frequency again: there is power for it" in said, said


def test_who_is_too_large_for_the_cap_runs_at_the_lowest_frequency(ductile, tmp_path):
    call = write(tmp_path, [line(1, 0, 100, 4)], STEPS)
    assert ductile.objects(*call, "--power-cap", 600, "--quiet", "--json")[0]["rejected_for_power"] == 1
    [figures] = ductile.objects(*call, "--power-cap", 600, "--slow-for-power", "--json")
    assert (figures["rejected"], figures["makespan_s"], figures["max_power_w"]) == (0, 200, 600)


@pytest.mark.parametrize("beside, killed", [("", 1), ("job 2 type=malleable size=1..3\n", 1)])
def test_who_was_slowed_and_asked_for_too_little_is_killed_and_said_so(ductile, tmp_path, beside, killed):
    # 500 W for jobs: job 1 has 400. Job 2 begins at half of its speed, and is raised at 60.
    call = write(tmp_path, [line(1, 0, 60, 4, time=200), line(2, 1, 100, 3, time=90)],
                 STEPS.replace("count = 4", "count = 10").replace("300", "200").replace("0.25", "0.3"))
    (tmp_path / "log.adaptive").write_text(f"ductile-adaptive 1\ncores_per_node 1\n{beside}job 1 type=rigid size=4..4\n")
    [figures] = ductile.objects(*call, "--power-cap", 1500, "--slow-for-power", "--overrun", "kill", "--policy", "easy", "--json")
    assert (figures["killed"], figures["killed_by_resizes"]) == (killed, 0)


def test_who_asked_for_as_long_as_it_takes_ends_on_nodes_of_any_speed(ductile, tmp_path):
    platform = "[[class]]\nname = 'a'\ncount = 10\nidle_w = 100\nbusy_w = 200\nspeed = 0.9\n[[step]]\nspeed = 0.83\npower = 0.3\n"
    for length in (171, 97, 113, 59, 1001):
        call = write(tmp_path, [line(1, 0, 600, 4, time=2000), line(2, 0, length, 3, time=length)], platform)
        [figures] = ductile.objects(*call, "--power-cap", 1500, "--slow-for-power", "--overrun", "kill", "--policy", "easy", "--json")
        assert figures["killed"] == 0


def test_who_starts_slower_takes_no_node_for_which_one_before_it_waits(ductile, tmp_path):
    """Job 4 waits for nodes 0-4, job 5 may be on any: it starts slower beside it, on others."""
    nodes = "idle_w = 100\nbusy_w = 200\n"
    platform = (f"[[class]]\nname = 'a'\ncount = 5\n{nodes}[[class]]\nname = 'b'\ncount = 5\n{nodes}"
                "[[partition]]\nname = 'pa'\nclasses = ['a']\n[[partition]]\nname = 'all'\n[[partition]]\nname = 'pb'\nclasses = ['b']\n"
                "[[step]]\nspeed = 0.8\npower = 0.3\n")
    lines = [line(1, 0, 400, 1, queue=3), line(2, 0, 400, 1, queue=3), line(3, 0, 100, 2, queue=1), line(4, 1, 100, 4, queue=1),
             line(5, 2, 900, 3, queue=2)]
    call = [*write(tmp_path, lines, platform), "--partitions-from", "queue", "--policy", "fcfs"]
    (tmp_path / "log.adaptive").write_text("ductile-adaptive 1\ncores_per_node 1\njob 5 type=rigid size=3..3 watts=350 partition=all\n")
    when, _ = simulate(ductile, tmp_path, call, "--power-cap", 1850, "--slow-for-power")
    assert when[4] == "100" and when[5] == "2"


def test_what_is_no_lower_frequency_is_refused(ductile, tmp_path):
    call = write(tmp_path, [line(1, 0, 100, 2)])
    assert ("--slow-for-power: there are no steps of frequency; write [[step]] in --platform FILE"
            in ductile.run(*call, "--power-cap", 1000, "--slow-for-power").stderr)
    call = write(tmp_path, [line(1, 0, 100, 2)], STEPS)
    assert ("--slow-for-power: there is no cap for which jobs could be slowed; give --power-cap"
            in ductile.run(*call, "--slow-for-power").stderr)
    call = write(tmp_path, [line(1, 0, 100, 2)], STEPS + "[[step]]\nspeed = 0.5\npower = 0.1\n")
    assert (f"{tmp_path}/platform.toml:13: speed: is no lower than that of the step before"
            in ductile.run(*call, "--slow-for-power").stderr)
    call = [*write(tmp_path, [line(1, 0, 100, 2)], STEPS), "--power-cap", 1000, "--slow-for-power"]
    for policy in ("power_ahead", "power_aware", "portfolio:of=easy|power_ahead"):
        assert (f"--slow-for-power: {policy} keeps the corridor by sizes, and starts no job at a lower frequency; use another --policy"
                in ductile.run(*call, "--policy", policy).stderr)
    assert ("--slow-for-power: with fixed limits it is not known what of its walltime a job had"
            in ductile.run(*call, "--estimates", "predicted", "--limit", "fixed").stderr)


SLOWING = ["fcfs", "easy", "conservative", "slurm", "elastic", "mebf", "dbes", "equipartition", "equigrow", "esf", "edf", "ldf", "tide",
           "fpsma", "perf_aware", "perf_gain", "wagomu", "keeppref", "elastisim", "sd", "oversubscribe", "lend", "portfolio:of=easy|mebf"]


@pytest.mark.parametrize("policy", SLOWING)
def test_a_cap_slows_jobs_under_policies_that_resize_as_well(ductile, tmp_path, policy):
    # 600 W for jobs: job 1 has 400. Two nodes of job 2 need 100 at the second step.
    call = write(tmp_path, [line(1, 0, 100, 2), line(2, 0, 100, 2)], STEPS)
    when, power = simulate(ductile, tmp_path, call, "--power-cap", 1000, "--slow-for-power", "--overrun", "kill", "--policy", policy)
    assert when == {1: "0", 2: "0"} and power == [900 * 100 + 800 * 50, 900, 1000, 0]


# Job 2 begins as above. Its other 100 node-seconds, when job 1 has ended: `elastic` lets it grow to four nodes at its step, which ends the
# pass, and is not asked again; `mebf` leaves it its size, and it goes on at full frequency; `elastisim` is asked after the growth, when
# there is power for four nodes at the first step (480 W of 600) and not for four at full frequency.
@pytest.mark.parametrize("policy, then, end, energy_j", [
    ("elastic", [("expand", "4", "")], "150", 900 * 100 + 600 * 50),
    ("mebf", [("frequency", "0", "0")], "150", 900 * 100 + 800 * 50),
    ("elastisim", [("expand", "4", ""), ("frequency", "0", "1")], "131.25", 900 * 100 + 880 * 31.25)])
def test_a_malleable_job_that_was_slowed_grows_or_is_raised(ductile, tmp_path, policy, then, end, energy_j):
    call = write(tmp_path, [line(1, 0, 100, 2), line(2, 0, 100, 2)], STEPS)
    (tmp_path / "log.adaptive").write_text("ductile-adaptive 1\njob 2 type=malleable size=2..4\n")
    when, power = simulate(ductile, tmp_path, call, "--power-cap", 1000, "--slow-for-power", "--overrun", "kill", "--policy", policy)
    assert when == {1: "0", 2: "0"} and power == [energy_j, 900, 1000, 0]
    later = [row for row in rows_of(tmp_path / "out/decisions.csv") if row["time"] == "100" and row["decision"] != "set-limit"]
    assert [(row["decision"], row["size"], row["frequency_step"]) for row in later] == then
    assert [(row["finish_time"], row["final_state"]) for row in rows_of(tmp_path / "out/jobs.csv")] == [
        ("100", "COMPLETED_SUCCESSFULLY"), (end, "COMPLETED_SUCCESSFULLY")]


def test_who_was_slowed_predicts_what_it_would_have_taken_at_the_full_frequency(ductile, tmp_path):
    # Jobs 2 and 4 take 200 s each at half of the speed, and would have taken 100. So job 5 is believed to end 100 s after its start.
    lines = [line(1, 0, 200, 2), line(2, 0, 100, 2, time=200), line(3, 300, 200, 2), line(4, 300, 100, 2, time=200), line(5, 600, 100, 2, time=300)]
    call = write(tmp_path, [each.replace(" 1 1 1 -1", f" 1 {1 if number in (1, 3) else 2} 1 -1") for number, each in enumerate(lines, 1)], STEPS)
    when, _ = simulate(ductile, tmp_path, call, "--power-cap", 1000, "--slow-for-power", "--estimates", "predicted", "--overrun", "kill")
    assert when == {1: "0", 2: "0", 3: "300", 4: "300", 5: "600"}
    [limit] = [row["limit"] for row in rows_of(tmp_path / "out/decisions.csv") if (row["decision"], row["job"]) == ("start", "5")]
    assert limit == "700"


def test_an_experiment_names_a_cap_or_a_file_beside_it(ductile, tmp_path):
    write(tmp_path, [line(1, 0, 100, 2), line(2, 0, 100, 2)])
    (tmp_path / "caps.txt").write_text("0 1000\n")
    (tmp_path / "e.toml").write_text('trace = "log.swf"\nplatform = "platform.toml"\n'
                                     '[[variant]]\nname = "file"\npower-cap = "caps.txt"\n'
                                     '[[variant]]\nname = "number"\npower-cap = 1000\n'
                                     '[[variant]]\nname = "none"\npower-cap = "none"\n')
    runs = ductile.objects("simulate", tmp_path / "e.toml", "--json")
    assert [(run["variant"], run["makespan_s"], run["power_cap_w"]) for run in runs] == [
        ("file", 200, 1000), ("number", 200, 1000), ("none", 100, None)]


@pytest.mark.parametrize("cap, said", [("-5", "'-5'"), ('""', "''"), ('"2e9"', "'2e9'")])
def test_an_experiment_says_where_a_cap_is_wrong(ductile, tmp_path, cap, said):
    write(tmp_path, [line(1, 0, 100, 2)])
    (tmp_path / "e.toml").write_text(f'trace = "log.swf"\nplatform = "platform.toml"\npower-cap = {cap}\n')
    done = ductile.run("simulate", tmp_path / "e.toml")
    assert done.returncode == 2
    assert f"{tmp_path}/e.toml:3: power-cap: {said} is no power; write watts from 0 to 1e9, or none" in done.stderr


def test_what_cannot_be_is_refused(ductile, tmp_path):
    call = write(tmp_path, [line(1, 0, 100, 2)])
    caps = tmp_path / "caps.txt"
    caps.write_text("0 500\n10 much\n")
    for words, said in [
        (["--power-cap", caps], f"{caps}:2: watts: 'much' is not possible; write watts from 0 to 1e9, or none"),
        (["--power-cap", "-5"], "--power-cap: '-5' is no power; write watts"),
        (["--power-cap", ""], "--power-cap: '' is no power; write watts"),
        (["--power-cap", tmp_path / "no"], "the file of a power cap cannot be read"),
        (["--power-cap", "399"], "--power-cap: idle nodes alone draw 400 W, and no cap is above 399 W; give more"),
    ]:
        done = ductile.run(*call, *words)
        assert done.returncode == 2 and said in done.stderr, done.stderr
    done = ductile.run(*call[:3], "--nodes", 4, "--power-cap", 1000)
    assert done.returncode == 2
    assert "--power-cap: nobody says what a node draws; give --node-power, idle_w and busy_w in --platform" in done.stderr
