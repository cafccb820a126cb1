"""ductile policies: the table of policies, as text and as JSON."""

import json


def test_the_list_has_every_policy_on_a_line(ductile):
    lines = ductile.output("policies").splitlines()
    names = [line.split()[0] for line in lines if line and not line.startswith("'")]
    assert {"fcfs", "easy", "conservative", "backfill"} <= set(names)
    assert names == sorted(names)


def test_details_of_one(ductile):
    text = ductile.output("policies", "backfill")
    for word in ("Mu'alem and Feitelson 2001", "depth=1", "reservations", "order=fcfs", "sjf"):
        assert word in text
    assert "Jobs share nodes" not in text
    assert "Jobs share nodes: in the simulator only." in ductile.output("policies", "sd")


def test_json_of_all_and_of_one(ductile):
    policies = json.loads(ductile.output("policies", "--json"))
    by_name = {policy["name"]: policy for policy in policies}
    [depth] = by_name["backfill"]["parameters"]
    assert depth["type"] == "integer" and depth["default"] == "1" and depth["min"] == 1
    assert json.loads(ductile.output("policies", "backfill", "--json")) == by_name["backfill"]
    assert [name for name, policy in by_name.items() if policy["shares_nodes"]] == ["lend", "oversubscribe", "sd"]
    order = by_name["fcfs"]["common_parameters"][0]
    assert order["name"] == "order" and "sjf" in order["choices"]


def test_defaults_are_what_a_run_without_them_does(ductile):
    policies = json.loads(ductile.output("policies", "--json"))
    arguments = ["simulate", "--generate", "rigid", "--jobs", 100, "--json"]
    for policy in policies:
        defaults = ",".join(f"{parameter['name']}={parameter['default']}"
                            for parameter in policy["parameters"] + policy["common_parameters"])
        [plain] = ductile.objects(*arguments, "--policy", policy["name"])
        [explicit] = ductile.objects(*arguments, "--policy", f"{policy['name']}:{defaults}")
        assert plain["mean_wait_s"] == explicit["mean_wait_s"], policy["name"]
