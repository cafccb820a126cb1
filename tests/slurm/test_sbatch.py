"""ductile workload play --by sbatch: the jobs of a workload in a real Slurm, beside the simulator's."""

import json
import os
import subprocess

from slurm import PATIENCE

LOG = "; MaxNodes: 8\n; MaxProcs: 8\n" + "".join(
    f"{number} {submit} -1 {run} {nodes} -1 -1 {nodes} 60 -1 1 1 1 -1 -1 -1 -1 -1\n"
    for number, submit, run, nodes in [(1, 0, 8, 8), (2, 1, 6, 6), (3, 2, 6, 2), (4, 3, 4, 1)])
BESIDE = "ductile-adaptive 1\ncores_per_node 1\njob 4 type=moldable size=1..2 model=linear\n"


def play(slurm, folder, *words, **more):
    (folder / "log.swf").write_text(LOG)
    (folder / "log.adaptive").write_text(BESIDE)
    return subprocess.run([os.environ["DUCTILE"], "workload", "play", folder / "log.swf", "--by", "sbatch", "--json",
                           "--extra-time", "0", *words],
                          env={**slurm.environment, **more}, text=True, capture_output=True, timeout=PATIENCE, check=False)


def test_jobs_run_in_slurm(bare, tmp_path):
    bare.cancel_all()
    done = play(bare, tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["policy"], told["nodes"]) == ("slurm", 8)
    jobs = told["jobs"]
    assert [job["live"]["state"] for job in jobs] == ["COMPLETED"] * 4
    # Slurm's times are whole seconds, and its scheduler comes by some seconds later than ours; on a busy machine more.
    late = 10
    for job, (submit, run, nodes) in zip(jobs, [(0, 8, {8}), (1, 6, {6}), (2, 6, {2}), (3, 4, {1, 2})]):
        live = job["live"]
        assert submit - 1.5 <= live["submit_s"] <= submit + 1.5 + late
        assert live["sizes"][0]["nodes"] in nodes
        ran = live["end_s"] - live["start_s"]
        assert run / live["sizes"][0]["nodes"] * min(nodes) - 1.5 <= ran <= run + late
    # Who comes behind the first one waits for it.
    assert jobs[1]["live"]["start_s"] >= jobs[0]["live"]["end_s"] - 1
    assert told["live"]["not_completed"] == 0
    assert told["simulated"]["makespan_s"] == 18
    assert 17 <= told["live"]["makespan_s"] <= 18 + 4 * late


def test_what_slurm_refuses_is_told(bare, tmp_path):
    done = play(bare, tmp_path, "--slurm-partition", "none")
    assert done.returncode == 1 and "sinfo" in done.stderr, done.stderr
    done = play(bare, tmp_path, PATH="/nowhere")
    assert done.returncode == 1 and "call it where Slurm is" in done.stderr
