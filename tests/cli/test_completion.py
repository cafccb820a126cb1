"""ductile completion: shells know every command and its options."""

import shutil
import subprocess

import pytest


def complete(script, line):
    """What bash offers for the last word of `line`."""
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    run = subprocess.run(
        ["bash", "-c", f"{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _ductile; "
                       'printf "%s\\n" "${COMPREPLY[@]}"'],
        capture_output=True, text=True, check=True)
    return run.stdout.split()


def test_bash_completes_commands_options_and_policies(ductile):
    script = ductile.output("completion", "bash")
    assert complete(script, "ductile si") == ["simulate"]
    assert "queue" in complete(script, "ductile ")
    assert complete(script, "ductile simulate --arrival-s") == ["--arrival-scale"]
    assert complete(script, "ductile workload i") == ["info"]
    assert "--trace" in complete(script, "ductile simulate --nodes 4 --tr")
    assert complete(script, "ductile simulate --policy dbe") == ["dbes"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_take_it(ductile, shell, tmp_path):
    script = ductile.output("completion", shell)
    assert "simulate" in script
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    path = tmp_path / "completion"
    path.write_text(script)
    assert subprocess.run([shell, "-n", path]).returncode == 0


def test_every_command_is_known(ductile):
    script = ductile.output("completion", "bash")
    listed = ductile.output("--help").split("Subcommands:")[1].split()
    for word in complete(script, "ductile "):
        assert word.startswith("-") or word in listed


def test_another_shell_is_an_error(ductile):
    done = ductile.run("completion", "csh")
    assert done.returncode == 2 and "SHELL" in done.stderr
