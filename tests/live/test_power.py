"""A cap of power, live: who waits for watts, caps that fall and rise, who may change them, restarts and crashes."""

import json

from conftest import PATIENT, PLATFORM, example


def power(c, *words, **options):
    return json.loads(c.run("power", "--json", *words, **options).stdout)


def again(c, *more):
    c.kill()
    c.start(*more)


def test_a_job_waits_for_watts(powered):
    c = powered("--power-cap", "1000")
    patient = c.script(PATIENT)
    first = c.submit("-N", 2, patient)
    c.wait_for_size(first, 2)
    second = c.submit("-N", 2, patient)
    assert c.queue()[second]["reason"] == "PowerNotAvail"
    assert "2 of its nodes draw 400 W more than idle ones, and 200 W are left" in c.run("explain", second).stdout
    third = c.submit("-N", 1, "-t", 1, patient)
    c.wait_for_size(third, 1)  # there is power for it, and it delays nobody
    assert power(c) == {"ok": True, "cap_w": 1000, "reserved_w": 0, "idle_w": 400, "jobs_w": 600, "promised_w": 0,
                        "free_w": 0, "drawn_w": 1000, "measured_w": 0, "measured_jobs": [], "corridor": None}
    said = c.run("power").stdout.splitlines()
    assert [" ".join(row.split()) for row in said] == [
        "cap 1000 W", "reserved 0 W", "idle draw 400 W", "jobs 600 W", "promised 0 W", "free 0 W", "drawn 1000 W"]
    again(c)
    assert power(c)["free_w"] == 0 and c.queue()[second]["reason"] == "Resources"
    c.run("cancel", third)
    c.wait_for_end(third)
    assert c.queue()[second]["reason"] == "PowerNotAvail"
    c.run("cancel", first)
    c.wait_for_size(second, 2)
    c.run("cancel", second)
    c.wait_for_end(second)
    c.run("power", "--cap", 1234567.5)
    assert c.run("power").stdout.split()[:3] == ["cap", "1234567.5", "W"]
    c.replay()


def test_a_lowered_cap_ends_nobody_and_a_higher_one_starts_who_waits(powered):
    c = powered()
    assert power(c)["cap_w"] is None and power(c)["free_w"] is None
    job = c.submit("-N", 2, "--min-nodes", 1, "--max-nodes", 4, "--type", "malleable", "--",
                   example("until", "mpich"), c.folder / "done", 100)
    c.wait_for_size(job, 2)
    lowered = power(c, "--cap", 500)
    assert (lowered["cap_w"], lowered["free_w"]) == (500, -300)
    again(c)  # it was acknowledged
    assert power(c) == lowered
    waits = c.submit("-N", 1, c.script(PATIENT))
    assert c.queue()[waits]["reason"] == "PowerNotAvail"
    assert "the power cap is now 500 W" in c.run("explain", job).stdout
    assert c.queue()[job]["nodes"] == 2, "easy changes nobody's size, and a cap does not"
    c.run("power", "--cap", 999.5)
    assert c.queue()[waits]["state"] == "PENDING"
    c.run("power", "--cap", 1000)
    c.wait_for_size(waits, 1)
    c.run("power", "--cap", 400)
    c.run("cancel", waits)
    c.wait_for_end(waits)
    waits = c.submit("-N", 1, c.script(PATIENT))
    assert power(c, "--cap", "none")["cap_w"] is None
    c.wait_for_size(waits, 1)
    c.run("cancel", waits)
    c.finishes_right(job)
    c.replay()


def test_growth_ends_at_the_last_watt(powered):
    c = powered("--power-cap", "1100", policy="equipartition")
    job = c.submit("-N", 1, "--min-nodes", 1, "--max-nodes", 4, "--type", "malleable", "--",
                   example("until", "mpich"), c.folder / "done", 100)
    c.wait_for_size(job, 3)  # 600 of 700 W
    c.run("power", "--cap", 1200)
    c.wait_for_size(job, 4)
    c.run("power", "--cap", 600)
    again(c)
    assert c.queue()[job]["nodes"] == 4
    c.finishes_right(job)
    c.replay()


def test_what_operators_say_survives_until_the_settings_say_another_thing(powered):
    c = powered("--power-cap", "1000")
    c.run("power", "--cap", 700)
    again(c)
    assert power(c)["cap_w"] == 700
    assert "the power cap is 700 W, as an operator said; the settings say 1000 W, as before" in c.log.read_text()
    c.stop()
    c.arguments[-1] = "900"
    c.start()
    assert power(c)["cap_w"] == 900
    c.stop()
    c.arguments[-1] = "none"
    c.start()
    assert power(c)["cap_w"] is None
    c.stop()
    del c.arguments[-2:]
    c.start()
    assert power(c)["cap_w"] is None


def test_a_file_is_read_again(powered):
    c = powered()
    c.stop()
    (c.folder / "config.toml").write_text("power_cap_w = 800\n")
    c.arguments += ["--config", str(c.folder / "config.toml")]
    c.start()
    assert power(c)["cap_w"] == 800
    (c.folder / "config.toml").write_text("power_cap_w = 600.5\n")
    c.server.send_signal(1)
    c.wait_for(lambda: power(c)["cap_w"] == 600.5, "the other cap")
    (c.folder / "config.toml").write_text("power_cap_w = -1\n")
    c.server.send_signal(1)
    c.wait_for_text(c.log, "config.toml:1: power_cap_w: '-1' is no power; write watts")
    assert power(c)["cap_w"] == 600.5
    (c.folder / "config.toml").write_text("power_cap_w = 300\n")
    c.server.send_signal(1)
    c.wait_for_text(c.log, "and the power cap is 300 W: no job starts")


def test_it_dies_right_before_and_after_a_cap_is_changed(powered):
    """What was acknowledged holds; what was not is there as a whole, or not at all."""
    c = powered("--power-cap", "1000")
    seen = set()
    for at in range(1, 9):
        c.stop()
        c.environment["DUCTILE_CRASH_AT"] = str(at)
        c.launch()
        cap = 500 + at
        try:
            c.wait_for_socket(c.socket)
            c.ask({"do": "power", "cap_w": cap})
            told = True
        except (OSError, ValueError, AssertionError):
            told = False
        del c.environment["DUCTILE_CRASH_AT"]
        if c.server.poll() is None:
            c.kill()
        c.server.wait()
        c.start()
        now = power(c)["cap_w"]
        assert now == cap or not told, (at, c.log.read_text())
        seen.add((told, now == cap))
    assert (True, True) in seen and (False, False) in seen, seen
    assert power(c)["free_w"] is not None
    c.replay()


def test_watts_can_be_reserved_where_there_is_a_cap(powered):
    c = powered()
    refused = c.run("reserve", "night", "--watts", 300, code=2).stderr
    assert "watts: there is no power cap of which they could be kept; set one with `ductile power --cap`" in refused
    c.run("power", "--cap", 1000)
    for word in ("inf", "nan", "0", "-1", "1e10"):
        refused = c.run("reserve", "night", f"--watts={word}", code=2).stderr
        assert "--watts: " in refused and "cannot be reserved; write watts above 0" in refused, refused
    c.run("reserve", "night", "--watts", 300)
    shown = power(c)
    assert (shown["reserved_w"], shown["free_w"]) == (300, 300)
    job = c.submit("-N", 2, c.script(PATIENT))
    assert c.queue()[job]["reason"] == "PowerNotAvail"
    again(c)
    assert power(c) == shown
    c.run("reserve", "night", "--remove")
    c.wait_for_size(job, 2)
    # Of one that begins in a minute only who ends before has the watts.
    c.run("reserve", "night", "--watts", 200, "--from", "now+1minute")
    late = c.submit("-N", 1, "-t", 10, c.script(PATIENT))
    assert c.queue()[late]["reason"] == "PowerNotAvail"
    assert "and 0 W are left" in c.run("explain", late).stdout
    c.run("cancel", job, late)
    c.wait_for_end(job, late)
    c.replay()


def test_idle_nodes_that_drain_draw_as_much_as_before(powered):
    c = powered("--power-cap", "900", policy="equipartition")
    patient = c.script(PATIENT)
    first = c.submit("-N", 2, patient)
    c.wait_for_size(first, 2)
    second = c.submit("-N", 1, patient)
    c.run("drain", 3)
    assert power(c)["idle_w"] == 400
    assert c.queue()[second]["state"] == "PENDING" and c.queue()[second]["reason"] == "PowerNotAvail"
    again(c)
    assert (power(c)["idle_w"], power(c)["free_w"]) == (400, 100)
    c.run("drain", "--undo", 3)
    assert power(c)["idle_w"] == 400
    c.run("cancel", first)
    c.wait_for_size(second, 1)
    c.run("cancel", second)
    c.wait_for_end(second)
    c.replay()


def test_a_cap_that_keeps_all_or_none_waiting_is_warned_of(powered):
    c = powered("--power-cap", "399")
    low = "nodes that are on draw 400 W while they are idle, and the power cap is 399 W: no job starts"
    c.wait_for_text(c.log, low)
    assert power(c)["warning"] == low
    assert "warning" not in power(c, "--cap", 400)
    done = c.run("power", "--cap", 300)
    assert "and the power cap is 300 W: no job starts" in done.stderr and "cap" in done.stdout
    # Nobody says any more what a job draws.
    c.run("power", "--cap", 1000)
    c.stop()
    del c.arguments[-2:]
    (c.folder / "platform.toml").write_text(PLATFORM.replace("300", "100"))
    c.start()
    c.wait_for_text(c.log, "the power cap is 1000 W, and it is not known what a job draws (`idle_w`, `busy_w`): "
                           "nobody waits for watts")
    assert power(c, "--cap", "none").get("warning") is None


def test_who_never_has_power_is_told_so(powered):
    c = powered("--power-cap", "700")
    patient = c.script(PATIENT)
    jobs = [c.submit("-N", nodes, patient) for nodes in (1, 4, 3, 3)]
    c.wait_for_size(jobs[0], 1)
    assert [c.queue()[job]["reason"] for job in jobs[1:]] == ["PowerNotAvail"] * 3
    for job, watts in zip(jobs[1:], (800, 600, 600)):
        said = c.run("explain", job).stdout
        assert f"draw {watts} W more than idle ones, and the power cap leaves at most 300 W for one that runs alone" in said
        assert "enough nodes" not in said
    c.cancel_all()
    c.wait_for_end(*jobs)
    c.replay()


def test_what_cannot_be_is_refused(powered, cluster):
    c = powered()
    for word in ("-3", "much", "1e12", "nan"):
        assert f"--cap: '{word}' is no power; write watts from 0 to 1e9, or none" in c.run("power", f"--cap={word}", code=2).stderr
    assert "--cap: '' is no power" in c.run("power", "--cap", "", code=2).stderr
    assert c.ask({"do": "power", "cap_w": None})["error"] == '--cap: it is no power; write watts, or "none"'
    assert c.ask({"do": "power", "cap_w": -1})["ok"] is False
    assert power(c)["cap_w"] is None
    blind = cluster("2x1")
    said = "it is not known what a node draws; give its classes idle_w and busy_w in a file, with `serve --platform`"
    assert said in blind.run("power", "--cap", 100, code=2).stderr
    assert power(blind)["idle_w"] == 0
    blind.stop()
    config = blind.folder / "config.toml"
    config.write_text("\npower_cap_w = 100\n")
    for words, where in [(("--power-cap", "100"), "--power-cap: "),
                         (("--config", str(config)), f"{config}:2: power_cap_w: ")]:
        blind.launch(*words)
        assert blind.server.wait() == 2 and where + said in blind.log.read_text()
    blind.launch("--power-cap", "")
    assert blind.server.wait() == 2 and "--power-cap: '' is no power" in blind.log.read_text()
    blind.start()


def test_only_operators_change_it(powered):
    c = powered("--power-cap", "1000")
    c.open_to_others()
    done = c.as_nobody("power", "--cap", "none")
    assert done.returncode == 1 and "only operators may change the power cap" in done.stderr
    assert json.loads(c.as_nobody("power", "--json").stdout)["cap_w"] == 1000
