"""What a job takes and gives back: memory, descriptors, processes, files."""

import os
import pathlib
import random
import re
import threading
import time

from conftest import left_in_shared_memory, processes_with


def peak_memory(mark):
    """pid -> the most that each process of the program has held so far, in bytes."""
    peaks = {}
    for pid in processes_with(mark):
        try:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        peak = re.search(r"VmHWM:\s+(\d+) kB", status)
        if status.startswith("Name:\tuntil") and peak:
            peaks[pid] = int(peak[1]) * 1024
    return peaks


def test_no_process_holds_more_than_its_block(mpi, start, tmp_path):
    total = 400_000_000
    job = start(mpi, 2, "until", tmp_path / "stop", total // 8)
    job.wait_until_connected()
    peaks, is_done = {}, threading.Event()

    def watch():
        while not is_done.is_set():
            peaks.update(peak_memory(job.mark))
            time.sleep(0.01)

    watcher = threading.Thread(target=watch)
    watcher.start()
    seen = {}
    for size in (4, 2):
        peaks.update(peak_memory(job.mark))
        before = set(peaks)
        assert job.resize(size).returncode == 0
        peaks.update(peak_memory(job.mark))
        seen[size] = [peak for pid, peak in peaks.items() if pid not in before]
    is_done.set()
    watcher.join()
    for size, new in seen.items():
        assert len(new) == size
        assert max(new) < total / size + 64_000_000
    # The old ones too, while they handed over.
    assert max(peaks.values()) < total / 2 + 64_000_000
    (tmp_path / "stop").touch()
    assert job.finish()[:2] == (0, "right\n")


def test_many_resizes_leave_nothing(mpi, start, tmp_path, monkeypatch):
    """Ten of them; 200 with DUCTILE_FULL=1."""
    sizes = random.Random(mpi)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    begin = time.time()
    job = start(mpi, 2, "until", tmp_path / "stop", 1000, options=["--max", 6])
    job.wait_until_connected()

    def held():
        """Descriptors of the manager, processes of the job, files of launchers."""
        return (len(os.listdir(f"/proc/{job.process.pid}/fd")), len(processes_with(job.mark)),
                len(list(temporary.rglob("*"))))

    assert job.resize(3).returncode == 0
    assert job.resize(2).returncode == 0
    before = held()
    size = 2
    for _ in range(198 if os.environ.get("DUCTILE_FULL", "0") != "0" else 7):
        size = sizes.choice([other for other in range(1, 7) if other != size])
        assert job.resize(size).returncode == 0
    if size != 2:
        assert job.resize(2).returncode == 0
    # A leak would be one for each resize; a client may just be leaving.
    descriptors, processes, files = held()
    assert descriptors <= before[0] + 2 and processes == before[1] and files == before[2]
    (tmp_path / "stop").touch()
    assert job.finish()[:2] == (0, "right\n")
    assert left_in_shared_memory(begin) == set()
    assert [path for path in temporary.rglob("*") if not path.is_dir()] == []
