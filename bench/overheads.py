#!/usr/bin/python3
"""What papers measured of their runtimes, measured here: bench/overheads.py BUILD [PART...] [--mpi NAME]
[--runs N].

  d12    expand 1 node by 1 to 14, shrink 15 by 1 to 14, without data (paper 001)
  p8     1 to 32 by one and back, five runs, without data (paper 003)
  p9     latency of a measurement (paper 003)
  mtct   MPI time over compute time against processes and input size (paper 003, Fig. 2)
  layer  what the measuring layer costs a program that does nothing but send small messages
  plain  a program under mpiexec, under `ductile run --kind rigid` and under `ductile run`, which is not resized, in
         turns: round trips of one byte, or with --program another one of each MPI (%M in its path is replaced by
         mpich or openmpi), whole runs

BUILD is a build folder with DUCTILE_BUILD_TESTS=ON. Without a part all but plain are measured, which takes about 20
minutes on an idle machine: p8 five for each MPI, d12 two, layer and mtct three each. All "nodes" are
processes of this machine, which share its cores: figures beyond that number show the machine more than
the runtime."""

import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import tempfile
import time

class Job:
    """`until` without data: it works until a file appears."""

    def __init__(self, mpi, folder, size):
        self.stop, self.report, self.control = folder / "stop", folder / "report", folder / "control"
        self.process = subprocess.Popen(
            [BUILD / "ductile", "run", "-n", str(size), "--max", "32", "--control", self.control, "--report",
             self.report, "--", BUILD / "examples" / f"until-{mpi}", self.stop, "0", "2000"],
            stdout=subprocess.PIPE, text=True)
        while not self.control.exists():
            time.sleep(0.01)

    def resize(self, size):
        subprocess.run([BUILD / "ductile", "resize", "--socket", self.control, str(size)], check=True,
                       stdout=subprocess.DEVNULL)

    def finish(self):
        """(from, to) -> the reports of these resizes."""
        self.stop.touch()
        self.process.communicate()
        found = {}
        for line in self.report.read_text().splitlines():
            event = json.loads(line)
            if event["event"] == "resized":
                found.setdefault((event["from"], event["to"]), []).append(event)
        return found


def total(event):
    return event["ready_s"] + event["agree_s"] + event["gather_s"] + event["hand_over_s"]


def ms(values):
    return f"{1000 * statistics.mean(values):.0f}"


def pause(events):
    return [event["pause_s"] for event in events]


def d12():
    rounds = RUNS or 3
    for mpi in MPIS:
        with tempfile.TemporaryDirectory() as name:
            job = Job(mpi, pathlib.Path(name), 1)
            for _ in range(rounds):
                for more in range(1, 15):
                    job.resize(1 + more)
                    job.resize(1)
                job.resize(15)
                for less in range(1, 15):
                    job.resize(15 - less)
                    job.resize(15)
                job.resize(1)
            found = job.finish()
        print(f"\n{mpi}: mean of {rounds}, ms: order to commit / pause of the program\n"
              "| k | 1 + k | | 15 - k | |\n|---|---|---|---|---|")
        for k in range(1, 15):
            # 1 to 15 and 15 to 1 were ways from one half to the other, too.
            up, down = found[1, 1 + k][:rounds], found[15, 15 - k][:rounds]
            print(f"| {k} | {ms(map(total, up))} | {ms(pause(up))} | {ms(map(total, down))} | "
                  f"{ms(pause(down))} |")


def p8():
    for mpi in MPIS:
        with tempfile.TemporaryDirectory() as name:
            job = Job(mpi, pathlib.Path(name), 1)
            for _ in range(RUNS or 5):
                for size in [*range(2, 33), *range(31, 0, -1)]:
                    job.resize(size)
            found = job.finish()
        print(f"\n{mpi}: mean of {RUNS or 5}, ms: order to commit / pause of the program\n"
              "| n | n-1 to n | | n to n-1 | |\n|---|---|---|---|---|")
        for n in range(2, 33):
            up, down = found[n - 1, n], found[n, n - 1]
            print(f"| {n} | {ms(map(total, up))} | {ms(pause(up))} | {ms(map(total, down))} | "
                  f"{ms(pause(down))} |")


def p9():
    print("\nLatency of a measurement")
    for mpi in MPIS:
        words = [BUILD / "ductile", "run", "-n", "1", "--kind", "mpi"]
        program = ["--", BUILD / "examples" / f"probe_cost-{mpi}", "5000000"]
        plain, timed = [], []
        for _ in range(7):
            for times, options in ((plain, []), (timed, ["--measure", "1"])):
                done = subprocess.run([*words, *options, *program], capture_output=True, text=True,
                                      check=True)
                times.append(float(done.stdout))
        print(f"{mpi}: a probe {statistics.median(plain):.0f} ns, while iterations are timed "
              f"{statistics.median(timed):.0f} ns (medians of 7)")
        with tempfile.TemporaryDirectory() as name:
            job = Job(mpi, pathlib.Path(name), 2)
            times = []
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(job.control))
                lines = connection.makefile()
                for _ in range(2000):
                    begin = time.perf_counter()
                    connection.sendall(b'{"do":"status"}\n')
                    lines.readline()
                    times.append(time.perf_counter() - begin)
            job.finish()
        times.sort()
        print(f"{mpi}: the last values asked for at the control socket: median {times[1000] * 1e6:.0f} us, "
              f"99 % {times[1980] * 1e6:.0f} us, worst {times[-1] * 1e6:.0f} us")


def mtct():
    sizes = (100, 200, 400, 800, 1600)
    for mpi in MPIS:
        print(f"\n{mpi}: MTCT of jacobi_rigid, 4 s each\n| processes | "
              + " | ".join(f"{n} x {n}" for n in sizes) + " |\n" + "|---" * (1 + len(sizes)) + "|")
        for processes in (1, 2, 4, 8):
            row = []
            for n in sizes:
                with tempfile.TemporaryDirectory() as name:
                    report = pathlib.Path(name) / "report"
                    job = subprocess.Popen(
                        [BUILD / "ductile", "run", "--kind", "rigid", "-n", str(processes), "--measure",
                         "1", "--report", report, "--", BUILD / "examples" / f"jacobi_rigid-{mpi}",
                         str(n), str(n), "100000000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    time.sleep(4.5)
                    job.terminate()
                    job.wait()
                    looks = in_mpi = 0
                    # Without the first second, in which it starts.
                    for line in report.read_text().splitlines():
                        event = json.loads(line)
                        if event["event"] == "measured" and event["time_s"] > 1.5:
                            looks += event["looks"]
                            in_mpi += event["in_mpi"]
                row.append(f"{in_mpi / max(1, looks - in_mpi):.3f}")
            print(f"| {processes} | " + " | ".join(row) + " |", flush=True)


def layer():
    """`rate` compares the calls with and without the layer within one run, which no noise of the machine disturbs
    much; what it cannot see, the threads that look, is added beside it, and whole runs are compared, too. In the
    runs without the layer it compares a function with itself: the noise floor of the method."""
    rounds, pairs = RUNS or 11, 1000
    print("\nThe layer of --measure, medians of", rounds, "runs, each with", pairs, "pairs of stretches\n"
          "| | past the layer, ns | through it | calls | noise floor, at worst | all threads | together "
          "| whole runs (quartiles) |\n|---|---|---|---|---|---|---|---|")
    for mpi in MPIS:
        for processes, kind in ((1, "begun"), (2, "begun"), (2, "blocking"), (2, "pingpong")):
            runs = {False: [], True: []}
            for turn in range(2 * rounds):
                is_measured = turn % 2 == 1
                done = subprocess.run(
                    [BUILD / "ductile", "run", "--kind", "rigid", "-n", str(processes), "-c", "1",
                     *(["--measure", "1"] if is_measured else []), "--",
                     BUILD / "examples" / f"rate-{mpi}", str(pairs), kind],
                    capture_output=True, text=True, check=True)
                runs[is_measured].append([float(word) for word in done.stdout.split()])
            past, through, ratio, threads = map(statistics.median, zip(*runs[True]))
            floor = max(abs(run[2] - 1) for run in runs[False])
            whole = [with_layer[1] / without[1] - 1 for without, with_layer in zip(runs[False], runs[True])]
            quartiles = ""
            if rounds > 1:
                lower, _, upper = statistics.quantiles(whole, n=4)
                quartiles = f" ({100 * lower:+.1f} to {100 * upper:+.1f})"
            print(f"| {mpi}, {kind}, {'to itself' if processes == 1 else 'between two'} | {past:.1f} | "
                  f"{through:.1f} | {100 * (ratio - 1):+.2f} % | {100 * floor:.2f} % | {100 * threads:+.2f} % | "
                  f"{100 * (ratio - 1 + threads):+.2f} % | {100 * statistics.median(whole):+.1f} %{quartiles} |",
                  flush=True)


def plain():
    """Runs of the three ways take turns, in an order that goes round, so that other work on the machine meets all
    alike; each is compared with the one under mpiexec beside it."""
    rounds = RUNS or 15
    what = "seconds of whole runs" if PROGRAM else "microseconds of a round trip, median of 20,000"
    print(f"\nAs under mpiexec: {what}; {rounds} turns, {PROCESSES} processes\n"
          "| | mpiexec, median (least) | rigid | | not resized | |\n|---|---|---|---|---|---|")
    for mpi in MPIS:
        words = [word.replace("%M", mpi) for word in PROGRAM] or [BUILD / "examples" / f"roundtrip-{mpi}", "20000"]
        own = ["--oversubscribe"] if mpi == "openmpi" and PROCESSES > os.cpu_count() else []
        own += ["--allow-run-as-root"] if mpi == "openmpi" and os.geteuid() == 0 else []
        size = ["-n", str(PROCESSES)]
        ways = [[f"mpiexec.{mpi}", *own, *size],
                [BUILD / "ductile", "run", "--mpi", mpi, "--kind", "rigid", *size, "--"],
                [BUILD / "ductile", "run", "--mpi", mpi, *size, "--max", "32", "--"]]
        figures = [[], [], []]
        for turn in range(rounds):
            for place in range(3):
                way = (turn + place) % 3
                with tempfile.TemporaryDirectory() as folder:
                    begin = time.perf_counter()
                    done = subprocess.run([*ways[way], *words], capture_output=True, text=True, cwd=folder)
                    took = time.perf_counter() - begin
                if done.returncode != 0:
                    raise SystemExit(f"{ways[way]} {words}: exit code {done.returncode}\n{done.stderr}")
                figures[way].append(took if PROGRAM else float(done.stdout))
        row = f"| {mpi} | {statistics.median(figures[0]):.3f} ({min(figures[0]):.3f}) |"
        for way in (1, 2):
            ratios = [mine / other for mine, other in zip(figures[way], figures[0])]
            lower, middle, upper = statistics.quantiles(ratios, n=4) if rounds > 1 else 3 * ratios
            row += (f" {statistics.median(figures[way]):.3f} ({min(figures[way]):.3f}) | "
                    f"{100 * (middle - 1):+.1f} % ({100 * (lower - 1):+.1f} to {100 * (upper - 1):+.1f}) |")
        print(row, flush=True)


PARTS = {"d12": d12, "p8": p8, "p9": p9, "mtct": mtct, "layer": layer, "plain": plain}
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("build", type=pathlib.Path)
parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
parser.add_argument("--mpi", action="append", choices=("mpich", "openmpi"), help="only this one")
parser.add_argument("--runs", type=int, help="how often (d12: 3, p8: 5, layer: 11, plain: 15)")
parser.add_argument("--processes", type=int, default=2, help="of plain (2)")
parser.add_argument("--program", nargs=argparse.REMAINDER, default=[], help="of plain, with its arguments; the last option")
options = parser.parse_args()
if unknown := set(options.parts) - set(PARTS):
    parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
if options.runs is not None and options.runs < 1:
    parser.error("--runs is at least 1")
PROGRAM, PROCESSES = options.program, options.processes
BUILD, MPIS, RUNS = options.build.resolve(), options.mpi or ("mpich", "openmpi"), options.runs
print(f"load of this machine before: {os.getloadavg()[0]:.1f}, cores: {os.cpu_count()}", flush=True)
for part in options.parts or [name for name in PARTS if name != "plain"]:
    begin = time.monotonic()
    PARTS[part]()
    print(f"\n{part} took {time.monotonic() - begin:.0f} s, the load is now {os.getloadavg()[0]:.1f}", flush=True)
