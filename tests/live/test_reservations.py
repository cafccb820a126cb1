"""Nodes that are kept for maintenance or for some jobs: what is shown, who runs, malleable jobs that leave, crashes."""

import json

from conftest import example

PATIENT = "exec sleep 1000"


def nodes(c):
    return json.loads(c.run("nodes", "--json").stdout)["nodes"]


def reservations(c):
    return json.loads(c.run("reserve", "--json").stdout)["reservations"]


def again(c):
    c.kill()
    c.start()


def test_malleable_jobs_leave_what_is_kept_for_maintenance(cluster):
    c = cluster("4x1", "easy")
    job = c.submit("-N", 4, "--min-nodes", 1, "--max-nodes", 4, "--type", "malleable", "--",
                   example("until", "mpich"), c.folder / "done", 100)
    c.wait_for_size(job, 4)
    c.run("reserve", "repair", "--nodes", "0-1", "--duration", "30")
    again(c)  # whatever of it was done
    c.wait_for(lambda: c.queue()[job]["nodelist"] == "2-3", "its leaving the nodes")
    assert "to leave nodes that are booked" in c.run("explain", job).stdout
    assert [node["state"] for node in nodes(c)] == ["MAINT", "MAINT", "ALLOCATED", "ALLOCATED"]
    assert [node["reservation"] for node in nodes(c)] == ["repair", "repair", None, None]
    assert "RESERVATION" in c.run("nodes").stdout
    waits = c.submit("-N", 1, "-t", 5, "/bin/sleep", 0)
    assert c.queue()[waits]["state"] == "PENDING"
    said = c.run("explain", waits).stdout
    assert "nodes 0-1 are booked as repair from" in said, said
    again(c)
    assert c.queue()[job]["nodelist"] == "2-3" and c.queue()[waits]["state"] == "PENDING"
    assert [row["name"] for row in reservations(c)] == ["repair"]
    c.run("reserve", "repair", "--remove")
    c.wait_for_end(waits)
    assert reservations(c) == []
    c.finishes_right(job)
    c.replay()


def test_jobs_that_name_a_reservation_have_its_nodes(cluster):
    c = cluster("4x1", "easy")
    patient = c.script(PATIENT)
    said = c.run("reserve", "course", "--count", 2, "--from", "now+4", "--duration", "60", "--users", "all").stdout
    assert said == "nodes 2-3\n"
    its = c.submit("-N", 2, "-t", 10, "--reservation", "course", patient)
    row = c.queue()[its]
    assert row["reason"] == "Reservation" and row["reservation"] == "course"
    assert "it waits for the reservation course, which begins at" in c.run("explain", its).stdout
    wide = c.submit("-N", 3, "-t", 30, patient)
    again(c)
    c.wait_for_size(its, 2)
    assert c.queue()[its]["nodelist"] == "2-3"
    assert c.queue()[wide]["state"] == "PENDING"
    row = reservations(c)[0]
    assert row["state"] == "ACTIVE" and row["nodes"] == "2-3" and row["jobs"] == [its] and row["for_jobs"]
    assert "course" in c.run("reserve").stdout
    # Longer than what is left of it; as any other job when it is over.
    late = c.submit("-N", 1, "-t", 120, "--reservation", "course", patient)
    c.run("cancel", its)
    c.wait_for_end(its)
    assert c.queue()[late]["state"] == "PENDING"
    assert [node["state"] for node in nodes(c)] == ["IDLE", "IDLE", "RESERVED", "RESERVED"]
    again(c)
    assert c.queue()[late]["state"] == "PENDING" and c.queue()[wide]["state"] == "PENDING"
    c.run("reserve", "course", "--remove")
    c.wait_for_size(wide, 3)
    c.wait_for_size(late, 1)
    c.run("cancel", wide, late)
    c.wait_for_end(wide, late)
    c.replay()


def test_what_cannot_be_reserved_is_said(cluster):
    c = cluster("4x1", "easy")
    c.run("reserve", "repair", "--nodes", "0-1", "--from", "now+1hours", "--duration", "30")
    for words, why in (
        (("repair", "--nodes", "2"), "there is a reservation 'repair'"),
        (("b", "--nodes", "1-2"), "1 are reserved as repair then"),
        (("b", "--nodes", "7"), "there are 0 to 3"),
        (("b", "--count", "3"), "there are not so many"),
        (("b",), "nothing is reserved"),
        (("b", "--nodes", "2", "--users", "nobody-there"), "there is no user"),
        (("b", "--watts", "5", "--nodes", "2", "--users", "all"), "power is reserved for nobody"),
        (("a b", "--nodes", "2"), "no name of a reservation"),
        (("c", "--remove"), "there is no reservation 'c'"),
    ):
        assert why in c.run("reserve", *words, code=2).stderr, words
    patient = c.script(PATIENT)

    def refused(*words, code):
        return c.run("submit", *words, patient, code=code).stderr

    assert "there is no reservation 'other'" in refused("--reservation", "other", code=2)
    assert "is not for your jobs" in refused("--reservation", "repair", code=1)
    c.run("reserve", "course", "--nodes", "2-3", "--users", "all")
    assert "are more than the 2 of reservation course" in refused("-N", 3, "--reservation", "course", code=2)
    c.replay()
