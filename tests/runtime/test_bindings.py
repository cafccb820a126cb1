"""Malleable programs in Fortran and in Python: what they compute is what examples/jacobi computes in C."""

import pathlib
import subprocess

import pytest

from conftest import EXAMPLES, ROOT, example, mpiexec, run
from languages import PYTHON, checksum, fortran, mpi_of_python

PROGRAMS = pathlib.Path(__file__).parent / "programs"
PLATE = (30, 20, 200)


@pytest.fixture(scope="module", name="mpi_of_python")
def fixture_mpi_of_python():
    return mpi_of_python()


@pytest.fixture(autouse=True)
def path_of_python(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES.parent / "python"))


def test_heat_in_fortran(mpi, start, tmp_path):
    program = fortran(mpi, tmp_path, ROOT / "examples/fortran/heat.f90")
    expected = mpiexec(mpi, 2, program, *PLATE)
    assert checksum(expected) == checksum(mpiexec(mpi, 2, example("jacobi_rigid", mpi), *PLATE))
    assert mpiexec(mpi, 3, program, *PLATE) == expected  # without Ductile it is rigid
    job = start(mpi, 2, program, *PLATE, 200, options=["--max", 4, "--torture", 3, "--no-compare"])
    job.wait_for_resizes(3)
    code, out, err = job.finish()
    assert (code, out) == (0, expected), err
    assert "ductile: 3 resizes" in err


def test_packed_data_and_types_in_fortran(mpi, start, tmp_path):
    program = fortran(mpi, tmp_path, PROGRAMS / "packs.f90")
    job = start(mpi, 2, program, 5000, options=["--max", 5])
    job.wait_until_connected()
    assert "list" in job.resize(4).stderr
    for size in (3, 5, 1):
        done = job.resize(size)
        assert done.returncode == 0, done.stderr
    code, out, err = job.finish()
    assert (code, out) == (0, "5000 numbers, time 2500.0\n"), err


def test_fortran_with_the_other_mpi_is_told(tmp_path):
    program = fortran("mpich", tmp_path, PROGRAMS / "packs.f90", link_with="openmpi")
    done = subprocess.run([program, "1"], capture_output=True, text=True)
    assert done.returncode != 0
    assert "this program has MPICH but is linked with libductile-app-openmpi; link it with libductile-app-mpich" in done.stderr


def test_heat_in_python(mpi_of_python, start):
    program = ROOT / "examples/mpi4py/heat.py"
    expected = mpiexec(mpi_of_python, 2, PYTHON, program, *PLATE)
    assert checksum(expected) == checksum(mpiexec(mpi_of_python, 2, example("jacobi_rigid", mpi_of_python), *PLATE))
    job = start(mpi_of_python, 2, pathlib.Path(PYTHON), PROGRAMS / "patiently.py", program, *PLATE, 200,
                options=["--max", 4, "--torture", 3, "--no-compare"], is_patient=False)
    job.wait_for_resizes(3)
    code, out, err = job.finish()
    assert (code, out) == (0, expected), err
    assert "ductile: 3 resizes" in err


def test_packed_data_in_python(mpi_of_python, start):
    job = start(mpi_of_python, 2, pathlib.Path(PYTHON), PROGRAMS / "patiently.py", PROGRAMS / "packs.py", 5000,
                is_patient=False)
    job.wait_until_connected()
    for size in (3, 1, 2):
        done = job.resize(size)
        assert done.returncode == 0, done.stderr
    code, out, err = job.finish()
    assert (code, out) == (0, "5000 words\n"), err


def test_what_raises_in_python_gives_the_resize_up(mpi_of_python, start):
    job = start(mpi_of_python, 2, pathlib.Path(PYTHON), PROGRAMS / "patiently.py", PROGRAMS / "packs.py", 5000,
                "raises", is_patient=False)
    job.wait_until_connected()
    assert job.resize(3).returncode != 0
    code, out, err = job.finish()
    assert (code, out) == (0, "5000 words\n")
    assert "ValueError: they are not to go" in err


WRONG = """
import numpy, ductile_app
job = ductile_app.Job()
for make in (lambda: job.replicate("objects", numpy.array([{}])),
             lambda: job.block("u", 10, array=numpy.zeros(3)),
             lambda: job.replicate("strided", numpy.zeros((4, 4))[:, 1]),
             lambda: job.postpone(1),
             lambda: job.sizes(constraint="odd numbers")):
    try:
        make()
        print("nothing")
    except ductile_app.Error as error:
        print(error)
"""


def test_wrong_calls_in_python_raise(mpi_of_python):
    done = run("run", "-n", 1, "--mpi", mpi_of_python, "--", PYTHON, "-c", WRONG)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "'objects' has Python objects in it: give them over by pack(), pickled"
    assert lines[1] == "'u' is of shape (3,), not (10,)"
    assert lines[2] == "'strided' is not contiguous: numpy.ascontiguousarray() makes it so"
    assert len(lines) == 5 and "nothing" not in lines
