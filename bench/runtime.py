#!/usr/bin/python3
"""Resizes of real MPI programs, measured: bench/runtime.py BUILD [ROUNDS].

BUILD is a build folder with the program and the examples (release, with DUCTILE_BUILD_TESTS=ON for the
programs of the tests). Prints, for each MPI, the seven resizes of 1.6 MB of state, and the rate of
large hand-overs beside that of plain TCP on the same loopback."""

import json
import os
import pathlib
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

SIZES = [1, 2, 4, 8, 15, 8, 4, 2, 1]


class Job:
    def __init__(self, build, mpi, folder, size, elements, pause):
        self.folder = folder
        self.ductile = build / "ductile"
        self.stop = folder / "stop"
        self.report = folder / "report"
        self.control = folder / "control"
        self.process = subprocess.Popen(
            [self.ductile, "run", "-n", str(size), "--max", "16", "--control", self.control,
             "--report", self.report, "--", build / "examples" / f"until-{mpi}", self.stop,
             str(elements), str(pause)], stdout=subprocess.PIPE, text=True)
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


def plain_tcp(size):
    """Bytes per second from one thread of the kernel's loopback to another."""
    listener = socket.create_server(("127.0.0.1", 0))
    block = bytes(1 << 22)

    def send():
        with socket.create_connection(listener.getsockname()) as connection:
            for _ in range(size // len(block)):
                connection.sendall(block)

    sender = threading.Thread(target=send)
    begin = time.monotonic()
    sender.start()
    connection, _ = listener.accept()
    memory = bytearray(size)
    view = memoryview(memory)
    got = 0
    while count := connection.recv_into(view[got:]):
        got += count
    sender.join()
    return got / (time.monotonic() - begin)


def ms(values):
    return f"{1000 * statistics.median(values):.0f} / {1000 * max(values):.0f}"


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    print(f"load of this machine before: {os.getloadavg()[0]:.1f}, cores: {os.cpu_count()}")
    for mpi in ("mpich", "openmpi"):
        found = {}
        with tempfile.TemporaryDirectory() as name:
            job = Job(build, mpi, pathlib.Path(name), SIZES[0], 200_000, 2000)
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
                for key in ("ready_s", "pause_s", "freed_s")) + " |")
        for megabytes in (100, 1000):
            rates, plain = [], []
            with tempfile.TemporaryDirectory() as name:
                job = Job(build, mpi, pathlib.Path(name), 2, megabytes * 125_000, 2000)
                for _ in range(3):
                    job.resize(4)
                    job.resize(2)
                    plain.append(plain_tcp(megabytes * 1_000_000))
                for event in job.finish():
                    rates.append(event["bytes"] / event["hand_over_s"])
            print(f"{mpi}: {megabytes} MB, 2 to 4 and 4 to 2: {statistics.median(rates) / 1e9:.2f} GB/s; "
                  f"plain TCP, one connection: {statistics.median(plain) / 1e9:.2f} GB/s")


main()
