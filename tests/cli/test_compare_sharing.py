"""scripts/compare-sharing: policies that share nodes beside one that does not."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PIECE = """
malleable = "1"
nodes = 48
cores-per-node = 8
sockets-per-node = 2
jobs = 300
adaptive = "none"

[[variant]]
name = "RICC #1"
trace = "{log}"

[[variant]]
name = "RICC #2"
skip = 600
trace = "{log}"
"""


def compare(ductile, folder, *words):
    file = folder / "pieces.toml"
    file.write_text(PIECE.format(log=ROOT / "tests/data/paper_004/ricc_node/log.swf.xz"))
    return subprocess.run([sys.executable, "-B", ROOT / "scripts/compare-sharing", file, *words], text=True, check=True,
                          stdout=subprocess.PIPE, env={**os.environ, "DUCTILE": str(ductile.program)}).stdout


def test_a_policy_is_the_base_where_nobody_shares(ductile, tmp_path):
    lines = compare(ductile, tmp_path, "--policy", "sd:max_slowdown=0.5", "--pieces").splitlines()
    assert lines[2] == ("| `sd:max_slowdown=0.5` | 1.000 (1.000 to 1.000) | 1.00 | 1.000 (1.000 to 1.000) | 1.00 |"
                        " 1.000 (1.000 to 1.000) | 1.00 | 0.0 % |")
    assert lines[-1] == "| RICC #2 | 1.000 | 1.000 | 1.000 | 0.0 % | 0 |"


def test_options_of_simulate_stand_behind_two_dashes(ductile, tmp_path):
    without = compare(ductile, tmp_path, "--policy", "sd", "--figures")
    with_contention = compare(ductile, tmp_path, "--policy", "sd", "--figures", "--", "--contention", "0.5")
    assert without.splitlines()[2] == with_contention.splitlines()[2]  # easy
    assert without.splitlines()[3] != with_contention.splitlines()[3]


def test_pieces_are_left_out_by_their_names(ductile, tmp_path):
    lines = compare(ductile, tmp_path, "--policy", "sd", "--without", "#1", "--pieces").splitlines()
    assert lines[0].startswith("| over `easy`, 1 pieces |")
    assert [line.split("|")[1].strip() for line in lines[6:]] == ["RICC #2"]
