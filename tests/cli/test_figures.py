"""ductile report --figures, and simulate --figures: pictures for papers, with their data beside."""

import csv
import json
import shutil
import subprocess
import xml.etree.ElementTree

import pytest

from conftest import RIGID_1000, ROOT, Ductile

GOLDEN = ROOT / "tests/cli/golden/figures"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    Ductile().output("simulate", "--trace", RIGID_1000, "--jobs", 300, "--malleable", "0.6:min=0.5,max=2",
                     "--policy", "easy", "--policy", "mebf", "--seeds", "1..3", "--node-power", "idle=100,busy=300",
                     "--quiet", "--out", folder / "out")
    return folder / "out"


@pytest.fixture(scope="module")
def figures(runs):
    Ductile().output("report", runs, "--figures", runs.parent / "figures")
    return runs.parent / "figures"


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))


NAMES = {"figures", "utilization", "waiting", "power", "cdf-wait", "cdf-turnaround", "cdf-slowdown",
         "wait-by-class", "slowdown-by-class", "wait-heat", "slowdown-heat", "comparison", "users", "resizes", "resize-costs", "gantt-easy", "gantt-mebf"}


def test_each_figure_has_its_files(figures):
    assert {path.name for path in figures.iterdir()} == {
        f"{name}.{kind}" for name in NAMES for kind in ("svg", "pdf", "csv")} | {"captions.md"}
    captions = (figures / "captions.md").read_text()
    assert all(f"**{name}**: " in captions for name in NAMES)


def test_an_svg_is_as_wide_as_a_column_and_has_text(figures):
    for path in figures.glob("*.svg"):
        root = xml.etree.ElementTree.parse(path).getroot()
        assert root.get("width") == "238.11pt", path
        texts = [each for each in root.iter("{http://www.w3.org/2000/svg}text")]
        assert texts and all(each.text for each in texts)
        # Nothing is written outside.
        for each in texts:
            assert 0 <= float(each.get("x")) <= 238.2 and 0 <= float(each.get("y")) <= float(root.get("height")[:-2])


def test_a_pdf_has_the_text_of_its_svg(figures):
    if not shutil.which("pdftotext"):
        pytest.skip("there is no pdftotext: poppler-utils")
    for path in figures.glob("*.pdf"):
        done = subprocess.run(["pdftotext", path, "-"], text=True, capture_output=True, check=True)
        assert done.stderr == ""
        root = xml.etree.ElementTree.parse(path.with_suffix(".svg")).getroot()
        words = {word for each in root.iter("{http://www.w3.org/2000/svg}text") if not each.get("transform")
                 for word in each.text.split() if word.isalnum() and word.isascii()}
        text = "".join(done.stdout.split())  # blanks are a matter of taste
        assert words and all(word in text for word in words), path
        fonts = subprocess.run(["pdffonts", path], text=True, capture_output=True, check=True).stdout
        assert "Helvetica" in fonts


def test_a_pdf_is_seen(figures, tmp_path):
    if not shutil.which("pdftoppm"):
        pytest.skip("there is no pdftoppm: poppler-utils")
    for path in figures.glob("*.pdf"):
        done = subprocess.run(["pdftoppm", "-r", "30", "-gray", "-singlefile", path, tmp_path / path.stem],
                              text=True, capture_output=True, check=True)
        assert done.stderr == ""
        assert len(set((tmp_path / f"{path.stem}.pgm").read_bytes()[20:])) > 5


def test_the_data_is_that_of_the_runs(figures, runs):
    summaries = json.loads((runs / "summary.json").read_text())["runs"]
    for row in rows_of(figures / "figures.csv"):
        unit = 100 if row["figure"] == "utilization_percent" else 1
        own = [unit * each[row["figure"].removesuffix("_percent")] for each in summaries if each["policy"] == row["policy"]]
        assert abs(float(row["mean"]) - sum(own) / 3) < 1e-9 * abs(float(row["mean"]))
        assert row["runs"] == "3"
    waits = sorted(float(row["waiting_time"]) for seed in (1, 2, 3) for row in rows_of(runs / f"mebf-s{seed}/jobs.csv"))
    cdf = [row for row in rows_of(figures / "cdf-wait.csv") if row["policy"] == "mebf"]
    for row in cdf:
        at_most = sum(wait <= float(row["wait_s"]) for wait in waits)
        assert abs(float(row["share"]) - at_most / len(waits)) < 1e-12
    assert float(cdf[-1]["wait_s"]) == waits[-1]
    held = sum((float(row["until_s"]) - float(row["from_s"])) * float(row["utilization_percent"]) / 100
               for row in rows_of(figures / "utilization.csv") if row["policy"] == "easy")
    [own] = [each for each in summaries if (each["policy"], each["seed"]) == ("easy", 1)]
    assert abs(held - own["utilization"] * own["makespan_s"]) < 1e-6 * held
    grown = {row["reason"]: float(row["grown"]) for row in rows_of(figures / "resizes.csv") if row["policy"] == "mebf"}
    assert abs(sum(grown.values()) - sum(each["expands"] for each in summaries if each["policy"] == "mebf") / 3) < 1e-6
    bars = [row for row in rows_of(figures / "gantt-easy.csv")]
    assert sum((float(row["until_s"]) - float(row["from_s"])) * (int(row["last_node"]) + 1 - int(row["first_node"]))
               for row in bars) == pytest.approx(own["utilization"] * own["makespan_s"] * own["nodes"])


def test_the_same_bytes_each_time(ductile, figures, runs, tmp_path):
    ductile.output("report", runs, "--figures", tmp_path)
    for path in figures.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path


def test_small_ones_are_as_they_were(ductile, tmp_path):
    """DUCTILE_GOLDEN=write writes them anew; look at what changed."""
    import os
    (tmp_path / "x.swf").write_text("".join(
        f"{job} {submit} 0 {run} {size} -1 -1 {size} {run} -1 1 1 1 1 1 1 -1 -1\n"
        for job, submit, run, size in [(1, 0, 100, 3), (2, 10, 50, 4), (3, 20, 80, 1)]))
    ductile.output("simulate", "--trace", tmp_path / "x.swf", "--nodes", 4, "--quiet", "--out", tmp_path / "out",
                   "--figures", tmp_path / "figures")
    for name in ("gantt-easy.svg", "cdf-wait.svg", "captions.md"):
        text = (tmp_path / "figures" / name).read_text()
        if os.environ.get("DUCTILE_GOLDEN") == "write":
            GOLDEN.mkdir(exist_ok=True)
            (GOLDEN / name).write_text(text)
        assert text == (GOLDEN / name).read_text(), name


def test_width_and_letters_are_chosen(ductile, runs, tmp_path):
    for width, points in (("page", "493.23pt"), ("100", "283.46pt")):
        ductile.output("report", runs, "--figures", tmp_path / width, "--width", width, "--font-size", 10)
        text = (tmp_path / width / "cdf-wait.svg").read_text()
        assert f'width="{points}"' in text and 'font-size="10"' in text and 'font-size="8"' not in text


@pytest.mark.parametrize("arguments,message", [
    (["--width", "wide"], "--width: 'wide' is no width; give column, page, or 40 to 1000 for so many mm"),
    (["--width", "3"], "--width: '3' is no width"),
    (["--width", "nan"], "--width: 'nan' is no width"),
    (["--font-size", "99"], "--font-size"),
])
def test_what_is_not_possible(ductile, runs, tmp_path, arguments, message):
    done = ductile.run("report", runs, "--figures", tmp_path / "figures", *arguments)
    assert done.returncode == 2 and message in done.stderr, done.stderr
    assert not (tmp_path / "figures").exists()


def test_folders_that_are_none(ductile, runs, tmp_path):
    (tmp_path / "file").write_text("")
    done = ductile.run("report", runs, "--figures", tmp_path / "file/below")
    assert done.returncode == 2 and "is no folder to write to" in done.stderr and "--figures" in done.stderr
    done = ductile.run("report", tmp_path / "none", "--figures", tmp_path / "figures")
    assert done.returncode == 2 and "No such file" in done.stderr
    # A run without its files.
    (tmp_path / "summary.json").write_text((runs / "easy-s1/summary.json").read_text())
    done = ductile.run("report", tmp_path, "--figures", tmp_path / "figures")
    assert done.returncode == 2 and "there are no jobs.csv" in done.stderr
    assert ductile.run("report", runs, "--width", "page").returncode == 2  # of what?
    assert ductile.run("simulate", "--trace", RIGID_1000, "--jobs", 10, "--figures", tmp_path / "x").returncode == 2


def test_a_run_is_the_same_with_figures_and_without(ductile, tmp_path):
    call = ["simulate", "--trace", RIGID_1000, "--jobs", 50, "--quiet", "--out", tmp_path / "out"]
    ductile.output(*call)
    before = (tmp_path / "out/summary.json").read_text()
    ductile.output(*call, "--figures", tmp_path / "figures")
    ductile.output(*call, "--figures", tmp_path / "figures")
    assert (tmp_path / "figures/cdf-wait.pdf").exists()
    assert json.loads(before)["run"]["options"] == json.loads((tmp_path / "out/summary.json").read_text())["run"]["options"]


def test_ratios_are_against_the_baseline(ductile, figures, runs, tmp_path):
    """The first policy, or that of --against."""
    ductile.output("report", runs, "--figures", tmp_path, "--against", "mebf", "--json")
    there, back = [{(row["size"], row["run_time"]): float(row["ratio"] or 0) for row in rows_of(folder / "slowdown-heat.csv")}
                   for folder in (figures, tmp_path)]
    assert there and there.keys() == back.keys()
    for place, ratio in there.items():
        assert ratio * back[place] == pytest.approx(1)
