"""What users of papers 001 and 003 type: options of qsub and sbatch, on the command line and in scripts."""

import json

import pytest


def row_of(c, *words, **options):
    """Of a job that waits, and what was said to its user."""
    done = c.run("submit", "--json", "--hold", *words, **options)
    return c.queue()[json.loads(done.stdout)["job"]], done.stderr


def test_a_script_of_torque_means_what_it_says(cluster):
    c = cluster("8x2")
    script = c.script("#PBS -N solver\n#PBS -l nodes=2:ppn=2,walltime=3600 -j oe\n#PBS\t-A physics -q batch\n"
                      "#PBS -o localhost:out.txt\ncd $PBS_O_WORKDIR\necho here\n#PBS -l nodes=4\n")
    row, said = row_of(c, script)
    assert (row["name"], row["nodes"], row["time_limit_s"], row["account"], row["type"]) == (
        "solver", 2, 3600, "physics", "rigid")
    assert "'#PBS -q batch' means nothing here" in said
    assert "'8: #PBS -l nodes=4, after the first command,' means nothing here" in said
    c.run("release", row["job"])
    c.wait_for_end(row["job"])
    assert (c.folder / "out.txt").read_text() == "here\n"
    # The command line goes before it.
    row, _ = row_of(c, "-l", "nodes=3,walltime=1:00", "-J", "mine", script)
    assert (row["name"], row["nodes"], row["time_limit_s"]) == ("mine", 3, 60)
    row, said = row_of(c, "-l", "nodes=3", "-l", "walltime=0:2:0:0,mem=4gb", "--mpi", "none", "/bin/true")
    assert (row["nodes"], row["time_limit_s"]) == (3, 7200)
    assert "'-l mem=4gb' means nothing here" in said


def test_the_malleable_job_of_paper_001(cluster):
    c = cluster("8x8")
    script = c.script("charmrun +p8 ./exec\n", "jobscript.sh")
    words = ["-l", "nodes=2:ppn=8,walltime=3600", "-L", "max=6,type=charm++"]
    lines = c.script("#PBS -l nodes=2:ppn=8,walltime=3600 \n#PBS -L max=6,type=charm++\n", "lines.sh")
    for call in ([*words, script], [lines]):
        row, said = row_of(c, *call)
        assert (row["type"], row["nodes"], row["min_nodes"], row["max_nodes"], row["time_limit_s"]) == (
            "malleable", 2, 2, 6, 3600)
        assert "type=charm++: only programs with libductile-app are resized" in said
    for wrong in ("max=1,type=mpi", "max=6,type=pvm", "max=x", "min=2", "type=mpi"):
        assert "-L: " in c.run("submit", "-l", "nodes=2", "-L", wrong, script, code=2).stderr


@pytest.mark.parametrize("written, is_allowed", [("power-of-two", 4), ("even", 6), ("odd", 5), ("cubic", 8)])
def test_the_elastic_job_of_paper_003(cluster, written, is_allowed):
    c = cluster("8x1")
    options = ["--min-nodes-invasic=1", "--max-nodes-invasic=8", f"--node-constraints={written}"]
    lines = c.script(f"#SBATCH -N 1 --partition=all\n#SBATCH {options[0]} --max-nodes-invasic 8\n#SBATCH {options[2]}\n", "lines.sh")
    plain = c.script("true\n")
    for call in ([*options, plain], [lines]):
        row, said = row_of(c, *call)
        assert (row["type"], row["nodes"], row["min_nodes"], row["max_nodes"]) == ("malleable", 1, 1, 8)
        assert (call == [lines]) == ("'#SBATCH --partition=all' means nothing here" in said)
        c.run("resize", row["job"], is_allowed)
        assert c.run("resize", row["job"], 7 if written != "odd" else 6, code=1).stderr
    assert "--node-constraints: " in c.run("submit", "--node-constraints", "prime", plain, code=2).stderr


def test_without_a_size_it_is_the_smallest(cluster):
    c = cluster("8x1")
    row, _ = row_of(c, "--min-nodes-invasic", 3, "--max-nodes-invasic", 6, c.script("true\n"))
    assert (row["nodes"], row["min_nodes"], row["max_nodes"]) == (3, 3, 6)


def test_lines_are_written_as_they_are_for_their_own_system(cluster):
    """A value directly behind its short option, and quotes within a word."""
    c = cluster("8x2")
    row, said = row_of(c, c.script("#SBATCH -N2 -t5 -n4 --job-name=\"my job\"  # on two nodes\n"
                                   "#SBATCH -o'out of it' --account='a' --comment=\"x y\"\ntrue\n"))
    assert (row["nodes"], row["time_limit_s"], row["name"], row["account"]) == (2, 300, "my job", "a")
    assert said.splitlines() == ["ductile: '#SBATCH -n4' means nothing here", "ductile: '#SBATCH --comment=x y' means nothing here"]
    c.run("release", row["job"])
    c.wait_for_end(row["job"])
    assert (c.folder / "out of it").exists()
    row, _ = row_of(c, c.script("#DUCTILE -N3 --job-name='it is # no comment'\ntrue\n"))
    assert (row["nodes"], row["name"]) == (3, "it is # no comment")


def test_an_empty_value_is_that_of_no_option(cluster):
    c = cluster("8x2")
    row, said = row_of(c, "-d", "", "-J", "", "--time=3", c.script("#SBATCH -J name -d afterok:1\ntrue\n"))
    assert (row["name"], row["dependency"], row["time_limit_s"]) == ("script.sh", "", 180) and said == ""
