"""The report page in a browser: web/test/browser.mjs looks at pages of runs of $DUCTILE.

Screenshots are left in $DUCTILE_SCREENSHOTS (build/screenshots). Times are printed; they have bars,
which $DUCTILE_PAGE_PATIENCE makes so many times higher where a machine is slow.
"""

import csv
import json
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
DUCTILE = os.environ.get("DUCTILE", "ductile")
SCREENSHOTS = pathlib.Path(os.environ.get("DUCTILE_SCREENSHOTS", ROOT / "build/screenshots"))
RIGID_1000 = ROOT / "tests/data/rigid_1000.swf.xz"
KTH = ROOT / "examples/kth-sp2-first-5000.swf.xz"
MOST_BYTES = 25e6

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def needs(*programs):
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}; run scripts/setup --dev")
    if not (WEB / "node_modules/axe-core").is_dir():
        pytest.skip("web/node_modules has no axe-core; run scripts/setup --dev")


def simulate(folder, *arguments):
    done = subprocess.run([DUCTILE, "simulate", *map(str, arguments), "--out", folder, "--quiet"],
                          cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return folder


def story(folder, job):
    """What the story of a job has to say: for each policy its times, as jobs.csv has them."""
    expect = {}
    for path in sorted(folder.glob("**/jobs.csv")):
        summary = json.loads((path.parent / "summary.json").read_text())
        with path.open() as file:
            row = next(row for row in csv.DictReader(file) if row["job_id"] == str(job))
        # Of several seeds the first is drawn.
        if summary["seed"] == 1:
            expect[summary["policy"]] = [
                f"{row['submission_time']} s", f"{row['starting_time']} s",
                f"({row['waiting_time']} s)", f"{row['finish_time']} s",
                f"({row['turnaround_time']} s)", f"on {row['start_nodes']} node"]
    assert expect
    return expect


def look(folder, name, job, tmp_path, is_large=False):
    """Fails with all that browser.mjs finds wrong."""
    needs("node")
    if CHROMIUM is None:
        pytest.skip("there is no chromium; run scripts/setup --dev")
    page = folder / "report.html"
    assert page.stat().st_size < MOST_BYTES
    print(f"{name}: {page.stat().st_size / 1e6:.2f} MB")
    cases = tmp_path / "cases.json"
    cases.write_text(json.dumps({
        "chromium": CHROMIUM, "screenshots": str(SCREENSHOTS),
        "pages": [{"name": name, "file": str(page), "job": job, "expect": story(folder, job),
                   "isLarge": is_large}]}))
    done = subprocess.run(["node", str(WEB / "test/browser.mjs"), str(cases)], text=True,
                          capture_output=True, timeout=900)
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]


def test_parts_without_a_browser():
    needs("node", "esbuild")
    done = subprocess.run(["node", str(WEB / "test/unit.mjs")], text=True, capture_output=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]


def test_sources_are_of_the_types_they_say():
    needs("node")
    compiler = WEB / "node_modules/.bin/tsc"
    if not compiler.exists():
        pytest.skip("web/node_modules has no typescript; run scripts/setup --dev")
    done = subprocess.run([compiler, "--noEmit", "-p", WEB], text=True, capture_output=True)
    assert done.returncode == 0, done.stdout


def test_four_policies_on_a_log(tmp_path):
    folder = simulate(tmp_path / "out", "--trace", KTH, "--nodes", 100, "--cores-per-node", 1,
                      "--malleable", "0.5", "--resize-delay", 30, "--policy", "fcfs", "--policy", "easy",
                      "--policy", "easy:order=sjf", "--policy", "mebf")
    look(folder, "log", 3, tmp_path)


def test_two_minutes_of_evolving_jobs(tmp_path):
    folder = simulate(tmp_path / "out", "--generate", "poisson:size=8,runtime=exponential:20",
                      "--jobs", 40, "--nodes", 16, "--policy", "easy", "--policy", "mebf",
                      "--malleable", "0.5:min=0.25,max=2", "--evolving", "0.3", "--resize-delay", 1)
    look(folder, "short", 18, tmp_path)


def test_shared_nodes(tmp_path):
    folder = simulate(tmp_path / "out", "--generate", "lublin:load=0.9", "--jobs", 3000,
                      "--nodes", 64, "--cores-per-node", 24, "--malleable", 1, "--policy", "easy",
                      "--policy", "sd:free_nodes=on", "--policy", "lend")
    look(folder, "shared", 754, tmp_path)


def test_power(tmp_path):
    folder = simulate(tmp_path / "out", "--generate", "lublin:load=0.7", "--jobs", 1500, "--nodes", 64,
                      "--malleable", 1, "--node-power", "idle=100,busy=300", "--corridor",
                      "8000..14000", "--policy", "easy", "--policy", "power_aware", "--policy",
                      "equipartition")
    look(folder, "power", 75, tmp_path)


def test_many_policies_and_seeds(tmp_path):
    folder = tmp_path / "out"
    names = ("easy", "fcfs", "mebf", "conservative", "equipartition", "elastic", "dbes", "tide",
             "easy:order=sjf", "easy:order=ljf")
    simulate(folder, "--generate", "lublin:load=0.9", "--jobs", 600, "--nodes", 64, "--malleable",
             "0.5", "--seeds", "1..3", *(word for name in names for word in ("--policy", name)))
    look(folder, "seeds", 75, tmp_path)


def test_one_policy_and_a_hostile_name(tmp_path):
    trace = tmp_path / "a<img src=x onerror=alert(1)>&\"b'.swf.xz"
    shutil.copy(RIGID_1000, trace)
    folder = simulate(tmp_path / "out", "--trace", trace, "--policy", "easy")
    look(folder, "one", 100, tmp_path)


@pytest.mark.skipif("/" in os.environ.get("DUCTILE_CASES", ""), reason="takes minutes: ./test --all")
def test_a_hundred_thousand_jobs(tmp_path):
    folder = simulate(tmp_path / "out", "--generate", "lublin:load=0.6", "--jobs", 100000, "--nodes",
                      128, "--malleable", "0.5", "--policy", "fcfs", "--policy", "easy", "--policy",
                      "easy:order=sjf", "--policy", "easy:order=ljf")
    look(folder, "large", 50000, tmp_path, is_large=True)
