"""Every policy runs the same ten jobs live: their results are right, and the recorded events replayed give
the same decisions. New policies join by themselves."""

import concurrent.futures
import json
import subprocess

import pytest
from conftest import PATIENCE, PROGRAM, Cluster, example

JACOBI = ["60", "60", "60", "10"]


def policies():
    done = subprocess.run([PROGRAM, "policies", "--json"], capture_output=True, text=True)
    # Jobs share nodes in the simulator only.
    return [policy["name"] for policy in json.loads(done.stdout) if not policy["shares_nodes"]]


def run_ten_jobs(policy):
    """What each job was, how it ended, what it wrote; and what the replay says."""
    c = Cluster("4x1", "slurm:bf_interval=1" if policy == "slurm" else policy)  # it waits for its intervals
    try:
        kinds = {}

        def submit(kind, *words):
            kinds[c.submit("-t", 10, *words)] = kind

        script = c.script("sleep 0.$2; echo result $1")
        jacobi = ["--", example("jacobi", "mpich"), *JACOBI]
        ranks = [example("rank_printer", "mpich"), 1]
        submit("script", "-N", 2, script, "script", 3)
        submit("jacobi", "-N", 2, "--min-nodes", 1, "--max-nodes", 4, *jacobi)
        submit("ranks", "-N", 2, "--type", "moldable", "--min-nodes", 1, *ranks)
        submit("script", "-N", 3, script, "script", 1)
        submit("evolving", "-N", 1, "--type", "evolving", "--max-nodes", 4,
               "--", example("evolving", "mpich"), 40, 10)
        submit("jacobi", "-N", 1, "--type", "adaptive", "--min-nodes", 1, "--max-nodes", 3, *jacobi)
        submit("script", "-N", 1, script, "script", 2)
        submit("jacobi", "-N", 3, "--min-nodes", 2, *jacobi)
        submit("ranks", "-N", 2, *ranks)
        submit("script", "-N", 4, script, "script", 0)
        return [(kinds[end["job"]], end, c.output(end["job"]))
                for end in c.wait_for_end(*kinds)], c.replay()
    finally:
        c.end()


@pytest.fixture(scope="module")
def runs():
    """All policies; they mostly wait, so several do so at once."""
    example("jacobi", "mpich")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return {policy: pool.submit(run_ten_jobs, policy) for policy in policies()}


@pytest.fixture(scope="module")
def expected():
    """What the programs say when they are never resized."""
    def output(*words):
        return subprocess.run(["mpiexec.mpich", "-n", "1", *words], capture_output=True, text=True,
                              timeout=PATIENCE, check=True).stdout

    return {"jacobi": output(example("jacobi", "mpich"), *JACOBI),
            "evolving": output(example("evolving", "mpich"), "40").splitlines()[-1]}


@pytest.mark.parametrize("policy", policies())
def test_runs_ten_jobs(policy, expected, runs):
    jobs, replayed = runs[policy].result()
    for kind, end, output in jobs:
        assert end["state"] == "COMPLETED", (end, output)
        if kind == "script":
            assert output == "result script\n"
        elif kind == "jacobi":
            assert output == expected["jacobi"]
        elif kind == "evolving":
            assert output.splitlines()[-1] == expected["evolving"]
        else:
            size = end["sizes"][0]["nodes"]
            assert output == f"begins with {size}\nends with {size}\n"
    assert replayed["decisions"] >= len(jobs)
