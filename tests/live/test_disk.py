"""The disk of the journal: full, or damaged."""

import json
import os
import re
import shutil
import signal
import subprocess

from conftest import PATIENCE, PROGRAM
from programs import namespaces


def test_a_full_disk_is_said_and_loses_nothing(cluster):
    words = namespaces()
    c = cluster("4x1")
    c.stop()
    shutil.rmtree(c.state)
    c.state.mkdir()
    # It fills its disk but for a little, and is told when there is room again.
    c.launch_with = [*words, "sh", "-c",
                     f'mount -t tmpfs -o size=1m none {c.state} && '
                     f'dd if=/dev/zero of={c.state}/filler bs=1k count=700 2> /dev/null; '
                     f'"$@"; code=$?; mkdir {c.folder}/kept; cp {c.state}/journal.* {c.folder}/kept; exit $code', "sh"]
    c.launch()
    inside = f"/proc/{c.server.pid}/root{c.state}/socket"
    c.environment["DUCTILE_SOCKET"] = inside
    c.wait_for_socket(inside)
    taken, refusals = [], []
    for number in range(3000):
        done = subprocess.run([PROGRAM, "submit", "--hold", "--json", "-J", "x" * 200, "/bin/true"],
                              env=c.environment, cwd=c.folder, text=True, capture_output=True,
                              timeout=PATIENCE)
        if done.returncode:
            refusals.append(done.stderr)
            break
        taken.append(json.loads(done.stdout)["job"])
    assert taken
    assert "the controller has ended: the journal" in refusals[0], refusals
    assert "database or disk is full" in refusals[0], refusals
    assert c.server.wait(timeout=PATIENCE) == 1
    assert "database or disk is full" in c.log.read_text()
    # There is room again, and all that was promised.
    for name in ("journal.db", "journal.db-wal", "journal.mark"):
        if (c.folder / "kept" / name).exists():
            shutil.move(c.folder / "kept" / name, c.state / name)
    c.launch_with = []
    c.environment["DUCTILE_SOCKET"] = c.socket
    c.start()
    assert sorted(c.queue()) == taken
    c.run("cancel", *taken)
    assert c.queue() == {}
    c.replay()


def test_jobs_on_a_full_disk_are_not_lost(cluster):
    """What is to begin waits for room, and how a job has ended while there was none is known."""
    words = namespaces()
    c = cluster("2x1")
    c.stop()
    shutil.rmtree(c.state)
    c.state.mkdir()
    # Started again, with room, when it has ended for want of that.
    c.launch_with = [*words, "sh", "-c",
                     f'mount -t tmpfs -o size=2m none {c.state} || exit 9; trap \'kill $pid\' TERM; while :; do '
                     f'"$@" & pid=$!; wait $pid; code=$?; [ $code -gt 128 ] && wait $pid && code=0; '
                     f'[ -e {c.state}/filler ] || exit $code; rm {c.state}/filler; done', "sh"]
    c.launch()
    inside = f"/proc/{c.server.pid}/root{c.state}"
    c.environment["DUCTILE_SOCKET"] = c.socket = f"{inside}/socket"
    c.wait_for_socket(c.socket)
    go = c.folder / "go"
    runs = c.submit(c.script(f"until [ -e {go} ]; do sleep 0.02; done; exit 3", "runs.sh"))
    c.wait_for_size(runs, 1)
    with open(f"{inside}/filler", "wb", buffering=0) as filler:
        for size in (2 ** 16, 2 ** 12):
            try:
                while filler.write(b"x" * size) == size:
                    pass
            except OSError:
                pass
    go.touch()
    c.wait_for_text(c.log, "database or disk is full")
    c.wait_for_socket(c.socket)
    end = c.wait_for_end(runs)[0]
    assert (end["state"], end["exit_code"]) == ("FAILED", 3), end
    assert c.wait_for_end(c.submit("/bin/true"))[0]["state"] == "COMPLETED"


def test_a_damaged_journal_is_refused(cluster):
    c = cluster("1x1")
    for _ in range(20):
        c.submit("--hold", "/bin/true")
    c.stop()
    journal = c.state / "journal.db"
    whole = journal.read_bytes()
    assert len(whole) > 3 * 4096 and not (c.state / "journal.db-wal").exists()
    for damaged in (whole[:-4096], whole[:2 * 4096] + b"\x5a" * 4096 + whole[3 * 4096:]):
        journal.write_bytes(damaged)
        done = c.run("serve", "--state", c.state, "--local", "1x1", code=2)
        assert "the journal is damaged: " in done.stderr
        assert journal.read_bytes() == damaged
    journal.write_bytes(whole)
    c.start()
    assert len(c.queue()) == 20


def strangers(c):
    return [row for row in c.ask({"do": "nodes"})["nodes"] if row["stranger"]]


def test_a_journal_that_has_lost_what_was_told_is_refused(cluster):
    """As it is after somebody put back a copy of another day, or lost it."""
    c = cluster("2x1")
    serve = ["serve", "--state", c.state, "--local", "2x1"]
    early = [c.submit("--hold", c.script("exec sleep 1000", "early.sh")) for _ in range(3)]
    c.stop()
    journal, mark = c.state / "journal.db", c.state / "journal.mark"
    backup = journal.read_bytes()
    c.start()
    late = c.submit(c.script("exec sleep 1000", "late.sh"))
    c.run("release", early[0])
    for job in (early[0], late):
        c.wait_for_size(job, 1)
    c.kill()
    journal.write_bytes(backup)
    (c.state / "journal.db-wal").unlink()
    done = c.run(*serve, code=2)
    assert "its end is lost: it has " in done.stderr and "ductile serve --restored" in done.stderr
    assert journal.read_bytes() == backup
    journal.unlink()
    assert "the journal is gone or empty" in c.run(*serve, code=2).stderr
    assert not journal.exists()
    journal.write_bytes(backup)
    mark.unlink()
    assert "journal.mark, is missing" in c.run(*serve, code=2).stderr

    # What runs is not known to it, or waits for all it knows: its node is nobody else's.
    managers = {job: c.manager_of(job) for job in (early[0], late)}
    c.run(*serve, code=2)
    c.start("--restored")
    for _ in range(2):
        assert sorted(c.queue()) == early
        rows = strangers(c)
        assert {row["state"] for row in rows} == {"STRANGER"}
        for job, pid in managers.items():
            assert any(re.fullmatch(rf"job {job} of the journal [0-9a-f]{{8}}, process {pid}", row["stranger"]) for row in rows)
        c.kill()
        c.start()
    for left, (job, manager) in zip((1, 0), managers.items()):
        os.kill(manager, signal.SIGTERM)
        c.wait_for(lambda: len(strangers(c)) == left, f"the end of job {job}")
    assert sorted(c.queue()) == early
    c.kill()
    c.start()
    assert sorted(c.queue()) == early and c.submit("--hold", "/bin/true") == late
    c.cancel_all()
    c.replay()


def test_a_row_that_is_not_as_it_was_written_is_refused(cluster):
    c = cluster("1x1")
    job = c.submit("--hold", "-J", "remember-me", "/bin/true")
    c.stop()
    journal = c.state / "journal.db"
    whole = journal.read_bytes()
    assert b"remember-me" in whole
    journal.write_bytes(whole.replace(b"remember-me", b"remember-my"))
    done = c.run("serve", "--state", c.state, "--local", "1x1", code=2)
    assert f"row {job} of table " in done.stderr and "is not as it was written" in done.stderr
    assert "go on with a copy of the journal from before" in c.run("check", "--state", c.state, code=1).stdout
    journal.write_bytes(whole)
    c.start()
    assert sorted(c.queue()) == [job]
