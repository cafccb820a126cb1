"""What a program does after the end of MPI is its right: nothing ends it but who ends the job."""

import json
import os
import pathlib
import re
import socket
import subprocess
import time

import pytest

from conftest import EXAMPLES, PATIENCE, ROOT, example

# Ways to the end (tests/runtime/programs/ends.c) on which work is done.
WAYS = ["fw", "wf", "afr", "fmw", "bfw", "mw", "mfw", "Wf", "afbt", "fwu"]
# Longer than any limit that there once was.
LONG_S = 12


def wait_for(what):
    end = time.monotonic() + 2 * PATIENCE
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def order(job, size):
    """Without waiting for the answer, which comes when the old generation has gone."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(job.socket)
    connection.sendall(json.dumps({"do": "resize", "size": size}).encode() + b"\n")
    return connection


def order_and_wait(job):
    connection = order(job, 3)
    wait_for(lambda: job.status()["generation"] == 1)
    return connection


def folder_of(tmp_path, way):
    return tmp_path / f"{way}-"  # no name begins another one: processes are known by it


def begin(start, mpi, tmp_path, way, seconds, code, program="ends"):
    folder = folder_of(tmp_path, way)
    (folder / "found").mkdir(parents=True)
    return start(mpi, 2, program, folder / "stop", folder / "found", way, seconds, code,
                 options=["--patience", 1], folder=folder, is_patient=False)


def found_by(tmp_path, way):
    return sorted(path.name for path in (folder_of(tmp_path, way) / "found").iterdir())


def test_what_comes_after_the_end_is_done(mpi, start, tmp_path):
    """In the generation that leaves and in the last one, both at the same time."""
    jobs = {way: begin(start, mpi, tmp_path, way, LONG_S, 0) for way in WAYS}
    orders = []
    for job in jobs.values():
        job.wait_until_connected()
        orders.append(order(job, 3))
    for way, job in jobs.items():
        wait_for(lambda job=job: job.status()["generation"] == 1)
        (folder_of(tmp_path, way) / "stop").touch()
    for way, job in jobs.items():
        code, out, err = job.finish()
        all_ranks = ["0.0", "0.1", "1.0", "1.1", "1.2"]
        assert found_by(tmp_path, way) == (["0.1", "1.2"] if "W" in way else all_ranks), (way, err)
        assert (code, out) == (0, "begins\nends\n"), (way, err)
        assert "left with exit code" not in err and "BAD TERMINATION" not in err, (way, err)
        assert "but its program works on" in err
        assert len(job.events("resized")) == 1
    for connection in orders:
        connection.close()


@pytest.mark.parametrize("way", ["fr", "mr", "ft", "fu", "mu"])
def test_the_exit_code_is_that_of_the_program(mpi, start, tmp_path, way):
    job = begin(start, mpi, tmp_path, way, 0, 7)
    job.wait_until_connected()
    (folder_of(tmp_path, way) / "stop").touch()
    code, out, err = job.finish()
    assert (code, out) == (7, "begins\nends\n"), err


FORTRAN = {"mpich": "-lmpichfort", "openmpi": "-lmpi_mpifh"}
PACKAGE = {"mpich": "mpich", "openmpi": "ompi-c"}


def link_ends(mpi, folder, order):
    """`ends`, with its libraries in this order."""
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", PACKAGE[mpi]], capture_output=True, text=True,
                           check=True).stdout.split()
    library = EXAMPLES.parent / "lib"
    own = [f"-L{library}", f"-lductile-app-{mpi}", f"-Wl,-rpath,{library}"]
    libraries = {"MPI first": [*flags, *own], "MPI last": [*own, *flags],
                 "Fortran": ["-DFORTRAN", *own, FORTRAN[mpi], *flags]}[order]
    program = folder / f"ends-{mpi}"
    done = subprocess.run(["cc", f"-I{ROOT / 'include'}", ROOT / "tests/runtime/programs/ends.c", "-o", program,
                           "-Wl,--no-as-needed", *libraries, "-pthread"], capture_output=True, text=True, check=False)
    if "cannot find -l" in done.stderr:
        pytest.skip(f"no library of Fortran: {done.stderr}")
    assert done.returncode == 0, done.stderr
    return program


@pytest.mark.parametrize("order", ["MPI first", "MPI last", "Fortran"])
def test_however_it_is_linked(mpi, start, tmp_path, order):
    """Its calls of MPI_Finalize may not come by way of libductile-app."""
    program = link_ends(mpi, tmp_path, order)
    for way in ["f", "fF", "F", "fb", "bf", "Ff"] + ([] if order == "Fortran" else ["fm", "mf"]):
        job = begin(start, mpi, tmp_path, way, 0, 7, program)
        job.wait_until_connected()
        connection = order_and_wait(job)
        (folder_of(tmp_path, way) / "stop").touch()
        code, out, err = job.finish()
        connection.close()
        assert (code, out) == (7, "begins\nends\n"), (way, err)
        assert "after MPI_FINALIZE" not in err and "BAD TERMINATION" not in err, (way, err)


def test_mpi_has_ended_where_its_end_is_left_out(start, tmp_path, monkeypatch):
    """As far as anybody can ask: MPICH takes each process for one of another host here."""
    monkeypatch.setenv("MPIR_CVAR_NOLOCAL", "1")
    job = start("mpich", 2, "until", tmp_path / "stop", 2000)
    job.wait_until_connected()
    (tmp_path / "stop").touch()
    assert job.finish()[:2] == (0, "right\n")


def test_an_mpi_without_an_end_is_told(tmp_path, mpi="mpich"):
    """Where a library has the name of MPI and is none."""
    own = pathlib.Path(re.search(rf"libductile-app-{mpi}\S* => (\S+)", subprocess.run(
        ["ldd", example("until", mpi)], capture_output=True, text=True, check=True).stdout)[1])
    needed = subprocess.run(["readelf", "-d", own], capture_output=True, text=True, check=True).stdout
    name = re.search(r"NEEDED.*\[(libmpi\S*)\]", needed)[1]
    (tmp_path / "none.c").write_text("int nothing;\n")
    (tmp_path / "asks.c").write_text("int MPI_Finalized(int* flag);\n"
                                     "int main(void) { int flag = 0; return MPI_Finalized(&flag); }\n")
    for words in (["-shared", "-fPIC", "none.c", f"-Wl,-soname,{name}", "-o", name],
                  ["asks.c", "-o", "asks", own, "-Wl,--allow-shlib-undefined", "-Wl,-z,lazy", f"-Wl,-rpath,{own.parent}"]):
        subprocess.run(["cc", *words], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "asks"], capture_output=True, text=True,
                          env=dict(os.environ, LD_LIBRARY_PATH=str(tmp_path)))
    assert (done.returncode, done.stderr) == (2, "ductile: there is no MPI_Finalized of MPI\n")
