"""Those who do not keep to the protocol, and those who touch what is not theirs."""

import contextlib
import ctypes
import json
import os
import random
import shutil
import socket
import sqlite3
import subprocess
import threading
import time

import pytest
from conftest import AS_ROOT, PATIENCE, PROGRAM, Stopwatch, processes_with


def connect(cluster):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(cluster.socket)
    connection.settimeout(PATIENCE)
    return connection


def test_what_is_no_request_is_refused(cluster):
    c = cluster("2x1")
    for request in ([], {}, {"do": 3}, {"do": "dance"}, {"do": "submit"}, {"do": "submit", "job": 3},
                    {"do": "submit", "job": {"program": ["x"], "chdir": "relative"}},
                    {"do": "submit", "job": {"program": ["x"], "chdir": "/", "nodes": -1}},
                    {"do": "submit", "job": {"program": ["x"], "chdir": "/", "nodes": 2 ** 63}},
                    {"do": "submit", "job": {"program": ["a\0b"], "chdir": "/"}},
                    {"do": "submit", "job": {"program": ["x"], "chdir": "/", "what": 1}},
                    {"do": "submit", "job": {"program": ["x"], "chdir": "/"}, "wait": "yes"},
                    {"do": "submit", "job": {"program": ["x"], "chdir": "/", "script": "x" * 2 ** 21}},
                    {"do": "cancel"}, {"do": "cancel", "jobs": [0]}, {"do": "cancel", "jobs": [-1]},
                    {"do": "cancel", "jobs": [2 ** 40]}, {"do": "cancel", "jobs": "all"},
                    {"do": "queue", "jobs": 1}, {"do": "history", "job": 5},
                    {"do": "drain", "nodes": 3, "health": "up"},
                    {"do": "drain", "nodes": "0-9", "health": "draining"},
                    {"do": "drain", "nodes": "0", "health": "off"},
                    {"do": "submit", "job": {"program": ["x"], "chdir": "/", "name": "\x1b[2J"}},
                    {"do": "submit", "job": {"program": ["x"], "chdir": "/", "dependency": "afterok:9"}},
                    {"do": "submit", "job": {"program": ["x"], "chdir": "/", "array": "0-99999"}},
                    {"do": "history", "last": 10 ** 6}, {"do": "history", "since_s": "now"},
                    {"do": "cancel", "jobs": ["1_"]}, {"do": "requeue", "jobs": ["x"]},
                    {"do": "resize", "job": 1, "nodes": 1}):
        answer = c.ask(request)
        assert answer["ok"] is False and answer["code"] == 2 and answer["error"], request
    assert c.queue() == {}
    assert c.submit("/bin/sleep", 0) == 1


def test_noise_and_half_messages_disturb_nobody(cluster):
    c = cluster("2x1")
    draws = random.Random(7)
    whole = json.dumps({"do": "submit", "job": {"program": ["/bin/true"], "chdir": "/",
                                                "output": "/dev/null"}}).encode() + b"\n"
    open_ones = []
    for turn in range(200):
        connection = connect(c)
        line = bytearray(whole)
        for _ in range(draws.randrange(4)):
            line[draws.randrange(len(line))] = draws.randrange(256)
        try:
            connection.sendall(line[:draws.randrange(len(line))] if turn % 2 else line)
        except OSError:
            pass
        open_ones.append(connection)
    deep = connect(c)
    deep.sendall(b'{"do": "queue", "jobs": ' + b"[" * 90_000 + b"\n")
    assert b"JSON" in deep.recv(2 ** 16)
    deep.close()
    too_long = connect(c)
    with pytest.raises(OSError):
        for _ in range(1000):
            too_long.sendall(b"x" * 2 ** 16)
    assert b"at most 4 MiB" in too_long.recv(2 ** 16)
    watch = Stopwatch(c)
    assert c.ask({"do": "nodes"})["ok"]
    assert watch.passed() < 2
    for connection in open_ones:
        connection.close()


def test_idle_connections_and_slow_readers_delay_nobody(cluster):
    c = cluster("2x1")
    for number in range(20):
        c.ask({"do": "submit", "job": {"program": ["/bin/true"], "chdir": "/", "hold": True,
                                       "name": "n" * 200, "output": "/dev/null"}})
    idle = [connect(c) for _ in range(1000)]
    slow = connect(c)
    slow.setblocking(False)
    try:
        for _ in range(2000):
            slow.send(b'{"do": "queue"}\n')
    except BlockingIOError:
        pass
    watch = Stopwatch(c)
    for _ in range(5):
        assert c.ask({"do": "queue"})["ok"]
    assert watch.passed() < 5
    for connection in idle + [slow]:
        connection.close()


def test_users_touch_their_own_jobs_only(cluster):
    c = cluster("2x1")
    c.open_to_others()
    others, as_nobody = c.others, c.as_nobody
    mine = c.submit("--hold", "/bin/sleep", 100)

    assert f"job {mine} is not yours" in as_nobody("cancel", mine).stderr
    assert "only operators" in as_nobody("drain", 0).stderr
    assert json.loads(as_nobody("history", "--json").stdout)["jobs"] == []
    done = as_nobody("submit", "--wait", c.script("id -u; id -g; id -G"))
    assert done.returncode == 0, done.stderr
    assert (others / "ductile-2.out").read_text() == "65534\n65534\n65534\n"
    assert ((others / "ductile-2.out").stat().st_uid == 65534) == (not AS_ROOT)
    assert (others / "ductile-2.out").stat().st_uid != os.geteuid()
    # Its job's folder is not its own, but for what is in it.
    done = as_nobody("submit", "--wait", c.script(
        "cd $DUCTILE_JOB_FOLDER && cat report > /dev/null && ! touch more && ! mv report old && ! rm script &&"
        " ! ln -sf /etc/shadow log && ! ls . && ! cat cgroup"))
    assert done.returncode == 0, (done.stderr, (others / "ductile-3.out").read_text())
    # What it may not write is not written for it.
    done = as_nobody("submit", "--wait", "-o", c.folder / "no", "/bin/true")
    assert done.returncode == 1 and "cannot be written: Permission denied" in done.stderr
    # A job of somebody else is seen in the queue, and its operator may end it.
    job = c.ask({"do": "queue"})["jobs"]
    assert [row["user"] for row in job] == ["root"]
    as_nobody("submit", "/bin/sleep", 100)
    c.run("cancel", 5)
    assert c.wait_for_end(5)[0]["state"] == "CANCELLED"


def test_a_script_may_have_a_megabyte(cluster):
    c = cluster("2x1")
    begin = "#!/bin/sh\necho $0 ran; exit\n#"
    script = c.folder / "long.sh"
    script.write_text(begin + "x" * (2 ** 20 - len(begin)))
    script.chmod(0o755)
    jobs = [c.submit(script) for _ in range(5)]
    assert {end["state"] for end in c.wait_for_end(*jobs)} == {"COMPLETED"}
    assert c.output(jobs[-1]).endswith(" ran\n")
    script.write_text(script.read_text() + "x")
    assert "script: it is too long; at most 1048576 bytes" in c.run("submit", script, code=2).stderr


def test_what_a_job_leaves_behind_is_removed(cluster):
    c = cluster("2x1")
    script = c.script("setsid sleep 1000 & (trap '' TERM HUP; sleep 1000) & exit 0")
    c.run("submit", "--wait", script)
    done = subprocess.run(["pgrep", "-f", "^sleep 1000$"], capture_output=True, text=True)
    ours = set(processes_with(f"CLUSTER_TEST_OF={c.folder}"))
    assert ours & set(map(int, done.stdout.split())) == set()


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("cgroups", [True, False])
def test_nothing_outlives_a_manager_that_was_killed(cluster, cgroups, tmp_path):
    """Its nodes are given on when all is gone, whatever it did to hide."""
    config = tmp_path / "config.toml"
    config.write_text(f"cgroups = {str(cgroups).lower()}\n")
    c = cluster("1x1", "easy", "--config", config)
    # One in its session, one that left it; and one without the environment it would be known by,
    # which only helps while nobody looks after its orphans.
    script = c.script("setsid sleep 1000 & echo $! >> pids; sleep 1000 & echo $! >> pids\n"
                      "[ $1 = hides ] && (env -i /bin/sh -c 'setsid sleep 1000 & echo $! >> pids')\n"
                      "echo $$ >> pids; touch ready; wait")
    has_cgroups = False
    for restarts in (False, True):
        hides = "hides" if has_cgroups or not restarts else "no"
        for name in ("pids", "ready"):
            (c.folder / name).unlink(missing_ok=True)
        job = c.submit(script, hides)
        c.wait_for((c.folder / "ready").exists, "the job")
        pids = list(map(int, (c.folder / "pids").read_text().split()))
        assert len(pids) == (4 if hides == "hides" else 3) and all(map(is_alive, pids))
        next_one = c.submit(c.script("for pid in $(cat pids); do grep -s ') [^ZX]' /proc/$pid/stat && echo lives; done; true", "b.sh"))
        manager = c.manager_of(job)
        has_cgroups = (c.state / "jobs" / str(job) / "cgroup").exists()
        assert cgroups or not has_cgroups
        if restarts:
            c.kill()
        os.kill(manager, 9)
        if restarts:
            c.start()
        ends = c.wait_for_end(job, next_one)
        assert (ends[0]["state"], ends[0]["exit_code"]) == ("FAILED", None)
        assert "its manager was gone" in ends[0]["note"]
        assert "lives" not in c.output(next_one).splitlines()
        assert not any(map(is_alive, pids))
    c.replay()


def test_a_file_that_blocks_blocks_nobody(cluster):
    c = cluster("2x1")
    os.mkfifo(c.folder / "fifo")
    done = c.run("submit", "--wait", "-o", "fifo", "/bin/true", code=1)
    assert "the job's output file cannot be written: No such device" in done.stderr
    # With a reader it is one like others.
    reader = subprocess.Popen(["cat", c.folder / "fifo"], stdout=subprocess.PIPE, text=True)
    try:
        c.wait_for(lambda: c.run("submit", "--wait", "-o", "fifo", c.script("echo written")), "a reader")
        assert reader.communicate(timeout=PATIENCE)[0] == "written\n"
    finally:
        reader.kill()


@contextlib.contextmanager
def folder_that_never_answers(path):
    """A file system of FUSE that nobody serves: as one of the network whose server is gone."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        server = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        pytest.skip(f"/dev/fuse: {error}")
    try:
        options = f"fd={server},rootmode=40000,user_id={os.geteuid()},group_id={os.getegid()}"
        if libc.mount(b"none", str(path).encode(), b"fuse", 0, options.encode()) != 0:
            pytest.skip(f"no mount: {os.strerror(ctypes.get_errno())}")
        try:
            yield
        finally:
            libc.umount2(str(path).encode(), 2)  # MNT_DETACH
    finally:
        os.close(server)


def test_a_folder_that_never_answers_delays_nobody(cluster, tmp_path):
    c = cluster("2x1")
    with folder_that_never_answers(tmp_path):
        lost = c.ask({"do": "submit", "job": {"program": ["/bin/true"], "chdir": str(tmp_path),
                                              "output": "/dev/null"}})["job"]
        c.wait_for(lambda: c.queue()[lost]["state"] == "CONFIGURING", "the start")
        other = c.submit("/bin/true")
        c.wait_for_end(other)
        assert c.queue()[lost]["state"] == "CONFIGURING"
        # What waits there holds nothing of the controller, which can go and come back.
        c.kill()
        c.start()
        assert c.queue()[lost]["nodes"] == 1
    assert [end["state"] for end in c.wait_for_end(lost, other)] == ["FAILED", "COMPLETED"]
    c.replay()


def test_what_a_job_finds_in_its_folder_harms_nobody_else(cluster):
    c = cluster("2x1")
    precious = c.folder / "precious"
    precious.write_text('{"event":"ended","exit_code":0}\n')
    folder = c.state / "jobs" / "1"
    # As its user alone it could not even put these there.
    job = c.submit(c.script(f"cd {folder}; mv report r; ln -s {precious} report; mkdir -p deep/er; sleep 100"))
    c.wait_for((folder / "deep" / "er").is_dir, "the job")
    c.run("cancel", job)
    end = c.wait_for_end(job)[0]
    assert (end["state"], end["exit_code"]) == ("CANCELLED", 143)
    assert precious.exists()
    job = c.submit(c.script(f"cd $DUCTILE_JOB_FOLDER; rm -f report; mkfifo report; sleep 100"))
    c.wait_for(lambda: (c.state / "jobs" / "2" / "report").is_fifo(), "the job")
    c.kill()
    os.kill(c.manager_of(job), 9)
    c.start()
    assert c.wait_for_end(job)[0]["state"] == "FAILED"


def test_no_job_has_run_for_longer_than_since_its_start(cluster):
    c = cluster("1x1", "easy", "--estimates", "predicted")
    said = '{"event":"ended","exit_code":0,"time_s":1e10}'
    job = c.submit("-t", 10, c.script(f"echo '{said}' >> $DUCTILE_JOB_FOLDER/report; kill -9 $PPID; sleep 100"))
    assert c.wait_for_end(job)[0]["state"] == "COMPLETED"
    with contextlib.closing(sqlite3.connect(c.state / "journal.db")) as journal:
        users = journal.execute("SELECT last_us FROM users").fetchall()
    assert len(users) == 1 and 0 < users[0][0] < 600e6, users


def test_many_requests_delay_nobody(cluster):
    c = cluster("2x1")
    c.ask({"do": "submit", "job": {"program": ["/bin/true"], "chdir": "/", "hold": True, "array": "1-100",
                                   "output": "/dev/null"}})
    eager = [connect(c) for _ in range(20)]
    for connection in eager:
        connection.setblocking(False)
        try:
            while True:
                connection.send(b'{"do": "queue"}\n' * 4000)
        except BlockingIOError:
            pass
    watch = Stopwatch(c)
    for _ in range(3):
        assert c.ask({"do": "nodes"})["ok"]
    assert watch.passed() < 10
    for connection in eager:
        connection.close()


# What one client may ask at its worst, of `first`, an array of 10,000 tasks.
WORST = {
    "an array as often as a request may name something": lambda first: {"do": "queue", "jobs": [first] * 10_000},
    "each of its tasks": lambda first: {"do": "queue", "jobs": [f"{first}_{i}" for i in range(1, 10_001)]},
    "all jobs": lambda first: {"do": "queue"},
    "more values than a request may have": lambda first: {"do": "queue", "jobs": [first] * 1_000_000},
    "the longest history": lambda first: {"do": "history", "last": 10_000},
    "the history of an array": lambda first: {"do": "history", "job": first},
    "an array more": lambda first: {"do": "submit", "job": {"program": ["/bin/true"], "chdir": "/", "hold": True,
                                                           "array": "1-10000", "output": "/dev/null"}},
    "an array of ranges": lambda first: {"do": "submit", "job": {
        "program": ["/bin/true"], "chdir": "/", "array": ",".join(["1", "3"] * 30_000)}},
    "many dependencies": lambda first: {"do": "submit", "job": {
        "program": ["/bin/true"], "chdir": "/", "hold": True,
        "dependency": "afterok:" + ":".join(str(first + i) for i in range(1000))}},
    "another limit": lambda first: {"do": "update", "job": first, "set": {"time_us": 10 ** 9}},
    "a release": lambda first: {"do": "release", "jobs": [first]},
    "another name of what the policy sees": lambda first: {"do": "update", "job": first, "set": {"name": "other"}},
    "another begin": lambda first: {"do": "update", "job": first, "set": {"begin_us": 4 * 10 ** 15}},
    "a begin at once": lambda first: {"do": "update", "job": first, "set": {"begin_us": 0}},
    "a hold": lambda first: {"do": "hold", "jobs": [first]},
    "a job as long as it may be": lambda first: {"do": "submit", "job": {
        "program": ["/bin/true"], "chdir": "/", "hold": True, "environment": ["A=" + "x" * 120_000] * 28}},
    "many fields": lambda first: {"do": "queue", "jobs": [first], "more": {str(i): i for i in range(100_000)}},
    "what can be, to many": lambda first: {"do": "predict", "jobs": [first] * 10_000},
    "a cancel of each task": lambda first: {"do": "cancel", "jobs": [f"{first}_{i}" for i in range(1, 10_001)]},
    "how many ended": lambda first: {"do": "queue", "jobs": list(range(first, first + 10_000))},
    "which tasks ended": lambda first: {"do": "queue", "jobs": [f"{first}_{i}" for i in range(1, 10_001)]},
    "what is predicted of them": lambda first: {"do": "predict", "jobs": [f"{first}_{i}" for i in range(1, 10_001)]},
}


def test_one_client_at_its_worst_delays_nobody(cluster):
    """How long others wait is a figure of bench/live_load.py; here nobody waits for seconds."""
    c = cluster("2x1")
    blocker = c.submit("-N", 2, "/bin/sleep", 1000)
    c.wait_for_size(blocker, 2)
    first = c.ask(WORST["an array more"](0))["job"]
    other = connect(c)
    answers = other.makefile()
    for name, request in WORST.items():
        worst = connect(c)
        worst.settimeout(PATIENCE)
        worst.sendall(json.dumps(request(first)).encode() + b"\n")
        deadline = time.monotonic() + PATIENCE
        done, longest = b"", 0
        worst.setblocking(False)
        while not done.endswith(b"\n"):
            assert time.monotonic() < deadline, name
            watch = Stopwatch(c)
            other.sendall(json.dumps({"do": "queue", "jobs": [blocker]}).encode() + b"\n")
            assert [row["job"] for row in json.loads(answers.readline())["jobs"]] == [blocker]
            longest = max(longest, watch.passed())
            with contextlib.suppress(BlockingIOError):
                done += worst.recv(1 << 22)
        assert longest < 2, (name, longest)
        answer = json.loads(done)
        assert answer["ok"] or answer["code"] == 2, (name, answer)
        worst.close()
    c.ask({"do": "cancel", "jobs": sorted({row["array_job"] or row["job"] for row in c.queue().values()})})


def longest_of(c, other, job, still, patience=PATIENCE):
    """How long one more client waited at worst for the row of a job, as long as `still` says."""
    answers, longest, deadline = other.makefile(), 0, time.monotonic() + patience
    while still():
        assert time.monotonic() < deadline
        watch = Stopwatch(c)
        other.sendall(json.dumps({"do": "queue", "jobs": [job]}).encode() + b"\n")
        assert [row["job"] for row in json.loads(answers.readline())["jobs"]] == [job]
        longest = max(longest, watch.passed())
    return longest


def for_seconds(seconds):
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end


def test_a_flood_of_waits_delays_nobody(cluster):
    """Who waits for the same job many times hears of its end once."""
    c = cluster("2x1")
    job, other = (c.submit("--hold", "/bin/sleep", 1000) for _ in range(2))
    waits = 10_000
    eager, witness = connect(c), connect(c)
    line = json.dumps({"do": "wait", "job": job}).encode() + b"\n"
    sender = threading.Thread(target=eager.sendall, args=(line * waits,))
    sender.start()
    answers = eager.makefile("rb")
    for _ in range(waits):
        assert json.loads(answers.readline()) == {"ok": True, "job": job}
    sender.join()
    c.run("cancel", job)
    assert longest_of(c, witness, other, for_seconds(1)) < 2
    assert json.loads(answers.readline())["state"] == "CANCELLED"
    eager.sendall(b'{"do": "queue", "jobs": [%d]}\n' % other)
    assert [row["job"] for row in json.loads(answers.readline())["jobs"]] == [other]


def test_those_who_ask_and_leave_delay_nobody(cluster):
    c = cluster("2x1")
    c.open_to_others()
    job = c.submit("--hold", "/bin/sleep", 1000)
    c.ask(WORST["an array more"](0))
    leave = ("import socket, sys\n"
             "while True:\n"
             "    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
             "    s.sendall(b'{\"do\": \"queue\"}\\n'); s.close()\n")
    stay = ("import select, socket, sys\n"
            "all = [socket.socket(socket.AF_UNIX) for _ in range(300)]\n"
            "for s in all: s.connect(sys.argv[1]); s.sendall(b'{\"do\": \"queue\"}\\n')\n"
            "print(flush=True)\n"
            "while True:\n"
            "    for s in select.select(all, [], [])[0]:\n"
            "        if s.recv(1 << 20).endswith(b'\\n'): s.sendall(b'{\"do\": \"queue\"}\\n')\n")
    witness = connect(c)
    for what, number in ((leave, 2), (stay, 1)):
        crowd = [subprocess.Popen(c.of_nobody("/usr/bin/python3", "-c", what, c.socket)) for _ in range(number)]
        try:
            assert longest_of(c, witness, job, for_seconds(5)) < 2, what
            assert all(each.poll() is None for each in crowd)
        finally:
            for each in crowd:
                each.kill()
                each.wait()
    assert longest_of(c, witness, job, for_seconds(0.1)) < 2


def test_what_a_user_may_change_is_limited(cluster):
    """Each change of a job is in the journal for good; operators are free, and so are submissions and ends."""
    c = cluster("2x1")
    c.open_to_others()
    ask = ("import json, socket, sys\n"
           "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); f = s.makefile()\n"
           "def ask(request):\n"
           "    s.sendall(json.dumps(request).encode() + b'\\n'); return json.loads(f.readline())\n"
           "job = {'program': ['/bin/true'], 'chdir': '/', 'hold': True, 'array': '1-9000', 'output': '/dev/null'}\n"
           "job = ask({'do': 'submit', 'job': job})['job']\n"
           "changes = [ask({'do': ['hold', 'release'][i % 2], 'jobs': [job]}) for i in range(6)]\n"
           "print(json.dumps([changes, ask({'do': 'cancel', 'jobs': [job]}), job]))\n")
    config = c.submit("-N", 2, "/bin/sleep", 1000)  # nothing of it starts
    done = subprocess.run(c.of_nobody("/usr/bin/python3", "-c", ask, c.socket), text=True, capture_output=True, timeout=PATIENCE)
    changes, cancelled, _ = json.loads(done.stdout)
    assert [each["ok"] for each in changes] == [True] * 3 + [False] * 3, changes
    assert "you have changed more than 20000 jobs of late" in changes[-1]["error"]
    assert cancelled["ok"]
    mine = c.ask({"do": "submit", "job": {"program": ["/bin/true"], "chdir": "/", "hold": True, "array": "1-9000",
                                          "output": "/dev/null"}})["job"]
    for i in range(6):
        c.ask({"do": ("hold", "release")[i % 2], "jobs": [mine]})
    c.ask({"do": "cancel", "jobs": [mine, config]})


def test_an_array_is_whole_whatever_happens_meanwhile(cluster):
    c = cluster("2x1")
    array = {"do": "submit", "job": {"program": ["/bin/true"], "chdir": "/", "hold": True, "array": "1-5000",
                                     "output": "/dev/null"}}
    one, two, three = connect(c), connect(c), connect(c)
    for connection in (one, two):  # each may be half there when the other one comes
        connection.sendall(json.dumps(array).encode() + b"\n")
    three.sendall(json.dumps(array).encode() + b"\n")
    three.close()  # who asks may go
    first, second = (json.loads(connection.makefile().readline()) for connection in (one, two))
    assert {first["tasks"], second["tasks"]} == {5000} and abs(first["job"] - second["job"]) >= 5000
    # It is killed after the first tasks are there, and before the last ones.
    known = len(c.queue())
    four = connect(c)
    four.sendall(json.dumps(array).encode() + b"\n")
    c.wait_for(lambda: len(c.queue()) > known, "the first tasks")
    c.kill()
    c.start()
    c.wait_for(lambda: len(c.queue()) % 5000 == 0, "all tasks")
    rows = c.queue()
    arrays = {row["array_job"] for row in rows.values()}
    assert len(rows) == 5000 * len(arrays) and len(arrays) in (3, 4)
    for array in arrays:
        assert [rows[array + i]["array_task"] for i in range(5000)] == list(range(1, 5001))
    c.ask({"do": "cancel", "jobs": sorted(arrays)})
    assert c.queue() == {}
    c.replay()


def test_it_outlives_a_lack_of_descriptors(cluster):
    c = cluster("4x1")
    c.stop()
    c.launch_with = ["prlimit", "--nofile=32"]
    c.start()
    crowd = []
    for _ in range(200):
        try:
            crowd.append(connect(c))
        except OSError:
            break
    for connection in crowd:
        connection.close()
    jobs = [c.submit("/bin/sleep", 0.1) for _ in range(4)]
    assert {end["state"] for end in c.wait_for_end(*jobs)} == {"COMPLETED"}
    # More jobs than there are descriptors for: those that cannot be started now are later.
    c.stop()
    c.arguments[c.arguments.index("4x1")] = "24x1"
    c.arguments[c.arguments.index("--state") + 1] = str(c.folder / "wide")
    c.state, c.socket = c.folder / "wide", str(c.folder / "wide" / "socket")
    c.environment["DUCTILE_SOCKET"] = c.socket
    c.start()
    finish = c.folder / "finish"
    until = ["/bin/sh", "-c", f"until [ -e {finish} ]; do sleep 0.1; done"]
    number = c.ask({"do": "submit", "job": {"program": until, "chdir": "/", "array": "1-26",
                                            "output": "/dev/null"}})["job"]
    c.wait_for(lambda: "cannot be started now" in c.log.read_text(), "a job that cannot be started")
    finish.touch()
    ends = c.wait_for_end(*range(number, number + 26))
    assert {(end["state"], end["exit_code"]) for end in ends} == {("COMPLETED", 0)}, ends
    # Nor are they charged for what they were to have.
    sizes = [[size["nodes"] for size in end["sizes"]] for end in ends]
    assert all(each == [1, 0] * (len(each) // 2) for each in sizes) and max(map(len, sizes)) > 2


def test_jobs_that_multiply_or_do_not_listen_are_ended(cluster):
    c = cluster("2x1")
    # Each starts the next one and ends: nobody is there for long.
    moves = c.submit("-t", "0:02", c.script("step() { step & }\ntrap '' TERM HUP\n"
                                           "i=0; while [ $i -lt 3 ]; do (while :; do (sleep 0.01 &) ; done) & "
                                           "i=$((i+1)); done; wait"))
    other = c.submit("/bin/sleep", 1)
    ends = c.wait_for_end(moves, other)
    assert [end["state"] for end in ends] == ["TIMEOUT", "COMPLETED"]
    assert processes_with(f"DUCTILE_JOB_FOLDER={c.state}/jobs/{moves}") == []


def test_there_are_limits_to_what_is_submitted(cluster, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text("max_jobs = 5\nmax_jobs_per_user = 4\nmax_running_jobs_per_user = 2\n"
                      "max_running_nodes_per_user = 3\n")
    c = cluster("8x1", "easy", "--config", config)
    script = c.script(f"until [ -e {c.folder}/go ]; do sleep 0.02; done")
    assert "you may have 3 nodes at a time" in c.run("submit", "-N", 4, script, code=1).stderr
    first, second, third = [c.submit("-N", nodes, script) for nodes in (2, 2, 1)]
    rows = c.queue()
    assert rows[second]["reason"] == "QOSMaxNodePerUserLimit"
    c.wait_for_size(third, 1)
    assert "you may have 4 jobs at a time" in c.run("submit", "-a", "0-1", script, code=1).stderr
    fourth = c.submit(script)
    assert c.queue()[fourth]["reason"] == "QOSMaxJobsPerUserLimit"
    c.kill()
    c.start()
    assert c.queue()[second]["reason"] in ("QOSMaxNodePerUserLimit", "QOSMaxJobsPerUserLimit")
    (c.folder / "go").touch()
    c.wait_for_end(first, second, third, fourth)
    c.replay()
