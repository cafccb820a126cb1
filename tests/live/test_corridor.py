"""Power corridors, live: who changes them, what is refused, that they go on after a restart, and how well they are kept;
paper 003's two policies with real malleable programs, by what was measured of these."""

import json
import socket
import time
import urllib.request

import pytest

from conftest import PATIENCE, PATIENT, example, slowness
from test_watts import draws, metered, power  # noqa: F401

TICK = 30  # s


def corridor(c, *words, **options):
    return power(c, *words, **options)["corridor"]


def malleable(c, *words, program="until"):
    arguments = [c.folder / "done", 100] if program == "until" else [c.folder / "done"]
    return c.submit("--type", "malleable", *words, "--", example(program, "mpich"), *arguments)


def test_it_is_watched_under_any_policy(powered):
    c = powered()
    assert power(c)["corridor"] is None
    done = c.run("power", "--corridor", "500..900")
    assert "the policy easy keeps no power corridor: whether it is kept is only watched" in done.stderr
    shown = corridor(c)
    assert (shown["low_w"], shown["high_w"], shown["until_s"], shown["is_kept"]) == (500, 900, None, False)
    assert shown["is_outside"] and shown["excursions"] == 1 and shown["violations"] == 0
    c.wait_for(lambda: corridor(c)["outside_s"] > 0.5, "some time outside")
    job = c.submit("-N", 2, c.script(PATIENT))
    c.wait_for_size(job, 2)  # 800 W
    shown = corridor(c)
    assert not shown["is_outside"] and shown["excursions"] == 1
    assert shown["outside_ws"] == pytest.approx(100 * shown["outside_s"], rel=1e-6)
    time.sleep(0.3)
    assert corridor(c) == shown, "nothing more"
    said = [" ".join(line.split()) for line in c.run("power").stdout.splitlines()]
    assert "corridor 500..900 W" in said and any(line.startswith("outside ") for line in said)
    more = c.submit("-N", 2, c.script(PATIENT))
    c.wait_for_size(more, 2)  # nobody keeps it
    assert corridor(c)["is_outside"] and corridor(c)["excursions"] == 2
    assert corridor(c, "--corridor", "none") is None
    assert "there is no power corridor" in c.log.read_text()
    c.run("cancel", job, more)
    c.wait_for_end(job, more)
    c.replay()


def test_it_changes_at_its_times_also_after_a_restart(powered):
    c = powered()
    second, third = 3 * slowness(), 6.5 * slowness()  # s
    (c.folder / "day").write_text(f"# of the day\n0 100 inf\n{second} 200 600\n\n{third} 0 1000 # and then\n")
    shown = corridor(c, "--corridor", "day")
    told = time.time()
    assert (shown["low_w"], shown["high_w"]) == (100, None)
    assert shown["until_s"] == pytest.approx(told + second, abs=second - 1)
    c.kill()
    c.start()
    assert corridor(c)["until_s"] == pytest.approx(shown["until_s"], abs=0.5)
    c.wait_for(lambda: corridor(c)["low_w"] == 200, "the second line")
    assert time.time() > shown["until_s"] - 0.5
    c.kill()
    time.sleep(max(0, told + third + 0.5 - time.time()))  # it begins while nobody is there
    c.start()
    shown = corridor(c)
    assert (shown["low_w"], shown["high_w"], shown["until_s"]) == (0, 1000, None)
    assert not shown["is_outside"]


def test_settings_say_one_and_operators_another(powered):
    c = powered("--corridor", "100..900")
    assert corridor(c)["high_w"] == 900
    c.run("power", "--corridor", "100..800")
    c.kill()
    c.start()
    assert corridor(c)["high_w"] == 800, "the settings say what they said before"
    c.stop()
    c.arguments[-1] = "100..700"
    c.start()
    assert corridor(c)["high_w"] == 700
    c.stop()
    del c.arguments[-2:]
    (c.folder / "config.toml").write_text('corridor = "300..inf"\n')
    c.arguments += ["--config", str(c.folder / "config.toml")]
    c.start()
    assert (corridor(c)["low_w"], corridor(c)["high_w"]) == (300, None)
    (c.folder / "config.toml").write_text('corridor = "none"\n')
    c.server.send_signal(1)
    c.wait_for(lambda: corridor(c) is None, "none")
    (c.folder / "config.toml").write_text('corridor = "9..3"\n')
    c.server.send_signal(1)
    c.wait_for_text(c.log, "config.toml:1: corridor: the lower bound, 9 W, is above the upper one, 3 W")


def test_what_cannot_be_is_refused(powered, cluster):
    c = powered()
    for word, said in [("900..500", "--corridor: the lower bound, 900 W, is above the upper one, 500 W; write the lower one first"),
                       ("1..nan", "--corridor: 'nan' is no upper bound"), ("", "--corridor: it is empty"),
                       ("nowhere", "nowhere: the file of a power corridor cannot be read")]:
        assert said in c.run("power", "--corridor", word, code=2).stderr
    for text, said in [("5 100 200\n", "bad:1: time: nothing is said of the time before; begin with a line of time 0"),
                       ("0 100 200\n0 1 2\n", "bad:2: time: is not later"), ("0 100\n", "bad:1: upper bound: is missing"),
                       ("0 -1 5\n", "bad:1: bounds: '-1' is no lower bound"), ("# nothing\n", "bad: says no bounds")]:
        (c.folder / "bad").write_text(text)
        assert said in c.run("power", "--corridor", "bad", code=2).stderr
        assert said in c.run("serve", "--local", "1x1", "--state", c.folder / "no", "--corridor", "bad", code=2).stderr
    for lines in (None, [], "x", [[1, 2]], [[5, 1, 2]], [[0, 1, 2], [0, 1, 2]], [[0, 3, 2]], [[-1, 1, 2]], [[0, -1, 2]],
                  [[0, None, 2]], [[0, 1, "inf"]], [[0, 1, 1e300]], [[1 << 62, 1, 2]], [[0.5, 1, 2]], [[0, 1, 2]] * 10001):
        answer = c.ask({"do": "power", "corridor": lines})
        assert not answer["ok"] and answer["error"].startswith("--corridor: "), (lines if lines is None else lines[:3], answer)
    assert corridor(c) is None
    blind = cluster("2x1")
    assert "it is not known what a node draws" in blind.run("power", "--corridor", "0..5", code=2).stderr


def test_only_operators_change_it(powered):
    c = powered("--corridor", "0..1000")
    c.open_to_others()
    done = c.as_nobody("power", "--corridor", "none")
    assert done.returncode == 1 and "only operators may change the power corridor" in done.stderr
    assert json.loads(c.as_nobody("power", "--json").stdout)["corridor"]["high_w"] == 1000


def test_it_dies_right_before_and_after_a_corridor_is_changed(powered):
    """What was acknowledged holds, with the cap beside it; what was not is there as a whole, or not at all."""
    c = powered("--power-cap", "1000", policy="power_aware")
    seen = set()
    for at in range(1, 9):
        c.stop()
        c.environment["DUCTILE_CRASH_AT"] = str(at)
        c.launch()
        high = 500 + at
        try:
            c.wait_for_socket(c.socket)
            c.ask({"do": "power", "corridor": [[0, at, high]]})
            told = True
        except (OSError, ValueError, AssertionError):
            told = False
        del c.environment["DUCTILE_CRASH_AT"]
        if c.server.poll() is None:
            c.kill()
        c.server.wait()
        c.start()
        now = power(c)
        is_there = now["corridor"] is not None and now["corridor"]["high_w"] == high
        assert is_there or not told, (at, c.log.read_text())
        assert now["cap_w"] == 1000 and (now["corridor"] is None or now["free_w"] == now["corridor"]["high_w"] - 400)
        seen.add((told, is_there))
    assert (True, True) in seen, seen
    c.replay()


def test_the_cap_and_the_corridor_are_kept_beside_one_another(powered):
    c = powered("--power-cap", "700", "--corridor", "0..1000", policy="power_aware:tick=1")
    assert (power(c)["cap_w"], power(c)["free_w"], corridor(c)["is_kept"]) == (700, 300, True)
    assert "warning" not in power(c)
    assert power(c, "--cap", "none")["free_w"] == 600
    assert power(c, "--cap", 1200)["free_w"] == 600
    assert power(c, "--corridor", "0..500")["free_w"] == 100
    c.kill()
    c.start()
    assert (power(c)["cap_w"], power(c)["free_w"], corridor(c)["high_w"]) == (1200, 100, 500)
    # Under another policy the corridor is only watched.
    c.stop()
    c.arguments[c.arguments.index("power_aware:tick=1")] = "easy"
    c.start()
    assert (power(c)["free_w"], corridor(c)["is_kept"]) == (800, False)
    c.wait_for_text(c.log, "the policy easy keeps no power corridor")
    c.stop()
    c.arguments[c.arguments.index("easy")] = "power_aware:tick=1"
    c.start()
    assert power(c)["free_w"] == 100
    assert power(c, "--corridor", "none")["free_w"] == 800
    c.replay()


def test_metrics_tell_how_it_is_kept(powered):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    c = powered("--metrics", port, "--corridor", "500..inf")

    def lines():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as answer:
            return dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line[0] != "#")

    c.wait_for(lambda: float(lines()["ductile_power_outside_seconds_total"]) > 0.5, "some time outside")
    now = lines()
    assert now['ductile_power_corridor_watts{bound="lower"}'] == "500"
    assert now['ductile_power_corridor_watts{bound="upper"}'] == "+Inf"
    assert float(now["ductile_power_outside_joules_total"]) == pytest.approx(
        100 * float(now["ductile_power_outside_seconds_total"]), rel=1e-2)
    assert now["ductile_power_violations_total"] == "0"
    c.wait_for(lambda: lines()["ductile_power_violations_total"] == "1", "a violation, after 30 s")
    assert corridor(c)["violations"] == 1


# ---- The policies of paper 003 ---------------------------------------------------------------------


def inside(c):
    now = power(c)
    its = now["corridor"]
    return its["low_w"] <= now["drawn_w"] <= (its["high_w"] or 1e9) and now


def test_three_corridors_are_gone_through(metered):
    """As in paper 003, V-C, with programs of which one draws 250 W a node, and the other one 170 W."""
    c = metered("--corridor", "0..10000", policy="power_aware:tick=1")
    for job, watts in ((1, 250), (2, 170)):
        draws(c, job, *[watts] * 4)
    jobs = [malleable(c, "-N", 1, "--min-nodes", 1, "--max-nodes", 4, "--watts", "110-300") for _ in range(2)]
    assert jobs == [1, 2]
    for job in jobs:
        c.wait_for_size(job, 1)
    for job, watts in ((1, 250), (2, 170)):
        c.wait_for(lambda: c.queue()[job]["believed_w"] == watts, f"{watts} W")
    assert power(c)["drawn_w"] == 400 + 150 + 70
    for low, high in ((700, 900), (600, 650), (680, 780)):
        begin = time.monotonic()
        assert corridor(c, "--corridor", f"{low}..{high}")["is_kept"]
        c.wait_for(lambda: inside(c), f"{low} to {high} W")
        took = time.monotonic() - begin
        for job in jobs:
            c.wait_for(lambda: c.queue()[job]["state"] == "RUNNING", "the end of the resize")
        rows = c.queue()
        assert low <= power(c)["drawn_w"] == 400 + 150 * rows[1]["nodes"] + 70 * rows[2]["nodes"] <= high
        print(f"{low}..{high} W: {rows[1]['nodes']} and {rows[2]['nodes']} nodes after {took:.1f} s")
        assert took < TICK or power(c)["corridor"]["violations"] > 0
    (c.folder / "done").touch()
    for its in c.wait_for_end(*jobs):
        assert its["state"] == "COMPLETED" and c.output(its["job"]) == "right\n"
    c.replay()


def test_a_lowered_cap_is_kept_within_a_tick(metered):
    c = metered(policy="power_aware")  # a tick of 30 s: the cap itself wakes it
    draws(c, 1, *[250] * 4)
    job = malleable(c, "-N", 4, "--min-nodes", 1, "--max-nodes", 4, "--watts", "200-300")
    c.wait_for_size(job, 4)
    c.wait_for(lambda: power(c)["drawn_w"] == 1000, "what was measured")
    begin = time.monotonic()
    c.run("power", "--cap", 720)
    c.wait_for(lambda: power(c)["drawn_w"] <= 720, "less power")
    took = time.monotonic() - begin
    print(f"kept after {took:.1f} s")
    assert took < TICK
    assert c.wait_for_size(job, 2)
    assert "to keep the power corridor" in c.run("explain", job).stdout
    c.kill()
    c.start()
    assert power(c)["drawn_w"] == 700
    c.finishes_right(job)
    c.replay()


@pytest.mark.parametrize("key", ["mtct", "reversed"])
def test_who_is_shrunk_is_who_was_measured_to_communicate_most(cluster, key):
    c = cluster("5x1", f"perf_aware:tick=1,key={key}", "--measure", 0.5)
    shapes = {"talks": (500, 300), "computes": (30000, 1)}
    jobs = {name: c.submit("-N", 2, "--min-nodes", 1, "--max-nodes", 2, "--type", "malleable", "--",
                           example("chats", "mpich"), c.folder / "done", *shape) for name, shape in shapes.items()}
    for job in jobs.values():
        c.wait_for_size(job, 2)
    for job in jobs.values():
        c.wait_for(lambda: c.queue()[job]["mtct"], "a measurement")
    mtct = {name: c.queue()[job]["mtct"] for name, job in jobs.items()}
    print(mtct)
    assert mtct["talks"] > 2 * mtct["computes"]
    waits = c.submit("-N", 2, c.script(PATIENT))
    c.wait_for_size(waits, 2)
    shrunk = "talks" if key == "mtct" else "computes"
    rows = c.queue()
    assert {name: rows[job]["nodes"] for name, job in jobs.items()} == {
        name: 1 if name == shrunk else 2 for name in jobs}, mtct
    c.run("cancel", waits)
    (c.folder / "done").touch()
    for its in c.wait_for_end(*jobs.values()):
        assert its["state"] == "COMPLETED" and c.output(its["job"]) == "right\n"
    c.replay()
