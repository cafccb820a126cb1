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


RESIZING = [
    {"generate": SMALL, "seed": 1, "malleable": 1},
    {"generate": SMALL, "seed": 2, "malleable": "0.4:rho=SM", "moldable": 0.3, "evolving": 0.3},
    {"generate": SMALL, "seed": 3, "malleable": "0.7:s=0..0.2,constraint=pof2", "moldable": 0.2,
     "resize_delay": 30, "refuse": 0.1, "check": True},
    {"generate": SMALL, "seed": 4, "malleable": "0.7:rho=0.05", "evolving": 0.7,
     "reconfiguration": "full:alpha=1..3,b=1..3", "apply_at": "phase_end"},
    {"generate": "lublin:jobs=400,nodes=64", "seed": 5, "malleable": "0.8:s=0..0.1",
     "moldable": 0.2, "failures": "mtbf=1e6,repair=3600"},
    {"generate": SMALL, "seed": 6, "malleable": "0.5:constraint=even", "evolving": 0.5,
     "fairness": "single,single=600"},
]


def same_resizes(first, second):
    same(first, second)
    for name in ("end_nodes", "expands", "shrinks"):
        assert first.jobs[name].tolist() == second.jobs[name].tolist(), name


@pytest.mark.parametrize("workload", RESIZING, ids=str)
@pytest.mark.parametrize("own", [{}, {"expand": "spare", "gap": "shrink+"},
                                 {"expand": "intensive", "gap": "expand+"}], ids=str)
def test_mebf_is_mebf(workload, own):
    named = ",".join(f"{name}={value}" for name, value in own.items())
    same_resizes(ductile.simulate(policy=example("mebf").Mebf(**own), **workload),
                 ductile.simulate(policy="mebf" + (":" + named if named else ""), **workload))


@pytest.mark.parametrize("workload", RESIZING, ids=str)
def test_tide_is_tide(workload):
    same_resizes(ductile.simulate(policy=example("tide").Tide(), **workload),
                 ductile.simulate(policy="tide", **workload))


class Answers(Blocks):
    """As the program does it for those that do not."""

    answers_requests = True

    def schedule(self, view):
        while view.requests:
            request = view.requests[0]
            if not view.try_grant(request, incoming=request.delta > 0):
                view.deny(request)
        super().schedule(view)


@pytest.mark.parametrize("fairness", ["none", "single,single=0", "both,single=600,target=3600"])
def test_grants_are_fair(fairness, tmp_path):
    options = {"generate": SMALL, "seed": 2, "evolving": 0.5, "fairness": fairness}
    mine = ductile.simulate(policy=Answers(1), record=tmp_path / "mine.log", **options)
    ours = ductile.simulate(policy="easy", record=tmp_path / "ours.log", **options)
    same_resizes(mine, ours)
    denied = [" fairness " in (tmp_path / log).read_text() for log in ("mine.log", "ours.log")]
    assert denied == [fairness != "none"] * 2


def test_two_requests_of_a_job():
    def what(view):
        view.start_in_order()
        requests = view.requests
        jobs = [request.job.id for request in requests]
        for request in requests:
            if jobs.count(request.job.id) > 1:
                view.try_grant(request)
                assert len(view.requests) < len(requests) - 1
        for request in requests[1:]:
            if jobs.count(request.job.id) > 1:
                view.deny(request)

    class Both(Fails):
        answers_requests = True

    with pytest.raises(ductile.Error, match="cannot be answered now"):
        for seed in range(1, 50):
            ductile.simulate(generate="rigid:jobs=300,nodes=20,max_size=10", seed=seed,
                             evolving=1, policy=Both(what))


class Plans(Blocks):
    """Plans with holds, and with what others hold beyond their smallest sizes."""

    def schedule(self, view):
        assert set(view.woken_by) & {"submitted", "ended", "resized", "started", "config"}
        view.start_in_order()
        head = view.queue.first
        if head is None:
            return
        whole, extra = view.timeline(), view.timeline(extra_is_free=True)
        assert extra.earliest(head) <= whole.earliest(head)
        self.earlier += extra.earliest(head) < whole.earliest(head)
        plan = view.shadow(head)
        for job in view.queue:
            nodes, length = job.nodes, job.estimate()
            fits = job.nodes <= plan.free_for(job, length)
            assert fits == plan.fits_now(job)
            if fits:
                free = plan.free_for(job, length)
                plan.hold(job, nodes, length)
                assert plan.free_for(job, length) == free - nodes
                plan.reserve(head)
                assert plan.free_for(job, length) <= free - nodes
                self.held += 1
                return

    held = earlier = 0


def test_plans():
    policy = Plans(1)
    ductile.simulate(generate=SMALL, policy=policy, malleable=0.5, seed=3)
    assert policy.held > 10

    class Grows(Plans):
        def schedule(self, view):
            super().schedule(view)
            view.hand_out_idle()

    policy = Grows(1)
    ductile.simulate(generate=SMALL, policy=policy, malleable=0.5, seed=3)
    assert policy.earlier > 10


class Speeds(Blocks):
    def schedule(self, view):
        for job in view.queue:
            assert job.speed() == job.speed(job.preferred) == 1
            assert job.speed(2 * job.preferred) == 2
        super().schedule(view)


def test_speed():
    ductile.simulate(generate=SMALL, policy=Speeds(1), malleable=0.5)


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
    (lambda view: view.timeline().hold(view.queue.first, 51, 1), "not free for so long"),
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
