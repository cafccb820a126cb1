"""Clusters that the tests of a file share, one for each variant."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from slurm import JOB_SUBMIT, running  # noqa: E402


@pytest.fixture(scope="session")
def bare():
    """Without our script: Slurm starts the jobs."""
    with running() as slurm:
        yield slurm


@pytest.fixture(scope="session")
def accounted():
    """The same with slurmdbd and MariaDB, which takes a while."""
    if os.environ.get("DUCTILE_TEST_SLURM") != "all":
        pytest.skip("a Slurm with a database is tested with DUCTILE_TEST_SLURM=all, or ./test --slurm")
    with running("--accounting") as slurm:
        yield slurm


@pytest.fixture(scope="session")
def adaptive():
    """Jobs of the adaptive partition wait for a controller."""
    with running("--lua", JOB_SUBMIT) as slurm:
        yield slurm
