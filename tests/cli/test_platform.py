"""Platforms: classes of nodes and partitions, what jobs of a log ask for, and under every policy."""

import csv
import json
import random

import pytest
from conftest import files_of

PLATFORM = """
[[class]]
name = "std"
count = 8
cores = 4
memory = "16G"

[[class]]
name = "big"
count = 4
cores = 4
memory = "64G"
weight = 10

[[class]]
name = "gpu"
count = 4
cores = 4
memory = "32G"
gres = { gpu = 2 }
weight = 20

[[partition]]
name = "batch"
classes = ["std", "big"]

[[partition]]
name = "accel"
classes = ["gpu", "big"]
max_time = "1:00:00"
number = 7
"""
BATCH, ACCEL = set(range(12)), set(range(8, 16))
GIGABYTE = 1 << 20  # in KB


def line(job, submit, run, processors, time, memory=-1, queue=-1, partition=-1, user=1):
    return f"{job} {submit} -1 {run} {processors} -1 -1 {processors} {time} {memory} 1 {user} 1 -1 {queue} {partition} -1 -1\n"


def write(tmp_path, lines, platform=PLATFORM):
    (tmp_path / "log.swf").write_text("".join(lines))
    (tmp_path / "platform.toml").write_text(platform)
    return ["simulate", "--trace", tmp_path / "log.swf", "--platform", tmp_path / "platform.toml"]


def jobs_of(folder):
    with open(folder / "jobs.csv") as file:
        return {int(row["job_id"]): row for row in csv.DictReader(file)}


def nodes_of(row):
    nodes = set()
    for part in row["allocated_resources"].split():
        first, _, last = part.partition("-")
        nodes |= set(range(int(first), int(last or first) + 1))
    return nodes


def policies(ductile):
    return [policy["name"] for policy in json.loads(ductile.output("policies", "--json"))]


def some_jobs(seed, count=120):
    """Of both partitions, and with memory that only some nodes have."""
    draw = random.Random(seed)
    lines, wanted, now = [], {}, 0
    for job in range(1, count + 1):
        now += draw.randrange(0, 120)
        accel = draw.random() < 0.4
        memory = draw.choice([1, 12, 20, 40])  # GB of a node
        fits = {node for node in (ACCEL if accel else BATCH)
                if memory <= (16 if node < 8 else 64 if node < 12 else 32)}
        nodes = draw.randrange(1, len(fits) + 1)
        run = draw.randrange(1, 1500)
        lines.append(line(job, now, run, nodes * 4, min(run * draw.randrange(1, 4), 3600),
                          memory * GIGABYTE // 4, queue=7 if accel else 1))
        wanted[job] = fits
    return lines, wanted


@pytest.mark.parametrize("low, high, order", [(1, 4, [1, 3, 2]), (4, 1, [1, 2, 3]), (4, 4, [1, 2, 3])])
def test_the_priority_of_a_partition_counts_under_multifactor(ductile, tmp_path, low, high, order):
    platform = ("[[class]]\nname = 'n'\ncount = 4\n"
                f"[[partition]]\nname = 'low'\npriority = {low}\n"
                f"[[partition]]\nname = 'high'\npriority = {high}\n")
    lines = [line(job, job, 100, 4, 100, queue=2 if job == 3 else 1) for job in (1, 2, 3)]
    ductile.output(*write(tmp_path, lines, platform), "--partitions-from", "queue", "--out", tmp_path / "out",
                   "--policy", "fcfs:order=multifactor,weight_partition=100", "--record", tmp_path / "run.log")
    jobs = jobs_of(tmp_path / "out")
    assert sorted(jobs, key=lambda job: float(jobs[job]["starting_time"])) == order
    assert f"priorities 2 {low} {high}" in (tmp_path / "run.log").read_text()
    assert "are the same" in ductile.output("replay", tmp_path / "run.log")


@pytest.mark.parametrize("urgent, normal, order", [(10, 1, [1, 3, 2]), (1, 10, [1, 2, 3]), (5, 5, [1, 2, 3])])
def test_the_quality_of_service_counts_under_multifactor(ductile, tmp_path, urgent, normal, order):
    platform = ("[[class]]\nname = 'n'\ncount = 4\n"
                f"[[qos]]\nname = 'normal'\npriority = {normal}\nnumber = 3\n"
                f"[[qos]]\nname = 'urgent'\npriority = {urgent}\nnumber = 7\n")
    lines = [line(job, job, 100, 4, 100, queue=7 if job == 3 else 3) for job in (1, 2, 3)]
    call = write(tmp_path, lines, platform)
    policy = "fcfs:order=multifactor,weight_qos=100"
    ductile.output(*call, "--qos-from", "queue", "--out", tmp_path / "out", "--policy", policy, "--record", tmp_path / "run.log")
    jobs = jobs_of(tmp_path / "out")
    assert sorted(jobs, key=lambda job: float(jobs[job]["starting_time"])) == order
    assert f"qos 2 normal {normal} urgent {urgent}" in (tmp_path / "run.log").read_text()
    assert "are the same" in ductile.output("replay", tmp_path / "run.log")
    # Beside the log, whatever that says.
    (tmp_path / "log.adaptive").write_text("ductile-adaptive 1\ncores_per_node 1\njob 2 type=rigid size=4..4 qos=urgent\n"
                                           "job 3 type=rigid size=4..4 qos=normal\n")
    ductile.output(*call, "--qos-from", "queue", "--out", tmp_path / "beside", "--policy", policy)
    jobs = jobs_of(tmp_path / "beside")
    starts = sorted(jobs, key=lambda job: float(jobs[job]["starting_time"]))
    assert starts == ([1, 3, 2] if normal > urgent else [1, 2, 3])
    done = ductile.run(*write(tmp_path, [line(1, 0, 1, 4, 1, queue=4)], platform), "--qos-from", "queue")
    assert done.returncode == 2 and "no QOS has the number 4" in done.stderr


LIMITED = """
[[class]]
name = "old"
count = 4
cores = 4
memory = "8G"

[[class]]
name = "new"
count = 4
cores = 4
memory = "32G"
features = ["ib", "avx512"]

[[partition]]
name = "small"
max_nodes = 2

[[partition]]
name = "guests"
users = [7, 8]

[[partition]]
name = "all"
default = true
"""


def test_partitions_keep_to_their_limits(ductile, tmp_path):
    lines = [line(1, 0, 10, 2 * 4, 10, queue=1, user=1), line(2, 0, 10, 3 * 4, 10, queue=1, user=1),  # too large for `small`
             line(3, 0, 10, 4, 10, queue=2, user=7), line(4, 0, 10, 4, 10, queue=2, user=1),  # not a guest
             line(5, 0, 10, 4, 10, user=1)]  # of none: of `all`
    done = ductile.run(*write(tmp_path, lines, LIMITED), "--partitions-from", "queue", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "2 longer or larger than their partition allows, or not of its users" in done.stdout + done.stderr
    jobs = jobs_of(tmp_path / "out")
    assert {job: row["partition"] for job, row in jobs.items()} == {1: "small", 3: "guests", 5: "all"}
    # Who may be in two is kept to the limit of each; nobody is user 0.
    (tmp_path / "log.adaptive").write_text("ductile-adaptive 1\ncores_per_node 4\njob 1 type=malleable size=2..8 partition=small,all\n")
    for policy in ("equipartition", "tide"):
        ductile.output(*write(tmp_path, lines[:1], LIMITED), "--policy", policy, "--check", "--out", tmp_path / "both", "--force")
        with (tmp_path / "both/decisions.csv").open() as rows:
            assert max(int(row["size"]) for row in csv.DictReader(rows) if row["size"]) == 2, policy
    (tmp_path / "log.adaptive").unlink()
    done = ductile.run(*write(tmp_path, [line(1, 0, 10, 4, 10, queue=2, user=-1)], LIMITED.replace("[7, 8]", "[0]")), "--partitions-from", "queue")
    assert done.returncode == 2 and "not of its users" in done.stderr
    # Whatever policies do with jobs that can grow.
    for policy in policies(ductile):
        [figures] = ductile.objects(*write(tmp_path, lines[:1], LIMITED), "--partitions-from", "queue", "--malleable", "1:min=1,max=8",
                                    "--policy", policy, "--check", "--json", "--out", tmp_path / "grown", "--force")
        assert figures["jobs"] == 1
        with (tmp_path / "grown/decisions.csv").open() as rows:
            assert max(int(row["size"]) for row in csv.DictReader(rows) if row["size"]) <= 2, policy


def test_jobs_ask_for_features_and_memory_by_the_core(ductile, tmp_path):
    lines = [line(job, 0, 10, 4, 10) for job in range(1, 5)]
    call = write(tmp_path, lines, LIMITED)
    (tmp_path / "log.adaptive").write_text("ductile-adaptive 1\ncores_per_node 4\n"
                                           "job 1 type=rigid size=1..1 features=ib\n"
                                           "job 2 type=rigid size=1..1 memory_per_core=4G\n"
                                           "job 3 type=rigid size=1..1 cores=1 memory_per_core=4G\n")
    ductile.output(*call, "--out", tmp_path / "out")
    jobs = jobs_of(tmp_path / "out")
    assert nodes_of(jobs[1]) <= set(range(4, 8)) and nodes_of(jobs[2]) <= set(range(4, 8))
    assert nodes_of(jobs[3]) <= set(range(4)) and nodes_of(jobs[4]) <= set(range(4))
    # The cores are those of the nodes on which it may run.
    (tmp_path / "log.adaptive").write_text("ductile-adaptive 1\ncores_per_node 4\njob 1 type=rigid size=1..1 features=ib memory_per_core=9G\n")
    done = ductile.run(*call)
    assert done.returncode == 2 and "36864 MB are more than the 32768 of a node" in done.stderr
    (tmp_path / "log.adaptive").write_text("ductile-adaptive 1\ncores_per_node 4\njob 1 type=rigid size=1..1 features=gold\n")
    done = ductile.run(*call)
    assert done.returncode == 2 and "log.adaptive:3: features: no node has the feature 'gold'" in done.stderr
    (tmp_path / "log.adaptive").write_text("ductile-adaptive 1\ncores_per_node 4\njob 1 type=rigid size=5..5 features=ib,avx512\n")
    done = ductile.run(*call)
    assert done.returncode == 2 and "log.adaptive:3: size: the job needs 5 nodes, and 4 have what it asks for" in done.stderr


@pytest.mark.parametrize("limit", ["max_nodes = 2", "users = [99]"])
def test_jobs_that_are_made_need_a_default_partition_without_limits(ductile, tmp_path, limit):
    call = write(tmp_path, [], f"[[class]]\nname = 'n'\ncount = 64\n[[partition]]\nname = 'some'\n{limit}\n")
    done = ductile.run("simulate", "--generate", "rigid", "--jobs", "20", "--platform", call[-1])
    assert done.returncode == 2 and f"platform.toml: {limit.split()[0]}: jobs that are made are nobody's" in done.stderr


@pytest.mark.parametrize("table, field", [
    ("[[partition]]\nname = 'a'\nmax_nodes = 0", "max_nodes"), ("[[partition]]\nname = 'a'\nusers = []", "users"),
    ("[[partition]]\nname = 'a'\nusers = ['root']", "users"), ("[[partition]]\nname = 'a'\ndefault = 1", "default"),
    ("[[partition]]\nname = 'a'\ndefault = true\n[[partition]]\nname = 'b'\ndefault = true", "default"),
    ("[[qos]]\npriority = 3", "qos"), ("[[qos]]\nname = 'a'\nlimit = 3", "limit"), ("[[qos]]\nname = 'a'\npriority = -1", "priority"),
    ("[[qos]]\nname = 'a'\n[[qos]]\nname = 'a'", "qos"), ("[[class]]\nname = 'c'\ncount = 1\nfeatures = 'ib'", "features"),
    ("[[class]]\nname = 'c'\ncount = 1\nfeatures = ['ib', 'ib']", "features"),
])
def test_wrong_limits_name_line_and_field(ductile, tmp_path, table, field):
    done = ductile.run(*write(tmp_path, [line(1, 0, 1, 4, 1)], "[[class]]\nname = 'n'\ncount = 4\n" + table + "\n"))
    assert done.returncode == 2 and f": {field}: " in done.stderr, done.stderr


def test_every_policy_keeps_to_partitions_and_classes(ductile, tmp_path):
    lines, wanted = some_jobs(1)
    call = write(tmp_path, lines)
    for policy in policies(ductile):
        out = tmp_path / policy
        [figures] = ductile.objects(*call, "--partitions-from", "queue", "--memory-from", "requested", "--check",
                                    "--malleable", "0.5:max=2", "--evolving", "0.2:max=2", "--policy", policy,
                                    "--json", "--out", out)
        assert figures["jobs"] == len(wanted) and figures["skipped"] == figures["rejected"] == 0, policy
        jobs = jobs_of(out)
        assert set(jobs) == set(wanted), policy
        for job, row in jobs.items():
            assert nodes_of(row) and nodes_of(row) <= wanted[job], (policy, row)
            assert row["partition"] == ("accel" if lines[job - 1].split()[14] == "7" else "batch"), policy


def test_nobody_waits_for_a_partition_that_is_full_and_not_his(ductile, tmp_path):
    call = write(tmp_path, [
        line(1, 0, 1000, 12 * 4, 1000, partition=1),  # all of batch
        line(2, 1, 100, 4, 100, partition=1),
        line(3, 2, 100, 4 * 4, 100, partition=7),  # the GPU nodes are idle
        line(4, 3, 100, 4, 100, partition=1),
    ])
    for policy in ("fcfs", "easy", "conservative"):
        out = tmp_path / policy
        ductile.output(*call, "--partitions-from", "partition", "--policy", policy, "--out", out, "--check")
        starts = {job: float(row["starting_time"]) for job, row in jobs_of(out).items()}
        assert starts == {1: 0, 2: 1000, 3: 2, 4: 1000}, policy
        assert {row["partition"] for row in jobs_of(out).values()} == {"batch", "accel"}


def test_classes_of_less_weight_are_taken_first(ductile, tmp_path):
    call = write(tmp_path, [line(1, 0, 100, 8 * 4, 100), line(2, 1, 100, 4 * 4, 100)])
    ductile.output(*call, "--out", tmp_path / "out")
    jobs = jobs_of(tmp_path / "out")
    assert nodes_of(jobs[1]) == set(range(8)) and nodes_of(jobs[2]) == set(range(8, 12))


def test_run_times_are_meant_at_speed_1(ductile, tmp_path):
    platform = """
        class = [{ name = "fast", count = 2, speed = 2 }, { name = "slow", count = 2, speed = 0.5, weight = 1 }]
        """
    call = write(tmp_path, [line(1, 0, 100, 2, 100), line(2, 0, 100, 2, 100), line(3, 1000, 100, 3, 100)], platform)
    for more in ([], ["--malleable", "1:max=1"], ["--overrun", "kill"]):
        ductile.output(*call, "--policy", "fcfs", "--check", *more, "--out", tmp_path / "out", "--force")
        jobs = jobs_of(tmp_path / "out")
        assert [float(jobs[job]["execution_time"]) for job in (1, 2, 3)] == [50, 200, 200], more
        assert all(row["final_state"] == "COMPLETED_SUCCESSFULLY" for row in jobs.values())


def test_one_class_without_partitions_is_as_if_nothing_were_said(ductile, tmp_path):
    lines, _ = some_jobs(2)
    call = write(tmp_path, lines, "class = [{ name = 'all', count = 16, cores = 4 }]")
    plain = ["simulate", "--trace", tmp_path / "log.swf", "--nodes", 16, "--cores-per-node", 4]
    for policy in policies(ductile):
        folders = []
        for number, words in enumerate([call, plain]):
            folders.append(tmp_path / f"{policy}-{number}")
            ductile.output(*words, "--malleable", "0.5:max=2", "--policy", policy, "--out", folders[-1])
        files = [files_of(folder) for folder in folders]
        for name in ("jobs.csv", "decisions.csv", "series.csv"):
            assert files[0][name] == files[1][name], (policy, name)
        assert b",partition" not in files[0]["jobs.csv"].splitlines()[0]


def test_what_does_not_fit_is_counted(ductile, tmp_path):
    call = write(tmp_path, [
        line(1, 0, 10, 4, 10, partition=7),
        line(2, 0, 10, 9 * 4, 10, partition=7),  # larger than its partition
        line(3, 0, 10, 4, 4000, partition=7),  # longer than it allows
        line(4, 0, 10, 4, 10, 20 * GIGABYTE, partition=7),  # 80 GB
        line(5, 0, 10, 4, 10),  # no partition: the first one
    ])
    call += ["--partitions-from", "partition", "--memory-from", "requested"]
    text = ductile.output(*call)
    assert ("3 lines skipped: 1 larger than the machine, 1 longer or larger than their partition allows, or not of its users, 1 asking for what no "
            "node of their partition has") in text
    [figures] = ductile.objects(*call, "--json")
    assert (figures["jobs"], figures["skipped"]) == (2, 3)


def test_a_mistake_is_told_with_its_place(ductile, tmp_path):
    call = write(tmp_path, [line(1, 0, 10, 4, 10, partition=7), line(2, 0, 10, 4, 10, partition=3)])

    def error(*words):
        done = ductile.run(*call, *words)
        assert done.returncode == 2
        return done.stderr

    assert ("log.swf:2: partition (field 16): no partition has the number 3; give it one in the platform file: "
            "number = 3") in error("--partitions-from", "partition")
    assert "--platform" in error("--nodes", 4) and "--nodes" in error("--nodes", 4)
    (tmp_path / "platform.toml").write_text(PLATFORM + "\nnodes = 3-4\n")
    assert f"{tmp_path}/platform.toml:" in error()
    (tmp_path / "platform.toml").write_text(PLATFORM.replace("cores", "coers", 1))
    assert f"{tmp_path}/platform.toml:5: coers: a class has no such field; it has name" in error()
    (tmp_path / "platform.toml").write_text("class = [{ name = 'all', count = 16 }]")
    assert "platform.toml has no partitions" in error("--partitions-from", "queue")
    done = ductile.run("simulate", "--trace", tmp_path / "log.swf", "--nodes", 4, "--partitions-from", "queue")
    assert done.returncode == 2 and "--partitions-from: " in done.stderr and "give --platform FILE" in done.stderr
    done = ductile.run("simulate", "--elastisim", "none.json", "--platform", tmp_path / "platform.toml")
    assert done.returncode == 2 and "--platform: the platform of --elastisim is in its own file" in done.stderr


def test_an_experiment_names_a_platform_beside_it(ductile, tmp_path):
    write(tmp_path, some_jobs(3)[0])
    (tmp_path / "e.toml").write_text(
        "trace = 'log.swf'\nplatform = 'platform.toml'\npartitions-from = 'queue'\npolicy = ['fcfs', 'easy']\n")
    runs = ductile.objects("simulate", tmp_path / "e.toml", "--json")
    assert [run["nodes"] for run in runs if "nodes" in run] == [16, 16]
    (tmp_path / "platform.toml").unlink()
    done = ductile.run("simulate", tmp_path / "e.toml")
    assert done.returncode == 2 and "e.toml:2: platform: " in done.stderr


def test_a_record_of_it_is_replayed(ductile, tmp_path):
    lines, wanted = some_jobs(4)
    call = write(tmp_path, lines) + ["--partitions-from", "queue", "--memory-from", "requested"]
    ductile.output(*call, "--malleable", "0.5:max=2", "--policy", "mebf", "--record", tmp_path / "log")
    told = json.loads(ductile.output("replay", tmp_path / "log", "--json"))
    assert told["events"] > len(wanted)


def test_the_example_is_read(ductile):
    [figures] = ductile.objects("simulate", "--generate", "rigid:max_size=16", "--jobs", 50, "--platform",
                                "examples/platform.toml", "--json")
    assert (figures["jobs"], figures["nodes"], figures["rejected"]) == (50, 24, 0)


RESERVATIONS = """
[[class]]
name = "std"
count = 4

[[reservation]]
name = "repair"
from_s = 100
to_s = 200
nodes = "2-3"

[[reservation]]
name = "course"
from_s = 300
to_s = 400
count = 2
jobs = "3"
"""


def test_reservations(ductile, tmp_path):
    lines = [line(1, 0, 80, 4, 100), line(2, 0, 50, 4, 150), line(3, 0, 60, 2, 60)]
    call = write(tmp_path, lines, RESERVATIONS)
    ductile.output(*call, "--policy", "easy", "--check", "--out", tmp_path / "out", "--record", tmp_path / "log")
    jobs = jobs_of(tmp_path / "out")
    # The first one ends in time, the second one would run into both, and the third one waits for its own.
    assert [float(jobs[job]["starting_time"]) for job in (1, 2, 3)] == [0, 400, 300], jobs
    assert nodes_of(jobs[3]) == {2, 3}
    ductile.output("replay", tmp_path / "log")


def test_reservations_in_any_order(ductile, tmp_path):
    """Those that name their nodes are made first, wherever they are in the file."""
    platform = """
class = [{ name = "std", count = 4 }]
[[reservation]]
name = "a"
from_s = 10
to_s = 100
count = COUNT
[[reservation]]
name = "b"
from_s = 50
to_s = 120
nodes = "2-3"
"""
    lines = [line(1, 0, 80, 2, 90), line(2, 0, 50, 4, 50)]
    call = write(tmp_path, lines, platform.replace("COUNT", "2"))
    ductile.output(*call, "--policy", "easy", "--check", "--out", tmp_path / "out")
    jobs = jobs_of(tmp_path / "out")
    # The nodes of a are 0 and 1: job 1 would run into one of both.
    assert [float(jobs[job]["starting_time"]) for job in (1, 2)] == [100, 180], jobs
    assert nodes_of(jobs[1]) == {0, 1}
    call = write(tmp_path, lines, platform.replace("COUNT", "3"))
    done = ductile.run(*call, "--policy", "easy")
    assert done.returncode == 2
    assert done.stderr.endswith("platform.toml:3: reservation a: fewer nodes are up and not reserved for all of its time: "
                            "b has 2-3 from 50 to 120; let it have other nodes, fewer, or another time\n"), done.stderr


@pytest.mark.parametrize("job, more, why", (
    ("3,99", "", "reservation course: jobs: there is no job 99 in the workload"),
    ("2", "", "reservation course: jobs: job 2 needs 4 nodes, more than its 2"),
    ("3", "[[reservation]]\nname = 'other'\nfrom_s = 500\ncount = 2\njobs = '1,3'\n",
     "reservation other: jobs: job 3 has reservation course"),
))
def test_jobs_of_reservations_are_there_once_and_have_room(ductile, tmp_path, job, more, why):
    lines = [line(1, 0, 80, 4, 100), line(2, 0, 50, 4, 150), line(3, 0, 60, 2, 60)]
    call = write(tmp_path, lines, RESERVATIONS.replace('jobs = "3"', f'jobs = "{job}"') + more)
    done = ductile.run(*call, "--policy", "easy")
    assert done.returncode == 2 and why in done.stderr, done


def beside(tmp_path, *lines):
    (tmp_path / "log.adaptive").write_text("ductile-adaptive 1\ncores_per_node 4\n" + "".join(f"{text}\n" for text in lines))


@pytest.mark.parametrize("words, nodes", (
    ("gres=gpu:2 partition=accel", "12-13"),
    ("memory=40G", "8-9"),
    ("memory=40G exclude=8", "9-10"),
    ("nodelist=3-5", "3-4"),
    ("partition=accel,batch nodelist=7,15", "7 15"),
    ("partition=accel cores=4", "8-9"),
))
def test_a_line_beside_the_log_says_where_a_job_runs(ductile, tmp_path, words, nodes):
    call = write(tmp_path, [line(1, 0, 100, 8, 100, memory=GIGABYTE, partition=1)])
    for kind in ("type=rigid size=2..2", "type=malleable size=1..2"):
        beside(tmp_path, f"job 1 {kind} {words}")
        ductile.output(*call, "--partitions-from", "partition", "--memory-from", "requested", "--policy", "fcfs",
                       "--check", "--out", tmp_path / "out", "--force")
        assert jobs_of(tmp_path / "out")[1]["allocated_resources"] == nodes, kind
    # Also where nobody asked to follow nodes.
    [figures] = ductile.objects(*call, "--json")
    assert (figures["jobs"], figures["rejected"]) == (1, 0)


def test_jobs_wait_for_what_their_lines_ask(ductile, tmp_path):
    # Both want the GPU nodes of 12 to 15; a third one without a line does not.
    call = write(tmp_path, [line(1, 0, 100, 12, 100), line(2, 1, 100, 8, 100), line(3, 2, 100, 8, 100)])
    beside(tmp_path, "job 1 type=rigid size=3..3 partition=accel gres=gpu",
           "job 2 type=rigid size=2..2 partition=accel gres=gpu")
    for policy in ("fcfs", "easy", "conservative"):
        ductile.output(*call, "--policy", policy, "--check", "--out", tmp_path / policy)
        jobs = jobs_of(tmp_path / policy)
        assert [float(jobs[job]["starting_time"]) for job in (1, 2, 3)] == [0, 100, 2], policy


def test_lines_that_no_platform_bears_are_refused(ductile, tmp_path):
    call = write(tmp_path, [line(1, 0, 100, 8, 100)])
    for words, why in (
            ("partition=other", "partition: there is no partition 'other'; use one of batch, accel"),
            ("gres=fpga", "gres: no node has a 'fpga'; use one of gpu"),
            ("memory=65G", "memory: 66560 MB are more than the 65536 of a node; ask for less"),
            ("nodelist=3", "size: the job needs 2 nodes, and 1 has what it asks for"),
            ("nodelist=16", "nodelist: there is no node 16; there are 0 to 15")):
        beside(tmp_path, "# more", f"job 1 type=rigid size=2..2 {words}")
        done = ductile.run(*call)
        assert done.returncode == 2 and f"log.adaptive:4: {why}" in done.stderr, done.stderr
    done = ductile.run(*call[:3], "--nodes", 16, "--cores-per-node", 4)
    assert done.returncode == 2
    assert "log.adaptive:4: nodelist: says where the job may run on a platform; give --platform FILE" in done.stderr
    beside(tmp_path, "job 1 type=rigid size=2..2 nodelist=3-4")
    done = ductile.run(*call, "--identities", "off")
    assert done.returncode == 2 and "jobs that name nodes need to know" in done.stderr
    # Things that the partition of the log does not have: left out, and told.
    beside(tmp_path, "job 1 type=rigid size=2..2 gres=gpu")
    write(tmp_path, [line(1, 0, 100, 8, 100), line(2, 0, 100, 8, 100)])
    assert "1 asking for what no node of their partition has" in ductile.output(*call)


def test_changed_logs_keep_where_jobs_run(ductile, tmp_path):
    write(tmp_path, [line(1, 0, 100, 8, 100), line(2, 0, 100, 8, 100)])
    words = "partition=batch,accel memory=4G cores=2 gres=gpu:2 nodelist=12-15 exclude=13"
    beside(tmp_path, f"job 1 type=rigid size=2..2 {words}", f"job 2 type=malleable size=1..4 {words}")
    ductile.output("workload", "transform", tmp_path / "log.swf", "--nodes", 16, "--cores-per-node", 4,
                   "--malleable", "1", "--out", tmp_path / "new.swf")
    made = (tmp_path / "new.adaptive").read_text().splitlines()[2:]
    assert len(made) == 2 and all(text.startswith(f"job {n} type=malleable ") for n, text in enumerate(made, 1))
    assert all(text.endswith(words) for text in made)
    ductile.output("simulate", "--trace", tmp_path / "new.swf", "--platform", tmp_path / "platform.toml", "--check",
                   "--out", tmp_path / "out")
    assert all(nodes_of(row) <= {12, 14, 15} for row in jobs_of(tmp_path / "out").values())


def test_too_many_lists_of_nodes_are_told(ductile, tmp_path):
    platform = "class = [{ name = 'std', count = 100 }]"
    call = write(tmp_path, [line(job, 0, 100, 1, 100) for job in range(1, 81)], platform)
    (tmp_path / "log.adaptive").write_text(
        "ductile-adaptive 1\n" + "".join(f"job {job} type=rigid size=1..1 exclude={job}\n" for job in range(1, 81)))
    done = ductile.run(*call, "--policy", "fcfs", "--check", "--json")
    figures = json.loads(done.stdout)
    assert figures["rejected"] > 0 and figures["jobs"] + figures["rejected"] == 80
    assert f"ductile: {figures['rejected']} jobs were rejected: nodelist and exclude of the jobs" in done.stderr


def test_a_job_has_as_many_nodes_whatever_its_partition(ductile, tmp_path):
    platform = """
        class = [{ name = "std", count = 4, cores = 4 }, { name = "gpu", count = 4, cores = 8 }]
        partition = [{ name = "a", classes = ["std"] }, { name = "b", classes = ["gpu"] }]
        """
    call = write(tmp_path, [line(1, 0, 100, 8, 100)], platform)
    beside(tmp_path, "job 1 type=rigid size=2..2 partition=b")
    ductile.output("workload", "transform", tmp_path / "log.swf", "--nodes", 8, "--cores-per-node", 4, "--out", tmp_path / "new.swf")
    for name in ("log.swf", "new.swf"):
        call[2] = tmp_path / name
        ductile.output(*call, "--check", "--out", tmp_path / "out", "--force")
        assert nodes_of(jobs_of(tmp_path / "out")[1]) == {4, 5}
