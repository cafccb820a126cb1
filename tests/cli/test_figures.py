"""`report --figures`: pictures for papers, and what they show as CSV."""

import csv
import shutil
import subprocess
import xml.etree.ElementTree as xml

import pytest
from conftest import RIGID_1000, Ductile

NAMES = {"cdf-slowdown", "cdf-turnaround", "cdf-wait", "figures", "resizes", "slowdown-by-class", "slowdown-heat",
         "utilization", "waiting"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two policies, two seeds."""
    path = tmp_path_factory.mktemp("figures")
    Ductile().output("simulate", "--trace", RIGID_1000, "--jobs", 200, "--policy", "easy", "--policy", "dbes", "--seeds", "1..2",
                     "--malleable", "0.5:min=1,max=4", "--out", path / "out", "--figures", path / "pictures", "--quiet")
    return path


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_each_picture_is_svg_pdf_and_csv(runs):
    files = {path.name for path in (runs / "pictures").iterdir()}
    names = {name.rpartition(".")[0] for name in files}
    assert NAMES <= names and {name for name in names - NAMES if not name.startswith("gantt-")} == set()
    assert files == {f"{name}.{kind}" for name in names for kind in ("svg", "pdf", "csv")}
    for name in names:
        root = xml.parse(runs / "pictures" / f"{name}.svg").getroot()
        assert root.get("width") == "238.11pt" and len(list(root.iter("{http://www.w3.org/2000/svg}text"))) > 2
        pdf = (runs / "pictures" / f"{name}.pdf").read_bytes()
        assert pdf.startswith(b"%PDF-") and b"CreationDate" not in pdf


def test_the_same_bytes_again_and_from_report(ductile, runs):
    ductile.output("report", runs / "out", "--figures", runs / "again")
    for path in (runs / "pictures").iterdir():
        assert path.read_bytes() == (runs / "again" / path.name).read_bytes(), path.name


def test_text_of_the_pdf(runs):
    if not shutil.which("pdftotext"):
        pytest.skip("there is no pdftotext: poppler-utils")
    done = subprocess.run(["pdftotext", runs / "pictures/utilization.pdf", "-"], text=True, capture_output=True, check=True)
    for text in ["easy", "dbes", "nodes in use (%)", "time ("]:
        assert text in done.stdout


def test_rows_beside_have_the_numbers(runs):
    pictures = runs / "pictures"
    [mean] = [row for row in rows_of(pictures / "figures.csv")
              if row["policy"] == "easy" and row["figure"] == "mean_wait_s"]
    waits = [float(row["waiting_time"]) for folder in sorted((runs / "out").glob("easy*"))
             for row in rows_of(folder / "jobs.csv") if row["waiting_time"]]
    assert mean["runs"] == "2" and float(mean["mean"]) == pytest.approx(sum(waits) / len(waits))
    longest = [float(row["wait_s"]) for row in rows_of(pictures / "cdf-wait.csv") if row["policy"] == "easy"][-1]
    assert longest == max(waits)


def test_font_and_width(ductile, runs):
    ductile.output("report", runs / "out", "--figures", runs / "large", "--width", "page", "--font-size", 10)
    text = (runs / "large/waiting.svg").read_text()
    assert 'width="493.23pt"' in text and 'font-size="10"' in text


def test_wrong_calls(ductile, runs, tmp_path):
    for arguments, words in [(["--width", "wide", "--figures", tmp_path / "x"], "is no width"),
                             (["--width", "5", "--figures", tmp_path / "x"], "is no width"),
                             (["--font-size", "0", "--figures", tmp_path / "x"], "--font-size"),
                             (["--width", "page"], "--figures")]:
        done = ductile.run("report", runs / "out", *arguments)
        assert done.returncode == 2 and words in done.stderr
    done = ductile.run("simulate", "--trace", RIGID_1000, "--figures", tmp_path / "x")
    assert done.returncode == 2 and "--out" in done.stderr
    assert not (tmp_path / "x").exists()
