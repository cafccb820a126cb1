"""Placement: which nodes jobs get, how far these are from each other, and errors."""

import csv
import json

import pytest
from conftest import files_of

SWITCHES = """
[[class]]
name = "node"
count = 16

[[switch]]
name = "core"
switches = ["row0", "row1"]

[[switch]]
name = "row0"
switches = ["a", "b"]

[[switch]]
name = "row1"
switches = ["c", "d"]

[[switch]]
name = "a"
nodes = "0-3"

[[switch]]
name = "b"
nodes = "4-7"

[[switch]]
name = "c"
nodes = "8-11"

[[switch]]
name = "d"
nodes = "12-15"
"""


def line(job, submit, run, processors):
    return f"{job} {submit} -1 {run} {processors} -1 -1 {processors} {run} -1 1 1 1 -1 -1 -1 -1 -1\n"


LINES = [line(1, 0, 10, 3), line(2, 0, 40, 1), line(3, 0, 40, 2), line(4, 20, 20, 4)]


@pytest.fixture
def log(tmp_path):
    (tmp_path / "log.swf").write_text("".join(LINES))
    (tmp_path / "platform.toml").write_text(SWITCHES)
    return tmp_path / "log.swf"


def nodes_of(folder):
    with open(folder / "jobs.csv") as file:
        return {int(row["job_id"]): row["allocated_resources"] for row in csv.DictReader(file)}


# By hand: leaves of four nodes, rows of two leaves. Ways of two links within a row, of four between rows.
@pytest.mark.parametrize(
    "placement, nodes, hops",
    [
        # 1: all on a leaf. 2: alone. 3: on b. 4: 0-2 and 6, three of six pairs of two links.
        ("first", {1: "0-2", 2: "3", 3: "4-5", 4: "0-2 6"}, (80 * 3 * 2 / 6) / (30 + 80 + 80)),
        ("contiguous", {1: "0-2", 2: "3", 3: "4-5", 4: "6-9"}, (80 * 4 * 4 / 6) / (30 + 80 + 80)),
        ("compact", {1: "0-2", 2: "3", 3: "4-5", 4: "8-11"}, 0),
    ],
)
def test_jobs_are_placed_and_ways_are_counted(ductile, log, tmp_path, placement, nodes, hops):
    runs = []
    for machine in (("--platform", tmp_path / "platform.toml"), ("--nodes", 16, "--cores-per-node", 1, "--switches", "4,2,2")):
        out = tmp_path / "-".join(map(str, ("out", machine[0].strip("-"))))
        done = ductile.run("simulate", "--trace", log, *machine, "--placement", placement, "--json", "--out", out)
        assert done.returncode == 0, done.stderr
        assert nodes_of(out) == nodes
        summary = json.loads(done.stdout)
        assert summary["mean_hops"] == pytest.approx(hops)
        runs.append((files_of(out)["jobs.csv"], summary["mean_hops"]))
    assert runs[0] == runs[1]


def test_spread_is_even_and_far(ductile, log, tmp_path):
    done = ductile.run("simulate", "--trace", log, "--nodes", 16, "--cores-per-node", 1, "--switches", "4", "--placement", "spread",
                   "--json", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    leaves = {job: sorted(int(part.split("-")[0]) // 4 for part in text.split())
              for job, text in nodes_of(tmp_path / "out").items()}
    assert leaves[4] == [0, 1, 2, 3]
    assert len(set(leaves[1])) == 3 and len(set(leaves[3])) == 2
    assert json.loads(done.stdout)["mean_hops"] == 2


def test_hops_are_in_the_table_where_there_are_switches(ductile, log):
    command = ("simulate", "--trace", log, "--nodes", 16, "--cores-per-node", 1)
    with_switches = ductile.run(*command, "--switches", "4,2")
    assert "mean hops" in with_switches.stdout, with_switches.stderr
    without = ductile.run(*command)
    assert "mean hops" not in without.stdout
    plain = ductile.run(*command, "--json")
    assert "mean_hops" not in json.loads(plain.stdout)


def test_a_placement_is_recorded_and_replayed(ductile, log, tmp_path):
    file = tmp_path / "run.log"
    done = ductile.run("simulate", "--trace", log, "--nodes", 16, "--cores-per-node", 1, "--switches", "4,2", "--placement", "compact",
                   "--record", file, "--json")
    assert done.returncode == 0, done.stderr
    text = file.read_text()
    assert " compact" in text and " switches 6 " in text
    again = ductile.run("replay", file)
    assert again.returncode == 0, again.stdout + again.stderr


@pytest.mark.parametrize(
    "options, message",
    [
        (("--placement", "compact"), "there are no switches to be compact on"),
        (("--placement", "spread"), "there are no switches to be spread on"),
        (("--placement", "near"), "--placement"),
        (("--placement", "contiguous", "--identities", "off"), "--placement needs to know which nodes a job has"),
        (("--switches", "4", "--identities", "off"), "switches need to know which nodes a job has"),
        (("--switches", "4,1"), "'4,1' is no tree"),
        (("--switches", "0"), "'0' is no tree"),
        (("--switches", "four"), "'four' is no tree"),
        (("--switches", "4,,2"), "'4,,2' is no tree"),
        (("--switches", ""), "'' is no tree"),
    ],
)
def test_wrong_options(ductile, log, options, message):
    done = ductile.run("simulate", "--trace", log, "--nodes", 16, "--cores-per-node", 1, *options)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    "before, after, message",
    [
        ('nodes = "12-15"', 'nodes = "11-15"', "platform.toml:30: nodes: node 11 is on c already; each node is on one switch at most"),
        ('nodes = "12-15"', 'nodes = "12-16"', "platform.toml:32: nodes: there is no node 16; there are 0 to 15"),
        ('nodes = "12-15"', 'size = 4', "platform.toml:32: size: a switch has no such field; it has name, and nodes or switches"),
        ('nodes = "12-15"', '', "platform.toml:30: switch: has nothing below it; write nodes"),
        ('nodes = "12-15"', 'nodes = "12-15"\nswitches = ["a"]', "platform.toml:30: switch: has both nodes and switches; write nodes"),
        ('nodes = "12-15"', 'switches = []', "platform.toml:32: switches: is no list; write it like"),
        ('nodes = "12-15"', 'switches = ["core"]', "'core' is below itself; let switches be a tree"),
        ('"c", "d"', '"c", "e"', "platform.toml:16: switches: there is no switch 'e'; write a [[switch]] of that name"),
        ('"c", "d"', '"c", "a"', "platform.toml:16: switches: 'a' is below row0 already; each switch is below one other at most"),
        ('name = "d"', 'name = "c"', "platform.toml:30: switch: 'c' is there twice; give each a name of its own"),
        ('name = "d"', '', "platform.toml:30: switch: has no name; write name"),
    ],
)
def test_wrong_platforms(ductile, log, tmp_path, before, after, message):
    assert before in SWITCHES
    (tmp_path / "platform.toml").write_text(SWITCHES.replace(before, after))
    done = ductile.run("simulate", "--trace", log, "--platform", tmp_path / "platform.toml")
    assert done.returncode == 2
    assert message in done.stderr
