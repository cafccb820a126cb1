#!/usr/bin/env python3
"""The controller under load: 1,000 running jobs and 10,000 waiting ones.

    DUCTILE=build/release/ductile bench/live_load.py [--policies easy,mebf,...] [--quick] [--state FOLDER]

Starts `ductile serve --local 1000x1` (virtual nodes, which all share this machine), submits sleepers of
one node until 1,000 run and 10,000 wait, each a job of its own with this environment, and prints beside
their bars: the memory of the controller and of the managers of jobs, submissions per second that were durable
before they were answered, the time of the whole queue, and of the scheduling passes. A witness asks for
one job every 20 ms all the time and tells how long it waited at worst in each phase.

Needs 4 GB of memory and 3,100 processes. --quick has a tenth of the jobs; FOLDER is where the journal is.
"""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.request

DUCTILE = os.path.abspath(os.environ.get("DUCTILE", "build/release/ductile"))
POLICIES = ("easy,fcfs,backfill,mebf,elastic,equipartition,equigrow,esf,edf,ldf,fpsma,dbes,conservative")


class Connection:
    """Asks one thing after the other."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(300)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb", buffering=1 << 16)

    def raw(self, request):
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        answer = self.file.readline()
        assert answer, "the controller has closed the connection"
        return answer

    def ask(self, request):
        answer = json.loads(self.raw(request))
        assert answer["ok"], (request, answer)
        return answer


class Witness(threading.Thread):
    """Somebody else, who wants to know about one job."""

    def __init__(self, path, job):
        super().__init__(daemon=True)
        self.connection = Connection(path)
        self.job = job
        self.times = []
        self.is_over = False

    def run(self):
        while not self.is_over:
            begin = time.monotonic()
            self.connection.ask({"do": "queue", "jobs": [self.job]})
            self.times.append(time.monotonic() - begin)
            time.sleep(0.02)

    def report(self):
        times, self.times = self.times or [0], []
        return f"another client waited {ms(statistics.median(times))}, at worst {ms(max(times))}"


def ms(seconds):
    return f"{1000 * seconds:.3g} ms"


def load():
    return f"load {os.getloadavg()[0]:.1f}"


def memory(pid):
    """Rss, Pss and private memory of a process, in MB."""
    sizes = {}
    with open(f"/proc/{pid}/smaps_rollup") as file:
        for line in file:
            name, *rest = line.split()
            if rest and rest[-1] == "kB":
                sizes[name.rstrip(":")] = int(rest[0]) / 1000
    return sizes["Rss"], sizes["Pss"], sizes["Private_Clean"] + sizes["Private_Dirty"]


def managers_below(state):
    """Processes of `ductile run`, by the reports they write."""
    mark = f"{state}/jobs/".encode()
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError):
            words = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
            if len(words) > 2 and words[1] == b"run" and any(word.startswith(mark) for word in words):
                yield int(entry)


class Load:
    @property
    def asker(self):
        """A new connection: those that are silent for a minute are closed."""
        return Connection(self.socket)

    def __init__(self, folder, running, waiting):
        self.folder, self.running, self.waiting = folder, running, waiting
        self.state = folder / "state"
        self.socket = str(self.state / "socket")
        self.config = folder / "config.toml"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.server = None
        self.job = {"program": ["/bin/sleep", "100000"], "chdir": str(folder), "name": "sleeper",
                    "output": "/dev/null", "time_us": 4 * 3600 * 10 ** 6,
                    "environment": [f"{name}={value}" for name, value in os.environ.items()]}

    def set_policy(self, policy):
        self.config.write_text(f'policy = "{policy}"\n')
        if self.server:
            self.server.send_signal(signal.SIGHUP)
            asker = Connection(self.socket)
            while not asker.ask({"do": "queue", "jobs": [1]})["policy"].startswith(policy):
                time.sleep(0.01)

    def start(self):
        begin = time.monotonic()
        with open(self.folder / "log", "a") as log:
            self.server = subprocess.Popen(
                [DUCTILE, "serve", "--local", f"{self.running}x1", "--state", str(self.state), "--metrics",
                 f"127.0.0.1:{self.port}", "--config", str(self.config), "--patience", "2"], stderr=log)
        while True:
            try:
                self.asker.ask({"do": "nodes"})
                return time.monotonic() - begin
            except OSError:
                assert self.server.poll() is None, (self.folder / "log").read_text()
                time.sleep(0.01)

    def metrics(self):
        text = urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics").read().decode()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
                for line in text.splitlines() if not line.startswith("#")}

    def jobs_in(self, *states):
        metrics = self.metrics()
        return sum(metrics[f'ductile_jobs{{state="{state}",type="rigid"}}'] for state in states)

    def submit(self, connection, count):
        jobs = []
        for _ in range(count):
            jobs.append(connection.ask({"do": "submit", "job": self.job})["job"])
        return jobs

    def wait_until_running(self, count):
        while self.jobs_in("running") < count:
            time.sleep(0.05)

    def passes(self, work):
        """Mean time and number of the passes while `work` is done, and how many took more than 10 ms."""
        def counts():
            metrics = self.metrics()
            name = "ductile_pass_duration_seconds"
            return [metrics[f"{name}_sum"], metrics[f"{name}_count"], metrics[f'{name}_bucket{{le="0.01"}}']]

        before = counts()
        work()
        spent, number, quick = (now - then for now, then in zip(counts(), before))
        return spent / number, int(number), int(number - quick)


def timed(work):
    begin = time.monotonic()
    work()
    return time.monotonic() - begin


def command(load_, *words):
    subprocess.run([DUCTILE, *words], env=dict(os.environ, DUCTILE_SOCKET=load_.socket), check=True,
                   stdout=subprocess.DEVNULL, cwd=load_.folder)


def repeated(work, times=11):
    samples = [timed(work) for _ in range(times)]
    return f"median {ms(statistics.median(samples))}, at worst {ms(max(samples))}"


def measure(its, policies):
    its.set_policy("easy")
    its.start()
    print(f"empty: controller {memory(its.server.pid)[0]:.1f} MB ({load()})")

    # ---- Filling -------------------------------------------------------------------------------
    jobs = []
    jobs += its.submit(its.asker, 1)
    witness = Witness(its.socket, jobs[0])
    witness.start()

    def fill():
        jobs.extend(its.submit(its.asker, its.running - 1))
        its.wait_until_running(its.running)

    took = timed(fill)
    print(f"{its.running} jobs started: {took:.1f} s; {witness.report()} ({load()})")
    took = timed(lambda: jobs.extend(its.submit(its.asker, its.waiting)))
    print(f"{its.waiting} more submitted: {its.waiting / took:.0f}/s; {witness.report()} ({load()})")

    # ---- Memory --------------------------------------------------------------------------------
    rss, pss, private = memory(its.server.pid)
    print(f"controller: {rss:.1f} MB resident, {pss:.1f} MB Pss, {private:.1f} MB private (bar 100)")
    managers = [memory(pid) for pid in managers_below(its.state)]
    pss, private = [m[1] for m in managers], [m[2] for m in managers]
    print(f"{len(managers)} `ductile run`: Pss median {statistics.median(pss):.2f} MB, most {max(pss):.2f}; "
          f"private median {statistics.median(private):.2f} MB, most {max(private):.2f} (bar 4); resident "
          f"median {statistics.median(m[0] for m in managers):.1f} MB")

    # ---- Submissions ---------------------------------------------------------------------------
    count = its.waiting // 10
    took = timed(lambda: its.submit(its.asker, count))
    print(f"submissions, one connection: {count / took:.0f}/s (bar 200); {witness.report()} ({load()})")
    threads = [threading.Thread(target=its.submit, args=(Connection(its.socket), count // 8)) for _ in range(8)]

    def all_at_once():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    took = timed(all_at_once)
    print(f"submissions, 8 connections: {count // 8 * 8 / took:.0f}/s; {witness.report()} ({load()})")
    took = timed(lambda: [command(its, "submit", "-o", "/dev/null", "/bin/sleep", "100000")
                          for _ in range(count // 5)])
    print(f"`ductile submit`, one after the other: {count // 5 / took:.0f}/s; {witness.report()} ({load()})")

    # ---- Questions -----------------------------------------------------------------------------
    rows = len(its.asker.ask({"do": "queue"})["jobs"])
    size = len(its.asker.raw({"do": "queue"})) / 1e6
    print(f"queue of {rows} jobs, {size:.1f} MB: answered in {repeated(lambda: its.asker.raw({'do': 'queue'}))} "
          f"(bar 50 ms); {witness.report()} ({load()})")
    print(f"`ductile queue`: {repeated(lambda: command(its, 'queue'))}; with --json "
          f"{repeated(lambda: command(its, 'queue', '--json'))}; of one job "
          f"{repeated(lambda: command(its, 'queue', '1'))}; with --version "
          f"{repeated(lambda: command(its, '--version'))} ({load()})")
    print(f"/metrics: {repeated(its.metrics)}; `ductile explain`: "
          f"{repeated(lambda: command(its, 'explain', str(jobs[-1])), 3)}; {witness.report()} ({load()})")

    # ---- Passes --------------------------------------------------------------------------------
    running = [row["job"] for row in its.asker.ask({"do": "queue"})["jobs"] if row["state"] == "RUNNING"]
    turns = max(its.waiting // 500, 5)

    def work():
        for _ in range(turns):
            its.asker.ask({"do": "cancel", "jobs": [running.pop()]})
            its.submit(its.asker, 1)
            time.sleep(0.05)
        its.wait_until_running(its.running)

    for policy in policies:
        its.set_policy(policy)
        mean, number, slow = its.passes(work)
        print(f"{policy}: {number} passes, mean {ms(mean)}, {slow} above 10 ms (bar); {witness.report()} "
              f"({load()})", flush=True)
    its.set_policy("easy")

    # ---- All at once ---------------------------------------------------------------------------
    witness.report()
    waiting = [row["job"] for row in its.asker.ask({"do": "queue"})["jobs"] if row["state"] == "PENDING"]
    most = 10_000  # names in a request
    took = timed(lambda: [its.asker.ask({"do": "cancel", "jobs": waiting[at:at + most]})
                          for at in range(0, len(waiting), most)])
    print(f"{len(waiting)} waiting jobs cancelled at once: {ms(took)}; {witness.report()} ({load()})")
    array = dict(its.job, array=f"1-{its.waiting}")
    took = timed(lambda: its.asker.ask({"do": "submit", "job": array}))
    print(f"an array of {its.waiting} tasks: {ms(took)}; {witness.report()} ({load()})")
    for name, request in worst_of(its):
        begin = time.monotonic()
        answer = json.loads(its.asker.raw(request))
        print(f"one client, {name}: {ms(time.monotonic() - begin)}{'' if answer['ok'] else ', refused'}; "
              f"{witness.report()} (bar 100 ms) ({load()})")
    witness.is_over = True
    witness.join()
    its.server.kill()
    its.server.wait()
    print(f"killed and started again: answers after {its.start():.2f} s ({load()})")
    assert its.jobs_in("running") == its.running and its.jobs_in("pending") == its.waiting
    print(f"controller: {memory(its.server.pid)[0]:.1f} MB resident")

    def end():
        """Those that wait first: none of them can end by itself between the question and the request."""
        while rows := its.asker.ask({"do": "queue"})["jobs"]:
            rows.sort(key=lambda row: row["state"] != "PENDING")
            its.asker.raw({"do": "cancel", "jobs": [row["job"] for row in rows[:10_000]]})
            time.sleep(0.2)

    print(f"all cancelled: {timed(end):.1f} s ({load()})")
    its.server.terminate()
    assert its.server.wait() == 0


def worst_of(its):
    """What one client may ask at its worst."""
    held = dict(its.job, hold=True)
    array = its.asker.ask({"do": "submit", "job": dict(held, array=f"1-{its.waiting}")})["job"]
    tasks = [f"{array}_{task}" for task in range(1, its.waiting + 1)]
    return [("an array, 10,000 times", {"do": "queue", "jobs": [array] * 10_000}),
            ("each of its tasks", {"do": "queue", "jobs": tasks}),
            ("half a million values", {"do": "queue", "jobs": [array] * 500_000}),
            ("all jobs", {"do": "queue"}),
            ("the longest history", {"do": "history", "last": 10_000}),
            ("the history of the array", {"do": "history", "job": array}),
            ("another array", {"do": "submit", "job": dict(held, array=f"1-{its.waiting}")}),
            ("dependencies", {"do": "submit", "job": dict(held, dependency="afterok:" + ":".join(
                str(array + task) for task in range(min(1000, its.waiting))))}),
            ("another limit of the array", {"do": "update", "job": array, "set": {"time_us": 10 ** 9}}),
            ("a release of the array", {"do": "release", "jobs": [array]}),
            ("another name of the array", {"do": "update", "job": array, "set": {"name": "other"}}),
            ("a hold of the array", {"do": "hold", "jobs": [array]}),
            ("a job of megabytes", {"do": "submit", "job": dict(held, environment=["A=" + "x" * 120_000] * 28)}),
            ("a cancel of each task", {"do": "cancel", "jobs": tasks}),
            ("how each of them ended", {"do": "queue", "jobs": [array + task for task in range(its.waiting)]})]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--policies", default=POLICIES)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--state", default=tempfile.gettempdir())
    options = parser.parse_args()
    part = 10 if options.quick else 1
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ductile-", dir=options.state) as folder:
        its = Load(pathlib.Path(folder), 1000 // part, 10_000 // part)
        try:
            measure(its, options.policies.split(","))
        except Exception:
            print((its.folder / "log").read_text()[-5000:])
            raise
        finally:
            its.server.kill()
            its.server.wait()
            for pid in managers_below(its.state):
                os.kill(pid, signal.SIGTERM)
            time.sleep(3)
    print(f"done in {time.monotonic() - begin:.0f} s")


main()
