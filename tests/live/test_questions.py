"""Questions that a child of the controller answers: why is it so, and what will be."""

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import time

import pytest
from conftest import PATIENCE, PROGRAM, example


def test_explain_and_predict(cluster):
    c = cluster("4x1", "easy")
    go = c.script(f"until [ -e {c.folder}/go ]; do sleep 0.02; done")
    first = c.submit("-N", 3, "-t", 10, go)
    waits = c.submit("-N", 4, "-t", 10, go)
    small = c.submit("-N", 1, "-t", 5, go)
    held = c.submit("-N", 1, "--hold", go)
    c.wait_for_size(first, 3)
    c.wait_for_size(small, 1)

    # Why it waits.
    queue = c.queue()
    said = json.loads(c.run("explain", "--json", waits).stdout)
    assert said["state"] == "waiting" and said["queue_reason"] == "Resources"
    plan = next(line for line in said["now"] if line["what"] == "plan")
    assert plan["jobs"] == [first, small]
    assert plan["text"].startswith("it is planned to start at ")
    text = c.run("explain", waits).stdout
    assert f"job {waits}: rigid, 4 nodes, 10:00 min\n" in text
    assert "it asks for 4 nodes; 0 of 4 are idle" in text
    assert f"job {first} (3 nodes) at " in text
    # Why it runs.
    assert f"before 1 job ahead of it; of these job {waits} (4 nodes) is planned for" in \
        c.run("explain", small).stdout
    assert "it is held" in c.run("explain", held).stdout
    assert "there is no job 99" in c.run("explain", 99, code=2).stderr
    # The journal says the same.
    recorded = c.run("explain", "--log", c.state / "journal.db", waits).stdout
    assert recorded == text.replace(" (Resources):", ":")

    # What will be.
    jobs = {row["job"]: row for row in json.loads(c.run("predict", "--json").stdout)["jobs"]}
    assert set(jobs) == {first, waits, small}
    assert not any(row["planned"] for row in jobs.values())
    assert jobs[first]["end_s"] == pytest.approx(queue[first]["start_s"] + 600, abs=0.1)
    assert jobs[waits]["start_s"] == pytest.approx(queue[waits]["planned_start_s"], abs=0.1)
    assert jobs[waits]["end_s"] == pytest.approx(jobs[waits]["start_s"] + 600, abs=0.1)
    # What is held is there if it is named.
    assert c.run("predict", held, small).stdout.splitlines()[-1].split() == [str(held), "PENDING", "?", "?", "?"]
    # And what if: behind the small one in the queue, and one node less than it needs.
    rows = json.loads(c.run("predict", "--json", "-N", 2, "-t", 5).stdout)
    assert rows["added"]["start_s"] == pytest.approx(jobs[waits]["end_s"], abs=0.1)
    rows = json.loads(c.run("predict", "--json", "--fewer-nodes", 1, waits).stdout)["jobs"]
    assert [row["job"] for row in rows] == [waits]
    assert rows[0]["changed"]["start_s"] is None and rows[0]["start_s"]
    assert "THEN_START" in c.run("predict", "--policy", "fcfs").stdout
    assert "there is no policy 'nix'" in c.run("predict", "--policy", "nix", code=2).stderr
    assert "--time" in c.run("predict", "-N", 1, code=2).stderr
    assert not c.ask({"do": "predict", "fewer_nodes": -1})["ok"]

    # One connection is answered in order, and no more than some are asked at a time.
    connections = [subprocess.Popen([PROGRAM, "predict", "--json"], env=c.environment,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                   for _ in range(20)]
    assert c.ask({"do": "queue"})["ok"]
    for connection in connections:
        out, error = connection.communicate(timeout=PATIENCE)
        assert connection.returncode == 0 or "too many questions" in error, error
        assert connection.returncode == 1 or json.loads(out)["ok"]

    (c.folder / "go").touch()
    c.wait_for_end(first, waits, small)
    c.run("cancel", held)
    over = c.run("explain", waits).stdout
    assert f"starts on 4 nodes (0-3): it was its turn; it had waited" in over
    assert "completed after running for" in over
    c.replay()


def test_what_there_is_no_time_for_is_planned(cluster):
    c = cluster("1x1", "conservative")
    first = c.submit("-a", "1-4000", "-t", 10, c.script("sleep 1000\n"))
    last = first + 3_999
    c.wait_for_size(first, 1)
    done = c.run("predict", f"{first}_1", f"{first}_4000")
    of_first, of_last = [line.split() for line in done.stdout.splitlines()[1:]]
    assert of_first[:2] == [str(first), "RUNNING"] and not of_first[3].startswith("~")
    assert of_last[:2] == [str(last), "PENDING"]
    assert of_last[3].startswith("~") and any(word.startswith("~") for word in of_last[4:]), of_last
    assert done.stderr.startswith("~: planned in the order of the queue")
    done = c.run("predict", "--json", f"{first}_4000")
    assert json.loads(done.stdout)["jobs"][0]["planned"] and not done.stderr


def test_what_is_believed_of_times_is_predicted(cluster):
    c = cluster("1x1", "easy", "--estimates", "predicted")
    done = [c.submit("-t", 10, "/bin/true") for _ in range(2)]
    c.wait_for_end(*done)
    job = c.submit("-t", 10, c.script(f"until [ -e {c.folder}/go ]; do sleep 0.02; done"))
    waits = c.submit("-t", 10, "/bin/true")
    row = c.wait_for_size(job, 1)
    # It may run for ten minutes, and is believed to take no more than a minute.
    assert row["time_limit_s"] == 600

    def end():
        rows = json.loads(c.run("predict", "--json", job, waits).stdout)["jobs"]
        return rows[0]["end_s"] - row["start_s"]

    assert end() < 100

    def raised():
        with contextlib.closing(sqlite3.connect(c.state / "journal.db")) as journal:
            return journal.execute("SELECT count(*) FROM records WHERE kind = 'E' AND text LIKE"
                                   " '% believed %'").fetchone()[0]

    c.wait_for(raised, "a raised prediction")
    assert end() < 100
    # What is known of users is known after a restart.
    c.kill()
    c.start()
    later = c.submit("-t", 10, "/bin/true")
    rows = json.loads(c.run("predict", "--json", later).stdout)["jobs"]
    assert rows[0]["end_s"] - rows[0]["start_s"] < 60
    assert c.queue()[later]["time_limit_s"] == 600
    (c.folder / "go").touch()
    ends = c.wait_for_end(job, waits, later)
    assert [row["state"] for row in ends] == ["COMPLETED"] * 3
    c.replay()


def test_a_model_is_learned_from_the_sizes_a_program_has_run_at(cluster):
    """Its curve is 1 s + 4 s / n; it has run at 1, 2 and 4 nodes, and is to run at 8."""
    c = cluster("8x1", "easy", "--models", "learned")
    script = c.script("""case $DUCTILE_JOB_NUM_NODES in
1) exec sleep 5;; 2) exec sleep 3;; 4) exec sleep 2;; esac
""")
    jobs = [c.submit("-N", n, "--type", "moldable", script) for n in (1, 2, 4)]
    assert "run time is now believed" not in c.run("explain", jobs[0]).stdout
    c.wait_for_end(*jobs)
    c.stop()  # it is known after a restart
    c.start()
    fourth = c.submit("-N", 8, "--type", "moldable", "--hold", script)
    other = c.submit("-N", 8, "--type", "moldable", "--hold", c.script("exit 0", "other.sh"))
    said = c.run("explain", fourth).stdout
    model, parameter = re.search(r"believed to depend on its size as (\w+):([0-9.]+)", said).groups()
    at_8 = float(parameter) + (1 - float(parameter)) / 8 if model == "amdahl" else 8 ** (
        float(parameter) - 1)
    assert at_8 == pytest.approx(1.5 / 5, rel=0.15), said
    assert "run time is now believed" not in c.run("explain", other).stdout
    c.run("cancel", fourth, other)
    c.replay()


def predicted(cluster, job):
    return json.loads(cluster.run("predict", "--json", job).stdout)["jobs"][0]


def wait_for_iterations(cluster, job, nodes):
    def seen():
        with contextlib.closing(sqlite3.connect(cluster.state / "journal.db")) as journal:
            rows = journal.execute("SELECT iterations / nodes FROM measured WHERE job = ? AND nodes = ?",
                                   [job, nodes]).fetchall()
        return rows and rows[0][0] >= 8

    cluster.wait_for(seen, f"iterations at {nodes} nodes")


def relative_time(model, nodes):
    """Of a model that can be learned, over that of one node."""
    kind, parameter = model.split(":")
    parameter = float(parameter)
    return parameter + (1 - parameter) / nodes if kind == "amdahl" else nodes ** (parameter - 1)


def test_a_model_is_learned_while_a_job_runs(cluster):
    """An iteration takes 0.05 s + 0.4 s / n; it runs at 1, 2 and 4 nodes, and what is believed of 3 is true."""
    c = cluster("4x1", "easy", "--models", "learned", "--measure", 0.5)
    until = example("until", "mpich")
    stop = c.folder / "stop"
    program = ["--min-nodes", 1, "--max-nodes", 4, "-t", 10, until, stop, 10, 50_000, 0, 400_000]

    job = c.submit("-N", 1, *program)
    for nodes in (1, 2, 4):
        if nodes != 1:
            c.run("resize", job, nodes)
        c.wait_for_size(job, nodes)
        wait_for_iterations(c, job, nodes)
        if nodes == 1:
            assert predicted(c, job)["model"] == "linear"
    c.wait_for(lambda: predicted(c, job)["model"] != "linear", "a learned model")

    def told_alike():
        """It may be learned anew between two questions."""
        its = predicted(c, job)
        explained, listed = c.run("explain", job).stdout, c.run("predict", job).stdout
        is_there = f"now believed to depend on its size as {its['model']}" in explained and its["model"] in listed
        return its if is_there else None

    its = c.wait_for(told_alike, "the same model in all answers")
    at_3 = relative_time(its["model"], 3) / relative_time(its["model"], 1)
    assert at_3 == pytest.approx((0.05 + 0.4 / 3) / 0.45, rel=0.15), its
    # What was done at all sizes is what that model says. The ten minutes are those at one node.
    row = c.history(job)
    sizes = [(one["time_s"], one["nodes"]) for one in row["sizes"]]
    now = json.loads(c.run("predict", "--json", job).stdout)["now_s"]
    times = [next_time - time for (time, _), (next_time, _) in zip(sizes, [*sizes[1:], (now, 0)])]
    done = sum(time / relative_time(its["model"], nodes) for time, (_, nodes) in zip(times, sizes))
    # It stood still while it was resized; if the model were linear it would end 48 s earlier.
    assert its["end_s"] == pytest.approx(now + (600 - done) * relative_time(its["model"], 4), abs=15)
    # The same is believed after a crash; and then of others that are the same program.
    def is_believed_again():
        before = predicted(c, job)["model"]
        c.kill()
        c.start()
        return predicted(c, job)["model"] == before

    c.wait_for(is_believed_again, "the same model after a crash")
    stop.touch()
    c.wait_for_end(job)

    def of_another():
        said = c.run("explain", c.submit("-N", 1, "--hold", *program)).stdout
        return re.search(r"believed to depend on its size as (\S+)", said)[1]

    learned = of_another()
    assert relative_time(learned, 3) / relative_time(learned, 1) == pytest.approx(at_3, rel=0.05)
    c.kill()
    c.start()
    assert of_another() == learned
    c.replay()


def test_the_time_in_mpi_is_a_first_guess(cluster):
    """One of its processes computes and the other one waits: two are no faster than one."""
    c = cluster("2x1", "easy", "--models", "guessed", "--measure", 0.5)
    job = c.submit("-N", 2, "--type", "moldable", example("half", "openmpi"), 10_000, 20)
    its = c.wait_for(lambda: (row := predicted(c, job))["mtct"] and row, "its time in MPI")
    assert its["mtct"] > 0.4 and relative_time(its["model"], 2) > 0.7, its
    assert "times as long in MPI as it computes" in c.run("explain", job).stdout
    # It ends while it waits again: what was measured in its life is the program's all the same.
    c.ask({"do": "drain", "nodes": "0-1", "health": "draining"})
    c.run("requeue", job)
    c.wait_for(lambda: c.queue()[job]["state"] == "PENDING", "its waiting again")
    c.run("cancel", job)
    c.wait_for_end(job)
    with contextlib.closing(sqlite3.connect(c.state / "journal.db")) as journal:
        assert journal.execute("SELECT count(*) FROM measured").fetchone()[0] == 0
        assert journal.execute("SELECT looks FROM applications").fetchone()[0] >= 100
    c.replay()


def test_what_is_learned_takes_no_time_from_a_job(cluster):
    """Its iterations take as long on one node as on two; it was declared, and has the time, to need twice as
    long."""
    c = cluster("2x1", "easy", "--models", "learned", "--measure", 0.5)
    stop = c.folder / "stop"
    job = c.submit("-N", 2, "--min-nodes", 1, "-t", 10, example("until", "openmpi"), stop, 10, 100_000)
    wait_for_iterations(c, job, 2)
    c.run("resize", job, 1)
    start = c.wait_for_size(job, 1)["start_s"]
    wait_for_iterations(c, job, 1)
    for _ in range(2):
        c.wait_for(lambda: predicted(c, job)["end_s"] - start < 700, "what it needs on one node")
        assert c.queue()[job]["time_limit_s"] > 1100
        c.kill()
        c.start()
    stop.touch()
    c.wait_for_end(job)
    c.replay()


def test_jobs_that_end_without_a_controller_teach_what_they_took(cluster):
    c = cluster("1x1", "easy", "--estimates", "predicted")
    c.wait_for_end(c.submit("-t", 10, "/bin/true"))
    begin = time.time()
    go = c.folder / "go"
    job = c.submit("-t", 10, c.script(f"until [ -e {go} ]; do sleep 0.02; done"))
    c.wait_for_size(job, 1)
    c.kill()
    go.touch()
    report = c.state / "jobs" / str(job) / "report"
    c.wait_for_text(report, '"ended"')
    took = time.time() - begin
    time.sleep(2 * took + 2)
    go.unlink()
    c.start()
    assert c.wait_for_end(job)[0]["state"] == "COMPLETED"

    blocks = c.submit("-t", 10, c.folder / "script.sh")
    c.wait_for_size(blocks, 1)

    def believed():
        waits = c.submit("-t", 10, "/bin/true")
        row = json.loads(c.run("predict", "--json", waits).stdout)["jobs"][0]
        return row["end_s"] - row["start_s"]

    before = believed()
    assert before < took
    c.kill()
    c.start()
    assert believed() == pytest.approx(before, abs=2e-6)
    go.touch()
    c.replay()


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"),
                    reason="only root can act as somebody else")
def test_others_are_told_by_number_and_nodes_only(cluster):
    c = cluster("2x1")
    os.chmod(c.folder, 0o755)
    os.chmod(c.state, 0o711)
    program = c.folder / "ductile"
    shutil.copy(PROGRAM, program)
    program.chmod(0o755)

    def as_nobody(*words):
        return subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program,
                               *map(str, words)], env=c.environment, cwd=c.folder, text=True,
                              capture_output=True, timeout=PATIENCE)

    mine = c.submit("-N", 2, "-J", "secret", "/bin/sleep", 100)
    c.wait_for_size(mine, 2)
    theirs = json.loads(as_nobody("submit", "--json", "-o", "/dev/null", "/bin/sleep", 1).stdout)["job"]
    assert f"job {mine} is not yours" in as_nobody("explain", mine).stderr
    done = as_nobody("explain", theirs)
    assert f"job {mine} (2 nodes) at" in done.stdout, done.stderr
    assert "secret" not in done.stdout + as_nobody("predict", "--json").stdout


def test_every_command_takes_a_task_of_an_array(cluster):
    """As it takes the array: while it waits, and when it is over."""
    c = cluster("4x1")
    array = c.submit("--hold", "-a", "0-2", "sh", "-c", "exit $SLURM_ARRAY_TASK_ID")
    task = f"{array}_1"
    explained = json.loads(c.run("explain", "--json", task).stdout)
    assert (explained["job"], explained["state"]) == (array + 1, "waiting")
    assert f"job {array + 1}:" in c.run("explain", "--log", c.state / "journal.db", task).stdout
    c.run("release", array)
    c.wait_for_end(array, array + 1, array + 2)
    history = json.loads(c.run("history", "--json", task).stdout)["jobs"]
    assert [(row["array_task"], row["exit_code"]) for row in history] == [(1, 1)]
    # The first task's number is that of the array.
    assert len(json.loads(c.run("history", "--json", f"{array}_0").stdout)["jobs"]) == 1
    assert len(json.loads(c.run("history", "--json", array).stdout)["jobs"]) == 3
    ended = json.loads(c.run("queue", "--json", f"{array}_0", task).stdout)["ended"]
    assert [(row["job"], row["array_task"], row["exit_code"]) for row in ended] == [(array, 0, 0), (array + 1, 1, 1)]
    assert json.loads(c.run("explain", "--json", "--history", task).stdout)["state"] == "over"
    assert f"job {task} is over" in c.run("cancel", task, code=1).stderr
    for command in ("queue", "history", "explain", "predict", "cancel"):
        assert f"there is no job {array}_7" in c.run(command, f"{array}_7", code=2).stderr
    assert "it has no job" in c.run("explain", "--log", c.state / "journal.db", f"{array}_7", code=2).stderr


def test_what_is_predicted_of_an_array_and_of_what_is_over(cluster):
    c = cluster("2x1", "fcfs")
    over = c.submit("true")
    c.wait_for_end(over)
    array = c.submit("-a", "0-3", "-t", "5", "sleep", "1000")
    other = c.submit("-t", "5", "true")

    def predicted(*jobs):
        return [row["job"] for row in json.loads(c.run("predict", "--json", *jobs).stdout)["jobs"]]

    assert sorted(predicted()) == [*range(array, array + 4), other]
    assert sorted(predicted(array)) == [*range(array, array + 4)]
    assert sorted(predicted(f"{array}_2", other)) == [array + 2, other]
    assert predicted(over) == []
    assert "there is no job 99" in c.run("predict", 99, code=2).stderr
    c.run("cancel", array)
