"""Malleable programs in Fortran and in Python under `ductile serve`: resized again and again, they compute what they compute
alone."""

import random

from languages import PYTHON, fortran, mpi_of_python
from programs import EXAMPLES, ROOT, mpiexec

PLATE = (30, 20, 3000)
PATIENTLY = ROOT / "tests/runtime/programs/patiently.py"


def resize_often(c, job, count):
    draws, sizes = random.Random(5), [2]
    c.wait_for_size(job, 2)
    for _ in range(count):
        sizes.append(draws.choice([size for size in range(1, 5) if size != sizes[-1]]))
        answer = c.ask({"do": "resize", "job": job, "nodes": sizes[-1]})
        assert answer["ok"], answer
        c.wait_for_size(job, sizes[-1])
    (c.folder / "hurry").touch()
    [ended] = c.wait_for_end(job)
    assert ended["state"] == "COMPLETED"
    assert [change["nodes"] for change in ended["sizes"]] == [*sizes, 0]
    return c.output(job)


def test_fifty_resizes_in_fortran(cluster):
    c = cluster("4x1", "easy")
    program = fortran("mpich", c.folder, ROOT / "examples/fortran/heat.f90")
    job = c.submit_patient(0, "-N", 2, "--max-nodes", 4, "--mpi", "mpich", "--", program, *PLATE, 200)
    assert resize_often(c, job, 50) == mpiexec("mpich", 1, program, *PLATE)


def test_resizes_in_python(cluster, monkeypatch):
    mpi, program = mpi_of_python(), ROOT / "examples/mpi4py/heat.py"
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES.parent / "python"))
    c = cluster("4x1", "easy")
    c.environment.update(PATIENT_UNTIL=str(c.folder / "hurry"))
    job = c.submit("-N", 2, "--max-nodes", 4, "--mpi", mpi, "--", PYTHON, PATIENTLY, program, *PLATE, 200)
    output = resize_often(c, job, 8)
    assert output == mpiexec(mpi, 1, PYTHON, program, *PLATE)
