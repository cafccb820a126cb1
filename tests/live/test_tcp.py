"""The controller's door by TCP, with a MUNGE that the test starts. Skipped where munged is not installed, or this
program was built without libmunge."""

import base64
import json
import os
import shutil
import socket
import subprocess
import time

import pytest

from conftest import AS_ROOT, PATIENCE, PROGRAM

PATH = os.environ["PATH"] + ":/usr/sbin"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Munge:
    def __init__(self, folder):
        self.socket = str(folder / "munge.sock")
        (folder / "key").write_bytes(os.urandom(1024))
        (folder / "key").chmod(0o600)
        self.process = subprocess.Popen(
            [shutil.which("munged", path=PATH), "--foreground", "--force", f"--key-file={folder}/key",
             f"--socket={self.socket}", f"--pid-file={folder}/pid", f"--log-file={folder}/log",
             f"--seed-file={folder}/seed"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while not os.path.exists(self.socket):
            assert self.process.poll() is None and time.monotonic() < end, (folder / "log").read_text()
            time.sleep(0.02)

    def credential(self, payload, *options, user=None):
        before = [] if user is None else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        return subprocess.run([*before, "munge", f"--socket={self.socket}", f"--string={payload}", *options],
                              capture_output=True, text=True, check=True).stdout.strip()

    def end(self):
        self.process.terminate()
        self.process.wait(60)


@pytest.fixture
def munge(tmp_path_factory):
    missing = [name for name in ("munged", "munge") if shutil.which(name, path=PATH) is None]
    if missing:
        pytest.skip(f"MUNGE is not installed: there is no {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("munge")
    for part in (folder, folder.parent, folder.parent.parent):
        part.chmod(0o755)  # munge does not trust folders that others may not enter
    its = Munge(folder)
    yield its
    its.end()


@pytest.fixture
def served(cluster, munge):
    port = free_port()
    try:
        c = cluster("2x1", "easy", "--listen", f"127.0.0.1:{port}", "--munge-socket", munge.socket)
    except AssertionError as error:
        if "was built without MUNGE" in str(error):
            pytest.skip("this ductile was built without libmunge")
        raise
    c.port = port
    return c


def queue(c, munge, **variables):
    return subprocess.run([PROGRAM, "queue", "--json", "--socket", f"localhost:{c.port}"],
                          env=dict(os.environ, DUCTILE_MUNGE_SOCKET=munge.socket, **variables), text=True,
                          capture_output=True, timeout=PATIENCE)


def greeted(c):
    connection = socket.create_connection(("127.0.0.1", c.port))
    connection.settimeout(PATIENCE)
    lines = connection.makefile()
    hello = json.loads(lines.readline())
    assert hello["ductile"] == 1 and len(hello["nonce"]) == 32
    return connection, lines, hello["nonce"]


def says(connection, lines, credential, nonce="c" * 32):
    connection.sendall(json.dumps({"credential": credential, "nonce": nonce}).encode() + b"\n")
    return json.loads(lines.readline())


def test_commands_ask_by_tcp(served, munge):
    done = queue(served, munge)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["policy"] == "easy"
    submitted = subprocess.run(
        [PROGRAM, "submit", "--wait", "true"], capture_output=True, text=True, timeout=PATIENCE,
        env=dict(os.environ, DUCTILE_MUNGE_SOCKET=munge.socket, DUCTILE_SOCKET=f"127.0.0.1:{served.port}"))
    assert submitted.returncode == 0, submitted.stderr
    assert "submitted job 1" in submitted.stdout


def test_who_comes_is_whom_munge_says(served, munge):
    if AS_ROOT != []:
        pytest.skip("two users need root")
    connection, lines, nonce = greeted(served)
    answer = says(connection, lines, munge.credential(f"ductile client {nonce}", user=65534))
    assert answer["ok"], answer
    shown = subprocess.run(["unmunge", f"--socket={munge.socket}"], input=answer["credential"], capture_output=True,
                           text=True).stdout
    assert "ductile server " + "c" * 32 in shown and f"({os.geteuid()})" in shown
    connection.sendall(b'{"do": "drain", "nodes": "0", "health": "down"}\n')
    assert "only operators" in json.loads(lines.readline())["error"]
    # He who runs the controller is one.
    connection, lines, nonce = greeted(served)
    assert says(connection, lines, munge.credential(f"ductile client {nonce}"))["ok"]
    connection.sendall(b'{"do": "drain", "nodes": "0", "health": "draining"}\n')
    assert json.loads(lines.readline())["ok"]


def refused(served, why, *, send):
    connection, lines, nonce = greeted(served)
    answer = says(connection, lines, send(nonce))
    assert answer == {"ok": False, "code": 1, "error": "it does not show who it is"}
    assert lines.readline() == ""  # closed
    served.wait_for_text(served.log, why)


def test_forged_credentials_are_refused(served, munge):
    def forged(nonce):
        good = munge.credential(f"ductile client {nonce}")
        body = bytearray(base64.b64decode(good.removeprefix("MUNGE:").removesuffix(":")))
        body[-1] ^= 1
        return f"MUNGE:{base64.b64encode(body).decode()}:"
    refused(served, "Invalid credential", send=forged)


def test_replayed_credentials_are_refused(served, munge):
    def replayed(nonce):
        good = munge.credential(f"ductile client {nonce}")
        subprocess.run(["unmunge", f"--socket={munge.socket}"], input=good, capture_output=True, text=True, check=True)
        return good
    refused(served, "Replayed credential", send=replayed)


def test_expired_credentials_are_refused(served, munge):
    def expired(nonce):
        good = munge.credential(f"ductile client {nonce}", "--ttl=1")
        time.sleep(2.5)
        return good
    refused(served, "Expired credential", send=expired)


def test_credentials_for_something_else_are_refused(served, munge):
    refused(served, "for something else", send=lambda nonce: munge.credential("ductile client " + "0" * 32))


def test_nothing_is_heard_before_somebody_is_known(served):
    connection, lines, _ = greeted(served)
    connection.sendall(b'{"do": "cancel", "jobs": [1]}\n{"do": "queue"}\n')
    assert json.loads(lines.readline())["error"] == "it does not show who it is"
    assert lines.readline() == ""


def test_who_says_nothing_is_closed_and_keeps_nobody_out(served, munge):
    first, lines, _ = greeted(served)
    begin = time.monotonic()
    silent = [greeted(served) for _ in range(70)]  # more than may wait
    assert lines.readline() == ""  # the eldest goes first
    assert time.monotonic() - begin < 9
    assert queue(served, munge).returncode == 0
    assert silent[-1][1].readline() == "" and time.monotonic() - begin > 9
    first.close()


def test_a_controller_of_another_user_is_not_trusted(served, munge):
    if AS_ROOT != []:
        pytest.skip("two users need root")
    # The test plays the controller: nobody's.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        for said, trusted in (("", False), ("65534", True)):
            asks = subprocess.Popen([PROGRAM, "queue", "--json", "--socket", f"127.0.0.1:{port}"], text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    env=dict(os.environ, DUCTILE_MUNGE_SOCKET=munge.socket,
                                             DUCTILE_CONTROLLER_USER=said))
            connection, _ = listener.accept()
            connection.sendall(json.dumps({"ductile": 1, "nonce": "0" * 32}).encode() + b"\n")
            lines = connection.makefile()
            hello = json.loads(lines.readline())
            credential = munge.credential(f"ductile server {hello['nonce']}", user=65534)
            connection.sendall(json.dumps({"ok": True, "credential": credential}).encode() + b"\n")
            assert (lines.readline() != "") == trusted
            connection.close()
            _, err = asks.communicate(timeout=PATIENCE)
            assert ("runs as user 65534" in err) != trusted, err


def test_without_munged_it_does_not_begin(munge, cluster):
    with pytest.raises(AssertionError, match="--listen|without MUNGE"):
        cluster("1x1", "easy", "--listen", f"127.0.0.1:{free_port()}", "--munge-socket", munge.socket + "no")
