"""What a run says that it was, ductile simulate --again, and folders that have other results."""

import json
import shutil

import pytest

from conftest import RIGID_1000, files_of

CALL = ["simulate", "--trace", RIGID_1000, "--jobs", 200, "--policy", "easy", "--policy", "mebf:gamma=3",
        "--seeds", "1..2", "--malleable", "0.3", "--quiet"]


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text("; MaxNodes: 4\n" + "".join(
        f"{i} {i} -1 {10 + i} 2 -1 -1 2 100 -1 1 1 1 1 1 1 -1 -1\n" for i in range(1, 9)))
    return path


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    from conftest import Ductile
    folder = tmp_path_factory.mktemp("kept") / "out"
    Ductile().output(*CALL, "--out", folder)
    return folder


def test_a_run_says_what_it_was(ductile):
    runs = [line["run"] for line in ductile.objects(*CALL, "--json")]
    assert [(run["policy"], run["seed"]) for run in runs] == [
        (policy, seed) for seed in (1, 2) for policy in ("easy", "mebf:gamma=3")]
    first = runs[0]
    assert first["program"] == ductile.output("--version").strip() and first["command"] == "simulate"
    assert first["options"] == {"trace": RIGID_1000, "jobs": "200", "malleable": "0.3"}
    assert first["defaults"]["overrun"] == "extend" and first["defaults"]["arrival-scale"] is None
    assert not set(first["options"]) & set(first["defaults"])
    assert runs[1]["parameters"]["gamma"] == "3" and runs[1]["parameters"]["order"] == "fcfs"
    [file] = first["inputs"]
    assert file["option"] == "trace" and file["file"] == RIGID_1000 and len(file["crc64"]) == 16


def test_every_option_is_in_it(ductile):
    [line] = ductile.objects("simulate", "--generate", "rigid:jobs=5", "--json", "--quiet")
    named = {*line["run"]["options"], *line["run"]["defaults"]}
    words = ductile.output("completion", "fish")
    of_simulate = {part.split()[0].strip("'") for text in words.splitlines() if "simulate" in text
                   for part in text.split(" -l ")[1:]}
    assert len(of_simulate) > 60
    assert of_simulate - named == {"again", "check", "claim-timeout", "figures", "font-size", "force", "help", "json", "on", "out",
                                   "policy", "quiet", "record", "seed", "seeds", "tasks", "threads", "width"}


def test_files_that_are_read_are_in_it(ductile, tmp_path, log):
    caps = tmp_path / "caps.txt"
    caps.write_text("0 1000\n")
    failures = tmp_path / "failures.txt"
    failures.write_text("50 down 2\n200 up 2\n")
    (tmp_path / "log.adaptive").write_text("ductile-adaptive 1\njob 1 type=malleable size=1..2\n")
    [line] = ductile.objects("simulate", "--trace", log, "--power-cap", caps, "--node-power", "idle=1,busy=2",
                             "--failures", f"{failures},warn=5", "--json", "--quiet")
    assert [(file["option"], file["file"], file["bytes"]) for file in line["run"]["inputs"]] == [
        (option, str(path), path.stat().st_size)
        for option, path in [("trace", log), ("adaptive", tmp_path / "log.adaptive"),
                             ("failures", failures), ("power-cap", caps)]]


def test_how_it_is_run_is_not_in_it(ductile, tmp_path, kept):
    lines = ductile.objects(*CALL, "--json", "--threads", 3, "--check", "--out", tmp_path / "out")
    was = json.loads((kept / "summary.json").read_text())["runs"]
    assert [line["run"] for line in lines] == [run["run"] for run in was]
    # Each run's own folder, its page and the report have it as well.
    own = json.loads((kept / "mebf_gamma=3-s2/summary.json").read_text())["run"]
    assert own == was[3]["run"]
    assert [line["run"] for line in ductile.objects("report", kept, "--json")] == [run["run"] for run in was]
    for page in ("report.html", "mebf_gamma=3-s2/report.html"):
        text = (kept / page).read_text()
        assert "What was run" in text and own["inputs"][0]["crc64"] in text


def test_the_same_again(ductile, kept):
    before = files_of(kept)
    assert ductile.output("simulate", "--again", kept, "--threads", 2).endswith("the same: all 35 files\n")
    assert ductile.output("simulate", "--again", kept / "easy-s2").endswith("the same: all 8 files\n")
    assert files_of(kept) == before


def test_what_differs_is_named(ductile, tmp_path, kept):
    folder = tmp_path / "out"
    shutil.copytree(kept, folder)
    summary = json.loads((folder / "easy-s1/summary.json").read_text())
    (folder / "easy-s1/summary.json").write_text(json.dumps({**summary, "jobs": 3, "load_seconds": 7}))
    (folder / "summary.json").write_text((folder / "summary.json").read_text().replace(
        '"peak_rss_bytes": ', '"peak_rss_bytes": 1'))
    (folder / "easy-s2/series.csv").unlink()
    (folder / "mebf_gamma=3-s1/choices.csv").write_text("time\n")
    done = ductile.run("simulate", "--again", folder)
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if line.startswith("different")] == [
        f"different: {folder}/{name}" for name in ("easy-s1/summary.json", "easy-s2/series.csv",
                                                   "mebf_gamma=3-s1/choices.csv")]


def test_an_experiment_again(ductile, tmp_path, log):
    file = tmp_path / "x.toml"
    file.write_text('trace = "log.swf"\npolicy = ["fcfs", "easy"]\nclip = true\n'
                    '[[variant]]\nname = "a"\nstatus = "any"\n[[variant]]\nname = "b"\noverrun = "kill"\n')
    out = tmp_path / "out"
    ductile.output("simulate", file, "--out", out, "--quiet", env={"DUCTILE_TRACES": str(tmp_path)})
    run = json.loads((out / "b/summary.json").read_text())["runs"][0]["run"]
    assert run["options"] == {"trace": "log.swf", "clip": True, "overrun": "kill"}
    call = ["simulate", "--again", out, "--quiet"]
    traces = {"DUCTILE_TRACES": str(tmp_path)}
    assert ductile.output(*call, env=traces).endswith("the same: all 38 files\n")
    done = ductile.run(*call)
    assert done.returncode == 2 and "log.swf: trace: an input of the run is not there" in done.stderr


def test_an_input_that_is_another_one(ductile, tmp_path, log):
    out = tmp_path / "out"
    ductile.output("simulate", "--trace", log, "--out", out)
    text = log.read_text()
    log.write_text(text.replace(" 11 ", " 12 "))
    done = ductile.run("simulate", "--again", out)
    assert done.returncode == 2 and f"{log}: trace: is not what it was: {len(text)} bytes" in done.stderr
    log.unlink()
    done = ductile.run("simulate", "--again", out)
    assert done.returncode == 2 and f"{log}: trace: an input of the run is not there" in done.stderr


def test_folders_that_cannot_be_run_again(ductile, tmp_path, kept):
    def refused(folder, *options):
        done = ductile.run("simulate", "--again", folder, *options)
        assert done.returncode == 2 and done.stdout == ""
        return done.stderr

    assert "there are no results in it" in refused(tmp_path)
    assert "--nodes: the folder of --again says itself what is run" in refused(kept, "--nodes", 3)
    summary = json.loads((kept / "easy-s1/summary.json").read_text())
    for change, why in [({"stopped": True}, "was stopped before its end"),
                        ({"run": {}}, "its 'run' is damaged"), ({"run": 3}, "its 'run' is damaged"),
                        ({"run": {**summary["run"], "options": {"no-such": "1"}}}, "no-such")]:
        (tmp_path / "summary.json").write_text(json.dumps({**summary, **change}))
        assert why in refused(tmp_path)
    del summary["run"]
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    assert "does not say what was run" in refused(tmp_path)


def test_a_record_names_no_files_to_write(ductile, tmp_path, kept):
    summary = json.loads((kept / "easy-s1/summary.json").read_text())
    summary["run"]["options"]["record"] = str(tmp_path / "victim")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/summary.json").write_text(json.dumps(summary))
    assert ductile.run("simulate", "--again", tmp_path / "out").returncode == 1
    assert not (tmp_path / "victim").exists()


def test_results_of_other_runs_stay(ductile, tmp_path, kept):
    out = tmp_path / "out"
    shutil.copytree(kept, out)
    before = files_of(out)
    call = [word if word != "0.3" else "0.4" for word in CALL] + ["--out", out]
    done = ductile.run(*call)
    assert done.returncode == 2 and done.stderr == (
        f"ductile: {out}: has the results of another run: --malleable was 0.3, and is 0.4; give another "
        "folder to --out, or --force to have them removed\n")
    (out / "easy-s1/notes.txt").write_text("mine")
    done = ductile.run(*call, "--force")
    assert done.returncode == 2 and "notes.txt is none of the results" in done.stderr
    (out / "easy-s1/notes.txt").unlink()
    assert files_of(out) == before
    ductile.output("simulate", "--trace", RIGID_1000, "--jobs", 50, "--out", out, "--force")
    assert not (out / "easy-s1").exists() and len(files_of(out)) == 9


def test_the_same_run_is_there_already(ductile, tmp_path):
    call = ["simulate", "--generate", "rigid:jobs=50", "--out", tmp_path, "--json"]
    told = ductile.output(*call)
    before = files_of(tmp_path)
    assert ductile.output(*call) == told  # with what measured the machine then
    assert files_of(tmp_path) == before
    (tmp_path / "summary.json").unlink()  # then it is not
    ductile.output(*call)
    after = files_of(tmp_path)
    before.pop("summary.json"), after.pop("summary.json")
    assert after == before
