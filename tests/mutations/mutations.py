#!/usr/bin/python3
"""Breaks the rules of the core one by one, and expects that the tests notice.

Each mutation of table.py is applied to a copy of its source, which is compiled as its build folder compiles it
and linked with the other objects of that folder and the tests: the unit tests of the core, some random runs
against the hostile world, and claims against their naive models. At least one test has to fail; without a
mutation all have to pass.

    cmake --preset plain && cmake --build --preset plain
    mutations.py [--build FOLDER] [--jobs N] [--every N [--first N]] [PART OF A RULE]

All of them take half an hour and more: after a change of src/scheduling try all, or those of the
rules that you touched. ctest tries every 24th, each day from another one on, so that all have their turn in 24
days; it prints from which, and --first repeats that. The texts of all rows are looked up in any case.
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from table import MUTATIONS  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORE = ROOT / "src" / "scheduling"
TESTS = [CORE / name for name in ("booking_test.cpp", "cells_test.cpp", "core_test.cpp",
                               "fair_share_test.cpp", "parts_test.cpp", "pass_test.cpp", "resizing_test.cpp",
                               "runtime_prediction_test.cpp", "state_test.cpp", "timeline_test.cpp")]
TESTS += [CORE / "queue_test.cpp", ROOT / "src" / "policies" / "partitions_test.cpp"]
TESTS += [ROOT / "tests" / name
          for name in ("property/bookings_test.cpp", "property/cells_test.cpp",
                       "property/contract_test.cpp", "property/groups_test.cpp",
                       "property/node_lists_test.cpp", "property/parts_test.cpp",
                       "property/power_claims_test.cpp", "test_main.cpp")]
MODELS = ("Groups.AreDealt*:Groups.AreAllOrNothing*:PowerOfClaims.*:Cells.*:Bookings.*:"
          "PartsOfNodes.*:NodeLists.*")
PARTITIONS = "Partitions*:Depth/*"
# In this order: which tests, and how many random runs. Most of what is wrong at all is wrong in the first
# few, which are tried of all tests before any makes the others.
STEPS = ((f"-*HostileRuns*:{MODELS}:{PARTITIONS}", "800"),
         (f"*HostileRuns*:{MODELS}:{PARTITIONS}", "60"),
         ("*HostileRuns*", "800"), (MODELS, "400"), (PARTITIONS, "400"))
# A step of a mutant may take so many times what it takes without a mutation, on a processor; and so long in
# all, however busy the machine is.
TIMES = 4
TIMEOUT_S = 1200


def sources():
    for floor in ("base", "model", "scheduling", "solver", "policies"):
        for path in sorted((ROOT / "src" / floor).glob("*.cpp")):
            if not path.stem.endswith("_test"):
                yield path
    yield ROOT / "tests" / "support" / "hostile_world.cpp"
    yield ROOT / "tests" / "support" / "random_policy.cpp"


class Build:
    """What a build folder of CMake has made, and how."""

    def __init__(self, folder, scratch):
        self.folder = folder
        self.scratch = scratch
        self.sound = scratch / "sound"
        self.limits = [300] * len(STEPS)  # s, on a processor
        self.commands = {pathlib.Path(each["file"]): shlex.split(each["command"])
                         for each in json.loads((folder / "compile_commands.json").read_text())}
        self.objects = {path: folder / self.output_of(path) for path in [*sources(), *TESTS]}

    def output_of(self, path):
        command = self.commands[path]
        return command[command.index("-o") + 1]

    def compile(self, path, mutant, result):
        """As CMake compiles the source at this path."""
        words = {str(path): str(mutant), self.output_of(path): str(result)}
        command = [words.get(word, word) for word in self.commands[path]] + ["-w"]
        done = subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{path}: does not compile\n{done.stdout}")

    def program(self, objects, result):
        compiler = next(word for word in self.commands[TESTS[0]] if re.search(r"(clang|g)\+\+", word))
        linker = ["-fuse-ld=lld"] if shutil.which("ld.lld") else []
        subprocess.run([compiler, *linker, *objects, "-lgmock", "-lgtest", "-lpthread", "-lClp", "-o", result], check=True)

    def notices(self, program):
        """What fails first; empty if all tests pass."""
        for (tests, cases), limit_s in zip(STEPS, self.limits):
            environment = {**os.environ, "DUCTILE_CASES": cases}
            environment.pop("DUCTILE_SEED", None)
            try:
                done = subprocess.run(
                    ["prlimit", f"--cpu={limit_s}:{limit_s + 5}", program, f"--gtest_filter={tests}",
                     "--gtest_fail_fast", "--gtest_brief=1"],
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                    errors="replace", timeout=TIMEOUT_S, env=environment)
            except subprocess.TimeoutExpired:
                return f"{tests} does not end"
            if done.returncode == -signal.SIGXCPU:
                return f"{tests} does not end in {limit_s} s"
            if done.returncode != 0:
                failed = [line for line in done.stdout.splitlines() if "[  FAILED  ]" in line]
                return failed[0][13:].split(" (")[0] if failed else f"exit code {done.returncode}"
            if program == self.sound:
                used = resource.getrusage(resource.RUSAGE_CHILDREN)
                self.took.append(used.ru_utime + used.ru_stime - sum(self.took))
        return ""

    def is_sound(self):
        """Without a mutation; and sets the limits by it."""
        self.program(self.objects.values(), self.sound)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.took = [used.ru_utime + used.ru_stime]  # what the compiler took, and then each step
        wrong = self.notices(self.sound)
        self.limits = [int(5 + TIMES * step) for step in self.took[1:]]
        return wrong


def places_of(number):
    """Where the text of a row is in its source, wherever the lines break."""
    name, text, _, _ = MUTATIONS[number]
    return list(re.finditer(r"\s+".join(re.escape(word) for word in text.split()),
                            (CORE / name).read_text()))


def out_of_date():
    """What is wrong with rows whose text is not in its source once."""
    wrong = []
    for number, (name, text, _, _) in enumerate(MUTATIONS):
        if (times := len(places_of(number))) != 1:
            wrong.append(f"src/scheduling/{name} has this text {times} times, not once; "
                         f"bring tests/mutations/table.py up to date:\n{text}")
    return wrong


def check(build, number):
    name, _, broken, _ = MUTATIONS[number]
    path = CORE / name
    source = path.read_text()
    places = places_of(number)
    mutant = build.scratch / f"mutant{number}.cpp"
    result, program = mutant.with_suffix(".o"), mutant.with_suffix("")
    mutant.write_text(source[:places[0].start()] + broken + source[places[0].end():])
    try:
        build.compile(path, mutant, result)
        build.program(({**build.objects, path: result}).values(), program)
        caught = build.notices(program)
    except RuntimeError as error:
        return False, str(error)
    finally:
        for leftover in (mutant, result, program):
            leftover.unlink(missing_ok=True)
    return bool(caught), caught or "NO TEST FAILED"


def numbers_of(wanted, every, first):
    """Of the rows with these words each so manieth, from this one on."""
    return [n for n, mutation in enumerate(MUTATIONS) if wanted in mutation[3]][first % every::every]


def run(build, wanted, jobs, every, first):
    begin = time.monotonic()
    if wrong := out_of_date():
        print("\n".join(wrong))
        return 1
    if missing := [path for path in build.objects.values() if not path.exists()]:
        print(f"{missing[0]} is missing; first: cmake --build --preset plain")
        return 2
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        wrong = build.is_sound()
        if wrong:
            print(f"without a mutation: {wrong}")
            return 1
        print(f"without a mutation all tests pass ({time.monotonic() - begin:.0f} s)")
        numbers = numbers_of(wanted, every, first)
        if every > 1:
            print(f"each {every}th, from {first % every} on: --every {every} --first {first % every}", flush=True)
        missed = 0
        for number, (caught, how) in zip(
                numbers, pool.map(lambda n: check(build, n), numbers)):
            missed += not caught
            print(f"{'caught' if caught else 'MISSED'}: {MUTATIONS[number][3]} [{how}]", flush=True)
    print(f"{len(numbers) - missed} of {len(numbers)} mutations caught "
          f"({time.monotonic() - begin:.0f} s)")
    return 1 if missed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "plain",
                        help="build folder of CMake, with the target random_tests built (default: build/plain)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th of them")
    parser.add_argument("--first", type=int, metavar="N", default=datetime.date.today().toordinal(),
                        help="from the N-th on, counted from 0 (default: each day the next one)")
    parser.add_argument("rule", nargs="?", default="", help="only rules with these words")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        build = Build(arguments.build.resolve(), pathlib.Path(temporary))
        return run(build, arguments.rule, arguments.jobs, max(arguments.every, 1), arguments.first)


if __name__ == "__main__":
    sys.exit(main())
