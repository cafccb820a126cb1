"""scripts/compare-families, and that all experiment files can be read."""

import json
import math
import os
import re
import statistics
import subprocess
import tomllib

import pytest

from conftest import ROOT, Ductile

EXPERIMENT = """
title = "Small"
jobs = 60
nodes = 32
policy = ["easy", "easy:order=sjf", "elastic"]

[[variant]]
name = "half #1"
generate = "rigid:load=0.9,max_size=16"
malleable = "0.5"
seeds = "1..2"

[[variant]]
name = "half #2"
generate = "rigid:load=0.9,max_size=16"
malleable = "0.5"
seeds = "3..3"

[[variant]]
name = "rigid"
generate = "rigid:load=0.9,max_size=16"
seeds = "1..2"
"""


@pytest.fixture
def compare(tmp_path):
    (tmp_path / "small.toml").write_text(EXPERIMENT)

    def call(*arguments, program=Ductile.program):
        done = subprocess.run([ROOT / "scripts/compare-families", tmp_path / "small.toml", "--ductile",
                               program, "--cache", tmp_path / "cache", *arguments], text=True,
                              capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


@pytest.mark.parametrize("path", sorted((ROOT / "experiments").glob("*.toml")), ids=lambda p: p.stem)
def test_experiments_can_be_read(path):
    table = tomllib.loads(path.read_text())
    variants = table.get("variant", [{}])
    assert table["title"] and len({v.get("name") for v in variants}) == len(variants)


def test_tells_of_each_family_and_of_settings(compare):
    text = compare("--judge", "equipartition", "--judge", "dbes")
    assert text.count("| half |") == 1 and text.count("| rigid |") == 1
    assert "2 families; the oracle chooses among 3 settings." in text
    assert "| `equipartition` |" in text and "| `dbes` |" in text
    # Who is judged by his own results equals the best or is worse.
    [line] = [row for row in compare("--judge", "easy").splitlines() if row.startswith("| longest")]
    assert "**1.000**" in line


def test_keeps_results(compare, tmp_path):
    first = compare("--best")
    files = sorted(tmp_path.glob("cache/small/*/*.jsonl"))
    assert len(files) == 9
    times = [os.stat(path).st_mtime_ns for path in files]
    assert compare("--best") == first
    assert [os.stat(path).st_mtime_ns for path in files] == times
    other = tmp_path / "other"
    other.write_text(f'#!/bin/sh\nexec "{Ductile.program}" "$@"\n')
    other.chmod(0o755)
    assert "9 results of the others" in compare("--best", "--trust-cache", program=other)
    assert [os.stat(path).st_mtime_ns for path in files] == times
    compare("--run-only", program=other)
    assert [os.stat(path).st_mtime_ns for path in files] != times


def test_loads(compare):
    rows = [row.split("|") for row in compare("--loads").splitlines() if row.startswith("| half")]
    assert [int(row[2]) for row in rows] == [60, 60]
    assert all(0.5 < float(load) < 1.5 for row in rows for load in row[5].split(","))


def test_intervals_of_a_family_are_of_the_ratio_of_its_means(compare, tmp_path):
    """Three pairs of samples: t is 4.303, and the ratio of means has the residuals of a line through 0."""
    row = next(line for line in compare("--judge", "equipartition").splitlines() if line.startswith("| half |"))
    ratio, half, best = re.match(r"([0-9.]+) ± ([0-9.]+) \(`(.+)`\)", row.split("|")[2].strip()).groups()

    def samples(policy):
        found = []
        for number in (1, 2):
            folder, = (tmp_path / "cache" / "small").glob(f"half_{number}-*")
            for path in folder.glob("*.jsonl"):
                head, *runs = [json.loads(line) for line in path.read_text().splitlines()]
                if head["settings"]["policy"] == policy:
                    found += [run["mean_turnaround_s"] for run in runs]
        return found

    its, others = samples("equipartition"), samples(best)
    assert len(its) == len(others) == 3
    of_means = sum(its) / sum(others)
    residuals = [a - of_means * b for a, b in zip(its, others)]
    assert abs(float(ratio) - of_means) < 0.0006
    error = statistics.stdev(residuals) / math.sqrt(3) / statistics.fmean(others)
    assert abs(float(half) - 4.303 * error) < 0.0006
