#!/usr/bin/python3
"""What `ductile run` says to the controller, and no program behind it: takes each size that it is told to
have, or none, and writes what it has into the file hosts.JOB. `resizable.py SECONDS [refuse|late]`."""

import json
import os
import pathlib
import socket
import sys
import time

seconds, how = float(sys.argv[1]), (sys.argv[2:] or ["take"])[0]
job = int(os.environ["SLURM_JOB_ID"])
end = time.monotonic() + seconds
hosts = pathlib.Path(f"hosts.{job}")
line = socket.socket(socket.AF_UNIX)
line.connect(os.environ["DUCTILE_CONTROLLER"])
line.sendall(json.dumps({"do": "job", "job": job, "pid": os.getpid()}).encode() + b"\n")
line.settimeout(0.1)
come = b""
while time.monotonic() < end:
    try:
        more = line.recv(65536)
        if not more:
            sys.exit("the controller has gone")
        come += more
    except TimeoutError:
        pass
    while b"\n" in come:
        one, come = come.split(b"\n", 1)
        order = json.loads(one)
        if "ok" in order:
            if not order["ok"]:
                sys.exit(order["error"])
            hosts.write_text(order["hosts"])
        elif order.get("do") in ("resize", "answer") and how == "take":
            hosts.write_text(order["hosts"])
            line.sendall(json.dumps({"id": order.get("id"), "ok": True, "size": order["size"]}).encode() + b"\n")
        elif order.get("do") == "resize":
            line.sendall(json.dumps({"id": order.get("id"), "ok": False, "error": "no"}).encode() + b"\n")
