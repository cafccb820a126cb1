#!/usr/bin/env python3
"""How well `ductile predict` predicts: 20 waiting jobs on a live controller, and what then happened.

    DUCTILE=build/release/ductile bench/predict.py [SEED]

Eight virtual nodes under easy; sleepers of 1 to 3 nodes that run for 2 to 12 s are submitted until 20 wait.
Twice: with limits that are their run times and a second, and with limits that are 1 to 3 times as long.
Prints the error of the predicted starts and ends of all that wait.
"""

import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

DUCTILE = os.path.abspath(os.environ.get("DUCTILE", "build/release/ductile"))


def measure(seed, factor):
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="ductile-") as folder:
        state = pathlib.Path(folder) / "state"
        environment = dict(os.environ, DUCTILE_SOCKET=str(state / "socket"))

        def ask(*words):
            done = subprocess.run([DUCTILE, *map(str, words)], env=environment, text=True, check=True,
                                  capture_output=True, cwd=folder)
            return json.loads(done.stdout)

        server = subprocess.Popen([DUCTILE, "serve", "--local", "8x1", "--state", str(state)],
                                  stderr=subprocess.DEVNULL)
        try:
            while not (state / "socket").exists():
                time.sleep(0.02)
            while sum(row["state"] == "PENDING" for row in ask("queue", "--json")["jobs"]) < 20:
                run = draw.uniform(2, 12)
                limit = run * draw.uniform(1, factor) + 1
                ask("submit", "--json", "-N", draw.randint(1, 3), "-t", f"0:{round(limit):02d}",
                    "/bin/sleep", run)
            rows = ask("predict", "--json")["jobs"]
            predicted = {row["job"]: row for row in rows if row["state"] == "PENDING"}
            while ask("queue", "--json")["jobs"]:
                time.sleep(0.5)
            errors, waits = {"start_s": [], "end_s": []}, []
            for job, row in predicted.items():
                truth = ask("history", "--json", job)["jobs"][0]
                for what, values in errors.items():
                    values.append(abs(truth[what] - row[what]))
                waits.append(truth["start_s"] - truth["submit_s"])
            return errors, waits
        finally:
            server.terminate()
            server.wait()


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    for name, factor in (("limits close to run times", 1), ("limits 1 to 3 times too long", 3)):
        errors, waits = measure(seed, factor)
        print(f"{name}: {len(waits)} waiting jobs, median wait {statistics.median(waits):.1f} s; median "
              f"error of the start {statistics.median(errors['start_s']):.1f} s, of the end "
              f"{statistics.median(errors['end_s']):.1f} s; largest of the start "
              f"{max(errors['start_s']):.1f} s")


main()
