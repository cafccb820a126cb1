"""`ductile run --launcher srun` inside an allocation of a Slurm that the test starts: three nodes, which are all this
machine. Skipped where Slurm is not installed (scripts/setup --dev does that)."""

import os
import subprocess
import time

import pytest

from conftest import PATIENCE, PROGRAM, check, example, mpiexec
from job_controller import JobController
from slurm import running

NODES = ["n1", "n2", "n3"]


@pytest.fixture(scope="module")
def slurm():
    """The environment of those who use it."""
    with running("--nodes", str(len(NODES)), "--plain", "same") as cluster:
        yield cluster.environment


def inside_an_allocation(slurm, *words):
    """`ductile run` with these words, among 4 processors of the node."""
    done = subprocess.run(["salloc", "-p", "plain", "-N1", "-n4", PROGRAM, "run", "-n", "2", "--launcher", "srun",
                           *map(str, words)], env=slurm, capture_output=True, text=True, timeout=PATIENCE)
    check(done.stderr)
    assert done.returncode == 0, done.stderr
    return done


def test_resized_inside_an_allocation(mpi, slurm):
    program = example("jacobi", mpi)
    done = inside_an_allocation(slurm, "--max", 4, "--script", "t=0.5:3,t=0.5:1", "--no-compare", "--",
                                program, 40, 40, 150, 20)
    assert done.stdout == mpiexec(mpi, 2, program, 40, 40, 150)
    assert "2 resizes, 0 given up" in done.stderr


def test_processes_keep_to_their_cores(mpi, slurm):
    done = inside_an_allocation(slurm, "--kind", "rigid", "-c", 1, "--", example("threads", mpi))
    cores = sorted(os.sched_getaffinity(0))
    # Host, rank, thread, processors.
    assert sorted(line.split()[1:] for line in done.stdout.splitlines()) == [
        [str(rank), "0", str(cores[rank % len(cores)])] for rank in range(2)]


@pytest.fixture
def in_job(slurm, tmp_path):
    runs = []

    def make(nodes, mpi):
        runs.append(InJob(slurm, tmp_path, nodes, mpi))
        return runs[-1]

    yield make
    for run in runs:  # what a failed test leaves
        run.salloc.terminate()
        run.salloc.wait(60)


class InJob:
    """`ductile run` in a job of Slurm's of so many nodes, with a controller that is this test."""

    def __init__(self, slurm, folder, nodes, mpi):
        if mpi == "openmpi":
            pytest.skip("with Open MPI not solved: on nodes that are one machine its steps share a folder of the plugin pmix, and hang")
        self.slurm = slurm
        self.controller = JobController(folder / "controller")
        self.stop = folder / "stop"
        self.salloc = subprocess.Popen(
            ["salloc", "-N", str(nodes), "-w", ",".join(NODES[:nodes]), "--ntasks-per-node=2", PROGRAM, "run", "--",
             example("until", mpi), self.stop, "1000"],
            env=dict(slurm, DUCTILE_CONTROLLER=self.controller.path), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)
        self.job = self.controller.accept()["job"]

    def begin(self, **answer):
        self.controller.say(ok=True, **answer)
        end = time.monotonic() + PATIENCE
        while self.controller.order(do="status")["connected"] < answer["size"]:
            assert time.monotonic() < end
            time.sleep(0.05)

    def nodes(self):
        """Where its processes are, as Slurm has it: of the newest step."""
        rows = subprocess.run(["squeue", "-h", "-s", "-j", str(self.job), "-o", "%i %N"], env=self.slurm,
                              capture_output=True, text=True).stdout.split("\n")
        steps = [row.split() for row in rows if row and row.split()[0].split(".")[1].isdigit()]
        return max(steps, key=lambda step: int(step[0].split(".")[1]))[1]

    def finish(self):
        self.stop.touch()
        out, err = self.salloc.communicate(timeout=PATIENCE)
        self.controller.end()
        check(err)
        assert (self.salloc.returncode, out) == (0, "right\n"), err


def test_a_controller_moves_it_over_the_nodes_and_slurm_shrinks_it(mpi, slurm, in_job, tmp_path):
    run = in_job(2, mpi)
    run.begin(size=2, max=4)
    status = run.controller.order(do="status")
    assert (status["size"], status["hosts"]) == (2, "n1:2")  # the rest of the allocation waits
    assert run.nodes() == "n1"
    done = run.controller.order(do="resize", id=1, size=4)
    assert (done["ok"], done["hosts"]) == (True, {"n1": 2, "n2": 2}), done
    done = run.controller.order(do="resize", id=2, size=2, hosts="n2:2")
    assert (done["ok"], done["hosts"]) == (True, {"n2": 2}), done
    assert run.nodes() == "n2"
    done = run.controller.order(do="resize", id=3, size=2, hosts="n1:2", move=True)
    assert (done["ok"], done["hosts"]) == (True, {"n1": 2}), done
    shrunk = subprocess.run(["scontrol", "update", f"JobId={run.job}", "NodeList=n1"], env=slurm,
                            cwd=tmp_path, capture_output=True, text=True)
    assert shrunk.returncode == 0, shrunk.stderr
    # The environment of `ductile run` says two nodes, and Slurm gives it one.
    done = run.controller.order(do="resize", id=4, size=1, hosts="n1:2")
    assert (done["ok"], done["hosts"]) == (True, {"n1": 1}), done
    elsewhere = run.controller.order(do="resize", id=5, size=2, hosts="n2:2")
    assert (elsewhere["ok"], elsewhere["hosts"]) == (False, {"n1": 1}), elsewhere
    run.finish()


def test_slurm_grows_it_and_a_controller_sends_it_there(mpi, slurm, in_job, tmp_path):
    run = in_job(1, mpi)
    run.begin(hosts="n1:2", size=2, max=6)
    grown = subprocess.run(
        ["salloc", "-N1", "-w", "n3", "--ntasks-per-node=2", f"--dependency=expand:{run.job}", "sh", "-c",
         "scontrol update JobId=$SLURM_JOB_ID NumNodes=0"], env=slurm, cwd=tmp_path, capture_output=True, text=True,
        timeout=PATIENCE)
    nodes = subprocess.run(["squeue", "-h", "-j", str(run.job), "-o", "%N"], env=slurm, capture_output=True,
                           text=True).stdout.strip()
    assert nodes == "n[1,3]", grown.stderr
    done = run.controller.order(do="resize", id=1, size=4, hosts="n1:2,n3:2")
    assert (done["ok"], done["hosts"]) == (True, {"n1": 2, "n3": 2}), done
    done = run.controller.order(do="resize", id=2, size=2, hosts="n3:2")
    assert (done["ok"], done["hosts"]) == (True, {"n3": 2}), done
    assert run.nodes() == "n3"
    # More than the script's --ntasks-per-node.
    done = run.controller.order(do="resize", id=3, size=3, hosts="n3:3")
    assert (done["ok"], done["hosts"]) == (True, {"n3": 3}), done
    run.finish()
