"""`ductile run --kind charm`: programs of Charm++, which are told by CCS to shrink and to expand. programs/charmrun.py
speaks as they do. With $CHARM_HOME, a folder into which Charm++ was built with --enable-shrinkexpand, a real one runs."""

import contextlib
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import time

import pytest

from conftest import PATIENCE, PROGRAM, ROOT, processes_with, run
from test_script import order, places, wait_for

CHARMRUN = ROOT / "tests/runtime/programs/charmrun.py"

# Without one the port is open to all users of this host, and a word says so.
HAS_NETWORKS = subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode == 0
SHARED = re.compile(r"ductile: the program cannot have a network of its own: .*\n")


def is_listening(job):
    with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
        return job.status()
    return None


@pytest.fixture
def charm(start):
    def starter(behaviour, *options, size=2, is_ready=True):
        job = start("none", size, CHARMRUN, behaviour, options=["--kind", "charm", "--max", 8, *options],
                    is_patient=False)
        if is_ready:
            job.wait_until_connected()
        else:
            wait_for(lambda: is_listening(job), job)
        return job

    return starter


def ended(job):
    code, out, err = job.finish()
    return code, out, SHARED.sub("", err)


def test_fifty_resizes(charm):
    job = charm("good")
    draws = random.Random(1)
    sizes = [2]
    for _ in range(50):
        sizes.append(draws.choice([other for other in range(1, 9) if other != sizes[-1]]))
        done = order(job, size=sizes[-1])
        assert (done["ok"], done["from"], done["size"]) == (True, sizes[-2], sizes[-1]), done
        assert 0 < done["pause_s"] < PATIENCE and 0 < done["answer_s"] < PATIENCE
    told = "".join(f"from {old} to {new}\n" for old, new in zip(sizes, sizes[1:]))
    assert ended(job) == (0, told + "done\n", "")
    assert len(job.events("resized")) == job.events("ended")[0]["resizes"] == 50


def test_an_order_that_comes_before_it_answers_waits(charm):
    job = charm("good", is_ready=False)
    assert order(job, size=5)["ok"]
    assert ended(job) == (0, "from 2 to 5\ndone\n", "")


def test_by_itself(charm):
    job = charm("good", "--script", "t=0.1:3,t=0.2:1", "--no-compare")
    job.wait_for_resizes(2)
    code, out, err = ended(job)
    assert (code, out) == (0, "from 2 to 3\nfrom 3 to 1\ndone\n")
    assert err == "ductile: 2 resizes, 0 given up, 0 not come to\n"


def test_its_processes_are_on_its_processors(charm):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor")
    job = charm("good", "--cpus", "0")
    assert places(job) == {(0,)}
    assert order(job, size=4, cpus="0-1")["ok"]
    assert places(job) == {(0, 1)}
    assert order(job, size=1, cpus="1")["ok"]
    wait_for(lambda: places(job) == {(1,)}, job)
    assert ended(job) == (0, "from 2 to 4\nfrom 4 to 1\ndone\n", "")
    assert [event["cpus"] for event in job.events("resized")] == ["0-1", "1"]


def is_settled(job):
    """What was given up is undone, or will be at one of the next steps."""
    (job.hurry.parent / "step").touch()
    return "is to have 2 again" not in order(job, size=3).get("error", "")


def test_an_order_that_is_too_late_is_recalled(charm):
    job = charm("late", "--ack-timeout", "3")
    given_up = order(job, size=4)
    assert given_up["error"] == "the program has not come to a step of load balancing for 3.0 s"
    assert given_up["size"] == 2
    wait_for((job.hurry.parent / "told-2").exists, job)
    assert order(job, size=3)["error"] == \
        "the program has not come to where it hears that it is to have 2 again"
    wait_for(lambda: is_settled(job), job)
    code, out, err = ended(job)
    assert code == 0 and out.startswith("from 2 to 2\n")


def test_what_has_begun_when_it_is_given_up_is_undone(charm):
    job = charm("raced", "--ack-timeout", "3")
    assert order(job, size=4)["size"] == 2
    wait_for(lambda: is_settled(job), job)
    code, out, _ = ended(job)
    assert code == 0 and out.startswith("from 2 to 4\nfrom 4 to 2\n")


def test_an_order_whose_connection_is_lost_is_recalled(charm):
    """Whether it was heard is not known."""
    job = charm("loses")
    refused = order(job, size=4)
    assert refused["error"] == "the program takes no orders by CCS: it has closed the connection"
    assert refused["size"] == 2
    wait_for(lambda: is_settled(job), job)
    code, out, _ = ended(job)
    assert code == 0 and out.startswith("from 2 to 4\nfrom 4 to 2\n")


def test_one_that_cannot_shrink_is_seen(charm):
    job = charm("unknown", "--ack-timeout", "2")
    refused = order(job, size=4)
    assert refused["error"] == \
        "the program has 2 processes still: its Charm++ was not built with --enable-shrinkexpand"
    assert order(job, size=1)["size"] == 2  # and it goes on
    assert ended(job)[:2] == (0, "done\n")


def test_one_that_is_not_there_yet_is_told_again(charm):
    job = charm("begins")
    assert order(job, size=4)["ok"]
    assert ended(job) == (0, "from 2 to 4\ndone\n", "")


def test_one_that_dies_in_a_resize(charm):
    job = charm("dies")
    assert order(job, size=4)["error"] == "the job has ended"
    code, out, _ = ended(job)
    assert (code, out) == (3, "")
    assert [event["error"] for event in job.events("aborted")] == ["the job has ended"]


def test_it_is_quiet_when_the_program_has_ended(charm):
    """While somebody else may still write to the program's output."""
    def used():
        words = pathlib.Path(f"/proc/{job.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    job = charm("good")
    (charmrun, _), = charmruns(job)
    with open(f"/proc/{charmrun}/fd/1", "w"):
        assert order(job, size=3)["ok"]  # after which it looks for what is left behind
        job.hurry.touch()
        wait_for(lambda: not charmruns(job), job)
        before = used()
        time.sleep(4)
        assert used() - before < 1
    assert ended(job) == (0, "from 2 to 3\ndone\n", "")


def test_who_has_another_key_is_not_believed(charm):
    job = charm("impostor", "--start-limit", "5", is_ready=False)
    assert order(job, size=4)["error"] == "the program does not answer by CCS: who answers does not have the key"
    assert job.status()["connected"] == 0
    assert ended(job)[0] == 0


def test_who_has_another_size_is_not_ready(charm):
    job = charm("other", "--start-limit", "5", is_ready=False)
    assert order(job, size=4)["error"] == "the program does not answer by CCS: it has 3 processes, not 2"
    assert job.status()["connected"] == 0
    assert ended(job)[0] == 0


def command_lines(job):
    found = {}
    for pid in processes_with(job.mark):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found[pid] = pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    return found


def processes_called(job, *words):
    return [pid for pid, its in command_lines(job).items() if its[:len(words)] == list(words)]


def charmruns(job):
    """With what they were told."""
    return [(pid, its) for pid, its in command_lines(job).items() if "++server-auth" in its]


ORPHAN = ("sh", "-c", "sleep 1001; :")


def test_what_an_expansion_leaves_behind_is_ended(charm):
    job = charm("leaves")
    before = processes_called(job, "sleep", "1000")
    assert len(before) == 2 and processes_called(job, *ORPHAN) == []
    assert order(job, size=4)["ok"]
    wait_for(lambda: not processes_called(job, *ORPHAN) and not processes_called(job, "sleep", "1001"), job)
    after = processes_called(job, "sleep", "1000")
    assert len(after) == 4 and set(before) < set(after)
    assert ended(job) == (0, "from 2 to 4\ndone\n", "")


def test_nothing_is_ended_of_what_is_not_understood(charm):
    job = charm("miscounts")
    assert order(job, size=4)["ok"]
    time.sleep(1)  # it is looked for again and again
    assert len(processes_called(job, *ORPHAN)) == 1 and len(processes_called(job, "sleep", "1000")) == 4
    assert ended(job) == (0, "from 2 to 4\ndone\n", "")


def test_strangers_do_not_reach_its_port(charm):
    if not HAS_NETWORKS:
        pytest.skip("this user may not make networks")
    job = charm("good")
    status = job.status()
    assert status["network"] == "own"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", status["port"]), timeout=5)
    (charmrun, _), = charmruns(job)
    for pid in [charmrun, *processes_called(job, "sleep", "1000")]:
        assert os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")
    assert ended(job) == (0, "done\n", "")


def test_strangers_do_not_learn_its_key(charm):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("only root can be somebody else")
    job = charm("good")
    (_, words), = charmruns(job)
    key = pathlib.Path(words[words.index("++server-auth") + 1])
    stranger = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    for what, refused in [(["cat", key], True), (["ls", key.parent], True), (["ls", key.parent.parent], False)]:
        assert subprocess.run(what, capture_output=True).returncode == 0
        assert (subprocess.run([*stranger, *what], capture_output=True).returncode != 0) == refused, what
    assert key.stat().st_mode & 0o077 == 0
    assert ended(job) == (0, "done\n", "")


def test_strangers_give_no_orders(start):
    """Where nobody may make a network: they reach the port, and are sent away."""
    before = ["unshare", "-r", "sh", "-c", 'echo 0 > /proc/sys/user/max_net_namespaces && exec "$@"', "sh"]
    if subprocess.run([*before, "true"], capture_output=True).returncode != 0:
        pytest.skip("this user may not forbid networks")
    job = start("none", 2, CHARMRUN, "good", options=["--kind", "charm", "--max", 8], is_patient=False, before=before)
    status = job.wait_until_connected()
    assert status["network"] == "shared"
    with socket.create_connection(("127.0.0.1", status["port"]), timeout=PATIENCE) as stranger:
        stranger.sendall(bytes(8) + b"set_bitmap".ljust(32, b"\0"))
        with contextlib.suppress(ConnectionResetError):
            assert stranger.recv(1) == b""
    assert order(job, size=3)["ok"]
    code, out, err = job.finish()
    assert (code, out) == (0, "denied\nfrom 2 to 3\ndone\n")
    assert SHARED.fullmatch(err)


@pytest.mark.parametrize("word", ["+p4", "++p", "++np", "++server-port", "++local", "++nodelist"])
def test_what_is_ours_to_say(word):
    refused = run("run", "--kind", "charm", "-n", 2, "--", CHARMRUN, "good", word)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (f"ductile: PROGRAM: '{word}' is said to charmrun by ductile run; "
                              "drop it, and say -n for the processes\n")


def test_is_for_this_host():
    refused = run("run", "--kind", "charm", "--hosts", "h1:4", "--", CHARMRUN, "good")
    assert refused.returncode == 2 and "--hosts: programs of --kind charm are started on this host" in refused.stderr


def test_a_real_one():
    if not os.environ.get("CHARM_HOME"):
        pytest.skip("$CHARM_HOME names no Charm++ that can shrink and expand")
    done = subprocess.run([ROOT / "scripts/measure-charm", "--charm", os.environ["CHARM_HOME"], "--ductile",
                           os.path.abspath(PROGRAM), "--resizes", "5", "--iterations", "4000"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 resizes of 1 to 4 nodes: the result is exact; COMPLETED" in done.stdout
