"""When jobs may start: dependencies, arrays, begin times, holds; and jobs that start again. All of it is
there after a restart."""

import contextlib
import json
import sqlite3

from conftest import example


def reasons(cluster):
    return {job: row["reason"] for job, row in cluster.queue().items()}


def test_jobs_wait_for_others(cluster):
    c = cluster("4x1")
    first = c.submit(c.script(f"until [ -e {c.folder}/go ]; do sleep 0.02; done; exit $(cat {c.folder}/go)"))
    go = c.folder / "go"
    note = c.script("echo $1 >> order", "note.sh")
    began = c.submit("-d", f"after:{first}", note, "began")
    good = c.submit("--dependency", f"afterok:{first}", note, "good")
    bad = c.submit("-d", f"afternotok:{first},afterany:{began}", note, "bad")
    chained = c.submit("-d", f"afterok:{good}", note, "chained")
    held = c.submit("-H", "-d", f"afterany:{first}", note, "held")
    c.wait_for_end(began)
    assert reasons(c) == {first: "", good: "Dependency", bad: "Dependency", chained: "Dependency",
                          held: "JobHeldUser"}
    assert c.queue()[bad]["dependency"] == f"afternotok:{first}"
    c.run("hold", good)
    c.kill()
    c.start()
    assert reasons(c) == {first: "", good: "JobHeldUser", bad: "Dependency", chained: "Dependency",
                          held: "JobHeldUser"}
    c.run("release", good, held)
    assert reasons(c)[good] == reasons(c)[held] == "Dependency"
    # One of these is running: neither is held.
    assert "does not wait any more" in c.run("hold", good, first, code=1).stderr
    assert reasons(c)[good] == "Dependency"
    go.write_text("3")
    c.wait_for_end(first, bad, held)
    assert reasons(c) == {good: "DependencyNeverSatisfied", chained: "Dependency"}
    assert sorted((c.folder / "order").read_text().split()) == ["bad", "began", "held"]
    c.run("cancel", good)
    c.wait_for(lambda: reasons(c) == {chained: "DependencyNeverSatisfied"}, "the end of its hope")
    # On a job that was over before.
    late = c.submit("-d", f"afternotok:{first}", "--begin", "now+1", note, "late")
    begin = c.queue()[late]
    assert begin["reason"] == "BeginTime" and begin["begin_s"] > begin["submit_s"]
    c.kill()
    c.start()
    end = c.wait_for_end(late)[0]
    assert end["start_s"] >= begin["begin_s"]
    assert "there is no job 99" in c.run("submit", "-d", "afterok:99", note, code=2).stderr
    assert "'soon' is no time" in c.run("submit", "-b", "soon", note, code=2).stderr
    c.run("cancel", chained)
    c.replay()


def test_arrays(cluster):
    c = cluster("4x1")
    script = c.script("""#SBATCH --array=1-7:2%2 --output=%x-%A-%a.txt
echo $DUCTILE_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $DUCTILE_ARRAY_TASK_MIN $SLURM_ARRAY_TASK_MAX \
$DUCTILE_ARRAY_TASK_COUNT
until [ -e go ]; do sleep 0.02; done
[ $DUCTILE_ARRAY_TASK_ID != 3 ]
""")
    answer = json.loads(c.run("submit", "--json", script).stdout)
    assert answer == {"ok": True, "job": 1, "tasks": 4}
    after = c.submit("-d", "afternotok:1", c.script("true", "after.sh"))
    c.wait_for(lambda: sum(row["state"] == "RUNNING" for row in c.queue().values()) == 2, "two tasks")
    assert reasons(c)[3] == reasons(c)[4] == "JobArrayTaskLimit"
    lines = [line.split()[0] for line in c.run("queue").stdout.splitlines()[1:]]
    assert sorted(lines) == ["1_1", "1_3", "1_5", "1_7", str(after)]
    # Of an array those are held that wait.
    c.run("hold", 1)
    assert reasons(c)[3] == reasons(c)[4] == "JobHeldUser"
    c.run("release", "1_5", "1_7")
    assert "does not wait any more" in c.run("hold", "1_1", code=1).stderr
    c.kill()
    c.start()
    c.run("cancel", "1_7")
    assert c.wait_for_end(4)[0]["state"] == "CANCELLED"
    assert set(c.queue()) == {1, 2, 3, after}
    assert reasons(c)[3] == "JobArrayTaskLimit" and reasons(c)[after] == "Dependency"
    (c.folder / "go").touch()
    ends = c.wait_for_end(1, 2, 3, after)
    assert [end["state"] for end in ends] == ["COMPLETED", "FAILED", "COMPLETED", "COMPLETED"]
    assert ends[2]["start_s"] >= min(end["end_s"] for end in ends[:2])
    assert (c.folder / "script.sh-1-5.txt").read_text() == "1 5 1 7 4\n"
    rows = c.ask({"do": "history", "job": 1})["jobs"]
    assert [row["array_task"] for row in rows] == [1, 3, 5, 7]
    # Waiting for all of them; a name that means all of them.
    done = c.run("submit", "--wait", "-a", "0-2", c.script("exit $((DUCTILE_ARRAY_TASK_ID > 0 ? 3 : 0))"),
                 code=3)
    assert "FAILED" in done.stderr
    c.submit("--hold", "-a", "0-99", script)
    assert len(c.queue()) == 100
    first = min(c.queue())
    c.run("cancel", first)
    assert c.queue() == {}
    assert len(c.run("history", "--last", 5).stdout.splitlines()) == 6
    c.replay()


def test_jobs_start_again(cluster):
    c = cluster("2x1")
    script = c.script(f"echo $DUCTILE_JOB_ID $DUCTILE_RESTART_COUNT >> {c.folder}/starts\n"
                      f"until [ -e {c.folder}/go ]; do sleep 0.02; done")
    starts = c.folder / "starts"

    def wait_for_starts(*lines):
        c.wait_for(lambda: starts.exists() and sorted(starts.read_text().splitlines()) == sorted(lines),
                   f"the starts {lines}")

    job = c.submit("--requeue", script)
    plain = c.submit(script)
    wait_for_starts("1 0", "2 0")
    c.run("requeue", job)
    wait_for_starts("1 0", "2 0", "1 1")
    assert "job 3 waits already" in c.run("requeue", c.submit("-H", script), code=1).stderr
    # Its node fails: this one waits again, the other one does not.
    nodes = c.queue()
    c.run("drain", "--down", nodes[plain]["nodelist"])
    assert c.wait_for_end(plain)[0]["state"] == "NODE_FAIL"
    c.run("drain", "--down", nodes[job]["nodelist"])
    c.wait_for(lambda: c.queue()[job]["state"] == "PENDING", "its second requeue")
    # What would say after a crash that it has run is gone.
    assert not (c.state / "jobs" / str(job)).exists()
    c.run("drain", "--undo", "0-1")
    wait_for_starts("1 0", "2 0", "1 1", "1 2")
    # The controller is gone in the middle of it: what was promised is done.
    c.ask({"do": "requeue", "jobs": [job]})
    c.kill()
    c.start()
    wait_for_starts("1 0", "2 0", "1 1", "1 2", "1 3")
    assert c.queue()[job]["restarts"] == 3
    # So is an end.
    c.ask({"do": "cancel", "jobs": [job]})
    c.kill()
    c.start()
    end = c.wait_for_end(job)[0]
    assert end["state"] == "CANCELLED"
    # It is charged for what it held, and not while it waited.
    sizes = [size["nodes"] for size in end["sizes"]]
    assert sizes == [1, 0] * 4
    c.run("cancel", 3)
    # What is being ended for good does not wait again.
    slow = c.submit(c.script("trap '' TERM\ntouch ready\nsleep 100 & wait\nsleep 100"))
    c.wait_for(lambda: (c.folder / "ready").exists(), "its trap")
    c.run("cancel", slow)
    assert f"job {slow} is being ended (cancelled), and cannot wait again" in \
        c.run("requeue", slow, code=1).stderr
    assert c.wait_for_end(slow)[0]["state"] == "CANCELLED"
    c.replay()


def test_malleable_jobs_leave_nodes_that_drain(cluster):
    c = cluster("4x1", "equipartition")
    job = c.submit("-N", 4, "--min-nodes", 2, "--", example("until", "mpich"), c.folder / "done", 100)
    c.wait_for_size(job, 4)
    c.run("drain", "1,3")
    row = c.wait_for(lambda: (row := c.queue()[job])["nodelist"] == "0 2" and row, "its leaving")
    assert row["state"] == "RUNNING"
    said = c.run("explain", job).stdout
    assert "shrinks from 4 to 2 nodes to leave nodes that drain" in said and "order" not in said
    # It is the policy's again, and grows when it may.
    c.run("drain", "--undo", "1")
    c.wait_for_size(job, 3)
    # It needs two: it stays on one that drains.
    c.run("drain", "0-2")
    c.kill()
    c.start()
    c.run("drain", "--undo", "0-3")
    c.wait_for_size(job, 4)
    c.finishes_right(job)
    c.replay()


def test_requests_are_answered_whoever_decides(cluster):
    """A policy that never looks at them, and a job that has no size to choose."""
    c = cluster("6x1", "easy")
    asks = "asks for 6 processes\n"
    evolving = c.submit("-N", 2, "--type", "evolving", "--max-nodes", 6, "--",
                        example("evolving", "mpich"), 150, 20)
    malleable = c.submit("-N", 2, "--max-nodes", 6, "--", example("evolving", "mpich"), 150, 20)
    c.wait_for_end(evolving, malleable)
    for job in (evolving, malleable):
        assert c.output(job).startswith(2 * (asks + "denied\n") + "result "), c.output(job)
    c.replay()


def test_a_request_is_told_once(cluster):
    """One that waits for nodes of another job is the same one after a restart."""
    c = cluster("6x1", "dbes")
    slow = c.submit("-N", 5, "--min-nodes", 1, "--max-nodes", 5, "--", example("until", "mpich"),
                    c.folder / "done", 100, 1_500_000)
    c.wait_for_size(slow, 5)
    job = c.submit_patient(16_000, "-N", 1, "--type", "evolving", "--max-nodes", 5, "--",
                           example("evolving", "mpich"), 100_000, 20)

    def asked():
        """Events of requests in the journal: their numbers."""
        with contextlib.closing(sqlite3.connect(c.state / "journal.db")) as journal:
            return [text.split()[3] for text, in journal.execute(
                "SELECT text FROM records WHERE kind = 'E' AND text LIKE '% requested %'"
                " ORDER BY number")]

    c.wait_for(asked, "its request")
    c.kill()
    c.start()
    c.end_after(job, "goes on with 5 processes")
    assert asked() == ["0"], c.log.read_text()
    (c.folder / "done").touch()
    c.wait_for_end(slow)
    c.replay()
