"""Nodes that are kept for maintenance or for some jobs: what is shown, who runs, malleable jobs that leave, crashes."""

import json
import random
import subprocess
import time

from conftest import PATIENCE, PROGRAM, example

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
    said = c.run("reserve", "course", "--count", 2, "--from", "now+4", "--duration", "1:00", "--users", "all").stdout
    assert said.startswith("nodes 2-3, from ") and " to " in said
    its = c.submit("-N", 2, "-t", "0:50", "--reservation", "course", patient)
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
    c.wait_for(lambda: time.time() > row["from_s"] + 7, "more than a tenth of it")
    late = c.submit("-N", 1, "-t", "1:00", "--reservation", "course", patient)
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
        (("b", "--nodes", "2", "--users", ""), "--users: it is empty"),
        (("b", "--nodes", ""), "--nodes: it is empty"),
        (("b", "--nodes", "2", "--from", ""), "--from: it is empty"),
        (("b", "--watts", "5", "--nodes", "2", "--users", "all"), "power is reserved for nobody"),
        (("a b", "--nodes", "2"), "no name of a reservation"),
        (("c", "--remove"), "there is no reservation 'c'"),
    ):
        assert why in c.run("reserve", *words, code=2).stderr, words
    patient = c.script(PATIENT)

    def refused(*words, code):
        return c.run("submit", *words, patient, code=code).stderr

    assert "there is no reservation 'other'" in refused("--reservation", "other", code=2)
    assert "reservation repair is not for jobs of root" in refused("--reservation", "repair", code=1)
    c.run("reserve", "course", "--nodes", "2-3", "--users", "all")
    assert "are more than the 2 of reservation course" in refused("-N", 3, "--reservation", "course", code=2)
    c.replay()


def theirs(c, *words):
    """Of nobody; its number."""
    done = c.as_nobody("submit", "--json", "-o", "/dev/null", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["job"]


def test_a_job_stays_with_the_reservation_that_it_was_given(cluster):
    """One that is made later by the same name for somebody else is not its own, whatever happens to the job."""
    c = cluster("4x1", "easy")
    c.open_to_others()
    patient = c.script(PATIENT)
    c.run("reserve", "r", "--nodes", "0-1", "--from", "now+1hours", "--users", "nobody")
    first = theirs(c, "-H", "-t", 5, "--reservation", "r", patient)
    assert c.queue()[first]["reservation"] == "r"
    c.run("reserve", "r", "--remove")
    c.run("reserve", "r", "--nodes", "2-3", "--from", "now+1hours", "--users", "root")
    done = c.as_nobody("submit", "--reservation", "r", patient)
    assert done.returncode == 1 and "reservation r is not for jobs of nobody" in done.stderr, done
    for job in (first, theirs(c, "-H", patient)):
        done = c.as_nobody("update", job, "--reservation", "r")
        assert done.returncode == 1 and "is not for jobs of nobody" in done.stderr, done
        # Nor by somebody who may have it: it is not his job.
        assert "is not for jobs of nobody" in c.run("update", job, "--reservation", "r", code=1).stderr
    for change in ((), ("-t", 4), ("-J", "other"), ("--nodelist", "2-3"), ("--nodelist", "")):
        if change:
            assert c.as_nobody("update", first, *change).returncode == 0
        else:
            again(c)
        assert c.queue()[first]["reservation"] == ""
    c.run("release", first)
    assert c.wait_for_size(first, 1)["nodelist"] == "0"
    # Nor does it get into one that it might have, without having asked.
    c.run("reserve", "s", "--nodes", "1", "--from", "now+1hours", "--users", "nobody")
    second = theirs(c, "-H", "-t", 5, "--reservation", "s", patient)
    c.run("reserve", "s", "--remove")
    c.run("reserve", "s", "--nodes", "1", "--from", "now+1hours", "--users", "nobody")
    assert c.as_nobody("update", second, "-t", 4).returncode == 0
    assert c.queue()[second]["reservation"] == ""
    assert c.as_nobody("update", second, "--reservation", "s").returncode == 0
    assert c.queue()[second]["reservation"] == "s"
    again(c)
    c.run("release", second)
    c.wait_for(lambda: c.queue()[second]["reason"] == "Reservation", "its wait")
    assert c.as_nobody("update", second, "--reservation", "").returncode == 0
    assert c.wait_for_size(second, 1)["nodelist"] == "1"
    c.run("cancel", *c.queue())
    c.replay()


def test_a_job_as_long_as_its_reservation_runs_in_it(cluster):
    c = cluster("4x1", "easy")
    patient = c.script(PATIENT)
    c.run("reserve", "now", "--nodes", "0-1", "--duration", 1, "--users", "all")
    job = c.submit("--reservation", "now", "-t", 1, "-N", 2, patient)
    assert c.wait_for_size(job, 2)["nodelist"] == "0-1"
    c.run("reserve", "soon", "--nodes", "2", "--from", "now+2", "--duration", "30", "--users", "all")
    # What is next there does not keep it out.
    c.run("reserve", "next", "--nodes", "2", "--from", "now+1810", "--duration", "30")
    late = c.submit("--reservation", "soon", patient)  # the default is longer
    assert c.queue()[late]["time_limit_s"] == 1800
    assert c.wait_for_size(late, 1)["nodelist"] == "2"
    for words in (("-t", 31),):
        said = c.run("submit", "--reservation", "soon", *words, patient, code=2).stderr
        assert "--time: 31:00 is more than the 30:00 of reservation soon" in said, said
    c.run("reserve", "far", "--nodes", "3", "--from", "now+1hours", "--duration", "30", "--users", "all")
    third = c.submit("--reservation", "far", "-t", 10, patient)
    assert "is more than the 30:00 of reservation far" in c.run("update", third, "-t", 40, code=2).stderr
    c.run("cancel", *c.queue())
    c.replay()


def test_a_limit_that_does_not_fit_any_more_is_said(cluster):
    c = cluster("2x1", "easy")
    patient = c.script(PATIENT)
    c.run("reserve", "short", "--nodes", "0-1", "--duration", "0:20", "--users", "all")
    time.sleep(3)  # more than a tenth of it
    job = c.submit("--reservation", "short", "-t", "0:20", patient)
    assert c.queue()[job]["reason"] == "Reservation"
    said = c.run("explain", job).stdout
    assert "its limit of 20 s reaches beyond the end of the reservation short" in said, said
    c.wait_for_size(job, 1)  # when it is over
    c.run("cancel", job)
    c.replay()


def test_reasons_are_those_of_where_a_job_may_run(cluster):
    c = cluster("4x1", "easy")
    c.stop()
    (c.folder / "platform.toml").write_text("[[class]]\nname = 'all'\ncount = 4\n[[partition]]\nname = 'A'\nnodes = '0-1'\n"
                                            "[[partition]]\nname = 'B'\nnodes = '2-3'\n")
    at = c.arguments.index("--local")
    c.arguments[at:at + 2] = ["--platform", str(c.folder / "platform.toml")]
    c.start()
    patient = c.script(PATIENT)
    full = c.submit("-p", "A", "-N", 2, patient)
    c.wait_for_size(full, 2)
    waits = c.submit("-p", "A", "-N", 2, patient)
    behind = c.submit("-p", "A", "-N", 1, "-t", "5:0:0", patient)
    c.run("reserve", "repair", "--nodes", "3", "--duration", "30")
    c.wait_for(lambda: nodes(c)[3]["state"] == "MAINT", "the maintenance")
    other = c.submit("-p", "B", "-N", 1, patient)
    c.wait_for_size(other, 1)
    first = c.submit("-p", "B", "-w", "2", patient)
    booked = c.submit("-p", "B", "-w", "3", patient)
    c.wait_for(lambda: c.queue()[waits]["planned_start_s"], "the plan")
    reasons = {job: row["reason"] for job, row in c.queue().items()}
    assert reasons == {full: "", waits: "Resources", behind: "Priority", other: "", first: "Resources", booked: "Reservation"}
    assert "it is the first of those that may run there" in c.run("explain", first).stdout
    c.run("cancel", *c.queue())


def test_who_is_still_on_reserved_nodes_is_said(cluster):
    c = cluster("3x1", "easy")
    job = c.submit("-N", 3, "--min-nodes", 3, "--max-nodes", 3, "--type", "malleable", "--",
                   example("until", "mpich"), c.folder / "done", 100)
    c.wait_for_size(job, 3)
    c.run("reserve", "repair", "--nodes", "0-1", "--duration", "30")
    c.wait_for(lambda: reservations(c)[0]["state"] == "ACTIVE", "its begin")
    assert reservations(c)[0]["jobs"] == [job]
    row = c.run("reserve").stdout.splitlines()[1].split()
    assert row[0] == "repair" and row[-1] == str(job), row
    said = c.run("explain", job).stdout
    assert "it is on 2 nodes (0-1), which are booked as repair since" in said, said
    assert "it leaves them when 2 nodes are idle that it may use, and 0 are" in said, said
    c.run("migrate", job, "--off", "2")
    said = c.run("explain", job).stdout
    assert "it is ordered to leave 1 node (2); it leaves them when" in said, said
    c.run("reserve", "repair", "--remove")
    c.finishes_right(job)
    c.replay()


def test_reservations_find_room_whatever_lists_jobs_have(cluster):
    """A user has four lists of nodes at a time, and what operators reserve is told apart all the same."""
    c = cluster("80x1", "easy")
    c.open_to_others()
    patient = c.script(PATIENT)
    jobs = [theirs(c, "-H", "-t", 1, "-x", node, patient) for node in range(4, 8)]
    done = c.as_nobody("submit", "-x", 8, patient)
    assert done.returncode == 1 and "may have 4 different lists of nodes" in done.stderr, done
    theirs(c, "-H", "-x", "4,4", patient)  # the same as another one
    done = c.as_nobody("update", jobs[0], "-x", 9)
    assert done.returncode == 1 and "may have 4 different lists of nodes" in done.stderr, done
    assert c.as_nobody("update", jobs[1], "-x", 9).returncode == 0  # instead of its own
    again(c)
    done = c.as_nobody("submit", "-x", 5, patient)
    assert done.returncode == 1, done
    for node in range(10, 42):
        c.run("reserve", f"r{node}", "--nodes", f"{node},{node + 32}", "--from", "now+1hours")
    assert c.queue()[jobs[0]]["state"] == "PENDING"
    c.run("cancel", *c.queue())
    c.replay()


def test_no_way_leads_to_a_reservation_of_others(cluster):
    """Reservations come and go by few names, for one or the other; jobs are submitted, changed, and taken up again."""
    c = cluster("8x1", "easy")
    c.open_to_others()
    draws = random.Random(1)
    users = ("root", "nobody")
    jobs, given = {}, {}  # whose they are, and of which life of which name
    made = {}
    for _ in range(60):
        name, user = draws.choice("abc"), draws.choice(users)
        what = draws.random()
        if what < 0.25:
            if name in made:
                c.run("reserve", name, "--remove")
                del made[name]
            else:
                c.run("reserve", name, "--nodes", "abc".index(name), "--from", "now+1hours", "--users", user)
                made[name] = (user, object())
        elif what < 0.55:
            done = subprocess_of(c, user, "submit", "--json", "-H", "-t", 5, "-o", "/dev/null", "--reservation", name, "/bin/true")
            assert (done.returncode == 0) == (name in made and made[name][0] == user), done
            if done.returncode == 0:
                job = json.loads(done.stdout)["job"]
                jobs[job], given[job] = user, (name, made[name])
        elif what < 0.9 and jobs:
            job = draws.choice(list(jobs))
            words = draws.choice((("-t", draws.randint(1, 9)), ("-J", "other"), ("--reservation", name), ("--reservation", "")))
            done = subprocess_of(c, draws.choice(("root", jobs[job])), "update", job, *words)
            if words[0] == "--reservation":
                may = words[1] == "" or (name in made and made[name][0] == jobs[job])
                assert (done.returncode == 0) == may, (words, done)
                if may:
                    given[job] = (name, made[name]) if words[1] else ("", None)
            else:
                assert done.returncode == 0, (words, done)
        elif what >= 0.9:
            again(c)
        for job, row in c.queue().items():
            its, life = given[job]
            assert row["reservation"] == (its if its and made.get(its) == life else ""), (row, made)
    c.run("cancel", *jobs)
    c.replay()


def subprocess_of(c, user, *words):
    """What a user's command did, well or not."""
    if user == "nobody":
        return c.as_nobody(*words)
    return subprocess.run([PROGRAM, *map(str, words)], env=c.environment, cwd=c.folder, text=True, capture_output=True,
                          timeout=PATIENCE)
