"""A portfolio live: children of the controller look ahead, another policy rules because of what they see, and it goes
on ruling whatever becomes of the controller."""

import json
import signal

SHORT_FIRST = "fcfs:order=sjf"
# By the number of waiting jobs alone, and as soon as any wait.
QUICK = "portfolio:of=fcfs|fcfs+sjf,every=1"
ONCE = "portfolio:of=fcfs|fcfs+sjf,every=100000,shift=0"


def ruler(cluster):
    return cluster.ask({"do": "queue"})["policy"]


def choices(cluster):
    """What was told of policies to the job that waits longest, in order."""
    explained = cluster.ask({"do": "explain", "job": 2})
    return [line["text"] for line in explained["history"] if line["what"] == "policy"]


def fill(c):
    """All nodes are taken, and who waits first takes longest."""
    sleeps = c.script('sleep "$1"')
    first = c.submit("-N", 4, "-t", 100, sleeps, 100)
    c.wait_for_size(first, 4)
    return first, [c.submit("-N", 4, "-t", minutes, sleeps, 0) for minutes in (500, 5, 4, 3)]


def test_another_member_rules_and_goes_on_after_a_kill(cluster):
    c = cluster("4x1", QUICK)
    assert ruler(c) == QUICK  # as its first member
    first, waiting = fill(c)
    c.wait_for(lambda: ruler(c) == SHORT_FIRST, "the other member")
    assert c.ask({"do": "queue"})["portfolio"] == QUICK
    told = choices(c)
    assert told[-1].startswith(f"the policy is now {SHORT_FIRST}: looking ahead, the mean turnaround of ")
    assert "rules now, and" in c.log.read_text()

    c.kill()
    c.start()
    assert ruler(c) == SHORT_FIRST
    assert choices(c) == told  # nobody was told of another one meanwhile
    assert "the policy is now portfolio" not in c.log.read_text()

    c.run("cancel", first)
    ends = {end["job"]: end for end in c.wait_for_end(*waiting)}
    starts = [ends[job]["start_s"] for job in waiting]
    assert starts == sorted(starts, reverse=True)  # the shortest first
    assert c.replay()["decisions"] >= len(waiting)


def test_predicts_under_who_rules(cluster):
    c = cluster("4x1", ONCE)
    _, waiting = fill(c)
    c.kill()  # the next one looks at all that wait
    c.start()
    c.wait_for(lambda: ruler(c) == SHORT_FIRST, "the other member")
    answer = json.loads(c.run("predict", "--json").stdout)
    assert answer["policy"] == SHORT_FIRST
    starts = {row["job"]: row["start_s"] for row in answer["jobs"]}
    assert starts[waiting[3]] < starts[waiting[2]] < starts[waiting[1]] < starts[waiting[0]]
    refused = c.run("predict", "--policy", QUICK, code=2)
    assert "name one of its members" in refused.stderr


def test_a_member_of_the_next_settings_goes_on(cluster, tmp_path):
    file = tmp_path / "ductile.toml"
    file.write_text(f'policy = "{ONCE}"\n')
    c = cluster("4x1", "", "--config", file)
    fill(c)
    c.kill()
    c.start()
    c.wait_for(lambda: ruler(c) == SHORT_FIRST, "the other member")

    def reload(policy):
        file.write_text(f'policy = "{policy}"\n')
        seen = c.log.read_text().count("the settings were read again")
        c.server.send_signal(signal.SIGHUP)
        c.wait_for(lambda: c.log.read_text().count("the settings were read again") > seen, "the settings")

    reload("portfolio:of=easy|fcfs+sjf,every=100000,shift=0,hysteresis=1")
    assert ruler(c) == SHORT_FIRST
    reload("easy")
    assert ruler(c) == "easy"
    assert c.ask({"do": "queue"})["portfolio"] is None
    reload(QUICK)
    c.wait_for(lambda: ruler(c) == SHORT_FIRST, "a choice of the new portfolio")
    c.replay()
