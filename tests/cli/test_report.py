"""ductile report: tables and a page from what simulate wrote."""

import html.parser
import json

import pytest

from conftest import RIGID_1000, page_data


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    from conftest import Ductile
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
