"""Jobs: how they start, grow, end, and what is seen of them."""

import json
import os
import pathlib
import pwd
import re
import signal
import socket
import subprocess
import time
import urllib.request

import pytest
from conftest import PATIENCE, PROGRAM, example


@pytest.fixture(params=["mpich", "openmpi"])
def mpi(request):
    return request.param


def test_a_malleable_job_grows_when_another_ends(cluster, mpi):
    c = cluster("4x1", "equipartition")
    rigid = c.submit("-N", 2, c.script(f"until [ -e {c.folder}/go ]; do sleep 0.02; done"))
    job = c.submit("-N", 2, "--min-nodes", 1, "--max-nodes", 4, "--", example("until", mpi),
                   c.folder / "done", 100)
    c.wait_for_size(job, 2)
    assert "malleable" in c.run("queue").stdout
    (c.folder / "go").touch()
    row = c.wait_for_size(job, 4)
    assert row["nodelist"] == "0-3"
    (c.folder / "done").touch()
    ends = c.wait_for_end(rigid, job)
    assert [end["state"] for end in ends] == ["COMPLETED", "COMPLETED"]
    assert c.output(job) == "right\n"
    # Charged is what it held: 2 nodes, then from the decision on 4.
    sizes = ends[1]["sizes"]
    assert [size["nodes"] for size in sizes] == [2, 4, 0]
    held = [(later["time_s"] - size["time_s"]) * size["nodes"]
            for size, later in zip(sizes, sizes[1:])]
    assert ends[1]["node_s"] == pytest.approx(sum(held), abs=1e-3)
    assert c.replay()["decisions"] == 4  # with the new limit


def test_a_malleable_job_gives_nodes_to_another(cluster):
    c = cluster("4x1", "equipartition")
    first = c.submit("-N", 4, "--min-nodes", 1, "--", example("until", "mpich"), c.folder / "done", 100)
    c.wait_for_size(first, 4)
    second = c.submit("-N", 1, "--max-nodes", 1, "--", example("until", "mpich"), c.folder / "done", 100)
    c.wait_for_size(first, 3)
    c.wait_for_size(second, 1)
    (c.folder / "done").touch()
    assert [end["exit_code"] for end in c.wait_for_end(first, second)] == [0, 0]
    assert (c.output(first), c.output(second)) == ("right\n", "right\n")


def test_a_refused_resize_is_tried_again_however_late_the_refusal_comes(cluster):
    c = cluster("2x1", "equipartition")
    other = c.submit(c.script(f"until [ -e {c.folder}/go ]; do sleep 0.02; done"))
    # It says only after 3 s where it is, and the controller hears nothing before it has refused.
    job = c.submit("--mpi", "mpich", "-N", 1, "--min-nodes", 1, "--max-nodes", 2, "--", "/usr/bin/env",
                   "DUCTILE_FAULT=1:old/0:before:at:stall", example("rank_printer", "mpich"), 100000, "not now")
    c.wait_for_size(other, 1)
    c.wait_for_size(job, 1)
    (c.folder / "go").touch()
    c.wait_for(lambda: json.loads(c.status_of(job))["phase"] != "running", "the order")
    c.server.send_signal(signal.SIGSTOP)
    c.wait_for_text(c.state / "jobs" / str(job) / "report", "not now")
    c.server.send_signal(signal.SIGCONT)
    end = time.monotonic() + PATIENCE  # and now nobody asks
    while c.log.read_text().count("not now") < 2:
        assert time.monotonic() < end, c.log.read_text()
        time.sleep(0.1)


def test_an_evolving_job_asks_and_is_answered(cluster):
    asks = "asks for 6 processes\n"
    c = cluster("6x1", "equipartition")
    job = c.submit_patient(16_000, "-N", 2, "--type", "evolving", "--max-nodes", 6, "--",
                           example("evolving", "mpich"), 100_000, 20)
    c.end_after(job, "goes on")
    # Alone it is granted.
    assert c.output(job).startswith(asks + "goes on with 6 processes\nresult ")
    # Without nodes it is denied, and asks once more.
    script = c.script(f"until [ -e {c.folder}/go ]; do sleep 0.02; done")
    rigid = c.submit("-N", 4, script)
    job = c.submit_patient(0, "-N", 2, "--type", "evolving", "--max-nodes", 6, "--",
                           example("evolving", "mpich"), 150, 20)
    c.end_after(job, "denied", 2)
    assert c.output(job).startswith(2 * (asks + "denied\n") + "result ")
    (c.folder / "go").touch()
    c.wait_for_end(rigid)
    assert c.replay()["decisions"] >= 6


@pytest.mark.parametrize("policy,sizes", [("easy", [4]), ("equipartition", [3, 4]), ("dbes", [1, 4])])
def test_a_job_that_asks_a_thousand_times_a_second_does_not_fill_the_journal(cluster, policy, sizes):
    """Less than 1 MiB a minute; the program is told."""
    c = cluster("4x1", policy)
    rigid = c.submit("-N", 2, c.script(f"until [ -e {c.folder}/go ]; do sleep 0.02; done"))
    c.wait_for_size(rigid, 2)
    job = c.submit("-N", 2, "--min-nodes", 1, "--type", "evolving", "--max-nodes", 6, "--",
                   example("asks", "mpich"), c.folder / "go", *sizes)
    c.wait_for_text(c.folder / f"ductile-{job}.out", "too often")

    def bytes_kept():
        files = [*c.state.glob("journal.db*"), c.state / "jobs" / str(job) / "report"]
        return sum(file.stat().st_size for file in files)

    # The ten that may come at once are not all answered yet: a longer time has them and the rest.
    before, begin = bytes_kept(), time.monotonic()
    time.sleep(12)
    grown, passed = bytes_kept() - before, time.monotonic() - begin
    assert grown / passed * 60 < 2 ** 20
    c.wait_for_text(c.folder / f"ductile-{job}.out", "one was denied")
    (c.folder / "go").touch()
    c.wait_for_end(rigid, job)


def test_a_job_reads_its_input(cluster, mpi):
    """A script, and the first process of a malleable program."""
    c = cluster("2x1")
    (c.folder / "input.7").write_text("seven\n")
    (c.folder / "done").touch()
    script = c.submit("--input", "input.%a", "--array", "7", c.script("#SBATCH -i nothing\ncat"))
    program = c.submit("-N", 1, "--max-nodes", 2, "-i", "input.7", "--", example("reads", mpi), c.folder / "done")
    empty = c.submit(c.script("cat", "empty.sh"))
    missing = c.submit(c.script("#SBATCH --input=missing\ncat", "missing.sh"))
    c.wait_for(lambda: not c.queue(), "the end of all")
    assert (c.folder / f"ductile-{script}_7.out").read_text() == "seven\n"
    assert c.output(program) == "generation 0 reads 6 bytes\n"
    assert c.output(empty) == ""
    assert "input file cannot be read" in c.history(missing)["note"]


def test_dbes_serves_evolving_jobs(cluster):
    """Granted, on nodes that another job gives; granted at the second attempt; denied."""
    asks = "asks for 5 processes\n"
    c = cluster("6x1", "dbes")

    def evolving(steps, first, pause=20):
        return c.submit_patient(first, "-N", 1, "--type", "evolving", "--max-nodes", 5,
                                "--", example("evolving", "mpich"), steps, pause)

    malleable = c.submit("-N", 1, "--max-nodes", 6, "--", example("until", "mpich"), c.folder / "done",
                         100)
    c.wait_for_size(malleable, 6)
    job = evolving(100_000, 16_000)
    c.wait_for_size(malleable, 5)
    c.wait_for_size(malleable, 1)
    c.end_after(job, "goes on")
    assert c.output(job).startswith(asks + "goes on with 5 processes\nresult ")
    (c.folder / "done").touch()
    c.wait_for_end(malleable)

    rigid = c.submit("-N", 4, c.script(f"until [ -e {c.folder}/go ]; do sleep 0.02; done"))
    job = evolving(1500, 230, 50)  # 7 s between its attempts
    c.wait_for(c.denials, "a denial")
    (c.folder / "go").touch()
    c.wait_for_end(rigid)
    c.end_after(job, "goes on")
    assert c.output(job).startswith(asks + "denied\n" + asks + "goes on with 5 processes\nresult ")

    (c.folder / "go").unlink()
    rigid = c.submit("-N", 4, c.folder / "script.sh")
    job = evolving(150, 0)
    c.end_after(job, "denied", 2)
    assert c.output(job).startswith(2 * (asks + "denied\n") + "result ")
    (c.folder / "go").touch()
    c.wait_for_end(rigid)
    assert c.denials() == 3
    assert c.replay()["decisions"] >= 8


def test_the_rules_of_fairness_are_those_of_the_simulator(cluster):
    c = cluster("6x1", "dbes", "--fairness", "single,account:strict.single=0,own=yes")
    # It begins, and so it asks, when all others are there.
    all_wait = c.folder / "all_wait"
    evolving = ["-N", 1, "-t", 10, "--type", "evolving", "--max-nodes", 5, "-A", "late", "--mpi", "mpich", "--", "/bin/sh",
                "-c", f"until [ -e {all_wait} ]; do sleep 0.02; done; exec \"$0\" \"$@\"",
                example("evolving", "mpich"), 1500, 50]
    rigid = c.submit("-N", 1, "-t", 1, c.script(f"until [ -e {c.folder}/go ]; do sleep 0.02; done"))
    c.wait_for_size(rigid, 1)
    job = c.submit_patient(230, *evolving)
    # It could start when the rigid job ends if the other one did not grow.
    waits = c.submit("-N", 5, "-t", 1, "-A", "strict", c.folder / "script.sh")
    all_wait.touch()
    c.wait_for(lambda: c.denials("fairness") == 2, "two denials")
    (c.folder / "go").touch()
    c.wait_for_end(rigid)
    c.end_after(job, "denied", 2)
    c.wait_for_end(waits)
    assert c.output(job).count("denied") == 2
    assert c.history(waits)["account"] == "strict"
    assert c.ask({"do": "queue"})["account_delays"] == []

    # The numbers of accounts survive; another account may be delayed, and is not after all, for the job
    # that grew ends early.
    c.kill()
    c.start()
    (c.folder / "go").unlink()
    all_wait.unlink()
    rigid = c.submit("-N", 1, "-t", 4, c.folder / "script.sh")
    c.wait_for_size(rigid, 1)
    job = c.submit_patient(230, *evolving)
    waits = c.submit("-N", 5, "-t", 1, "-A", "other", c.folder / "script.sh")
    all_wait.touch()
    assert c.queue()[waits]["account"] == "other"
    c.end_after(job, "goes on with 5 processes")
    (c.folder / "go").touch()
    c.wait_for_end(rigid, waits)
    [row] = c.ask({"do": "queue"})["account_delays"]
    assert row["account"] == "other" and row["jobs"] == 1
    assert row["delay_s"] > 300 and row["suffered_s"] == row["caused_s"] == 0
    assert c.replay()["decisions"] >= 8


def test_scripts_have_options_an_environment_and_files(cluster):
    c = cluster()
    script = c.script("""#DUCTILE --nodes=3 --job-name=hello
#DUCTILE -o %x.%j.txt -e errors
#SBATCH --time=5 --partition=none -A physics
echo "$DUCTILE_JOB_ID $DUCTILE_JOB_NAME $DUCTILE_JOB_NUM_NODES $DUCTILE_JOB_NODELIST $1 $2"
pwd; echo wrong >&2
exit 7
#DUCTILE --nodes=9
""")
    done = c.run("submit", "--wait", "-N", "2", script, "a b", "-c", code=7)
    assert "submitted job 1\n" == done.stdout
    assert "'#SBATCH --partition=none' means nothing here" in done.stderr
    assert "job 1: FAILED" in done.stderr
    assert (c.folder / "hello.1.txt").read_text() == f"1 hello 2 0-1 a b -c\n{c.folder}\n"
    assert (c.folder / "errors").read_text() == "wrong\n"
    end = c.history(1)
    assert (end["state"], end["exit_code"], end["name"]) == ("FAILED", 7, "hello")
    assert end["account"] == "physics"
    assert "hello" in c.run("history").stdout
    assert c.run("nodes").stdout.splitlines()[1].split() == ["0", "IDLE", "1"]


def test_the_queue_and_the_history_as_they_are_printed(cluster):
    """The tables to the letter; and the pages name every field that JSON has."""
    c = cluster("2x1")
    job = c.submit("-H", "-J", "held", "-N", 2, "-t", 5, "/bin/true")
    user = pwd.getpwuid(os.geteuid()).pw_name
    wide = max(len(user), len("USER"))
    assert c.run("queue").stdout == (
        f"JOBID  NAME  {'USER':{wide}}  STATE    TYPE   TIME   TIME_LIMIT  NODES  NODELIST(REASON)\n"
        f"1      held  {user:{wide}}  PENDING  rigid  00:00  05:00       2      (JobHeldUser)\n")
    assert c.run("history").stdout.splitlines() == [
        line.rstrip() for line in (
            f"JOBID  NAME  {'USER':{wide}}  TYPE   STATE    EXIT  ELAPSED  NODE_S  SIZES",
            f"1      held  {user:{wide}}  rigid  PENDING                 0.0     ")]
    pages = pathlib.Path(__file__).resolve().parents[2] / "docs"
    for page, row in (("commands/queue.md", c.queue()[job]), ("formats/controller.md", c.history(job))):
        named = re.findall(r"`(\w+)`", (pages / page).read_text())
        assert not set(row) - set(named), page


def test_the_history_is_a_page_too(cluster, tmp_path):
    c = cluster("4x1", "easy")
    over = c.submit("-N", 2, "--", "true")
    c.wait_for_end(over)
    runs = c.submit("-N", 3, c.script(f"until [ -e {c.folder}/go ]; do sleep 0.02; done"))
    c.wait_for_size(runs, 3)
    page = tmp_path / "page.html"
    assert c.run("history", "--html", page, "--state", c.state).stdout == ""
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page.read_text())
    [drawn] = json.loads(data)["drawn"]
    assert drawn["jobs"]["rows"] == 2 and drawn["jobs"]["words"]["state"] == ["COMPLETED_SUCCESSFULLY", "RUNNING"]
    # What the page was made of is gone.
    assert json.loads(data)["runs"][0]["files"] == [] and json.loads(data)["notes"] == []
    (c.folder / "go").touch()
    c.wait_for_end(runs)


def test_processes_of_an_mpi_are_those_of_the_nodes(cluster, mpi):
    c = cluster("2x2", "easy")
    c.run("submit", "-N", 2, "--wait", "-o", "out", "--", example("rank_printer", mpi), 1)
    assert (c.folder / "out").read_text() == "begins with 4\nends with 4\n"
    # Each of two cores: one on a node.
    script = c.script("#SBATCH --cpus-per-task=2 -N 2\n"
                      f"echo $DUCTILE_CPUS_PER_TASK $SLURM_CPUS_PER_TASK $OMP_NUM_THREADS\nexec {example('rank_printer', mpi)} 1\n")
    c.environment["OMP_NUM_THREADS"] = "7"
    c.run("submit", "--wait", "--mpi", mpi, "-o", "out", "--", script)
    assert (c.folder / "out").read_text() == "2 2 2\n2 2 2\nbegins with 2\nends with 2\n"
    assert "3 cores are more than the 2 of a node" in c.run("submit", "-c", 3, script, code=2).stderr
    assert "4 cores are more than" in \
        c.run("submit", "-c", 2, "--ntasks-per-node", 2, script, code=2).stderr
    held = c.submit("-H", "-c", 1, script)
    assert c.queue()[held]["cpus_per_task"] == 1
    if len(os.sched_getaffinity(0)) >= 2:  # where there are as many, each has its own
        c = cluster("1x2", "easy")
        c.run("submit", "-W", "-c", 1, "--mpi", mpi, "-o", "own", c.script("taskset -cp $$ | sed 's/.*: //'\n"))
        first, second = (c.folder / "own").read_text().split()
        assert first.isdigit() and second.isdigit() and first != second


def test_what_cannot_be_run_says_why(cluster):
    c = cluster("2x1")
    done = c.run("submit", "-N", 3, c.script("true"), code=2)
    assert "nodes: 3 are more than the 2 there are; ask for fewer" in done.stderr
    done = c.run("submit", "/bin/sleep", "-N", "1-2", code=0)  # arguments of sleep
    done = c.run("submit", "-N", "1-2", "/bin/sleep", 1, code=2)
    assert "a malleable job is a program of an MPI" in done.stderr
    done = c.run("submit", "-t", "soon", "/bin/sleep", 1, code=2)
    assert "'soon' is no time limit" in done.stderr
    done = c.run("submit", "--wait", "-D", c.folder / "nowhere", "/bin/sleep", 1, code=1)
    assert "the job's folder cannot be entered: No such file or directory" in done.stderr
    bad = c.script("#DUCTILE --nods=3\n")
    assert "--nods" in c.run("submit", bad, code=2).stderr


def test_times_end_jobs_also_those_that_ignore_it(cluster):
    c = cluster("2x1")
    soft = c.submit("-t", "0:01", "/bin/sleep", 100)
    hard = c.submit("-t", "0:01", c.script("trap '' TERM\nsleep 100 & wait\nsleep 100"))
    ends = c.wait_for_end(soft, hard)
    assert [end["state"] for end in ends] == ["TIMEOUT", "TIMEOUT"]
    assert 1 <= ends[0]["end_s"] - ends[0]["start_s"] < 60
    assert 3 <= ends[1]["end_s"] - ends[1]["start_s"] < 60


def test_a_job_has_the_time_it_asked_for_whatever_its_size(cluster):
    c = cluster("4x1")
    job = c.submit("-N", 2, "-t", 5, "--min-nodes", 1, "--", example("until", "mpich"),
                   c.folder / "never", 100)
    c.wait_for_size(job, 2)
    # Twice as large it is believed to be twice as fast, but need not be.
    c.run("resize", job, 4)
    c.wait_for_size(job, 4)
    assert c.queue()[job]["time_limit_s"] == 300
    # Shrunk it gets more.
    c.run("resize", job, 1)
    assert c.wait_for_size(job, 1)["time_limit_s"] > 300
    c.run("cancel", job)
    assert c.wait_for_end(job)[0]["state"] == "CANCELLED"


def test_cancel_hold_and_release(cluster):
    c = cluster("1x1")
    first = c.submit("/bin/sleep", 100)
    second = c.submit("--hold", c.script("echo second"))
    third = c.submit(c.script("echo third"))
    fourth = c.submit(c.script("echo fourth"))
    assert c.queue()[second]["reason"] == "JobHeldUser"
    c.run("hold", third)
    c.run("cancel", fourth)
    c.run("cancel", first)
    ends = c.wait_for_end(first, fourth)
    assert [end["state"] for end in ends] == ["CANCELLED", "CANCELLED"]
    assert set(c.queue()) == {second, third}
    c.run("release", second, third)
    assert [end["state"] for end in c.wait_for_end(second, third)] == ["COMPLETED", "COMPLETED"]
    assert "job 4 is over" in c.run("cancel", fourth, code=1).stderr
    assert "there is no job 9" in c.run("cancel", 9, code=2).stderr


def test_an_operator_sets_a_size_and_drains_nodes(cluster):
    c = cluster("4x1", "easy")
    job = c.submit("-N", 2, "--min-nodes", 1, "--", example("until", "mpich"), c.folder / "done", 100)
    c.wait_for_size(job, 2)
    c.run("resize", job, 3)
    c.wait_for_size(job, 3)
    c.run("drain", "0,3")
    states = [node["state"] for node in json.loads(c.run("nodes", "--json").stdout)["nodes"]]
    assert states == ["DRAINING", "ALLOCATED", "ALLOCATED", "DRAINED"]
    # What it gives up is the node that drains.
    c.run("resize", job, 2)
    assert c.wait_for_size(job, 2)["nodelist"] == "1-2"
    other = c.submit("/bin/sleep", 0)
    assert c.queue()[other]["state"] == "PENDING"
    c.run("drain", "--undo", "0,3")
    assert c.wait_for_end(other)[0]["state"] == "COMPLETED"
    (c.folder / "done").touch()
    c.wait_for_end(job)
    assert c.output(job) == "right\n"
    c.replay()


def test_metrics_are_answered(cluster):
    with socket.socket() as probe:  # a port that nobody uses
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    c = cluster("2x1", "equipartition", "--metrics", port)
    rigid = c.submit("-N", 1, c.script(f"until [ -e {c.folder}/go ]; do sleep 0.02; done"))
    job = c.submit("-N", 1, "--max-nodes", 2, "--", example("until", "mpich"), c.folder / "done", 100)
    c.wait_for_size(job, 1)
    (c.folder / "go").touch()
    c.wait_for_size(job, 2)
    c.wait_for_end(rigid)

    def scrape():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as answer:
            assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
            return answer.read().decode()
    text = scrape()
    assert 'ductile_jobs{state="running",type="malleable"} 1\n' in text
    assert 'ductile_nodes{state="allocated"} 2\n' in text
    assert text.endswith("# EOF\n")
    # Idle connections keep nobody out for long, and the controller not at all.
    idle = [socket.socket() for _ in range(50)]
    for connection in idle:  # those for whom there is no room at the door do not wait here
        connection.setblocking(False)
        connection.connect_ex(("127.0.0.1", port))
    assert c.queue()
    for connection in idle:
        connection.close()
    (c.folder / "done").touch()
    c.wait_for_end(job)
    text = scrape()
    assert 'ductile_jobs_ended_total{state="completed"} 2\n' in text
    assert 'ductile_resizes_total{direction="expand",outcome="done"} 1\n' in text
    assert "ductile_resize_pause_seconds_count 1\n" in text
    # Another controller at the same port is an error, not a riddle.
    other = subprocess.run([PROGRAM, "serve", "--local", "1x1", "--state", c.folder / "other",
                            "--metrics", str(port)], capture_output=True, text=True, timeout=PATIENCE)
    assert other.returncode == 2 and "--metrics" in other.stderr


def test_a_long_queue_is_of_one_moment(cluster):
    """However long it takes to write it: no node has two jobs, and none began after the moment that it names."""
    c = cluster("3x1", "easy")
    c.wait_for_size(c.submit("-N", 2, "-t", 1000, c.script("exec sleep 10000", "long.sh")), 2)
    c.submit("-N", 3, "--array", "0-2999", "/bin/true")
    small = c.submit("-N", 1, "-t", 1, "--array", "0-59", "/bin/true")  # on the third node, the last ones in the queue
    answers, is_there = [], True
    while is_there:
        answer = c.ask({"do": "queue"})
        answers.append((answer["now_s"], time.time()))
        jobs = answer["jobs"]
        held = [row["nodelist"] for row in jobs if row["nodelist"]]
        assert len(held) == len(set(held)), [row for row in jobs if row["nodelist"]]
        for row in jobs:
            assert row["elapsed_s"] >= 0, row
            assert bool(row["nodelist"]) == (row["state"] != "PENDING") == (row["reason"] == ""), row
        is_there = any(row["array_job"] == small for row in jobs)
    starts = [row["start_s"] for row in c.ask({"do": "history", "job": small})["jobs"]]
    assert any(now < start < heard for now, heard in answers for start in starts), "none began while one was written"
