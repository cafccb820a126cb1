#!/usr/bin/env python3
"""A controller whose journal has many jobs: how long it takes to begin, and to answer.

    DUCTILE=build/release/ductile bench/long_life.py [JOBS [FOLDER]]

`long_life_bench`, beside the program, writes a journal of so many jobs that are over (1,000,000), by the core, journal and snapshots of a
controller. Prints its size; how long a start takes until it answers, with snapshots and without, and the memory of the
controller then; the time of `explain` and the memory of its process; and how long `check` reads.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

DUCTILE = pathlib.Path(os.path.abspath(os.environ.get("DUCTILE", "build/release/ductile")))
MAKER = os.environ.get("LONG_LIFE", str(DUCTILE.parent / "bench" / "long_life_bench"))


def start(state, environment):
    begin = time.monotonic()
    server = subprocess.Popen([DUCTILE, "serve", "--local", "64x1", "--state", state],
                              stderr=open(state / "log", "a"))
    while subprocess.run([DUCTILE, "queue", "--json"], env=environment, capture_output=True).returncode:
        assert server.poll() is None, (state / "log").read_text()[-2000:]
    return server, time.monotonic() - begin


def memory(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024


def end(server):
    server.send_signal(signal.SIGKILL)  # as one that crashes: it makes no snapshot
    server.wait()


def main():
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory(prefix="ductile-") as folder:
        state = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else folder) / "state"
        environment = dict(os.environ, DUCTILE_SOCKET=str(state / "socket"))
        begin = time.monotonic()
        print(subprocess.run([MAKER, state, str(jobs)], check=True, text=True, capture_output=True).stdout.strip(),
              f"of {jobs} jobs, written in {time.monotonic() - begin:.0f} s,",
              f"{(state / 'journal.db').stat().st_size / 1e6:.0f} MB")
        for which in ("with snapshots", "with snapshots", "without"):
            if which == "without":
                for snapshot in state.glob("snapshot-*"):
                    snapshot.unlink()
            server, took = start(state, environment)
            print(f"start {which}: {took:.2f} s, {memory(server.pid):.0f} MB")
            if which != "without":
                times = []
                for number in (1, jobs // 2, jobs, jobs // 3, jobs // 7):
                    begin = time.monotonic()
                    done = subprocess.run([DUCTILE, "explain", "--json", str(number)], env=environment, check=True,
                                          text=True, capture_output=True)
                    times.append(time.monotonic() - begin)
                    assert json.loads(done.stdout)["state"] == "over", done.stdout
                print("explain:", ", ".join(f"{1000 * time:.0f} ms" for time in times))
            end(server)
        words = [DUCTILE, "explain", "--history", "--log", state / "journal.db", str(jobs // 2)]
        usage = subprocess.run(["/usr/bin/time", "-f", "%M"] + words, text=True, capture_output=True) \
            if shutil.which("time") else None
        if usage:
            print(f"memory of explain's process: {int(usage.stderr.split()[-1]) / 1024:.0f} MB")
        begin = time.monotonic()
        print(subprocess.run([DUCTILE, "check", "--state", state], text=True, capture_output=True).stdout.splitlines()[-1],
              f"({time.monotonic() - begin:.1f} s)")


main()
