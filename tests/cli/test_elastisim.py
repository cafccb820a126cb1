"""ductile simulate --elastisim: the example, with times worked out by hand."""

import csv
import json
import random

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
                                "--links", "alone", "--out", str(tmp_path / "out"), "--json", "--check")
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


def shares_files(folder, jobs, model, nodes=8, read="4GBps", write="2GBps", latency="0us"):
    """The same with a file system that all nodes reach, each by a link of 1 GB/s."""
    file = study(folder, jobs, model, nodes)
    platform = (ROOT / "examples/elastisim/platform.xml").read_text()
    platform = platform.replace("0-7", f"0-{nodes - 1}").replace("4GBps", read).replace("2GBps", write)
    (folder / "platform.xml").write_text(platform.replace('0us"/>', f'{latency}"/>'))
    return file


def transfers(kind, amount="bytes", pattern="all_ranks", **more):
    return {"type": f"pfs_{kind}", "bytes": amount, "pattern": pattern, **more}


def ends(ductile, folder, file, *options):
    ductile.output("simulate", "--elastisim", file, "--policy", "fcfs", "--quiet", "--check", "--out", folder / "out", *options)
    return {job: end for job, (_, end) in times(folder / "out").items()}


def writer(nodes, gigabytes, submit=0):
    return {"type": "rigid", "num_nodes": nodes, "submit_time": submit, "arguments": {"bytes": gigabytes * 1e9}}


@pytest.mark.parametrize("jobs, both, alone", [
    # Each has half of 2 GB/s.
    ([writer(2, 20), writer(2, 20)], [20, 20], [10, 10]),
    # From 5 to 15, and each all of it before and after.
    ([writer(2, 20), writer(2, 20, 5)], [15, 20], [10, 15]),
    # Each of 4 nodes has a quarter; at 10 the others have all.
    ([writer(1, 5), writer(3, 30)], [10, 17.5], [5, 15]),
    # One node alone cannot take what the other leaves.
    ([writer(1, 10), writer(1, 10)], [10, 10], [10, 10]),
    # From 3 on each of three has two thirds, until the first is over; the second has 6 GB left then.
    ([writer(1, 4), writer(1, 10), writer(1, 10, 3)], [4.5, 10.5, 13.5], [4, 10, 13]),
])
def test_who_writes_at_once_shares_the_file_system(ductile, tmp_path, jobs, both, alone):
    file = shares_files(tmp_path, jobs, {"phases": [{"tasks": [transfers("write")]}]})
    assert list(ends(ductile, tmp_path, file).values()) == both
    assert list(ends(ductile, tmp_path, file, "--links", "alone", "--force").values()) == alone


@pytest.mark.parametrize("factor", [0.5, 2])
def test_a_machine_of_another_speed_has_links_of_that_speed(ductile, tmp_path, factor):
    model = {"phases": [{"tasks": [{"type": "busy_wait", "delay": 5, "pattern": "uniform"}, transfers("write")]}]}
    file = shares_files(tmp_path, [writer(2, 20)], model)
    assert list(ends(ductile, tmp_path, file, "--speed-factor", factor, "--overrun", "kill").values()) == [15 * factor]


def test_a_million_iterations_are_not_followed_one_by_one(ductile, tmp_path):
    model = {"phases": [{"iterations": 1_000_000, "tasks": [
        {"type": "busy_wait", "delay": 1, "pattern": "uniform"}, transfers("write")]}]}
    file = shares_files(tmp_path, [writer(2, 2), writer(2, 2)], model)
    # Each sends 2 GB in 2 s, so 1 GB/s of the 2 GB/s that there are.
    assert list(ends(ductile, tmp_path, file).values()) == [2e6, 2e6]


def test_plans_that_are_void_make_no_instants(ductile, tmp_path):
    """Whoever begins or ends to send changes when others end; what was planned before is nothing that happens."""
    jobs = [writer(2, 2 + each / 8) for each in range(8)]
    model = {"phases": [{"iterations": 3, "tasks": [
        {"type": "busy_wait", "delay": "1 + bytes / 1e11", "pattern": "uniform"}, transfers("write")]}]}
    file = shares_files(tmp_path, jobs, model, nodes=16)
    ends(ductile, tmp_path, file, "--record", tmp_path / "log")
    closes = [line for line in (tmp_path / "log").read_text().splitlines() if line.startswith("C")]
    assert len(closes) <= 2 * 3 * 8 + 2, "one for each time at which a job begins or ends to send"


def test_who_reads_does_not_slow_who_writes(ductile, tmp_path):
    model = {"phases": [{"tasks": [transfers("write")]}]}
    jobs = [writer(2, 20), {**writer(4, 40), "application_model": "reads.json"}]
    file = shares_files(tmp_path, jobs, model)
    (tmp_path / "reads.json").write_text(json.dumps({"phases": [{"tasks": [transfers("read")]}]}))
    assert list(ends(ductile, tmp_path, file).values()) == [10, 10]


def test_what_is_written_beside_computation_slows_it_when_it_has_to(ductile, tmp_path):
    model = {"phases": [{"tasks": [transfers("write", **{"async": True}),
                                   {"type": "busy_wait", "delay": "wait", "pattern": "uniform"}]}]}
    # 20 GB in 30 s are less than half of what there is, and in 15 s are more.
    for wait, end in ((30, 30), (15, 20)):
        jobs = [writer(2, 20), writer(2, 20)]
        for job in jobs:
            job["arguments"]["wait"] = wait
        file = shares_files(tmp_path / str(wait), jobs, model)
        assert list(ends(ductile, tmp_path / str(wait), file).values()) == [end, end]


def naive(jobs, nodes_of, bytes_of, waits_of, iterations):
    """When jobs end that wait and write in turns, all of them from their submission on."""
    state = [[submit, waits, 0.0, iterations] for submit, waits in jobs]  # begin; wait left; bytes left; rounds
    now, over = 0.0, {}
    while len(over) < len(jobs):
        here = [i for i, job in enumerate(state) if i not in over and job[0] <= now + 1e-12]
        sends = [i for i in here if state[i][1] <= 1e-12]
        rate = {}
        left, rest = 2e9, sum(nodes_of[i] for i in sends)
        each = min(1e9, left / rest) if rest else 0
        for i in sends:
            rate[i] = each * nodes_of[i]
        next_ = [job[0] for i, job in enumerate(state) if i not in over and job[0] > now + 1e-12]
        next_ += [now + state[i][1] for i in here if i not in rate] + [now + state[i][2] / rate[i] for i in sends]
        step = min(next_) - now
        now += step
        for i in here:
            job = state[i]
            if i not in rate:
                job[1] -= step
                if job[1] <= 1e-9:
                    job[1], job[2] = 0, bytes_of[i]
                continue
            job[2] -= rate[i] * step
            if job[2] <= 1e-3:
                job[3] -= 1
                job[1] = waits_of[i]
                if job[3] == 0:
                    over[i] = now
    return over


@pytest.mark.parametrize("seed", range(1, 21))
def test_shares_are_those_of_a_naive_simulation(ductile, tmp_path, seed):
    draw = random.Random(seed)
    count, iterations = draw.randint(2, 8), draw.randint(1, 6)
    nodes = [draw.randint(1, 6) for _ in range(count)]
    jobs = [writer(nodes[i], draw.uniform(1, 30), round(draw.uniform(0, 40), 3)) for i in range(count)]
    jobs.sort(key=lambda job: job["submit_time"])
    for job in jobs:
        job["arguments"].update(wait=draw.uniform(0.5, 20))
    model = {"phases": [{"iterations": iterations, "tasks": [
        {"type": "busy_wait", "delay": "wait", "pattern": "uniform"}, transfers("write")]}]}
    file = shares_files(tmp_path, jobs, model, nodes=64)
    mine = ends(ductile, tmp_path, file)
    waits = [job["arguments"]["wait"] for job in jobs]
    theirs = naive([(job["submit_time"], wait) for job, wait in zip(jobs, waits)], [job["num_nodes"] for job in jobs],
                   [job["arguments"]["bytes"] for job in jobs], waits, iterations)
    assert mine == {str(i): pytest.approx(theirs[i], abs=1e-4) for i in theirs}


@pytest.mark.parametrize("submit, apply", [
    (12, "phase_end"),
    (10, "phase_end"),  # they are at scheduling points right then
    (12, "immediate"),
])
def test_what_a_resize_reads_is_shared(ductile, tmp_path, submit, apply):
    # Cut to 5 nodes for job 2 at their next scheduling points both read 40 GB from 4 GB/s.
    model = {"on_reconfiguration": {"tasks": [transfers("read", "40e9")]}, "phases": [waits(10, iterations=4)]}
    jobs = [{"type": "malleable", "num_nodes_min": 4, "num_nodes_max": 8},
            {"type": "malleable", "num_nodes_min": 4, "num_nodes_max": 8},
            {"type": "rigid", "num_nodes": 8, "submit_time": submit}]
    file = shares_files(tmp_path, jobs, model, nodes=16)
    for links, pays in (("shared", 20), ("alone", 10)):
        out = tmp_path / links
        [figures] = ductile.objects("simulate", "--elastisim", file, "--policy", "mebf", "--quiet", "--check", "--out", out,
                                    "--links", links, "--apply-at", apply, "--json", timeout=30)
        assert times(out) == {"0": (0, 40 + pays), "1": (0, 40 + pays), "2": (40 + pays, 80 + pays)}
        assert figures["reconfiguration_node_s"] == 2 * 8 * pays


def test_a_job_that_others_slow_pays_for_a_resize_as_slowly(ductile, tmp_path):
    # The roots of three jobs write all the time, at 2 GB/s together; a resize writes 40 GB besides.
    write = transfers("write", "40e9", "root_only")
    model = {"on_reconfiguration": {"tasks": [write]}, "phases": [{"iterations": 10, "tasks": [write]}]}
    jobs = [{"type": "malleable", "num_nodes_min": 2, "num_nodes_max": 4}] + [
        {"type": "rigid", "num_nodes": 2} for _ in range(2)] + [{"type": "rigid", "num_nodes": 2, "submit_time": 30}]
    file = shares_files(tmp_path, jobs, model, nodes=8)
    (tmp_path / "waits.json").write_text(json.dumps({"phases": [waits(1000)]}))
    jobs[-1]["application_model"] = "waits.json"
    (tmp_path / "jobs.json").write_text(json.dumps({"jobs": jobs}))
    for links, writes in (("shared", 60), ("alone", 40)):
        out = tmp_path / links
        ductile.output("simulate", "--elastisim", file, "--policy", "elastic", "--quiet", "--check", "--out", out, "--links", links,
                       timeout=30)
        assert times(out)["3"] == (2 * writes, 2 * writes + 1000)
        assert times(out)["1"][1] == 10 * writes
        assert times(out)["0"][1] == 11 * writes - (20 if links == "shared" else 0)


class Naive:
    """A job that waits and writes in turns, told when it starts and when it is to be resized; both as seconds or bytes left."""

    def __init__(self, wait, sends, iterations, toll):
        self.wait, self.sends, self.toll, self.iterations = wait, sends, toll, iterations
        self.nodes, self.waits, self.left, self.pays, self.ordered, self.began, self.end = 0, 0, 0, 0, None, None, None

    def is_running(self):
        return self.nodes > 0 and self.end is None

    def writes(self):  # by how many nodes
        return (self.ordered if self.pays else self.nodes) if self.is_running() and (self.pays or self.waits <= 0) else 0

    def begin(self, now):
        self.waits, self.left, self.began = self.wait, self.sends, now

    def pause(self):
        self.pays = self.toll

    def order(self, now, nodes):
        self.ordered = nodes
        if now - self.began < 1e-5:
            self.pause()

    def advance(self, step, each, now):
        if not self.writes():
            self.waits = max(self.waits - step, 0) if self.waits - step > 1e-9 else 0
            return
        sent = self.writes() * each * step
        if self.pays:
            self.pays -= sent
            if self.pays < 1e-3:
                self.nodes, self.pays, self.ordered = self.ordered, 0, None
                self.began = now - 1
            return
        self.left -= sent
        if self.left < 1e-3:
            self.iterations -= 1
            self.begin(now)
            if self.iterations == 0:
                self.end = now
            elif self.ordered:
                self.pause()

    def next(self, each):
        return (self.pays or self.left) / self.writes() / each if self.writes() else self.waits


def naive_ends(jobs, orders):
    """When jobs end, started and resized at the next end of an iteration, by (time, job, nodes)."""
    now = 0
    while orders or any(job.is_running() for job in jobs):
        running = [job for job in jobs if job.is_running()]
        each = min(1e9, 2e9 / max(sum(job.writes() for job in running), 1))
        then = min([now + job.next(each) for job in running] + [time for time, _, _ in orders[:1]])
        for job in running:
            job.advance(then - now, each, then)
        now = then
        while orders and orders[0][0] <= now:
            _, number, nodes = orders.pop(0)
            job = jobs[number]
            if job.nodes == 0:
                job.nodes = nodes
                job.begin(now)
            elif job.is_running():
                job.order(now, nodes)
    return [job.end for job in jobs]


def resizing_study(folder, draw):
    iterations, toll = draw.randint(2, 12), draw.uniform(1, 40) * 1e9
    jobs, submit = [], 0
    for _ in range(draw.randint(3, 8)):
        submit += round(draw.choice([0, draw.uniform(0, 30)]), 3)
        low = draw.randint(1, 3)
        size = {"type": "malleable", "num_nodes_min": low, "num_nodes_max": draw.randint(low, 8)}
        if draw.random() < 0.3:
            size = {"type": "rigid", "num_nodes": draw.randint(1, 6)}
        jobs.append({**size, "submit_time": submit,
                     "arguments": {"bytes": draw.uniform(1, 30) * 1e9, "wait": draw.uniform(0.5, 20), "toll": toll}})
    model = {"phases": [{"iterations": iterations, "tasks": [
        {"type": "busy_wait", "delay": "wait", "pattern": "uniform"}, transfers("write")]}],
        "on_reconfiguration": {"tasks": [transfers("write", "toll")]}}
    return shares_files(folder, jobs, model, nodes=10), jobs, iterations


@pytest.mark.parametrize("seed", range(1, 31))
def test_resizes_share_as_in_a_naive_simulation(ductile, tmp_path, seed):
    draw = random.Random(seed)
    file, jobs, iterations = resizing_study(tmp_path, draw)
    delay = draw.choice([0, round(draw.uniform(0, 20), 3)])
    ductile.output("simulate", "--elastisim", file, "--policy", draw.choice(["elastic", "mebf", "tide", "elastisim"]), "--quiet",
                   "--check", "--resize-delay", delay, "--out", tmp_path / "out", timeout=30)
    with (tmp_path / "out/decisions.csv").open() as rows:
        orders = sorted((float(row["time"]) + (delay if row["decision"] != "start" else 0), int(row["job"]), int(row["size"]))
                        for row in csv.DictReader(rows) if row["decision"] in ("start", "expand", "shrink"))
    ends = naive_ends([Naive(job["arguments"]["wait"], job["arguments"]["bytes"], iterations, job["arguments"]["toll"])
                       for job in jobs], orders)
    assert {job: end for job, (_, end) in times(tmp_path / "out").items()} == {
        str(i): pytest.approx(end, abs=1e-3) for i, end in enumerate(ends)}


def test_resizes_come_at_scheduling_points_and_cost_what_the_application_says(ductile, tmp_path):
    ductile.output("simulate", "--elastisim", EXAMPLE, "--policy", "mebf", "--quiet", "--check", "--links", "alone",
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
    call = ["simulate", "--elastisim", str(tmp_path / "c.json"), "--links", "alone", "--json"]
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
    message = refused(ductile, "simulate", "--elastisim", EXAMPLE, "--strict", "--links", "alone")
    assert message.startswith(f"ductile: {EXAMPLE}: each job has the file system for itself")
    assert "leave --strict away" in message
    copy(tmp_path)
    platform = (tmp_path / "platform.xml").read_text()
    (tmp_path / "platform.xml").write_text(
        platform.replace('latency="0us"/>', 'latency="0us" sharing_policy="FATPIPE"/>'))
    call = ["simulate", "--elastisim", str(tmp_path / "configuration.json"), "--strict", "--links", "alone"]
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
