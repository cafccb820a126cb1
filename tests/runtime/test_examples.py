"""Every example gives, resized, what it gives under a plain mpiexec."""

import re

import pytest

from conftest import example, mpiexec, run

# Program, arguments, and one more that makes a step take a while.
EXAMPLES = [
    ("nbody", (300, 150), 8),
    ("cg", (400,), 12),
    ("mesh", (200, 300), 8),
    ("heat", (1000, 150), 8),
]


@pytest.mark.parametrize("name, arguments, pause", EXAMPLES)
def test_example(mpi, name, arguments, pause):
    program = example(name, mpi)
    expected = mpiexec(mpi, 2, program, *arguments)
    assert mpiexec(mpi, 3, program, *arguments) == expected
    assert "not solved" not in expected
    done = run("run", "-n", 2, "--max", 4, "--torture", 2, "--no-compare", "--", program, *arguments,
               pause)
    assert (done.returncode, done.stdout) == (0, expected), done.stderr
    assert re.search(r"ductile: [12] resizes", done.stderr), done.stderr
