"""`ductile-slurm serve` drives a partition of a real Slurm: jobs by sbatch start where it says, and are
resized; what happens behind its back is noticed; nothing is lost when it, or Slurm, dies."""

import os
import pathlib
import time

import pytest

from slurm import wait_for
from slurm_controller import controlled, fresh

# Without accounts Slurm resizes each job once.
IS_ACCOUNTED = os.environ.get("DUCTILE_TEST_SLURM") == "all"
accounted = pytest.mark.skipif(not IS_ACCOUNTED, reason="takes long: DUCTILE_TEST_SLURM=all, or ./test --slurm")
RESIZABLE = pathlib.Path(__file__).resolve().parent / "programs" / "resizable.py"


@pytest.fixture(scope="module")
def cluster():
    accounts = ["--accounting"] if IS_ACCOUNTED else []
    with controlled(cluster=("--nodes", "8", *accounts)) as controller:
        yield controller


@pytest.fixture
def controller(cluster):
    with fresh(cluster, policy="elastic") as controller:
        yield controller


@pytest.fixture
def easy(cluster):
    with fresh(cluster) as controller:
        yield controller


def resizable(seconds=1000, how="take", options=""):
    return f"#!/bin/sh\n{options}\nexec {RESIZABLE} {seconds} {how}\n"


def hosts(controller, number):
    """Where the program of a job is."""
    text = (controller.slurm.out / f"hosts.{number}").read_text()
    return sorted(each.split(":")[0] for each in text.split(","))


def has(controller, number, count):
    """All agree that the job has so many nodes."""
    slurm = controller.slurm
    def agrees():
        job = controller.queue().get(number)
        nodes = slurm.nodes_of(number)
        file = slurm.out / f"hosts.{number}"
        return (job and job["nodes"] == count and len(nodes) == count and file.exists()
                and hosts(controller, number) == sorted(nodes))
    wait_for(agrees, f"job {number} on {count} nodes")


def test_jobs_start_where_the_controller_says(easy):
    slurm = easy.slurm
    first = slurm.submit("-N5", "--exclude=n1")
    second = slurm.submit("-N4", "-t", "10")
    third = slurm.submit("-N3", "-t", "5")
    slurm.wait_for_state(first, "RUNNING")
    slurm.wait_for_state(third, "RUNNING")
    assert slurm.state(second) == "PENDING"
    assert "n1" not in slurm.nodes_of(first)
    wait_for(lambda: easy.queue()[third]["state"] == "RUNNING", "that the controller has heard of it")
    slurm.call("scancel", first)
    slurm.wait_for_state(second, "RUNNING")
    assert first not in easy.queue()


def test_malleable_jobs_shrink_for_others_and_grow_again(controller):
    slurm = controller.slurm
    large = slurm.submit(script=resizable(options="#DUCTILE --type malleable -N 8 --min-nodes 2"))
    has(controller, large, 8)
    small = slurm.submit("-N4", script="#!/bin/sh\nsleep 2\n")
    slurm.wait_for_state(small, "RUNNING", "COMPLETED")
    has(controller, large, 4)
    if IS_ACCOUNTED:
        has(controller, large, 8)  # when that has ended
    slurm.call("scancel", large)
    wait_for(lambda: not controller.queue(), "no job")


@accounted
def test_a_program_that_refuses_keeps_its_nodes(controller):
    slurm = controller.slurm
    large = slurm.submit(script=resizable(how="refuse", options="#DUCTILE --type malleable -N 6 --min-nodes 2"))
    has(controller, large, 6)
    slurm.submit("-N4", script="#!/bin/sh\nsleep 1\n")
    wait_for(lambda: "was not resized: no" in controller.log.read_text(), "a refusal")
    assert len(slurm.nodes_of(large)) == 6 and len(hosts(controller, large)) == 6


@accounted
def test_what_is_done_behind_its_back_is_noticed(easy):
    slurm = easy.slurm
    first = slurm.submit("-N8")
    slurm.wait_for_state(first, "RUNNING")
    waits = slurm.submit("-N8")
    wait_for(lambda: waits in easy.queue(), "the second job")
    slurm.call("scancel", waits)
    wait_for(lambda: waits not in easy.queue(), "the end of the second job")
    held = slurm.submit("-N1", "--hold")
    wait_for(lambda: easy.queue().get(held, {}).get("reason") == "JobHeldUser", "a job that its user holds")
    slurm.update(first, "NumNodes=2")
    slurm.call("scontrol", "release", held)
    slurm.wait_for_state(held, "RUNNING")
    wait_for(lambda: easy.queue()[first]["nodes"] == 2, "two nodes")


@accounted
def test_tasks_of_an_array_are_jobs(easy):
    slurm = easy.slurm
    slurm.submit("-N1", "--array=0-4", script="#!/bin/sh\necho $SLURM_ARRAY_TASK_ID > task.$SLURM_ARRAY_TASK_ID\n")
    wait_for(lambda: len(list(slurm.out.glob("task.*"))) == 5, "five tasks")
    wait_for(lambda: not easy.queue(), "no job")


@accounted
def test_who_waits_for_an_allocation_gets_it(easy):
    done = easy.slurm.call("salloc", "-N2", "-t", "1", "sh", "-c", "echo $SLURM_JOB_NUM_NODES")
    assert done.stdout == "2\n"


@accounted
def test_what_cannot_be_kept_is_held_and_says_why(easy):
    slurm = easy.slurm
    slurm.call("scontrol", "create", "reservation", "Reservation=soon", "StartTime=now+60minutes", "Duration=5",
               "Users=root", "Nodes=n1")
    job = slurm.submit("-N1", "--reservation=soon")
    wait_for(lambda: "reservation" in easy.queue().get(job, {}).get("note", ""), "a word")
    assert slurm.state(job) == "PENDING"
    slurm.call("scancel", job)
    wait_for(lambda: job not in easy.queue(), "its end")
    slurm.call("scontrol", "delete", "ReservationName=soon")


@accounted
def test_a_program_of_another_user_is_refused(easy):
    job = easy.slurm.submit("-N1", user="nobody")
    easy.slurm.wait_for_state(job, "RUNNING")
    wait_for(lambda: easy.queue()[job]["state"] == "RUNNING", "its start")
    answer = easy.ask({"do": "job", "job": job + 1000, "pid": 1}, user="nobody")
    assert answer is None  # it waits for a job that has not been heard of
    own = easy.slurm.submit("-N1")
    easy.slurm.wait_for_state(own, "RUNNING")
    wait_for(lambda: easy.queue()[own]["state"] == "RUNNING", "its start")
    answer = easy.ask({"do": "job", "job": own, "pid": 1}, user="nobody")
    assert not answer["ok"] and "another user" in answer["error"]


@accounted
def test_dependencies_are_slurms(easy):
    slurm = easy.slurm
    first = slurm.submit("-N1")
    second = slurm.submit("-N1", f"--dependency=afterany:{first}")
    slurm.wait_for_state(first, "RUNNING")
    wait_for(lambda: second in easy.queue(), "the second job")
    time.sleep(1.5)
    assert slurm.state(second) == "PENDING"
    slurm.call("scancel", first)
    slurm.wait_for_state(second, "RUNNING")


@accounted
def test_a_node_that_fails_is_given_to_nobody(easy):
    slurm = easy.slurm
    job = slurm.submit("-N8", "--no-requeue")
    slurm.wait_for_state(job, "RUNNING")
    for state in ("DRAIN", "DOWN"):  # a node that is only down comes back by itself
        slurm.call("scontrol", "update", "NodeName=n3", f"State={state}", "Reason=fan")
    wait_for(lambda: job not in easy.queue(), "the end of the job")
    next_one = slurm.submit("-N7")
    slurm.wait_for_state(next_one, "RUNNING")
    assert "n3" not in slurm.nodes_of(next_one)
    slurm.call("scontrol", "update", "NodeName=n3", "State=RESUME")
    other = slurm.submit("-N1")
    slurm.wait_for_state(other, "RUNNING")
    assert slurm.nodes_of(other) == ["n3"]


@accounted
@pytest.mark.parametrize("who", ["controller", "slurmctld"])
def test_nothing_is_lost_when_one_dies(controller, who):
    slurm = controller.slurm
    large = slurm.submit(script=resizable(options="#DUCTILE --type malleable -N 6 --min-nodes 2"))
    has(controller, large, 6)
    rigid = slurm.submit("-N2")
    slurm.wait_for_state(rigid, "RUNNING")
    if who == "controller":
        controller.die()
        waits = slurm.submit("-N8", script="#!/bin/sh\ntrue\n")
        controller.begin()
    else:
        slurm.tell("restart", "slurmctld")
        waits = slurm.submit("-N8", script="#!/bin/sh\ntrue\n")
    wait_for(lambda: waits in controller.queue(), "the job of meanwhile")
    slurm.call("scancel", rigid)
    wait_for(lambda: rigid not in controller.queue(), "the end of the rigid job")
    assert slurm.state(large) == "RUNNING" and large in controller.queue()
    slurm.call("scancel", large)
    wait_for(lambda: waits not in controller.queue(), "the end of the job of meanwhile")
