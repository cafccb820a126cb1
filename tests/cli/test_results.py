"""results.db: an interrupted matrix goes on where it was, and comes to the same bytes."""

import contextlib
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

from conftest import Ductile, files_of

JOBS = int(os.environ.get("DUCTILE_TEST_JOBS", "150"))
POLICIES = ["easy", "fcfs", "conservative", "backfill:depth=5", "mebf"]
MATRIX = ["simulate", "--generate", f"rigid:jobs={JOBS}", "--malleable", "0.3", "--seeds", "1..10",
          *(word for policy in POLICIES for word in ("--policy", policy))]


def without_measured(files):
    """All files, and of the summaries of runs what does not measure the machine."""
    return {name: re.sub(rb', "load_seconds.*', b"", text) if name.endswith("summary.json") else text
            for name, text in files.items()}


def figures_of(table):
    """Without the last column, which is wall clock."""
    return re.sub(r" +[\d.]+( ± [\d.]+)?$", "", table, flags=re.M)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    out = tmp_path_factory.mktemp("results") / "out"
    table = Ductile().output(*MATRIX, "--threads", 2, "--out", out)
    return out, figures_of(table)


def runs_over(out):
    """How many are kept. (Who was killed may have left a journal, which is rolled back.)"""
    if not (out / "results.db").exists() or (out / "results.db").stat().st_size == 0:
        return 0
    with contextlib.closing(sqlite3.connect(out / "results.db")) as database:
        if not database.execute("SELECT 1 FROM sqlite_master").fetchall():
            return 0
        return database.execute("SELECT count(*) FROM figures").fetchone()[0]


def test_killed_at_ten_moments_it_comes_to_the_same(ductile, tmp_path, undisturbed):
    whole, table = undisturbed
    out = tmp_path / "out"
    moments = random.Random(int(os.environ.get("DUCTILE_TEST_SEED", "1")))
    begin = time.monotonic()
    ductile.output(*MATRIX, "--threads", 2, "--out", tmp_path / "timed", "--quiet")
    all_s = time.monotonic() - begin
    kills, over = 0, [0]
    for attempt in range(10):
        process = ductile.start(*MATRIX, "--threads", 1 + attempt % 2, "--out", out, "--quiet")
        time.sleep(0.01 + moments.uniform(0, all_s / 6))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.communicate()
        over.append(runs_over(out))
    assert kills > 3
    assert over == sorted(over) and over[-1] > 0  # nothing is lost
    assert figures_of(ductile.output(*MATRIX, "--threads", 2, "--out", out)) == table
    assert without_measured(files_of(out)) == without_measured(files_of(whole))


def test_what_is_there_is_not_run_again(ductile, tmp_path):
    out = tmp_path / "out"
    call = ["simulate", "--generate", "rigid:jobs=100", "--policy", "easy", "--seeds", "1..3", "--out", out]
    ductile.output(*call, "--policy", "fcfs")
    when = {path: path.stat().st_mtime_ns for path in out.glob("*/jobs.csv")}
    # One policy has changed, and there is a seed more.
    call[call.index("1..3")] = "1..4"
    ductile.output(*call, "--policy", "backfill:depth=3")
    new = {path: path.stat().st_mtime_ns for path in out.glob("*/jobs.csv")}
    assert {path.parent.name for path in new} == {f"{policy}-s{seed}" for policy in ("easy", "backfill_depth=3")
                                                  for seed in (1, 2, 3, 4)}
    assert {path.parent.name for path in new if new[path] == when.get(path)} == {"easy-s1", "easy-s2", "easy-s3"}
    assert not (out / "fcfs-s1").exists()
    # As if it had never been another one.
    ductile.output(*call[:-1], tmp_path / "at once", "--policy", "backfill:depth=3")
    assert without_measured(files_of(out)) == without_measured(files_of(tmp_path / "at once"))
    # All anew.
    ductile.output(*call, "--policy", "backfill:depth=3", "--force")
    assert all(path.stat().st_mtime_ns > when for path, when in new.items())


def test_an_experiment_changes(ductile, tmp_path):
    file, out = tmp_path / "x.toml", tmp_path / "out"

    def variants(**jobs):
        file.write_text('generate = "rigid"\npolicy = ["easy", "fcfs"]\n' + "".join(
            f'[[variant]]\nname = "{name}"\njobs = {number}\n' for name, number in jobs.items()))
        ductile.output("simulate", file, "--out", out, "--quiet")
        return {path.parent.relative_to(out): path.stat().st_mtime_ns for path in out.glob("*/*/jobs.csv")}

    before = variants(a=50, b=60, c=70)
    assert {path.name for path in out.iterdir()} == {"a", "b", "c", "report.html", "results.db"}
    after = variants(a=50, b=61)
    assert {path.name for path in out.iterdir()} == {"a", "b", "report.html", "results.db"}
    assert {str(path) for path in after if after[path] == before[path]} == {"a/easy-s1", "a/fcfs-s1"}
    ductile.output("simulate", file, "--out", tmp_path / "at once", "--quiet")
    assert without_measured(files_of(out)) == without_measured(files_of(tmp_path / "at once"))
    # One variant alone has the folder for itself; its page is that of its runs.
    shutil.copytree(out, tmp_path / "one")
    file.write_text('generate = "rigid"\npolicy = ["easy", "fcfs"]\njobs = 50\n')
    ductile.output("simulate", file, "--out", tmp_path / "one", "--quiet")
    assert {path.name for path in (tmp_path / "one").iterdir()} == {
        "easy-s1", "fcfs-s1", "report.html", "results.db", "runs.csv", "summary.json"}
    # What is of options alone, or of another experiment, is something else.
    for call in (["simulate", "--generate", "rigid", "--jobs", "50"],
                 ["simulate", file.rename(tmp_path / "y.toml")]):
        done = ductile.run(*call, "--out", out)
        assert done.returncode == 2 and "has the results of another run: they are of x.toml" in done.stderr


def test_ctrl_c_ends_in_order_and_says_how_to_go_on(ductile, tmp_path, undisturbed):
    whole, table = undisturbed
    out = tmp_path / "out"
    process = ductile.start(*MATRIX, "--out", out, "--quiet")
    while not list(out.glob("*/summary.json")):
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    if process.returncode == 0:
        pytest.skip("it was over before it could be stopped")
    assert process.returncode == 1 and "The same command goes on" in errors
    assert (out / "runs.csv").exists()
    assert figures_of(ductile.output(*MATRIX, "--out", out)) == table
    assert without_measured(files_of(out)) == without_measured(files_of(whole))


def test_two_at_the_same_time(ductile, tmp_path):
    call = ["simulate", "--generate", "rigid:jobs=20000", "--seeds", "1..20", "--quiet", "--out", tmp_path / "out"]
    process = ductile.start(*call)
    while not (tmp_path / "out/results.db").exists() or (tmp_path / "out/results.db").stat().st_size == 0:
        assert process.poll() is None
        time.sleep(0.005)
    time.sleep(0.05)
    done = ductile.run(*call)
    process.kill()
    process.communicate()
    assert done.returncode == 2
    assert f"{tmp_path}/out: another ductile writes its results there" in done.stderr


def test_damaged_and_foreign_files(ductile, tmp_path):
    out = tmp_path / "out"
    call = ["simulate", "--generate", "rigid:jobs=50", "--seeds", "1..2", "--out", out]
    ductile.output(*call)
    sound = (out / "results.db").read_bytes()
    for damaged in (b"x" * 3000, sound[:len(sound) // 2], sound[:4096] + b"x" * 4096 + sound[8192:]):
        (out / "results.db").write_bytes(damaged)
        done = ductile.run(*call)
        assert done.returncode == 2 and "results.db: is damaged, or no results of ductile" in done.stderr, done.stderr
        assert "--force" in done.stderr and (out / "results.db").read_bytes() == damaged
    ductile.output(*call, "--force")
    (out / "results.db").unlink()
    with sqlite3.connect(out / "results.db") as other:
        other.execute("CREATE TABLE mine (x)")
    done = ductile.run(*call, "--force")
    assert done.returncode == 2 and "is another database, none of ductile's results" in done.stderr


def test_a_full_disk(ductile, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("a file system of its own needs root")
    out = tmp_path / "out"
    out.mkdir()
    call = [ductile.program, "simulate", "--generate", "rigid:jobs=200", "--seeds", "1..30", "--quiet", "--out", str(out)]
    script = (f"mount -t tmpfs -o size=1m none {out} || exit 77; \"$@\"; code=$?; "
              f"cp -r {out} {tmp_path}/kept; exit $code")
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *call], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("no file system can be mounted")
    assert done.returncode == 1
    assert re.search("cannot be written.*(No space left|disk is full)", done.stderr), done.stderr
    # With room it goes on.
    kept = tmp_path / "kept"
    before = {path: path.stat().st_mtime_ns for path in kept.glob("*/summary.json")}
    assert before
    ductile.output(*call[1:-1], kept)
    assert sum(path.stat().st_mtime_ns == when for path, when in before.items()) >= len(before) - 1
    ductile.output(*call[1:-1], tmp_path / "at once")
    assert without_measured(files_of(kept)) == without_measured(files_of(tmp_path / "at once"))
