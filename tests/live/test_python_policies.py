"""A policy in Python live: in a process of its own, which may do what it likes. The controller goes on, another policy
decides meanwhile, and what was decided is recorded."""

import contextlib
import os
import pathlib
import random
import signal
import subprocess

import pytest

from conftest import PATIENCE, PROGRAM

PLUGIN = pathlib.Path(PROGRAM).parent / "python/ductile/libductile_python.so"
pytestmark = pytest.mark.skipif(not PLUGIN.exists(), reason="the program has no Python (scripts/setup --python)")

EASY = (pathlib.Path(__file__).resolve().parents[2] / "examples/python/easy.py").read_text()
LONG = 1000 * PATIENCE  # s, of a pass: no test waits for that
LATE = min(PATIENCE / 12, 10)  # s, where a test does; the controller waits 20 s for an answer of a copy of it
# Decides until the file `bad` is beside it; that says what it does then.
MOODY = '''
import ctypes, os, pathlib, time

BAD = pathlib.Path(__file__).parent / "bad"

def hang():
    while True:
        ctypes.CDLL(None).usleep(1000)

def leak():
    kept = []
    while True:
        kept.append(bytearray(1 << 24))

def nonsense(view):
    view.start(view.queue.first, 1000)

def print_much():
    for i in range(30_000):
        print("line", i, "of very many")
    print("it has printed")

class Moody:
    order = "sjf"

    def __init__(self):
        self.passes = 0

    def schedule(self, view):
        self.passes += 1
        if BAD.exists():
            exec(compile(BAD.read_text(), __file__, "exec"), globals(), {"view": view, "self": self})
        view.start_in_order()
'''
BAD = {
    "raises": ("raise RuntimeError('no mood')", "raised RuntimeError: no mood"),
    "hangs": ("hang()", "its pass took more than"),
    "exits": ("os._exit(3)", "its process ended with exit code 3"),
    "leaves": ("raise SystemExit(4)", "raised SystemExit: 4"),
    "segfault": ("ctypes.string_at(0)", "its process was ended by signal 11"),
    "nonsense": ("nonsense(view)", "cannot start on 1000 nodes"),
    "leaks": ("leak()", "raised MemoryError"),
    "killed": ("os.kill(os.getpid(), 9)", "its process was ended by signal 9"),
    "closes": ("os.closerange(3, 100); time.sleep(1000)", "its process closed its connection"),
    "babbles": ("[os.write(fd, b'so what\\n') for fd in range(3, 20)"
                " if os.path.islink(f'/proc/self/fd/{fd}')"
                " and 'socket' in os.readlink(f'/proc/self/fd/{fd}')]", "it says what is nothing"),
}


def served(cluster, tmp_path, text, name, *options, local="4x1", timeout=LONG):
    (tmp_path / "mine.py").write_text(text)
    return cluster(local, f"python:{tmp_path}/mine.py:{name}", "--policy-timeout", timeout, *options)


def account(c):
    return c.ask({"do": "queue"})["policy_process"]


def is_policy(pid):
    """None that has ended: that has no words any more."""
    with contextlib.suppress(OSError):
        return b"policy-process" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return False


def processes_of(c):
    """Children of the controller that decide."""
    pids = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            if int(stat[1]) == c.server.pid and is_policy(pid):
                pids.append(int(pid))
    return pids


def decides(c):
    c.wait_for(lambda: account(c)["decides"], "the policy")


def one_job(c):
    assert c.wait_for_end(c.submit("-N", 1, "-t", 1, "true"))[0]["state"] == "COMPLETED"


def decides_alone(c):
    """A job comes and ends, and the other policy has no part in that."""
    def alone():
        before = account(c)
        one_job(c)
        after = account(c)
        return after["fallbacks"] == before["fallbacks"] and after["passes"] > before["passes"]

    c.wait_for(alone, "a job of which it decides")


def test_it_decides(cluster, tmp_path):
    c = served(cluster, tmp_path, EASY, "Easy")
    sleeps = c.script('sleep "$1"')
    first = c.submit("-N", 3, "-t", 100, sleeps, 1000)
    c.wait_for_size(first, 3)
    head = c.submit("-N", 4, "-t", 5, sleeps, 0)
    late = c.submit("-N", 1, "-t", 200, sleeps, 0)  # would delay the head
    filler = c.submit("-N", 1, "-t", 5, sleeps, 0)
    c.wait_for_end(filler)
    assert {head, late} <= set(c.queue())
    assert c.ask({"do": "explain", "job": head})["now"]  # asks the policy, in a copy of the controller
    rows = {row["job"]: row for row in c.ask({"do": "predict"})["jobs"]}
    assert rows[late]["start_s"] >= rows[head]["start_s"] > 0
    c.run("cancel", first)
    c.wait_for_end(head, late)
    its = account(c)
    assert its["policy"] == f"python:{tmp_path}/mine.py:Easy" and its["decides"] and its["fallback"] == "easy"
    assert its["passes"] > 0 and its["fallbacks"] == its["failures"] == 0 and its["why"] is None
    assert len(processes_of(c)) == 1
    [pid] = processes_of(c)
    c.stop()
    assert not pathlib.Path(f"/proc/{pid}").exists()

    (tmp_path / "mine.py").unlink()  # what it decided is recorded
    assert c.replay()["decisions"] >= 4
    history = subprocess.run([PROGRAM, "explain", "--log", c.state / "journal.db", "--history", str(late)],
                             capture_output=True, text=True, timeout=PATIENCE)
    assert history.returncode == 0 and "start" in history.stdout, history.stderr


@pytest.mark.parametrize("what", BAD)
def test_whatever_it_does(cluster, tmp_path, what):
    body, words = BAD[what]
    memory = ["--policy-memory", "600M"] if what == "leaks" else []
    c = served(cluster, tmp_path, MOODY, "Moody", "--fallback", "fcfs", *memory, timeout=LATE if what == "hangs" else LONG)
    decides_alone(c)
    before = account(c)
    assert before["failures"] == before["fallbacks"] == 0 or what == "hangs"  # may be late on a busy machine

    def fails():
        one_job(c)  # all the same
        return account(c)["failures"] > before["failures"]

    (tmp_path / "bad").write_text(body)
    c.wait_for(fails, "a failure")
    its = account(c)
    assert its["fallbacks"] > before["fallbacks"] and words in its["why"], its
    if what not in ("exits", "killed", "closes", "babbles"):  # these say nothing of where they are
        assert "mine.py" in its["why"] and "line" in its["why"] or "mine.py:" in its["why"], its
    for command in ("queue", "nodes"):
        assert "fcfs decided" in c.run(command).stdout and words in c.run(command).stdout
    assert words in c.log.read_text()
    (tmp_path / "bad").unlink()
    decides_alone(c)
    c.stop()
    (tmp_path / "mine.py").unlink()
    c.replay()


def test_what_it_prints_is_in_the_log(cluster, tmp_path):
    c = served(cluster, tmp_path, MOODY, "Moody")
    (tmp_path / "bad").write_text("print('first', self.passes); print_much()")
    one_job(c)
    c.wait_for_text(c.log, "lines of what it printed are left out")
    log = c.log.read_text()
    assert f"the policy python:{tmp_path}/mine.py:Moody printed: first 1" in log
    assert len(log) < 500_000 and account(c)["failures"] == 0


def test_it_remembers_until_it_is_lost(cluster, tmp_path):
    c = served(cluster, tmp_path, MOODY, "Moody")
    (tmp_path / "bad").write_text("print('pass', self.passes)")
    one_job(c)
    one_job(c)
    c.wait_for_text(c.log, "printed: pass 2")
    [pid] = processes_of(c)
    os.kill(pid, signal.SIGKILL)
    c.wait_for(lambda: account(c)["failures"] == 1, "that it is noticed")
    assert "signal 9" in account(c)["why"]
    decides(c)
    one_job(c)
    c.wait_for(lambda: c.log.read_text().count("printed: pass 1\n") == 2, "its first pass")
    c.replay()


def test_a_stopped_one_is_late(cluster, tmp_path):
    c = served(cluster, tmp_path, MOODY, "Moody", timeout=LATE)
    for pid in processes_of(c):
        os.kill(pid, signal.SIGSTOP)
    one_job(c)
    c.wait_for(lambda: account(c)["failures"] > 0, "a failure")
    assert "took more than" in account(c)["why"]
    decides_alone(c)


def test_the_controller_is_killed(cluster, tmp_path):
    c = served(cluster, tmp_path, EASY, "Easy")
    sleeps = c.script("exec sleep 1000")
    running = c.submit("-N", 4, "-t", 100, sleeps)
    c.wait_for_size(running, 4)
    waiting = [c.submit("-N", 2, "-t", 100, sleeps) for _ in range(3)]
    [pid] = processes_of(c)
    c.kill()
    c.start()
    c.wait_for(lambda: not is_policy(pid), "the end of its process")
    assert set(c.queue()) == {running, *waiting}
    c.run("cancel", running)
    c.wait_for_size(waiting[0], 2)
    c.wait_for_size(waiting[1], 2)
    assert account(c)["fallbacks"] == 0 and account(c)["passes"] > 0
    # With another policy the same folder needs no Python.
    c.kill()
    (tmp_path / "mine.py").unlink()
    c.arguments[c.arguments.index("--policy") + 1] = "easy"
    c.start()
    c.run("cancel", waiting[0])
    c.wait_for_size(waiting[2], 2)
    assert account(c) is None
    c.replay()


def reload(c):
    seen = c.log.read_text().count("the settings ")
    c.server.send_signal(signal.SIGHUP)
    c.wait_for(lambda: c.log.read_text().count("the settings ") > seen, "the settings")


def test_a_file_is_read_again(cluster, tmp_path):
    config = tmp_path / "serve.toml"
    config.write_text('fallback = "fcfs"\n')
    c = served(cluster, tmp_path, MOODY, "Moody", "--config", config)
    (tmp_path / "mine.py").write_text(MOODY + "\nprint('another one')\n")
    one_job(c)
    before = account(c)
    reload(c)
    assert "printed: another one" in c.log.read_text()
    assert account(c)["passes"] >= before["passes"] > 0 and account(c)["fallback"] == "fcfs"
    # One that is wrong leaves the one that was there; the other settings are taken.
    (tmp_path / "mine.py").write_text("class Moody:\n  def schedule(self, view)\n")
    config.write_text('fallback = "mebf"\n')
    [pid] = processes_of(c)
    reload(c)
    log = c.log.read_text()
    assert "the policy stays as it was" in log and "mine.py:2" in log and "the settings stay as they are" not in log
    assert processes_of(c) == [pid] and account(c)["fallback"] == "mebf"
    one_job(c)
    assert account(c)["failures"] == 0 and account(c)["passes"] > before["passes"]
    c.replay()


SLOW = MOODY + """
import pathlib, time
print("it begins")
while not (pathlib.Path(__file__).parent / "go").exists():
    time.sleep(0.05)
print("another one")
"""


def test_a_slow_file_holds_up_nobody(cluster, tmp_path):
    c = served(cluster, tmp_path, MOODY, "Moody")
    one_job(c)
    [pid] = processes_of(c)
    (tmp_path / "mine.py").write_text(SLOW)
    for times in (1, 2):  # the second one begins anew
        c.server.send_signal(signal.SIGHUP)
        c.wait_for(lambda: c.log.read_text().count("printed: it begins") == times, "that it is read again")
    before = account(c)
    one_job(c)
    its = account(c)
    assert its["passes"] > before["passes"] and its["fallbacks"] == its["failures"] == 0
    assert "the settings were read again" not in c.log.read_text()
    assert len(processes_of(c)) == 2 and pid in processes_of(c)
    (tmp_path / "go").touch()
    c.wait_for_text(c.log, "the settings were read again")
    [after] = processes_of(c)
    assert after != pid and c.log.read_text().count("printed: another one") == 1
    decides_alone(c)
    assert account(c)["failures"] == 0 and account(c)["passes"] > its["passes"]
    c.replay()


def test_a_file_that_hangs_ends_with_the_controller(cluster, tmp_path):
    c = served(cluster, tmp_path, MOODY, "Moody")
    (tmp_path / "mine.py").write_text(SLOW)
    c.server.send_signal(signal.SIGHUP)
    c.wait_for_text(c.log, "printed: it begins")
    both = processes_of(c)
    assert len(both) == 2
    c.stop()
    assert not any(map(is_policy, both))


def test_other_traits_need_a_word(cluster, tmp_path):
    """A file that was edited is not taken as it is when its process is started anew."""
    c = served(cluster, tmp_path, MOODY, "Moody")
    (tmp_path / "mine.py").write_text(MOODY.replace('order = "sjf"', 'order = "fcfs"'))
    [pid] = processes_of(c)
    os.kill(pid, signal.SIGKILL)
    c.wait_for(lambda: "its file has changed: send SIGHUP" in (account(c)["why"] or ""), "that it is noticed")
    one_job(c)
    assert account(c)["fallbacks"] > 0
    reload(c)
    decides_alone(c)
    c.replay()


def test_one_that_hangs_when_it_is_asked_in_a_copy(cluster, tmp_path):
    """Questions are answered by a copy of the controller, in which the class is made anew."""
    hangs = """
        import pathlib, time
        while b"policy-process" not in pathlib.Path("/proc/self/cmdline").read_bytes():
            time.sleep(0.1)
"""
    place = "    def schedule(self, view):\n"
    assert place in EASY
    c = served(cluster, tmp_path, EASY.replace(place, place + hangs), "Easy", timeout=LATE)
    first = c.submit("-N", 4, "-t", 100, c.script("exec sleep 1000"))
    c.wait_for_size(first, 4)
    second = c.submit("-N", 4, "-t", 100, "true")
    for question in (["predict"], ["explain", second]):
        done = c.run(*question, code=1)
        assert f"the policy python:{tmp_path}/mine.py:Easy took more than {LATE:g} s for a pass" in done.stderr
    c.run("cancel", first)
    c.wait_for_end(second)


def test_a_restart_without_the_file(cluster, tmp_path):
    c = served(cluster, tmp_path, MOODY, "Moody")
    one_job(c)
    c.stop()
    (tmp_path / "mine.py").rename(tmp_path / "away.py")
    c.start()
    assert not account(c)["decides"] and "mine.py" in account(c)["why"]
    one_job(c)
    assert account(c)["fallbacks"] > 0 and "easy decides until it is started anew" in c.log.read_text()
    (tmp_path / "away.py").rename(tmp_path / "mine.py")
    decides_alone(c)
    c.stop()
    c.replay()


def test_who_forks_answers_once(cluster, tmp_path):
    c = served(cluster, tmp_path, MOODY, "Moody")
    (tmp_path / "bad").write_text("print('of', os.getpid()) if os.fork() else time.sleep(0.1)")
    for _ in range(4):
        one_job(c)
    its = account(c)
    assert its["failures"] == its["fallbacks"] == 0, its
    assert c.log.read_text().count("printed: of") >= 4
    assert len(processes_of(c)) == 1
    c.replay()


def test_answers_that_nobody_asked_for(cluster, tmp_path):
    c = served(cluster, tmp_path, MOODY, "Moody")
    one_job(c)
    sockets = ("[fd for fd in map(int, os.listdir('/proc/self/fd')) if fd > 2 and os.path.islink(f'/proc/self/fd/{fd}')"
               " and 'socket' in os.readlink(f'/proc/self/fd/{fd}')]")
    # To the passes that follow, in advance: nobody is started.
    (tmp_path / "bad").write_text(
        f"import threading\nthreading.Timer(0, lambda: [os.write(fd, b'calls %d 0\\n' % n) for fd in {sockets}"
        " for n in range(1, 100)]).start()")

    def fails():
        one_job(c)
        return account(c)["failures"] > 0

    c.wait_for(fails, "a failure")
    assert any(words in account(c)["why"] for words in ("what nobody asked for", "it says what is nothing"))
    (tmp_path / "bad").unlink()
    decides_alone(c)
    c.replay()


def test_what_was_possible_stands(cluster, tmp_path):
    """An answer of which the second call is not possible: the other policy decides what is left."""
    c = served(cluster, tmp_path, MOODY, "Moody", "--fallback", "fcfs")
    sleeps = c.script("exec sleep 1000")
    first = c.submit("-N", 4, "-t", 100, sleeps)
    c.wait_for_size(first, 4)
    large, small = (c.submit("-N", nodes, "-t", 100, sleeps) for nodes in (4, 1))
    c.wait_for(lambda: c.queue()[small]["state"] == "PENDING", "that it waits")
    start = "start 2 - - - 1 1 in-order - 0 0 0 0 0"  # the small one
    (tmp_path / "bad").write_text(f"""
self.before = getattr(self, "before", self.passes - 1)
if view.idle == 4:
    text = "{start}\\n{start}\\n"
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd > 2 and os.path.islink(f"/proc/self/fd/{{fd}}") and "socket" in os.readlink(f"/proc/self/fd/{{fd}}"):
            os.write(fd, f"calls {{{account(c)['passes']} + self.passes - self.before}} {{len(text)}}\\n{{text}}".encode())
    time.sleep(1000)
""")
    c.run("cancel", first)
    c.wait_for_size(small, 1)
    assert f"it decided what is not possible: {start}; the 1 before it stand" in account(c)["why"]
    assert c.queue()[large]["state"] == "PENDING"  # which fcfs would have started first
    c.run("cancel", small)
    c.wait_for_size(large, 4)
    c.replay()


def test_memory_is_limited_from_the_beginning(cluster, tmp_path):
    says = "import resource\nprint('may have', resource.getrlimit(resource.RLIMIT_DATA))\n"
    c = served(cluster, tmp_path, says + MOODY, "Moody", "--policy-memory", "600M")
    c.wait_for_text(c.log, f"may have ({600 << 20}, {600 << 20})")
    reload(c)
    c.wait_for(lambda: c.log.read_text().count(f"may have ({600 << 20}, {600 << 20})") == 2, "the next one")
    assert "may have (-1" not in c.log.read_text()


def test_what_it_starts_ends_with_the_controller(cluster, tmp_path):
    c = served(cluster, tmp_path, MOODY, "Moody")
    (tmp_path / "bad").write_text("import subprocess; print('started', subprocess.Popen(['sleep', '1000']).pid)")
    one_job(c)
    c.wait_for_text(c.log, "printed: started")
    pid = int(c.log.read_text().partition("printed: started ")[2].split()[0])
    assert pathlib.Path(f"/proc/{pid}").exists()
    c.kill()

    def is_over():
        try:
            return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            return True

    c.wait_for(is_over, "the end of what it started")


@pytest.mark.parametrize("text, name, options, words", [
    ("class Mine:\n    def schedule(self, view):\n        pass\n    1 / 0\n", "Mine", [], "mine.py:4"),
    ("import os\nos._exit(7)\n", "Mine", [], "exit code 7"),
    ("", "Mine", [], "it has no policy"),
    (MOODY, "Moody", ["--fallback", "python:mine.py:Moody"], "no single policy"),
    (MOODY, "Moody", ["--fallback", "portfolio"], "no single policy"),
    (MOODY, "Moody", ["--policy-timeout", "0"], "policy-timeout"),
    (MOODY, "Moody", ["--policy-memory", "much"], "much"),
])
def test_what_is_wrong_at_the_start(tmp_path, text, name, options, words):
    (tmp_path / "mine.py").write_text(text)
    done = subprocess.run([PROGRAM, "serve", "--local", "4x1", "--state", str(tmp_path / "state"),
                           "--policy", f"python:{tmp_path}/mine.py:{name}", *options],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2 and words in done.stderr, done.stderr
    assert not (tmp_path / "state/socket").exists()


def test_users_have_no_file_of_theirs_run(cluster, tmp_path):
    c = served(cluster, tmp_path, EASY, "Easy")
    (tmp_path / "theirs.py").write_text(f"open('{tmp_path}/ran', 'w')\n" + EASY)
    done = c.run("predict", "--policy", f"python:{tmp_path}/theirs.py:Easy", code=2)
    assert "name one of ours" in done.stderr and not (tmp_path / "ran").exists()


def test_a_stranger_who_calls_it(tmp_path):
    done = subprocess.run([PROGRAM, "policy-process", "python:x.py:X"], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE)
    assert done.returncode == 2 and "a controller calls this" in done.stderr


def test_it_decides_as_the_same_in_cpp(cluster, tmp_path):
    """The journal is asked whether `easy` would have decided the same at each instant; that says when the head is
    planned, which the example does not."""
    plans = "plan = view.shadow(head)\n        view.reserve(head, plan.at)\n        if view.idle:\n"
    text = EASY.replace("if view.idle:\n", plans).replace("view.shadow(head).fitting()", "plan.fitting()")
    assert text.count("plan.") == 2
    c = served(cluster, tmp_path, text, "Easy", local="8x1")
    draw = random.Random(3)
    sleeps = c.script('sleep "$1"')
    first = c.submit("-N", 8, "-t", 100, sleeps, 1000)
    c.wait_for_size(first, 8)
    jobs = [c.submit("-N", draw.randint(1, 8), "-t", draw.randint(1, 60), sleeps, draw.random() / 2) for _ in range(16)]
    c.run("cancel", first)
    c.wait_for_end(*jobs)
    its = account(c)
    assert its["passes"] > 16 and its["fallbacks"] == 0
    c.stop()

    def asks(policy):
        return subprocess.run([PROGRAM, "replay", "--policy", policy, c.state / "journal.db"], capture_output=True,
                              text=True, timeout=PATIENCE)

    done = asks("easy")
    assert done.returncode == 0 and "asked again and folded" in done.stdout, done.stdout + done.stderr
    assert asks("fcfs").returncode == 1
