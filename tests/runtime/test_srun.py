"""`ductile run --launcher srun` inside an allocation of a Slurm that the test starts: one node, which is this
machine. Skipped where Slurm is not installed (scripts/setup --dev does that)."""

import getpass
import os
import shutil
import socket
import subprocess
import time

import pytest

from conftest import PROGRAM, check, example, mpiexec

CONFIGURATION = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={node_port} CPUs=16
PartitionName=main Nodes=ALL Default=YES State=UP
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """The environment of those who use it."""
    path = os.environ["PATH"] + ":/usr/sbin"
    daemons = {name: shutil.which(name, path=path) for name in ("munged", "slurmctld", "slurmd", "salloc")}
    missing = [name for name, found in daemons.items() if found is None]
    if missing:
        pytest.skip(f"Slurm is not installed: there is no {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("slurm")
    for part in (folder, folder.parent, folder.parent.parent):
        part.chmod(0o755)  # munge does not trust folders that others may not enter
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "key").write_bytes(os.urandom(1024))
    (folder / "key").chmod(0o600)
    configuration = folder / "slurm.conf"
    configuration.write_text(CONFIGURATION.format(
        host=socket.gethostname(), user=getpass.getuser(), folder=folder, port=free_port(),
        node_port=free_port()))
    environment = dict(os.environ, SLURM_CONF=str(configuration))
    started = []

    def start(*words):
        started.append(subprocess.Popen([str(word) for word in words], env=environment,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    try:
        start(daemons["munged"], "--foreground", "--force", f"--key-file={folder}/key",
              f"--socket={folder}/munge.sock", f"--pid-file={folder}/munged.pid",
              f"--log-file={folder}/munged.log", f"--seed-file={folder}/seed")
        end = time.monotonic() + 60
        while not (folder / "munge.sock").exists():
            assert started[0].poll() is None and time.monotonic() < end, (folder / "munged.log").read_text()
            time.sleep(0.02)
        start(daemons["slurmctld"], "-D", "-c")
        start(daemons["slurmd"], "-D", "-N", "n1")
        while "1" not in subprocess.run(["sinfo", "-h", "-t", "idle", "-o", "%D"], env=environment,
                                        capture_output=True, text=True).stdout:
            assert time.monotonic() < end, (folder / "slurmctld.log").read_text()
            time.sleep(0.1)
        yield environment
    finally:
        # One after the other: a step's end has to be told to the controller.
        for process in reversed(started):
            process.terminate()
            process.wait(60)


def inside_an_allocation(slurm, *words):
    """`ductile run` with these words, among 4 processors of the node."""
    done = subprocess.run(["salloc", "-N1", "-n4", PROGRAM, "run", "-n", "2", "--launcher", "srun",
                           *map(str, words)], env=slurm, capture_output=True, text=True, timeout=120)
    check(done.stderr)
    assert done.returncode == 0, done.stderr
    return done


def test_resized_inside_an_allocation(mpi, slurm):
    program = example("jacobi", mpi)
    done = inside_an_allocation(slurm, "--max", 4, "--script", "t=0.5:3,t=0.5:1", "--no-compare", "--",
                                program, 40, 40, 150, 20)
    assert done.stdout == mpiexec(mpi, 2, program, 40, 40, 150)
    assert "2 resizes, 0 given up" in done.stderr


def test_processes_keep_to_their_cores(mpi, slurm):
    done = inside_an_allocation(slurm, "--kind", "rigid", "-c", 1, "--", example("threads", mpi))
    cores = sorted(os.sched_getaffinity(0))
    # Host, rank, thread, processors.
    assert sorted(line.split()[1:] for line in done.stdout.splitlines()) == [
        [str(rank), "0", str(cores[rank % len(cores)])] for rank in range(2)]
