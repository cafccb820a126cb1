"""The controller by HTTP: what it says, who may ask, and those who do not keep to it."""

import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import resource
import select
import signal
import socket
import subprocess
import time

import pytest
from conftest import PATIENCE, PROGRAM, Stopwatch, processes_with

ROOT = "/api/v1"
# Holds what it is told, until the file `done` is there.
SCRIPT = """
while read -r size _; do echo "$size" >&$DUCTILE_RESIZE_FD; done <&$DUCTILE_RESIZE_FD &
until [ -e done ]; do sleep 0.05; done
kill $!
"""


class Web:
    """Who asks a controller by HTTP."""

    def __init__(self, state, log):
        def address():
            found = re.findall(r"answering HTTP at http://(\S+);", log.read_text())
            return found and found[-1]

        end = time.monotonic() + PATIENCE
        while not address():
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.02)
        self.host, self.port = address().rsplit(":", 1)
        self.token = (state / "http-token").read_text().strip()
        writes = state / "http-token.write"
        self.write_token = writes.read_text().strip() if writes.exists() else None

    def connect(self):
        connection = socket.create_connection((self.host, int(self.port)), timeout=PATIENCE)
        connection.settimeout(PATIENCE)
        return connection

    def ask(self, path, method="GET", token=None, body=None, **fields):
        """Status and answer."""
        connection = http.client.HTTPConnection(self.host, int(self.port), timeout=PATIENCE)
        head = {"Authorization": f"Bearer {self.token if token is None else token}"}
        if body is not None:
            head["Content-Type"] = "application/json"
        head.update({name.replace("_", "-"): value for name, value in fields.items()})
        with contextlib.closing(connection):
            connection.request(method, path if path.startswith("/api") or path == "/" else ROOT + path,
                               json.dumps(body) if body is not None else None, head)
            answer = connection.getresponse()
            self.fields = dict(answer.getheaders())
            text = answer.read()
        is_json = self.fields.get("Content-Type") == "application/json"
        return answer.status, json.loads(text) if is_json and text else text.decode()

    def get(self, path, **more):
        status, answer = self.ask(path, **more)
        assert status == 200, (path, status, answer)
        return answer

    def order(self, path, body=None):
        return self.ask(path, "POST", self.write_token, body)

    def raw(self, data):
        """What comes until it is closed."""
        with self.connect() as connection:
            with contextlib.suppress(OSError):  # it may have heard enough
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
            come = b""
            with contextlib.suppress(OSError):
                while part := connection.recv(65536):
                    come += part
        return come

    def status(self, data):
        come = self.raw(data)
        return int(come.split()[1]) if come else 0


def web_of(c):
    return Web(c.state, c.log)


@pytest.fixture
def served(cluster):
    def make(local="4x1", policy="easy", *options):
        c = cluster(local, policy, "--http", "127.0.0.1:0", *options)
        return c, web_of(c)

    return make


class Events:
    """A stream of them."""

    def __init__(self, web, last=None):
        self.connection = web.connect()
        head = f"GET {ROOT}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {web.token}\r\n"
        self.connection.sendall((head + (f"Last-Event-ID: {last}\r\n" if last else "") + "\r\n").encode())
        self.file = self.connection.makefile("rb")
        assert b" 200 " in self.file.readline()
        while self.file.readline().strip():
            pass

    def next(self):
        """id, kind, data; nothing when it has ended."""
        event = {}
        while True:
            line = self.file.readline()
            if not line:
                return None
            line = line.decode().rstrip("\n")
            if line and not line.startswith(":"):
                name, value = line.split(": ", 1)
                event[name] = value
            elif not line and "data" in event:
                return event["id"], event.get("event", ""), json.loads(event["data"])
            elif not line:
                event = {}

    def until(self, is_last):
        """All up to that one."""
        found = []
        while not found or not is_last(found[-1][2]):
            event = self.next()
            assert event, found
            if not event[1]:
                found.append(event)
        return found

    def close(self):
        self.file.close()
        self.connection.close()


def wrong_with(value, schema, schemas, at="it"):
    """What of a value is not as a schema says; only what ours say is known."""
    if "$ref" in schema:
        return wrong_with(value, schemas[schema["$ref"].rsplit("/", 1)[1]], schemas, at)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    types = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}

    def is_a(kind):
        if kind in ("integer", "number"):
            return isinstance(value, int if kind == "integer" else (int, float)) and not isinstance(value, bool)
        return isinstance(value, types[kind])

    if kinds and not any(map(is_a, kinds)):
        return [f"{at} is {value!r}, no {kinds}"]
    found = []
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        found += [f"{at} has no {name}" for name in schema.get("required", []) if name not in value]
        if schema.get("additionalProperties") is False:
            found += [f"{at} has {name}" for name in value if name not in properties]
        for name in value.keys() & properties.keys():
            found += wrong_with(value[name], properties[name], schemas, f"{at}.{name}")
    if isinstance(value, list):
        for i, item in enumerate(value[:20]):
            found += wrong_with(item, schema.get("items", {}), schemas, f"{at}[{i}]")
    return found


def test_the_description_is_what_is_answered(served):
    """Each address that it has is there, and says what it says that it does."""
    c, web = served("4x1", "easy", "--http-write")
    run = c.submit("--kind", "script", "-N", 2, "--min-nodes", 1, "--max-nodes", 3, "--", c.script(SCRIPT))
    c.wait_for_size(run, 2)
    c.wait_for_end(c.submit("/bin/true"))
    waits = c.submit("-N", 4, "/bin/true")
    assert web.order(f"/jobs/{run}/resize", {"nodes": 1})[0] == 200
    c.wait_for_size(run, 1)
    c.run("drain", 3)
    events = Events(web, None)

    status, said = web.ask("/openapi.json", token="")
    assert status == 200 and said["openapi"].startswith("3.")
    schemas = said["components"]["schemas"]
    asked = set()
    for path, operations in said["paths"].items():
        for method, operation in operations.items():
            schema = operation["responses"]["200"]["content"]
            is_open = operation.get("security") == []
            assert web.ask(path.replace("{job}", str(run)), method.upper(), "")[0] == (200 if is_open else 401), path
            if method != "get" or "text/event-stream" in schema:
                continue
            for job in (run, waits) if "{job}" in path else ("",):
                answer = web.get(path.replace("{job}", str(job)))
                assert not wrong_with(answer, schema["application/json"]["schema"], schemas), path
                asked.add(path)
    assert len(asked) == 15
    assert web.get("/resizes")["rows"] and web.get("/outages")["rows"] and web.get("/decisions")["rows"]
    assert web.get("/allocations")["allocations"] and web.get("/history")["jobs"]

    status, failure = web.ask("/nothing")
    assert status == 404 and not wrong_with(failure, schemas["Error"], schemas)
    # What changes something, and the events that tell it.
    for path, body in ((f"/jobs/{waits}/hold", None), (f"/jobs/{waits}/release", None), (f"/jobs/{waits}/cancel", None),
                       (f"/jobs/{run}/resize", {"nodes": 2})):
        assert f"{ROOT}{path}".replace(str(waits), "{job}", 1) in said["paths"] or "resize" in path
        assert web.order(path, body)[0] == 200, path
    heard = events.until(lambda row: row["what"] == "resized" and row["nodes"] == 2)
    for _, _, row in heard:
        assert not wrong_with(row, schemas["Happening"], schemas)
    assert {"held", "released", "ended", "ordered", "decision", "resized"} <= {row["what"] for _, _, row in heard}
    (c.folder / "done").touch()
    events.close()


def test_what_it_says_is_what_the_commands_say(served):
    c, web = served("4x1", "easy")
    run = c.submit("--kind", "script", "-N", 1, "--min-nodes", 1, "--max-nodes", 3, "--", c.script(SCRIPT))
    c.wait_for_size(run, 1)
    for nodes in (3, 2):
        c.ask({"do": "resize", "job": run, "nodes": nodes})
        c.wait_for_size(run, nodes)
    waits = c.submit("-N", 4, "-t", "1:00", "/bin/true")
    array = c.submit("--array", "1-3", "--hold", "/bin/true")

    def is_new():  # an answer is good for a moment
        return {row["job"] for row in web.get("/jobs")["jobs"]} == set(c.queue())

    c.wait_for(is_new, "all jobs")
    volatile = ("elapsed_s", "time_limit_s", "believed_w")
    bare = [[{k: v for k, v in row.items() if k not in volatile} for row in rows]
            for rows in (web.get("/jobs")["jobs"], c.ask({"do": "queue"})["jobs"])]
    assert bare[0] == bare[1]
    assert web.get("/nodes")["nodes"] == c.ask({"do": "nodes"})["nodes"]
    assert web.get(f"/jobs/{waits}")["jobs"][0]["nodes"] == 4
    assert {row["array_job"] for row in web.get(f"/jobs/{array}")["jobs"]} == {array}
    assert web.get(f"/jobs/{array}_2")["jobs"][0]["array_task"] == 2
    why = web.get(f"/jobs/{waits}/why")
    assert why["state"] == "waiting" and any("4 nodes" in line["text"] for line in why["now"])

    def is_predicted():
        first = web.get("/queue")["jobs"][0]
        its = [row for row in c.ask({"do": "predict"})["jobs"] if row["job"] == waits]
        assert first["job"] == waits
        return first["predicted_start_s"] and abs(first["predicted_start_s"] - its[0]["start_s"]) < 30

    c.wait_for(is_predicted, "a believed start")
    cluster = web.get("/cluster")
    assert cluster["jobs"] == {"running": 1, "waiting": 4}
    assert cluster["nodes"] == {"total": 4, "idle": 2, "allocated": 2, "other": 0}

    # Pages have all, in order, and once.
    def pages(path, rows, start="from"):
        found, at = [], ""
        while at is not None:
            page = web.get(f"{path}?limit=2" + (f"&{start}={at}" if at != "" else ""))
            found += page[rows]
            at = page["next"]
        return found

    assert [row["job"] for row in pages("/jobs", "jobs")] == [row["job"] for row in web.get("/jobs")["jobs"]]
    decisions = pages("/decisions", "rows", "before")
    assert decisions == web.get("/decisions")["rows"] and len(decisions) >= 3
    assert [row["record"] for row in decisions] == sorted({row["record"] for row in decisions}, reverse=True)

    # What it had is what it is charged for; and on which nodes.
    (c.folder / "done").touch()
    past = c.wait_for_end(run)[0]
    c.wait_for(lambda: all(row["to_s"] for row in web.get("/allocations")["allocations"] if row["job"] == run), "its end")
    held = [row for row in web.get("/allocations")["allocations"] if row["job"] == run]

    def count(nodelist):
        return sum(int(part.split("-")[-1]) - int(part.split("-")[0]) + 1 for part in nodelist.split())

    assert [count(row["nodelist"]) for row in held] == [1, 3, 2]
    assert [size["nodes"] for size in past["sizes"]] == [1, 3, 2, 0]
    # It has nodes from the decision to start it on, until that its end is known.
    assert held[0]["from_s"] <= past["start_s"] and held[-1]["to_s"] >= past["end_s"] - 1e-3
    for one, next_one in zip(held, held[1:]):
        assert one["to_s"] == next_one["from_s"]


def test_who_may_ask(served):
    c, web = served("2x1", "easy")
    job = c.submit("--hold", "/bin/true")
    for path in ("http-token",):
        assert (c.state / path).stat().st_mode & 0o777 == 0o600
    assert not (c.state / "http-token.write").exists()
    for token in ("", "x", web.token[:-1], web.token + "x", web.token[:-1] + "g", web.token.upper(), "\xe9" * 16):
        status, answer = web.ask("/jobs", token=token)
        assert status == 401 and answer["remedy"] and web.fields["WWW-Authenticate"] == "Bearer", token
    assert web.ask("/jobs", Authorization=web.token)[0] == 401
    assert web.ask("/jobs", Authorization=f"Basic {web.token}")[0] == 401
    assert web.ask(f"/jobs?token={web.token}", token="")[0] == 401
    assert web.ask("/jobs", Authorization=f"bearer  {web.token} ")[0] == 200
    assert web.ask("/nothing", token="")[0] == 401  # nor does it say what there is
    assert web.ask("/jobs")[0] == 200
    for path in ("/", "/dashboard.js", "/dashboard.css", "/icon.svg"):
        status = web.status(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        assert status == 200, path
    status, answer = web.ask(f"/jobs/{job}/cancel", "POST")
    assert status == 403 and "--http-write" in answer["remedy"]

    # Pages of others do not come here by a name of theirs, and learn nothing.
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "[::1", "1e1.example", "a@localhost"):
        assert web.ask("/jobs", Host=host)[0] == 421, host
    for host in ("localhost", f"127.0.0.1:{web.port}", "[::1]:80", socket.gethostname()):
        assert web.ask("/jobs", Host=host)[0] == 200, host
    web.ask("/jobs", Origin="http://evil.example")
    assert not any(name.lower().startswith("access-control") for name in web.fields)
    web.ask("/")
    policy = web.fields["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert web.fields["X-Content-Type-Options"] == "nosniff" and web.fields["Cache-Control"] == "no-store"
    assert c.queue()[job]["state"] == "PENDING"

    # A token that others can read is none.
    c.stop()
    (c.state / "http-token").chmod(0o644)
    refused = subprocess.run([PROGRAM, *c.arguments], capture_output=True, text=True, timeout=PATIENCE)
    assert refused.returncode == 2 and "chmod 600" in refused.stderr
    (c.state / "http-token").chmod(0o600)
    (c.state / "http-token").write_text("short\n")
    refused = subprocess.run([PROGRAM, *c.arguments], capture_output=True, text=True, timeout=PATIENCE)
    assert refused.returncode == 2 and "http-token:1" in refused.stderr
    (c.state / "http-token").write_text("chosen-by-an-operator\n")
    c.start("--http-write")
    web = web_of(c)
    assert web.token == "chosen-by-an-operator" and len(web.write_token) == 64
    assert web.ask(f"/jobs/{job}/cancel", "POST")[0] == 403
    assert web.ask("/jobs", token=web.write_token)[0] == 200
    for path, body in ((f"/jobs/{job}/resize", {}), (f"/jobs/{job}/resize", {"nodes": "4"}), (f"/jobs/{job}/resize", [3]),
                       ("/jobs", {"job": {"program": ["/bin/true"], "chdir": "/"}, "wait": True})):
        status, answer = web.order(path, body)
        assert status in (400, 403) and answer["remedy"], (path, answer)
    for path, body in (("/jobs/99/cancel", None), ("/jobs/99/resize", {"nodes": 1}), ("/jobs/99_1/hold", None)):
        status, answer = web.order(path, body)
        assert status == 404 and "there is no job 99" in answer["error"], (path, answer)
    assert web.ask(f"/jobs/{job}/resize", "POST", web.write_token, {"nodes": 1}, Content_Type="text/plain")[0] == 415
    assert web.ask(f"/jobs/{job}/resize", "POST", web.write_token, {"nodes": "4"}, Content_Type="Application/JSON")[0] == 400
    assert web.order(f"/jobs/{job}/cancel")[0] == 200
    assert c.queue() == {}
    submit = {"job": {"program": ["/bin/true"], "chdir": str(c.folder)}}
    status, answer = web.order("/jobs", submit)
    if os.geteuid() == 0:  # they would be root's
        assert status == 403 and c.queue() == {}
    else:
        assert status == 200 and c.wait_for_end(answer["job"])[0]["state"] == "COMPLETED"


def test_a_user_has_one_of_his_own(cluster):
    """Of root's controller: it may do what he may, and see what he may."""
    c = cluster("2x1")
    c.open_to_others()
    mine = c.submit("--hold", "/bin/true")
    log = c.others / "log"
    words = ["http", "--listen", "127.0.0.1:0", "--socket", c.socket, "--state", c.others, "--write"]
    with open(log, "w") as out:
        its = subprocess.Popen(c.of_nobody(c.others / "ductile", *words), stderr=out, env=c.environment)
    try:
        web = Web(c.others, log)
        status, answer = web.order("/jobs", {"job": {"program": ["/bin/true"], "chdir": str(c.others)}})
        assert status == 200, answer
        assert c.wait_for_end(answer["job"])[0]["user"] == "nobody"
        assert web.order(f"/jobs/{mine}/cancel")[0] == 409  # it is not his
        assert [row["job"] for row in web.get("/history")["jobs"]] == [answer["job"]]
        assert web.get("/cluster")["can_see_journal"] is False
        assert web.ask("/decisions")[0] == 503 and web.ask("/events")[0] == 503
    finally:
        its.terminate()
        assert its.wait(timeout=PATIENCE) in (0, -15)
    assert mine in c.queue()


def test_what_is_no_request_is_refused(served):
    c, web = served("2x1", "easy", "--http-write")
    auth = f"Host: localhost\r\nAuthorization: Bearer {web.token}\r\n".encode()
    writes = f"Host: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer {web.write_token}\r\n".encode()
    get = b"GET /api/v1/jobs HTTP/1.1\r\n"
    for status, data in (
            (400, b"\x16\x03\x01\x02\x00\r\n\r\n"), (400, b"GET\r\n\r\n"), (400, b"GET /api/v1/jobs\r\n\r\n"),
            (400, b"GET http://x/api/v1/jobs HTTP/1.1\r\n\r\n"), (505, b"GET / HTTP/2.0\r\n\r\n"),
            (400, get + b"\r\n"), (400, get + auth + b"Host: other\r\n\r\n"), (400, get + auth + b" folded\r\n\r\n"),
            (400, get + auth + b"A B: c\r\n\r\n"), (400, get + auth + b"a: b\0c\r\n\r\n"),
            (400, get + auth + b"Content-Length: -1\r\n\r\n"), (400, get + auth + b"Content-Length: 1e3\r\n\r\n"),
            (413, get + auth + b"Content-Length: 99999999999\r\n\r\n"),
            (501, get + auth + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            (431, get + auth + b"a: " + b"x" * 20000 + b"\r\n\r\n"),
            (431, get + auth + b"".join(b"a%d: b\r\n" % i for i in range(100)) + b"\r\n"), (431, b"x" * 10 ** 6),
            (414, b"GET /" + b"x" * 8000 + b" HTTP/1.1\r\n" + auth + b"\r\n"),
            (414, b"GET /" + b"x/" * 100 + b" HTTP/1.1\r\n" + auth + b"\r\n"),
            (400, b"GET /api/v1/jobs/%zz HTTP/1.1\r\n" + auth + b"\r\n"),
            (400, b"GET /api/v1/jobs/%00 HTTP/1.1\r\n" + auth + b"\r\n"),
            (404, b"GET /api/v1/../../etc/passwd HTTP/1.1\r\n" + auth + b"\r\n"),
            (404, b"GET /api/v1/jobs/99999999999999999999 HTTP/1.1\r\n" + auth + b"\r\n"),
            (404, b"GET /api/v1/jobs/1_ HTTP/1.1\r\n" + auth + b"\r\n"),
            (405, b"DELETE /api/v1/jobs HTTP/1.1\r\n" + auth + b"\r\n"), (405, b"POST / HTTP/1.1\r\n" + auth + b"\r\n"),
            (400, b"GET /api/v1/jobs?limit=-1 HTTP/1.1\r\n" + auth + b"\r\n"),
            (400, b"GET /api/v1/jobs?limit=1&limit=2 HTTP/1.1\r\n" + auth + b"\r\n"),
            (400, b"GET /api/v1/allocations?hours=nan HTTP/1.1\r\n" + auth + b"\r\n"),
            (400, b"GET /api/v1/events HTTP/1.1\r\n" + auth + b"Last-Event-ID: 7\r\n\r\n"),
            (400, b"POST /api/v1/jobs/1/resize HTTP/1.1\r\n" + writes + b"Content-Length: 3\r\n\r\n{]}"),
            (400, b"POST /api/v1/jobs/1/resize HTTP/1.1\r\n" + writes + b"Content-Length: 90000\r\n\r\n" + b"[" * 90000)):
        assert web.status(data) == status, data[:100]

    # Two at once, and a body that comes slowly.
    twice = (get + auth + b"\r\n") * 2 + get + auth + b"Connection: close\r\n\r\n"
    assert web.raw(twice).count(b"HTTP/1.1 200 OK") == 3
    assert b"HTTP/1.1 200 OK" in web.raw(b"HEAD /api/v1/jobs HTTP/1.0\r\n" + auth + b"\r\n")

    # Who waits for a word before it sends its body is given it; who sends it anyway needs none.
    body = b'{"nodes": 1}'
    post = (b"POST /api/v1/jobs/99/resize HTTP/1.1\r\n" + writes +
            b"Connection: close, TE\r\nExpect: 100-continue\r\nContent-Length: 12\r\n\r\n")
    with web.connect() as connection:
        connection.sendall(post)
        heard = connection.makefile("rb")
        assert heard.readline() == b"HTTP/1.1 100 Continue\r\n" and heard.readline() == b"\r\n"
        connection.sendall(body)
        assert b"HTTP/1.1 404 " in heard.read()
    assert web.status(post + body) == 404
    assert web.status(post.replace(web.write_token.encode(), b"x")) == 401

    draws = random.Random(11)
    whole = get + auth + b"X: y\r\n\r\n"
    open_ones = []
    for turn in range(300):
        data = bytearray(whole)
        for _ in range(draws.randrange(6)):
            data[draws.randrange(len(data))] = draws.randrange(256)
        connection = web.connect()
        with contextlib.suppress(OSError):
            connection.sendall(data[:draws.randrange(len(data))] if turn % 2 else data)
        open_ones.append(connection)
    assert web.ask("/jobs")[0] == 200
    for connection in open_ones:
        connection.close()
    assert "has ended (" not in c.log.read_text()


def test_many_and_slow_ones_delay_nobody(served):
    """Neither the controller, nor those who have a token."""
    c, web = served("2x1", "easy")
    many = [web.connect() for _ in range(300)]
    for connection in many[:150]:
        with contextlib.suppress(OSError):
            connection.sendall(b"GET / HTTP/1.1\r\nHo")
    slow = []
    for _ in range(20):  # ask for much, and read nothing
        connection = web.connect()
        connection.sendall(f"GET {ROOT}/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 200)
        slow.append(connection)
    streams = [Events(web) for _ in range(20)]
    watch = Stopwatch(c)
    for _ in range(5):
        assert c.ask({"do": "queue"})["ok"]
    assert watch.passed() < 5
    for _ in range(5):
        assert web.ask("/cluster")[0] == 200
    job = c.submit("/bin/true")
    for stream in streams:
        stream.until(lambda row: row["job"] == job and row["what"] == "ended")
        stream.close()
    for connection in many + slow:
        connection.close()


def test_there_is_room_for_who_waits(served):
    """Who asks and goes makes room for others, however many; nobody is turned away without a word."""
    c, web = served("2x1", "easy")
    head = f" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {web.token}\r\n\r\n".encode()

    def asks(path):
        connection = web.connect()
        connection.sendall(b"GET /api/v1/openapi.json" + head)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert answer.status == 200 and answer.read()  # it is known
        connection.sendall(f"GET {ROOT}{path}".encode() + head)
        return connection

    os.kill(c.server.pid, signal.SIGSTOP)  # nothing is answered that the controller has to be asked for
    try:
        for job in range(1, 300):
            asks(f"/jobs/{job}/why").close()
        stay = [asks("/jobs") for _ in range(256)]
        status, answer = web.ask("/openapi.json")
        assert status == 503 and "connections" in answer["error"] and web.fields["Retry-After"]
        stay.pop().close()
        status, answer = web.ask("/openapi.json")
        assert status == 200, answer
    finally:
        os.kill(c.server.pid, signal.SIGCONT)
    for connection in stay:
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert answer.status == 200 or b"does not answer" in answer.read()
        connection.close()
    c.wait_for(lambda: web.ask("/jobs")[0] == 200, "the controller")


def test_a_token_is_there_as_a_whole_or_not_at_all(tmp_path):
    def is_almost_full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))

    words = [PROGRAM, "http", "--state", tmp_path, "--listen", "127.0.0.1:0"]
    refused = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=PATIENCE,
                             preexec_fn=is_almost_full, restore_signals=False)  # SIGXFSZ stays ignored
    assert refused.returncode == 2 and "no token can be written" in refused.stderr
    assert not list(tmp_path.iterdir())


def test_events_go_on(served):
    """Over restarts of all kinds, without loss or repetition."""
    c, web = served("2x1", "easy")
    stream = Events(web)
    begin = stream.next()
    assert begin[1] == "begin"
    heard = []

    def hear(job):
        nonlocal heard
        heard += stream.until(lambda row: row["job"] == job and row["what"] == "ended")

    def again():
        nonlocal stream, web
        stream.close()
        web = web_of(c)
        stream = Events(web, heard[-1][0])

    hear(c.submit("/bin/true"))
    again()  # nobody was there for a while
    hear(c.submit("/bin/true"))
    c.kill()
    with contextlib.suppress(OSError):
        while stream.next():  # its server has gone, too
            pass
    end = time.monotonic() + PATIENCE
    while any(map(is_http, processes_with(f"CLUSTER_TEST_OF={c.folder}"))):
        assert time.monotonic() < end, "what answers HTTP outlives its controller"
        time.sleep(0.02)
    c.start()
    between = c.submit("/bin/true")
    c.wait_for_end(between)
    again()
    hear(c.submit("/bin/true"))
    assert any(row["job"] == between for _, _, row in heard)
    stream.close()

    # What was heard is what there was, in that order.
    journal = heard[0][0].split(".")[0]
    everything = Events(web, f"{journal}.0")
    last = heard[-1][2]["record"]
    whole = everything.until(lambda row: row["record"] == last)
    first = int(begin[0].split(".")[1])
    assert [event for event in whole if event[2]["record"] > first] == heard
    everything.close()

    # Of another journal, or of one that has gone on otherwise: it says so.
    for id_ in ("0123456789abcdef.3", f"{journal}.{10 ** 9}"):
        other = Events(web, id_)
        assert other.next()[1] == "reset"
        other.close()


def test_long_events_come_in_parts(served):
    """Together they are more than may wait for one client."""
    c, web = served("4096x1", "easy")
    stream = Events(web)
    begin = stream.next()[0]
    stream.close()
    nodes = ",".join(map(str, range(0, 4096, 2)))
    for _ in range(70):
        for health in ("draining", "up"):
            assert c.ask({"do": "drain", "nodes": nodes, "health": health})["ok"]
    job = c.submit("/bin/true")
    c.wait_for_end(job)
    stream = Events(web, begin)
    heard = stream.until(lambda row: row["job"] == job and row["what"] == "ended")
    assert len([row for _, _, row in heard if len(json.dumps(row)) > 5000]) >= 140
    stream.close()


def is_http(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")[1:2] == ["http"] and "http"


def test_who_does_not_read_is_dropped_and_goes_on_later(cluster):
    """By a Unix socket, which keeps little for who does not read."""
    c = cluster("1x1", "easy")
    c.stop()
    path = c.folder / "web"
    c.arguments += ["--http", f"unix:{path}"]
    c.start()
    token = (c.state / "http-token").read_text().strip()

    class Local:
        def connect(self):
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(PATIENCE)
            connection.connect(str(path))
            return connection

    web = Local()
    web.token = token
    slow, quick = Events(web), Events(web)
    start = slow.next()
    assert start[1] == "begin"
    array = c.submit("--array", "1-3000", "--hold", "/bin/true", timeout=2 * PATIENCE)
    c.run("cancel", array)
    last = c.submit("/bin/true")
    heard = quick.until(lambda row: row["job"] == last and row["what"] == "ended")
    assert len(heard) > 6000
    # Of what comes to the slow one only so much waits, and not for ever.
    got = []
    c.wait_for(lambda: is_closed(slow.connection), "the end of who does not read")
    while event := slow.next():
        got.append(event)
    assert got and len(got) < len(heard)
    rest = Events(web, got[-1][0])
    got += rest.until(lambda row: row["job"] == last and row["what"] == "ended")
    assert got == heard
    for stream in (slow, quick, rest):
        stream.close()


def is_closed(connection):
    """By the other end; what it sent before waits still."""
    poller = select.poll()
    poller.register(connection, select.POLLHUP | select.POLLRDHUP)
    return bool(poller.poll(0))


def what_answers(c):
    """The process; one that was just made becomes it in a moment."""
    def those():
        return [pid for pid in processes_with(f"CLUSTER_TEST_OF={c.folder}") if is_http(pid)]
    c.wait_for(lambda: len(those()) == 1, "the process that answers HTTP")
    return those()[0]


def test_what_answers_is_started_again(served):
    c, web = served("2x1", "easy")
    for times in (1, 2):
        its = what_answers(c)
        os.kill(its, 9)
        c.wait_for(lambda: c.log.read_text().count("what answers HTTP has ended (signal 9)") == times, "the word of it")
        assert web.ask("/jobs")[0] == 200  # who came meanwhile waited
    assert c.submit("/bin/true") == 1
    # One that cannot start says why, and is started when it can.
    (c.state / "http-token").chmod(0o644)
    its = what_answers(c)
    os.kill(its, 9)
    c.wait_for(lambda: "chmod 600" in c.log.read_text(), "the reason")
    (c.state / "http-token").chmod(0o600)
    assert web.ask("/jobs")[0] == 200
    c.stop()
    assert not any(map(is_http, processes_with(f"CLUSTER_TEST_OF={c.folder}")))


def test_a_controller_that_is_away(cluster):
    """One that stands alone says so, and what to do, and is there again when the controller is."""
    c = cluster("2x1", "easy")
    c.submit("--hold", "/bin/true")
    c.stop()
    log = c.folder / "http.log"
    words = ["http", "--listen", "127.0.0.1:0", "--state", c.state]
    with open(log, "w") as out:
        its = subprocess.Popen([PROGRAM, *map(str, words)], stderr=out, env=c.environment)
    try:
        web = Web(c.state, log)
        status, answer = web.ask("/jobs")
        assert status == 503 and "ductile serve" in answer["remedy"] and web.fields["Retry-After"]
        assert web.get("/decisions")["rows"] == []  # the journal is there
        c.start()
        c.wait_for(lambda: web.ask("/jobs")[0] == 200, "the controller")
        assert [row["job"] for row in web.get("/jobs")["jobs"]] == [1]
    finally:
        its.terminate()
        assert its.wait(timeout=PATIENCE) == 0, log.read_text()
    nowhere = subprocess.run([PROGRAM, "http", "--state", c.state], capture_output=True, text=True, timeout=PATIENCE)
    assert nowhere.returncode == 2 and "--listen" in nowhere.stderr
    taken = subprocess.run([PROGRAM, "http", "--state", c.state, "--listen", "192.0.2.1:1"], capture_output=True,
                           text=True, timeout=PATIENCE)
    assert taken.returncode == 2 and "numeric address" in taken.stderr
