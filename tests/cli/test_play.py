"""ductile workload play without a controller: what it would submit, and what it refuses."""

import json
import os
import shutil
import signal
import subprocess
import time

from conftest import RIGID_1000

# Number, submit, run time, nodes, requested: those of 4 nodes.
LOG = "; MaxNodes: 4\n; MaxProcs: 4\n" + "".join(
    f"{number} {submit} -1 {run} {nodes} -1 -1 {nodes} {requested} -1 1 1 1 -1 -1 -1 -1 -1\n"
    for number, submit, run, nodes, requested in
    [(1, 100, 20, 2, 30), (2, 130, 40, 1, 60), (3, 131, 40, 4, 60)])
BESIDE = """ductile-adaptive 1
cores_per_node 1
job 2 type=moldable size=1..2 model=amdahl:0.5
job 3 type=malleable size=2..4
"""


def write(tmp_path):
    (tmp_path / "log.swf").write_text(LOG)
    (tmp_path / "log.adaptive").write_text(BESIDE)
    (tmp_path / "program").write_text("#!/bin/sh\n")
    return tmp_path / "log.swf"


def test_says_what_it_would_submit(ductile, tmp_path):
    log = write(tmp_path)
    done = ductile.run("workload", "play", log, "--speed", 10, "--extra-time", 5, "--dry-run",
                       "--command", f"malleable={tmp_path}/program 'of two words'")
    sleep, shell = shutil.which("sleep"), shutil.which("sh")
    assert (done.stdout, done.stderr, done.returncode) == (f"""\
0.000 ductile submit -J job-1 --type rigid -N 2 -t 00:08 -o /dev/null --mpi none -- {sleep} 2
3.000 ductile submit -J job-2 --type moldable -N 1 --min-nodes 1 --max-nodes 2 -t 00:11 --model amdahl:0.5 \
-o /dev/null --mpi none -- {shell} -c 'IFS=,; set -- $0; shift $((DUCTILE_JOB_NUM_NODES - 1)); exec sleep $1' 4,3
3.100 ductile submit -J job-3 --type malleable -N 4 --min-nodes 2 --max-nodes 4 -t 00:11 \
-o /dev/null {tmp_path}/program 'of two words'
""", "", 0)


def test_a_model_and_its_changes(ductile):
    words = ["workload", "play", "--generate", "rigid:max_size=4", "--nodes", 4, "--jobs", 20, "--speed", 1000,
             "--dry-run"]
    lines = ductile.output(*words).splitlines()
    assert len(lines) == 20 and all(" --type rigid " in line for line in lines)
    assert lines == ductile.output(*words, "--seed", 1).splitlines()
    assert lines != ductile.output(*words, "--seed", 2).splitlines()
    changed = ductile.output(*words, "--moldable", 1).splitlines()
    assert len(changed) == 20 and all(" --type moldable " in line for line in changed)


def refused(ductile, *words):
    done = ductile.run("workload", "play", "--dry-run", *words)
    assert done.returncode == 2 and done.stdout == "", done
    return done.stderr


def test_wrong_calls(ductile, tmp_path):
    log = write(tmp_path)
    assert "give a log, or --generate MODEL" in refused(ductile)
    assert "--generate" in refused(ductile, log, "--generate", "rigid")
    assert "--clip: says how the lines of a log become jobs" in refused(ductile, "--generate", "rigid", "--clip")
    assert "names no type of jobs" in refused(ductile, log, "--command", "mpi=true")
    assert "names no type of jobs" in refused(ductile, log, "--command", "rigid")
    assert "there are two for rigid jobs" in refused(ductile, log, "--command", "rigid=true", "--command", "rigid=true")
    assert "no program" in refused(ductile, log, "--command", "rigid=/no/such")
    assert "there is no program" in refused(ductile, log, "--command", "rigid=")
    assert "job 3: " in refused(ductile, log, "--command", "malleable=/bin/true")
    assert "give it to `ductile serve`" in refused(ductile, log, "--estimates", "predicted")
    for speed in ("0", "-1", "nan", "x"):
        assert "--speed" in refused(ductile, log, "--speed", speed)
    assert "ductile serve" in ductile.run("workload", "play", log, "--socket", tmp_path / "none", "--command",
                                          f"malleable={tmp_path}/program").stderr


def test_a_large_log_is_told_of_as_everywhere(ductile):
    done = ductile.run("workload", "play", RIGID_1000, "--nodes", 4, "--dry-run")
    assert done.returncode == 0 and "larger than" in done.stderr, done.stderr
    assert all(int(line.split(" -N ")[1].split()[0]) <= 4 for line in done.stdout.splitlines())


def test_says_what_it_would_submit_to_slurm(ductile, tmp_path):
    log = write(tmp_path)
    echo, shell = shutil.which("echo"), shutil.which("sh")
    (tmp_path / "log.adaptive").write_text("\n".join(BESIDE.splitlines()[:3]) + "\n")
    done = ductile.run("workload", "play", log, "--speed", 10, "--by", "sbatch", "--slurm-partition", "p", "--dry-run",
                       "--command", f"rigid={echo} 'of two words'")
    head = "sbatch --parsable --exclusive --partition=p"
    wrap = "DUCTILE_JOB_NUM_NODES=$SLURM_JOB_NUM_NODES exec"

    def exported(job, nodes, runtime):
        return f"--export=ALL,PLAY_JOB={job},PLAY_NODES={nodes},PLAY_RUNTIME_S={runtime}"

    program = f"--wrap={wrap} {echo} '\\''of two words'\\''"
    moldable = (f"--wrap={wrap} {shell} -c '\\''IFS=,; set -- $0; shift $((DUCTILE_JOB_NUM_NODES - 1)); exec sleep $1'\\'' 4,3")
    assert (done.stdout.splitlines(), done.stderr, done.returncode) == ([
        f"0.000 {head} --job-name=job-1 --nodes=2 --time=1 --output=/dev/null {exported(1, 2, 2)} '{program}'",
        f"3.000 {head} --job-name=job-2 --nodes=1-2 --time=1 --output=/dev/null --export=ALL '{moldable}'",
        f"3.100 {head} --job-name=job-3 --nodes=4 --time=1 --output=/dev/null {exported(3, 4, 4)} '{program}'"], "", 0)


def test_what_slurm_itself_cannot_have(ductile, tmp_path):
    log = write(tmp_path)
    assert "job 3: is malleable, and Slurm itself resizes no job" in refused(
        ductile, log, "--by", "sbatch", "--command", f"malleable={tmp_path}/program")
    assert "--by" in refused(ductile, log, "--slurm-partition", "p")
    assert "--by" in refused(ductile, log, "--by", "qsub")
    assert "--policy: is only for --by sbatch" in refused(ductile, log, "--by", "controller", "--policy", "easy")
    assert "--slurm-partition: is only for --by sbatch" in refused(ductile, log, "--by", "controller", "--slurm-partition", "p")
    assert "nosuch" in refused(ductile, log, "--by", "sbatch", "--policy", "nosuch")  # and not when all jobs are over


def test_what_sbatch_says_is_read(ductile, tmp_path):
    """With programs that say what Slurm may say."""
    log = write(tmp_path)
    fakes = {"sinfo": "echo 'p|2'; echo 'q*|4'",
             "sbatch": f"echo x >> {tmp_path}/calls; echo 'sbatch: a warning' >&2; echo \"$(wc -l < {tmp_path}/calls);cluster\"",
             "squeue": "test \"$SLURM_TIME_FORMAT\" = %s || exit 3\n"
                       "echo '9_[1-2]|PENDING|90|N/A|N/A|1'\n"
                       "echo '1|COMPLETED|100|100|102|2'; echo '2|TIMEOUT|103|104|110|1'; echo '3|CANCELLED|104|N/A|105|4'"}
    for name, text in fakes.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    words = ["workload", "play", log, "--adaptive", "none", "--speed", 100, "--by", "sbatch", "--json"]
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = ductile.run(*words, env={**os.environ, "PATH": path})
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["nodes"] == 4
    live = [job["live"] for job in told["jobs"]]
    assert [job["job"] for job in told["jobs"]] == [1, 2, 3]
    assert [(its["state"], its["submit_s"], its["start_s"], its["end_s"]) for its in live] == [
        ("COMPLETED", 0, 0, 2), ("TIMEOUT", 3, 4, 10), ("CANCELLED", 4, None, 5)]
    assert told["live"]["not_completed"] == 2
    # Lines of other kinds, a state of its own, and a warning; who was cancelled has run, or has not.
    (tmp_path / "squeue").write_text(
        f"#!/bin/sh\nstate=FAILED; test $(wc -l < {tmp_path}/calls) = 3 || state=STOPPED\n"
        "echo 'squeue: a warning' >&2; echo 'CLUSTER: x'; echo '7+0|PENDING|1|N/A|N/A|1'; echo\n"
        "echo '1|CANCELLED|100|101|103|2'; echo \"2|$state|103|104|110|1\"; echo '3|CANCELLED|104|105|105|4'\n")
    (tmp_path / "calls").write_text("")
    done = ductile.run(*words, env={**os.environ, "PATH": path})
    assert done.returncode == 0, done.stderr
    live = [job["live"] for job in json.loads(done.stdout)["jobs"]]
    assert [(its["state"], its["start_s"], its["end_s"]) for its in live] == [
        ("CANCELLED", 1, 3), ("FAILED", 4, 10), ("CANCELLED", None, 5)]
    # Nothing is heard of any: they have the times of their submission.
    (tmp_path / "squeue").write_text("#!/bin/sh\n")
    (tmp_path / "calls").write_text("")
    done = ductile.run(*words, env={**os.environ, "PATH": path})
    assert done.returncode == 0, done.stderr
    live = [job["live"] for job in json.loads(done.stdout)["jobs"]]
    assert [(its["state"], its["start_s"]) for its in live] == [("UNKNOWN", None)] * 3
    assert 0 == live[0]["submit_s"] <= live[2]["submit_s"] < 60
    (tmp_path / "sbatch").write_text("#!/bin/sh\necho no such partition >&2; exit 1\n")
    done = ductile.run(*words, env={**os.environ, "PATH": path})
    assert done.returncode == 1 and "job 1: sbatch: no such partition; 0 of 3 jobs were submitted" in done.stderr


def test_ctrl_c_is_not_for_sbatch(ductile, tmp_path):
    """A job that is being submitted when the user stops is submitted, and counted."""
    log = write(tmp_path)
    fakes = {"sinfo": "echo 'q*|4'", "squeue": "echo '1|RUNNING|100|100|N/A|2'",
             "sbatch": f"touch {tmp_path}/begun; sleep 1; echo x >> {tmp_path}/calls; echo 1"}
    for name, text in fakes.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    words = [ductile.program, "workload", "play", log, "--adaptive", "none", "--by", "sbatch"]
    with subprocess.Popen(words, env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, text=True,
                          stderr=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as player:
        try:
            while not (tmp_path / "begun").exists() and player.poll() is None:
                time.sleep(0.01)
            os.killpg(player.pid, signal.SIGINT)  # as a terminal does
            said = player.communicate(timeout=60)[1]
        finally:
            player.kill()
    assert player.returncode == 1
    assert "stopped; 1 of 3 jobs were submitted, and 1 of them have not ended" in said
    assert (tmp_path / "calls").read_text() == "x\n"


def test_what_no_command_can_hold_is_refused_before_anything_is_submitted(ductile, tmp_path):
    nodes = 40_000
    (tmp_path / "log.swf").write_text(f"; MaxNodes: {nodes}\n; MaxProcs: {nodes}\n"
                                      f"1 0 -1 2000000 {nodes} -1 -1 {nodes} 3000000 -1 1 1 1 -1 -1 -1 -1 -1\n")
    (tmp_path / "log.adaptive").write_text(f"ductile-adaptive 1\ncores_per_node 1\njob 1 type=moldable size=1..{nodes} model=amdahl:0.5\n")
    said = refused(ductile, tmp_path / "log.swf", "--by", "sbatch")
    assert "job 1: program: it is too long; at most 131072 bytes" in said
