"""Policies written in Python."""

import importlib.util
import math
import pathlib

import pytest

ductile = pytest.importorskip("ductile", reason="the Python module is not built")
pytest.importorskip("numpy")

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
SMALL = "rigid:jobs=300,nodes=50,max_size=20"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"python/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def same(first, second):
    for name in ("starting_time", "finish_time", "start_nodes", "reason"):
        assert first.jobs[name].tolist() == second.jobs[name].tolist(), name


WORKLOADS = [
    {"workload": EXAMPLES / "kth-sp2-first-5000.swf.xz"},
    {"generate": "rigid:jobs=2000,nodes=100,load=1.1", "seed": 1},
    {"generate": "rigid:jobs=2000,nodes=100", "seed": 2, "malleable": 0.5},
    {"generate": "lublin:jobs=1000,nodes=128", "seed": 3},
    {"generate": SMALL, "seed": 4, "failures": "mtbf=1e5,repair=3600", "check": True},
]


@pytest.mark.parametrize("workload", WORKLOADS, ids=str)
def test_easy_is_easy(workload):
    same(ductile.simulate(policy=example("easy").Easy(), **workload),
         ductile.simulate(policy="easy", **workload))


class Conservative:
    def schedule(self, view):
        plan = view.timeline()
        for job in view.queue:
            if plan.fits_now(job):
                view.start(job)
            else:
                plan.reserve(job)


def test_conservative_by_hand():
    workload = {"generate": SMALL, "seed": 7}
    mine = ductile.simulate(policy=Conservative(), **workload)
    ours = ductile.simulate(policy="conservative", **workload)
    for name in ("starting_time", "finish_time"):
        assert mine.jobs[name].tolist() == ours.jobs[name].tolist(), name


class Blocks:
    def __init__(self, depth):
        self.depth = depth

    def schedule(self, view):
        view.start_and_backfill(self.depth)


@pytest.mark.parametrize("depth, name", [(1, "easy"), (5, "backfill:depth=5"),
                                         (math.inf, "conservative")])
def test_blocks(depth, name):
    same(ductile.simulate(generate=SMALL, policy=Blocks(depth)),
         ductile.simulate(generate=SMALL, policy=name))


class Shortest(Blocks):
    order = "sjf"


def test_order_of_the_class():
    same(ductile.simulate(generate=SMALL, policy=Shortest(1)),
         ductile.simulate(generate=SMALL, policy="easy:order=sjf"))


def test_malleable_example(tmp_path):
    options = {"generate": SMALL, "malleable": 0.6, "evolving": 0.2, "seed": 3, "check": True,
               "resize_delay": "uniform:1..20"}
    easy = ductile.simulate(policy="easy", **options)
    mine = ductile.simulate(policy=example("malleable").Malleable(), record=tmp_path / "run.log",
                            **options)
    assert mine.summary["jobs"] == 300 and mine.summary["jobs_left"] == 0
    assert mine.jobs.shrinks.sum() > 0 and mine.jobs.expands.sum() > 0
    assert mine.summary["mean_wait_s"] < easy.summary["mean_wait_s"]
    # What is recorded needs no policy.
    assert ductile.replay(mine, ask=False)["decisions"] > 300


class Looks(Blocks):
    """Everything that there is to see is there."""

    def schedule(self, view):
        names = [name for name in dir(view) if not name.startswith("_")]
        for name in names:
            getattr(view, name)
        for job in [*view.queue, *view.running, *view.started]:
            for name in dir(job):
                getattr(job, name)
            assert job.estimate() > 0 and job.at_most(job.nodes) == job.nodes
            assert job == job and hash(job) == job.id and f"{job.number}" in repr(job)
        for job in view.running_malleable:
            assert job.expected_end_at(job.min) >= job.expected_end - 1e-3
            assert job.resize_cost(job.min) >= 0
        assert view.idle + view.in_use + view.incoming == view.nodes
        assert len(view.queue) == len(list(view.queue))
        assert view.free_nodes == view.idle + view.incoming
        super().schedule(view)


def test_view():
    options = {"generate": SMALL, "malleable": 0.5}
    same(ductile.simulate(policy=Looks(1), **options), ductile.simulate(policy="easy", **options))


class Fails:
    """A policy that does this in its first pass with a job."""

    def __init__(self, what):
        self.what = what

    def schedule(self, view):
        return self.what(view)


kept = []


def use_kept(view):
    kept.append(view.queue.first)
    return kept[0].nodes


@pytest.mark.parametrize("what, words", [
    (lambda view: 1 / 0, "raised ZeroDivisionError: division by zero"),
    (lambda view: view.start(view.queue.first, 51), r"job 1 cannot start on 51 nodes: it may have"),
    (lambda view: view.start(None), "this is no job of the view"),
    (lambda view: view.start(), "the argument 'job' is missing"),
    (lambda view: view.start(view.queue.first, reason="luck"), "there is no 'luck'"),
    (lambda view: view.start(view.queue.first, sice=3), "there is no argument 'sice'"),
    (lambda view: [view.start(view.queue.first), view.start(view.started[0])],
     "job 1 runs already"),
    (lambda view: view.resize(view.queue.first, 3), "job 1 does not run"),
    (lambda view: view.start(view.queue.first, -1), "-1 is no number of nodes"),
    (lambda view: view.timeline().reserve(view.queue.first, 0), "a job runs on 1 node at least"),
    (lambda view: view.stop(view.queue.first, "cancel"), "no cancel now: it does not run"),
    (lambda view: view.wake_by(float("nan")), "no time in seconds"),
    (lambda view: [], "returned something of type list"),
    (lambda view: view.nothing, "AttributeError"),
    (lambda view: view.backfill(depth=0), "a depth is at least 1"),
])
def test_what_is_not_possible(what, words):
    with pytest.raises(ductile.Error, match=words) as raised:
        ductile.simulate(generate=SMALL, policy=Fails(what))
    text = str(raised.value)
    assert pathlib.Path(__file__).name in text and ": policy Fails: " in text
    if "returned" not in words:
        assert raised.value.__cause__ is not None


def test_jobs_are_of_one_pass():
    kept.clear()
    with pytest.raises(ductile.Error, match="the pass is over|returned something"):
        ductile.simulate(generate=SMALL, policy=Fails(
            lambda view: None if not kept and (kept.append(view.queue.first) or True)
            else kept[0].nodes))


def test_a_plan_ends_with_other_calls():
    def what(view):
        plan = view.timeline()
        view.start_in_order()
        plan.fits_now(view.running[0])

    with pytest.raises(ductile.Error, match="no more true"):
        ductile.simulate(generate=SMALL, policy=Fails(what))


def test_who_decides_nothing():
    result = ductile.simulate(generate=SMALL, policy=Fails(lambda view: None))
    assert result.summary["jobs_left"] == 300 and len(result.jobs.job_id) == 0


def test_interrupts_pass_through():
    def what(view):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ductile.simulate(generate=SMALL, policy=Fails(what))


def test_nothing_leaks():
    import gc
    import sys

    policy = example("easy").Easy()
    for _ in range(5):
        ductile.simulate(generate=SMALL, policy=policy)
    gc.collect()
    before = sys.getrefcount(policy), len(gc.get_objects()), sys.getrefcount(ductile.View)
    for _ in range(5):
        ductile.simulate(generate=SMALL, policy=policy)
    gc.collect()
    assert sys.getrefcount(policy) == before[0]
    assert len(gc.get_objects()) <= before[1] + 50
    assert sys.getrefcount(ductile.View) <= before[2] + 1
