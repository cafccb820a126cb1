"""A minute of soak.py. DUCTILE_TEST_SOAK sets how many seconds, DUCTILE_TEST_SEED what is drawn."""

import os
import pathlib
import subprocess
import sys


def test_nothing_is_lost_and_nothing_done_twice_under_a_random_load():
    seconds = os.environ.get("DUCTILE_TEST_SOAK", "45")
    program = pathlib.Path(__file__).with_name("soak.py")
    done = subprocess.run([sys.executable, "-B", program, seconds], capture_output=True, text=True,
                          timeout=float(seconds) + 500)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
