"""libductile-app as others use it: installed, found by pkg-config and by CMake, from C and from C++."""

import json
import os
import pathlib
import subprocess

from conftest import EXAMPLES, ROOT, example, mpiexec, run
from languages import PYTHON, mpi_of_python

JACOBI = ROOT / "examples" / "jacobi" / "jacobi.c"
PLATE = (40, 40, 50)
HALF = ROOT / "tests" / "runtime" / "programs" / "half.c"
HEAT = ROOT / "examples" / "heat" / "heat.cpp"
ROD = (400, 80)

CMAKE = """cmake_minimum_required(VERSION 3.20)
project(Consumer LANGUAGES C CXX)
find_package(Ductile REQUIRED COMPONENTS app-@mpi@)
add_executable(jacobi "@jacobi@")
target_link_libraries(jacobi PRIVATE Ductile::app-@mpi@ m)
set(CMAKE_CXX_STANDARD 20)
add_executable(heat "@heat@")
target_link_libraries(heat PRIVATE Ductile::app-@mpi@)
"""


def call(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_installed_library(mpi, start, tmp_path, monkeypatch):
    expected = {"jacobi": mpiexec(mpi, 2, example("jacobi_rigid", mpi), *PLATE),
                "heat": mpiexec(mpi, 3, example("heat", mpi), *ROD)}
    prefix, by_pkg_config, by_cmake = tmp_path / "prefix", tmp_path / "pkg-config", tmp_path / "cmake"
    call("cmake", "--install", EXAMPLES.parent, "--component", "runtime", "--prefix", prefix)

    folder = next(prefix.rglob("pkgconfig"))
    environment = dict(os.environ, PKG_CONFIG_PATH=str(folder), LD_LIBRARY_PATH=str(folder.parent))
    flags = call("pkg-config", "--cflags", "--libs", f"ductile-app-{mpi}", env=environment).split()
    by_pkg_config.mkdir()
    call("cc", JACOBI, "-o", by_pkg_config / "jacobi", *flags, "-lm")
    call("c++", "-std=c++20", HEAT, "-o", by_pkg_config / "heat", *flags)

    call("cc", HALF, "-o", by_pkg_config / "half", f"-L{folder.parent}", "-Wl,--no-as-needed",
         f"-lductile-measure-{mpi}", *flags)

    fortran = call("pkg-config", "--variable=fortran", f"ductile-app-{mpi}", env=environment).strip()
    assert "module ductile_app" in pathlib.Path(fortran).read_text()

    by_cmake.mkdir()
    (by_cmake / "CMakeLists.txt").write_text(
        CMAKE.replace("@mpi@", mpi).replace("@jacobi@", str(JACOBI)).replace("@heat@", str(HEAT)))
    call("cmake", "-S", by_cmake, "-B", by_cmake, f"-DCMAKE_PREFIX_PATH={prefix}")
    call("cmake", "--build", by_cmake)

    # CMake has told its programs where the library is.
    for programs, variables in ((by_pkg_config, environment), (by_cmake, None)):
        for name, arguments in (("jacobi", PLATE), ("heat", ROD)):
            done = run("run", "-n", 2, "--", programs / name, *arguments, env=variables)
            assert (done.returncode, done.stdout) == (0, expected[name]), done.stderr
    with monkeypatch.context() as changed:
        changed.setenv("LD_LIBRARY_PATH", environment["LD_LIBRARY_PATH"])
        job = start(mpi, 2, by_pkg_config / "heat", *ROD, 400)
    job.wait_until_connected()
    assert job.resize(3).returncode == 0
    assert job.finish()[:2] == (0, expected["heat"])

    # What measures is linked instead of preloaded.
    report = tmp_path / "report"
    done = run("run", "--kind", "rigid", "-n", 2, "--mpi", mpi, "--measure", 0.5, "--report", report, "--",
               "env", "-u", "LD_PRELOAD", by_pkg_config / "half", 60, 20, env=environment)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    events = [json.loads(line) for line in report.read_text().splitlines()]
    assert sum(event.get("in_mpi", 0) for event in events) > 0


def test_installed_module_for_python(tmp_path):
    mpi_of_python()
    call("cmake", "--install", EXAMPLES.parent, "--component", "runtime", "--prefix", tmp_path)
    module = next(tmp_path.rglob("ductile_app.py"))
    found = call(PYTHON, "-c", "import ductile_app; print(ductile_app._libductile()._name)",
                 env=dict(os.environ, PYTHONPATH=str(module.parent)))
    assert pathlib.Path(found.strip()).resolve().is_relative_to(tmp_path.resolve())


def test_installed_library_of_threads(tmp_path):
    prefix, by_cmake = tmp_path / "prefix", tmp_path / "cmake"
    pool = ROOT / "examples" / "threads" / "pool.cpp"
    call("cmake", "--install", EXAMPLES.parent, "--component", "runtime", "--prefix", prefix)
    folder = next(prefix.rglob("pkgconfig"))
    environment = dict(os.environ, PKG_CONFIG_PATH=str(folder), LD_LIBRARY_PATH=str(folder.parent))
    flags = call("pkg-config", "--cflags", "--libs", "ductile-threads", env=environment).split()
    call("c++", "-std=c++20", "-pthread", pool, "-o", tmp_path / "pool", *flags)
    by_cmake.mkdir()
    (by_cmake / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(Consumer LANGUAGES CXX)\nset(CMAKE_CXX_STANDARD 20)\n"
        "find_package(Threads REQUIRED)\nfind_package(Ductile REQUIRED COMPONENTS threads)\n"
        f"add_executable(pool \"{pool}\")\ntarget_link_libraries(pool PRIVATE Ductile::threads Threads::Threads)\n")
    call("cmake", "-S", by_cmake, "-B", by_cmake, f"-DCMAKE_PREFIX_PATH={prefix}")
    call("cmake", "--build", by_cmake)
    outputs = [call(tmp_path / "pool", 50, 10, env=environment), call(by_cmake / "pool", 50, 10)]
    assert outputs[0] == outputs[1] and outputs[0].startswith("50 steps: ")
