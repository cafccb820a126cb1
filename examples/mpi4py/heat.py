"""Heat on a square plate, rows distributed over the processes: examples/jacobi in Python.
Usage: heat.py ROWS COLUMNS ITERATIONS [MILLISECONDS_PER_ITERATION]"""

import sys
import time

import ductile_app
import numpy as np
from mpi4py import MPI

job = ductile_app.Job()
comm, rank, size = job.comm, job.rank, job.size
rows, columns, iterations, milliseconds = (int(word) for word in [*sys.argv[1:], "0"][:4])

iteration = job.replicate("iteration", 0)
now = job.block("plate", rows, shape=columns, halo=1)
after = np.zeros_like(now.array)
begin, end = now.begin, now.end
if job.begin():
    now.own[:] = (np.arange(begin, end)[:, None] * 7919 + np.arange(columns) * 104729) % 1000 / 10.0

up = rank - 1 if rank > 0 and end > begin else MPI.PROC_NULL
down = rank + 1 if rank < size - 1 and end > begin else MPI.PROC_NULL
while iteration < iterations:
    if job.must_leave():
        sys.exit()
    u = now.array
    comm.Sendrecv(u[1], up, 0, u[-1], down, 0)
    comm.Sendrecv(u[-2], down, 1, u[0], up, 1)
    left = np.pad(u[1:-1, :-1], ((0, 0), (1, 0)))
    right = np.pad(u[1:-1, 1:], ((0, 0), (0, 1)))
    after[1:-1] = 0.25 * (u[:-2] + u[2:] + left + right)
    change = comm.reduce(np.abs(after[1:-1] - u[1:-1]).max(initial=0), MPI.MAX)
    u[1:-1] = after[1:-1]
    if rank == 0 and iteration % 100 == 0:
        print(f"iteration {iteration} change {change:.17g}")
    iteration += 1
    time.sleep(milliseconds / 1000)

# A checksum that sees every bit of every value and does not depend on the order.
index = np.arange(begin * columns, end * columns, dtype=np.uint64).reshape(-1, columns)
bits = (now.own.view(np.uint64) ^ index) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(7)
total = comm.reduce(int(bits.sum(dtype=np.uint64)))
if rank == 0:
    print(f"checksum {total % 2**64:016x}")
