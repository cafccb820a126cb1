"""Malleable programs that are not in C, as their users build and start them."""

import pathlib
import shutil
import subprocess

import pytest

from programs import EXAMPLES, ROOT

LIBRARIES = EXAMPLES.parent / "lib"
PYTHON = "/usr/bin/python3"  # Debian's, for which its mpi4py is


def fortran(mpi, folder, *sources, link_with=None):
    """A program in Fortran, or the reason why there is none."""
    compiler = shutil.which(f"mpifort.{mpi}")
    if compiler is None or not (LIBRARIES / f"libductile-app-{mpi}.so").exists():
        pytest.skip(f"there is no {mpi} for Fortran")
    program = folder / pathlib.Path(sources[-1]).stem
    done = subprocess.run([compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-std=f2018", "-ffp-contract=off",
                           str(ROOT / "include/ductile/ductile_app.f90"), *map(str, sources), "-o", str(program),
                           f"-L{LIBRARIES}", f"-lductile-app-{link_with or mpi}", f"-Wl,-rpath,{LIBRARIES}"], cwd=folder,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def mpi_of_python():
    """That of mpi4py."""
    done = subprocess.run([PYTHON, "-c", "from mpi4py import MPI; print(MPI.get_vendor()[0])"], capture_output=True,
                          text=True)
    if done.returncode:
        pytest.skip("there is no mpi4py: python3-mpi4py")
    mpi = {"MPICH": "mpich", "Open MPI": "openmpi"}[done.stdout.strip()]
    if not (LIBRARIES / f"libductile-app-{mpi}.so").exists():
        pytest.skip(f"there is no libductile-app-{mpi}")
    return mpi


def checksum(out):
    return out.lower().split()[-1]
