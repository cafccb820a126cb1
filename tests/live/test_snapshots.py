"""Snapshots of the core, `ductile check`, and journals of other versions."""

import contextlib
import json
import lzma
import pathlib
import re
import sqlite3
import subprocess
import time

import pytest

from conftest import PATIENCE, PROGRAM

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"


def snapshots(c):
    """Those that are whole."""
    found = [path for path in c.state.glob("snapshot-*") if path.suffix != ".tmp"]
    return sorted(found, key=lambda path: int(path.name.split("-")[1]))


def rows(c):
    with contextlib.closing(sqlite3.connect(c.state / "journal.db")) as journal:
        return [f"snapshot-{record}" for record, in journal.execute("SELECT record FROM snapshots ORDER BY record")]


def serve(c, *more, code=0):
    return c.run("serve", "--state", c.state, "--local", "2x1", *more, code=code)


def test_a_start_begins_with_a_snapshot(cluster):
    c = cluster("2x1")
    c.stop()
    c.environment["DUCTILE_SNAPSHOT_EVERY"] = "20"
    c.start()
    runs = c.submit("-N", 1, "-t", 10, "/bin/sleep", 1000)
    waits = c.submit("-N", 2, "--hold", "/bin/true")
    c.wait_for_end(*[c.submit("/bin/true") for _ in range(8)])
    c.wait_for(lambda: len(rows(c)) == 2, "two snapshots")
    c.wait_for(lambda: [path.name for path in snapshots(c)] == rows(c), "that the others are gone")
    said = c.run("explain", runs).stdout
    # Of a copy alone: what is said of its snapshots is no part of the answer.
    with contextlib.closing(sqlite3.connect(c.state / "journal.db")) as journal, \
            contextlib.closing(sqlite3.connect(c.folder / "copy.db")) as copy:
        journal.backup(copy)
    done = c.run("explain", "--json", "--log", c.folder / "copy.db", runs)
    assert json.loads(done.stdout)["state"] == "running" and "it is missing; an older one" in done.stderr
    c.kill()
    # The newest one; the older one.
    for wrong in ("", "not as it was written", "it is missing"):
        begins_with = rows(c)[-1]
        if wrong:
            newest, begins_with = c.state / rows(c)[-1], rows(c)[-2]
            if "missing" in wrong:
                newest.unlink()
            else:
                data = bytearray(newest.read_bytes())
                data[len(data) // 2] ^= 4
                newest.write_bytes(data)
            done = c.run("check", "--state", c.state, code=1)
            assert f"{newest.name}: damaged: " in done.stdout and wrong in done.stdout, done.stdout
        before = c.log.stat().st_size
        c.start()
        log = c.log.read_text()[before:]
        begun, folded = re.search("begins with (.*) and ([0-9]+) records", log).groups()
        assert begun == begins_with and int(folded) < 100, log
        assert (f"{wrong}; an older one is used" in log) == bool(wrong), log
        assert {runs, waits} <= set(c.queue()) and c.queue()[runs]["state"] == "RUNNING"
        assert c.run("explain", runs).stdout.splitlines()[:3] == said.splitlines()[:3]
        c.wait_for(lambda: "what was written before was read again" in c.log.read_text()[before:],
                   "that all was read")
        # The next one has two again.
        c.wait_for(lambda: c.submit("--hold", "/bin/true") and begins_with not in rows(c), "two new snapshots")
        c.kill()
    # None at all.
    for path in snapshots(c):
        path.unlink()
    before = c.log.stat().st_size
    c.start()
    assert "begins with no snapshot and " in c.log.read_text()[before:]
    # At a clean end there is no tail.
    c.stop()
    with contextlib.closing(sqlite3.connect(c.state / "journal.db")) as journal:
        last, = journal.execute("SELECT max(number) FROM records").fetchone()
    assert rows(c)[-1] == f"snapshot-{last}" == snapshots(c)[-1].name
    assert "all is sound" in c.run("check", "--state", c.state).stdout
    c.start()
    c.cancel_all()
    c.replay()


def test_it_dies_at_each_moment_of_a_snapshot(cluster):
    c = cluster("2x1")
    c.stop()
    c.environment["DUCTILE_SNAPSHOT_EVERY"] = "1"
    held = []

    def submit():
        done = subprocess.run([PROGRAM, "submit", "--json", "--hold", "/bin/true"], env=c.environment, text=True,
                              capture_output=True, cwd=c.folder)
        if done.returncode == 0:
            held.append(json.loads(done.stdout)["job"])

    # Before its process, before its row and after it, of more than one.
    for moment in range(1, 7):
        c.environment["DUCTILE_CRASH_AT"] = f"snapshot:{moment}"
        c.launch()
        end = time.monotonic() + PATIENCE
        while c.server.poll() is None:
            assert time.monotonic() < end, c.log.read_text()
            submit()
        assert c.server.returncode == -9
        del c.environment["DUCTILE_CRASH_AT"]
        assert set(held) <= set(c_queue(c))
    # Its process alone: before the file has its name, and after that. Nothing is lost, nothing is left behind.
    for moment in (1, 2):
        c.environment["DUCTILE_CRASH_AT"] = f"child:{moment}"
        before = c.log.stat().st_size
        c.start()
        c.wait_for(lambda: submit() or "a snapshot could not be written" in c.log.read_text()[before:],
                   "the end of its process")
        c.wait_for(lambda: sorted(path.name for path in c.state.glob("snapshot-*")) == sorted(rows(c)),
                   "that what it left is gone")
        del c.environment["DUCTILE_CRASH_AT"]
        c.kill()
        assert set(held) <= set(c_queue(c))
    # What was left half done goes at a start.
    for name in ("snapshot-9999999.tmp", "snapshot-9999999.17.tmp", "snapshot-8888888"):
        (c.state / name).touch()
    theirs = c.state / "snapshot-before-upgrade.tar"
    theirs.touch()
    del c.environment["DUCTILE_SNAPSHOT_EVERY"]
    # A start that is refused changes nothing.
    refused = c.run("serve", "--local", "2x1", "--fairness", "both,single=1", "--state", c.state, code=2).stderr
    assert "has other rules of fairness" in refused
    assert (c.state / "snapshot-8888888").exists()
    c_queue(c)
    assert theirs.exists()
    theirs.unlink()
    assert [path.name for path in snapshots(c)] == rows(c) and len(rows(c)) <= 2
    assert not list(c.state.glob("*.tmp"))


def c_queue(c):
    c.start()
    queue = c.queue()
    c.kill()
    return queue


def test_all_can_be_put_into_a_snapshot_for_another_version(cluster):
    c = cluster("2x1")
    runs = c.submit("/bin/sleep", 1000)
    c.wait_for_size(runs, 1)
    held = c.submit("--hold", "/bin/true")
    c.kill()
    for moment in (1, 2, 3, 4, 0):  # 0: none
        if moment:
            c.environment["DUCTILE_CRASH_AT"] = f"snapshot:{moment}"
            c.run("serve", "--settle", "--state", c.state, code=-9)
            del c.environment["DUCTILE_CRASH_AT"]
        else:
            # Where the state is may stand in the file of the settings.
            config = c.folder / "ductile.toml"
            config.write_text(f'state = "{c.state}"\n')
            c.run("serve", "--settle", "--config", config)
            assert "excludes" in c.run("serve", "--settle", "--restored", "--config", config, code=2).stderr
    assert rows(c)[-1] == snapshots(c)[-1].name
    assert c.manager_of(runs)  # goes on all the same
    c.start()
    assert sorted(c.queue()) == [runs, held]
    assert "another controller uses the folder" in c.run("serve", "--settle", "--state", c.state, code=2).stderr
    c.cancel_all()
    c.replay()


def test_check_says_what_is_damaged(cluster):
    c = cluster("2x1")
    job = c.submit("-J", "remember-me", "/bin/true")
    c.wait_for_end(job, c.submit("/bin/true"))
    assert "all is sound" in c.run("check", "--state", c.state).stdout  # beside a controller
    c.stop()
    done = c.run("check", "--state", c.state)
    assert "journal.db: sound; " in done.stdout and "journal.mark: sound" in done.stdout
    journal, mark = c.state / "journal.db", c.state / "journal.mark"
    whole, promise = journal.read_bytes(), mark.read_bytes()
    journal.write_bytes(whole.replace(b"remember-me", b"remember-my"))
    done = c.run("check", "--state", c.state, code=1)
    assert f"journal.db: damaged: table jobs: the row of number {job} is not as it was written" in done.stdout
    assert "only questions about this job fail" in done.stdout and "all is sound" not in done.stdout
    assert "--restored" not in done.stdout
    # The job is over: a controller begins, and then says so.
    c.start()
    c.wait_for_text(c.log, "is not as it was written")
    c.stop()
    for damaged in (whole[:-4096], whole[:2 * 4096] + b"\x5a" * 4096 + whole[3 * 4096:]):
        journal.write_bytes(damaged)
        assert "journal.db: damaged: " in c.run("check", "--state", c.state, code=1).stdout
        assert journal.read_bytes() == damaged
    journal.write_bytes(whole)
    mark.write_bytes(b"\0" * len(promise))
    assert "journal.mark, is missing or damaged" in \
        c.run("check", "--state", c.state, code=1).stdout
    mark.unlink()
    journal.unlink()
    assert "there is no journal" in c.run("check", "--state", c.state, code=2).stderr


@pytest.mark.parametrize("version", [5, 6])
def test_a_journal_of_a_format_before_is_refused_and_left(cluster, version):
    """Made by the last build that wrote this version, with jobs that wait, run and are over."""
    c = cluster("4x1")
    c.stop()
    journal = c.state / "journal.db"
    with contextlib.closing(sqlite3.connect(journal)) as its:
        [present] = its.execute("PRAGMA user_version").fetchone()
    for path in c.state.glob("journal*"):
        path.unlink()
    old = lzma.decompress((DATA / f"journal-{version}.db.xz").read_bytes())
    journal.write_bytes(old)
    for words in (["serve", "--local", "4x1"], ["serve", "--settle"], ["check"]):
        done = c.run(*words, "--state", c.state, code=2)
        assert f"it is a journal of version {version}" in done.stderr
        assert f"this ductile reads version {present}" in done.stderr
    done = c.run("explain", "--log", journal, 1, code=2)
    assert f"it is a journal of version {version}" in done.stderr
    assert journal.read_bytes() == old


def test_a_journal_of_the_version_before_is_taken_up(cluster):
    c = cluster("2x1")
    c.stop()
    journal = c.state / "journal.db"
    with contextlib.closing(sqlite3.connect(journal)) as its:
        [present] = its.execute("PRAGMA user_version").fetchone()
    for path in [*c.state.glob("journal*"), *c.state.glob("snapshot*")]:
        path.unlink()
    old = lzma.decompress((DATA / "journal-7.db.xz").read_bytes())
    journal.write_bytes(old)

    def rows(path, table):
        with contextlib.closing(sqlite3.connect(path)) as its:
            its.row_factory = sqlite3.Row
            return [dict(row) for row in its.execute(f"SELECT * FROM {table}")]

    # Not by who only reads, and not if it is not all that there was.
    for words, what in ((["check"], "`ductile serve` makes one of it"), (["serve", "--local", "2x1"], "is missing or damaged")):
        assert what in c.run(*words, "--state", c.state, code=2).stderr
        assert journal.read_bytes() == old
    before = {row["number"]: row for row in rows(journal, "jobs")}
    # A flipped bit in a row is seen as ever.
    place = old.index(b"s.sh")
    journal.write_bytes(old[:place] + bytes([old[place] ^ 1]) + old[place + 1:])
    damaged = journal.read_bytes()
    assert "the journal is damaged" in c.run("serve", "--local", "2x1", "--restored", "--state", c.state, code=2).stderr
    with contextlib.closing(sqlite3.connect(journal)) as its:
        assert its.execute("PRAGMA user_version").fetchone() == (7,)
    assert len(damaged) == len(old)
    for path in c.state.glob("journal*"):
        path.unlink()
    journal.write_bytes(old)

    c.start("--restored")
    ended = {number for number, row in before.items() if row["state"]}
    assert set(c.queue()) | {row["job"] for row in c.ask({"do": "history"})["jobs"]} == set(before)
    assert ended <= {row["job"] for row in c.ask({"do": "history"})["jobs"]}
    assert "job 4" in c.run("explain", 4).stdout
    new = c.submit("/bin/true")
    assert new == max(before) + 1
    c.stop()
    with contextlib.closing(sqlite3.connect(journal)) as its:
        assert its.execute("PRAGMA user_version").fetchone() == (present,)
    assert {row["number"]: row["id"] for row in rows(journal, "jobs")} == {n: n - 1 for n in [*before, new]}
    assert {row["number"]: row for row in rows(f"{journal}.7", "jobs")} == before
    assert (c.state / "journal.db.7").stat().st_mode & 0o777 == 0o600
    assert "all is sound" in c.run("check", "--state", c.state).stdout


def test_jobs_know_whose_they_are(cluster):
    c = cluster("1x1")

    def known_and_true():
        job = c.submit(c.script("echo $DUCTILE_JOURNAL"))
        c.wait_for_end(job)
        with contextlib.closing(sqlite3.connect(c.state / "journal.db")) as journal:
            return c.output(job).strip(), journal.execute("SELECT value FROM head WHERE name = 'id'").fetchone()[0]

    known, true = known_and_true()
    assert known == true and len(known) == 32
    c.stop()
    c.start("--restored")
    again, true_again = known_and_true()
    assert again == true_again != true
