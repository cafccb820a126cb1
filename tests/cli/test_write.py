"""Files that commands are told to write: whole or not at all, and where the name leads."""

import os
import subprocess

import pytest

from conftest import RIGID_1000, ROOT
from test_convert import GOLDEN

LOGS = {
    "transform": ["workload", "transform", RIGID_1000, "--out"],
    "resample": ["workload", "resample", "examples/kth-sp2-first-5000.swf.xz", "--out"],
    "generate": ["workload", "generate", "esp:malleable=FGHIKL", "--out"],
    "convert": ["workload", "convert", "examples/elastisim/configuration.json", "--from",
                "elastisim", "--unsupported", "skip", "--out"],
}


@pytest.mark.parametrize("command", LOGS)
def test_a_log_and_what_is_beside_it_are_written_together(ductile, tmp_path, command):
    (tmp_path / "x.swf").write_text("older\n")
    (tmp_path / "x.adaptive").mkdir()
    done = ductile.run(*LOGS[command], tmp_path / "x.swf")
    assert done.returncode == 2, done.stderr
    assert "x.adaptive: cannot be written: Is a directory; give another file to --out" in done.stderr
    assert (tmp_path / "x.swf").read_text() == "older\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.adaptive", "x.swf"]
    (tmp_path / "x.adaptive").rmdir()
    ductile.output(*LOGS[command], tmp_path / "x.swf")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.adaptive", "x.swf"]
    assert (tmp_path / "x.swf").read_text() != "older\n"


def test_what_is_rigid_is_not_written_beside_an_older_file(ductile, tmp_path):
    (tmp_path / "x.adaptive").write_text("ductile-adaptive 1\ncores_per_node 1\n")
    done = ductile.run("workload", "generate", "rigid:jobs=5", "--out", tmp_path / "x.swf")
    assert done.returncode == 2 and "x.adaptive: would be read with" in done.stderr
    assert not (tmp_path / "x.swf").exists()


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("is_absolute", [True, False])
def test_a_link_stays_and_its_file_is_written(ductile, tmp_path, is_there, is_absolute):
    (tmp_path / "there").mkdir()
    target = tmp_path / "there/real.swf"
    if is_there:
        target.write_text("older\n")
    link = tmp_path / "link.swf"
    link.symlink_to(target if is_absolute else "there/real.swf")
    ductile.output("workload", "generate", "rigid:jobs=5", "--out", link)
    assert link.is_symlink() and target.read_text().startswith("; Version: 2.2\n")
    assert [path.name for path in target.parent.iterdir()] == ["real.swf"]


def test_links_in_a_circle_are_told(ductile, tmp_path):
    (tmp_path / "a.swf").symlink_to("b.swf")
    (tmp_path / "b.swf").symlink_to("a.swf")
    done = ductile.run("workload", "generate", "rigid:jobs=5", "--out", tmp_path / "a.swf")
    assert done.returncode == 2 and "a.swf: cannot be written: Too many levels" in done.stderr
    assert (tmp_path / "a.swf").is_symlink()


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "-"])
def test_the_standard_output_stays_what_it_is(ductile, tmp_path, name):
    with (tmp_path / "out").open("w") as file:
        call = [ductile.program, "workload", "convert", GOLDEN / "convert.sacct", "--to", "batsim",
                "--nodes", "10", "--cores-per-node", "48", "--out", name]
        subprocess.run(call, cwd=ROOT, stdout=file, stderr=subprocess.DEVNULL, check=True)
    assert (tmp_path / "out").read_text() == (GOLDEN / "convert.json").read_text()
    assert os.listdir(tmp_path) == ["out"]


def test_an_open_pipe_gets_what_is_written(ductile):
    end, begin = os.pipe()
    ductile.output("workload", "generate", "rigid:jobs=5", "--out", f"/dev/fd/{begin}",
                   pass_fds=[begin])
    os.close(begin)
    with os.fdopen(end) as pipe:
        assert pipe.read().startswith("; Version: 2.2\n")


def test_errors_name_the_option(ductile, tmp_path):
    done = ductile.run("workload", "info", RIGID_1000, "--html", tmp_path / "nowhere/x.html")
    assert done.returncode == 2
    assert "x.html: cannot be written: No such file" in done.stderr
    assert "give another file to --html" in done.stderr
