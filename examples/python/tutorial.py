"""A study in Python: what malleable jobs are worth, under two policies of ours and one of this file's
neighbours. Run it where PYTHONPATH names the module:

    PYTHONPATH=build/release/python python3 examples/python/tutorial.py
"""

import pathlib
import sys

import numpy

import ductile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from easy import Easy  # noqa: E402
from malleable import Malleable  # noqa: E402

# 1. A workload: of a log, of a model, or of columns of your own.
workload = ductile.Workload.generate("rigid:jobs=1000,nodes=200", seed=1, malleable="0.5")
print(workload)
columns = workload.columns
print(f"{(columns.type == 'malleable').mean():.0%} of the jobs are malleable,"
      f" the median asks for {numpy.median(columns.nodes):.0f} nodes")

# 2. A run: a summary, and a column for each thing that jobs.csv has.
easy = ductile.simulate(workload, policy="easy")
print(f"easy: mean wait {easy.summary['mean_wait_s']:.0f} s, utilization"
      f" {easy.summary['utilization']:.3f}")

# 3. The same policy, written in Python, gives the same schedule.
mine = ductile.simulate(workload, policy=Easy())
assert (mine.jobs.starting_time == easy.jobs.starting_time).all()

# 4. Policies that resize jobs: one of ours, one in Python.
for policy in ("mebf", Malleable()):
    result = ductile.simulate(workload, policy=policy, record="malleable.log")
    waits = result.jobs.waiting_time
    print(f"{result.summary['policy']}: mean wait {waits.mean():.0f} s,"
          f" 95 % wait less than {numpy.quantile(waits, 0.95):.0f} s,"
          f" {result.jobs.expands.sum()} expansions, {result.jobs.shrinks.sum()} shrinks")

# 5. Why did this job wait? And does the log give the same decisions again, without asking Python?
longest = result.jobs.job_id[numpy.argmax(waits)]
print(ductile.explain(result, longest))
print(ductile.replay(result, ask=False)["decisions"], "decisions are the same")
