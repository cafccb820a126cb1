"""What a job has of the call that submitted it, and where its script is found."""

import os
import shutil
import subprocess

import pytest

from conftest import PATIENCE, PROGRAM
from test_hostile import AS_ROOT

BYTES = b"caf\xe9 \xff\xfe"  # no UTF-8


def end_of(c, job, state="COMPLETED"):
    end = c.wait_for_end(job)[0]
    assert end["state"] == state, end
    return end


def test_umask_and_limits_are_those_of_the_call(cluster):
    c = cluster("1x1")
    script = c.script("umask\nulimit -Sn\nulimit -Hn\nulimit -Sc\nulimit -f\nulimit -l\ntouch made\n")
    done = subprocess.run(["prlimit", "--nofile=100:200", "--core=0:", "--fsize=51200000", "--memlock=40960", "sh", "-c",
                           f"umask 027 && exec {PROGRAM} submit --wait -o out {script}"], env=c.environment,
                          cwd=c.folder, timeout=PATIENCE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (c.folder / "out").read_text().split() == ["0027", "100", "200", "0", "100000", "40"]
    assert (c.folder / "out").stat().st_mode & 0o777 == 0o640
    assert (c.folder / "made").stat().st_mode & 0o777 == 0o640


def test_limits_of_a_program_are_none_of_its_manager(cluster):
    """Neither its report nor its output has them."""
    c = cluster("1x1")
    script = c.script("echo right\ncat > big < /dev/zero\nexit 3\n")
    done = subprocess.run(["prlimit", "--fsize=4096", "--", PROGRAM, "submit", "--wait", "-o", "out", script],
                          env=c.environment, cwd=c.folder, timeout=PATIENCE, capture_output=True, text=True)
    assert done.returncode == 3, done.stderr
    assert (c.folder / "big").stat().st_size == 4096
    assert (c.folder / "out").read_text().startswith("right\n")


def test_limits_outlive_a_restart_and_are_never_raised(cluster):
    c = cluster("1x1")
    c.stop()
    c.launch_with = ["prlimit", "--memlock=4096:20480", "--"]
    c.start()
    script = c.script("ulimit -Sl; ulimit -Hl")
    done = subprocess.run(["prlimit", "--memlock=40960:81920", "--", PROGRAM, "submit", "--hold", script], env=c.environment,
                          cwd=c.folder, timeout=PATIENCE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    c.stop()
    c.start()
    c.run("release", 1)
    end_of(c, 1)
    assert c.output(1).split() == ["20", "20"]  # KiB


@pytest.mark.skipif(os.geteuid() != 0, reason="not root")
@pytest.mark.parametrize("user", [0, 65534])
def test_groups_are_those_of_the_call(cluster, user):
    c = cluster("1x1")
    os.chmod(c.folder, 0o777)
    os.chmod(c.state, 0o711)
    shutil.copy(PROGRAM, c.folder / "ductile")
    script = c.script("id -u; id -g; id -G")
    done = subprocess.run(["setpriv", f"--reuid={user}", "--regid=4242", "--groups=4242,5151,6161", c.folder / "ductile", "submit",
                           "--wait", script], env=c.environment, cwd=c.folder, text=True, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert c.output(1).split() == [str(user), "4242", "4242", "5151", "6161"]


def test_no_descriptor_of_its_manager_comes_along(cluster):
    c = cluster("1x1")
    job = c.submit("--mpi", "none", "ls", "/proc/self/fd")
    c.wait_for_end(job)
    assert c.output(job).split() == ["0", "1", "2", "3"]  # the last one is its own, of the folder


def test_folders_of_the_call(cluster):
    c = cluster("1x1")
    (c.folder / "real").mkdir()
    (c.folder / "link").symlink_to("real")
    (c.folder / "there").mkdir()
    script = c.script('echo "$DUCTILE_SUBMIT_DIR $SLURM_SUBMIT_DIR $PBS_O_WORKDIR"; pwd -P')
    subprocess.run(f"cd link && {PROGRAM} submit --wait -D ../there -o {c.folder}/out {script}", shell=True, check=True,
                   env=c.environment, cwd=c.folder, timeout=PATIENCE, capture_output=True)
    said, where = (c.folder / "out").read_text().splitlines()
    assert said.split() == [f"{c.folder}/link"] * 3
    assert where == str((c.folder / "there").resolve())


@pytest.mark.parametrize("what", ["argument", "value", "name", "folder", "output", "error", "script", "program"])
def test_bytes_that_are_no_text_come_as_they_are(cluster, what):
    c = cluster("1x1")
    folder = os.fsencode(c.folder)
    environment = {os.fsencode(k): os.fsencode(v) for k, v in c.environment.items()}
    where, options, output = folder, [], folder + b"/out"
    script, words = folder + b"/script.sh", []
    text = b"#!/bin/sh\n"
    if what == "argument":
        words, text = [BYTES], text + b'printf %s "$1"'
    elif what == "value":
        environment[b"GIVEN"] = BYTES
        text += b'printf %s "$GIVEN"'
    elif what == "name":  # which a shell drops
        environment[b"G" + BYTES] = b"1"
        text += b'tr "\\0" "\\n" < /proc/$$/environ | LC_ALL=C sed -n "s/^G\\(.*\\)=1$/\\1/p" | tr -d "\\n"'
    elif what == "folder":
        where = folder + b"/" + BYTES
        os.mkdir(where)
        text += b'printf %s "${PWD##*/}"'
    elif what == "output":
        output = folder + b"/" + BYTES
        text += b"printf %s '" + BYTES + b"'"
    elif what == "error":
        options = [b"-e", folder + b"/" + BYTES]
        text += b"printf %s '" + BYTES + b"' | tee /dev/stderr"
    elif what == "script":
        text += b"printf %s '" + BYTES + b"'"
    elif what == "program":
        script = folder + b"/" + BYTES
        text += b'printf %s "$DUCTILE_JOB_NAME"'
    with open(script, "wb") as file:
        file.write(text)
    os.chmod(script, 0o755)
    done = subprocess.run([os.fsencode(PROGRAM), b"submit", b"--hold", b"-o", output, *options, script, *words],
                          env=environment, cwd=where, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    c.stop()  # the journal has them, too
    c.start()
    c.run("release", 1)
    end_of(c, 1)
    with open(output, "rb") as file:
        assert file.read() == BYTES
    if what == "error":
        with open(folder + b"/" + BYTES, "rb") as file:
            assert file.read() == BYTES
    assert c.run("history").stdout


def test_a_script_is_found_in_the_present_folder(cluster):
    c = cluster("1x1")
    for name, text, mode in [("job.sh", "#!/bin/sh\necho its own\n", 0o644), ("true", "#!/bin/sh\necho before PATH\n", 0o755)]:
        (c.folder / name).write_text(text)
        (c.folder / name).chmod(mode)
    shutil.copy("/bin/echo", c.folder / "tool")
    c.run("submit", "--wait", "job.sh")
    c.run("submit", "--wait", "true")
    c.run("submit", "--wait", "tool", "an executable")
    c.run("submit", "--wait", "./job.sh")
    assert [c.output(job) for job in (1, 2, 3, 4)] == ["its own\n", "before PATH\n", "an executable\n", "its own\n"]
    # Neither of both: PATH has it, or nobody.
    (c.folder / "false").write_text("no script\n")
    c.run("submit", "--wait", "false", code=1)
    (c.folder / "notes.txt").write_text("no script\n")
    assert "'notes.txt' is no program" in c.run("submit", "notes.txt", code=2).stderr
    (c.folder / "job.d").mkdir()
    assert "'job.d' is no program" in c.run("submit", "job.d", code=2).stderr
