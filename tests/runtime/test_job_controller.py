"""`ductile run` in a job of Slurm's, with a controller that is this test. No Slurm: what there is of it is its
variables, and hosts are this one, by an agent that starts what it is told here."""

import json
import os
import subprocess
import time

import pytest

from conftest import PATIENCE, PROGRAM, check, example
from job_controller import JobController


@pytest.fixture
def controller(tmp_path):
    its = JobController(tmp_path / "controller")
    yield its
    its.end()
    for run in Run.all:  # what a failed test leaves
        run.process.terminate()
        run.process.wait(60)
    Run.all.clear()


class Run:
    all = []

    def __init__(self, folder, *options, program="until", mpi="mpich", words=(), **variables):
        agent = folder / "agent"
        agent.write_text("#!/bin/sh\nwhile :; do case $1 in -[olp]) shift 2 ;; -*) shift ;; *) break ;; esac; done\n"
                         "[ $1 != lost ] || exit 1\nshift\nexec sh -c \"$*\"\n")
        agent.chmod(0o755)
        self.stop = folder / "stop"
        environment = dict(os.environ, SLURM_JOB_ID="77", DUCTILE_CONTROLLER=str(folder / "controller"), **variables)
        self.errors = folder / f"errors-{len(Run.all)}"
        self.process = subprocess.Popen(
            [PROGRAM, "run", "-v", "--launcher", "mpiexec", "--agent", agent, "--mpi", mpi, *map(str, options), "--",
             example(program, mpi), *map(str, words or (self.stop, 1000))],
            env=environment, stdout=subprocess.PIPE, stderr=self.errors.open("w"), text=True)
        Run.all.append(self)

    def wait_for_word(self, words):
        """On its standard error output."""
        end = time.monotonic() + PATIENCE
        while words not in self.errors.read_text():
            assert time.monotonic() < end, self.errors.read_text()
            time.sleep(0.02)

    def finish(self):
        self.stop.touch()
        out, _ = self.process.communicate(timeout=PATIENCE)
        err = self.errors.read_text()
        check(err)
        assert (self.process.returncode, out) == (0, "right\n"), err
        return err


def test_gets_its_size_and_orders_with_hosts(controller, tmp_path):
    run = Run(tmp_path)
    first = controller.accept()
    assert first == {"do": "job", "job": 77, "pid": run.process.pid}
    controller.say(ok=True, hosts="h1:2", size=2, max=6)
    status = controller.order(do="status", id="s")
    assert (status["id"], status["size"], status["hosts"], status["max"]) == ("s", 2, "h1:2", 6)
    done = controller.order(do="resize", id=7, size=4, hosts="h1:2,h3:2")
    assert (done["ok"], done["id"], done["size"], done["hosts"]) == (True, 7, 4, {"h1": 2, "h3": 2}), done
    assert [event["hosts"] for event in controller.events if event["event"] == "resized"] == [{"h1": 2, "h3": 2}]
    refused = controller.order(do="resize", id=8, size=4, hosts="h5:4")
    assert not refused["ok"] and "4 processes already" in refused["error"]
    moved = controller.order(do="resize", id=9, size=4, hosts="h5:4", move=True)
    assert (moved["ok"], moved["hosts"]) == (True, {"h5": 4}), moved
    too_few = controller.order(do="resize", id=10, size=5, hosts="h5:4")
    assert "the hosts take 4 processes" in too_few["error"]
    status = controller.order(do="status")
    assert (status["hosts"], status["heard"], status["done"]) == ("h5:4", 9, 9)
    run.finish()
    while controller.events[-1]["event"] != "ended":
        controller.events.append(controller.line())
    assert controller.events[-1]["exit_code"] == 0


def test_is_where_it_was_when_a_resize_is_given_up(controller, tmp_path):
    run = Run(tmp_path, "--start-limit", 4)
    controller.accept()
    controller.say(ok=True, hosts="h1:2", size=2, max=6)
    end = time.monotonic() + PATIENCE
    while controller.order(do="status")["connected"] < 2:
        assert time.monotonic() < end
        time.sleep(0.05)
    # Its mpiexec waits for ever.
    done = controller.order(do="resize", id=7, size=3, hosts="lost:3")
    assert (done["ok"], done["id"], done["size"], done["hosts"]) == (False, 7, 2, {"h1": 2}), done
    status = controller.order(do="status")
    assert (status["hosts"], status["heard"], status["done"]) == ("h1:2", 7, None)
    assert "was given up" in run.finish()


def test_runs_without_a_controller_and_is_found_by_it_later(controller, tmp_path):
    controller.end()
    run = Run(tmp_path, "-n", 2)
    run.wait_for_word("begins with 2 processes")
    time.sleep(0.5)
    controller.listen()
    first = controller.accept()
    assert (first["do"], first["job"], first["size"], first["generation"], first["heard"]) == ("job", 77, 2, 0, None)
    controller.say(ok=True, size=1)  # sizes are as they are
    done = controller.order(do="resize", id=1, size=3)
    assert (done["ok"], done["size"]) == (True, 3), done
    assert "no controller now, and begins with 2 processes" in run.finish()


def test_comes_back_and_says_what_became_of_the_order(controller, tmp_path):
    run = Run(tmp_path)
    controller.accept()
    controller.say(ok=True, hosts="h1:2", size=2, max=6)
    assert controller.order(do="resize", id="a", size=3, hosts="h1:4")["ok"]
    controller.say(do="resize", id="b", size=4, hosts="h1:4")
    controller.end()
    time.sleep(0.2)
    controller.listen()
    again = controller.accept()
    controller.say(ok=True)
    assert again["heard"] in ("a", "b")
    if again["done"] != "b" and again["heard"] == "b" and again["phase"] != "running":
        done = controller.answer()  # under way: who came back hears how it goes
        assert (done["ok"], done["id"], done["size"]) == (True, "b", 4), done
    status = controller.order(do="status")
    assert status["hosts"] == f"h1:{status['size']}" and status["done"] == status["heard"]
    run.finish()


def test_a_refusal_is_told_and_it_runs_and_asks_again(controller, tmp_path):
    run = Run(tmp_path, "-n", 2)
    controller.accept()
    controller.say(ok=False, error="this job has a program already")
    again = controller.accept()
    assert again["size"] == 2
    controller.say(ok=False, error="this job has a program already")
    assert controller.accept()["size"] == 2
    assert "this job has a program already" in run.finish()


@pytest.mark.parametrize("answer", ['{"ok": true, "size": "x"}', '{"ok": true, "size": 0}', "[]", "nonsense",
                                    '{"ok": true, "size": 2, "hosts": "a:b:c"}', '{"ok": true, "size": 9, "max": 1}'])
def test_an_answer_that_makes_no_sense_is_none(controller, tmp_path, answer):
    run = Run(tmp_path, "-n", 1)
    controller.accept()
    controller.connection.sendall(answer.encode() + b"\n")
    assert controller.accept()["size"] == 1
    run.finish()


def test_told_otherwise_it_runs_for_itself(controller, tmp_path):
    run = Run(tmp_path, "-n", 2, "--controller", "none")
    run.finish()
    controller.listener.settimeout(0.1)
    with pytest.raises(TimeoutError):
        controller.listener.accept()
    assert json.dumps(controller.events) == "[]"
