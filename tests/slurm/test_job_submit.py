"""packaging/slurm/job_submit.lua in a real Slurm: what it holds, says to the controller, and refuses."""

import os
import subprocess
import time

import pytest

from slurm import JOB_SUBMIT, PATIENCE, as_user, running, wait_for

# As `dofile` calls it, without a file that the user slurm may not be allowed to read.
AS_CALLED = f"(function()\n{JOB_SUBMIT.read_text()}\nend)()\n"

# Root is the one for whom more is allowed.
USER = "nobody" if os.geteuid() == 0 else None


@pytest.fixture(autouse=True)
def empty(request):
    yield
    if "adaptive" in request.fixturenames:
        request.getfixturevalue("adaptive").cancel_all()


def text_of(slurm, job):
    """As a controller reads it: docs/formats/slurm-comment.md."""
    record = slurm.job(job)
    comment = record["comment"]
    return (comment.split(" ; ")[0] if comment.startswith("ductile:1 ") else record["admin_comment"]).split()


def test_jobs_wait_until_they_are_released(adaptive):
    job = adaptive.submit("-N2", "-o", "out", script="#!/bin/sh\necho $DUCTILE_CONTROLLER\n", user=USER)
    record = adaptive.job(job)
    assert record["priority"] == 0 and record["job_state"] == "PENDING"
    assert text_of(adaptive, job) == ["ductile:1", "type=rigid", "nodes=2"]
    assert record["shared"] == "none"
    plain = adaptive.submit("-p", "plain", "-o", "plain", script="#!/bin/sh\nprintenv DUCTILE_CONTROLLER || echo none\n",
                            user=USER)
    adaptive.wait_for_state(plain, "COMPLETED")
    assert (adaptive.out / "plain").read_text() == "none\n"
    assert adaptive.job(plain)["admin_comment"] == ""
    assert adaptive.state(job) == "PENDING"
    adaptive.update(job, "NumNodes=2", "ReqNodeList=n4,n7", "NumTasks=2")
    adaptive.call("scontrol", "release", job)
    adaptive.wait_for_state(job, "COMPLETED")
    assert adaptive.job(job)["nodes"] == "n[4,7]"
    assert (adaptive.out / "out").read_text() == f"{adaptive.folder}/ductile.sock\n"


@pytest.mark.parametrize("options, lines, text", [
    (["-N4"], "", "type=rigid nodes=4"),
    (["-N2-6"], "", "type=moldable nodes=2 min=2 max=6"),
    (["-N2-6"], "#DUCTILE --type malleable", "type=malleable nodes=2 min=2 max=6"),
    ([], "#DUCTILE --nodes=4 --type=evolving", "type=evolving nodes=4 min=1"),
    ([], "#DUCTILE -N2-8", "type=malleable nodes=2 min=2 max=8"),
    (["-N4"], "#SBATCH -t 10\n\n# a comment\n#DUCTILE --min-nodes 2 # at least\n#DUCTILE --max-nodes '6'",
     "type=malleable nodes=4 min=2 max=6"),
    (["-N4"], "#DUCTILE --min-nodes-invasic=2 --max-nodes-invasic=6 --node-constraints \"Power of two\"",
     "type=malleable nodes=4 min=2 max=6 sizes=pof2"),
    ([], "#DUCTILE --type moldable --sizes list:1:2:6 --model table:1=10:2=6.5 --watts 100-250.5",
     "type=moldable nodes=1 min=1 sizes=list:1:2:6 model=table:1=10:2=6.5 watts=100-250.5"),
    ([], "#DUCTILE --type adaptive --model downey:4:0.5", "type=adaptive nodes=1 min=1 model=downey:4:0.5"),
    (["-N3", "--comment", "ductile: --sizes=odd"], "#DUCTILE --sizes even --watts 200",
     "type=rigid nodes=3 sizes=odd watts=200"),
    (["-n40"], "", "type=rigid nodes=3 tasks=40"),
    (["-n6", "--ntasks-per-node=2"], "", "type=rigid nodes=3 tasks=6"),
    (["-n4", "-c8"], "", "type=rigid nodes=2 tasks=4"),
    (["-N2", "-H"], "", "type=rigid nodes=2 hold=user"),
    (["-N1"], "true\n#DUCTILE --nodes=2", "type=rigid nodes=1"),
])
def test_what_users_write_is_told(adaptive, options, lines, text):
    job = adaptive.submit("-o", "/dev/null", *options, script=f"#!/bin/sh\n{lines}\nsleep 1000\n", user=USER)
    assert text_of(adaptive, job) == ["ductile:1", *text.split()]


def grow(slurm, job, node):
    """As the controller does: a job that is merged into this one."""
    done = slurm.call("salloc", "-N1", "-w", node, "--immediate", "-d", f"expand:{job}", "--no-shell")
    helper = int(done.stderr.split("allocation ")[1].split()[0])
    return slurm.update(helper, "NumNodes=0", is_checked=False)


LONG = "#DUCTILE --model table:" + ":".join(f"{n}={1000 - n}" for n in range(1, 200))


@pytest.mark.parametrize("options, lines, why", [
    ([], "#DUCTILE --time=10", "line 2 of the script: #DUCTILE: '--time=10' is no option here"),
    ([], "\n#DUCTILE --type", "line 3 of the script: #DUCTILE: --type has no value"),
    ([], "#DUCTILE --type fast", "#DUCTILE: --type: there is no type 'fast'"),
    ([], "#DUCTILE --sizes 'even", "the quote ' is not closed"),
    ([], "#DUCTILE --sizes list:2:2", "--sizes: sizes do not ascend"),
    ([], "#DUCTILE --sizes multiple:0", "--sizes: '0' is no number from 1"),
    ([], "#DUCTILE --sizes multiple", "--sizes: there are no sizes 'multiple'"),
    ([], "#DUCTILE --model amdahl:2", "--model: '2' is no number from 0 to 1"),
    ([], "#DUCTILE --model amdahl", "--model: there is no model 'amdahl'"),
    ([], "#DUCTILE --model table:1=", "--model: '' is no number"),
    ([], "#DUCTILE --watts 0", "--watts: '0' is neither W nor MIN-MAX"),
    ([], "#DUCTILE --watts 200-100", "--watts: '200-100' is neither W nor MIN-MAX"),
    ([], "#DUCTILE --nodes 0", "--nodes: '0' is no number of nodes"),
    ([], "#DUCTILE --nodes 4-2", "4 nodes at first are not between 4 and 2"),
    (["-N2"], "#DUCTILE --min-nodes 3", "2 nodes at first are not between 3 and 8"),
    (["-N2"], "#DUCTILE --max-nodes 1", "2 nodes at first are not between 1 and 1"),
    (["-N9"], "", "9 nodes at first are not between 1 and 8"),
    (["-N2-4"], "#DUCTILE --type rigid", "a rigid job has one number of nodes"),
    (["-N4"], LONG, "too long"),
    (["--comment", "ductile: --foo"], "", "--comment: ductile: '--foo' is no option here"),
    (["--comment", "ductile:1 type=malleable"], "", "--comment: ductile: '1' is no option here"),
    (["-p", "adaptive,plain"], "", "--partition=adaptive,plain: name one partition alone"),
    (["-w", "n1"], "", "--nodelist: not in the partitions of Ductile; the controller chooses the nodes"),
    (["--contiguous"], "", "--contiguous"),
    (["--switches=1"], "", "--switches"),
    (["-C", "[a*1&b*1]"], "", "--constraint with counts"),
    (["-L", "matlab"], "", "--licenses"),
    (["--bb=capacity=1G"], "", "burst buffers"),
    (["-d", "expand:1"], "", "--dependency=expand"),
    (["-N1", ":", "-N2"], "", "heterogeneous jobs"),
])
def test_what_cannot_be_kept_is_refused(adaptive, options, lines, why):
    said = adaptive.refused(*options, script=f"#!/bin/sh\n{lines}\nsleep 1000\n", user=USER)
    assert "ductile: " in said and why in said, said
    assert adaptive.call("squeue", "-h").stdout == ""


def test_where_nodes_have_things(tmp_path):
    """A number of them for the whole job is refused, and Slurm 22.05 does not let jobs grow there."""
    with running("--nodes", "2", "--lua", JOB_SUBMIT, "--option", "GresTypes=gpu") as slurm:
        assert "--gpus, --gpus-per-socket and --gpus-per-task" in slurm.refused("-N1", "--gpus=2")
        job = slurm.submit("-N1", "-o", "/dev/null")
        slurm.release(job, "n1")
        assert "Unspecified error" in grow(slurm, job, "n2").stderr
        assert f"JobId={job} has allocated GRES" in slurm.log()


def test_what_slurm_keeps_is_let_through(adaptive):
    first = adaptive.submit("-N1", "--begin=now+1hour", "--exclude=n1,n2", "--requeue", "--nice=5", "--mem=100", user=USER)
    record = adaptive.job(first)
    assert record["excluded_nodes"] == "n[1-2]" and record["nice"] == 5
    second = adaptive.submit("-N1", f"--dependency=afterok:{first}", "--exclusive=user", "--oversubscribe", user=USER)
    assert adaptive.job(second)["dependency"].startswith(f"afterok:{first}")
    assert adaptive.job(second)["shared"] == "none"
    tasks = adaptive.submit("-N1", "--array=0-3%2", user=USER)
    assert adaptive.job(tasks)["array_task_string"] == "0-3%2"
    # One of them alone.
    adaptive.update(f"{tasks}_2", "NumNodes=1", "ReqNodeList=n3", "NumTasks=1")
    adaptive.call("scontrol", "release", f"{tasks}_2")
    wait_for(lambda: adaptive.call("squeue", "-h", "-t", "R", "-o", "%i %N").stdout.split() == [f"{tasks}_2", "n3"],
             "the task")
    assert adaptive.job(tasks)["priority"] == 0


def test_allocations_wait_too(adaptive):
    done = adaptive.call("salloc", "-N1", "--comment=ductile: --type malleable", "true", user=USER, is_checked=False)
    assert done.returncode != 0 and "only batch jobs can be malleable" in done.stderr
    done = adaptive.call("salloc", "-N1", "-I", "true", user=USER, is_checked=False)
    assert done.returncode != 0 and "--immediate" in done.stderr
    waiting = subprocess.Popen([*as_user(USER), "salloc", "-N2", "srun", "printenv", "SLURMD_NODENAME"],
                               env=adaptive.environment, cwd=adaptive.out, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    job = int(wait_for(lambda: adaptive.call("squeue", "-h", "-o", "%i").stdout, "the allocation"))
    assert text_of(adaptive, job) == ["ductile:1", "type=rigid", "nodes=2"]
    adaptive.release(job, "n5", "n6")
    out, errors = waiting.communicate(timeout=PATIENCE)
    assert sorted(out.split()) == ["n5", "n6"], errors


def test_the_controller_grows_jobs(adaptive):
    job = adaptive.submit("-N1", "-o", "/dev/null")
    adaptive.release(job, "n1")
    assert grow(adaptive, job, "n2").returncode == 0
    assert adaptive.nodes_of(job) == ["n1", "n2"]


def test_users_hold_and_release_their_jobs_but_slurm_does_not_start_them(adaptive):
    if USER is None:
        pytest.skip("with one user alone there is no difference")
    job = adaptive.submit("-N2", "--comment", "mine", user=USER)
    adaptive.call("scontrol", "hold", job, user=USER)
    assert text_of(adaptive, job) == ["ductile:1", "type=rigid", "nodes=2", "hold=user"]
    adaptive.call("scontrol", "release", job, user=USER)
    assert text_of(adaptive, job) == ["ductile:1", "type=rigid", "nodes=2"]
    record = adaptive.job(job)
    assert record["priority"] == 0 and record["comment"].endswith(" ; mine")
    # And what was held when it was submitted.
    held = adaptive.submit("-N2", "--hold", user=USER)
    adaptive.call("scontrol", "release", held, user=USER)
    assert text_of(adaptive, held) == ["ductile:1", "type=rigid", "nodes=2"]
    assert adaptive.job(held)["priority"] == 0
    for change in ("Priority=1000", "Nice=10", "ReqNodeList=n1", "Partition=plain", "AdminComment=x", "Licenses=x",
                   f"Dependency=expand:{held}", "Comment=ductile: --foo"):
        assert adaptive.update(job, change, user=USER, is_checked=False).returncode != 0, change
    assert adaptive.job(job)["priority"] == 0 and adaptive.job(job)["partition"] == "adaptive"
    plain = adaptive.submit("-p", "plain", "--hold", user=USER)
    assert adaptive.update(plain, "Partition=adaptive", user=USER, is_checked=False).returncode != 0
    adaptive.update(plain, "Nice=10", user=USER)
    assert "it waits for the controller" in adaptive.log()


def test_users_change_their_waiting_jobs(adaptive):
    if USER is None:
        pytest.skip("with one user alone there is no difference")
    job = adaptive.submit("-N2", "-o", "/dev/null", user=USER)
    adaptive.update(job, "NumNodes=3-5", "TimeLimit=5", user=USER)
    assert text_of(adaptive, job) == "ductile:1 type=moldable nodes=3 min=3 max=5".split()
    adaptive.update(job, "Comment=ductile: --type malleable --sizes odd", user=USER)
    assert text_of(adaptive, job) == "ductile:1 type=malleable nodes=3 min=3 max=5 sizes=odd".split()
    adaptive.update(job, "Comment=mine ; too", "NumTasks=6", user=USER)
    text = "ductile:1 type=malleable nodes=3 min=3 max=5 sizes=odd tasks=6"
    assert adaptive.job(job)["comment"] == text + " ; mine ; too"
    adaptive.release(job, "n1", "n2", "n3")
    assert text_of(adaptive, job) == text.split()
    for change in ("NumNodes=2", "ReqNodeList=n1,n2", "Comment=ductile: --sizes even"):
        assert adaptive.update(job, change, user=USER, is_checked=False).returncode != 0, change
    assert adaptive.nodes_of(job) == ["n1", "n2", "n3"]


def test_strangers_change_nothing(adaptive):
    if USER is None:
        pytest.skip("with one user alone there is no difference")
    job = adaptive.submit("-N2", user=USER)
    assert adaptive.call("scontrol", "hold", job, user="daemon", is_checked=False).returncode != 0
    assert text_of(adaptive, job) == ["ductile:1", "type=rigid", "nodes=2"]


def test_nothing_is_held_while_slurm_has_the_partition(adaptive):
    waiting = adaptive.submit("-N1", "-o", "/dev/null", user=USER)
    held = adaptive.submit("-N1", "-H", "-o", "/dev/null", user=USER)
    (adaptive.folder / "hands-over").touch()
    try:
        job = adaptive.submit("-N2-4", "-o", "/dev/null", script="#!/bin/sh\n#DUCTILE --type malleable\n", user=USER)
        adaptive.wait_for_state(job, "COMPLETED")
        assert text_of(adaptive, job) == "ductile:1 type=malleable nodes=2 min=2 max=4".split()
        assert adaptive.state(waiting) == "PENDING"  # those who were there before are released by the watchdog
        adaptive.call("scontrol", "release", held, user=USER)
        adaptive.wait_for_state(held, "RUNNING")
    finally:
        (adaptive.folder / "hands-over").unlink()


def test_a_requeued_job_waits_long_enough_to_be_held_again(adaptive):
    job = adaptive.submit("-N1", "-o", "/dev/null", "--requeue")
    adaptive.release(job, "n1")
    adaptive.call("scontrol", "requeue", job)
    adaptive.wait_for_state(job, "PENDING")
    record = adaptive.job(job)
    # It is not held any more, but not before two minutes.
    assert record["priority"] > 0 and record["eligible_time"] - record["submit_time"] >= 120
    adaptive.update(job, "Priority=0")
    assert adaptive.job(job)["priority"] == 0


def test_an_error_in_the_script_refuses_the_job(tmp_path):
    """Slurm takes an error for consent. Besides, a site's own script calls this one."""
    site = tmp_path / "site.lua"
    site.write_text(AS_CALLED + """
local submit = slurm_job_submit
function slurm_job_submit(job, partitions, uid)
  if job.name == "broken" then slurm.JOB_SHARED_NONE = nil end
  if job.name == "no" then
    slurm.log_user("not here")
    return slurm.ERROR
  end
  return submit(job, partitions, uid)
end
return slurm.SUCCESS
""")
    with running("--nodes", "1", "--lua", site) as slurm:
        job = slurm.submit("-N1")
        assert text_of(slurm, job) == ["ductile:1", "type=rigid", "nodes=1"]
        assert "not here" in slurm.refused("-J", "no")
        assert "the job_submit script of Ductile failed" in slurm.refused("-N1", "-J", "broken")
        assert "ductile: job_submit.lua: " in slurm.log()
        slurm.submit("-p", "plain", "-J", "broken")


def test_bad_settings_stop_the_daemon(tmp_path):
    site = tmp_path / "site.lua"
    site.write_text(f"""local find = dofile
dofile = function(name)
  local settings = find(name)
  settings.controler = "/run/x"
  return settings
end
{AS_CALLED}
return slurm.SUCCESS
""")
    with pytest.raises(AssertionError, match="controler: use partitions"):
        with running("--nodes", "1", "--lua", site):
            pass


def test_what_the_script_costs(adaptive, bare):
    """Its time for each submission is told, and is not out of all proportion."""
    took = {}
    for name, slurm in (("without", bare), ("with", adaptive)):
        begin = time.monotonic()
        for _ in range(20):
            slurm.submit("-N1", "-H", "-o", "/dev/null")
        took[name] = (time.monotonic() - begin) / 20 * 1000
        slurm.cancel_all()
    print("ms for each sbatch:", took)
    assert took["with"] < 10 * took["without"] + 100
