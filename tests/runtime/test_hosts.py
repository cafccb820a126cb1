"""Jobs on several hosts: network namespaces, made for the test without any right."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import check, example

UNSHARE = ["unshare", "--user", "--map-root-user", "--net", "--uts", "--mount", "--pid", "--fork",
           "--kill-child", "--mount-proc"]


def why_not():
    for tool in ("unshare", "nsenter", "ip"):
        if shutil.which(tool) is None:
            return f"there is no {tool}"
    done = subprocess.run([*UNSHARE, "ip", "link", "add", "br0", "type", "bridge"],
                          capture_output=True, text=True)
    return done.stderr if done.returncode != 0 else None


def test_grows_and_shrinks_over_hosts(mpi, tmp_path):
    example("until", mpi)
    if (why := why_not()) is not None:
        pytest.skip(f"no network namespaces: {why}")
    done = subprocess.run([*UNSHARE, "/usr/bin/python3", "-B",
                           pathlib.Path(__file__).with_name("hosts.py"), mpi, tmp_path],
                          capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    check(done.stderr)
    result = json.loads(done.stdout)
    assert (result["code"], result["out"]) == (0, "right\n"), result["err"]
    *steps, too_many = result["steps"]
    for step in steps:
        assert step["code"] == 0, step["error"]
        # The first hosts are full, and those that are not needed are free.
        size = step["size"]
        assert step["busy"] == {f"h{i + 1}": max(0, min(2, size - 2 * i)) for i in range(4)}
    # 100 to 103 W, each read by a shell on its host.
    assert result["watts"] == {"6": 303, "3": 201, "8": 406, "1": 100}
    assert too_many["code"] == 1 and "the hosts take 8 processes" in too_many["error"]
    assert [event["hosts"] for event in result["events"]] == [
        {"h1": 2, "h2": 2, "h3": 2}, {"h1": 2, "h2": 1},
        {"h1": 2, "h2": 2, "h3": 2, "h4": 2}, {"h1": 1}]
    # Two processes on each of two hosts: on both the first core and the second one.
    cores = sorted(os.sched_getaffinity(0))
    found = sorted(line.split() for line in result["threads"].splitlines())
    assert found == [[f"h{1 + rank // 2}", str(rank), "0", str(cores[rank % 2 % len(cores)])]
                     for rank in range(4)], result["threads"]
    assert result["daemons"] == "", result["left"]
