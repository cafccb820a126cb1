"""ductile report: tables and a page from what simulate wrote."""

import contextlib
import csv
import html.parser
import io
import json
import shutil
import sqlite3

import pytest

from conftest import RIGID_1000, Ductile, page_data


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    Ductile().output("simulate", "--trace", RIGID_1000, "--policy", "fcfs", "--policy", "easy",
                     "--out", folder / "two")
    Ductile().output("simulate", "--generate", "rigid", "--jobs", 300, "--out", folder / "one")
    return folder


class Page(html.parser.HTMLParser):
    """Checks that elements close in order; collects what the page refers to."""

    EMPTY = {"meta", "line", "rect", "path", "br"}

    def __init__(self, text):
        super().__init__()
        self.open, self.references, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.references += [value for name, value in attributes if name in ("href", "src")]
        if tag not in self.EMPTY or tag == "rect":
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_the_table_is_that_of_simulate(ductile, runs):
    text = ductile.output("report", runs / "two")
    simulated = ductile.output("simulate", "--trace", RIGID_1000, "--policy", "fcfs",
                               "--policy", "easy", "--quiet")
    # All but the time taken.
    assert [line.split()[:-1] for line in text.splitlines()] == [
        line.split()[:-1] for line in simulated.splitlines()[2:]]


def test_runs_of_several_folders_stay_apart(ductile, runs):
    lines = ductile.output("report", runs / "two", runs / "one").splitlines()
    assert [line.split()[0] for line in lines[-3:]] == [
        str(runs / "two/fcfs"), str(runs / "two/easy"), str(runs / "one/easy")]


def test_json_is_what_was_written(ductile, runs):
    objects = ductile.objects("report", runs / "two", runs / "one", "--json")
    assert objects[2] == json.loads((runs / "one/summary.json").read_text())
    assert [run["policy"] for run in objects] == ["fcfs", "easy", "easy"]


def test_pages_are_whole_and_refer_to_nothing_outside(ductile, runs):
    page = runs / "all.html"
    ductile.output("report", runs / "two", runs / "one", "--html", page)
    for path in (page, runs / "two/report.html", runs / "one/report.html",
                 runs / "two/easy-s1/report.html"):
        text = path.read_text()
        parsed = Page(text)
        assert "utilization" in parsed.texts and parsed.references == []
        for run in page_data(path)["runs"]:
            assert "jobs.csv" in run["files"]
            for file in run["files"]:
                assert (path.parent / run["folder"] / file).exists(), file


def test_a_summary_that_is_none(ductile, tmp_path):
    (tmp_path / "summary.json").write_text("[]")
    done = ductile.run("report", tmp_path)
    assert done.returncode == 2 and "is no summary" in done.stderr


def test_what_measured_the_machine_is_that_of_each_run(ductile, runs):
    told = ductile.objects("report", runs / "two", "--json")
    for line, name in zip(told, ("fcfs-s1", "easy-s1"), strict=True):
        own = json.loads((runs / "two" / name / "summary.json").read_text())
        assert line["simulate_seconds"] == own["simulate_seconds"] > 0
        assert line["peak_rss_bytes"] == own["peak_rss_bytes"]
    assert "simulate_seconds" not in (runs / "two/summary.json").read_text()


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    """Two policies, ten seeds: mean waits differ in each."""
    folder = tmp_path_factory.mktemp("seeds")
    Ductile().output("simulate", "--generate", "rigid", "--jobs", 200, "--policy", "easy", "--policy", "fcfs",
                     "--seeds", "1..10", "--out", folder / "ten")
    return folder / "ten"


def test_a_comparison_over_seeds(ductile, seeds):
    lines = ductile.objects("report", seeds, "--against", "fcfs", "--json")
    [wait] = [line for line in lines if line["kind"] == "figure" and line["figure"] == "mean_wait_s"]
    runs = ductile.objects("report", seeds, "--json")
    values = {(run["policy"], run["seed"]): run["mean_wait_s"] for run in runs}
    differences = [values["easy", seed] - values["fcfs", seed] for seed in range(1, 11)]
    assert wait["policy"] == "easy" and wait["against"] == "fcfs" and wait["pairs"] == 10
    assert wait["difference"] == pytest.approx(sum(differences) / 10)
    mean = wait["difference"]
    half = 2.2622 * (sum((d - mean) ** 2 for d in differences) / 90) ** 0.5
    assert wait["low"] == pytest.approx(mean - half) and wait["high"] == pytest.approx(mean + half)
    assert wait["agree"] == sum(d * mean > 0 for d in differences)
    assert wait["p_corrected"] >= wait["p"]
    [method] = [line for line in lines if line["kind"] == "method"]
    assert "Student's t" in method["method"] and method["comparisons"] > 1
    # Each job is in one class, and is of one user.
    jobs = sum(line["jobs"] for line in lines if line["kind"] == "class" and line["figure"] == "mean_wait_s")
    assert jobs == 2000


def test_a_comparison_as_text_and_csv(ductile, seeds):
    text = ductile.output("report", seeds, "--against", "fcfs")
    assert "Against fcfs. Paired by seed" in text and "By size asked for" in text and "By user" in text
    assert text == ductile.output("report", seeds, "--against", "fcfs")
    header, *rows = list(csv.reader(io.StringIO(ductile.output("report", seeds, "--against", "fcfs", "--csv"))))
    assert header[:5] == ["kind", "policy", "against", "part", "figure"]
    assert all(len(row) == len(header) for row in rows)
    assert {row[0] for row in rows} == {"figure", "class", "user"}
    runs = list(csv.DictReader(io.StringIO(ductile.output("report", seeds, "--csv"))))
    assert len(runs) == 20 and runs[0]["policy"] == "easy" and float(runs[0]["mean_wait_s"]) >= 0


def test_one_log_is_compared_by_its_jobs(ductile, runs):
    text = ductile.output("report", runs / "two", "--against", "fcfs")
    assert "One log: jobs paired by number (up to 1000); 95 % intervals by a studentized bootstrap" in text
    lines = ductile.objects("report", runs / "two", "--against", "fcfs", "--json")
    [wait] = [line for line in lines if line["kind"] == "figure" and line["figure"] == "mean_wait_s"]
    own = {run["policy"]: run["mean_wait_s"] for run in ductile.objects("report", runs / "two", "--json")}
    assert wait["difference"] == pytest.approx(own["easy"] - own["fcfs"], abs=1e-6)
    assert wait["low"] < wait["difference"] < wait["high"]


def test_seeds_of_one_side_are_left_out(ductile, seeds, tmp_path):
    ductile.output("simulate", "--generate", "rigid", "--jobs", 200, "--policy", "mebf", "--seeds", "3..12",
                   "--out", tmp_path / "other")
    text = ductile.output("report", seeds, tmp_path / "other", "--against", f"{seeds}/fcfs")
    assert "other/mebf: either it or " in text and "only has the seeds 1, 2, 11, 12: left out" in text


def test_unknown_baselines(ductile, seeds, runs, tmp_path):
    done = ductile.run("report", seeds, "--against", "fifo")
    assert done.returncode == 2 and "no runs of 'fifo'" in done.stderr and "name one of easy, fcfs" in done.stderr
    done = ductile.run("report", runs / "one", "--against", "easy")
    assert done.returncode == 2 and "nothing beside easy" in done.stderr
    assert ductile.run("report", seeds, "--json", "--csv").returncode == 2
    done = ductile.run("report", tmp_path / "nowhere", "--against", "easy")
    assert done.returncode == 2


def test_damaged_jobs_are_told(ductile, tmp_path):
    ductile.output("simulate", "--generate", "rigid", "--jobs", 50, "--policy", "easy", "--policy", "fcfs",
                   "--out", tmp_path / "out")
    (tmp_path / "out/easy-s1/jobs.csv").write_text("job_id\n1\n")
    done = ductile.run("report", tmp_path / "out", "--against", "fcfs")
    assert done.returncode == 2 and "jobs.csv" in done.stderr


EXPERIMENT = """
generate = "rigid"
jobs = 100
seeds = "1..3"
policy = ["easy", "fcfs"]
[[variant]]
name = "as it is"
[[variant]]
name = "more"
arrival-scale = 0.8
[[statement]]
id = "T"
figure = "mean_wait_s"
among = [{ variant = "more", policy = "fcfs" }, "easy", "fcfs"]
best = "easy"
worst = { variant = "more", policy = "fcfs" }
spread = 50
"""


def test_variants_of_an_experiment(ductile, tmp_path):
    (tmp_path / "e.toml").write_text(EXPERIMENT)
    out = tmp_path / "out"
    text = ductile.output("simulate", tmp_path / "e.toml", "--out", out)
    assert "2 others" in text and "spread 50 %" in text
    lines = ductile.objects("report", out, "--against", "as it is/fcfs", "--json")
    assert {line["policy"] for line in lines if line["kind"] == "figure"} == {
        "as it is/easy", "more/easy", "more/fcfs"}
    # Of each variant its own.
    lines = ductile.objects("report", out, "--against", "fcfs", "--json")
    assert {(line["policy"], line["against"]) for line in lines if line["kind"] == "figure"} == {
        ("as it is/easy", "as it is/fcfs"), ("more/easy", "more/fcfs")}
    done = ductile.run("report", out, "--against", "fcfs", "--html", tmp_path / "page.html")
    assert done.returncode == 2 and "name one of as it is/fcfs, more/fcfs" in done.stderr
    ductile.output("report", out, "--against", "more/fcfs", "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert data["groups"][data["comparison"]["baseline"]]["policy"] == "more/fcfs"
    assert data["comparison"]["rows"]


@pytest.fixture(scope="module")
def variants(tmp_path_factory):
    """Whose names are not in the order of the file."""
    folder = tmp_path_factory.mktemp("variants")
    (folder / "e.toml").write_text(EXPERIMENT.replace("as it is", "z"))
    Ductile().output("simulate", folder / "e.toml", "--out", folder / "out", "--figures", folder / "figures", "--quiet")
    return folder / "out"


def test_variants_are_in_the_order_of_the_file(ductile, variants):
    names = ["z/easy", "z/fcfs", "more/easy", "more/fcfs"]
    text = ductile.output("report", variants)
    assert [line.split()[0] for line in text.splitlines()[-4:]] == names
    with contextlib.closing(sqlite3.connect(variants / "results.db")) as database:
        folders = [row[0] for row in database.execute("SELECT folder FROM figures")]
    assert [folder.split("/")[0] for folder in folders] == ["z"] * 6 + ["more"] * 6
    lines = ductile.objects("report", variants, "--json")
    assert lines[0]["variant"] == "z" and lines[0]["run"]["policy"] == "easy"


def test_an_experiment_has_a_page_of_all_variants(ductile, variants):
    data = page_data(variants / "report.html")
    assert [group["policy"] for group in data["groups"]] == ["z/easy", "z/fcfs", "more/easy", "more/fcfs"]
    assert all((variants / run["folder"] / file).exists() for run in data["runs"] for file in run["files"])
    assert {path.name for path in (variants.parent / "figures").iterdir()} == {"z", "more"}
    # What differs in them is the load, too.
    assert any("more/easy, more/fcfs: its jobs came at other times than those of z/easy" in note for note in data["notes"])
    ductile.output("report", variants, "--html", variants.parent / "same.html")
    assert page_data(variants.parent / "same.html")["groups"] == data["groups"]


def test_a_page_that_is_anothers_stays(ductile, tmp_path):
    (tmp_path / "e.toml").write_text(EXPERIMENT)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/report.html").write_text("mine")
    done = ductile.run("simulate", tmp_path / "e.toml", "--out", tmp_path / "out")
    assert done.returncode == 2 and "report.html is there without results.db" in done.stderr
    assert (tmp_path / "out/report.html").read_text() == "mine"


def test_several_baselines_are_corrected_together(ductile, variants):
    lines = ductile.objects("report", variants, "--against", "fcfs", "--json")
    counts = [line["comparisons"] for line in lines if line["kind"] == "method"]
    assert len(counts) == 2 and counts[0] == counts[1] == sum(
        line["kind"] == "figure" and line["p"] is not None for line in lines)
    text = ductile.output("report", variants, "--against", "fcfs")
    assert text.count(f"p is corrected for {counts[0]} comparisons (Holm), those against all baselines.") == 2


def test_an_experiment_that_is_not_over(ductile, variants, tmp_path):
    shutil.copytree(variants, tmp_path / "out")
    with contextlib.closing(sqlite3.connect(tmp_path / "out/results.db")) as database:
        database.execute("UPDATE runs SET summary = NULL WHERE folder = 'z/easy-s2'")
        database.commit()
    done = ductile.run("report", tmp_path / "out", "--against", "z/fcfs")
    assert done.returncode == 0 and "1 of 12 runs are not over, and not in the report" in done.stderr
    assert "z/easy: either it or z/fcfs only has the seed 2: left out." in done.stdout
    with contextlib.closing(sqlite3.connect(tmp_path / "out/results.db")) as database:
        database.execute("UPDATE runs SET summary = NULL")
        database.commit()
    done = ductile.run("report", tmp_path / "out")
    assert done.returncode == 2 and "no run in it is over" in done.stderr


def test_folders_without_results(ductile, seeds, tmp_path):
    for content in (None, "hello"):
        if content:
            (tmp_path / "notes.txt").write_text(content)
        for more in ([], ["--json"], ["--csv"], ["--html", tmp_path / "x.html"], ["--figures", tmp_path / "f"]):
            done = ductile.run("report", tmp_path, *more)
            assert done.returncode == 2 and done.stdout == "" and "simulate" in done.stderr, (more, done.stderr)
    (tmp_path / "results.db").write_text("is none")
    done = ductile.run("report", tmp_path)
    assert done.returncode == 2 and "results.db" in done.stderr
    done = ductile.run("report", seeds, f"{seeds}/", "--against", "fcfs")
    assert done.returncode == 2 and "is given twice" in done.stderr


def test_seeds_of_one_log_are_one(ductile, tmp_path):
    ductile.output("simulate", "--trace", RIGID_1000, "--malleable", "0.5", "--policy", "easy", "--policy", "mebf",
                   "--seeds", "1..3", "--out", tmp_path / "out", "--quiet")
    text = ductile.output("report", tmp_path / "out", "--against", "easy")
    assert "mebf: all 3 seeds have the same log, and say nothing of another one" in text
    lines = ductile.objects("report", tmp_path / "out", "--against", "easy", "--json")
    rows = {line["figure"]: line for line in lines if line["kind"] == "figure"}
    assert rows["mean_wait_s"]["pairs"] == 1000 and rows["mean_wait_s"]["low"] is not None
    assert rows["makespan_s"]["p"] is None and rows["makespan_s"]["verdict"] == "open"
    own = ductile.objects("report", tmp_path / "out", "--json")
    means = [sum(run["mean_wait_s"] for run in own if run["policy"] == policy) / 3 for policy in ("easy", "mebf")]
    assert rows["mean_wait_s"]["difference"] == pytest.approx(means[1] - means[0])


def test_runs_of_other_logs_are_no_pairs(ductile, runs, seeds):
    done = ductile.run("report", runs / "two", seeds, "--against", f"{runs / 'two'}/easy")
    assert done.returncode == 0 and "it had other jobs than" in done.stdout


def test_statements_about_who_is_not_there(ductile, tmp_path):
    (tmp_path / "e.toml").write_text(EXPERIMENT.replace('"easy", "fcfs"]\nbest', '"easy", "sjf"]\nbest'))
    done = ductile.run("simulate", tmp_path / "e.toml")
    assert done.returncode == 2 and "e.toml:11: statement: there will be no runs of sjf" in done.stderr
