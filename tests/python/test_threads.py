"""Python that ends while threads of it are in C++."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("ductile", reason="the Python module is not built")

PATIENCE = float(os.environ.get("DUCTILE_TEST_PATIENCE", "60"))
PROGRAM = '''
import sys, threading, time

import ductile

class Easy:
    def schedule(self, view):
        for head in view.queue:
            if not view.try_start(head):
                break
        else:
            return
        if view.idle:
            for job in view.shadow(head).fitting():
                view.start(job)

policy, jobs, done = sys.argv[1], int(sys.argv[2]), threading.Event()

def loop():
    while True:
        result = ductile.simulate(generate=f"rigid:jobs={jobs},nodes=50,max_size=20", policy=Easy() if policy == "ours" else policy)
        assert len(result.jobs.job_id) == jobs
        workload = ductile.Workload.generate(f"rigid:jobs={jobs},nodes=50,max_size=20")
        assert len(workload.columns.submit) == jobs
        done.set()

for _ in range(3):
    threading.Thread(target=loop, daemon=True).start()
if sys.argv[3] == "late":
    done.wait()
else:
    time.sleep(float(sys.argv[3]))
print("all that main has to say")
'''


@pytest.mark.parametrize("jobs", ["100", "30000"])
@pytest.mark.parametrize("policy", ["ours", "easy"])
@pytest.mark.parametrize("when", ["0", "0.05", "late"])
def test_ends_while_threads_simulate(tmp_path, policy, jobs, when):
    (tmp_path / "threads.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-B", tmp_path / "threads.py", policy, jobs, when], capture_output=True,
                          text=True, timeout=2 * PATIENCE)
    assert (done.returncode, done.stdout) == (0, "all that main has to say\n"), done.stderr
