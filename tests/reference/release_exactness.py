"""The program that users run gives every figure and every start time of the reference results.

Run by ./test on the release build, since the large logs take too long with sanitizers:
DUCTILE=build/release/ductile python3 -m pytest tests/reference/release_exactness.py
Needs the logs and results in DUCTILE_SHARED_DIR (beside the checkout); skips where they are absent.
"""

import csv
import json
import lzma
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("DUCTILE", ROOT / "build/release/ductile"))
SHARED = pathlib.Path(os.environ.get("DUCTILE_SHARED_DIR", ROOT.parent / "shared"))
RESULTS = SHARED / "reference"

LOGS = {  # file, nodes, cores per node, further options
    "rigid_1000": ("workloads/rigid_1000.swf.xz", 500, 1, []),
    "rigid_5000": ("workloads/rigid_5000.swf.xz", 500, 1, []),
    "rigid_50000": ("workloads/rigid_50000.swf.xz", 500, 1, []),
    "KTH-SP2-1996-2": ("traces/KTH-SP2-1996-2.swf.xz", 100, 1, []),
    "KIT-FH2-2016-1-first25k-derived": (
        "traces/KIT-FH2-2016-1-first25k-derived.swf.xz", 24048, 1, []),
    "LLNL-Atlas-2006-2.1-cln": ("traces/LLNL-Atlas-2006-2.1-cln.swf.xz", 9216, 1, []),
    "HPC2N-2002-2.2-cln": ("traces/HPC2N-2002-2.2-cln.swf.gz", 240, 1, []),
    "RICC-2010-2": ("traces/RICC-2010-2.swf.xz", 1024, 8, []),
    "CEA-Curie-2011-2.1-cln_partition10": (
        "traces/CEA-Curie-2011-2.1-cln.swf.xz", 5040, 16,
        ["--partition", "10", "--min-runtime", "1"]),
}
POLICIES = {"easy": "easy", "depth5": "backfill:depth=5", "conservative": "conservative"}


def figures():
    if not RESULTS.is_dir():
        return []
    lines = []
    for name in ("easy.jsonl", "backfill.jsonl"):
        for line in (RESULTS / name).read_text().splitlines():
            lines.append({"policy": "easy"} | json.loads(line))
    return lines


def starts():
    return sorted(path.name for policy in POLICIES for path in RESULTS.glob(f"{policy}_*.csv.xz"))


def simulate(log, policy, *options):
    file, nodes, cores, more = LOGS[log]
    done = subprocess.run(
        [PROGRAM, "simulate", "--trace", SHARED / file, "--nodes", str(nodes), "--cores-per-node",
         str(cores), "--policy", POLICIES[policy], "--json", *more, *options],
        capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.skipif(not figures(), reason=f"no reference results in {SHARED}")
@pytest.mark.parametrize("want", figures(), ids=lambda want: f"{want['reference']}-{want['policy']}")
def test_figures(want):
    got = simulate(want["reference"], want["policy"])
    for name, value in want.items():
        if name not in ("reference", "policy"):
            assert got[name] == pytest.approx(value, rel=1e-6), name


@pytest.mark.skipif(not RESULTS.is_dir(), reason=f"no reference results in {SHARED}")
@pytest.mark.parametrize("name", starts())
def test_starts(name, tmp_path):
    policy, log = name.removesuffix(".csv.xz").split("_", 1)
    simulate(log, policy, "--out", tmp_path / "out")
    with lzma.open(RESULTS / name, "rt") as file:
        want = {row[0]: float(row[1]) for row in csv.reader(file) if row[0].isdigit()}
    jobs = next((tmp_path / "out").rglob("jobs.csv"))
    with jobs.open() as file:
        got = {row["job_id"]: float(row["starting_time"]) for row in csv.DictReader(file)}
    assert got == want
