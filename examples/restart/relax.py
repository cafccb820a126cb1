#!/usr/bin/env python3
"""An iterative program with a checkpoint file, for `ductile run --kind restart`: relaxes the values of a ring, each
towards the mean of its neighbours, with as many processes as it is told.

    ductile run --kind restart --signal USR1 -n 2 --max 8 -- ./relax.py state.json 200000 500

When USR1 comes it writes the file after the iteration in which it is, and ends with exit code 85: "not done". Started
again it reads the file. The values do not depend on the number of processes."""

import json
import multiprocessing
import os
import pathlib
import signal
import sys

STOPPED = 85  # the exit code that `ductile run` takes for a stop at a checkpoint


def relax(part):
    """The middle ones of these values, one iteration later. Integers: exact, whoever computes them."""
    return [(left + 2 * here + right) // 4 for left, here, right in zip(part, part[1:], part[2:])]


def main(file, cells, iterations):
    size = int(os.environ.get("DUCTILE_SIZE", "1"))
    stop = []
    signal.signal(signal.SIGUSR1, lambda *_: stop.append(True))
    values, begin = [(i * i * 7919) % 1_000_003 * 1000 for i in range(cells)], 0
    if file.exists():
        state = json.loads(file.read_text())
        values, begin = state["values"], state["iteration"]
    with multiprocessing.Pool(size, signal.signal, (signal.SIGUSR1, signal.SIG_IGN)) as pool:
        for iteration in range(begin, iterations):
            if stop:
                new = file.with_suffix(".new")
                new.write_text(json.dumps({"values": values, "iteration": iteration}))
                new.rename(file)  # whole, or not at all
                sys.exit(STOPPED)
            ring = [values[-1], *values, values[0]]
            cuts = [cells * rank // size for rank in range(size + 1)]
            parts = pool.map(relax, [ring[low:high + 2] for low, high in zip(cuts, cuts[1:])])
            values = [value for part in parts for value in part]
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # it is done: from here on there is nothing to go on with
    file.unlink(missing_ok=True)
    print(f"after {iterations} iterations the sum of the values is {sum(values)}, their largest {max(values)}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
