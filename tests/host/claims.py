"""What every sentence of a demo claims, checked against the cluster independently of the demo's own code.

`NOW` holds when a sentence is shown, `THEN` as soon as the step that it announces has been taken.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from closeknit.cluster import kinds
from host.lab import Raw, condition
from host.stage import Stage

Claim = Callable[..., Any]
GPU, FAILED, LOW = "nvidia.com/gpu", "closeknit.dev/failed", "kueue.x-k8s.io/queue-name"
WORDS = {"no": "0", "one": "1"}
TEAMS = {"research", "product", "batch"}


def jobs(stage: Stage) -> dict[str, Raw]:
    return {one["metadata"]["name"]: one for one in stage.all(kinds.JOB) if "deletionTimestamp" not in one["metadata"]}


def running(stage: Stage, job: str) -> dict[int, Raw]:
    found = {}
    for pod in stage.pods():
        meta = pod["metadata"]
        mine = meta.get("labels", {}).get("batch.kubernetes.io/job-name") == job
        if mine and "deletionTimestamp" not in meta and pod.get("status", {}).get("phase") == "Running":
            found[int(meta["labels"]["batch.kubernetes.io/job-completion-index"])] = pod
    return found


def nodes(stage: Stage, job: str) -> dict[int, str]:
    return {rank: pod["spec"]["nodeName"] for rank, pod in running(stage, job).items()}


def broken(stage: Stage) -> set[str]:
    every = (one["metadata"] for one in stage.all(kinds.NODE))
    return {meta["name"] for meta in every if (meta.get("annotations") or {}).get(FAILED) == "true"}


def place(stage: Stage, node: str, level: str) -> str:
    return str(stage.get(kinds.NODE, node)["metadata"]["labels"].get(f"cloud.provider.com/topology-{level}", ""))


def all_in(stage: Stage, job: str, pods: int, level: str, domain: str) -> bool:
    """Whether that many of its pods run, on healthy hosts, in this one domain."""
    on = nodes(stage, job)
    here = all(place(stage, node, level) == domain for node in on.values())
    return len(on) == pods and here and not broken(stage) & set(on.values())


def workload(stage: Stage, job: str) -> Raw:
    owned = [one for one in stage.workloads() if one["metadata"]["ownerReferences"][0]["name"] == job]
    return owned[0] if owned else {}


def in_line(stage: Stage, job: str) -> bool:
    one = workload(stage, job)
    out = condition(one, "QuotaReserved") or condition(one, "Finished")
    return bool(one) and not out and one["spec"].get("active", True)


def free(stage: Stage) -> Counter[str]:
    """Free GPUs of every healthy host."""
    left: Counter[str] = Counter()
    for node in stage.all(kinds.NODE):
        name, spec = node["metadata"]["name"], node.get("spec", {})
        works = condition(node, "Ready") and name not in broken(stage) and not spec.get("unschedulable")
        left[name] = int(node["status"]["allocatable"][GPU]) if works else 0
    for pod in stage.pods():
        node, over = pod["spec"].get("nodeName"), pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
        if node and left[node] and not over:
            left[node] -= int(pod["spec"]["containers"][0]["resources"]["requests"][GPU])
    return left


def roomiest(stage: Stage, level: str, each: int = 1) -> int:
    found: Counter[str] = Counter()
    for node, gpus in free(stage).items():
        found[place(stage, node, level)] += gpus // each
    return max(found.values(), default=0)


def reserved(stage: Stage) -> int:
    """GPUs for which workloads hold quota."""
    held = [one for one in stage.workloads() if condition(one, "QuotaReserved") and not condition(one, "Finished")]
    return sum(
        int(given.get("resourceUsage", {}).get(GPU, 0))
        for one in held
        for given in one["status"]["admission"]["podSetAssignments"]
    )


def plan(stage: Stage) -> str:
    """The hosts of pair's plan in order, in the demo's words."""
    admission = workload(stage, "pair").get("status", {}).get("admission") or {}
    given = [one["topologyAssignment"] for one in admission.get("podSetAssignments", ()) if "topologyAssignment" in one]
    found = []
    for part in given[0]["slices"] if given else ():
        for one in part["valuesPerLevel"][-1:]:
            alone = [one["universal"]] if "universal" in one else None
            some = alone or [f"{one['individual'].get('prefix', '')}{root}" for root in one["individual"]["roots"]]
            found += some
    return ", ".join(f"rank {rank} → {node}" for rank, node in enumerate(found)) or "none"


def ranks(stage: Stage) -> str:
    return ", ".join(f"rank {rank} on {node}" for rank, node in sorted(nodes(stage, "pair").items())) or "nothing"


def hall(stage: Stage, hosts: str, racks: str, lost: str | None) -> bool:
    names = [one["metadata"]["name"] for one in stage.all(kinds.NODE)]
    found = len({place(stage, name, "rack") for name in names})
    return (int(hosts), int(racks), int(lost or 0)) == (len(names), found, len(broken(stage)))


def request(stage: Stage, name: str) -> Raw:
    return stage.get(kinds.PROVISIONING_REQUEST, name)


def waiting(stage: Stage, team: str) -> int:
    every = [one for one in stage.workloads() if one["spec"]["queueName"] == team]
    return sum(not condition(one, "QuotaReserved") and not condition(one, "Finished") for one in every)


def newest(stage: Stage, job: str, rank: int) -> bool:
    made = {one: pod["metadata"]["creationTimestamp"] for one, pod in running(stage, job).items()}
    return all(made[one] < made[rank] for one in made if one != rank)


def lost_racks(stage: Stage) -> set[str]:
    every = {one["metadata"]["name"] for one in stage.all(kinds.NODE)}
    down, racks = broken(stage), {place(stage, name, "rack") for name in every}
    return {rack for rack in racks if all(name in down for name in every if place(stage, name, "rack") == rack)}


def most_of_burst(stage: Stage) -> int:
    text = stage.get(kinds.CONFIG_MAP, "closeknit-node-groups", "kube-system")["data"]["burst"]
    return int(re.search(r"max: (\d+)", text)[1])  # type: ignore[index]


def refused_once(stage: Stage) -> bool:
    checks = workload(stage, "huge").get("status", {}).get("admissionChecks") or ()
    return any(one.get("retryCount") == 1 for one in checks)


def asks(stage: Stage, job: str) -> tuple[int, str]:
    """The pods of a job, and the GPUs of each."""
    spec = jobs(stage)[job]["spec"]
    return spec["parallelism"], spec["template"]["spec"]["containers"][0]["resources"]["limits"][GPU]


def servers(stage: Stage) -> list[str]:
    return [one["metadata"]["name"] for one in stage.all(kinds.DEPLOYMENT)]


def refused(stage: Stage, key: str, value: str) -> int:
    mine = [pod for pod in stage.pods() if pod["metadata"].get("labels", {}).get(key) == value]
    return sum(pod.get("status", {}).get("reason") == "TopologyAffinityError" for pod in mine)


def refused_of(stage: Stage, job: str) -> int:
    return refused(stage, "batch.kubernetes.io/job-name", job)


def zones_held(pod: Raw) -> set[str]:
    """The zones of the GPUs that its kubelet gave it."""
    held = json.loads(pod["metadata"]["annotations"]["closeknit.dev/numa-held"])
    return set(held["devices"][GPU])


NOW: dict[str, Claim] = {
    r"(\d+) hosts? in (\d+) racks?(?:, (\d+) of them failed)?, and a queue: jobs with the label \S+ default can .*": (
        lambda s, *found: hall(s, *found) and s.get(kinds.LOCAL_QUEUE, "default")
    ),
    r"(\d+) hosts? in (\d+) racks?(?:, (\d+) of them failed)?\. A pod with a rank is sent to the host .*": hall,
    r"(\d+) hosts? in (\d+) racks?(?:, (\d+) of them failed)?\. Queue training has (-?\d+) GPUs .* left\.": (
        lambda s, hosts, racks, lost, left: hall(s, hosts, racks, lost) and int(left) == 288 - reserved(s)
    ),
    r"Job (\S+) exists already, so none is submitted\.": lambda s, job: job in jobs(s),
    r"(\S+) is gone\.": lambda s, job: job not in jobs(s),
    r"(\S+) has finished\.": lambda s, job: condition(jobs(s)[job], "Complete"),
    r"(\S+) is pending\.": in_line,
    r"(\d+) of (\d+) pods of (\S+) run on healthy hosts\.": (
        lambda s, some, all_, job: (
            int(some) == sum(node not in broken(s) for node in nodes(s, job).values())
            and int(all_) == jobs(s)[job]["spec"]["parallelism"]
        )
    ),
    # first-steps
    r"All pods of tune run in rack (\S+)\.": lambda s, rack: all_in(s, "tune", 10, "rack", rack),
    r"All pods of tune run in rack (\S+)\. Rack (\S+), where train runs, has (\d+) free GPUs\.": (
        lambda s, rack, other, left: (
            all_in(s, "tune", 10, "rack", rack)
            and {place(s, node, "rack") for node in nodes(s, "train").values()} == {other}
            and int(left) == sum(gpus for node, gpus in free(s).items() if place(s, node, "rack") == other)
        )
    ),
    r"pretrain is pending\. .*": lambda s: in_line(s, "pretrain"),
    r"pretrain is pending: no rack has 12 free GPUs, at most (\d+)\. .*": (
        lambda s, most: in_line(s, "pretrain") and int(most) == roomiest(s, "rack") < 12
    ),
    r"(train has finished, and )?pretrain has its rack: all 12 pods run in (\S+)\.": lambda s, done, rack: (
        all_in(s, "pretrain", 12, "rack", rack) and (not done or condition(jobs(s)["train"], "Complete"))
    ),
    # node-failure
    r"sweep is pending: there is quota for it, but no block has more than (\d+) free hosts\.": lambda s, most: (
        in_line(s, "sweep") and 288 - reserved(s) >= 96 and roomiest(s, "block", 8) == int(most) < 12
    ),
    r"Failing host (\S+), which runs pod 2 of llm\. .*": lambda s, node: nodes(s, "llm")[2] == node,
    r"Pod 2 of llm now runs on (\S+), in the same rack (\S+)\. The others kept running\.": lambda s, node, rack: (
        nodes(s, "llm")[2] == node and all_in(s, "llm", 5, "rack", rack) and newest(s, "llm", 2)
    ),
    r"Failing the whole rack (\S+) with all hosts of vision: .*": (
        lambda s, rack: all_in(s, "vision", 4, "rack", rack)
    ),
    r"vision has moved as a whole: all of its pods now run in rack (\S+)\.": (
        lambda s, rack: all_in(s, "vision", 4, "rack", rack) and lost_racks(s)
    ),
    r"sweep has its 12 hosts in one block, (\S+)\.": (lambda s, block: all_in(s, "sweep", 12, "block", block)),
    # rank-drift
    r"The plan: (.+)\. Running: (.+)\.": lambda s, planned, runs: (planned, runs) == (plan(s), ranks(s)),
    r"The plan is now: (.+)\. By rank the new pod 0 would go to (\S+), where rank 1 already runs\.": (
        lambda s, planned, node: plan(s) == planned and nodes(s, "pair")[1] == node and f"rank 0 → {node}," in planned
    ),
    r"Failing host (\S+), which runs rank 0\. It counts .* heartbeats\.": lambda s, node: nodes(s, "pair")[0] == node,
    r"Failing host (\S+), which runs rank 0\. It counts .* heartbeats; (\S+) is free\.": (
        lambda s, node, spare: nodes(s, "pair")[0] == node and free(s)[spare] == 8
    ),
    r"The new pod 0 got the host that is really free: (.+)\. No two pods share a host\.": lambda s, runs: (
        ranks(s) == runs and len(set(nodes(s, "pair").values())) == 2 and not broken(s) & set(nodes(s, "pair").values())
    ),
    r"(\S+) is free again, and pair stays where it is: (.+)\. Running pods are not moved\.": (
        lambda s, node, runs: free(s)[node] == 8 and ranks(s) == runs and len(nodes(s, "pair")) == 2
    ),
    # provisioning
    r"There are no hosts yet\. Node group burst can grow to (\d+), in racks of four\.": (
        lambda s, most: not s.all(kinds.NODE) and int(most) == most_of_burst(s)
    ),
    r"There are (\d+) hosts\. Node group burst can grow to (\d+), in racks of four\.": (
        lambda s, hosts, most: int(hosts) == len(s.all(kinds.NODE)) and int(most) == most_of_burst(s)
    ),
    r"train holds quota and waits for hosts: the autoscaler accepted ProvisioningRequest (\S+)\.": (
        lambda s, name: (
            condition(workload(s, "train"), "QuotaReserved")
            and condition(request(s, name), "Accepted")
            and request(s, name)["metadata"]["ownerReferences"][0]["uid"] == workload(s, "train")["metadata"]["uid"]
        )
    ),
    r"The hosts have joined: train runs on (.+), all in rack (\S+)\.": lambda s, named, rack: (
        all_in(s, "train", 4, "rack", rack) and named.split(", ") == [nodes(s, "train")[rank] for rank in range(4)]
    ),
    r"The autoscaler refused: 16 hosts are more than the group allows\. huge waits for the next attempt\.": (
        lambda s: in_line(s, "huge") and refused_once(s)
    ),
    r"The autoscaler refused again: huge is deactivated, and its quota is free for others\.( train keeps .*)?": (
        lambda s, train: (
            workload(s, "huge")["spec"]["active"] is False
            and not condition(workload(s, "huge"), "QuotaReserved")
            and (not train or len(running(s, "train")) == 4)
        )
    ),
    # numa
    r"(\d+) hosts? in (\d+) racks?(?:, (\d+) of them failed)?, with two NUMA zones each\. .*": lambda s, *found: (
        hall(s, *found) and all("closeknit.dev/numa" in one["metadata"]["annotations"] for one in s.all(kinds.NODE))
    ),
    r"Deployment server exists already, so none is created\.": lambda s: servers(s) == ["server"],
    r"Deployment server is gone\.": lambda s: not servers(s),
    r"Kubelets refused (\S+) pods? of server so far \(TopologyAffinityError\), .*": lambda s, count: (
        WORDS.get(count, count) == str(refused(s, "app", "server"))
    ),
    r"Kubelets refused (\S+) pods? of (\S+) so far\.": lambda s, count, job: (
        WORDS.get(count, count) == str(refused_of(s, job)) != "0"
    ),
    r"train runs on (\S+), where one zone has room for it\. No kubelet refused it\.": lambda s, node: (
        nodes(s, "train") == {0: node} and len(zones_held(running(s, "train")[0])) == 1 and not refused_of(s, "train")
    ),
    r"All pods of gang run in rack (\S+), each in a zone of its own\. No kubelet refused one\.": lambda s, rack: (
        all_in(s, "gang", 6, "rack", rack)
        and len({(pod["spec"]["nodeName"], *zones_held(pod)) for pod in running(s, "gang").values()}) == 6
        and not refused_of(s, "gang")
    ),
    r"wide is pending, and no kubelet was asked\. .*": lambda s: in_line(s, "wide") and not refused_of(s, "wide"),
    # gpu-block
    r"Every team(?: but (\S+), which is idle for a while,)? has 3 or more pending jobs\. .*": (
        lambda s, quiet: all(waiting(s, team) >= 3 for team in TEAMS - {quiet})
    ),
}

THEN: dict[str, Claim] = {
    r"Creating the Deployment server without a queue: .*": lambda s: servers(s) == ["server"],
    r"Deployment server is being deleted, with all its failed pods\.": lambda s: not servers(s),
    r"Submitting train to a queue: one pod with 2 GPUs, .*": lambda s: asks(s, "train") == (1, "2"),
    r"Submitting gang: 6 pods with 4 GPUs each, .*": lambda s: asks(s, "gang") == (6, "4"),
    r"Submitting wide: one pod with 6 GPUs\. .*": lambda s: asks(s, "wide") == (1, "6"),
    r"Submitting (\S+): (\d+) pods with one GPU each, all in one rack\.": lambda s, job, pods: (
        jobs(s)[job]["spec"]["parallelism"] == int(pods)
    ),
    r"Submitting (\S+): (\d+) hosts, all in one (?:rack|block)\.": lambda s, job, pods: (
        jobs(s)[job]["spec"]["parallelism"] == int(pods)
    ),
    r"Submitting pair: two pods with ranks 0 and 1 .*": lambda s: jobs(s)["pair"]["spec"]["parallelism"] == 2,
    r"Submitting huge: 16 hosts\. Node group burst cannot grow beyond (\d+)\.": (
        lambda s, most: jobs(s)["huge"]["spec"]["parallelism"] == 16 and int(most) == most_of_burst(s)
    ),
    r"(\S+) submits (\S+): (\d+) pods with (\d+) GPUs each, .*?( \S+ is idle for a while: .*)?": (
        lambda s, team, job, pods, gpus, quiet: (
            jobs(s)[job]["metadata"]["labels"][LOW] == team
            and jobs(s)[job]["spec"]["parallelism"] == int(pods)
            and team not in (quiet or "")
        )
    ),
    r"Failing host (\S+), which runs .*": lambda s, node: node in broken(s),
    r"Failing the whole rack (\S+) with .*": lambda s, rack: rack in lost_racks(s),
    r"(All failed machines are being repaired)?.*?(llm is being cancelled by its owner)?: that makes room\.": (
        lambda s, repaired, ended: not (repaired and broken(s)) and not (ended and "llm" in jobs(s))
    ),
    r"Repairing (.+)\.": lambda s, named: not broken(s) & set(named.split(", ")),
    r"The jobs of this round are being cancelled\. The next round follows\.": (
        lambda s: not {"llm", "vision", "speech", "sweep"} & set(jobs(s)) and not broken(s)
    ),
    r"The jobs of this round are being cancelled\.": lambda s: not {"train", "huge"} & set(jobs(s)),
    r"pair is being cancelled\. .*": lambda s: "pair" not in jobs(s),
    r"(\d+) empty hosts are being removed\. .*": lambda s, _: (
        {one["metadata"]["name"] for one in s.all(kinds.NODE)}
        <= {pod["spec"].get("nodeName") for pod in s.pods()} | {"own-1"}
    ),
    r"The demo ends here: submit a job of your own\.": lambda s: s.player.due() is None,
}


def check(stage: Stage, text: str, claims: dict[str, Claim]) -> int:
    """Check a sentence; returns the number of claims that match it."""
    found = 0
    for pattern, claim in claims.items():
        match = re.fullmatch(pattern, text)
        if match is not None:
            assert claim(stage, *match.groups()), f"not true when shown, at {stage.second:.1f} s: {text}"
            found += 1
    return found
