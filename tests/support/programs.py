"""The program under test and the built examples. $DUCTILE is the program, $DUCTILE_EXAMPLES the folder of
the examples, NAME-MPI."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = pathlib.Path(os.environ.get("DUCTILE_EXAMPLES", ROOT / "build/quick/examples"))
PROGRAM = os.environ.get("DUCTILE", str(ROOT / "build/quick/ductile"))
LIBRARIES = pathlib.Path(PROGRAM).resolve().parent / "lib"
PATIENCE = int(os.environ.get("DUCTILE_TEST_PATIENCE", "120"))  # s; machines may be slow


def example(name, mpi):
    path = EXAMPLES / f"{name}-{mpi}"
    if not path.exists():
        pytest.skip(f"{path} is not built: is there no {mpi}?")
    return str(path)


def mpiexec(mpi, size, *words):
    """What a user writes without Ductile."""
    options = (["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
               if mpi == "openmpi" else [])
    done = subprocess.run([shutil.which(f"mpiexec.{mpi}") or "mpiexec", *options, "-n", str(size),
                           *map(str, words)], stdout=subprocess.PIPE, text=True, timeout=PATIENCE,
                          check=True)
    return done.stdout


def limit(seconds, mpi="mpich"):
    """What takes so long at most on a machine that has nothing else to do takes so long now: how slowly programs
    start tells."""
    begin = time.monotonic()
    mpiexec(mpi, 2, example("jacobi", mpi), 10, 10, 1)
    return seconds * min(max(1, (time.monotonic() - begin) / 0.3), 8)


def namespaces():
    """What makes a small disk that is ours alone, and goes with its last process; if that is possible."""
    words = ["unshare", "--mount", "--map-root-user"] if os.geteuid() else ["unshare", "--mount"]
    if subprocess.run([*words, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode:
        pytest.skip("no mounts can be made here")
    return words


def check(stderr):
    assert "Sanitizer" not in stderr and "runtime error" not in stderr, stderr


def run(*arguments, timeout=PATIENCE, **options):
    done = subprocess.run([PROGRAM, *map(str, arguments)], text=True, capture_output=True,
                          timeout=timeout, **options)
    check(done.stderr)
    return done


def told_of(pid, file):
    """What /proc says of a process; nothing if it has ended meanwhile."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/{file}").read_bytes()
    return b""


def processes_with(mark):
    """Processes that have this variable, NAME=VALUE, in their environment, without zombies."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            pass
    return found


def compiled(folder, source, compiler, *options):
    """A program whose threads follow, of examples/threads for example; skips if something for it is missing."""
    if not shutil.which(compiler):
        pytest.skip(f"there is no {compiler}")
    program = folder / pathlib.Path(source).stem
    done = subprocess.run([compiler, "-O2", "-Wall", "-Werror", f"-I{ROOT}/include", str(ROOT / source), "-o",
                           str(program), *options], capture_output=True, text=True)
    for missing in ("omp.h", "tbb/"):
        if done.returncode and missing in done.stderr:
            pytest.skip(f"{compiler} finds no {missing}")
    assert done.returncode == 0, done.stderr
    return program


def plainly(program, *words):
    """What a program writes alone, and with one thread."""
    done = subprocess.run([str(program), *map(str, words)], capture_output=True, text=True, check=True,
                          env=dict(os.environ, OMP_NUM_THREADS="1"))
    return done.stdout


def steps(out):
    """How many it says that it made."""
    return int(out.split()[0])
