"""`ductile submit` where the controller drives a partition of a real Slurm."""

import subprocess

import pytest

from slurm import PATIENCE, as_user, wait_for
from slurm_controller import DUCTILE, controlled

ARGUMENTS = """#!/bin/sh
#DUCTILE --type malleable -N 4 --min-nodes 2 --sizes even
#DUCTILE --time 7 --job-name script -o out.%j
#SBATCH --nice=3
echo "$@" "$DUCTILE_CONTROLLER"
sleep ${1%% *}
exit 3
"""


@pytest.fixture(scope="module")
def controller():
    with controlled(cluster=("--nodes", "4")) as controller:
        yield controller


def submit(controller, *words, code=0, user=None):
    """What it says on both of its outputs."""
    done = subprocess.run([*as_user(user), DUCTILE, "submit", "--socket", controller.socket, *map(str, words)],
                          text=True, env=controller.slurm.environment, capture_output=True, timeout=PATIENCE,
                          cwd=controller.slurm.out)
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


def number(said):
    out, err = said
    assert out.startswith("submitted job ") and not err, said
    return int(out.split()[-1])


def over(controller, job):
    return wait_for(lambda: next((each for each in controller.ask({"do": "history", "job": job}).get("jobs", ())
                                  if each["end_s"] is not None), None), f"the end of job {job}")


def test_a_script_with_lines_of_options(controller):
    slurm = controller.slurm
    file = slurm.out / "job.sh"
    file.write_text(ARGUMENTS)
    job = number(submit(controller, "-t", "5", file, "1 and", "more"))
    its = slurm.job(job)
    assert (its["name"], its["nice"]) == ("script", 3)
    # Once it has been started Slurm has what it may take at its fewest nodes.
    assert its["time_limit"] in (5, 10)
    ended = over(controller, job)
    assert (ended["type"], ended["state"], ended["exit_code"], ended["sizes"][0]["nodes"]) == ("malleable", "FAILED", 3, 4)
    assert (slurm.out / f"out.{job}").read_text() == f"1 and more {controller.socket}\n"


def test_a_program_of_another_user(controller):
    """Who may submit says Slurm alone."""
    if subprocess.run([*as_user("nobody"), "test", "-x", DUCTILE], check=False).returncode != 0:
        pytest.skip(f"others may not execute {DUCTILE}")
    job = number(submit(controller, "-N", 2, "-t", 1, "--", "sh", "-c", "echo $(id -un) on $SLURM_JOB_NUM_NODES", user="nobody"))
    assert over(controller, job)["user"] == "nobody"
    assert (controller.slurm.out / f"ductile-{job}.out").read_text() == "nobody on 2\n"


def test_who_waits_has_its_exit_code(controller):
    out, _ = submit(controller, "--wait", "-t", 1, "--", "sh", "-c", "exit 4", code=4)
    assert out.startswith("Submitted batch job ")
    _, error = submit(controller, "--wait", "--json", "-t", 1, "true", code=2)
    assert error.startswith("ductile: --wait: sbatch waits, and writes no JSON")


def test_what_slurm_says_is_heard(controller):
    _, error = submit(controller, "-N", 4, "--nodelist", "n1", "true", code=1)
    assert error.startswith("ductile: sbatch: ") and "--nodelist" in error, error
    _, error = submit(controller, "--key", "k", "true", code=2)
    assert error == "ductile: --key: Slurm keeps no keys of submissions; leave it out\n"
    # Who asks without the command is told whom to ask.
    said = controller.ask({"do": "submit", "job": {}})
    assert said == {"ok": False, "code": 1, "error": "jobs are submitted to Slurm here: sbatch --partition=adaptive",
                    "slurm_partition": "adaptive"}
