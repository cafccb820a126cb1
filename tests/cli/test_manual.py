"""The manual pages, as scripts/manual makes them."""

import re
import shutil
import subprocess
import sys

from conftest import ROOT


def test_every_command_and_function_has_a_page(ductile, tmp_path):
    subprocess.run([sys.executable, "-B", ROOT / "scripts/manual", ductile.program, "0.0.0", tmp_path],
                   check=True)
    commands = re.findall(r"^  ([\w-]+) ", ductile.output("--help").split("Subcommands:")[1], re.M)
    assert "run" in commands and "resize" in commands
    pages = {path.name for path in (tmp_path / "man1").iterdir()}
    assert pages == {"ductile.1"} | {f"ductile-{command}.1" for command in commands}
    # An option of the help, and a sentence of the page in docs/commands.
    text = (tmp_path / "man1/ductile-run.1").read_text()
    assert "cores\\-per\\-process" in text and "leaves nothing behind" in text

    header = (ROOT / "include/ductile/app.h").read_text()
    functions = set(re.findall(r"^[\w ]+?\*?(ductile_\w+)\(", header, re.M)) - {"ductile_init_checked"}
    pages = {path.stem for path in (tmp_path / "man3").iterdir()}
    assert functions | {"ductile-app", "ductile_init"} == pages

    if shutil.which("groff") is not None:
        for path in tmp_path.glob("man*/*"):
            done = subprocess.run(["groff", "-ww", "-z", "-man", "-Tutf8", path], cwd=tmp_path,
                                  capture_output=True, text=True)
            assert (done.returncode, done.stderr) == (0, ""), path
