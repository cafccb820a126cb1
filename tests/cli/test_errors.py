"""What is wrong with a call is said in one line, with what to do; exit code 2, and no file is made."""

import subprocess

import pytest

from conftest import RIGID_1000

SIMULATE = ["simulate", "--trace", RIGID_1000]


@pytest.mark.parametrize("arguments, words", [
    (["simulate"], ["--trace FILE", "--generate MODEL"]),
    (["simulate", "--trace", "no/such.swf"], ["no/such.swf", "cannot be read"]),
    (["simulate", "--trace", RIGID_1000, "--generate", "rigid"], ["--trace", "--generate"]),
    (["simulate", "--generate", "cubes"], ["cubes", "rigid"]),
    (["simulate", "--generate", "rigid:jobs=0"], ["jobs"]),
    (["simulate", "--generate", "rigid:jobs=5", "--jobs", "6"], ["jobs"]),
    (SIMULATE + ["--policy", "best"], ["there is no policy 'best'", "easy"]),
    (SIMULATE + ["--policy", "backfill:depth=x"], ["depth", "whole number"]),
    (SIMULATE + ["--policy", "easy:depth=2"], ["depth", "order"]),
    (SIMULATE + ["--policy", "easy", "--policy", "easy"], ["--policy", "easy", "twice"]),
    (SIMULATE + ["--nodes", "0"], ["--nodes"]),
    (SIMULATE + ["--nodes", "-4"], ["--nodes"]),
    (SIMULATE + ["--seeds", "5..1"], ["--seeds", "5..1", "A..B"]),
    (SIMULATE + ["--seeds", "0..18446744073709551615"], ["--seeds"]),
    (SIMULATE + ["--seeds", "1..2", "--seed", "1"], ["--seed"]),
    (SIMULATE + ["--arrival-scale", "0"], ["--arrival-scale"]),
    (SIMULATE + ["--estimates", "good"], ["--estimates"]),
    (SIMULATE + ["--resize-delay", "uniform:9..1"], ["--resize-delay", "uniform:A..B"]),
    (SIMULATE + ["--resize-delay", "-3"], ["--resize-delay"]),
    (SIMULATE + ["--apply-at", "sometimes"], ["--apply-at", "phase_end:N"]),
    (SIMULATE + ["--apply-at", "immediate:5"], ["--apply-at", "phase_end:N"]),
    (SIMULATE + ["--apply-at", "phase_end:0"], ["--apply-at", "N at least 1"]),
    (SIMULATE + ["--apply-at", "phase_end:x"], ["--apply-at", "N at least 1"]),
    (SIMULATE + ["--refuse", "1.5"], ["--refuse"]),
    (SIMULATE + ["--threads", "0"], ["--threads"]),
    (SIMULATE + ["--failures", "mtbf=0,repair=5"], ["--failures", "mtbf=0"]),
    (SIMULATE + ["--failures", "mtbf=100"], ["--failures", "only one"]),
    (SIMULATE + ["--failures", "no/such/file"], ["no/such/file"]),
    (SIMULATE + ["--failures", "no/such/file,warn=60"], ["no/such/file:"]),
    (SIMULATE + ["--failures", "no/such/file,warn=soon"], ["--failures", "'warn=soon'", ",warn=SECONDS"]),
    (SIMULATE + ["--failures", "mtbf=9e6,repair=60,warn=-1"], ["--failures", "'warn=-1'"]),
    (SIMULATE + ["--failures", "mtbf=9e6,repair=60,warn=1e13"], ["--failures", "'warn=1e13'"]),
    (SIMULATE + ["--failures", "mtbf=9e6,repair=60,warn"], ["--failures", "'warn'"]),
    (SIMULATE + ["--failures", "mtbf=9e6,repair=60,mtbf=9e6"], ["--failures", "'mtbf'", "twice"]),
    (SIMULATE + ["--failures", "warn=60"], ["--failures", "not when nodes fail"]),
    (SIMULATE + ["--failures", "mtbf=9e6,repair=60", "--identities", "off"], ["--identities"]),
    (SIMULATE + ["--policy", "easy", "--policy", "fcfs", "--record", "r"], ["--record", "one"]),
    (SIMULATE + ["--partition", "77"], ["no job"]),
    (SIMULATE + ["--frobnicate"], ["--frobnicate", "simulate --help"]),
    (["policies", "best"], ["best", "easy"]),
    (["report", "no/such"], ["no/such/summary.json", "simulate --out"]),
    (["report"], ["folders"]),
    (["dance"], ["--help"]),
    ([], ["--help"]),
])
def test_a_wrong_call(ductile, tmp_path, arguments, words):
    if arguments[:1] == ["simulate"]:
        arguments = arguments + ["--out", tmp_path / "out"]
    done = ductile.run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    message = done.stderr.splitlines()
    assert message[0].startswith("ductile: ")
    assert len(message) <= 2
    for word in words:
        assert word in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line, words", [
    ("1 0 -1 x 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1 -1", ["log.swf:2", "field 4", '"x"']),
    ("1 0 -1 10 2", ["log.swf:2"]),
    ("1 0 -1 -1 -1 -1 -1 -1 60 -1 1 1 1 1 1 1 -1 -1", ["no job", "1 without a size"]),
    ("1 0 -1 -1 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1 -1", ["no job", "--min-runtime"]),
])
def test_a_log_that_is_wrong(ductile, tmp_path, line, words):
    log = tmp_path / "log.swf"
    log.write_text("; MaxProcs: 4\n" + line + "\n")
    done = ductile.run("simulate", "--trace", log, "--out", tmp_path / "out")
    assert done.returncode == 2
    for word in words:
        assert word in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_log_that_does_not_say_how_large_the_machine_is(ductile, tmp_path):
    log = tmp_path / "log.swf"
    log.write_text("1 0 -1 10 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1 -1\n")
    done = ductile.run("simulate", "--trace", log)
    assert done.returncode == 2 and "give --nodes" in done.stderr


def test_a_folder_that_is_a_file(ductile, tmp_path):
    (tmp_path / "out").write_text("mine")
    done = ductile.run(*SIMULATE, "--out", tmp_path / "out")
    assert done.returncode == 2 and "--out" in done.stderr
    assert (tmp_path / "out").read_text() == "mine"


def test_a_full_disk_is_a_failed_run(ductile, tmp_path):
    (tmp_path / "jobs.csv.part").symlink_to("/dev/full")
    done = ductile.run(*SIMULATE, "--out", tmp_path)
    assert done.returncode == 1
    assert "jobs.csv: cannot be written: No space left on device" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_output_nobody_can_write(ductile):
    with open("/dev/full", "w") as full:
        done = subprocess.run([ductile.program, "policies"], stdout=full, stderr=subprocess.PIPE,
                              text=True)
    assert done.returncode == 1 and "cannot be written" in done.stderr


def test_help_and_version(ductile):
    assert "simulate" in ductile.output("--help")
    assert "--policy" in ductile.output("simulate", "--help")
    assert ductile.output("--version").startswith("ductile 0.")


@pytest.mark.parametrize("value", ["nan", "inf"])
@pytest.mark.parametrize("arguments", [
    SIMULATE + ["--load"], SIMULATE + ["--refuse"], SIMULATE + ["--lose"],
    SIMULATE + ["--arrival-scale"], SIMULATE + ["--speed-factor"], SIMULATE + ["--min-runtime"],
    SIMULATE + ["--mtct-noise"],
    ["workload", "transform", RIGID_1000, "--out", "{}/x.swf", "--load"],
    ["workload", "info", RIGID_1000, "--utc-offset"],
    ["workload", "convert", RIGID_1000, "--out", "{}/x.json", "--flops"],
    ["workload", "convert", RIGID_1000, "--out", "{}/x.json", "--bandwidth"],
    ["workload", "convert", RIGID_1000, "--out", "{}/x.json", "--backbone"],
    ["serve", "--state", "{}/state", "--retry"],
    ["run", "--measure"],
], ids=lambda words: f"{words[0]} {words[-1]}" if isinstance(words, list) else words)
def test_no_option_takes_what_is_no_number(ductile, tmp_path, arguments, value):
    done = ductile.run(*(word.format(tmp_path) for word in arguments), value, timeout=60)
    assert done.returncode == 2, done.stderr
    assert f"{arguments[-1]}: '{value}' is no number from" in done.stderr
    assert list(tmp_path.iterdir()) == []
