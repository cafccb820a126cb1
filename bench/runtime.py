#!/usr/bin/python3
"""Resizes of real MPI programs, measured: bench/runtime.py BUILD [ROUNDS] [--part NAME] [--mpi NAME].

BUILD is a build folder with the program, the benchmarks and the examples (release, with
DUCTILE_BUILD_TESTS=ON for the programs of the tests). Prints, for each MPI, the seven resizes of 1.6 MB of state, the rate of
large hand-overs beside that of plain TCP on the same loopback, and the pause of 40 MB that are dealt in small pieces
beside that of the same in blocks."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

SIZES = [1, 2, 4, 8, 15, 8, 4, 2, 1]


class Job:
    def __init__(self, build, mpi, folder, size, program, *arguments):
        self.folder = folder
        self.ductile = build / "ductile"
        self.stop = folder / "stop"
        self.report = folder / "report"
        self.control = folder / "control"
        self.process = subprocess.Popen(
            [self.ductile, "run", "-n", str(size), "--max", "16", "--control", self.control,
             "--report", self.report, "--", build / "examples" / f"{program}-{mpi}", self.stop,
             *map(str, arguments)], stdout=subprocess.PIPE, text=True)
        while not self.control.exists():
            time.sleep(0.01)

    def resize(self, size):
        subprocess.run([self.ductile, "resize", "--socket", self.control, str(size)], check=True,
                       stdout=subprocess.DEVNULL)

    def finish(self):
        self.stop.touch()
        out, _ = self.process.communicate()
        assert (self.process.returncode, out) == (0, "right\n"), out
        return [json.loads(line) for line in self.report.read_text().splitlines()
                if '"resized"' in line]


def plain_tcp(build, megabytes):
    """Bytes per second over the same loopback without Ductile: the better of one connection and four."""
    return max(1e9 * float(subprocess.run([build / "bench" / "plain_tcp_bench", str(megabytes), connections],
                                          check=True, capture_output=True, text=True).stdout)
               for connections in ("1", "4"))


def ms(values):
    return f"{1000 * statistics.median(values):.0f} / {1000 * max(values):.0f}"


def resizes(build, mpi, rounds):
    found = {}
    with tempfile.TemporaryDirectory() as name:
        job = Job(build, mpi, pathlib.Path(name), SIZES[0], "until", 200_000, 2000)
        for _ in range(rounds):
            for size in SIZES[1:]:
                job.resize(size)
        for event in job.finish():
            found.setdefault((event["from"], event["to"]), []).append(event)
    print(f"\n{mpi}: median / worst of {rounds}, ms\n"
          "| resize | request to ready | pause | commit to free |\n|---|---|---|---|")
    for (before, after), events in found.items():
        print(f"| {before} to {after} | " + " | ".join(
            ms([event[key] for event in events])
            for key in ("ready_s", "pause_s", "freed_s")) + " |", flush=True)


def hand_over(build, mpi, _):
    """Hand-overs and plain TCP in turns, so that both meet the same machine."""
    for megabytes in (100, 1000):
        plain = []
        with tempfile.TemporaryDirectory() as name:
            job = Job(build, mpi, pathlib.Path(name), 2, "until", megabytes * 125_000, 2000)
            for size in (4, 2) * 3:
                plain.append(plain_tcp(build, megabytes))
                job.resize(size)
            rates = [event["bytes"] / event["hand_over_s"] for event in job.finish()]
        share = statistics.median(rate / other for rate, other in zip(rates, plain))
        print(f"{mpi}: {megabytes} MB, 2 to 4 and 4 to 2: {statistics.median(rates) / 1e9:.2f} GB/s; plain TCP "
              f"{statistics.median(plain) / 1e9:.2f} GB/s; {100 * share:.0f} % (medians of 6)", flush=True)


def seen(times):
    """Pauses as the program saw them, by the generation that ended them: from the end of an old process's last
    iteration to the beginning of the last new one's first."""
    moments = {}
    for line in times.read_text().splitlines():
        what, generation, moment = line.split()
        moments.setdefault((what, int(generation)), []).append(float(moment))
    return {new: max(joined) - min(moments["left", new - 1])
            for (what, new), joined in moments.items() if what == "joined"}


def pauses(build, mpi, bytes_, block):
    """(from, to) -> pauses, as reported and as the program saw them."""
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        job = Job(build, mpi, folder, 2, "dealt", 40_000_000 // bytes_, bytes_, block, folder / "times")
        for size in PIECES_SIZES:
            job.resize(size)
        events = job.finish()
        by_program = seen(folder / "times")
        for event in events:
            found.setdefault((event["from"], event["to"]), []).append(
                (event["pause_s"], by_program[event["generation"]]))
    return found


PIECES_SIZES = [4, 2, 3, 2]


def pieces(build, mpi, rounds):
    print(f"\n{mpi}: 40 MB dealt by one element beside the same in blocks, medians of {rounds} pairs in turns: ratio of the "
          "pauses (quartiles); pause, ms, as reported (as the program saw it)")
    for bytes_ in (1, 2, 4, 8, 24):
        runs = {0: {}, 1: {}}
        for turn in range(2 * rounds):
            block = (turn // 2 + turn) % 2
            for change, values in pauses(build, mpi, bytes_, block).items():
                runs[block].setdefault(change, []).append([statistics.mean(part) for part in zip(*values)])
        for (before, after), dealt in runs[1].items():
            rows = runs[0][before, after]
            lower, middle, upper = statistics.quantiles([a[0] / b[0] for a, b in zip(dealt, rows)], n=4)
            text = [" ".join(f"{1000 * statistics.median(part):.0f}" for part in zip(*values)) for values in (rows, dealt)]
            print(f"| {bytes_} bytes, {before} to {after} | {middle:.2f} ({lower:.2f} to {upper:.2f}) | {text[0]} | {text[1]} |",
                  flush=True)


PARTS = {"resizes": resizes, "hand-over": hand_over, "pieces": pieces}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("rounds", nargs="?", type=int, default=20)
    parser.add_argument("--part", action="append", choices=PARTS, help="only this one")
    parser.add_argument("--mpi", action="append", choices=("mpich", "openmpi"), help="only this one")
    options = parser.parse_args()
    print(f"load of this machine before: {os.getloadavg()[0]:.1f}, cores: {os.cpu_count()}")
    for mpi in options.mpi or ("mpich", "openmpi"):
        for part in options.part or PARTS:
            PARTS[part](options.build.resolve(), mpi, options.rounds)
    print(f"the load is now {os.getloadavg()[0]:.1f}")


main()
