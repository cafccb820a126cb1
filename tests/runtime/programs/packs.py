"""Packed data in Python: packs.py STEPS [raises]. Process 0 gives all its words to the new process 0, and nobody anything else."""

import pickle
import sys
import time

import ductile_app
import numpy

job = ductile_app.Job()
step = job.replicate("step", 0)
words = []


def pack(to, size):
    assert 0 <= to < size
    if "raises" in sys.argv:
        raise ValueError("they are not to go")
    return pickle.dumps(words) if job.rank == 0 and to == 0 else numpy.empty((0, 3))


def unpack(source, size, data):
    assert 0 <= source < size and bool(data) == (source == job.rank == 0)
    if data:
        words[:] = pickle.loads(data)


job.pack("words", pack, unpack)
job.begin()
while step < int(sys.argv[1]):
    if job.must_leave():
        sys.exit()
    if job.rank == 0:
        words.append(f"step {step}")
    step += 1
    time.sleep(0.05)
if job.rank == 0:
    assert words == [f"step {number}" for number in range(int(sys.argv[1]))]
    print(f"{len(words)} words")
