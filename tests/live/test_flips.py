"""Bits that flip on the disk, in a journal whose controller was killed while jobs ran. DUCTILE_TEST_FLIPS of them."""

import os
import random
import subprocess
import time

from conftest import PATIENCE, PROGRAM

FLIPS = int(os.environ.get("DUCTILE_TEST_FLIPS", "12"))
SEED = int(os.environ.get("DUCTILE_TEST_SEED", random.SystemRandom().randrange(10 ** 6)))


def files_of(c):
    return {path: path.read_bytes() for path in c.state.iterdir()
            if path.name.startswith(("journal.", "snapshot-")) and path.suffix != ".db-shm"}


def put_back(c, files):
    for path in files_of(c).keys() - files.keys():
        path.unlink()
    (c.state / "journal.db-shm").unlink(missing_ok=True)
    for path, content in files.items():
        path.write_bytes(content)


def facts(c):
    queue = [(row["job"], row["state"], row["name"], row["nodelist"], row["time_limit_s"])
             for row in c.ask({"do": "queue"})["jobs"]]
    history = [(row["job"], row["state"], row["name"], row["exit_code"])
               for row in c.ask({"do": "history", "last": 100})["jobs"]]
    return queue, history


def serves(c):
    """Does it start? Else it says why."""
    while c.server.poll() is None:
        done = subprocess.run([PROGRAM, "nodes"], env=c.environment, capture_output=True, timeout=PATIENCE)
        if done.returncode == 0:
            return True
        time.sleep(0.01)
    assert c.server.returncode == 2, c.log.read_text()
    return False


def test_a_flipped_bit_is_refused_or_changes_nothing(cluster):
    print(f"DUCTILE_TEST_SEED={SEED}")
    draws = random.Random(SEED)
    c = cluster("4x1", "easy")
    c.stop()
    c.environment["DUCTILE_SNAPSHOT_EVERY"] = "40"
    c.start()
    began, done = c.folder / "began", c.folder / "done"
    for _ in range(5):
        c.wait_for_end(c.submit("/bin/true"))
    runs = c.script(f"echo $DUCTILE_JOB_ID >> {began}\nuntil [ -e {done} ]; do sleep 0.1; done\n")
    jobs = [c.submit("-N", nodes, runs) for nodes in (1, 1, 2, 3, 1, 4)]
    for job in jobs[:3]:
        c.wait_for_size(job, jobs.index(job) // 2 + 1)
    c.wait_for(lambda: began.exists() and len(began.read_text().split()) == 3, "all that run")
    c.wait_for(lambda: any(name.startswith("snapshot-") and not name.endswith(".tmp") for name in os.listdir(c.state)),
               "a snapshot")
    before = facts(c)
    c.kill()
    whole = files_of(c)
    kinds = [[path for path in whole if path.name.startswith(kind) and whole[path]] for kind in
             ("journal.db-wal", "journal.db", "journal.mark", "snapshot-")]
    refused = 0
    for _ in range(FLIPS):
        path = draws.choice(draws.choice([kind for kind in kinds if kind]))
        at, bit = draws.randrange(len(whole[path])), draws.randrange(8)
        flipped = bytearray(whole[path])
        flipped[at] ^= 1 << bit
        found = {**whole, path: bytes(flipped)}
        put_back(c, found)
        said = len(c.log.read_text())
        c.launch()
        where = f"bit {bit} of byte {at} of {path.name}, seed {SEED}"
        if serves(c):
            assert facts(c) == before, where
            c.kill()
        else:
            refused += 1
            assert c.log.read_text()[said:].strip(), where
            assert files_of(c) == found, where
    print(f"{refused} of {FLIPS} refused")
    put_back(c, whole)
    c.start()
    assert facts(c) == before
    done.touch()
    assert {end["state"] for end in c.wait_for_end(*jobs)} == {"COMPLETED"}
    assert sorted(map(int, began.read_text().split())) == jobs
    c.replay()
