"""Programs that ask for another size themselves: granted, denied, offered less, asked at the socket."""

import json
import socket
import time

from conftest import example, mpiexec

ASKS = "asks for 6 processes\n"


def output(mpi, start, *options, resizes=0):
    # Without a resize it has to hear the last answer before it comes to its end, of which nobody else knows. With
    # one it asks soon, after 16 %, and works on for as long as that takes.
    steps = 100_000 if resizes else 150
    job = start(mpi, 2, "evolving", steps, 20 if resizes else 40, options=options, is_patient=resizes > 0,
                patient_from=16 * steps // 100 if resizes else 0)
    job.wait_for_resizes(resizes)
    code, out, err = job.finish()
    assert code == 0 and not job.events("aborted"), (err, job.report.read_text())
    *lines, result = out.splitlines(keepends=True)
    # Denied and alone it is the same program.
    assert result == mpiexec(mpi, 2, example("evolving", mpi), steps).splitlines(keepends=True)[-1]
    return "".join(lines)


def test_granted(mpi, start):
    assert output(mpi, start, "--max", 6, resizes=1) == ASKS + "goes on with 6 processes\n"


def test_denied_twice(mpi, start):
    assert output(mpi, start, "--max", 6, "--evolving", "deny") == 2 * (ASKS + "denied\n")


def test_takes_a_counter_offer(mpi, start):
    assert output(mpi, start, "--max", 3, resizes=1) == (
        ASKS + "is offered 3 processes, and takes them\ngoes on with 3 processes\n")


def test_nothing_to_offer(mpi, start):
    assert output(mpi, start, "--max", 2) == 2 * (ASKS + "denied\n")


def ask(job, order):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(job.socket)
        connection.sendall(json.dumps(order).encode() + b"\n")
        return json.loads(connection.makefile().readline())


def wait_for_request(job):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if (request := job.status()["request"]) is not None:
            return request
        time.sleep(0.02)
    raise AssertionError("no request")


def test_answered_by_hand(mpi, start):
    job = start(mpi, 2, "evolving", 150, 150, options=["--max", 8, "--evolving", "ask"])
    job.wait_until_connected()
    assert "asked for nothing" in ask(job, {"do": "answer", "size": 6})["error"]
    assert wait_for_request(job) == {"at_least": 6, "preferred": 6}
    assert ask(job, {"do": "answer", "size": 0}) == {"ok": True, "offer": 0}
    wait_for_request(job)  # at 25 %
    assert ask(job, {"do": "answer", "size": 4}) == {"ok": True, "offer": 4}
    assert wait_for_request(job) == {"at_least": 4, "preferred": 4}
    answer = ask(job, {"do": "answer", "size": 4})
    assert (answer["ok"], answer["from"], answer["to"]) == (True, 2, 4)
    code, out, _ = job.finish()
    assert code == 0
    assert out.startswith(ASKS + "denied\n" + ASKS + "is offered 4 processes, and takes them\n"
                          "goes on with 4 processes\nresult ")
    assert [event["offer"] for event in job.events("offered")] == [0, 4]
