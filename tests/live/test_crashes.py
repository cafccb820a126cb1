"""The controller dies at moments drawn over all at which it writes or says something, many of them over those
of resizes, and some between a commit and the mark that tells of it, and some at those of a snapshot. After each restart no acknowledged job is lost and no acknowledged cancel, none runs twice, no node is given twice, results are right, whoever asks
meanwhile is answered or refused at once, and a reservation that was acknowledged is there until it is removed: no job of
others is started in it.

DUCTILE_TEST_CRASHES sets how many, DUCTILE_TEST_SEED what is drawn."""

import json
import os
import random
import subprocess
import time

from conftest import PATIENCE, PROGRAM, example, slowness

CRASHES = int(os.environ.get("DUCTILE_TEST_CRASHES", 12))
SEED = int(os.environ.get("DUCTILE_TEST_SEED", random.SystemRandom().randrange(10 ** 6)))


def nodes_of(text):
    for part in text.replace(",", " ").split():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def test_it_dies_at_any_moment(cluster):
    print(f"DUCTILE_TEST_SEED={SEED}")
    draws = random.Random(SEED)
    c = cluster("4x1", "equipartition", "--models", "guessed", "--measure", 0.5, "--estimates", "predicted")
    c.stop()
    (c.folder / "platform.toml").write_text('[[class]]\nname = "std"\ncount = 4\nidle_w = 100\nbusy_w = 300\n')
    at = c.arguments.index("--local")
    c.arguments[at:at + 2] = ["--platform", str(c.folder / "platform.toml")]
    c.environment["DUCTILE_SNAPSHOT_EVERY"] = "30"
    script = c.script(f"echo $DUCTILE_JOB_ID >> {c.folder}/ran; sleep 0.1; echo result")
    acknowledged, cancelled, long_ones = {}, set(), []

    reserved = {"name": None, "node": None, "before": None}  # what is there for certain, and who was there before
    reservations = 0

    def look_at_reservation(rows):
        """Scripts are not resized: they hold the node if they did before."""
        try:
            there = c.ask({"do": "reservations"})["reservations"]
        except (OSError, ValueError):
            return
        assert reserved["name"] in {row["name"] for row in there}, (reserved, there)
        if rows is None:
            return
        holders = {row["job"] for row in rows if row["type"] == "rigid" and reserved["node"] in nodes_of(row["nodelist"])}
        assert reserved["before"] is None or holders <= reserved["before"], (reserved, rows)
        reserved["before"] = holders

    def change_reservation():
        nonlocal reservations
        if reserved["name"]:
            name, reserved["name"] = reserved["name"], None
            ask("reserve", name, "--remove")
            return
        for row in json.loads(ask("reserve", "--json").stdout or "{}").get("reservations", ()):
            ask("reserve", row["name"], "--remove")  # of what nobody heard
        node = draws.randrange(4)
        reservations += 1
        words = draws.choice([(), ("--users", "all")])
        if ask("reserve", f"r{reservations}", "--nodes", node, *words).returncode == 0:
            reserved.update(name=f"r{reservations}", node=node, before=None)

    slowest = 0

    def queue():
        """Answered or refused, and not after long."""
        nonlocal slowest
        begin = time.monotonic()
        try:
            return c.ask({"do": "queue"})["jobs"]
        except (OSError, ValueError):
            return None
        finally:
            slowest = max(slowest, time.monotonic() - begin)
            assert slowest < 2 * slowness(), c.log.read_text()[-5000:]

    def ask(*words):
        done = subprocess.run([PROGRAM, *map(str, words)], env=c.environment, cwd=c.folder, text=True,
                              capture_output=True, timeout=PATIENCE)
        assert done.returncode in (0, 1, 2), done
        return done

    def submit(kind, *words):
        done = ask("submit", "--json", *words)
        if done.returncode == 0:
            acknowledged[json.loads(done.stdout)["job"]] = kind
            return json.loads(done.stdout)["job"]
        return None

    crashes = at_resizes = at_commits = at_snapshots = 0
    end = time.monotonic() + 60 + 15 * CRASHES
    while crashes < CRASHES:
        kind = draws.choice(["", "", "resize:", "resize:", "commit:", "snapshot:"])
        if kind == "resize:" and not long_ones:
            kind = ""
        at_resizes += kind == "resize:"
        at_commits += kind == "commit:"
        at_snapshots += kind == "snapshot:"
        c.environment["DUCTILE_CRASH_AT"] = f"{kind}{draws.randrange(1, {'': 80, 'resize:': 12, 'commit:': 20, 'snapshot:': 7}[kind])}"
        c.launch()
        rows = None
        while c.server.poll() is None:
            assert time.monotonic() < end, f"{crashes} crashes\n{c.log.read_text()}"
            choice = draws.random()
            if choice < 0.1:
                change_reservation()
            elif choice < 0.35:
                submit("script", "-N", draws.randint(1, 2), script)
            elif choice < 0.5:
                submit("doomed", "--job-name", "doomed", "/bin/sleep", 10000)
            # One that was not acknowledged may be there all the same: with four there is no room for anything else.
            elif choice < 0.65 and rows is not None and sum("until" in row["name"] for row in rows) < 3:
                job = submit("until", "-N", 1, "--max-nodes", 4, "--", example("until", "mpich"), c.folder / "done", 100)
                if job is not None:
                    long_ones.append(job)
            elif choice < 0.68:
                ask("power", "--cap", draws.choice(["none", 500, 900, 1200]))
            elif long_ones:  # else an order that keeps nodes from all others might stay for ever
                job, what = draws.choice(long_ones), draws.random()
                if what < 0.6:
                    ask("resize", job, draws.randint(0, 4))
                else:
                    ask("suspend" if what < 0.8 else "resume", job)
            rows = queue()
            if reserved["name"]:
                look_at_reservation(queue())
            # While they wait, are started, or run; and those whose cancel was not acknowledged.
            for row in rows or []:
                if row["name"] == "doomed" and row["job"] not in cancelled:
                    if ask("cancel", row["job"]).returncode == 0:
                        cancelled.add(row["job"])
            held = [node for row in rows or [] for node in nodes_of(row["nodelist"])]
            assert len(held) == len(set(held)), rows
        assert c.server.returncode == -9, c.log.read_text()
        crashes += 1

    del c.environment["DUCTILE_CRASH_AT"]
    c.start()
    assert ask("power", "--cap", "none").returncode == 0
    if reserved["name"]:
        look_at_reservation(queue())
    for row in json.loads(c.run("reserve", "--json").stdout)["reservations"]:
        c.run("reserve", row["name"], "--remove")
    c.wait_for(lambda: not cancelled & set(c.queue()), "the end of those cancelled")
    for job, row in c.queue().items():
        if row["name"] == "doomed":
            ask("cancel", job)
        else:
            ask("resize", job, 0)
            ask("resume", job)
    (c.folder / "done").touch()
    c.wait_for(lambda: not c.queue(), "the end of all")
    ran = (c.folder / "ran").read_text().split()
    assert len(ran) == len(set(ran))
    for end in c.ask({"do": "history"})["jobs"]:
        # One that was not acknowledged has run all the same if it is in the journal.
        job = end["job"]
        if end["name"] == "doomed":
            assert end["state"] == "CANCELLED", end
            acknowledged.pop(job, None)
            continue
        assert (end["state"], end["exit_code"]) == ("COMPLETED", 0), end
        assert c.output(job) == ("right\n" if "until" in end["name"] else "result\n")
        acknowledged.pop(job, None)
    assert acknowledged == {}
    suspended = sum(any(size["nodes"] == 0 for size in end["sizes"][:-1]) for end in c.ask({"do": "history"})["jobs"])
    resizes = sum(max(len(end["sizes"]) - 2, 0) for end in c.ask({"do": "history"})["jobs"])
    print(f"{len(ran)} scripts ran, {len(cancelled)} cancels, {resizes} changes of size, {suspended} were suspended, {reservations} reservations, {crashes} crashes, {at_resizes} of them at resizes, "
          f"{at_commits} before the mark, {at_snapshots} at snapshots; "
          f"the slowest answer took {slowest:.2f} s")
    c.replay()
