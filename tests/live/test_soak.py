"""A minute of soak.py, and what it goes by. DUCTILE_TEST_SOAK sets how many seconds, DUCTILE_TEST_SEED what is
drawn."""

import os
import pathlib
import random
import subprocess
import sys

import pytest

from conftest import processes_with
from soak import those_that_fit

SEED = int(os.environ.get("DUCTILE_TEST_SEED", random.SystemRandom().randrange(10 ** 6)))


def test_nothing_is_lost_and_nothing_done_twice_under_a_random_load():
    print(f"DUCTILE_TEST_SEED={SEED}")
    seconds = os.environ.get("DUCTILE_TEST_SOAK", "45")
    program = pathlib.Path(__file__).with_name("soak.py")
    done = subprocess.run([sys.executable, "-B", program, seconds, str(SEED)], capture_output=True, text=True,
                          timeout=float(seconds) + 500)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


def test_processes_are_found_by_the_whole_of_a_variable():
    """Those of job 74 are none of job 7."""
    mark = f"DUCTILE_JOB_FOLDER=/jobs/{os.getpid()}-7"
    name, value = mark.split("=")
    those = [subprocess.Popen(["sleep", "1000"], env={name: value + more}) for more in ("", "4")]
    try:
        assert processes_with(mark) == [those[0].pid]
        assert processes_with(mark + "4") == [those[1].pid]
    finally:
        for process in those:
            process.kill()
            process.wait()


def runs(job, nodelist, limit, kind="rigid"):
    return {"job": job, "state": "RUNNING", "reason": "", "type": kind, "nodelist": nodelist, "start_s": 900,
            "time_limit_s": 100 + limit, "planned_start_s": None, "nodes": 0, "min_nodes": 0}


def waits(job, nodes, limit, planned=None, least=None, kind="rigid", reason="Priority"):
    return {"job": job, "state": "PENDING", "reason": reason, "type": kind, "nodelist": "", "start_s": None,
            "time_limit_s": limit, "planned_start_s": planned, "nodes": nodes, "min_nodes": least or nodes}


# At 1000 s, of 6 nodes.
@pytest.mark.parametrize("policy,jobs,fit", [
    # The first one, everywhere; where sizes are chosen at its smallest.
    ("easy", [runs(1, "0-3", 50), waits(2, 2, 500)], {2}),
    ("fcfs", [runs(1, "0-3", 50), waits(2, 2, 500)], {2}),
    ("easy", [runs(1, "0-3", 50), waits(2, 4, 500, 1050, 2, "moldable")], set()),
    ("fpsma", [runs(1, "0-3", 50), waits(2, 4, 500, None, 2, "moldable")], set()),
    ("equipartition:depth=3", [runs(1, "0-3", 50), waits(2, 4, 500, 1050, 2, "moldable")], {2}),
    ("elastic", [runs(1, "0-3", 50), waits(2, 4, 500, 1050, 2, "malleable")], {2}),
    ("elastic", [runs(1, "0-3", 50), waits(2, 4, 500, 1050, 2, "evolving")], set()),
    # Others before a reservation begins, or beside it.
    ("easy", [runs(1, "0-3", 50), waits(2, 6, 99, 1050), waits(3, 2, 40), waits(4, 2, 60)], {3}),
    ("easy", [runs(1, "0-3", 50), waits(2, 4, 99, 1050), waits(3, 2, 60), waits(4, 3, 9)], {3}),
    ("easy", [runs(1, "0-2", 50), runs(2, "3", 90), waits(3, 5, 99, 1050), waits(4, 1, 60)], set()),
    ("conservative", [runs(1, "0-3", 50), waits(2, 4, 99, 1050), waits(3, 2, 60, 1149)], {3}),
    ("conservative", [runs(1, "0-3", 50), waits(2, 5, 99, 1050), waits(3, 2, 60, 1149)], set()),
    ("easy", [runs(1, "0-3", 50, "malleable"), waits(2, 4, 99, 1050), waits(3, 2, 60)], set()),
    ("fcfs", [runs(1, "0-3", 50), waits(2, 6, 99), waits(3, 2, 40)], set()),
    # Slower at its smallest size; and one that is tried at its largest only.
    ("dbes", [runs(1, "0-3", 50), waits(2, 6, 99, 1050), waits(3, 4, 40, None, 2, "moldable")], set()),
    ("dbes", [runs(1, "0-3", 50), waits(2, 6, 99, 1050), waits(3, 4, 20, None, 2, "moldable")], {3}),
    ("elastic", [runs(1, "0-3", 50), waits(2, 5, 99, 1050), waits(3, 2, 200, None, 1, "moldable")], {3}),
    ("mebf", [runs(1, "0-3", 50), waits(2, 5, 99, 1050), waits(3, 2, 200, None, 1, "moldable")], set()),
    # Promised nodes are nobody else's, and late ones are none.
    ("easy", [runs(1, "0-3", 50), waits(9, 1, 50, reason="Claim"), waits(2, 6, 99, 1050), waits(3, 2, 40)], set()),
    ("fpsma", [runs(1, "0-3", 50), waits(9, 1, 50, reason="Claim"), waits(2, 2, 40)], set()),
    ("easy", [runs(1, "0-3", 0), waits(2, 4, 99, 1001), waits(3, 2, 40)], set()),
])
def test_it_is_known_which_jobs_have_to_start(policy, jobs, fit):
    held = {number for row in jobs for part in [row["nodelist"]] if part
            for number in range(int(part[0]), int(part[-1]) + 1)}
    nodes = [{"node": number, "state": "ALLOCATED" if number in held else "IDLE", "reservation": ""}
             for number in range(6)]
    assert those_that_fit({"policy": policy, "now_s": 1000, "jobs": jobs}, {"nodes": nodes}) == fit
