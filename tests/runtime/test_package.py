"""libductile-app as others use it: installed, found by pkg-config and by CMake."""

import os
import subprocess

from conftest import EXAMPLES, ROOT, example, mpiexec

PROGRAM = ROOT / "examples" / "jacobi" / "jacobi.c"
ARGUMENTS = (40, 40, 50)

HEAT = ROOT / "examples" / "heat" / "heat.cpp"

CMAKE = """cmake_minimum_required(VERSION 3.20)
project(Consumer LANGUAGES C CXX)
find_package(Ductile REQUIRED COMPONENTS app-@mpi@)
add_executable(consumer "@program@")
target_link_libraries(consumer PRIVATE Ductile::app-@mpi@ m)
set(CMAKE_CXX_STANDARD 20)
add_executable(heat "@heat@")
target_link_libraries(heat PRIVATE Ductile::app-@mpi@)
"""


def call(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_installed_library(mpi, tmp_path):
    expected = mpiexec(mpi, 2, example("jacobi_rigid", mpi), *ARGUMENTS)
    prefix = tmp_path / "prefix"
    call("cmake", "--install", EXAMPLES.parent, "--component", "runtime", "--prefix", prefix)
    folder = next(prefix.rglob("pkgconfig"))
    environment = dict(os.environ, PKG_CONFIG_PATH=str(folder), LD_LIBRARY_PATH=str(folder.parent))
    flags = call("pkg-config", "--cflags", "--libs", f"ductile-app-{mpi}", env=environment).split()
    call("cc", PROGRAM, "-o", tmp_path / "by_pkg_config", *flags, "-lm")
    os.environ["LD_LIBRARY_PATH"] = str(folder.parent)
    try:
        assert mpiexec(mpi, 2, tmp_path / "by_pkg_config", *ARGUMENTS) == expected
    finally:
        del os.environ["LD_LIBRARY_PATH"]

    (tmp_path / "CMakeLists.txt").write_text(
        CMAKE.replace("@mpi@", mpi).replace("@program@", str(PROGRAM))
        .replace("@heat@", str(HEAT)))
    call("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    call("cmake", "--build", tmp_path / "build")
    assert mpiexec(mpi, 2, tmp_path / "build/consumer", *ARGUMENTS) == expected
    assert (mpiexec(mpi, 2, tmp_path / "build/heat", *ARGUMENTS)
            == mpiexec(mpi, 3, example("heat", mpi), *ARGUMENTS))
