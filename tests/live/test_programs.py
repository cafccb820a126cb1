"""Jobs of programs that are not MPI under `ductile serve`: told their size (--kind script, and --kind charm by CCS), or
stopped at a checkpoint and started again (--kind restart)."""

import json
import pathlib
import random

import pytest

from conftest import PROGRAM

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"

# Holds what it is told, and writes it down, until the file `done` is there.
SCRIPT = """
echo "begins with $DUCTILE_SIZE"
while read -r size _; do
  echo "has $size"
  echo "$size" >&$DUCTILE_RESIZE_FD
done <&$DUCTILE_RESIZE_FD &
until [ -e done ]; do sleep 0.01; done
kill $!
"""

# Counts, and stops at a checkpoint.
RESTART = """
next=0; [ ! -e checkpoint ] || read -r next < checkpoint
stop=; trap 'stop=1' USR1
echo "from $next with $DUCTILE_SIZE"
until [ -e done ]; do
  next=$((next + 1)); echo $next >> counted
  [ -z "$stop" ] || { echo $next > checkpoint; exit 85; }
  sleep 0.01
done
"""


def counted(c):
    """All numbers once, in order."""
    numbers = [int(line) for line in (c.folder / "counted").read_text().split()]
    assert numbers == list(range(1, len(numbers) + 1))
    return True


def is_moved(c, job, nodes):
    assert c.ask({"do": "resize", "job": job, "nodes": nodes})["ok"]
    return c.wait_for_size(job, nodes)


def test_fifty_resizes_of_a_script(cluster):
    """What the program was told is what the cluster thinks that it has; and the example computes what it does alone."""
    c = cluster("6x1", "easy")
    job = c.submit("--kind", "script", "-N", "2", "--max-nodes", 6, "--", c.script(SCRIPT))
    c.wait_for_size(job, 2)
    draws = random.Random(3)
    sizes = [2]
    for _ in range(50):
        sizes.append(draws.choice([size for size in range(1, 7) if size != sizes[-1]]))
        is_moved(c, job, sizes[-1])
    (c.folder / "done").touch()
    [ended] = c.wait_for_end(job)
    assert ended["state"] == "COMPLETED"
    assert [change["nodes"] for change in ended["sizes"]] == [*sizes, 0]
    assert c.output(job) == "begins with 2\n" + "".join(f"has {size}\n" for size in sizes[1:])
    c.replay()


def test_resizes_of_a_program_that_is_restarted(cluster):
    c = cluster("6x1", "easy")
    job = c.submit("--kind", "restart", "--signal", "USR1", "--settle", "0.1", "-N", "2", "--max-nodes", 6, "--",
                   c.script(RESTART))
    c.wait_for_text(c.folder / "counted", "1\n")
    for size in (5, 1, 3, 6, 2):
        is_moved(c, job, size)
    (c.folder / "done").touch()
    [ended] = c.wait_for_end(job)
    assert ended["state"] == "COMPLETED" and ended["restarts"] == 0
    assert [change["nodes"] for change in ended["sizes"]] == [2, 5, 1, 3, 6, 2, 0]
    assert counted(c)
    c.replay()


def test_a_policy_resizes_the_examples(cluster):
    """dbes gives all nodes to who is alone, and takes them back for who comes."""
    c = cluster("4x1", "dbes")
    chunks = 900
    n = 400 * chunks
    first = c.submit("--kind", "script", "-N", "1-4", "--", EXAMPLES / "script/master.sh", n, chunks)
    c.wait_for_size(first, 4)
    words = [c.folder / "state.json", 2000, 200]
    second = c.submit("--kind", "restart", "--signal", "USR1", "--settle", "0.1", "-N", "1-4", "--",
                      EXAMPLES / "restart/relax.py", *words)
    done = c.wait_for_end(first, second)
    assert [job["state"] for job in done] == ["COMPLETED", "COMPLETED"], c.log.read_text()
    assert c.output(first) == f"the sum of the squares of 1 to {n} is {n * (n + 1) * (2 * n + 1) // 6}\n"
    alone = c.run("run", "--kind", "rigid", "--mpi", "none", "--", EXAMPLES / "restart/relax.py", *words).stdout
    assert c.output(second) == alone
    assert any(len(job["sizes"]) > 1 for job in done)
    c.replay()


def test_a_refusal_keeps_the_nodes(cluster):
    c = cluster("4x1", "easy")
    job = c.submit("--kind", "script", "--signal", "USR1", "-N", "2", "--max-nodes", 4, "--", c.script(f"""
trap '{PROGRAM} ack --refuse "not now"; echo refused' USR1
touch begun
until [ -e done ]; do sleep 0.01; done
"""))
    c.wait_for(lambda: (c.folder / "begun").exists(), "its beginning")
    c.run("resize", job, 4)
    c.wait_for(lambda: "refused" in c.output(job), "its refusal")
    c.wait_for(lambda: "the program refuses: not now" in c.log.read_text(), "the word of it")
    assert c.queue()[job]["nodes"] == 2
    c.run("resize", job, 0)
    (c.folder / "done").touch()
    assert c.wait_for_end(job)[0]["state"] == "COMPLETED"


def test_a_part_is_what_the_job_has(cluster):
    c = cluster("6x1", "easy")
    job = c.submit("--kind", "script", "--signal", "USR1", "-N", "2", "--max-nodes", 6, "--", c.script(f"""
trap 'read -r size _ < $DUCTILE_RESIZE_FILE; [ $size -lt 5 ] || size=4; {PROGRAM} ack $size' USR1
touch begun
until [ -e done ]; do sleep 0.01; done
"""))
    c.wait_for(lambda: (c.folder / "begun").exists(), "its beginning")
    c.run("resize", job, 6)
    c.wait_for_size(job, 4)
    c.run("resize", job, 0)
    # The others are free.
    other = c.submit("-N", 2, "/bin/sleep", 1000)
    c.wait_for_size(other, 2)
    assert c.queue()[job]["nodes"] == 4
    (c.folder / "done").touch()
    assert c.wait_for_end(job)[0]["state"] == "COMPLETED"
    c.replay()


def test_who_is_silent_keeps_its_nodes(cluster):
    c = cluster("4x1", "dbes")
    job = c.submit("--kind", "script", "--ack-timeout", "0.3", "-N", "1-4", "--",
                   c.script("until [ -e done ]; do sleep 0.01; done\n"))
    c.wait_for_size(job, 4)
    other = c.submit("-N", 1, "/bin/true")
    c.wait_for(lambda: "the program has not answered for 0.3 s" in c.log.read_text(), "the word of it")
    assert c.queue()[job]["nodes"] == 4
    (c.folder / "done").touch()
    assert [its["state"] for its in c.wait_for_end(job, other)] == ["COMPLETED", "COMPLETED"]


def test_is_suspended_with_a_checkpoint_and_goes_on_at_another_size(cluster):
    c = cluster("4x1", "easy")
    job = c.submit("--kind", "restart", "--signal", "USR1", "--settle", "0.1", "-N", "3", "--max-nodes", 4, "--",
                   c.script(RESTART))
    c.wait_for_text(c.folder / "counted", "1\n")
    c.run("suspend", job)
    c.wait_for(lambda: c.queue()[job]["state"] == "SUSPENDED", "its being suspended")
    blocks = c.submit("-N", 3, "/bin/sleep", 1000)
    c.wait_for_size(blocks, 3)
    c.run("update", job, "-N", "1", "--min-nodes", "1", "--max-nodes", "4")
    c.run("resume", job)
    c.wait_for_size(job, 1)
    c.wait_for(lambda: c.output(job).count("from ") == 2, "its going on")
    c.run("cancel", blocks)
    (c.folder / "done").touch()
    assert c.wait_for_end(job)[0]["state"] == "COMPLETED"
    first, second = c.output(job).splitlines()
    assert first == "from 0 with 3" and second.endswith("with 1") and second != "from 0 with 1"
    assert counted(c)
    c.replay()


def test_a_restart_that_fails_keeps_the_nodes(cluster):
    c = cluster("4x1", "easy")
    job = c.submit("--kind", "restart", "--signal", "USR1", "--settle", "0.1", "-N", "2", "--max-nodes", 4, "--",
                   c.script("[ $DUCTILE_SIZE != 4 ] || exit 9\n" + RESTART))
    c.wait_for_text(c.folder / "counted", "1\n")
    c.run("resize", job, 4)
    c.wait_for(lambda: "started again ended with exit code 9" in c.log.read_text(), "its failure")
    assert c.queue()[job]["nodes"] == 2
    c.run("resize", job, 0)
    (c.folder / "done").touch()
    assert c.wait_for_end(job)[0]["state"] == "COMPLETED"
    assert counted(c)


def test_goes_on_without_the_controller(cluster):
    c = cluster("4x1", "easy")
    job = c.submit("--kind", "script", "-N", "2", "--max-nodes", 4, "--", c.script(SCRIPT))
    c.wait_for_size(job, 2)
    c.kill()
    c.start()
    is_moved(c, job, 3)
    (c.folder / "done").touch()
    assert c.wait_for_end(job)[0]["state"] == "COMPLETED"
    assert c.output(job) == "begins with 2\nhas 3\n"


@pytest.mark.parametrize("options, error", [
    (["--kind", "script", "--mpi", "mpich"], "kind: a program of this kind is started without an MPI"),
    (["--kind", "restart", "--type", "rigid"], "kind: a job of this kind is malleable, not rigid; drop --type"),
    (["--kind", "script", "--checkpoint", "true"], "--checkpoint: this is for --kind restart"),
    (["--signal", "USR1"], "--signal: this is for --kind script and --kind restart"),
    (["--kind", "restart", "--signal", "KILL"], "--signal: 'KILL' is no signal"),
])
def test_bad_options(cluster, options, error):
    done = cluster("2x1", "easy").run("submit", *options, "--", "/bin/true", code=2)
    assert error in done.stderr


def test_bad_requests(cluster):
    c = cluster("2x1", "easy")
    job = {"program": ["/bin/true"], "chdir": "/", "type": "malleable", "kind": "script"}
    for field, value, error in (("kind", "steps", "kind: jobs are submitted as mpi, threads"), ("signal", "KILL", "signal: there is no 'KILL'"),
                                ("checkpoint_exit", 256, "checkpoint_exit: 256 is out of range"),
                                ("ack_timeout_us", 1, "ack_timeout_us: 1 is out of range")):
        answer = c.ask({"do": "submit", "job": dict(job, **{field: value})})
        assert (answer["ok"], answer["code"]) == (False, 2) and error in answer["error"], json.dumps(answer)


def test_resizes_of_a_program_of_charm(cluster):
    c = cluster("6x1", "easy")
    charmrun = pathlib.Path(__file__).resolve().parents[1] / "runtime/programs/charmrun.py"
    job = c.submit("--kind", "charm", "-N", "2", "--max-nodes", 6, "--", charmrun, "good")
    c.wait_for_size(job, 2)
    sizes = [2, 5, 1, 3, 6, 2]
    for size in sizes[1:]:
        is_moved(c, job, size)
    (c.folder / "hurry").touch()
    [ended] = c.wait_for_end(job)
    assert ended["state"] == "COMPLETED"
    assert [change["nodes"] for change in ended["sizes"]] == [*sizes, 0]
    assert c.output(job) == "".join(f"from {old} to {new}\n" for old, new in zip(sizes, sizes[1:])) + "done\n"
    c.replay()
