"""--io-budget: starts and growths keep to a share of the bandwidth of links. --belief phase: how each phase scales."""
import csv
import json
import random

import pytest

from test_elastisim import ROOT, ends, refused, shares_files, study, times, transfers, writer

WRITES = {"phases": [{"tasks": [transfers("write")]}]}


def simulate(ductile, folder, file, *options, policy="fcfs"):
    line = ductile.output("simulate", "--elastisim", file, "--policy", policy, "--quiet", "--check", "--json", "--out",
                          folder / "out", "--force", *options, timeout=30)
    return json.loads(line)


def half_writer(nodes, submit=0):
    """10 s of waiting, and 10 s of writing as fast as two nodes or more can: half of the bandwidth in the mean."""
    return {"type": "rigid", "num_nodes": nodes, "submit_time": submit, "arguments": {"bytes": 20e9, "wait": 10}}


HALF = {"phases": [{"tasks": [{"type": "busy_wait", "delay": "wait", "pattern": "uniform"}, transfers("write")]}]}


@pytest.mark.parametrize("budget, expected", [
    (1, [10, 20, 30]),  # each takes all of it
    (0.5, [10, 20, 30]),  # more than there is, so all of it
    (2, [20, 20, 30]),  # two of them side by side, each half as fast
    (1.9, [10, 20, 30]),
    (3, [30, 30, 30]),
])
def test_no_more_start_than_there_is_bandwidth_for(ductile, tmp_path, budget, expected):
    file = shares_files(tmp_path, [writer(2, 20)] * 3, WRITES)
    assert list(ends(ductile, tmp_path, file, "--io-budget", budget).values()) == expected


def test_a_job_takes_the_mean_of_an_iteration(ductile, tmp_path):
    file = shares_files(tmp_path, [half_writer(2)] * 3, HALF)
    run = simulate(ductile, tmp_path, file, "--io-budget", 1)
    # Both wait and write at once: 10 s, and 20 s for what takes 10 s alone.
    assert times(tmp_path / "out") == {"0": (0, 30), "1": (0, 30), "2": (30, 50)}
    assert run["links_used_max"] == 1
    assert run["links_used_mean"] == pytest.approx((30 * 1 + 20 * 0.5) / 50)
    assert run["energy_j"] is None and run["power_cap_w"] is None
    assert "power" not in (tmp_path / "out/series.csv").read_text()
    with (tmp_path / "out/jobs.csv").open() as rows:
        assert {row["consumed_energy"] for row in csv.DictReader(rows)} == {"-1"}
    assert "links_used_max" not in simulate(ductile, tmp_path, file)


def test_who_waits_for_bandwidth_is_not_delayed(ductile, tmp_path):
    """The second writer can start at 10, on the nodes of the first one; nobody who writes goes before it, others do."""
    quiet = {"type": "rigid", "num_nodes": 2, "submit_time": 1, "walltime": 1000, "arguments": {"bytes": 0}}
    jobs = [writer(2, 20), writer(4, 20, 1), quiet, {**writer(1, 5, 1), "walltime": 1000}, {**quiet, "num_nodes": 3}]
    file = shares_files(tmp_path, jobs, WRITES)
    simulate(ductile, tmp_path, file, "--io-budget", 1, policy="easy")
    starts = {job: start for job, (start, _) in times(tmp_path / "out").items()}
    assert starts["0"] == 0 and starts["1"] == 10
    assert starts["2"] == 1  # it writes nothing, and leaves four nodes at 10
    assert starts["3"] > 10


def test_malleable_jobs_grow_as_far_as_there_is_bandwidth(ductile, tmp_path):
    # A node writes 1 s of each 11 s, 1 GB/s of 4: 1/44 of the bandwidth. Eight of them are slowed, and take less than 8/44.
    job = {"type": "malleable", "num_nodes_min": 1, "num_nodes_max": 8, "submit_time": 0,
           "arguments": {"bytes": 1e9, "wait": 10}}
    model = {"phases": [{"iterations": 5, "tasks": [{"type": "busy_wait", "delay": "wait", "pattern": "uniform"},
                                                    {**transfers("write"), "pattern": "uniform"}]}]}
    file = shares_files(tmp_path, [job], model, write="4GBps")
    for budget, most in (((5 + 0.01) / 44, 5), ((3 + 0.01) / 44, 3), (1, 8)):
        run = simulate(ductile, tmp_path, file, "--io-budget", budget, "--apply-at", "immediate", policy="elastic")
        with (tmp_path / "out/decisions.csv").open() as rows:
            assert max(int(row["size"]) for row in csv.DictReader(rows)) == most
        assert run["links_used_max"] <= budget


def sizes_over_time(folder):
    """By instant, the size of each running job as it is decided."""
    changes = {}
    with (folder / "decisions.csv").open() as rows:
        for row in csv.DictReader(rows):
            if row["decision"] in ("start", "expand", "shrink"):
                changes.setdefault(float(row["time"]), []).append((int(row["job"]), int(row["size"])))
    for job, (_, end) in times(folder).items():
        changes.setdefault(end, []).insert(0, (int(job), 0))
    return [changes[time] for time in sorted(changes)]


@pytest.mark.parametrize("seed", range(1, 31))
def test_nothing_takes_more_than_the_budget(ductile, tmp_path, seed):
    draw = random.Random(seed)
    jobs, submit = [], 0
    for _ in range(draw.randint(3, 12)):
        submit += round(draw.choice([0, draw.uniform(0, 30)]), 3)
        low = draw.randint(1, 3)
        size = {"type": "malleable", "num_nodes_min": low, "num_nodes_max": draw.randint(low, 8)}
        if draw.random() < 0.4:
            size = {"type": "rigid", "num_nodes": draw.randint(1, 6)}
        jobs.append({**size, "submit_time": submit,
                     "arguments": {"bytes": draw.uniform(0, 10) * 1e9, "wait": draw.uniform(0.5, 20)}})
    model = {"phases": [{"iterations": draw.randint(1, 6), "tasks": [
        {"type": "busy_wait", "delay": "wait", "pattern": "uniform"}, transfers("write")]}]}
    file = shares_files(tmp_path, jobs, model, nodes=10)
    budget = round(draw.uniform(0.3, 2), 2)
    policy = draw.choice(["fcfs", "easy", "conservative", "mebf", "elastic", "dbes", "equipartition", "tide", "slurm"])
    run = simulate(ductile, tmp_path, file, "--io-budget", budget, "--apply-at", "immediate", policy=policy)
    assert run["jobs"] == len(jobs) and run["jobs_left"] == 0 and run["rejected"] == 0
    assert run["links_used_max"] <= budget + 1e-9

    def takes(job, nodes):
        """What they take alone, of 2 GB/s: a node sends 1 GB/s at most."""
        its = job["arguments"]
        writes = its["bytes"] / min(nodes * 1e9, 2e9)
        return its["bytes"] / 2e9 / (its["wait"] + writes)

    running, most = {}, 0
    for changes in sizes_over_time(tmp_path / "out"):
        for number, nodes in changes:
            running[number] = nodes
        most = max(most, sum(min(takes(jobs[number], nodes), budget) for number, nodes in running.items() if nodes))
    assert most <= budget + 1e-6


@pytest.mark.parametrize("options", [
    ["--power-cap", "1000"], ["--corridor", "0..1000"], ["--node-power", "idle=50,busy=100"], ["--links", "alone"],
    ["--policy", "power_aware"],
])
def test_there_is_one_budget(ductile, tmp_path, options):
    file = shares_files(tmp_path, [writer(2, 20)], WRITES)
    policy = [] if "--policy" in options else ["--policy", "easy"]
    message = refused(ductile, "simulate", "--elastisim", file, "--io-budget", "1", "--quiet", *policy, *options)
    assert "--io-budget" in message or "there is one budget" in message


def test_it_is_for_jobs_that_share_links(ductile, tmp_path):
    assert "--elastisim" in refused(ductile, "simulate", "--generate", "rigid", "--jobs", "10", "--io-budget", "1")
    assert "NaN" not in refused(ductile, "simulate", "--elastisim", "c.json", "--io-budget", "nan")
    file = study(tmp_path, [{"type": "rigid", "num_nodes": 2, "submit_time": 0}],
                 {"phases": [{"tasks": [{"type": "busy_wait", "delay": 5, "pattern": "uniform"}]}]})
    assert "no job uses a link" in refused(ductile, "simulate", "--elastisim", file, "--policy", "easy", "--io-budget", "1")


def test_it_is_told_again_and_explained(ductile, tmp_path):
    file = shares_files(tmp_path, [writer(2, 20), writer(4, 20, 1)], WRITES)
    log = tmp_path / "run.log"
    simulate(ductile, tmp_path, file, "--io-budget", 1, "--record", log, policy="easy")
    told = ductile.output("explain", "--log", log, "1")
    assert "by when bandwidth is expected" in told and " W" not in told
    assert "are the same" in ductile.output("replay", log)


def test_who_takes_nothing_in_a_phase_keeps_nobody_from_all_of_the_budget(ductile, tmp_path):
    """The first job waits in two phases, and sends nothing; the second one writes as fast as it can."""
    waits = {"iterations": 1, "tasks": [{"type": "busy_wait", "delay": "50", "pattern": "uniform"}]}
    longer = {"iterations": 1, "tasks": [{"type": "busy_wait", "delay": "60", "pattern": "uniform"}]}
    jobs = [{"type": "malleable", "num_nodes_min": 1, "num_nodes_max": 2, "submit_time": 0, "application_model": "waits.json"}, writer(2, 20, 1)]
    file = shares_files(tmp_path, jobs, WRITES)
    (tmp_path / "waits.json").write_text(json.dumps({"phases": [waits, longer]}))
    for belief in ("whole", "phase"):
        simulate(ductile, tmp_path, file, "--io-budget", 1, "--belief", belief, policy="easy")
        assert times(tmp_path / "out")["1"] == (1, 11)


@pytest.mark.parametrize("estimates", ["requested", "perfect", "f:0.5"])
def test_a_job_on_fewer_nodes_has_as_much_more_time(ductile, tmp_path, estimates):
    job = {"type": "moldable", "num_nodes_min": 1, "num_nodes_max": 8, "arguments": {"work": 8e11, "bytes": 8e9}}
    model = {"phases": [{"tasks": [{"type": "cpu", "flops": "work", "computation_pattern": "all_ranks"}, transfers("write")]}]}
    file = shares_files(tmp_path, [job], model)
    [bare] = [simulate(ductile, tmp_path, file, "--overrun", "kill", "--estimates", estimates, policy="easy")]
    run = simulate(ductile, tmp_path, file, "--io-budget", 0.02, "--overrun", "kill", "--estimates", estimates, policy="easy")
    assert bare["killed"] == run["killed"] == 0
    assert run["makespan_s"] > bare["makespan_s"]


def test_a_job_that_begins_again_is_believed_as_a_whole_again(ductile, tmp_path):
    model = {"phases": [{"iterations": 2, "tasks": [{"type": "busy_wait", "delay": "20", "pattern": "uniform"}]},
                        {"iterations": 3, "tasks": [transfers("write")]}]}
    job = {"type": "malleable", "num_nodes_min": 2, "num_nodes_max": 4, "arguments": {"bytes": 4e9}}
    file = shares_files(tmp_path, [job], model)
    (tmp_path / "failures").write_text("45 down 0\n60 up 0\n")
    log = tmp_path / "run.log"
    simulate(ductile, tmp_path, file, "--belief", "phase", "--io-budget", 1, "--failures", tmp_path / "failures", "--record", log)
    # Of both phases, of the whole when it lost its nodes, and of both again.
    assert len(told_models(ductile, log, 0)) == 5
    assert "are the same" in ductile.output("replay", log)


def told_models(ductile, log, job):
    return [line for line in ductile.output("explain", "--log", log, job).splitlines() if "now believed to depend" in line]


def test_each_phase_is_told_of_when_it_begins(ductile, tmp_path):
    """It computes, waits, and writes as fast as it can."""
    model = {"phases": [
        {"iterations": 2, "tasks": [{"type": "cpu", "flops": "work", "computation_pattern": "all_ranks"}]},
        {"iterations": 1, "tasks": [{"type": "busy_wait", "delay": "20", "pattern": "uniform"}]},
        {"iterations": 3, "tasks": [transfers("write")]}]}
    job = {"type": "malleable", "num_nodes_min": 2, "num_nodes_max": 4, "submit_time": 0,
           "arguments": {"work": 1e10, "bytes": 4e9}}
    file = shares_files(tmp_path, [job], model)
    log = tmp_path / "run.log"
    run = simulate(ductile, tmp_path, file, "--belief", "phase", "--record", log, policy="fcfs")
    assert len(told_models(ductile, log, 0)) == 3
    assert simulate(ductile, tmp_path, file, "--belief", "whole", "--record", log, policy="fcfs")["makespan_s"] == run["makespan_s"]
    assert not told_models(ductile, log, 0)
    # Under a budget it takes something of it in the last phase only.
    run = simulate(ductile, tmp_path, file, "--belief", "phase", "--io-budget", 1, policy="fcfs")
    whole = simulate(ductile, tmp_path, file, "--io-budget", 1, policy="fcfs")
    assert run["links_used_max"] == whole["links_used_max"] == 1
    assert run["links_used_mean"] < 0.5 < 1 == whole["links_used_mean"]


def test_a_policy_goes_by_the_phase_that_runs(ductile, tmp_path):
    """Two jobs, one that writes first and computes then, one that computes first: nodes go to who computes."""
    compute = {"iterations": 50, "tasks": [{"type": "cpu", "flops": "work", "computation_pattern": "all_ranks"}]}
    wait = {"iterations": 50, "tasks": [{"type": "busy_wait", "delay": "10", "pattern": "uniform"}]}
    jobs = [{"type": "malleable", "num_nodes_min": 1, "num_nodes_max": 7, "arguments": {"work": 4e10},
             "application_model": f"{name}.json"} for name in ("first", "last")]
    # Something has to happen for a policy to look.
    jobs += [{"type": "rigid", "num_nodes": 1, "submit_time": time, "application_model": "short.json"} for time in range(50, 2000, 50)]
    file = study(tmp_path, jobs, {"phases": [compute]})
    short = {"iterations": 1, "tasks": [{"type": "busy_wait", "delay": "1", "pattern": "uniform"}]}
    for name, phases in (("first", [wait, compute]), ("last", [compute, wait]), ("short", [short])):
        (tmp_path / f"{name}.json").write_text(json.dumps({"phases": phases}))
    ends = {}
    for belief in ("whole", "phase"):
        simulate(ductile, tmp_path, file, "--belief", belief, policy="tide")
        ends[belief] = max(times(tmp_path / "out")[job][1] for job in ("0", "1"))
    assert ends["phase"] < 0.9 * ends["whole"]
