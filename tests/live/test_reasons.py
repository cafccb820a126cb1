"""Why a job failed: in `queue`, `history`, `submit --wait` and their JSON."""

import json
import os
import shutil
import signal
import subprocess
import threading
import time

import pytest

from conftest import PATIENCE, PROGRAM


def compiled(source, mpi, folder):
    """A program of this MPI."""
    wrapper = shutil.which(f"mpicc.{mpi}")
    if not wrapper:
        pytest.skip(f"there is no {mpi}")
    (folder / "program.c").write_text(source)
    subprocess.run([wrapper, "-o", folder / f"program-{mpi}", folder / "program.c"], check=True, timeout=PATIENCE)
    return folder / f"program-{mpi}"


def check_end(c, job, reason, note, state="FAILED", code=None):
    """What everybody hears of it who asks."""
    end = c.wait_for_end(job)[0]
    assert (end["state"], end["reason"]) == (state, reason), end
    assert note in end["note"], end
    if code is not None:
        assert end["exit_code"] == code, end
    assert end["note"] in c.run("history", job).stdout
    answer = json.loads(c.run("queue", job, "--json").stdout)
    assert [(row["job"], row["reason"], row["note"]) for row in answer["ended"]] == [(job, reason, end["note"])]
    assert end["note"] in c.run("queue", job).stdout
    return end


def test_a_signal_is_told_by_its_name(cluster):
    c = cluster("2x1")
    plain = c.submit("--mpi", "none", "/bin/sh", "-c", "kill -SEGV $$")
    script = c.submit(c.script("/bin/sh -c 'kill -ABRT $$'\nexit $?\n"))
    check_end(c, plain, "RaisedSignal:SIGSEGV", "killed by SIGSEGV", code=139)
    check_end(c, script, "RaisedSignal:SIGABRT", "exit code 134, as of a process that was killed by SIGABRT", code=134)
    check_end(c, c.submit(c.script("exit 5\n")), "NonZeroExitCode", "exit code 5", code=5)
    done = c.run("submit", "--wait", "--json", "--mpi", "none", "/bin/sh", "-c", "kill -BUS $$", code=135)
    assert json.loads(done.stdout.splitlines()[1])["reason"] == "RaisedSignal:SIGBUS"
    assert "killed by SIGBUS" in done.stderr


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_an_abort_and_a_signal_in_an_mpi_are_told(cluster, mpi, tmp_path):
    c = cluster("2x1")
    program = compiled("#include <mpi.h>\n#include <signal.h>\n#include <string.h>\nint main(int n, char** v) { int r; MPI_Init(&n, &v); "
                       "MPI_Comm_rank(MPI_COMM_WORLD, &r); if (n > 1 && r == 1) raise(SIGFPE); "
                       "if (n == 1 && r == 1) MPI_Abort(MPI_COMM_WORLD, 7); MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); return 0; }", mpi, tmp_path)
    for _ in range(20):  # on a busy machine an mpiexec may lose what a process said last
        abort = c.submit("-N", 2, program)
        if c.wait_for_end(abort)[0]["reason"] == "MPIAbort":
            break
    check_end(c, abort, "MPIAbort", "7", code=7)
    for _ in range(20):  # or tell of the process that it killed itself because of that
        killed = c.submit("-N", 2, program, "signal")
        if c.wait_for_end(killed)[0]["reason"] == "RaisedSignal:SIGFPE":
            break
    check_end(c, killed, "RaisedSignal:SIGFPE", "SIGFPE", code=8 if mpi == "mpich" else 136)


def test_what_could_not_be_started_is_told(cluster):
    c = cluster("1x1")
    lacks = c.folder / "lacks.sh"
    lacks.write_text("#!/nowhere/interpreter -x\nexit 0\n")
    lacks.chmod(0o755)
    check_end(c, c.submit(lacks), "JobLaunchFailure", "there is no interpreter '/nowhere/interpreter'")
    check_end(c, c.submit("-D", "/nowhere", "/bin/true"), "JobLaunchFailure", "folder cannot be entered: No such file")
    check_end(c, c.submit("-o", "/nowhere/out", "/bin/true"), "JobLaunchFailure",
              "output file cannot be written: No such file")
    shutil.copy("/bin/true", c.folder / "vanishes")
    held = c.submit("--hold", c.folder / "vanishes")
    (c.folder / "vanishes").unlink()
    c.run("release", held)
    check_end(c, held, "JobLaunchFailure", "vanishes' is no program")
    (c.folder / "broken").write_bytes(b"\x7fELF and nothing else")
    (c.folder / "broken").chmod(0o755)
    check_end(c, c.submit("--mpi", "none", c.folder / "broken"), "JobLaunchFailure", "Exec format error")


def test_limits_and_nodes_are_told(cluster):
    c = cluster("2x1")
    late = c.submit("-t", "0:01", c.script("sleep 100\n"))
    check_end(c, late, "TimeLimit", "its limit of 00:01 was over", "TIMEOUT")
    gone = c.submit(c.script("sleep 100\n"))
    row = c.wait_for(lambda: (r := c.queue()[gone])["state"] == "RUNNING" and r, "the job")
    c.run("drain", "--down", row["nodelist"])
    check_end(c, gone, "NodeDown", f"down: nodes {row['nodelist']}", "NODE_FAIL")


def test_a_wait_survives_a_restart(cluster):
    c = cluster("2x1")
    words = [PROGRAM, "submit", "--wait", "--json", "--mpi", "none", "/bin/sh", "-c",
             f"until [ -e {c.folder}/done ]; do sleep 0.05; done; exit 6"]
    for how in (c.kill, c.stop):
        waiting = subprocess.Popen(words, env=c.environment, cwd=c.folder, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        job = json.loads(waiting.stdout.readline())["job"]
        c.wait_for(lambda: c.queue()[job]["state"] == "RUNNING", "the job")
        how()
        if how == c.kill:
            c.start()
            assert waiting.poll() is None
            (c.folder / "done").touch()
        else:  # it ends while nobody is there
            (c.folder / "done").touch()
            c.wait_for_text(c.state / "jobs" / str(job) / "report", '"ended"')
            c.start()
        out, err = waiting.communicate(timeout=PATIENCE)
        assert waiting.returncode == 6, err
        end = json.loads(out)
        assert (end["state"], end["exit_code"], end["reason"]) == ("FAILED", 6, "NonZeroExitCode")
        assert "the controller ended without an answer; waiting" in err
        (c.folder / "done").unlink()


def test_the_first_failed_task_counts_also_after_a_restart(cluster):
    c = cluster("1x1")
    script = c.script("[ $DUCTILE_ARRAY_TASK_ID = 1 ] || exit 0\nexit 9\n", "early.sh")
    late = c.script(f"until [ -e {c.folder}/done ]; do sleep 0.05; done\n[ $DUCTILE_ARRAY_TASK_ID = 0 ] && exit 9\nexit 0\n")
    assert c.run("submit", "--wait", "-a", "0-2", script, code=9).stderr
    waiting = subprocess.Popen([PROGRAM, "submit", "--wait", "-a", "0-1", late], env=c.environment, cwd=c.folder,
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    waiting.stdout.readline()
    (c.folder / "done").touch()
    c.wait_for(lambda: len(c.queue()) < 2, "the first task")
    c.kill()
    c.start()
    waiting.communicate(timeout=PATIENCE)
    assert waiting.returncode == 9


def test_a_key_names_one_submission(cluster):
    c = cluster("1x1")
    first = c.submit("--key", "mine", c.script("exit 4\n"))
    assert c.submit("--key", "mine", c.script("exit 4\n")) == first
    assert c.submit("--key", "other", c.script("exit 4\n")) == first + 1
    c.kill()
    c.start()
    done = c.run("submit", "--key", "mine", c.script("exit 4\n"))
    assert done.stdout == f"job {first} was submitted before, with this key\n"
    assert c.run("submit", "--key", "mine", "--wait", c.script("exit 4\n"), code=4)
    assert len(c.ask({"do": "history"})["jobs"]) == 2
    assert "too long" in c.run("submit", "--key", "x" * 300, "/bin/true", code=2).stderr


def test_a_key_sent_at_once_by_many_is_one_job(cluster):
    c = cluster("1x1")
    jobs = []
    threads = [threading.Thread(target=lambda: jobs.append(c.submit("--hold", "--key", "same", "/bin/true")))
               for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(jobs) == 8 and len(set(jobs)) == 1


def test_a_hangup_at_the_start_is_no_end(cluster):
    c = cluster("1x1")
    c.stop()
    settings, pipe = c.folder / "settings", c.folder / "serve.toml"
    settings.write_text('policy = "fcfs"\n')
    os.mkfifo(pipe)
    c.launch("--config", pipe)
    end = time.monotonic() + PATIENCE
    while True:  # until it reads its settings
        try:
            writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            break
        except OSError:
            assert time.monotonic() < end and c.server.poll() is None
            time.sleep(0.01)
    os.kill(c.server.pid, signal.SIGHUP)
    os.write(writer, settings.read_bytes())
    settings.rename(pipe)  # what it reads from now on
    os.close(writer)
    c.wait_for_socket(c.socket)
    c.wait_for_text(c.log, "the settings were read again")
