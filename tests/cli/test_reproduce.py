"""ductile reproduce: experiments and targets of papers, and the pages that are committed."""

import csv
import os
import pathlib
import re
import tomllib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "reproduction"
EXPERIMENT = """
title = "Small"
nodes = 8
jobs = 20
policy = ["fcfs", "easy"]
seeds = "1..4"
{source}

[[statement]]
id = "A"
figure = "mean_wait_s"
runs = "easy"
against = "fcfs"

[[otherwise]]
name = "fewer jobs"
jobs = 10
"""
TARGETS = """
title = "A paper"
source = "A journal"
[[experiment]]
file = "small.toml"
seeds = "1..3"
{log}
[[target]]
id = "T1"
says = "easy waits less"
statements = ["{statement}"]
[[target]]
id = "T2"
says = "on a machine"
not_run = "there is none"
"""


def experiments(folder, source='generate = "rigid:max_size=8"', statement="A", log=""):
    folder = folder / "experiments"
    (folder / "targets").mkdir(parents=True)
    (folder / "small.toml").write_text(EXPERIMENT.format(source=source))
    (folder / "targets" / "000.toml").write_text(TARGETS.format(statement=statement, log=log))
    return folder


def reproduce(ductile, folder, *words, **options):
    return ductile.run("reproduce", "000", "--experiments", folder, "--out", folder.parent / "pages", "--runs",
                       folder.parent / "runs", "--quiet", *words, **options)


def test_a_page_is_printed_and_written_and_goes_on(ductile, tmp_path):
    folder = experiments(tmp_path)
    done = reproduce(ductile, folder)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "pages" / "000.md").read_text()
    assert done.stdout == page
    assert "| `experiments/small.toml` | Small | 12 | 1 to 3 |" in page
    assert "Of 2 targets: " in page and "1 not run" in page and "not run: there is none" in page
    assert "| T1 | `mean_wait_s` | `easy` | `fcfs` | better |" in page
    assert "| as chosen | fewer jobs |" in page
    rows = list(csv.DictReader((tmp_path / "pages" / "000.csv").open()))
    assert [(row["variant"], row["policy"], row["seeds"]) for row in rows] == [
        ("", "easy", "1..3"), ("", "fcfs", "1..3"), ("fewer jobs", "easy", "1..3"), ("fewer jobs", "fcfs", "1..3")]
    # Results are kept, and there is nothing else.
    files = [path.name for path in (tmp_path / "runs").rglob("*") if path.is_file()]
    assert files == ["results.db"]
    assert reproduce(ductile, folder).stdout == page
    assert "1 to 4" in reproduce(ductile, folder, "--full").stdout


def test_only_what_a_target_needs_is_run(ductile, tmp_path):
    folder = experiments(tmp_path)
    text = (folder / "small.toml").read_text().replace('["fcfs", "easy"]', '["fcfs", "easy", "mebf"]')
    (folder / "small.toml").write_text(text)
    assert "| `experiments/small.toml` | Small | 12 | 1 to 3 |" in reproduce(ductile, folder).stdout
    assert "| `experiments/small.toml` | Small | 24 | 1 to 4 |" in reproduce(ductile, folder, "--full").stdout
    # One target alone: as it is chosen, and nothing is written.
    before = (tmp_path / "pages" / "000.md").read_text()
    done = reproduce(ductile, folder, "--target", "T1")
    assert done.returncode == 0, done.stderr
    assert "| `experiments/small.toml` | Small | 6 | 1 to 3 |" in done.stdout and "T2" not in done.stdout
    assert (tmp_path / "pages" / "000.md").read_text() == before
    done = reproduce(ductile, folder, "--target", "T3")
    assert done.returncode == 2 and "--target: there is no target 'T3'; give one of T1, T2" in done.stderr


def test_verdicts_of_all_papers_are_one_table(ductile, tmp_path):
    folder = experiments(tmp_path)
    readme = tmp_path / "pages" / "README.md"
    reproduce(ductile, folder)
    rows = list(csv.DictReader((tmp_path / "pages" / "000.verdicts.csv").open()))
    assert [(row["target"], row["statements"]) for row in rows] == [("T1", "1"), ("T2", "0")]
    assert rows[1]["verdict"] == "not run" and rows[1]["why"] == "there is none"
    readme.write_text("# Pages\n\n<!-- what `ductile reproduce all --summary` writes: change the targets, not this "
                      "table -->\nold\n<!-- the end of what it writes -->\n\nMore.\n")
    check = ("reproduce", "all", "--experiments", folder, "--out", tmp_path / "pages")
    done = ductile.run(*check, "--summary")
    assert done.returncode == 0, done.stderr
    assert "| [000](000.md) | 2 |" in done.stdout and "| [000](000.md) T1 | easy waits less |" in done.stdout
    text = readme.read_text()
    assert done.stdout in text and text.startswith("# Pages\n") and text.endswith("-->\n\nMore.\n")
    for name in ("001", "002", "003", "004"):
        (folder / "targets" / f"{name}.toml").write_text((folder / "targets" / "000.toml").read_text())
    assert "README.md: is of these pages" in ductile.run(*check, "--check").stdout
    readme.write_text(text.replace("easy waits less", "easy waits more"))
    assert "README.md: is older than the pages" in ductile.run(*check, "--check").stdout


def test_check_sees_that_inputs_have_changed(ductile, tmp_path):
    folder = experiments(tmp_path)
    assert reproduce(ductile, folder, "--check").returncode == 1
    reproduce(ductile, folder)
    assert reproduce(ductile, folder, "--check").returncode == 0
    for name in ("small.toml", "targets/000.toml"):
        text = (folder / name).read_text()
        (folder / name).write_text(text + "# other\n")
        done = reproduce(ductile, folder, "--check")
        assert done.returncode == 1 and "is older" in done.stdout
        (folder / name).write_text(text)
    # What an experiment names beside itself counts, too.
    text = (folder / "small.toml").read_text()
    (folder / "corridor.txt").write_text("0 0 3000\n")
    (folder / "small.toml").write_text(text.split("[[otherwise]]")[0].replace("nodes = 8", "nodes = 14").replace(
        "jobs = 20", 'corridor = "corridor.txt"').replace('"rigid:max_size=8"', '"pi_heat"\nnode-power = "idle=71"'))
    assert reproduce(ductile, folder).returncode == 0
    assert reproduce(ductile, folder, "--check").returncode == 0
    (folder / "corridor.txt").write_text("0 0 2900\n")
    assert reproduce(ductile, folder, "--check").returncode == 1


def test_logs_are_found_checked_and_stood_in_for(ductile, tmp_path):
    log = '[[log]]\nfile = "x.swf"\ncrc64 = "0123456789abcdef"\nabout = "A log."\n'
    folder = experiments(tmp_path, 'trace = "x.swf"', log=log)
    done = reproduce(ductile, folder)
    assert done.returncode == 2 and "targets/000.toml:7: log: x.swf is not there" in done.stderr
    (folder / "targets" / "000.toml").write_text(
        TARGETS.format(statement="A", log=log + 'stand_in = "rigid:nodes=8,max_size=8,jobs=50"\n'))
    done = reproduce(ductile, folder)
    assert done.returncode == 0, done.stderr
    assert "**was not there; the model `rigid:nodes=8,max_size=8,jobs=50`, seed 1, stood in for it." in done.stdout
    assert "| not comparable: x.swf was not there |" in done.stdout and "| met |" not in done.stdout
    # It stands beside the page of the right log, and not in its place.
    pages = sorted(path.name for path in (tmp_path / "pages").iterdir())
    assert pages == ["000-stand-in.csv", "000-stand-in.md", "000-stand-in.verdicts.csv"]
    logs = tmp_path / "logs"
    logs.mkdir()
    ductile.output("workload", "generate", "rigid:nodes=8,max_size=8,jobs=30", "--out", logs / "x.swf")
    done = reproduce(ductile, folder, "--logs", logs)
    assert done.returncode == 2 and "x.swf is another log: its text has the sum" in done.stderr
    right = done.stderr.split("has the sum ")[1][:16]
    (folder / "targets" / "000.toml").write_text(
        TARGETS.format(statement="A", log=log.replace("0123456789abcdef", right)))
    for options in ({"words": ("--logs", logs)}, {"env": {"DUCTILE_TRACES": f"{tmp_path}:{logs}"}}):
        done = reproduce(ductile, folder, *options.pop("words", ()), **options)
        assert done.returncode == 0, done.stderr
        assert f"`x.swf`: A log.; its text has the CRC-64 {right}" in done.stdout


@pytest.mark.parametrize("words, complaint", [
    (("005",), "paper: '005' is none; give "),
    (("all", "--target", "M1"), "--target: is of one paper"),
    (("all", "--summary"), "has no verdicts"),
    (("000", "--logs", "/nowhere"), "--logs: /nowhere is no folder"),
    (("000", "--experiments", "/nowhere"), "/nowhere/targets/000.toml"),
    ((), "paper is required"),
])
def test_what_is_wrong_is_told(ductile, tmp_path, words, complaint):
    done = ductile.run("reproduce", *words, "--out", tmp_path / "pages", "--runs", tmp_path / "runs")
    assert done.returncode == 2 and complaint in done.stderr, done.stderr


def test_targets_name_statements_that_there_are(ductile, tmp_path):
    done = reproduce(ductile, experiments(tmp_path, statement="B"))
    assert done.returncode == 2
    assert "targets/000.toml:11: statements: there is no statement 'B'; it has to be one of small.toml" in done.stderr
    folder = experiments(tmp_path / "more")
    (folder / "small.toml").unlink()
    done = reproduce(ductile, folder)
    assert done.returncode == 2 and "targets/000.toml:5: file: " in done.stderr


# ---- What is committed ----

COMMITTED = sorted(path.stem for path in PAGES.glob("00?.md"))


@pytest.mark.parametrize("paper", [*COMMITTED, "ablation", "all"])
def test_pages_are_of_the_experiments_and_targets(ductile, paper):
    done = ductile.run("reproduce", paper, "--check")
    assert done.returncode == 0, done.stdout


def rows_of(page, target):
    """The statements of a target on a page: all cells but the range under other sides, which one target has not."""
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith(f"| {target} | `")]
    return [row[:7] for row in rows if len(row) == 8]


# Of those that are run in seconds: with the invariants checked one of 000, 002 or 004 takes minutes.
@pytest.mark.parametrize("paper, target", [("001", "D6"), ("003", "P4"), ("003", "P6")])
def test_a_verdict_comes_out_again(ductile, tmp_path, paper, target):
    page = (PAGES / f"{paper}.md").read_text()
    done = ductile.run("reproduce", paper, "--target", target, "--quiet", "--runs", tmp_path)
    assert done.returncode == 0, done.stderr
    again = rows_of(done.stdout, target)
    assert again and again == rows_of(page, target)
    verdict = [line for line in page.splitlines() if line.startswith(f"| {target} | ")][0]
    assert verdict in done.stdout


@pytest.mark.parametrize("paper", COMMITTED)
def test_the_page_the_verdicts_and_the_table_say_the_same(paper):
    page, readme = (PAGES / f"{paper}.md").read_text(), (PAGES / "README.md").read_text()
    for row in csv.DictReader((PAGES / f"{paper}.verdicts.csv").open()):
        on_page = [line for line in page.splitlines() if line.startswith(f"| {row['target']} | ")][0]
        verdict = row["verdict"] + (f": {row['why']}" if row["why"] else "")
        assert on_page.endswith(f" | {verdict} |"), row["target"]
        if row["ours"] == "0":
            assert f"| [{paper}]({paper}.md) {row['target']} | {row['says']} | {verdict} |" in readme


def options_of(experiment, variant):
    """Of a variant of the file itself, as options of simulate."""
    options = {key: value for key, value in experiment.items()
               if key not in ("title", "source", "note", "policy", "seeds", "variant", "statement", "otherwise")}
    own = {key: value for key, value in variant.items() if key not in ("name", "policy")}
    if "generate" in own or "trace" in own:
        options = {key: value for key, value in options.items() if key not in ("generate", "trace")}
    for key, value in (options | own).items():
        for each in value if isinstance(value, list) else [value]:
            if key == "trace":
                each = pathlib.Path(os.environ.get("DUCTILE_SHARED_DIR", "/nowhere")) / "traces" / each
                if not each.is_file():
                    pytest.skip(f"{each.name} is not at hand: set DUCTILE_SHARED_DIR")
            if key == "corridor":
                each = ROOT / "experiments" / each
            yield f"--{key}={each}"


@pytest.mark.parametrize("paper", COMMITTED)
def test_a_slice_of_each_page_comes_out_again(ductile, paper):
    """The means of some policies in the first variant of the paper's first experiment: where code has changed a result,
    the page has to be made again."""
    rows = list(csv.DictReader((PAGES / f"{paper}.csv").open()))
    name = rows[0]["experiment"]
    experiment = tomllib.loads((ROOT / "experiments" / name).read_text())
    variant = experiment["variant"][0]
    its = [row for row in rows if row["experiment"] == name and row["variant"] == variant["name"]]
    its = [row for row in its if not row["policy"].startswith("sd:base=") and row["policy"] not in ("conservative", "slurm", "lend")]
    assert its
    for row in its[:2]:
        runs = ductile.objects("simulate", *options_of(experiment, variant), "--policy", row["policy"], "--seeds",
                               row["seeds"], "--json", "--quiet")
        assert len(runs) >= 2
        for figure in ("makespan_s", "mean_turnaround_s", "utilization", "expands", "shrinks"):
            mean = sum(run[figure] for run in runs) / len(runs)
            assert float(row[figure]) == pytest.approx(mean, rel=1e-6), (row["policy"], figure)


# ---- What README.md says was learnt ----


class Tables:
    """What the comments behind numbers of README.md may use: `31 %<!-- gain(...) -->`."""

    def __init__(self):
        self.means = {}
        for paper in COMMITTED:
            for row in csv.DictReader((PAGES / f"{paper}.csv").open()):
                self.means[row["experiment"].removesuffix(".toml"), row["variant"], row["policy"]] = row
        self.effects = {(row["figure"], row["variant"], row["effect"]): float(row["percent"])
                        for row in csv.DictReader((PAGES / "ablation.csv").open())}

    def of(self, experiment, variant, policy, figure):
        return float(self.means[experiment, variant, policy][figure])

    def gain(self, experiment, figure, runs, against):
        """By how many percent the mean of one is better than that of the other."""
        mine, theirs = self.of(experiment, *runs, figure), self.of(experiment, *against, figure)
        more_is_better = figure in ("utilization", "efficiency", "throughput_jobs_h")
        return 100 * (mine / theirs - 1 if more_is_better else 1 - mine / theirs)

    def effect(self, figure, variant, name):
        return self.effects[figure, variant, name]

    @staticmethod
    def verdicts(paper, verdict):
        rows = csv.DictReader((PAGES / f"{paper}.verdicts.csv").open())
        return sum(row["ours"] == "0" and row["verdict"] == verdict for row in rows)


def test_numbers_of_the_readme_are_those_of_the_tables():
    text = (PAGES / "README.md").read_text()
    parts = [part for part in text.split("\n## ") if part.startswith(("What was learnt", "What does not fit"))]
    assert len(parts) == 2
    tables = Tables()
    names = {name: getattr(tables, name) for name in ("of", "gain", "effect", "verdicts")}
    for part in parts:
        checked = re.findall(r"(-?[0-9][0-9,]*(?:\.[0-9]+)?)(?: %| s)?<!-- (.+?) -->", part)
        assert len(checked) >= 5
        for number, what in checked:
            value = eval(what, {"__builtins__": {}}, names)  # of our own page
            digits = len(number.partition(".")[2])
            assert number == f"{round(value, digits) + 0.0:,.{digits}f}", (number, what, value)  # not "-0.0"
        # And there are no others.
        rest = re.sub(r"-?[0-9][0-9,]*(?:\.[0-9]+)?(?: %| s)?<!-- .+? -->", "", part)
        assert not re.findall(r"[0-9]\.[0-9]|[0-9],[0-9]|[0-9] %", re.sub(r"`[^`]*`|\(said: [^)]*\)", "", rest)), part
