"""`ductile serve` for as long as one likes, under all that can happen to it: jobs of all types, clients that do their
worst, the controller killed, suspended and started again, managers and programs killed and suspended, nodes drained
and lost, nodes reserved, disks full, clocks set. Everything is drawn from a seed.

What must hold is seen from outside, in the queue, in the history, in the journal, and in what the jobs themselves
write: each says when it begins and when it ends.

  nothing lost    what was acknowledged is in the history, and ended as it had to; no process and no folder is left;
                  a reservation that was acknowledged is there until it is removed, and nobody else's job starts in it
  nothing twice   no job and no life of a requeued job began twice, no node was two jobs' at a time
  nobody waits    no node is idle for more than IDLE seconds while a waiting job fits; a plain `queue` is answered in
                  LATE seconds, whatever others do

Usage: soak.py SECONDS [SEED [KIND...]], of all kinds of jobs if none is named"""

import dataclasses
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

from conftest import EXAMPLES, PROGRAM, Cluster, PATIENCE, example, processes_with, times_of

IDLE = 5  # s
LATE = float(os.environ.get("DUCTILE_TEST_LATE", 5))  # s; machines may be slow
NODES = 6

POLICIES = ("fcfs", "easy", "easy:order=fairshare,half_life=20", "easy:order=sjf", "backfill:depth=3", "conservative",
            "mebf", "elastic", "dbes", "equipartition", "equigrow", "esf", "edf", "ldf", "fpsma")
# What they do with the nodes that are idle:
IN_ORDER = ("fcfs", "fpsma")  # nothing passes the first waiting job, nor one that waits for promised nodes
CHOOSES_SIZES = ("mebf", "elastic", "dbes", "equipartition", "equigrow", "esf", "edf", "ldf")  # and starts at the smallest
TRIES_LARGEST = ("mebf",)  # that fits beside the others, and no other one

CONFIG = """policy = "%s"
max_running_jobs_per_user = 40
max_jobs_per_user = 5000
"""

# Says what happens to it, in lines that are written at once.
JOB = """#!/bin/sh
say() { read up _ < /proc/uptime; echo "$1 $DUCTILE_JOB_ID $DUCTILE_RESTART_COUNT $up $DUCTILE_JOB_NODELIST" >> %s; }
say begin
sleep $1
echo result
say end
exit $2
"""


def nodes_of(text):
    for part in text.replace(",", " ").split():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def those_that_fit(queue, nodes):
    """The waiting jobs that the policy had to start on what is idle: the first one, and under backfilling each that
    disturbs no reservation. What cannot be reckoned from outside counts against them: jobs that can be resized, or are
    late, run for ever, and those that wait for promised nodes keep as many."""
    policy = queue["policy"].partition(":")[0]
    now = queue["now_s"]
    waiting = [row for row in queue["jobs"] if row["state"] == "PENDING" and row["reason"] in ("Resources", "Priority")]
    promised = [row for row in queue["jobs"] if row["reason"] == "Claim"]
    free = [node for node in nodes["nodes"] if not node["reservation"]]
    idle = sum(node["state"] == "IDLE" for node in free)
    healthy = {node["node"] for node in free if node["state"] == "ALLOCATED"}

    def size(row):
        is_chosen = policy in CHOOSES_SIZES and row["type"] in ("moldable", "malleable", "adaptive")
        return min(row["min_nodes"], row["nodes"]) if is_chosen else row["nodes"]

    def length(row, count):
        return row["time_limit_s"] * max(row["nodes"] / count, 1)

    changes = [(0, idle, None)]  # from when on so many nodes more are idle, or less, and by whom
    for row in queue["jobs"]:
        end = (row["start_s"] or 0) + row["time_limit_s"]
        if row["state"] == "RUNNING" and row["type"] in ("rigid", "moldable") and end > now + 1:
            changes.append((end, len(healthy & set(nodes_of(row["nodelist"]))), None))
    for row in waiting:
        if row["planned_start_s"] is not None:
            begin = max(row["planned_start_s"], now)  # it is of the last pass
            most = length(row, size(row))
            changes += [(begin, -row["nodes"], row["job"]), (begin + most, row["nodes"], row["job"])]
    changes += [(now, -row["nodes"], row["job"]) for row in promised]

    def is_free(count, until, job):
        moments = {now, *(time for time, _, _ in changes if now < time < until)}
        return all(count <= sum(more for time, more, by in changes if time <= moment and by != job) for moment in moments)

    fitting = set()
    for row in waiting:
        least = size(row)
        if least > idle:
            continue
        if row is waiting[0]:
            if not (policy in IN_ORDER and promised):
                fitting.add(row["job"])
        elif policy not in IN_ORDER:
            count = min(row["nodes"], idle) if policy in TRIES_LARGEST else least
            if is_free(count, now + length(row, least) + 1, row["job"]):
                fitting.add(row["job"])
    return fitting


class Answers:
    """How long plain questions took, and what was being done when one was slow."""

    def __init__(self):
        self.all = []  # (seconds, the controller's own, waiting for a processor, what was done before)

    def measure(self, pid, what, ask):
        before = times_of(pid)
        begin = time.monotonic()
        answer = ask()
        took = time.monotonic() - begin
        after = times_of(pid)
        if answer is not None:
            self.all.append((took, after[0] - before[0], after[1] - before[1], what))
        return answer, took

    def __str__(self):
        if not self.all:
            return "no plain queue was answered"
        self.all.sort(reverse=True)

        def at(share):
            return self.all[int((len(self.all) - 1) * (1 - share))][0] * 1e3

        slow = sum(took > 0.1 for took, *_ in self.all)
        lines = [f"{len(self.all)} plain queues: median {at(0.5):.1f} ms, 99 % {at(0.99):.1f} ms, "
                 f"99.9 % {at(0.999):.1f} ms, slowest {at(1):.0f} ms; {slow} above 100 ms; the slowest:"]
        for took, worked, waited, what in self.all[:8]:
            rest = max(took - worked - waited, 0)
            lines.append(f"  {took * 1e3:.0f} ms, the controller {worked * 1e3:.0f} at work, {waited * 1e3:.0f} without a "
                         f"processor, {rest * 1e3:.0f} waiting for something else; {what}")
        return "\n".join(lines)


@dataclasses.dataclass
class Kind:
    """Of jobs: the fields of their submission, and how they end if nobody does anything to them."""
    name: str
    end: tuple  # state, exit code
    weight: float
    fields: dict = dataclasses.field(default_factory=dict)
    arguments: tuple = ("0.5", "0")


class Unfair(AssertionError):
    """Something that must hold does not."""


class SmallDisk(Cluster):
    """Its state is on a disk of its own, in memory, where a mount can be made; else with all others."""

    def __init__(self, *words, is_small, **options):
        self.has_disk = None if is_small else False
        super().__init__(*words, **options)

    def launch(self, *more):
        if self.has_disk is None:
            self.state.mkdir()
            mount = ["mount", "-t", "tmpfs", "-o", "size=64m,mode=755", "none", str(self.state)]
            self.has_disk = subprocess.run(mount, capture_output=True).returncode == 0
        super().launch(*more)

    def fill(self):
        """What is left of it."""
        try:
            with open(self.state / "filler", "wb", buffering=0) as filler:
                for size in (1 << 20, 1 << 12):
                    try:
                        while filler.write(b"x" * size) == size:
                            pass
                    except OSError:
                        pass
        except OSError:
            pass

    def empty(self):
        (self.state / "filler").unlink(missing_ok=True)

    def end(self):
        try:
            super().end()
        finally:
            if self.has_disk:
                subprocess.run(["umount", "-l", str(self.state)], capture_output=True)
                shutil.rmtree(self.folder, ignore_errors=True)


class Soak:
    def __init__(self, seconds, seed, kinds=()):
        self.seconds = seconds
        self.draws = random.Random(seed)
        self.begun = time.monotonic()
        self.rows = []       # of the queue, when it was seen last
        self.jobs = {}       # number: (kind, what was done to it)
        self.unsure = {}     # name: kind, of submissions without an answer
        self.touched_early = {}  # of these, by number
        self.cancelled = set()  # acknowledged
        self.done = {}       # what was done, how often
        self.answers = Answers()
        self.doing = "begin"  # the last that was done
        self.waiting = {}    # job: since when it fits and does not start
        self.suspended = []  # (when they go on, processes)
        self.crowd = []
        self.undrain_at = 0
        self.reservation = None  # name and nodes of what is there for certain, and who was there before
        self.unreserve_at = 0
        self.slots = 0
        self.has_clock = (EXAMPLES / "libclock_shim.so").exists()
        self.config = f"/tmp/ductile-soak-{os.getpid()}.toml"
        self.choose_policy()
        self.cluster = SmallDisk(f"{NODES}x1", None, "--config", self.config, has_clock=self.has_clock,
                                 is_small=self.draws.random() < 0.7)
        c = self.cluster
        os.chmod(c.folder, 0o755)  # others may come, too
        self.ran = c.folder / "ran"
        self.finish = c.folder / "finish"
        c.script("", "job.sh").write_text(JOB % self.ran)
        self.kinds = [kind for kind in self.all_kinds() if not kinds or kind.name in kinds]

    def choose_policy(self):
        """For the next time that the settings are read."""
        with open(self.config, "w") as file:
            file.write(CONFIG % self.draws.choice(POLICIES))

    # ---- What there is to run ---------------------------------------------------------------------

    def all_kinds(self):
        right = ("COMPLETED", 0)
        kinds = [
            Kind("work", right, 10),
            Kind("requeued", right, 4, {"requeue": True}, ("1.5", "0")),
            Kind("fails", ("FAILED", 3), 2, {}, ("0.2", "3")),
            Kind("late", ("TIMEOUT", None), 1, {"time_us": 1_500_000}, ("1000", "0")),
            Kind("endless", ("CANCELLED", None), 1, {"time_us": 36_000_000_000}, ("100000", "0")),
            Kind("broken", ("FAILED", 1), 1, {"chdir": "/no/such/folder"}),
            Kind("deaf", right, 2, {"output": "/dev/full"}),
            Kind("tight", right, 2, {"output": f"{self.cluster.state}/%j.out"}),  # on the disk that may be full
            Kind("array", right, 2, {"array": "0-5%3"}),
            Kind("later", right, 2, {"begin_us": 0}),
            Kind("held", right, 1, {"hold": True}),
            Kind("after", right, 2, {"dependency": ""}),
            Kind("moldable", right, 2, {"type": "moldable", "min": 1, "max": 4}),
        ]
        try:
            until, evolving = example("until", "mpich"), example("evolving", "mpich")
        except BaseException:  # of pytest: skipped
            return kinds
        mpi = {"mpi": "mpich", "min": 1, "max": NODES, "time_us": 36_000_000_000}
        step = f"{PROGRAM} run {evolving} 100 20 > /dev/null || exit 5\n"
        return kinds + [
            Kind("malleable", right, 1.5, {**mpi, "type": "malleable", "program": [until, str(self.finish), "100"]}),
            Kind("evolving", right, 1, {**mpi, "type": "evolving", "program": [evolving, "150", "20"]}),
            Kind("adaptive", right, 0.5, {**mpi, "type": "adaptive", "requeue": True,
                                          "program": [evolving, "150", "20"]}),
            Kind("steps", right, 1, {**mpi, "mpi": "none", "type": "malleable",
                                     "script": (JOB % self.ran).replace("sleep $1\n", step + "sleep $1\n" + step)}),
        ]

    def submission(self, kind):
        c, draw = self.cluster, self.draws
        self.slots += 1
        name = f"{kind.name}-{self.slots}"
        nodes = draw.choice((1, 1, 1, 2, 2, 3, NODES - 1))
        job = {"name": name, "program": ["job.sh", *kind.arguments], "script": JOB % self.ran, "chdir": str(c.folder),
               "nodes": nodes, "time_us": draw.choice((15, 30, 60, 600)) * 1_000_000, "priority": draw.choice((0, 0, 0, 5)),
               "output": f"{c.folder}/%j.out",
               # The clock is set for the controller: UCX wants the machine's true boot_id.
               "environment": [f"{key}={value}" for key, value in c.environment.items()
                               if key != "LD_PRELOAD" and not key.startswith("CLOCK_SHIM")]}
        job.update(kind.fields)
        if kind.name in ("malleable", "evolving", "adaptive"):
            job["nodes"] = draw.randint(1, 2)
            del job["script"]
        if kind.name == "steps":
            job["nodes"] = draw.randint(1, 2)
        if kind.name == "moldable":
            job["nodes"] = draw.randint(1, 4)
        if kind.name in ("late", "broken", "endless"):
            job["nodes"] = 1
        if kind.name == "later":
            job["begin_us"] = int((self.wall() + draw.uniform(0, 4)) * 1e6)
        if kind.name == "after":
            earlier = list(self.jobs)[-20:]
            if not earlier:
                return None
            job["dependency"] = f"{draw.choice(('afterok', 'afterany', 'after'))}:{draw.choice(earlier)}"
        return job

    # ---- What is done -----------------------------------------------------------------------------

    def count(self, what):
        self.done[what] = self.done.get(what, 0) + 1

    def ask(self, request):
        """The answer; nothing if there is nobody, or it was lost."""
        try:
            return self.cluster.ask(request)
        except (OSError, ValueError):
            return None

    def submit(self):
        running = self.live_kinds()
        kind = self.draws.choices(self.kinds, [kind.weight for kind in self.kinds])[0]
        crowd = {"malleable": 2, "evolving": 1, "adaptive": 1, "steps": 1, "endless": 2}
        if running.count(kind.name) >= crowd.get(kind.name, 20):
            return
        job = self.submission(kind)
        if not job:
            return
        self.unsure[job["name"]] = kind
        answer = self.ask({"do": "submit", "job": job})
        if answer is None:
            self.count("submissions without an answer")
            return
        del self.unsure[job["name"]]
        if answer["ok"]:
            for number in range(answer["job"], answer["job"] + answer.get("tasks", 1)):
                self.jobs[number] = (kind, set())
            self.count(f"submitted {kind.name}")

    def wall(self):
        return self.cluster.wall() if self.has_clock else time.time()

    def set_clock(self):
        if self.has_clock:
            self.count("clocks set")
            self.cluster.set_clock(self.draws.choice((-86400, -3600, -5, 0, 5, 3600, 86400)))

    def live_kinds(self):
        return [row["name"].partition("-")[0] for row in self.rows]

    def touch(self, job, how):
        """What was done to it excuses other ends; so it counts before it is done."""
        self.count(how)
        # The number of an array means all its tasks.
        for each in {job} | {row["job"] for row in self.rows if row["array_job"] == job}:
            its = self.jobs[each][1] if each in self.jobs else self.touched_early.setdefault(each, set())
            its.add(how)

    def some_job(self, *states):
        rows = [row for row in self.rows if row["state"] in states]
        return self.draws.choice(rows)["job"] if rows else None

    def cancel(self):
        job = self.some_job("PENDING", "RUNNING", "CONFIGURING", "RESIZING")
        if job and self.draws.random() < 0.3:
            self.touch(job, "cancelled")
            if (self.ask({"do": "cancel", "jobs": [job]}) or {}).get("ok"):
                self.cancelled.add(job)

    def requeue(self):
        if job := self.some_job("RUNNING"):
            self.touch(job, "requeued")
            self.ask({"do": "requeue", "jobs": [job]})

    def hold(self):
        if job := self.some_job("PENDING"):
            self.count("held")
            self.ask({"do": "hold", "jobs": [job]})

    def update(self):
        if job := self.some_job("PENDING"):
            self.count("updated")
            change = self.draws.choice(({"priority": self.draws.randint(-3, 3)}, {"nodes": self.draws.randint(1, 3)},
                                        {"begin_us": int((self.wall() + 1) * 1e6)}))
            self.ask({"do": "update", "job": job, "set": change})

    def release(self):
        for row in self.rows:
            if row["reason"] == "JobHeldUser":
                self.ask({"do": "release", "jobs": [row["job"]]})

    def resize(self):
        rows = [row for row in self.rows if row["type"] in ("malleable", "adaptive") and row["state"] == "RUNNING"]
        if rows:
            self.count("resizes ordered")
            self.ask({"do": "resize", "job": self.draws.choice(rows)["job"], "nodes": self.draws.randint(0, NODES - 2)})

    def drain(self):
        node = str(self.draws.randrange(NODES))
        health = self.draws.choice(("draining", "draining", "down"))
        if health == "down":
            for row in self.rows:
                self.touch(row["job"], "down")
        self.count(health)
        self.ask({"do": "drain", "nodes": node, "health": health})
        self.undrain_at = time.monotonic() + self.draws.uniform(0.5, 3)

    def undrain(self):
        self.ask({"do": "drain", "nodes": f"0-{NODES - 1}", "health": "up"})

    def reserve(self):
        """Nodes for nobody, or for jobs that name the reservation, of which there are none; one after the other."""
        if self.unreserve_at:
            return
        first = self.draws.randrange(NODES)
        nodes = set(range(first, min(first + self.draws.randint(1, 2), NODES)))
        name = f"r{sum(self.done.values())}"
        self.unreserve_at = time.monotonic() + self.draws.uniform(1, 6)
        answer = self.ask({"do": "reserve", "name": name, "nodes": f"{min(nodes)}-{max(nodes)}",
                           "anybody": self.draws.random() < 0.5})
        if answer and answer["ok"]:
            self.count("reservations")
            self.reservation = (name, nodes, None)

    def unreserve(self):
        """Whatever there is, also what was not acknowledged."""
        self.reservation = None
        there = self.ask({"do": "reservations"})
        for row in there["reservations"] if there else ():
            self.ask({"do": "unreserve", "name": row["name"]})
        there = self.ask({"do": "reservations"})
        if there and not there["reservations"]:
            self.unreserve_at = 0

    def processes_of(self, job):
        """Its manager, and its others."""
        try:
            manager = self.cluster.manager_of(job)
        except AssertionError:
            return None, []
        its = processes_with(f"DUCTILE_JOB_FOLDER={self.cluster.state}/jobs/{job}")
        return manager, [pid for pid in its if pid != manager]

    def kill_manager(self):
        job = self.some_job("RUNNING", "RESIZING")
        manager = job and self.processes_of(job)[0]
        if manager:
            self.touch(job, "manager killed")
            self.signal(manager, signal.SIGKILL)

    def kill_program(self):
        job = self.some_job("RUNNING", "RESIZING")
        others = job and self.processes_of(job)[1]
        if others:
            self.touch(job, "program killed")
            self.signal(self.draws.choice(others), signal.SIGKILL)

    def suspend(self):
        """A program, or its manager, or all of it; for a while."""
        job = self.some_job("RUNNING", "RESIZING")
        manager, others = self.processes_of(job) if job else (None, [])
        if not manager:
            return
        which = self.draws.choice(([manager], others, [manager, *others]))
        self.touch(job, "suspended")
        for pid in which:
            self.signal(pid, signal.SIGSTOP)
        self.suspended.append((time.monotonic() + self.draws.uniform(0.2, 3), which))

    @staticmethod
    def signal(pid, number):
        try:
            os.kill(pid, number)
        except OSError:
            pass

    def let_go_on(self, all_of_them=False):
        now = time.monotonic()
        for entry in list(self.suspended):
            if all_of_them or entry[0] <= now:
                self.suspended.remove(entry)
                for pid in entry[1]:
                    self.signal(pid, signal.SIGCONT)

    def many_questions(self):
        """Clients that do their worst: what they are told is of no interest."""
        for connection in self.crowd:
            connection.close()
        self.crowd = []
        self.count("bursts of clients")
        jobs = list(self.jobs)[-1:]
        worst = (b"", b"{", b"null\n", b"[" * 10000 + b"\n", b'{"do": "queue"}\n' * 1000, b'{"do": "history"}\n' * 20,
                 b'{"do": "nodes"}\n' * 100, b"x" * (1 << 20), b'{"do": "cancel", "jobs": [0]}\n' * 100,
                 b'{"do": "explain", "job": 1}\n' * 20, b'{"do": "predict"}\n' * 3,
                 json.dumps({"do": "queue", "jobs": jobs * 1000}).encode() + b"\n", b"".join(map(self.changes_of, jobs)) * 20,
                 b'{"do": "submit", "job": {"program": ["x"], "chdir": "/", "nodes": 99}}\n' * 100,
                 b'{"do": "submit", "job": {"program": ["x"], "chdir": "/", "environment": ["' + b"y" * 200000 + b'"')
        is_nobody = os.geteuid() == 0 and self.draws.random() < 0.5
        if is_nobody:
            os.seteuid(65534)
        try:
            for _ in range(40):
                connection = socket.socket(socket.AF_UNIX)
                connection.setblocking(False)
                try:
                    connection.connect(self.cluster.socket)
                    connection.send(self.draws.choice(worst))
                except OSError:
                    pass
                self.crowd.append(connection)
        finally:
            if is_nobody:
                os.seteuid(0)

    def changes_of(self, job):
        """Whichever of them are lost, it can be released and begin in the end."""
        array = next((row["array_job"] for row in self.rows if row["job"] == job), None) or job
        return b"".join(json.dumps(request).encode() + b"\n" for request in (
            {"do": "update", "job": array, "set": {"begin_us": 1}}, {"do": "hold", "jobs": [array]},
            {"do": "update", "job": array, "set": {"begin_us": 0}}, {"do": "release", "jobs": [array]}))

    def reload(self):
        self.count("reloads")
        self.choose_policy()
        self.cluster.server.send_signal(signal.SIGHUP)

    def kill_controller(self):
        self.count("controllers killed")
        self.cluster.kill()

    def stop_controller(self):
        self.count("controllers ended")
        self.cluster.server.send_signal(signal.SIGTERM)
        self.cluster.server.wait(timeout=PATIENCE)

    def suspend_controller(self):
        self.count("controllers suspended")
        self.cluster.server.send_signal(signal.SIGSTOP)
        time.sleep(self.draws.uniform(0.1, 2))
        self.cluster.server.send_signal(signal.SIGCONT)
        self.waiting.clear()

    def fill_disk(self):
        if not self.cluster.has_disk:
            return
        self.count("disks full")
        self.cluster.fill()
        for _ in range(20):
            self.submit()
            time.sleep(0.1)
            if self.cluster.server.poll() is not None:
                self.count("controllers ended by a full disk")
                break
        self.cluster.empty()
        self.waiting.clear()

    def look_at_end(self):
        """A controller ends because it was killed, told to, or could not write; not of itself."""
        code = self.cluster.server.returncode
        if code not in (0, 1, -signal.SIGKILL):
            raise Unfair(f"the controller ended with {code}")

    def start_controller(self):
        """After a while, perhaps under another policy, and perhaps to die soon again."""
        time.sleep(self.draws.choice((0, 0, 0.5, 2)))
        c = self.cluster
        self.choose_policy()
        c.environment.pop("DUCTILE_CRASH_AT", None)
        choice = self.draws.random()
        if choice < 0.2:
            c.environment["DUCTILE_CRASH_AT"] = str(self.draws.randrange(1, 200))
        elif choice < 0.3:
            c.environment["DUCTILE_CRASH_AT"] = f"resize:{self.draws.randrange(1, 10)}"
        c.launch()
        end = time.monotonic() + PATIENCE
        while c.server.poll() is None and self.ask({"do": "nodes"}) is None:
            if time.monotonic() > end:
                raise Unfair("the controller does not listen")
            time.sleep(0.02)
        self.waiting.clear()

    # ---- What must hold meanwhile -----------------------------------------------------------------

    def look(self):
        what = (f"after {self.doing}, {len(self.rows)} jobs, load {os.getloadavg()[0]:.1f}, "
                f"{time.monotonic() - self.begun:.0f} s on")
        queue, took = self.answers.measure(self.cluster.server.pid, what, lambda: self.ask({"do": "queue"}))
        nodes = self.ask({"do": "nodes"})
        if queue is None or nodes is None:
            return
        if took > LATE:
            raise Unfair(f"a plain queue took {took:.1f} s")
        self.rows = queue["jobs"]
        held = [node for row in self.rows for node in nodes_of(row["nodelist"])]
        if len(held) != len(set(held)):
            raise Unfair(f"a node has two jobs: {self.rows}")
        self.look_at_reservation()
        self.look_at_idle(queue, nodes)

    def look_at_reservation(self):
        """Who cannot be resized holds none of its nodes, but for who did before."""
        there = self.reservation and self.ask({"do": "reservations"})
        if not there:
            return
        name, nodes, before = self.reservation
        if name not in {row["name"] for row in there["reservations"]}:
            raise Unfair(f"the reservation {name} is lost: {there}")
        holders = {row["job"] for row in self.rows
                   if row["type"] in ("rigid", "moldable") and nodes & set(nodes_of(row["nodelist"]))}
        if before is not None and holders - before:
            raise Unfair(f"{holders - before} started on nodes {nodes}, which are reserved as {name}: {self.rows}")
        self.reservation = (name, nodes, holders)

    def look_at_idle(self, queue, nodes):
        now = time.monotonic()
        fitting = those_that_fit(queue, nodes)
        for _ in fitting - self.waiting.keys():
            self.count(f"seen to fit under {queue['policy'].partition(':')[0]}")
        self.waiting = {job: self.waiting.get(job, now) for job in fitting}
        for job, since in self.waiting.items():
            if now - since > IDLE:
                raise Unfair(f"nodes were idle for {now - since:.1f} s while job {job} fits: {nodes} {queue}")

    # ---- The whole --------------------------------------------------------------------------------

    ACTIONS = (("submit", 60), ("cancel", 5), ("requeue", 1), ("hold", 1), ("update", 2), ("release", 2), ("resize", 5), ("drain", 1), ("reserve", 1),
               ("kill_manager", 1.5), ("kill_program", 1.5), ("suspend", 3), ("many_questions", 2), ("reload", 0.5),
               ("kill_controller", 1.5), ("stop_controller", 0.5), ("suspend_controller", 0.3), ("fill_disk", 0.4), ("set_clock", 1))

    def run(self):
        end = self.begun + self.seconds
        names, weights = zip(*self.ACTIONS)
        while time.monotonic() < end:
            if self.cluster.server.poll() is not None:
                self.look_at_end()
                self.start_controller()
            self.let_go_on()
            if self.undrain_at and time.monotonic() > self.undrain_at:
                self.undrain_at = 0
                self.undrain()
            if self.unreserve_at and time.monotonic() > self.unreserve_at:
                self.unreserve()
            self.look()
            # No more than can be done, so that most jobs get their turn.
            what = self.draws.choices(names, weights)[0]
            if what != "submit" or len(self.rows) < 60:
                self.doing = what
                getattr(self, what)()
            time.sleep(self.draws.uniform(0, 0.15))
        self.come_to_an_end()
        self.check()

    def come_to_an_end(self):
        c = self.cluster
        c.environment.pop("DUCTILE_CRASH_AT", None)
        for connection in self.crowd:
            connection.close()
        self.let_go_on(all_of_them=True)
        if c.server.poll() is None:
            self.stop_controller()
        c.start()
        self.undrain()
        self.unreserve()
        if self.has_clock:
            self.cluster.set_clock(3 * 86400)  # whatever is to begin on the wall begins
        self.finish.touch()
        end = time.monotonic() + 120
        self.waiting.clear()
        while True:
            self.look()
            if not self.rows:
                return
            for row in self.rows:
                is_endless = row["name"].startswith("endless")
                if is_endless or row["reason"] == "DependencyNeverSatisfied":
                    self.touch(row["job"], "cancelled")
                    self.ask({"do": "cancel", "jobs": [row["job"]]})
                if row["type"] in ("malleable", "adaptive") and row["state"] == "RUNNING":
                    self.ask({"do": "resize", "job": row["job"], "nodes": 0})
            self.release()
            if time.monotonic() > end:
                raise Unfair("these do not end: " + json.dumps(self.rows) + "\n"
                             + "\n".join(self.cluster.manager(row["job"]) for row in self.rows))
            time.sleep(0.1)

    def check(self):
        wrong = []
        lives = {}  # (job, restart): [begin, end, nodes]
        for line in self.ran.read_text().splitlines() if self.ran.exists() else []:
            what, job, restart, up, nodes = line.split(None, 4)
            life = lives.setdefault((int(job), int(restart)), {})
            if what in life:
                wrong.append(f"job {job}, restart {restart}: two times {what}")
            life[what] = float(up)
            life["nodes"] = set(nodes_of(nodes))
        names, moving = set(), set()
        highest = self.highest()
        for number in range(1, highest + 1):
            row = self.cluster.history(number)
            name = row["name"]
            kind, touched = self.jobs.pop(number, (None, self.touched_early.get(number, set())))
            if kind is None:
                if name not in self.unsure:
                    wrong.append(f"job {number}, {name}: nobody has submitted it")
                    continue
                kind = self.unsure[name]
                if name in names and not row["array_job"]:
                    wrong.append(f"{name} is there twice")
            names.add(name)
            if kind.name == "steps":
                moving.add(number)
            wrong += [f"job {number} ({kind.name}, {sorted(touched)}): {why}: {row}"
                      for why in self.faults(number, row, kind, touched, lives)]
        wrong += [f"job {number} was lost" for number in self.jobs]
        # What says which nodes it has when it begins may have others when it ends.
        wrong += self.overlaps({which: life for which, life in lives.items() if which[0] not in moving})
        left = list((self.cluster.state / "jobs").iterdir())
        if left:
            wrong.append(f"folders are left: {left}")
        self.cluster.stop()
        left = processes_with(f"CLUSTER_TEST_OF={self.cluster.folder}")
        if left:
            wrong.append(f"processes are left: {left}")
        self.cluster.replay()
        if wrong:
            raise Unfair("\n".join(wrong[:50]))
        size = sum(path.stat().st_size for path in self.cluster.state.glob("journal.db*"))
        print(f"{highest} jobs, {len(lives)} lives of scripts; journal {size / 1e6:.1f} MB")
        print(f"on {'a small disk in memory' if self.cluster.has_disk else 'the disk of all'}: {self.answers}")
        print(", ".join(f"{count} {what}" for what, count in sorted(self.done.items())))

    def highest(self):
        rows = self.cluster.ask({"do": "history", "last": 1})["jobs"]
        return rows[0]["job"] if rows else 0

    def faults(self, number, row, kind, touched, lives):
        """In how a job ended."""
        ends = {kind.end}
        state, code = row["state"], row["exit_code"]
        kills = touched & {"manager killed", "program killed"}
        excused = ((state == "CANCELLED" and "cancelled" in touched)
                   or (state == "NODE_FAIL" and "down" in touched)
                   or (state in ("FAILED", "COMPLETED") and kills)
                   or (state == "TIMEOUT" and "suspended" in touched))
        if (state, code) not in ends and not (kind.end[1] is None and state == kind.end[0]) and not excused:
            yield f"it ended otherwise, after {self.output(number, kind)[-500:]!r}"
        if number in self.cancelled and state == "TIMEOUT" and kind.name == "endless":
            yield "it was not cancelled"
        its = [life for (job, _), life in lives.items() if job == number]
        if len(its) > row["restarts"] + 1:
            yield f"it began {len(its)} times"
        yield from self.wrong_times(row, its[-1] if its else {}, kills)
        if row["restarts"] and not touched & {"requeued", "manager killed", "down"}:
            yield "it began again"
        if state == "COMPLETED" and kind.name not in ("malleable", "evolving", "adaptive") and not kills:
            if not any("end" in life for life in its):
                yield "it never came to its end"
            there, result = self.output(number, kind), "result\n"
            if kind.name == "steps" and not kills:  # steps have a word about resizes that were given up
                there = "".join(line for line in there.splitlines(True) if not line.startswith("ductile: "))
            if not result.startswith(there) or len(there) + row["lost_output"] != len(result):
                yield f"its output is wrong: {there!r}"
            if row["lost_output"] and kind.name not in ("deaf", "tight"):
                yield "its output was lost"
        if state == "COMPLETED" and kind.name == "malleable":
            said = (self.cluster.folder / f"{number}.out").read_text().splitlines()
            # What was killed may be of the generation before, about whose end mpiexec has a word.
            if said.count("right") != 1 or (len(said) != 1 and not kills):
                yield "its result is wrong"

    def output(self, number, kind):
        folder = self.cluster.state if kind.name == "tight" else self.cluster.folder
        path = folder / f"{number}.out"
        return path.read_text() if path.exists() and kind.name != "deaf" else ""

    def wrong_times(self, row, life, kills):
        """In what its user is charged for."""
        if row["node_s"] < 0:
            yield "its charge is negative"
        if row["start_s"] is not None and row["end_s"] < row["start_s"] - 1e-3:
            yield "it ended before it started"
        times = [size["time_s"] for size in row["sizes"]]
        if times != sorted(times):
            yield "its sizes are not in order"
        # What was lost with its manager is over when that is seen.
        if row["state"] == "COMPLETED" and "end" in life and not kills:
            ago = time.clock_gettime(time.CLOCK_BOOTTIME) - life["end"]
            late = row["end_s"] - (self.cluster.ask({"do": "queue"})["now_s"] - ago)
            if not -1 < late < 10:
                yield f"it ended {late:.1f} s after it said so"

    @staticmethod
    def overlaps(lives):
        """A job that begins on a node while another one is between its begin and its end there."""
        wrong = []
        for node in range(NODES):
            its = sorted((life["begin"], life.get("end"), job) for job, life in lives.items()
                         if "begin" in life and node in life["nodes"])
            busy_until, by = 0, None
            for begin, end, job in its:
                if begin < busy_until and by != job:
                    wrong.append(f"node {node} is {by}'s until {busy_until}, and {job}'s at {begin}")
                if end and end > busy_until:
                    busy_until, by = end, job
        return wrong


def in_own_mounts():
    """Begins again where a disk can be mounted that nobody else sees, if that can be had."""
    if os.environ.get("SOAK_HAS_MOUNTS"):
        return
    words = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    can = subprocess.run([*words, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0
    os.environ["SOAK_HAS_MOUNTS"] = "yes"
    if can:
        os.execvp(words[0], [*words, sys.executable, "-B", *sys.argv])


def main():
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2] if len(sys.argv) > 2 else
               os.environ.get("DUCTILE_TEST_SEED", random.SystemRandom().randrange(10 ** 6)))
    in_own_mounts()
    print(f"DUCTILE_TEST_SEED={seed}", flush=True)
    soak = Soak(seconds, seed, sys.argv[3:])
    try:
        soak.run()
    except BaseException:
        log = soak.cluster.log.read_text()
        if keep := os.environ.get("SOAK_KEEP"):
            subprocess.run(["cp", "-r", str(soak.cluster.folder), keep])
        print(log[-20000:], file=sys.stderr)
        raise
    finally:
        soak.let_go_on(all_of_them=True)
        soak.cluster.environment.pop("DUCTILE_CRASH_AT", None)
        soak.cluster.end()
        os.unlink(soak.config)


if __name__ == "__main__":
    main()
