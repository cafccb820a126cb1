"""ductile workload play: the jobs of a workload on a live cluster, beside the simulator."""

import json
import signal
import socketserver
import subprocess
import threading
import time

import pytest

from conftest import PATIENCE, PROGRAM, example

TYPES = {"rigid": "", "moldable": "size=1..4", "malleable": "size=1..4", "evolving": "size=1..4 request=0.25:+1"}


def write_log(folder, jobs, beside=""):
    """Of (number, submit, run time, nodes, what it is, as a line beside the log has it)."""
    log = folder / "log.swf"
    log.write_text("; MaxNodes: 4\n; MaxProcs: 4\n" + "".join(
        f"{number} {submit} -1 {run} {nodes} -1 -1 {nodes} {run} -1 1 1 1 -1 -1 -1 -1 -1\n"
        for number, submit, run, nodes, _ in jobs))
    lines = [f"job {number} {what}\n" for number, _, _, _, what in jobs if what]
    (folder / "log.adaptive").write_text("ductile-adaptive 1\ncores_per_node 1\n" + "".join(lines))
    return log


def play(c, *words, code=0):
    done = c.run("workload", "play", *words, "--extra-time", 300, "--json", code=code, timeout=3 * PATIENCE)
    return json.loads(done.stdout)


def work_of(course):
    """Node-seconds until its end, as its sizes say."""
    ends = [each["time_s"] for each in course["sizes"][1:]] + [course["end_s"]]
    return sum(each["nodes"] * (end - each["time_s"]) for each, end in zip(course["sizes"], ends))


def test_plays_all_types(cluster):
    example("timed", "mpich")
    c = cluster("4x1", "equipartition")
    kinds = list(TYPES)
    jobs = [(10 + i, 5 * i, 20 + i, 1 + i % 2, f"type={kinds[i % 4]} {TYPES[kinds[i % 4]]}" if i % 4 else "")
            for i in range(12)]
    came = play(c, write_log(c.folder, jobs), "--speed", 10)
    assert (came["policy"], came["nodes"], came["speed"], len(came["jobs"])) == ("equipartition", 4, 10, 12)
    for (name, submit, run, nodes, _), job, kind in zip(jobs, came["jobs"], kinds * 3):
        live, simulated = job["live"], job["simulated"]
        assert (job["name"], job["type"]) == (name, kind)
        assert live["state"] == simulated["state"] == "COMPLETED"
        its = c.history(job["job"])
        assert (its["name"], its["type"]) == (f"job-{name}", kind)
        assert its["end_s"] - its["start_s"] == pytest.approx(live["end_s"] - live["start_s"], abs=1e-4)
        assert simulated["submit_s"] == submit / 10
        assert live["submit_s"] <= live["start_s"] < live["end_s"]
        if kind == "rigid":
            assert [each["nodes"] for each in live["sizes"]] == [nodes]
            assert live["end_s"] - live["start_s"] >= run / 10 - 0.1
        assert all(1 <= each["nodes"] <= 4 for each in live["sizes"])
        # No job is quicker than it says.
        assert work_of(simulated) == pytest.approx(nodes * run / 10, rel=1e-3)
        assert work_of(live) >= nodes * run / 10 * 0.95 - 0.2
    of_live, of_run = came["live"], came["simulated"]
    assert of_live["not_completed"] == of_run["not_completed"] == 0
    courses = [job["live"] for job in came["jobs"]]
    assert of_live["makespan_s"] == pytest.approx(max(each["end_s"] for each in courses), abs=1e-3)
    submits = [each["submit_s"] for each in courses]
    assert submits == sorted(submits) and submits[0] == 0
    waits = [each["start_s"] - each["submit_s"] for each in courses]
    assert of_live["mean_wait_s"] == pytest.approx(sum(waits) / 12, abs=1e-3)
    assert of_live["resizes"] == sum(len(each["sizes"]) - 1 for each in courses)
    assert 0 < of_live["utilization"] < 1.01 and 0 < of_run["utilization"] <= 1
    assert came["difference_percent"]["makespan_s"] == pytest.approx(
        100 * (of_live["makespan_s"] / of_run["makespan_s"] - 1), abs=0.01)
    assert c.replay()["decisions"] >= 12


def test_an_evolving_job_asks_as_the_simulated_one(cluster):
    example("timed", "mpich")
    c = cluster("4x1", "easy")
    jobs = [(1, 0, 14, 2, "type=evolving size=1..4 request=0.1:+2 request=0.15:+1:again request=0.5:-2")]
    came = play(c, write_log(c.folder, jobs))
    for which in ("live", "simulated"):
        course = came["jobs"][0][which]
        assert [each["nodes"] for each in course["sizes"]] == [2, 4, 2]
        assert came[which]["resizes"] == 2
    assert work_of(came["jobs"][0]["live"]) >= 26


def test_follows_a_controller_that_takes_its_time(cluster):
    """Every answer comes later than the next look would be due."""
    c = cluster("4x1", "easy")
    slow = str(c.folder / "slow")

    class Slowly(socketserver.StreamRequestHandler):
        def handle(self):
            request = json.loads(self.rfile.readline())
            time.sleep(0.3)
            self.wfile.write(json.dumps(c.ask(request)).encode() + b"\n")

    with socketserver.ThreadingUnixStreamServer(slow, Slowly) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            done = subprocess.run([PROGRAM, "workload", "play", write_log(c.folder, [(1, 0, 1, 1, "")]), "--json"],
                                  env={**c.environment, "DUCTILE_SOCKET": slow}, capture_output=True, text=True,
                                  timeout=PATIENCE)
        finally:
            server.shutdown()
    assert (done.returncode, done.stderr) == (0, "")
    assert [job["live"]["state"] for job in json.loads(done.stdout)["jobs"]] == ["COMPLETED"]


def test_the_order_is_that_of_the_simulator(cluster):
    """Who has all nodes is alone, and the shortest of those that wait comes next."""
    c = cluster("4x1", "easy:order=sjf")
    jobs = [(1, 0, 50, 4, ""), (2, 1, 7, 4, ""), (3, 2, 4, 4, ""), (4, 3, 2, 4, "")]
    came = play(c, write_log(c.folder, jobs), "--speed", 5)
    for which in ("live", "simulated"):
        order = sorted(came["jobs"], key=lambda job: job[which]["start_s"])
        assert [job["name"] for job in order] == [1, 4, 3, 2]


def test_commands_and_the_table(cluster):
    c = cluster("4x1", "easy")
    script = c.script("echo $PLAY_JOB $PLAY_NODES $PLAY_RUNTIME_S $1 $DUCTILE_JOB_NUM_NODES; exit $((PLAY_JOB - 7))")
    log = write_log(c.folder, [(7, 50, 3, 2, ""), (8, 50, 3, 4, "")])
    done = c.run("workload", "play", log, "--speed", 2, "--command", f"rigid={script} 'a b'", "--output", "%x.out")
    assert (c.folder / "job-7.out").read_text() == "7 2 1.5 a b 2\n"
    assert (c.folder / "job-8.out").read_text() == "8 4 1.5 a b 4\n"
    lines = done.stdout.splitlines()
    assert lines[0] == "log: 2 jobs on 4 nodes under easy, 2 times as fast"
    assert [line[:20].strip() for line in lines[1:]] == [
        "", "makespan (s)", "mean wait (s)", "mean turnaround (s)", "utilization", "resizes", "not completed"]
    assert lines[1].split() == ["live", "simulated", "difference"]
    assert lines[-1].split()[-2:] == ["1", "0"]
    assert done.stderr == ""


def test_what_can_never_run_is_told_before_anything_is_submitted(cluster):
    c = cluster("2x1", "easy")
    log = write_log(c.folder, [(1, 0, 3, 1, ""), (2, 0, 3, 3, ""), (3, 0, 3, 4, "type=malleable size=3..4")])
    said = c.run("workload", "play", log, code=2)
    assert "2 of 3 jobs need more than the 2 nodes that there are, the first is job 2" in said.stderr
    assert said.stdout == "" and c.queue() == {} and c.ask({"do": "history"})["jobs"] == []
    came = play(c, log, "--max-size", 2, "--speed", 10, "--adaptive", "none")
    assert [job["name"] for job in came["jobs"]] == [1]


def test_is_stopped(cluster):
    c = cluster("4x1", "easy")
    log = write_log(c.folder, [(1, 0, 1000, 1, ""), (2, 500, 1000, 1, "")])
    words = [PROGRAM, "workload", "play", str(log)]
    with subprocess.Popen(words, env=c.environment, text=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as player:
        try:
            c.wait_for(lambda: [row for row in c.queue().values() if row["state"] == "RUNNING"], "the first job")
            player.send_signal(signal.SIGINT)
            said = player.communicate(timeout=PATIENCE)[1]
        finally:
            player.kill()
    assert player.returncode == 1
    assert "stopped; 1 of 2 jobs were submitted, and 1 of them have not ended" in said
    assert [row["name"] for row in c.queue().values()] == ["job-1"]
