"""scripts/slurm-cluster: a Slurm comes up, does what a cluster does, and leaves nothing."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest

from slurm import PATIENCE, SCRIPT, descendants, is_alive, name_of, running, wait_for


def test_runs_jobs(bare):
    job = bare.submit("-N4", "-o", "hosts", script="#!/bin/sh\nsrun printenv SLURMD_NODENAME | sort\n")
    bare.wait_for_state(job, "COMPLETED")
    assert (bare.out / "hosts").read_text().split() == ["n1", "n2", "n3", "n4"]
    job = bare.submit("-p", "plain", "-o", "host", script="#!/bin/sh\nsrun printenv SLURMD_NODENAME\n")
    bare.wait_for_state(job, "COMPLETED")
    assert (bare.out / "host").read_text() == "p1\n"


def test_a_killed_node_takes_its_processes_along(bare):
    job = bare.submit("-N2", "-w", "n2,n3", "-o", "pids",
                      script="#!/bin/sh\nsrun sh -c 'echo $SLURMD_NODENAME $$; exec sleep 1000'\n")
    wait_for(lambda: (bare.out / "pids").exists() and len((bare.out / "pids").read_text().split()) == 4, "its tasks")
    pids = dict(line.split() for line in (bare.out / "pids").read_text().splitlines())
    bare.tell("kill", "n3")
    assert not is_alive(pids["n3"])
    assert is_alive(pids["n2"])
    bare.tell("start", "n3")
    bare.call("scancel", job)
    wait_for(lambda: set(bare.states_of_nodes().values()) == {"idle"}, "idle nodes")


def test_jobs_outlive_a_restart(bare):
    job = bare.submit("-N2", "-o", "/dev/null")
    bare.wait_for_state(job, "RUNNING")
    nodes = bare.nodes_of(job)
    bare.tell("restart", "slurmctld")
    assert bare.state(job) == "RUNNING" and bare.nodes_of(job) == nodes
    assert bare.submit("-N1", "-H") == job + 1
    bare.cancel_all()


def shrinks(slurm):
    """How often a job of 6 nodes can be made smaller, by one node each."""
    job = slurm.submit("-N6", "-o", "/dev/null")
    slurm.wait_for_state(job, "RUNNING")
    sizes = []
    for size in range(5, 1, -1):
        done = slurm.update(job, f"NumNodes={size}", is_checked=False)
        sizes.append(len(slurm.nodes_of(job)))
        if done.returncode != 0:
            sizes.append(done.stderr)
            break
    slurm.cancel_all()
    return sizes


def test_without_accounting_a_job_is_resized_once(bare):
    first, second, why = shrinks(bare)
    assert (first, second) == (5, 5)
    assert "the DB index is being set" in why


def test_with_accounting_jobs_are_resized_again_and_again(accounted):
    assert shrinks(accounted) == [5, 4, 3, 2]


def test_with_accounting_jobs_are_accounted_for(accounted):
    job = accounted.submit("-N1", "-o", "/dev/null", script="#!/bin/sh\nexit 3\n", user="nobody")

    def record():
        return accounted.call("sacct", "-n", "-P", "-X", "-j", job, "-o", "State,ExitCode").stdout

    wait_for(lambda: "FAILED|3:0" in record(), "its record")
    accounted.tell("restart", "slurmdbd")
    assert "FAILED|3:0" in record()


def up(folder, *options, **more):
    return subprocess.run([SCRIPT, "up", folder, *options], capture_output=True, text=True, timeout=PATIENCE, **more)


def with_a_job(folder):
    """Starts a cluster in the background, and a job there. Its processes."""
    done = up(folder, "--nodes", "2", "--plain", "0")
    if "missing packages" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    environment = dict(os.environ, SLURM_CONF=str(folder / "slurm.conf"))
    assert subprocess.run([SCRIPT, "env", folder], capture_output=True, text=True).stdout.splitlines()[0] == (
        f"export SLURM_CONF={folder}/slurm.conf")
    subprocess.run(["sbatch", "-N2", "-o", "/dev/null"], input="#!/bin/sh\nsetsid sleep 1000 & srun sleep 1000\n",
                   text=True, env=environment, check=True, capture_output=True)
    guard = int((folder / "guard.pid").read_text())

    def sleepers():
        return [pid for pid in descendants(guard) if "sleep" in name_of(pid)]

    wait_for(lambda: len(sleepers()) == 3, "its three processes")
    return {guard, *descendants(guard)}


@pytest.fixture
def folder():
    above = pathlib.Path(tempfile.mkdtemp(prefix="ductile-slurm-"))
    above.chmod(0o755)
    yield above / "c"
    if (above / "c").exists():
        subprocess.run([SCRIPT, "down", above / "c"], timeout=PATIENCE)
    shutil.rmtree(above)


def test_nothing_is_left_when_it_is_taken_down(folder):
    processes = with_a_job(folder)
    assert len(processes) > 8  # two that look after it, munge, the controller's two, two nodes, the job's
    subprocess.run([SCRIPT, "down", folder], check=True, timeout=PATIENCE)
    assert [pid for pid in processes if is_alive(pid)] == []
    assert not folder.exists()


@pytest.mark.parametrize("who", ["folder", "guard", "worker"])
def test_nothing_is_left_when_it_is_lost(folder, who):
    processes = with_a_job(folder)
    guard = int((folder / "guard.pid").read_text())
    worker = next(pid for pid in processes if int(pathlib.Path(f"/proc/{pid}/stat").read_text().split()[3]) == guard)
    if who == "folder":
        shutil.rmtree(folder)
    else:
        os.kill(guard if who == "guard" else worker, signal.SIGKILL)
    wait_for(lambda: not [pid for pid in processes if is_alive(pid)], "the end of all processes")


def test_it_ends_with_who_started_it():
    with running("--nodes", "1", "--plain", "0") as slurm:
        processes = {slurm.process.pid, *descendants(slurm.process.pid)}
        slurm.process.stdin.close()
        assert slurm.process.wait(PATIENCE) == 0
        assert [pid for pid in processes if is_alive(pid)] == []
        assert not slurm.folder.exists()


def test_as_an_ordinary_user(folder):
    if os.geteuid() != 0:
        pytest.skip("all other tests are of an ordinary user")
    os.chown(folder.parent, 65534, 65534)
    script = folder.parent / "slurm-cluster"  # a checkout need not be open to others
    shutil.copy(SCRIPT, script)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", f"HOME={folder.parent}"]
    done = subprocess.run([*nobody, script, "up", folder, "--nodes", "2"], capture_output=True, text=True,
                          timeout=PATIENCE)
    if "missing packages" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    environment = dict(os.environ, SLURM_CONF=str(folder / "slurm.conf"))
    out = folder.parent / "who"
    subprocess.run([*nobody, "sbatch", "-o", out], input="#!/bin/sh\nsrun -N1 id -u\n", cwd="/",
                   text=True, env=environment, check=True, capture_output=True)
    wait_for(lambda: out.exists() and out.read_text(), "its output")
    assert out.read_text() == "65534\n"
    subprocess.run([*nobody, script, "down", folder], check=True, timeout=PATIENCE)


def test_bad_calls_are_refused(folder):
    folder.mkdir()
    (folder / "file").touch()
    done = up(folder)
    assert done.returncode == 2 and "not empty" in done.stderr
    done = up(folder.parent / ("x" * 90))
    assert done.returncode == 2 and "too long" in done.stderr
    done = up(folder.parent / "d", "--lua", "nothing.lua")
    assert done.returncode == 2 and "there is no such file" in done.stderr
    assert up(folder.parent / "d", "--nodes", "0").returncode == 2
    done = subprocess.run([SCRIPT, "kill", folder, "n1"], capture_output=True, text=True)
    assert done.returncode == 2 and "there is no cluster" in done.stderr
    assert not (folder.parent / "d").exists()
    (folder / "file").unlink()


def test_missing_packages_are_named(folder):
    # A PATH with nothing in it, for a script that looks into /usr/sbin, too.
    lines = SCRIPT.read_text().replace(":/usr/sbin:/sbin", "")
    script = folder.parent / "slurm-cluster"
    script.write_text(lines)
    done = subprocess.run(["/usr/bin/python3", script, "up", folder, "--accounting"], capture_output=True, text=True,
                          env={"PATH": str(folder.parent)})
    assert done.returncode == 1
    assert "missing packages: mariadb-server munge slurm-client slurmctld slurmd slurmdbd" in done.stderr
    assert "scripts/setup --slurm" in done.stderr and not folder.exists()
