"""scripts/setup before a system of packages that the test makes: nothing is installed."""

import os
import pathlib
import subprocess

import pytest

SETUP = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "setup"

# What is asked of dpkg-query last is the package.
COMMANDS = {
    "id": "echo 0",
    "sleep": "exit 0",
    "dpkg-query": 'grep -qx "${@: -1}" installed && echo installed',
    "apt-get": """
echo "apt-get $*" >> log
case "$*" in
  *" install "*slurmd*) printf 'munge\\n' >> installed; grep -q '^fail$' orders && exit 100 ;;
esac
exit 0""",
    "invoke-rc.d": 'echo "invoke-rc.d $*" >> log',
    "update-rc.d": 'echo "update-rc.d $*" >> log',
}


def run_setup(folder, orders="", installed="", option="--dev"):
    """What it said, and the commands that it gave."""
    for name, text in COMMANDS.items():
        (folder / name).write_text(f"#!/bin/bash\ncd '{folder}'\n{text}\n")
        (folder / name).chmod(0o755)
    (folder / "orders").write_text(orders)
    (folder / "installed").write_text(installed)
    (folder / "log").write_text("")
    done = subprocess.run([SETUP, option], capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}"))
    return done, (folder / "log").read_text().splitlines()


pytestmark = pytest.mark.skipif(os.path.exists("/etc/slurm/slurm.conf"),
                                reason="Slurm is configured here, and so setup lets it alone")


def test_daemons_that_were_not_here_do_not_run(tmp_path):
    done, log = run_setup(tmp_path)
    assert done.returncode == 0, done.stderr
    installs = [line for line in log if " install " in line]
    assert len(installs) == 2 and "slurmctld" not in installs[0] and "--no-remove" in installs[1]
    for daemon in ("munge", "slurmctld", "slurmd", "slurmdbd", "mariadb"):
        assert log.index(f"invoke-rc.d --quiet {daemon} stop") > log.index(installs[1])
        assert f"update-rc.d {daemon} disable" in log


def test_daemons_that_were_here_run_on(tmp_path):
    done, log = run_setup(tmp_path, installed="munge\nmariadb-server\n")
    assert done.returncode == 0
    assert not any("rc.d" in line and ("munge" in line or "mariadb" in line) for line in log)
    assert "invoke-rc.d --quiet slurmd stop" in log


def test_without_slurm_all_else_is_done(tmp_path):
    done, log = run_setup(tmp_path, orders="fail\n")
    assert done.returncode == 0 and "warning: Slurm is not installed" in done.stderr
    assert done.stdout.endswith("setup: done\n")
    # Not half, either, and what it started before it failed is stopped.
    assert " remove " in [line for line in log if line.startswith("apt-get")][-1]
    assert "invoke-rc.d --quiet munge stop" in log


def test_slurm_without_what_developers_need(tmp_path):
    done, log = run_setup(tmp_path, option="--slurm")
    assert done.returncode == 0
    first, second = [line for line in log if " install " in line]
    assert "libslurm-dev" in first and "clang" not in first
    assert "slurm-wlm-mysql-plugin" in second
