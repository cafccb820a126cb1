"""Jobs inside of running ones (`sd`, paper 004): small examples by hand, and what is told of them."""

import csv
import json
import shlex

import pytest

from conftest import RIGID_1000, ROOT

DATA = ROOT / "tests" / "data" / "paper_004"


def write_log(folder, jobs, nodes, malleable=None):
    """Jobs (number, submit, run, processors, requested) on nodes of 48 cores; all malleable if not said."""
    path = folder / "log.swf"
    lines = [f"; MaxNodes: {nodes}", f"; MaxProcs: {48 * nodes}"]
    lines += [f"{i} {submit} -1 {run} {size} -1 -1 {size} {asked} -1 1 -1 -1 -1 -1 -1 -1 -1"
              for i, submit, run, size, asked in jobs]
    path.write_text("\n".join(lines) + "\n")
    adapt = ["ductile-adaptive 1", "cores_per_node 48"]
    adapt += [f"job {i} type=malleable size={-(-size // 48)}..{-(-size // 48)}"
              for i, _, _, size, _ in jobs if malleable is None or i in malleable]
    (folder / "log.adaptive").write_text("\n".join(adapt) + "\n")
    return path


def run(ductile, folder, jobs, nodes, policy="sd", malleable=None, more=()):
    """number -> (start, end, was it a guest), and the believed ends: (time, job) -> the last one told."""
    log = write_log(folder, jobs, nodes, malleable)
    ductile.output("simulate", "--trace", log, "--cores-per-node", 48, "--sockets-per-node", 2,
                   "--policy", policy, *more, "--quiet", "--out", folder / "out", "--force")
    with open(folder / "out" / "jobs.csv") as file:
        ran = {int(row["job_id"]): (float(row["starting_time"]), float(row["finish_time"]),
                                    row["reason"] == "guest") for row in csv.DictReader(file)}
    with open(folder / "out" / "decisions.csv") as file:
        ends = {(float(row["time"]), int(row["job"])): float(row["limit"])
                for row in csv.DictReader(file) if row["limit"]}
    return ran, ends


@pytest.mark.parametrize("wait", [90, 100, 110])
def test_a_guest_has_to_wait_longer_than_it_runs(ductile, tmp_path, wait):
    # Job 1 frees its node so long after job 3 came, which runs for 100 s and inside of job 2 for 200 s.
    jobs = [(1, 0, wait + 1, 48, wait + 1), (2, 0, 2000, 48, 2000), (3, 1, 100, 48, 100)]
    ran, _ = run(ductile, tmp_path, jobs, 2)
    assert ran[3][2] == (wait > 100)
    assert ran[3][0] == (1 if wait > 100 else wait + 1)


@pytest.mark.parametrize("most, is_guest", [("2", False), ("2.0000001", True)])
def test_a_mates_slowdown_is_below_the_bound(ductile, tmp_path, most, is_guest):
    # Job 2 has waited 50 s, would lose 50 s, and asked for 100 s.
    jobs = [(1, 0, 50, 48, 50), (2, 0, 100, 48, 100), (3, 60, 50, 48, 50)]
    ran, _ = run(ductile, tmp_path, jobs, 1, f"sd:max_slowdown={most}")
    assert ran[3][2] == is_guest


@pytest.mark.parametrize("mate_runs, guest_runs, ended, mate_end, guest_end, last_end", [
    (1000, 100, 300, None, None, 1100),  # as believed
    (1000, 40, 180, 1040, None, 1040),   # the guest ends early: what is left is the mate's
    (125, 40, 150, None, 225, 165),      # the mate ends first: the guest has all cores
])
def test_ends_follow_the_cores(ductile, tmp_path, mate_runs, guest_runs, ended, mate_end, guest_end, last_end):
    ran, ends = run(ductile, tmp_path, [(1, 0, mate_runs, 48, 1000), (2, 100, guest_runs, 48, 100)], 1)
    assert ends[100, 1] == 1100 and ran[2][0] == 100 and ran[2][2]
    assert min(ran[1][1], ran[2][1]) == ended and max(ran[1][1], ran[2][1]) == last_end
    if mate_end:
        assert ends[ended, 1] == mate_end
    if guest_end:
        assert ends[ended, 2] == guest_end


# Of 100 MB and four GPUs of a node job 1 asks for 80 and three, and job 2 for 40 and one; the slowdown of job 1
# would suffer less.
@pytest.mark.parametrize("asks, node", [
    ("memory=10M", 0), ("memory=20M", 0), ("memory=21M", 1), ("memory=60M", 1), ("memory=61M", None),
    ("gres=gpu:1", 0), ("gres=gpu:2", 1), ("gres=gpu:3", 1), ("gres=gpu:4", None)])
def test_what_guest_and_mate_ask_for_fits_together(ductile, tmp_path, asks, node):
    platform = tmp_path / "machine.toml"
    platform.write_text('[[class]]\nname = "n"\ncount = 2\ncores = 48\nsockets = 2\nmemory = "100M"\n'
                        "gres = { gpu = 4 }\n")
    log = write_log(tmp_path, [(1, 0, 4000, 48, 4000), (2, 0, 2000, 48, 2000), (3, 10, 100, 48, 100)], 2)
    adapt = log.with_suffix(".adaptive")
    for job, words in ((1, "memory=80M gres=gpu:3"), (2, "memory=40M gres=gpu:1"), (3, asks)):
        adapt.write_text(adapt.read_text().replace(f"job {job} ", f"job {job} {words} "))
    ductile.output("simulate", "--trace", log, "--platform", platform, "--policy", "sd", "--quiet", "--out",
                   tmp_path / "out")
    with open(tmp_path / "out" / "allocations.csv") as file:
        guests = [row["guest_nodes"] for row in csv.DictReader(file) if row["job"] == "3"]
    assert guests == ([str(node)] if node is not None else [""])


@pytest.mark.parametrize("base", ["easy", "conservative", "backfill,depth=5"])
def test_without_malleable_jobs_it_is_its_base(ductile, tmp_path, base):
    for policy in (f"sd:base={base}", base.replace(",", ":")):
        ductile.output("simulate", "--trace", RIGID_1000, "--nodes", 128, "--policy", policy, "--quiet",
                       "--cores-per-node", 2, "--out", tmp_path / policy.split(":")[0])
    files = [(tmp_path / policy.split(":")[0] / "jobs.csv").read_bytes() for policy in ("sd", base.split(",")[0])]
    assert files[0] == files[1]


def test_what_was_taken_for_whom_is_explained(ductile, tmp_path):
    log = write_log(tmp_path, [(1, 0, 1000, 48, 1000), (2, 100, 100, 48, 100)], 1)
    record = tmp_path / "record.jsonl"
    ductile.output("simulate", "--trace", log, "--cores-per-node", 48, "--sockets-per-node", 2, "--policy", "sd",
                   "--record", record, "--quiet")
    mate = ductile.output("explain", 1, "--log", record)
    assert "leaves cores of its nodes to job 2 (1 node): it has 24 cores of each of 1 node" in mate
    assert "is now expected to end by 1100, 1:40 min later because of job 2 (1 node)" in mate
    assert "has cores of its nodes that others had" in mate
    assert "sharing its nodes with job 2 (1 node) has cost it 1:40 min" in mate
    assert "starts on 1 node (0): on cores that running jobs left to it" in ductile.output("explain", 2, "--log", record)
    ductile.output("replay", record)


@pytest.mark.parametrize("mate_runs, guest_runs, cost", [
    (1000, 40, "40 s"),  # the guest ends early: what it would have taken besides is not lost
    (125, 40, None),     # the mate ends first
])
def test_what_a_guest_cost_is_explained(ductile, tmp_path, mate_runs, guest_runs, cost):
    log = write_log(tmp_path, [(1, 0, mate_runs, 48, 1000), (2, 100, guest_runs, 48, 100)], 1)
    record = tmp_path / "record.jsonl"
    ductile.output("simulate", "--trace", log, "--cores-per-node", 48, "--sockets-per-node", 2, "--policy", "sd",
                   "--record", record, "--quiet")
    rows = json.loads(ductile.output("explain", 1, "--log", record, "--json"))["history"]
    told = [(row["text"], row["jobs"]) for row in rows if row["what"] == "cost"]
    assert told == ([(f"sharing its nodes with job 2 (1 node) has cost it {cost}", [2])] if cost else [])


def test_figures_count_guests_and_mates(ductile, tmp_path):
    log = write_log(tmp_path, [(1, 0, 1000, 48, 1000), (2, 100, 100, 48, 100)], 1)
    [summary] = ductile.objects("simulate", "--trace", log, "--cores-per-node", 48, "--policy", "sd", "--json")
    assert (summary["guests"], summary["mates"], summary["core_cuts"]) == (1, 1, 1)
    assert summary["shrinks"] == 0 and summary["utilization"] == 1


# Job 1 has 1000 s to do and job 2, which comes at 100 s, 100 s. Inside it does E / 2 of its work.
@pytest.mark.parametrize("truth, belief, believed_end, ends", [
    ("off", "off", 1100, (1100, 300)),
    ("0.8", "off", 1100, (1150, 350)),  # 100 s / 0.4; of its own work job 1 has done 100 s by then
    ("off", "0.8", 1150, (1100, 300)),  # it is told that 50 s more will be lost, and they are not
    ("0.8", "0.8", 1150, (1150, 350)),
])
def test_what_is_lost_is_truth_and_belief(ductile, tmp_path, truth, belief, believed_end, ends):
    ran, told = run(ductile, tmp_path, [(1, 0, 1000, 48, 1000), (2, 100, 100, 48, 100)], 1,
                    more=("--contention", truth, "--believed-contention", belief))
    assert told[100, 1] == believed_end and ran[2][2]
    assert (ran[1][1], ran[2][1]) == ends


# Job 3 would wait until 1000 s. Memory beside memory does half of its work: inside of job 1 it would be there for
# 400 s, inside of job 2, which computes, for 200 s.
def test_a_guest_goes_where_it_loses_less(ductile, tmp_path):
    jobs = [(1, 0, 2000, 48, 2000), (2, 0, 1000, 48, 1000), (3, 10, 100, 48, 100)]
    log = write_log(tmp_path, jobs, 2)
    bounds = {1: "memory", 2: "compute", 3: "memory"}
    adaptive = tmp_path / "log.adaptive"
    lines = adaptive.read_text().splitlines()
    adaptive.write_text("\n".join(f"{line} bound={bounds[int(line.split()[1])]}" if line.startswith("job") else line
                                  for line in lines) + "\n")
    table = "1:1:1:1:0.5:1:1:1:1"
    figures = ["simulate", "--trace", log, "--cores-per-node", 48, "--sockets-per-node", 2, "--policy",
               "sd:max_slowdown=inf", "--contention", table, "--quiet", "--out", tmp_path / "out", "--force"]
    for believed, guest_end, mate in ((table, 210, 2), ("off", 410, 1)):
        ductile.output(*figures, "--believed-contention", believed)
        with open(tmp_path / "out" / "jobs.csv") as file:
            ends = {int(row["job_id"]): float(row["finish_time"]) for row in csv.DictReader(file)}
        assert ends[3] == guest_end
        assert ends[mate] > {1: 2000, 2: 1000}[mate] and ends[3 - mate] == {1: 2000, 2: 1000}[3 - mate]


def test_to_lose_nothing_is_as_if_nobody_did(ductile, tmp_path):
    log = DATA / "hpc2n_c5"
    options = shlex.split((log / "command.txt").read_text())
    options = [log / word if (log / word).is_file() else word for word in options]
    told = {}
    for name, more in (("none", ()), ("off", ("--contention", "off", "--believed-contention", "off")),
                       ("one", ("--contention", "1", "--believed-contention", "1.0")),
                       ("bounds", ("--bound", "compute:0.31,memory:0.31,mixed:0.38")),
                       ("less", ("--contention", "0.999"))):
        ductile.output("simulate", *options, *more, "--quiet", "--out", tmp_path / name,
                       "--record", tmp_path / f"{name}.jsonl")
        told[name] = [(tmp_path / name / file).read_bytes() for file in ("jobs.csv", "decisions.csv")]
        ductile.output("replay", tmp_path / f"{name}.jsonl")
    assert told["none"] == told["off"] == told["one"] == told["bounds"] != told["less"]
    assert (tmp_path / "none.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()


# Jobs 2 and 3 come as guests of job 1, one after the other; what job 2 lost is known when job 3 comes.
def test_what_is_learned_is_recorded(ductile, tmp_path):
    log = write_log(tmp_path, [(1, 0, 5000, 48, 5000), (2, 100, 100, 48, 100), (3, 1000, 100, 48, 100)], 1)
    told = {}
    for name in ("lend", "lend:learn=on"):
        record = tmp_path / f"{name}.jsonl"
        ductile.output("simulate", "--trace", log, "--cores-per-node", 48, "--policy", name, "--bound", "memory:1",
                       "--contention", "pairs", "--record", record, "--quiet")
        ductile.output("replay", record)
        told[name] = [line for line in record.read_text().splitlines() if " contention " in line]
    assert told["lend"] == []
    assert len(told["lend:learn=on"]) == 1 and "1:1:1:1:0.65:1:1:1:1" in told["lend:learn=on"][0]


def test_what_is_believed_is_recorded(ductile, tmp_path):
    log = write_log(tmp_path, [(1, 0, 1000, 48, 1000), (2, 100, 100, 48, 100)], 1)
    record = tmp_path / "record.jsonl"
    ductile.output("simulate", "--trace", log, "--cores-per-node", 48, "--policy", "sd", "--bound", "memory:1",
                   "--believed-contention", "pairs", "--record", record, "--quiet")
    assert "1:0.95:1:0.95:0.65:0.8:1:0.8:0.9" in record.read_text()
    ductile.output("replay", record)


def test_bounds_are_dealt_and_written(ductile, tmp_path):
    for seed in (1, 1, 2):
        ductile.output("workload", "transform", RIGID_1000, "--malleable", "0.5", "--bound",
                       "compute:0.31,memory:0.31,mixed:0.38", "--seed", seed, "--out", tmp_path / f"{seed}.swf")
    text = [(tmp_path / f"{seed}.adaptive").read_text() for seed in (1, 2)]
    assert text[0] != text[1]
    for bound in ("compute", "memory"):
        assert 250 < text[0].count(f"bound={bound}") < 370
    # Jobs that the file says are bound keep it.
    ductile.output("workload", "transform", tmp_path / "1.swf", "--out", tmp_path / "again.swf")
    assert (tmp_path / "again.adaptive").read_text() == text[0]


@pytest.mark.parametrize("options, words", [
    (["--cores-per-node", 48, "--sockets-per-node", 5], "5 sockets do not divide the 48 cores"),
    (["--cores-per-node", 70000, "--policy", "sd"], "nodes that jobs share have 65535 cores at most"),
    (["--contention", 0], "--contention: '0' is no number above 0 and up to 1"),
    (["--contention", "1.5"], "write off, as 0.9, pairs, or nine numbers"),
    (["--believed-contention", "0.9999"], "--believed-contention: '0.9999' is no number"),
    (["--contention", "1:1:1"], "has not nine numbers"),
    (["--bound", "compute:0.5"], "--bound: the shares are 0.5 together"),
    (["--bound", "io:1"], "--bound: there is no 'io'; use compute, memory, mixed"),
    (["--policy", "sd:max_slowdown=x"], "use a number above 0, inf, mean, median, or a percentile"),
])
def test_what_is_not_possible_is_refused(ductile, options, words):
    done = ductile.run("simulate", "--trace", RIGID_1000, "--nodes", 128, *options)
    assert done.returncode == 2 and words in done.stderr


def simulate_with_watts(ductile, folder, jobs, policy, *more):
    """The summary, and energies of jobs: of nodes of 48 cores, 100 W idle and 580 W busy, 10 W a core."""
    log = write_log(folder, jobs, 1)
    [summary] = ductile.objects("simulate", "--trace", log, "--cores-per-node", 48, "--sockets-per-node", 2, "--policy",
                                policy, "--node-power", "idle=100,busy=580", *more, "--json", "--out", folder / "out", "--force")
    with open(folder / "out" / "jobs.csv") as file:
        return summary, {int(row["job_id"]): float(row["consumed_energy"]) for row in csv.DictReader(file)}


def test_energy_is_counted_by_the_cores_that_are_busy(ductile, tmp_path):
    # Job 2 could use 8 cores, has a socket for 100 s, and keeps 8 of its cores busy; job 1 has 24 of its 48 then. It
    # has lost half of 100 s, and ends at 1050 s.
    summary, joules = simulate_with_watts(ductile, tmp_path, [(1, 0, 1000, 48, 1000), (2, 100, 100, 8, 100)], "sd")
    assert joules == {1: 480 * 950 + 240 * 100, 2: 80 * 100}
    assert summary["energy_j"] == 100 * 1050 + sum(joules.values())
    assert summary["max_power_w"] == 580


def test_on_nodes_of_its_own_a_job_keeps_busy_what_it_asked_for(ductile, tmp_path):
    # Nobody's slowdown is below 1: `sd` is its base, but it counts cores.
    jobs = [(1, 0, 100, 8, 100), (2, 0, 100, 48, 100)]
    for policy, options, first in [("sd:max_slowdown=1", (), 80), ("sd:max_slowdown=1", ("--share-cores", "node"), 480),
                                   ("easy", (), 480)]:
        summary, joules = simulate_with_watts(ductile, tmp_path, jobs, policy, *options)
        assert joules == {1: first * 100, 2: 480 * 100}
        assert summary["energy_j"] == 100 * 200 + sum(joules.values()) and summary["guests"] == 0


def test_energy_of_jobs_is_not_known_where_nobody_says_watts(ductile, tmp_path):
    run(ductile, tmp_path, [(1, 0, 100, 48, 100)], 1)
    with open(tmp_path / "out" / "jobs.csv") as file:
        assert [row["consumed_energy"] for row in csv.DictReader(file)] == ["-1"]
