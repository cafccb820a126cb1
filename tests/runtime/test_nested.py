"""A program with the library runs wherever a user may start it: alone, by an mpiexec, by `ductile run`, and that
outside of a job or inside of one, of its own MPI or of the other one, or of none."""

import os
import subprocess

import pytest

from conftest import PATIENCE, PROGRAM, example

OTHER = {"mpich": "openmpi", "openmpi": "mpich"}


def mpiexec(mpi, size):
    options = ["--allow-run-as-root", "--oversubscribe"] if mpi == "openmpi" else []
    return [f"mpiexec.{mpi}", *options, "-n", str(size)]


def ductile_run(*options):
    return [PROGRAM, "run", *map(str, options), "--"]


def shell(words):
    return ["sh", "-c", " ".join(words) + "; exit $?"]  # which does not become the program


# How the program is started, and how many processes it has then.
INNER = {
    "alone": lambda mpi: ([], 1),
    "mpiexec": lambda mpi: (mpiexec(mpi, 2), 2),
    "run": lambda mpi: (ductile_run("-n", 2), 2),
    "rigid run": lambda mpi: (ductile_run("-n", 2, "--kind", "rigid"), 2),
}

# What that happens in.
OUTER = {
    "nothing": lambda mpi, words: words,
    "a script": lambda mpi, words: ductile_run("--kind", "rigid", "--mpi", "none") + shell(words),
    "a rigid job": lambda mpi, words: ductile_run("--kind", "rigid", "--mpi", mpi) + shell(words),
    "a rigid job of the other": lambda mpi, words: (
        ductile_run("--kind", "rigid", "--mpi", OTHER[mpi]) + shell(words)),
    "a malleable job": lambda mpi, words: ductile_run("--mpi", mpi) + shell(words),
    "a malleable job of the other": lambda mpi, words: ductile_run("--mpi", OTHER[mpi]) + shell(words),
    "a measured job": lambda mpi, words: (
        ductile_run("--kind", "rigid", "--mpi", mpi, "--measure", 1) + shell(words)),
    "a measured job of the other": lambda mpi, words: (
        ductile_run("--kind", "rigid", "--mpi", OTHER[mpi], "--measure", 1) + shell(words)),
    "mpiexec": lambda mpi, words: mpiexec(mpi, 1) + shell(words),
    "mpiexec of the other": lambda mpi, words: mpiexec(OTHER[mpi], 1) + shell(words),
    "a process": lambda mpi, words: ductile_run() + [example("calls", mpi), " ".join(words)],
    "a process of the other": lambda mpi, words: (
        ductile_run() + [example("calls", OTHER[mpi]), " ".join(words)]),
}

# Where it is refused, and what is said.
def refusal(mpi, outer, inner):
    if outer == "a measured job of the other" and inner in ("alone", "mpiexec"):
        return "measures programs of another MPI"
    if inner == "mpiexec" and mpi == "openmpi" and outer in ("a rigid job", "a malleable job", "a measured job",
                                                             "mpiexec"):
        return "does not support recursive calls"  # says Open MPI; `ductile run` does
    if inner == "mpiexec" and outer == "a malleable job":
        return "was started with 1 processes, but says it has 2"  # it takes itself for the job
    return None


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("outer", OUTER)
def test_nested(mpi, outer, inner):
    how, size = INNER[inner](mpi)
    words = OUTER[outer](mpi, [*how, example("rank_printer", mpi), "3"])
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL,
                          env=dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
    if why := refusal(mpi, outer, inner):
        assert done.returncode != 0 and why in done.stderr
        return
    assert (done.returncode, done.stdout) == (0, f"begins with {size}\nends with {size}\n"), done.stderr


@pytest.mark.parametrize("kind", ["mpi", "rigid"])
def test_what_a_process_spawns_is_not_of_the_job(kind, mpi="openmpi"):
    done = subprocess.run(ductile_run("-n", 1, "--kind", kind) + [example("spawns", mpi)], capture_output=True,
                          text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (0, "1 with 2 more\n"), done.stderr
