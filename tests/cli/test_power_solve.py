"""`ductile power solve`: instances of the power corridor's problem in, solutions out, and what is refused."""

import json
import random

import pytest

IDLE, PI, HEAT = 71, 170, 250


def running(job, n, watts, **more):
    return {"id": job, "n": n, "min": 1, "max": 14, "p_min_w": watts, "p_max_w": watts, **more}


def waiting(job, n, watts):
    return {"id": job, "n": n, "p_min_w": watts, "p_max_w": watts}


def instance(lower, upper, run, wait=(), nodes=14):
    return {"nodes": nodes, "idle_w": IDLE, "lower_w": lower, "upper_w": upper, "running": list(run),
            "waiting": list(wait)}


GOLDEN = instance(1700, 2500, [running(1, 2, PI)], [waiting(2, 3, HEAT)])
SOLVERS = [[], ["--solver", "dp"], ["--solver", "lp"], ["--solver", "greedy"]]


def solve(ductile, instances, *options):
    lines = "".join(json.dumps(each) + "\n" for each in instances)
    return ductile.objects("power", "solve", "-", "--json", *options, input=lines)


@pytest.mark.parametrize("options", SOLVERS)
def test_the_golden_example(ductile, tmp_path, options):
    (tmp_path / "one.jsonl").write_text(json.dumps(GOLDEN) + "\n\n")
    out = ductile.output("power", "solve", tmp_path / "one.jsonl", "--json", *options)
    assert out == '{"feasible":true,"idle":2,"change":7,"changed":1,"sizes":{"1":9}}\n'
    assert 9 * PI + 3 * HEAT + 2 * IDLE == 2422


@pytest.mark.parametrize("options", SOLVERS)
def test_the_sets_of_the_evaluation(ductile, options):
    cases = [(1000, 1700, HEAT, 3), (1000, 1700, PI, 7), (1700, 2500, HEAT, 8), (1700, 2500, PI, 14),
             (2500, 3500, HEAT, 14), (2500, 3500, PI, None), (994, 994, HEAT, None)]
    answers = solve(ductile, [instance(low, high, [running(1, 1, watts)]) for low, high, watts, _ in cases],
                    *options)
    assert [each["sizes"]["1"] if each["feasible"] else None for each in answers] == \
        [most for *_, most in cases]
    assert {"feasible": False} in answers


def test_no_bound_and_no_jobs(ductile):
    empty = {"nodes": 14, "idle_w": IDLE, "lower_w": None, "upper_w": None, "running": [], "waiting": []}
    some = instance(None, None, [running(7, 4, PI, constraint="pof2"), running(3, 2, HEAT, constraint="odd")])
    rigid = {"id": 1, "n": 5, "rigid": True, "p_min_w": 100.5, "p_max_w": 170.25}
    answers = solve(ductile, [empty, some, instance(None, 2500, [rigid]), instance(None, None, [rigid], [waiting(2, 10, 1)])])
    assert answers == [{"feasible": True, "idle": 14, "change": 0, "changed": 0, "sizes": {}},
                       {"feasible": True, "idle": 0, "change": 14, "changed": 2, "sizes": {"3": 13, "7": 1}},
                       {"feasible": True, "idle": 9, "change": 0, "changed": 0, "sizes": {"1": 5}},
                       {"feasible": False}]


def test_what_is_solved_holds(ductile):
    draws = random.Random(1)
    instances = []
    for _ in range(200):
        jobs = [running(job, draws.randint(1, 3), draws.randint(72, 400) + draws.choice([0, 0.25]),
                        constraint=draws.choice(["none", "pof2", "even", "odd", "cubic"]))
                for job in range(1, draws.randint(2, 5))]
        lower = draws.randint(900, 2500)
        instances.append(instance(lower, lower + draws.randint(50, 900), jobs, [waiting(9, 1, 200)]))
    exact = solve(ductile, instances)
    assert 20 < sum(each["feasible"] for each in exact) < 190
    for options in SOLVERS[1:]:
        for given, best, found in zip(instances, exact, solve(ductile, instances, *options)):
            assert options[1] != "dp" or found == best
            assert best["feasible"] or not found["feasible"]
            if not found["feasible"]:
                continue
            sizes = {int(job): n for job, n in found["sizes"].items()}
            idle = 14 - 1 - sum(sizes.values())
            watts = sum(sizes[job["id"]] * job["p_min_w"] for job in given["running"]) + 200 + idle * IDLE
            assert found["idle"] == idle >= best["idle"]
            assert given["lower_w"] <= watts <= given["upper_w"]


def test_as_text(ductile):
    lines = json.dumps(GOLDEN) + "\n" + json.dumps(instance(3400, 3500, [running(1, 2, PI)])) + "\n"
    assert ductile.output("power", "solve", "-", input=lines) == "2 idle, job 1 from 2 to 9\ninfeasible\n"


def test_a_large_one_is_solved_by_lp(ductile):
    large = instance(0, 10**7, [running(job, 10, 100 + job / 1000, max=10000) for job in range(1, 201)],
                     nodes=10000)
    line = json.dumps(large) + "\n"
    done = ductile.run("power", "solve", "-", "--json", input=line)
    assert done.returncode == 0 and json.loads(done.stdout)["idle"] == 0
    assert done.stderr == "ductile: standard input:1: too large for dp, solved by lp\n"
    done = ductile.run("power", "solve", "-", "--json", "--solver", "dp", input=line)
    assert done.returncode == 2 and "standard input:1: running: " in done.stderr and "--solver lp" in done.stderr


@pytest.mark.parametrize("change,words", [
    ({"nodes": 0}, "/nodes: is no number from 1 to"),
    ({"nodes": 2.5}, "/nodes: is no whole number"),
    ({"idle_w": None}, "/: 'idle_w' is missing; add it"),
    ({"idle_w": -1}, "/idle_w: is no number from 0 to"),
    ({"lower_w": 2501}, "/lower_w: is above upper_w; write no more than upper_w"),
    ({"runing": []}, "/: 'runing' is not read; correct its name"),
    ({"running": 3}, "/running: is no array"),
    ({"running": [3]}, "/running/0: is no object"),
    ({"running": [running(1, 2, PI, min=5, max=4)]}, "/running/0/min: is above max"),
    ({"running": [running(1, 2, PI, constraint="prime")]}, "/running/0/constraint: 'prime' is no constraint; write none, pof2"),
    ({"running": [running(1, 2, PI, p_min_w=171)]}, "/running/0/p_min_w: is above p_max_w"),
    ({"running": [running(1, 2, PI, rigid=True)]}, "/running/0/min: a rigid job has none"),
    ({"running": [running(1, 2, PI, rigid=1)]}, "/running/0/rigid: is neither true nor false"),
    ({"running": [running(1, 8, PI), running(3, 7, PI)]}, "/running/1/n: running jobs hold more nodes than there are"),
    ({"waiting": [waiting(1, 2, PI)]}, "/waiting/0/id: another job has it, too"),
    ({"waiting": [waiting(2, 0, PI)]}, "/waiting/0/n: is no number from 1 to"),
])
def test_what_is_refused(ductile, tmp_path, change, words):
    (tmp_path / "two.jsonl").write_text(json.dumps(GOLDEN) + "\n" + json.dumps({**GOLDEN, **change}) + "\n")
    done = ductile.run("power", "solve", tmp_path / "two.jsonl", "--json")
    assert done.returncode == 2
    assert done.stderr.startswith(f"ductile: {tmp_path}/two.jsonl:2: {words}"), done.stderr
    assert done.stdout.count("\n") == 1, "the first one was solved"


def test_what_is_no_json_and_no_file(ductile, tmp_path):
    done = ductile.run("power", "solve", "-", input="{\n")
    assert done.returncode == 2 and done.stderr.startswith("ductile: standard input:1: parse error"), done.stderr
    done = ductile.run("power", "solve", tmp_path / "none")
    assert done.returncode == 2 and "cannot be read" in done.stderr
    assert ductile.run("power", "solve").returncode == 2
    done = ductile.run("power", "solve", "-", "--solver", "best", input="")
    assert done.returncode == 2 and "--solver" in done.stderr


def test_a_name_that_is_there_twice_is_refused(ductile):
    done = ductile.run("power", "solve", "-", input='{"nodes":4,"idle_w":1,"upper_w":10,"upper_w":20}\n')
    assert done.returncode == 2 and "standard input:1: 'upper_w' is there twice" in done.stderr


def test_options_of_the_machine_are_refused(ductile):
    done = ductile.run("power", "--cap", "5", "solve", "-", input=json.dumps(GOLDEN))
    assert done.returncode == 2 and "--cap: says nothing to `power solve`" in done.stderr
    done = ductile.run("power", "solve")
    assert done.returncode == 2 and "See 'ductile power solve --help'." in done.stderr
