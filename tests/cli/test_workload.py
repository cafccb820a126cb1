"""ductile workload generate and resample, as users call them."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree

import pytest

from conftest import ROOT

LOG = "examples/kth-sp2-first-5000.swf.xz"
MODELS = ["lublin", "lublin:types=one,nodes=256,load=0.7", "lublin:load=0.6,load_by=barr", "downey",
          "downey:table=002", "cirne_like", "poisson:size=lognormal:8:1,runtime=exponential:600"]
LOADS = {"lublin:types=one,nodes=256,load=0.7": 0.7, "lublin:load=0.6,load_by=barr": 0.6,
         "downey": 0.75, "downey:table=002": 0.75, "cirne_like": 2,
         "poisson:size=lognormal:8:1,runtime=exponential:600": 0.7}


def info(ductile, log, *arguments):
    return json.loads(ductile.output("workload", "info", log, "--json", *arguments))


def lines(log):
    """The fields of all jobs, as numbers."""
    return [[float(field) for field in line.split()]
            for line in log.read_text().splitlines() if not line.startswith(";")]


@pytest.mark.parametrize("model", MODELS)
def test_a_model_is_written_twice_the_same_and_has_its_load(ductile, tmp_path, model):
    first, second = tmp_path / "a.swf", tmp_path / "b.swf"
    for log in first, second:
        ductile.output("workload", "generate", f"{model},jobs=2000" if ":" in model
                       else f"{model}:jobs=2000", "--seed", 7, "--out", log)
    assert first.read_bytes() == second.read_bytes()
    facts = info(ductile, first)
    assert facts["jobs"] == 2000
    assert facts["skipped"] == 0
    if model in LOADS:
        assert facts["offered_load"] == pytest.approx(LOADS[model], rel=1e-4)
    text = ductile.output("workload", "generate", "--help")
    assert f"  {model.split(':')[0]}: " in text


def test_models_are_simulated_without_a_file(ductile, tmp_path):
    log = tmp_path / "x.swf"
    ductile.output("workload", "generate", "lublin:jobs=300,load=0.8", "--seed", 3, "--out", log)
    runs = [ductile.objects("simulate", *source, "--policy", "easy", "--seed", 3, "--json",
                            "--quiet", "--estimates", "f:3")[0]
            for source in (["--trace", log], ["--generate", "lublin:load=0.8", "--jobs", "300"])]
    for figure in ("jobs", "nodes", "makespan_s", "mean_wait_s", "mean_slowdown"):
        assert runs[0][figure] == runs[1][figure], figure


def test_moldable_jobs_of_downey_are_started_at_other_sizes(ductile):
    run = ductile.objects("simulate", "--generate", "downey:jobs=200,nodes=64,load=2,type=malleable",
                          "--policy", "equipartition", "--json", "--quiet")[0]
    assert run["jobs"] == 200
    assert run["expands"] + run["shrinks"] > 50


@pytest.mark.parametrize("call, error", [
    (["generate", "lublin:load=none"], "load: 'none' is not a number from 0.001 to 1000, or model"),
    (["generate", "poisson:size=big"], "size: 'big' has 'big' where a number from 1 to"),
    (["generate", "cirne_like:nodes=10"], "max_size: 128 is not between 1 and the machine's 10"),
    (["generate", "downey:table=002,type=malleable"], "type: the jobs of table=002 have no speedup"),
    (["generate", "downey"], "--out: SWF has no field for how jobs adapt"),
    (["resample", LOG, "--out", "x.txt"], "--out: what is written is plain SWF"),
    (["resample", LOG, "--load", "0", "--out", "x.swf"], "--load: needs a number above 0"),
    (["resample", LOG, "--load", "nan", "--out", "x.swf"], "--load: needs a number above 0"),
    (["resample", LOG, "--load", "1e-10", "--out", "x.swf"], "--load: 1e-10 is out of reach"),
    (["resample", LOG, "--weeks", "200000", "--out", "x.swf"], "--weeks: 200000 is more than 100000"),
    (["resample", LOG, "--long-term-weeks", "0", "--out", "x.swf"], "--long-term-weeks"),
    (["resample", LOG, "--partition", "77", "--out", "x.swf"], "has no job"),
    (["resample", "tests/data/none.swf", "--out", "x.swf"], "cannot be read"),
])
def test_what_is_wrong_is_said_and_nothing_is_written(ductile, tmp_path, call, error):
    call = [tmp_path / word if word.startswith("x.") else word for word in call]
    done = ductile.run("workload", *call)
    assert done.returncode == 2
    assert error in done.stderr
    assert done.stdout == ""
    assert not list(tmp_path.iterdir())


def test_logs_without_users_cannot_be_resampled(ductile, tmp_path):
    log = tmp_path / "poisson.swf"
    ductile.output("workload", "generate", "poisson:jobs=10", "--out", log)
    done = ductile.run("workload", "resample", log, "--out", tmp_path / "x.swf")
    assert done.returncode == 2
    assert "poisson: no job has a user (field 12); take a log that names them" in done.stderr
    assert not (tmp_path / "x.swf").exists()


def test_a_resampled_log_says_what_it_is(ductile, tmp_path):
    log, again = tmp_path / "a.swf", tmp_path / "b.swf"
    call = ["workload", "resample", LOG, "--weeks", 10, "--load", 0.9, "--long-term-weeks", 4,
            "--seed", 3, "--out"]
    text = ductile.output(*call, log)
    assert text.splitlines()[0].startswith("kth-sp2-first-5000: ")
    assert "long-term and" in text
    ductile.output(*call, again)
    assert log.read_bytes() == again.read_bytes()
    header = [line for line in log.read_text().splitlines() if line.startswith(";")]
    assert ("; Note: resampled from kth-sp2-first-5000 by users and weeks (Zakay and Feitelson 2013): "
            "ductile workload resample, seed 3, 10 weeks, load 0.9, long-term from 4 weeks on") in header
    assert "; MaxNodes: 100" in header
    facts = info(ductile, log)
    assert facts["span_s"] <= 10 * 7 * 86400
    assert facts["work_node_s"] == pytest.approx(0.9 * 100 * 10 * 7 * 86400, rel=0.01)
    assert facts["users"] == len({line[11] for line in lines(log)})


def test_hours_and_days_of_the_week_are_those_of_the_log(ductile, tmp_path):
    log, plain = tmp_path / "a.swf", tmp_path / "plain.swf"
    ductile.output("workload", "resample", LOG, "--weeks", 40, "--long-term-weeks", 4, "--out", log)
    ductile.output("workload", "transform", LOG, "--out", plain)

    def moments(file):
        """Second of the week, run time and size, and when the week of time 0 begins."""
        start = next(int(line.split()[2]) for line in file.read_text().splitlines()
                     if line.startswith("; UnixStartTime"))
        return {((start + line[1]) % (7 * 86400), line[3], line[4]) for line in lines(file)}

    assert moments(log) <= moments(plain)


def pictures(*arguments):
    return subprocess.run([sys.executable, "scripts/workload-pictures", *map(str, arguments)], cwd=ROOT,
                          check=True, text=True, capture_output=True,
                          env={**os.environ, "DUCTILE": os.environ.get("DUCTILE", "ductile")}).stdout


def test_moments_are_those_of_the_formulas():
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in pictures("--moments", "lublin", "downey", "cirne-like").splitlines()[2:]]
    assert [row[0] for row in rows[::2]] == [f"`{name}`, 50000 jobs"
                                             for name in ("lublin", "downey", "cirne-like")]
    for made, formula in zip(rows[::2], rows[1::2]):
        for one, other in zip(made[1:], formula[1:]):
            assert float(one) == pytest.approx(float(other), rel=0.03, abs=0.002), (made, formula)


def test_pictures_are_small_and_the_same_again(tmp_path):
    for folder in "a", "b":
        pictures("poisson", "--out", tmp_path / folder)
    picture = (tmp_path / "a" / "poisson.svg").read_text()
    assert picture == (tmp_path / "b" / "poisson.svg").read_text()
    assert len(picture) < 10_000
    assert len(list(xml.etree.ElementTree.fromstring(picture).iter())) > 20


@pytest.mark.parametrize("start", [-2**63, 2**63 - 1, -10**12 - 1])
def test_a_beginning_that_is_no_date_is_none(ductile, tmp_path, start):
    log, out = tmp_path / "log.swf", tmp_path / "x.swf"
    log.write_text(f"; MaxProcs: 4\n; UnixStartTime: {start}\n"
                   + "".join(f"{i} {i * 700000} 0 60 4 -1 -1 4 60 -1 1 1 1 -1 -1 -1 -1 -1\n"
                             for i in range(1, 9)))
    ductile.output("workload", "resample", log, "--weeks", 9, "--out", out)
    assert "UnixStartTime" not in out.read_text()
    for command in (["workload", "info", log, "--from", "2000-01-01"],
                    ["simulate", "--trace", log, "--until", "2000-01-01"],
                    ["simulate", "--trace", log, "--measure-from", "2000-01-01"]):
        done = ductile.run(*command)
        assert done.returncode == 2
        assert "UnixStartTime" in done.stderr


@pytest.mark.parametrize("options, why", [
    (["--user", 999], "has no job: 3 lines that were not asked for; look at --user\n"),
    (["--from", 99999, "--min-size", 2],
     "has no job: 3 lines that were not asked for; look at --min-size, --from\n"),
    (["--user", 1, "--max-size", 1], "has no job: 1 lines that were not asked for, 2 lines skipped: "
     "2 larger than --max-size; look at --user, --max-size\n"),
    (["--skip", 7], "has no job; look at --skip\n")])
def test_a_selection_without_a_job_says_what_was_left_out(ductile, tmp_path, options, why):
    log, out = tmp_path / "log.swf", tmp_path / "none.swf"
    log.write_text("; MaxProcs: 4\n"
                   + "".join(f"{i} {i} 0 60 4 -1 -1 4 60 -1 1 {1 + i // 3} 1 -1 -1 -1 -1 -1\n"
                             for i in range(1, 4)))
    for call in (["simulate", "--trace", log], ["workload", "transform", log, "--out", out],
                 ["workload", "resample", log, "--out", out]):
        done = ductile.run(*call, *options)
        assert done.returncode == 2
        assert done.stderr.endswith(f"log.swf: {why}"), done.stderr
        assert not out.exists()


def test_a_load_that_is_too_low_is_said_so(ductile, tmp_path):
    log, out = tmp_path / "log.swf", tmp_path / "x.swf"
    log.write_text("; MaxProcs: 4\n" + "".join(
        f"{i} {i * 1000} 0 1000000000 4 -1 -1 4 -1 -1 1 1 1 -1 -1 -1 -1 -1\n" for i in range(1, 9)))
    done = ductile.run("workload", "transform", log, "--load", "1e-6", "--out", out)
    assert done.returncode == 2
    assert "--load: 1e-06 is too low" in done.stderr and "use a larger one" in done.stderr
    assert not out.exists()
