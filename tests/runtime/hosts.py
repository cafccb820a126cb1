#!/usr/bin/python3
"""A job on several hosts, which are network namespaces; prints JSON. Called by test_hosts.py inside
unshare, as root of namespaces of its own: hosts.py MPI FOLDER."""

import json
import os
import pathlib
import subprocess
import sys
import time

from conftest import PATIENCE, PROGRAM, Job, example

MPI, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
HOSTS = ["h1", "h2", "h3", "h4"]
MINE = "10.77.0.1"
OWN = FOLDER / "own"


def sh(command):
    subprocess.run(["sh", "-ec", command], check=True)


def make_hosts():
    """Each a network, a name and processes of its own, on one bridge with this one."""
    names = FOLDER / "etc_hosts"
    names.write_text("127.0.0.1 localhost\n" + f"{MINE} h0\n" + "".join(
        f"10.77.0.{10 + i} {host}\n" for i, host in enumerate(HOSTS)))
    sh(f"mount --bind {names} /etc/hosts; hostname h0; ip link set lo up; "
       f"ip link add br0 type bridge; ip addr add {MINE}/24 dev br0; ip link set br0 up")
    for i, host in enumerate(HOSTS):
        unshare = subprocess.Popen(["unshare", "--net", "--uts", "--pid", "--mount", "--mount-proc",
                                    "--fork", "--kill-child", "sleep", "1000"])
        children = pathlib.Path(f"/proc/{unshare.pid}/task/{unshare.pid}/children")
        while not (holder := children.read_text().strip()) or \
                pathlib.Path(f"/proc/{holder}/comm").read_text() != "sleep\n":
            time.sleep(0.01)
        (FOLDER / host).write_text(holder)
        sh(f"ip link add v{i} type veth peer name eth0 netns {holder}; "
           f"ip link set v{i} master br0 up; nsenter -t {holder} --net --uts sh -ec "
           f"'hostname {host}; ip addr add 10.77.0.{10 + i}/24 dev eth0; "
           "ip link set eth0 up; ip link set lo up'")


def make_meters():
    """A file of the same name that each host has for itself; here there is none."""
    OWN.mkdir()
    for i, host in enumerate(HOSTS):
        sh(f"nsenter -t {(FOLDER / host).read_text()} --mount "
           f"sh -ec 'mount -t tmpfs none {OWN}; echo {100 + i} >{OWN}/watts'")


def make_agent():
    """Called as ssh is."""
    agent = FOLDER / "agent"
    agent.write_text("#!/bin/sh\n"
                     "while :; do case $1 in -[olp]) shift 2 ;; -*) shift ;; *) break ;; esac; done\n"
                     f"host=$(cat {FOLDER}/$1); shift\n"
                     # Another host has no control group of this one.
                     "for group in $(awk '$3 == \"cgroup2\" { print $2 }' /proc/mounts); do\n"
                     "  { echo $$ >$group/cgroup.procs; } 2>/dev/null\n"
                     "done\n"
                     "exec nsenter -t $host --net --uts --pid --mount sh -c \"$*\"\n")
    agent.chmod(0o755)
    return agent


def busy_hosts(mark):
    """host -> its processes of the job."""
    spaces = {os.readlink(f"/proc/{(FOLDER / host).read_text()}/ns/net"): host for host in HOSTS}
    found = dict.fromkeys(HOSTS, 0)
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            host = spaces.get(os.readlink(folder / "ns/net"))
            if host and b"until" in (folder / "comm").read_bytes():
                found[host] += 1
        except OSError:
            pass
    return found


def main():
    make_hosts()
    make_meters()
    options = ["--hosts", ",".join(f"{host}:2" for host in HOSTS), "--agent", make_agent(),
               "--listen", MINE, "--power", "0.5", "--watts-from", OWN / "watts"]
    if MPI == "mpich":
        os.environ.update(UCX_TLS="tcp,self", UCX_NET_DEVICES="eth0")
    else:
        # All hosts have the same cores here: bound, the first process of each would be on the first one.
        for word in ("--bind-to none --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include 10.77.0.0/24 "
                     "--mca btl self,tcp --mca pml ob1").split():
            options.append(f"--mpiexec-arg={word}")
    stop = FOLDER / "stop"
    job = Job(FOLDER, MPI, 2, "until", stop, 5000, 10000, options=options, is_patient=False)
    job.wait_until_connected()
    steps = []
    watts = {}
    for size in (6, 3, 8, 1, 9):
        done = job.resize(size)
        end = time.monotonic() + 10
        while done.returncode == 0 and time.monotonic() < end and size not in watts:
            last = job.events("measured")[-1:]
            watts.update({its["size"]: its["watts"] for its in last if its["watts"] and its["size"] == size})
            time.sleep(0.05)
        steps.append({"size": size, "code": done.returncode, "error": done.stderr,
                      "busy": busy_hosts(job.mark)})
    stop.touch()
    code, out, err = job.finish()
    # Two processes on each of two hosts: on both the first core and the second one.
    threads = subprocess.run(
        [PROGRAM, "run", "-n", "4", "-c", "1", *map(str, options), "--", example("threads", MPI)],
        stdout=subprocess.PIPE, text=True, timeout=PATIENCE)
    # A daemon that a process leaves on another host.
    daemon = ("import subprocess as s, time; s.Popen(['sleep', '1234'], start_new_session=True, "
              "stdout=s.DEVNULL, stderr=s.DEVNULL); time.sleep(0.2)")
    left = subprocess.run(
        [PROGRAM, "run", "--kind", "rigid", "-n", "3", "--mpi", MPI, *map(str, options), "--",
         sys.executable, "-c", daemon], capture_output=True, text=True, timeout=PATIENCE)
    daemons = subprocess.run(["pgrep", "-fx", "sleep 1234"], capture_output=True, text=True).stdout
    print(json.dumps({"watts": watts, "threads": threads.stdout, "daemons": daemons,
                      "left": left.stderr, "steps": steps, "code": code, "out": out, "err": err,
                      "events": job.events("resized")}))


main()
