"""ductile simulate --record and ductile replay: a run gives the same decisions again, and a log that
was touched is refused."""

import json

import pytest

from conftest import RIGID_1000

WORLDS = {
    "plain": [],
    "failures": ["--failures", "mtbf=300000,repair=3600"],
    "kill": ["--failures", "mtbf=300000,repair=3600", "--on-failure", "kill", "--overrun", "kill"],
    "resizes": ["--resize-delay", "uniform:5..50", "--refuse", "0.2", "--lose", "0.1"],
    "fixed": ["--limit", "fixed", "--identities", "on"],
}


@pytest.fixture
def recorded(ductile, tmp_path):
    """The path of a log, of a run with these arguments."""
    def record(*arguments, jobs=300, policy="easy"):
        path = tmp_path / "run.log"
        ductile.output("simulate", "--trace", RIGID_1000, "--jobs", jobs, "--policy", policy,
                       "--record", path, "--quiet", "--json", *arguments)
        return path
    return record


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("policy", [
    "fcfs", "easy:order=wfp3", "conservative",
    "easy:order=multifactor,weight_age=1000,max_age=86400,weight_fairshare=800,weight_size=600,favor_small=yes"])
def test_a_recorded_run_is_replayed(ductile, recorded, world, policy):
    log = recorded(*WORLDS[world], policy=policy)
    printed = ductile.output("replay", log)
    assert printed.startswith(f"{log}: ")
    assert f"decisions of {policy} are the same" in printed


def test_json_tells_what_the_log_has(ductile, recorded):
    log = recorded(*WORLDS["failures"])
    lines = log.read_text().splitlines()
    [done] = ductile.objects("replay", log, "--json")
    assert done == {
        "log": str(log),
        "policy": "easy",
        "events": sum(line.startswith("E ") for line in lines),
        "instants": sum(line.startswith("C ") for line in lines),
        "pen_calls": sum(line.startswith("P ") for line in lines),
        "decisions": sum(line.startswith("D ") for line in lines),
        "last_s": int([line for line in lines if line.startswith("C ")][-1].split()[1]) / 1e6,
    }
    assert any(" node-fail 1" in line for line in lines), "no job was requeued"


@pytest.mark.parametrize("policy,world", [("easy", "plain"), ("easy", "failures"), ("elastic", "fixed"),
                                          ("dbes", "resizes")])
def test_a_log_gives_the_files_of_its_run(ductile, tmp_path, policy, world):
    """Written from the log, tables and figures are those that the simulation wrote."""
    arguments = [*WORLDS[world], "--policy", policy]
    if policy != "easy":
        arguments += ["--malleable", "0.5:min=1,max=2"]
    log, ran, retold = tmp_path / "run.log", tmp_path / "ran", tmp_path / "retold"
    ductile.output("simulate", "--trace", RIGID_1000, "--jobs", 300, "--record", log, "--out", ran,
                   "--quiet", *arguments)
    printed = ductile.output("replay", log, "--out", retold)
    assert "mean wait" in printed and "are the same" in printed
    for name in ["allocations.csv", "decisions.csv", "series.csv"]:
        assert (retold / name).read_text() == (ran / name).read_text(), name
    # All but the last column: how long a job would have run at its first size only the world knew.
    rows = [[line.rpartition(",")[0] for line in (folder / "jobs.csv").read_text().splitlines()]
            for folder in (ran, retold)]
    assert rows[0] == [row.replace(str(log), ran_name(ran)) for row in rows[1]]
    # All but the last column: what they cost only the world knew.
    rows = [[line.rpartition(",")[0] for line in (folder / "resizes.csv").read_text().splitlines()]
            for folder in (ran, retold)]
    assert rows[0] == rows[1] and (len(rows[0]) > 1) == (policy != "easy")
    was, tells = [json.loads((folder / "summary.json").read_text()) for folder in (ran, retold)]
    # What only the world knew: how long a job that was resized runs without it, and what it paid.
    assert was.pop("run")["policy"] == policy and "run" not in tells
    hidden = {"load_seconds", "simulate_seconds", "peak_rss_bytes", "reconfiguration_node_s",
              "utilization_net", "efficiency", "mean_slowdown", "mean_bounded_slowdown",
              "slowdown_of_means", "skipped"}
    assert {key: was[key] for key in was if key not in hidden} == {
        key: tells[key] for key in tells if key not in hidden}
    if policy == "easy" and world == "plain":
        assert {key: was[key] for key in hidden - {"load_seconds", "simulate_seconds", "peak_rss_bytes"}} \
            == {key: tells[key] for key in hidden - {"load_seconds", "simulate_seconds", "peak_rss_bytes"}}


def test_accounts_of_a_log_have_the_names_that_its_rules_have(ductile, tmp_path):
    """The others have their numbers."""
    trace, log = tmp_path / "x.swf", tmp_path / "run.log"
    ductile.output("workload", "generate", "esp:evolving=all,gap=20", "--out", trace)
    adaptive = tmp_path / "x.adaptive"
    adaptive.write_text("".join(
        f"{line} account={'odd' if number % 2 else 'even'}\n" if line.startswith("job") else f"{line}\n"
        for number, line in enumerate(adaptive.read_text().splitlines())))
    [was] = ductile.objects("simulate", "--trace", trace, "--policy", "dbes", "--limit", "fixed", "--fairness",
                            "target,account:odd.target=1000000", "--record", log, "--json", "--quiet")
    ductile.output("replay", log, "--out", tmp_path / "retold")
    tells = json.loads((tmp_path / "retold" / "summary.json").read_text())
    names = {"odd": "odd", "even": "#2"}
    assert {names[row.pop("account")]: row for row in was["account_delays"]} == {
        row.pop("account"): row for row in tells["account_delays"]}
    assert len(was["account_delays"]) == 2


def ran_name(folder):
    """The workload's name, as the tables have it."""
    return (folder / "jobs.csv").read_text().splitlines()[1].split(",")[1]


def test_the_same_run_gives_the_same_log(ductile, recorded):
    first = recorded(*WORLDS["failures"], "--seed", 7).read_bytes()
    assert recorded(*WORLDS["failures"], "--seed", 7).read_bytes() == first
    assert recorded(*WORLDS["failures"], "--seed", 8).read_bytes() != first


def test_recording_changes_no_figure(ductile, recorded, tmp_path):
    measured = ("load_seconds", "simulate_seconds", "peak_rss_bytes")
    call = ["simulate", "--trace", RIGID_1000, "--jobs", 300, "--json"]
    figures = [json.loads(ductile.output(*call, *more)) for more in
               ([], ["--record", tmp_path / "run.log"])]
    plain, with_log = ({k: v for k, v in f.items() if k not in measured} for f in figures)
    assert plain == with_log


def refused(ductile, log):
    done = ductile.run("replay", log)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    return done.stderr


def test_a_log_that_was_cut_is_refused(ductile, recorded):
    log = recorded(jobs=20)
    whole = log.read_bytes()
    lines = whole.count(b"\n")
    log.write_bytes(whole[:whole.rindex(b"end ")])
    assert f"{log}:{lines}: end: the log was cut" in refused(ductile, log)
    log.write_bytes(whole[:len(whole) // 2])
    assert "the log was cut" in refused(ductile, log)
    log.write_bytes(whole[:-1])
    assert f"{log}:{lines}: end: the log was cut" in refused(ductile, log)


def test_a_log_that_was_altered_is_refused(ductile, recorded):
    log = recorded(jobs=20)
    whole = log.read_text()
    lines = whole.count("\n")
    for old, new in [("policy easy", "policy fcfs"), ("in-order", "backfilled"),
                     (" 1 submitted", " 0 submitted")]:
        assert old in whole
        log.write_text(whole.replace(old, new, 1))
        assert f"{log}:{lines}: end: the log was altered" in refused(ductile, log)


def test_what_is_no_log_is_refused(ductile, tmp_path):
    assert f"{RIGID_1000}:1: this is no log of this version" in refused(ductile, RIGID_1000)
    missing = tmp_path / "none.log"
    assert f"{missing}: the log cannot be read" in refused(ductile, missing)
    assert ductile.run("replay").returncode == 2


def test_a_log_is_of_one_run_that_was_finished(ductile, tmp_path):
    log = tmp_path / "run.log"
    call = ["simulate", "--trace", RIGID_1000, "--jobs", 20, "--record"]
    done = ductile.run(*call, log, "--seeds", "1..2")
    assert done.returncode == 2 and "--record" in done.stderr
    done = ductile.run(*call, tmp_path / "no" / "folder.log")
    assert done.returncode == 2 and "folder.log: the log cannot be written" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_job_of_a_log_is_explained(ductile, recorded):
    log = recorded("--identities", "on")
    [said] = ductile.objects("explain", "--log", log, 20, "--json")
    assert (said["job"], said["state"], said["now"]) == (20, "over", [])
    whats = [line["what"] for line in said["history"]]
    assert whats[0] == "submitted" and "start" in whats and whats[-1] == "ended"
    text = ductile.output("explain", "--log", log, 20)
    assert text.startswith(f"job 20: {said['asked']}\n")
    assert [line.split("  ", 1)[1] for line in map(str.strip, text.splitlines()[1:])] == \
        [line["text"] for line in said["history"]]
    done = ductile.run("explain", "--log", log, 301)
    assert done.returncode == 2 and "it has no job 301" in done.stderr
    log.write_text(log.read_text().replace(" submitted 20 ", " submitted 19 "))
    done = ductile.run("explain", "--log", log, 20)
    assert done.returncode == 2 and "the log was altered" in done.stderr


def test_predicted_walltimes_are_events_of_the_log(ductile, recorded, tmp_path):
    log = recorded("--estimates", "predicted", "--overrun", "kill")
    assert " believed " in log.read_text()
    assert "are the same" in ductile.output("replay", log)
    done = ductile.run("workload", "transform", RIGID_1000, "--estimates", "predicted", "--out",
                       tmp_path / "x.swf")
    assert done.returncode == 2 and "ductile simulate" in done.stderr
