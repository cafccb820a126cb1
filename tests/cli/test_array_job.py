"""A matrix as an array job of Slurm: a stand-in for sbatch runs the tasks as processes of this machine."""

import os
import re
import signal
import subprocess
import time

import pytest

from conftest import files_of

SBATCH = """#!/usr/bin/python3
# The least of sbatch --wait --array: all tasks at once, here. Without a job of Slurm there is no other one.
import os, pathlib, re, subprocess, sys, time
options = dict(word[2:].split("=", 1) for word in sys.argv[1:-1] if "=" in word)
assert "--wait" in sys.argv and options["job-name"] == "ductile" and options["cpus-per-task"].isdigit()
first, last = map(int, options["array"].split("-"))
job = str(os.getpid())
print("Submitted batch job", job)
tasks = []
for task in range(first, last + 1):
    log = open(options["output"].replace("%A", job).replace("%a", str(task)), "wb")
    tasks.append(subprocess.Popen(["sh", sys.argv[-1]], cwd=options["chdir"], stdout=log, stderr=log, env={
        **os.environ, "SLURM_ARRAY_JOB_ID": job, "SLURM_ARRAY_TASK_ID": str(task)}))
dies = os.environ.get("TEST_DIES")
if dies:  # the first task, while it has a claim; `all`: then all others, too
    claims = pathlib.Path(sys.argv[-1]).parent / "claims"
    mine = f"{job}_{first} "
    def has_claim():
        for claim in claims.iterdir():
            try:
                if re.fullmatch("[0-9a-f]{16}", claim.name) and claim.read_text().startswith(mine):
                    return True
            except FileNotFoundError:
                pass
        return False
    while tasks[0].poll() is None and not has_claim():
        pass
    for task in tasks if dies == "all" else tasks[:1]:
        task.kill()
sys.exit(max(abs(task.wait()) for task in tasks))
"""

CALL = ["simulate", "--generate", "rigid:jobs=150", "--malleable", "0.5", "--policy", "easy", "--policy", "mebf",
        "--policy", "fcfs", "--seeds", "1..6"]
ON_SLURM = ["--on", "slurm", "--tasks", 3, "--claim-timeout", 1]


@pytest.fixture
def slurm(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "sbatch").write_text(SBATCH)
    (folder / "sbatch").chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def without_measured(files):
    return {name: re.sub(rb', "load_seconds.*', b"", text) if name.endswith("summary.json") else text
            for name, text in files.items()}


def same(a, b):
    return without_measured(files_of(a)) == without_measured(files_of(b))


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    from conftest import Ductile
    out = tmp_path_factory.mktemp("local") / "out"
    Ductile().output(*CALL, "--out", out)
    return out


@pytest.mark.parametrize("dies", [None, "first"])
def test_it_is_that_of_a_local_run(ductile, tmp_path, slurm, local, dies):
    out = tmp_path / "out"
    done = ductile.run(*CALL, "--out", out, *ON_SLURM, env={**slurm, **({"TEST_DIES": dies} if dies else {})})
    assert done.returncode == 0, done.stderr
    assert "Submitted batch job" in done.stderr and "Submitted" not in done.stdout
    assert ("has failed" in done.stderr) == bool(dies)
    assert same(out, local)
    # It is all there, for either.
    assert "Submitted" not in ductile.run(*CALL, "--out", out, *ON_SLURM, env=slurm).stderr
    ductile.output(*CALL, "--out", out)
    assert same(out, local)


def test_what_dead_tasks_have_done_is_kept(ductile, tmp_path, slurm, local):
    out = tmp_path / "out"
    # One seed is there before, and some runs come from tasks that all die.
    ductile.output(*CALL[:-1], "1..1", "--out", out)
    there = (out / "fcfs-s1/jobs.csv").stat().st_mtime_ns
    done = ductile.run(*CALL, "--out", out, *ON_SLURM, env={**slurm, "TEST_DIES": "all"})
    assert done.returncode == 1, done.stderr
    assert re.search(r"\d+ runs are not over: see what the tasks say in .*/tasks\. The same command goes on", done.stderr)
    assert ductile.run(*CALL, "--out", out, *ON_SLURM, env=slurm).returncode == 0
    assert same(out, local)
    assert (out / "fcfs-s1/jobs.csv").stat().st_mtime_ns == there


def test_an_experiment(ductile, tmp_path, slurm):
    file = tmp_path / "it's.toml"
    file.write_text('generate = "rigid"\npolicy = ["easy", "fcfs"]\nseeds = "1..2"\n'
                    '[[variant]]\nname = "a b"\njobs = 50\n[[variant]]\nname = "c"\njobs = 60\npolicy = "easy"\nseeds = 3\n'
                    '[[statement]]\nid = "1"\nfigure = "mean_wait_s"\nvariant = "a b"\nruns = "easy"\nagainst = "fcfs"\n')
    file.write_text(file.read_text().replace("seeds = 3", 'seeds = "3"'))
    table = ductile.output("simulate", file, "--out", tmp_path / "local")
    done = ductile.run("simulate", file, "--out", tmp_path / "out", *ON_SLURM, env=slurm)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-3:] == table.splitlines()[-3:]
    assert same(tmp_path / "out", tmp_path / "local")


def test_it_can_be_interrupted(ductile, tmp_path, slurm, local):
    out = tmp_path / "out"
    process = subprocess.Popen([ductile.program, *map(str, [*CALL, "--out", out, *ON_SLURM])], env=slurm, text=True,
                               cwd=os.getcwd(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not list(out.glob("tasks/*/*-s*/summary.json")) and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 1 and "stopped waiting; the array job goes on" in errors, errors
    # Without Slurm as well.
    ductile.output(*CALL, "--out", out)
    assert same(out, local)


def test_calls_that_are_wrong(ductile, tmp_path):
    def refused(*options, env=None):
        done = ductile.run(*CALL, *options, env=env)
        assert done.returncode == 2 and done.stdout == ""
        return done.stderr

    assert "tasks share a folder of results" in refused("--on", "slurm")
    assert "is how tasks of an array job are called" in refused("--on", "task", "--out", tmp_path / "x")
    nowhere = {**os.environ, "PATH": str(tmp_path)}
    assert "sbatch cannot be started" in refused("--on", "slurm", "--out", tmp_path / "x", env=nowhere)
    assert "--on" in refused("--tasks", 3)
