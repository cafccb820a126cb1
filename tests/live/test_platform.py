"""A cluster of several classes of nodes and partitions: what jobs ask for, what is shown, another file."""

import json

import pytest

PLATFORM = """
[[class]]
name = "std"
count = 4
memory = "2G"

[[class]]
name = "big"
count = 2
cores = 2
memory = "8G"
gres = { gpu = 2 }
weight = 10

[[partition]]
name = "batch"

[[partition]]
name = "accel"
classes = ["big"]
max_time = "10"
"""
PATIENT = "exec sleep 1000"


@pytest.fixture
def platform(cluster):
    def make(text=PLATFORM, policy="easy"):
        # Its first two nodes were there before.
        c = cluster("2x1", policy)
        c.stop()
        (c.folder / "platform.toml").write_text(text)
        at = c.arguments.index("--local")
        c.arguments[at:at + 2] = ["--platform", str(c.folder / "platform.toml")]
        c.start()
        return c

    return make


def again(c, text):
    """Another controller takes it up, with another file."""
    c.kill()
    (c.folder / "platform.toml").write_text(text)
    c.start()


def test_jobs_run_where_they_asked(platform):
    c = platform()
    patient = c.script(PATIENT)
    accel = c.submit("-p", "accel", "-t", 5, patient)
    memory = c.submit("--mem", "4G", patient)
    assert c.wait_for_size(accel, 1)["nodelist"] == "4" and c.wait_for_size(memory, 1)["nodelist"] == "5"
    waits = c.submit("--gres", "gpu:2", "-t", 5, patient)
    small = c.submit("-N", 2, "-x", "0", patient)
    assert c.wait_for_size(small, 2)["nodelist"] == "1-2"
    named = c.submit("-w", "3", patient)
    assert c.wait_for_size(named, 1)["nodelist"] == "3"
    only = c.submit("-w", "3", patient)
    first = c.submit("-p", "accel,batch", patient)
    assert c.wait_for_size(first, 1)["nodelist"] == "0"

    queue = c.queue()
    assert queue[waits]["state"] == queue[only]["state"] == "PENDING"
    assert (queue[accel]["partition"], queue[waits]["partition"], queue[first]["partition"]) == (
        "accel", "batch", "accel,batch")
    assert (queue[waits]["gres"], queue[small]["excluded_nodelist"], queue[named]["asked_nodelist"]) == ("gpu:2", "0", "3")
    assert queue[memory]["memory"] == 4 << 30
    lines = c.run("queue").stdout.splitlines()
    assert lines[0].split()[:3] == ["JOBID", "PARTITION", "NAME"] and lines[1].split()[1] == "accel"
    told = c.run("explain", waits).stdout
    assert "0 of 2 are idle in batch, of those with gpu:2" in told, told
    assert "0 of 1 are idle in batch, of the nodes 3" in c.run("explain", only).stdout

    nodes = {row["node"]: row for row in c.ask({"do": "nodes"})["nodes"]}
    assert (nodes[0]["class"], nodes[0]["partitions"], nodes[0]["cores"]) == ("std", ["batch"], 1)
    assert (nodes[4]["class"], nodes[4]["partitions"], nodes[4]["cores"]) == ("big", ["batch", "accel"], 2)
    assert (nodes[4]["memory"], nodes[4]["gres"], nodes[0]["gres"]) == (8 << 30, "gpu:2", "")
    table = c.run("nodes").stdout.splitlines()
    assert table[0].split() == ["NODE", "STATE", "CLASS", "PARTITIONS", "CORES", "MEMORY", "GRES", "JOBID", "REASON"]
    assert table[5].split() == ["4", "ALLOCATED", "big", "batch,", "accel", "2", "8G", "gpu:2", str(accel)]

    # All of it after a crash.
    c.kill()
    c.start()
    assert c.queue().keys() == queue.keys()
    c.run("cancel", accel)
    assert c.wait_for_size(waits, 1)["nodelist"] == "4"
    c.run("cancel", named)
    assert c.wait_for_size(only, 1)["nodelist"] == "3"
    c.replay()


def test_what_cannot_be_is_refused(platform):
    c = platform()
    patient = c.script(PATIENT)

    def error(*words):
        return c.run("submit", *words, patient, code=2).stderr

    assert "--partition: there is no partition 'x'; use one of batch, accel" in error("-p", "x")
    assert "--gres: no node has a 'fpga'; use one of gpu" in error("--gres", "fpga")
    assert "--gres: 3 of 'gpu' are more than the 2 of a node" in error("--gres", "gpu:3")
    assert "--mem: 9216 MB are more than the 8192 of a node" in error("--mem", "9G")
    assert "--time: 660 s are more than the 600 s that are allowed in accel" in error("-p", "accel", "-t", 11)
    assert "3 are more than the 2 there are where it may run" in error("-p", "accel", "-t", 5, "-N", 3)
    assert "--nodelist: there is no node 6" in error("-w", "6")
    assert "exclude: it is no list of nodes" in error("-x", "a")
    assert "cores are more than the 2 of a node" in error("-c", 3)


def test_scripts_and_updates_say_it(platform):
    c = platform()
    slurm = c.submit(c.script(f"#SBATCH -p accel --gres=gpu:1\n#SBATCH --time=5\n{PATIENT}", "slurm.sh"))
    assert c.wait_for_size(slurm, 1)["nodelist"] == "4"
    pbs = c.submit(c.script(f"#PBS -q accel -l nodes=1:gpus=2,walltime=60\n{PATIENT}", "pbs.sh"))
    assert c.wait_for_size(pbs, 1)["nodelist"] == "5"
    waits = c.submit("-p", "accel", "-t", 5, c.script(PATIENT))
    assert c.queue()[waits]["state"] == "PENDING"
    assert "there is no partition 'x'" in c.run("update", waits, "-p", "x", code=2).stderr
    c.run("update", waits, "-p", "batch")
    assert c.wait_for_size(waits, 1)["nodelist"] == "0"
    other = c.submit("--mem", "3G", c.script(PATIENT))
    c.run("update", other, "--mem", "1G", "-x", "1")
    assert c.wait_for_size(other, 1)["nodelist"] == "2"
    c.replay()


LIMITED = """
[[class]]
name = "old"
count = 2

[[class]]
name = "new"
count = 2
cores = 2
memory = "8G"
features = ["ib", "avx512"]

[[partition]]
name = "small"
max_nodes = 1

[[partition]]
name = "theirs"
users = [4294967294]

[[partition]]
name = "all"
default = true

[[qos]]
name = "urgent"
priority = 10
"""


def test_limits_features_and_qualities_of_service(platform):
    c = platform(LIMITED, "fcfs:order=multifactor,weight_qos=100,priority_period=0")
    patient = c.script(PATIENT)

    def error(*words):
        return c.run("submit", *words, patient, code=2).stderr

    assert "--nodes: 2 nodes are more than the 1 that a job may have in small" in error("-p", "small", "-N", 2)
    assert "--partition: theirs is not for user" in error("-p", "theirs")
    assert "--constraint: no node has the feature 'gold'" in error("-C", "gold")
    assert "--qos: there is no QOS 'best'; use one of urgent" in error("-q", "best")
    assert "leave --mem away" in error("--mem", "1G", "--mem-per-cpu", "1G")
    fast = c.submit("-C", "ib,avx512", patient)
    assert c.wait_for_size(fast, 1)["nodelist"] == "2"
    much = c.submit("-c", 1, "--mem-per-cpu", "5G", patient)
    row = c.wait_for_size(much, 1)
    assert (row["nodelist"], row["memory"]) == ("3", 5 << 30)
    first = c.submit("-p", "small,theirs", patient)
    assert c.wait_for_size(first, 1)["nodelist"] == "0"
    last = c.submit(patient)
    assert c.queue()[last]["partition"] == "all" and c.wait_for_size(last, 1)["nodelist"] == "1"
    usual = c.submit("-N", 1, patient)
    urgent = c.submit("-N", 1, "-q", "urgent", patient)
    c.kill()  # all of it after a crash
    c.start()
    c.run("cancel", first)
    assert c.wait_for_size(urgent, 1)["nodelist"] == "0"
    assert c.queue()[usual]["state"] == "PENDING"
    assert "--mem-per-cpu: for each of 2 cores it is more than any node has" in error("-c", 2, "--mem-per-cpu", "1048576T")
    old = c.submit("-H", c.script(f"#SBATCH --qos=normal -C haswell\n{PATIENT}", "old.sh"))  # of another machine
    kept = c.submit("-H", "--mem-per-cpu", "3G", patient)
    assert "6144 MB" not in c.queue()[kept] and c.queue()[kept]["memory"] == 3 << 30  # of nodes with one core
    c.run("update", kept, "-C", "ib")
    assert c.queue()[kept]["memory"] == 6 << 30
    c.run("cancel", old, kept)
    c.run("update", usual, "-C", "ib")
    c.run("cancel", fast)
    assert c.wait_for_size(usual, 1)["nodelist"] == "2"
    # What waits is judged anew by another file, also by whose it is.
    waits = c.submit("-N", 4, patient)
    again(c, LIMITED.replace("default = true", "default = true\nusers = [4294967294]"))
    c.wait_for(lambda: c.queue()[waits]["reason"] == "BadConstraints", "that it is held")
    c.replay()


def test_another_file(platform):
    c = platform()
    patient = c.script(PATIENT)
    runs = c.submit("-p", "accel", "-t", 5, "-N", 2, patient)
    c.wait_for_size(runs, 2)
    accel = c.submit("-p", "accel", "-t", 5, patient)
    gpu = c.submit("--gres", "gpu:2", "-t", 5, patient)
    short = c.submit("-p", "batch,accel", "-w", "4-5", "-t", 9, patient)

    # Its cores would be others': it is refused while the job runs.
    c.kill()
    (c.folder / "platform.toml").write_text(PLATFORM.replace("count = 4", "count = 3"))
    c.launch()
    assert c.server.wait() == 2 and "are to have other cores now" in c.log.read_text()

    # A partition that is gone, and a class more.
    more = PLATFORM[:PLATFORM.index("[[partition]]")] + """
[[class]]
name = "new"
count = 2
memory = "8G"
gres = { gpu = 4 }

[[partition]]
name = "batch"
"""
    again(c, more)
    c.wait_for(lambda: c.queue()[accel]["reason"] == "BadConstraints", "its being held")
    assert "accel has no nodes" in c.queue()[accel]["note"]
    assert c.wait_for_size(gpu, 1)["nodelist"] == "6"
    assert c.queue()[runs]["state"] == "RUNNING" and c.queue()[short]["state"] == "PENDING"
    assert [row["class"] for row in c.ask({"do": "nodes"})["nodes"]] == ["std"] * 4 + ["big"] * 2 + ["new"] * 2

    # And back, with the new nodes in it.
    again(c, more + '[[partition]]\nname = "accel"\nclasses = ["new"]\n')
    assert c.wait_for_size(accel, 1)["nodelist"] == "7"
    c.run("cancel", runs)
    assert c.wait_for_size(short, 1)["nodelist"] in "45"

    c.kill()
    (c.folder / "platform.toml").write_text(more.replace('name = "batch"', 'name = "other"'))
    c.launch()
    assert c.server.wait() == 2 and "the first one was 'batch'" in c.log.read_text()
    again(c, more)
    c.replay()
    c.run("cancel", accel, gpu, short)
    c.wait_for_end(accel, gpu, short)
    c.stop()
    assert "all is sound" in c.run("check", "--state", c.state).stdout


def test_the_file_is_looked_at_as_a_whole(platform, cluster):
    c = platform()
    c.stop()
    (c.folder / "platform.toml").write_text(PLATFORM.replace("cores = 2", "cores = 0"))
    c.launch()
    assert c.server.wait() == 2
    assert "platform.toml:10: cores: is no whole number that is possible; write one from 1 to 65535" in c.log.read_text()
    (c.folder / "platform.toml").write_text(PLATFORM)
    done = c.run("serve", "--local", "2x1", "--platform", c.folder / "platform.toml", code=2)
    assert "--local" in done.stderr
    (c.folder / "serve.toml").write_text(f"platform = '{c.folder}/platform.toml'\n")
    at = c.arguments.index("--platform")
    c.arguments[at:at + 2] = ["--config", str(c.folder / "serve.toml")]
    c.start()
    assert json.loads(c.run("nodes", "--json").stdout)["nodes"][5]["class"] == "big"


def test_placement(cluster, tmp_path):
    """Which nodes jobs get is as the simulator's: the lowest two that are idle are not beside each other."""
    c = cluster("6x1", "easy", "--placement", "contiguous")
    patient = c.script(PATIENT)
    jobs = [c.submit("-N", nodes, patient) for nodes in (1, 1, 2)]
    for job, nodes in zip(jobs, (1, 1, 2)):
        c.wait_for_size(job, nodes)
    middle = next(job for job in jobs if c.queue()[job]["nodelist"] == "1")
    c.run("cancel", middle)
    c.wait_for_end(middle)
    assert c.wait_for_size(c.submit("-N", 2, patient), 2)["nodelist"] == "4-5"
    c.stop()
    state = ["--state", c.state, "--local", "6x1"]
    refused = c.run("serve", *state, "--placement", "first", code=2).stderr
    assert "has another placement, and keeps it; leave out --placement" in refused
    refused = c.run("serve", "--local", "6x1", "--state", tmp_path / "other", "--placement", "compact", code=2).stderr
    assert "--placement: there are no switches to be compact on; write [[switch]] in --platform FILE" in refused
    assert "is no placement" in c.run("serve", *state, "--placement", "best", code=2).stderr
    c.start()  # it keeps its own
    assert len(c.queue()) == 3
