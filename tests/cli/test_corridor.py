"""`simulate` with a power corridor, and what is measured of jobs."""

import csv
import json

from conftest import page_data

PI_HEAT = ["simulate", "--generate", "pi_heat", "--node-power", "idle=71", "--reconfiguration", "free"]


def corridor(folder, *lines):
    path = folder / "corridor.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_corridor_is_kept_by_those_who_keep_one(ductile, tmp_path):
    path = corridor(tmp_path, "0 1700 2500", "450 1000 1700", "900 2500 3500")
    easy, ahead = ductile.objects(*PI_HEAT, "--corridor", path, "--policy", "easy", "--policy", "power_ahead", "--json")
    assert easy["corridor_violations"] > 0 and easy["corridor_outside_s"] > 60
    assert ahead["corridor_violations"] == 0 and ahead["jobs_left"] == 0 and ahead["corridor_solved"] > 10
    without, = ductile.objects(*PI_HEAT, "--policy", "easy", "--json")
    assert without["corridor_outside_s"] is None and without["makespan_s"] == easy["makespan_s"]  # it is only watched


def test_the_grace_says_what_a_violation_is(ductile):
    strict, = ductile.objects(*PI_HEAT, "--corridor", "1700..2500", "--violation-grace", 0, "--json")
    lenient, = ductile.objects(*PI_HEAT, "--corridor", "1700..2500", "--violation-grace", 1e6, "--json")
    assert strict["corridor_violations"] == strict["corridor_excursions"] == lenient["corridor_excursions"] > 0
    assert lenient["corridor_violations"] == 0


def test_it_is_drawn(ductile, tmp_path):
    path = corridor(tmp_path, "0 1700 2500", "450 1000 inf")
    ductile.output(*PI_HEAT, "--corridor", path, "--policy", "power_aware", "--out", tmp_path / "out")
    [drawn] = page_data(tmp_path / "out/report.html")["drawn"]
    assert drawn["corridor"] == [{"at_s": 0, "low_w": 1700, "high_w": 2500}, {"at_s": 450, "low_w": 1000, "high_w": None}]
    assert "power" in drawn["series"]["columns"]


def test_what_cannot_be_is_refused(ductile, tmp_path):
    for words, said in [
        (["--corridor", corridor(tmp_path, "0 1 2", "5 4 3")], "corridor.txt:2: bounds: the lower bound, 4 W, is above the upper one, 3 W"),
        (["--corridor", "5..4"], "--corridor: the lower bound, 5 W, is above the upper one"),
        (["--corridor", tmp_path / "no"], "the file of a power corridor cannot be read"),
        (["--node-power", "idle=1,buzy=2"], "--node-power: there is no 'buzy'"),
        (["--node-power", "idle=1,off=2"], "--node-power: nodes that are off draw more than idle ones"),
        (["--node-power", "idle=1,idle=2"], "--node-power: 'idle' is there twice"),
        (["--node-power", "idle=1,"], "--node-power: there is no ''"),
        (["--node-power", "idle=x"], "--node-power: idle: 'x' is no power"),
        (["--node-off-after", "0"], "--node-off-after: nodes would go off at once"),
        (["--mtct-drift", "-1"], "--mtct-drift"),
        (["--mtct", tmp_path / "no"], "no"),
    ]:
        call = PI_HEAT[:3] + PI_HEAT[5:] if words[0] == "--node-power" else PI_HEAT
        done = ductile.run(*call, *words)
        assert done.returncode == 2 and said in done.stderr, (words, done.stderr)
    done = ductile.run("simulate", "--generate", "rigid", "--jobs", 5, "--corridor", "1..2")
    assert done.returncode == 2 and "--corridor: nobody says what a node draws" in done.stderr


def test_measured_values_of_a_file_go_first(ductile, tmp_path):
    swf, adaptive, mtct = tmp_path / "log.swf", tmp_path / "log.adaptive", tmp_path / "mtct.csv"
    swf.write_text("".join(f"{job} {submit} -1 100 4 -1 -1 4 100 -1 1 1 1 -1 -1 -1 -1 -1\n"
                           for job, submit in ((1, 0), (2, 0), (3, 20))))
    adaptive.write_text("ductile-adaptive 1\njob 1 type=malleable size=1..4\njob 2 type=malleable size=1..4\n")
    for first, other in ((1, 2), (2, 1)):
        mtct.write_text(f"job,size,mtct\n{first},4,0.5\n{other},4,0.1\n")
        ductile.output("simulate", "--trace", swf, "--adaptive", adaptive, "--nodes", 8, "--policy", "perf_aware",
                       "--reconfiguration", "free", "--mtct", mtct, "--out", tmp_path / f"out{first}")
        with open(tmp_path / f"out{first}" / "decisions.csv") as file:
            cuts = [row["job"] for row in csv.DictReader(file) if row["decision"] == "shrink"]
        assert cuts[0] == str(first)


def test_nodes_are_switched_off_and_on(ductile, tmp_path):
    swf = tmp_path / "log.swf"
    swf.write_text("1 0 -1 30 1 -1 -1 1 30 -1 1 1 1 -1 -1 -1 -1 -1\n2 60 -1 10 3 -1 -1 3 10 -1 1 1 1 -1 -1 -1 -1 -1\n")
    call = ["simulate", "--trace", swf, "--nodes", 4, "--node-power", "idle=50,busy=100,off=5,boot=5", "--json"]
    on, = ductile.objects(*call)
    off, = ductile.objects(*call, "--node-off-after", 20)
    assert on["energy_j"] == 50 * 4 * 70 + 50 * 30 + 50 * 3 * 10
    # 0 to 20, 20 to 30, 30 to 50, off to 60, three boot to 65, and run to 75
    assert off["energy_j"] == 250 * 20 + 115 * 10 + 65 * 20 + 20 * 10 + 155 * 5 + 305 * 10
    assert off["makespan_s"] == on["makespan_s"] + 5


RIGID_AND_ELASTIC = ["simulate", "--generate", "pi_heat:jobs=20,rigid=0.5", "--node-power", "idle=71",
                     "--reconfiguration", "free", "--policy", "power_ahead"]


def test_a_log_tells_what_was_drawn(ductile, tmp_path):
    path = corridor(tmp_path, "0 1700 2500", "450 1000 1700", "900 2500 3500")
    run, = ductile.objects(*RIGID_AND_ELASTIC, "--corridor", path, "--record", tmp_path / "run.log", "--json")
    ductile.output("replay", tmp_path / "run.log", "--out", tmp_path / "out")
    told = json.loads((tmp_path / "out" / "summary.json").read_text())
    told = told[0] if isinstance(told, list) else told
    for name in ("energy_j", "max_power_w", "corridor_outside_s", "corridor_outside_ws", "corridor_excursions",
                 "corridor_violations", "corridor_solved", "corridor_unsolved"):
        assert told[name] == run[name], name


def test_who_never_starts_is_told(ductile, tmp_path):
    swf, adaptive = tmp_path / "log.swf", tmp_path / "log.adaptive"
    swf.write_text("".join(f"{job} {submit} -1 100 {n} -1 -1 {n} 100 -1 1 1 1 -1 -1 -1 -1 -1\n"
                           for job, submit, n in ((7, 0, 4), (8, 1, 1), (9, 2, 5))))
    adaptive.write_text("ductile-adaptive 1\n" + "".join(f"job {job} type=rigid size={n}..{n} watts=250\n"
                                                     for job, n in ((7, 4), (8, 1), (9, 5))))
    call = ["simulate", "--trace", swf, "--adaptive", adaptive, "--nodes", 14, "--node-power", "idle=71", "--json"]
    for policy in ("power_aware", "power_ahead"):
        done = ductile.run(*call, "--policy", policy, "--corridor", "1000..1700")
        assert ("job 7 (and 1 more) never starts under policies that keep a corridor: alone on the machine it draws "
                "1710 W, and no line of --corridor lets more than 1700 W be drawn") in done.stderr
        assert f"under {policy} 2 jobs are left waiting for ever" in done.stderr
        assert json.loads(done.stdout)["jobs_left"] == 2  # and who fits has gone on
    watched = ductile.run(*call, "--policy", "easy", "--corridor", "1000..1700")
    assert "never starts" not in watched.stderr and "left waiting" not in watched.stderr


def test_a_corridor_below_the_idle_draw_is_told(ductile, tmp_path):
    path = corridor(tmp_path, "0 0 2500", "450 0 900")
    done = ductile.run(*PI_HEAT, "--policy", "power_aware", "--corridor", path)
    assert "from 450 s on --corridor lets 900 W be drawn, and idle nodes alone draw 994 W" in done.stderr
    assert "from 0 s" not in done.stderr


def test_a_table_that_is_too_large_ends_no_run(ductile):
    done, = ductile.objects(*PI_HEAT[:1], "--generate", "pi_heat:jobs=100", "--nodes", 14, *PI_HEAT[3:], "--policy",
                            "power_ahead:solver=dp,depth=100", "--corridor", "1700..3500", "--json")
    assert done["jobs_left"] == 0
