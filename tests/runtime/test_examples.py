"""Every example gives, resized, what it gives under a plain mpiexec."""

import pytest

from conftest import example, mpiexec

# Program and arguments; one more makes a step take a while.
EXAMPLES = [
    ("nbody", (300, 150)),
    ("cg", (400,)),
    ("mesh", (200, 300)),
    ("heat", (1000, 150)),
]


@pytest.mark.parametrize("name, arguments", EXAMPLES)
def test_example(mpi, start, name, arguments):
    program = example(name, mpi)
    expected = mpiexec(mpi, 2, program, *arguments)
    assert mpiexec(mpi, 3, program, *arguments) == expected
    assert "not solved" not in expected
    job = start(mpi, 2, name, *arguments, 200, options=["--max", 4, "--torture", 2, "--no-compare"])
    job.wait_for_resizes(2)
    code, out, err = job.finish()
    assert (code, out) == (0, expected), err
    assert "ductile: 2 resizes" in err
