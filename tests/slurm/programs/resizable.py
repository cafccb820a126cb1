#!/usr/bin/python3
"""What `ductile run` says to the controller, and no program behind it: takes each size that it is told to
have, or none, and writes what it has into the file hosts.JOB. `resizable.py SECONDS [take|refuse]`."""

import json
import os
import pathlib
import socket
import sys
import time

seconds, how = float(sys.argv[1]), (sys.argv[2:] or ["take"])[0]
job = int(os.environ["SLURM_JOB_ID"])
end = time.monotonic() + seconds
file = pathlib.Path(f"hosts.{job}")
has = {}  # as in the order `status`, once it runs


def size_of(hosts):
    return sum(int(each.split(":")[1]) for each in hosts.split(","))


def take(hosts):
    has.update(size=size_of(hosts), hosts=hosts, phase="running")
    file.with_suffix(".new").write_text(hosts)
    file.with_suffix(".new").rename(file)


def answer(line, order):
    resizes = order.get("do") == "resize" or (order.get("do") == "answer" and order["size"] > 0)
    if not resizes:
        return
    has["heard"] = order.get("id")
    ok = how == "take"
    if ok:
        take(order["hosts"])
        has["done"] = order.get("id")
    line.sendall(json.dumps({"id": order.get("id"), "ok": ok, "size": has["size"],
                             **({} if ok else {"error": "no"})}).encode() + b"\n")


def talk():
    """Until the connection is lost."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(os.environ["DUCTILE_CONTROLLER"])
        line.sendall(json.dumps({"do": "job", "job": job, "pid": os.getpid(), **has}).encode() + b"\n")
        line.settimeout(0.1)
        come = b""
        while time.monotonic() < end:
            try:
                more = line.recv(65536)
                if not more:
                    return
                come += more
            except TimeoutError:
                pass
            while b"\n" in come:
                one, come = come.split(b"\n", 1)
                said = json.loads(one)
                if "ok" not in said:
                    answer(line, said)
                elif not said["ok"]:
                    sys.exit(said["error"])
                elif not has:
                    has.update(heard=None, done=None, request=None, generation=0)
                    take(said["hosts"])


while time.monotonic() < end:
    try:
        talk()
    except OSError:
        pass
    time.sleep(0.2)
