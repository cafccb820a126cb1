"""The dashboard of a running controller in a browser: web/test/dashboard.mjs looks at it.

Screenshots are left in $DUCTILE_SCREENSHOTS (build/screenshots).
"""

import json
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "live"))
from conftest import PATIENCE, Cluster  # noqa: E402
from test_page import CHROMIUM, SCREENSHOTS, WEB, needs  # noqa: E402

PLATFORM = """
[[class]]
name = "std"
count = 6
idle_w = 100
busy_w = 300
"""
# Holds what it is told, until the file `done` is there.
SCRIPT = """
while read -r size _; do echo "$size" >&$DUCTILE_RESIZE_FD; done <&$DUCTILE_RESIZE_FD &
until [ -e done ]; do sleep 0.05; done
kill $!
"""
HOSTILE = "<img src=x onerror=alert(1)>\"'&"




@pytest.fixture
def shown():
    """Six nodes: a job that can have another size, one that ended, those that wait, and a node out of service."""
    c = Cluster("6x1", "easy", "--http", "127.0.0.1:0", "--http-write")
    try:
        c.stop()
        (c.folder / "platform.toml").write_text(PLATFORM)
        at = c.arguments.index("--local")
        c.arguments[at:at + 2] = ["--platform", str(c.folder / "platform.toml")]
        c.start()
        yield c
    finally:
        c.end()


def child_of(pid):
    """The process that answers HTTP for this one."""
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        words = pathlib.Path(f"/proc/{child}/cmdline").read_text().split("\0")
        if words[1:2] == ["http"]:
            return int(child)
    raise AssertionError("nothing answers HTTP")


def test_the_dashboard(shown, tmp_path):
    needs("node")
    if CHROMIUM is None:
        pytest.skip("there is no chromium; run scripts/setup --dev")
    c = shown
    c.wait_for_end(c.submit("-N", 2, "/bin/true"))
    c.run("drain", "--down", 5)
    malleable = c.submit("--kind", "script", "--job-name", "a job of a long name, which says what it does", "-N", 2,
                         "--min-nodes", 1, "--max-nodes", 3, "--", c.script(SCRIPT))
    c.wait_for_size(malleable, 2)
    c.submit("-N", 1, "-t", "20:00", "/bin/sleep", 1000)
    waiting = c.submit("-N", 5, "-t", "10:00", "--job-name", HOSTILE, "/bin/true")
    c.submit("-N", 4, "--hold", "/bin/true")
    address = re.findall(r"answering HTTP at (\S+);", c.log.read_text())[-1]
    case = {"chromium": CHROMIUM, "screenshots": str(SCREENSHOTS), "address": address,
            "token": (c.state / "http-token").read_text().strip(),
            "writeToken": (c.state / "http-token.write").read_text().strip(),
            "malleable": malleable, "sizes": [3, 1, 2], "waiting": waiting, "http": child_of(c.server.pid),
            "server": c.server.pid}
    (tmp_path / "case.json").write_text(json.dumps(case))
    done = subprocess.run(["node", str(WEB / "test/dashboard.mjs"), str(tmp_path / "case.json")], text=True,
                          capture_output=True, timeout=4 * PATIENCE)
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:] + c.log.read_text()[-3000:]
    c.server.wait()
    assert "what answers HTTP has ended (signal 9)" in c.log.read_text()
    c.start()
    (c.folder / "done").touch()
    assert c.wait_for_end(malleable)[0]["state"] == "COMPLETED"
