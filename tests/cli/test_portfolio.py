"""A portfolio: who rules changes, which figures, tables, the report and `explain` tell; its log is replayed, and the
same seed gives the same bytes."""

import csv
import json

import pytest

from conftest import RIGID_1000, files_of, page_data

MEASURED = {"load_seconds", "simulate_seconds", "look_ahead_seconds", "peak_rss_bytes"}
POLICY = "portfolio:of=easy|easy+sjf|conservative,goal=slowdown,horizon=3600"


def without_measured(figures):
    return {key: value for key, value in figures.items() if key not in MEASURED}


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A run with its files and its log."""
    from conftest import Ductile
    folder = tmp_path_factory.mktemp("portfolio")
    [figures] = Ductile().objects("simulate", "--trace", RIGID_1000, "--nodes", 100, "--clip", "--policy", POLICY,
                                  "--out", folder / "out", "--record", folder / "run.log", "--json", "--quiet")
    return folder, figures


def rows_of(folder):
    with (folder / "out/choices.csv").open() as file:
        return list(csv.DictReader(file))


def test_figures_tell_who_ruled(ran):
    _, figures = ran
    assert figures["policy"] == POLICY
    assert figures["choices"] > figures["policy_changes"] > 0
    assert figures["look_ahead_passes"] > figures["choices"]
    assert figures["look_ahead_seconds"] <= figures["simulate_seconds"]
    shares = {its["policy"]: its["share"] for its in figures["ruled"]}
    assert list(shares) == ["easy", "easy:order=sjf", "conservative"]
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["easy:order=sjf"] > 0


def test_other_policies_choose_nothing(ductile, tmp_path):
    for policy in ("easy", "portfolio:of=easy"):
        [figures] = ductile.objects("simulate", "--trace", RIGID_1000, "--policy", policy, "--json", "--quiet",
                                    "--out", tmp_path, "--force")
        assert (figures["choices"], figures["policy_changes"], figures["look_ahead_passes"]) == (0, 0, 0)
        assert figures["ruled"] == ([] if policy == "easy" else [{"policy": "easy", "share": 1}])
        assert not (tmp_path / "choices.csv").exists()


def test_choices_are_a_table(ran):
    folder, figures = ran
    rows = rows_of(folder)
    assert len(rows) == 3 * figures["choices"]
    assert rows[0]["occasion"] == "first" and rows[0]["goal"] == "slowdown"
    changes = 0
    for i in range(0, len(rows), 3):
        members = rows[i:i + 3]
        assert [row["member"] for row in members] == ["easy", "easy:order=sjf", "conservative"]
        [ruled] = [row for row in members if row["ruled"] == "1"]
        [rules] = [row for row in members if row["rules"] == "1"]
        best = min(float(row["score"]) for row in members)
        if rules is ruled:
            assert best >= 0.98 * float(ruled["score"])
        else:
            changes += 1
            assert float(rules["score"]) == best < 0.98 * float(ruled["score"])
        assert all(row["score"] == row["slowdown"] for row in members)
        if i + 3 < len(rows):
            assert [row["ruled"] for row in rows[i + 3:i + 6]] == [row["rules"] for row in members]
    assert changes == figures["policy_changes"]
    assert sum(int(row["passes"]) for row in rows[::3]) == figures["look_ahead_passes"]


def test_the_report_shows_who_ruled(ran):
    data = page_data(ran[0] / "out/report.html")
    assert "choices.csv" in data["runs"][0]["files"]
    [drawn] = data["drawn"]
    # The first one, and those that changed who rules.
    assert len(drawn["choices"]) == ran[1]["policy_changes"] + 1
    assert "easy:order=sjf" in {choice["rules"] for choice in drawn["choices"]}


def test_a_log_is_replayed_and_told_again(ductile, ran):
    folder, figures = ran
    printed = ductile.output("replay", folder / "run.log", "--out", folder / "retold")
    assert f"decisions of {POLICY} are the same" in printed
    assert (folder / "retold/choices.csv").read_bytes() == (folder / "out/choices.csv").read_bytes()
    tells = json.loads((folder / "retold/summary.json").read_text())
    for key in ("choices", "policy_changes", "look_ahead_passes", "ruled", "mean_wait_s"):
        assert tells[key] == figures[key], key


def test_explain_tells_who_ruled_and_why(ductile, ran):
    folder, _ = ran
    with (folder / "out/jobs.csv").open() as file:
        waited = [row["job_id"] for row in csv.DictReader(file) if float(row["waiting_time"]) > 7200]
    [told] = ductile.objects("explain", "--log", folder / "run.log", waited[0], "--json")
    texts = [line["text"] for line in told["history"] if line["what"] == "policy"]
    assert texts
    for text in texts:
        assert "looking ahead, the mean bounded slowdown of " in text
        assert " with easy, " in text and " with conservative" in text


def test_the_same_seed_gives_the_same_bytes_whatever_the_threads(ductile, tmp_path):
    def run(threads):
        folder = tmp_path / str(threads)
        lines = ductile.objects("simulate", "--generate", "rigid:jobs=300", "--malleable", 1, "--seeds", "1..3",
                                "--policy", "portfolio:of=elastic|mebf|easy+sjf,every=600", "--policy", "elastic",
                                "--threads", threads, "--out", folder, "--json", "--quiet")
        files = {name: text for name, text in files_of(folder).items() if not name.endswith("summary.json")}
        return [without_measured(line) for line in lines], files

    once, thrice = run(1), run(3)
    assert once == thrice
    assert any(line["choices"] > 0 for line in once[0])


@pytest.mark.parametrize("policy,error", [
    ("portfolio:of=easy|nothing", "there is no policy 'nothing'"),
    ("portfolio:of=easy+depth=3", "policy easy: there is no parameter 'depth'"),
    ("portfolio:of=easy|portfolio", "a portfolio has no portfolio in it"),
])
def test_errors_of_members(ductile, policy, error):
    done = ductile.run("simulate", "--trace", RIGID_1000, "--policy", policy)
    assert done.returncode == 2
    assert error in done.stderr
