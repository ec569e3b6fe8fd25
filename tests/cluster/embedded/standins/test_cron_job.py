from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from closeknit.cluster.embedded.standins.binder import Binder
from closeknit.cluster.embedded.standins.cron_job import CronJobs
from closeknit.cluster.embedded.standins.cron_schedule import schedule, zone
from closeknit.cluster.embedded.standins.garbage import GarbageCollector
from closeknit.cluster.embedded.standins.job import BatchJobs
from closeknit.cluster.embedded.standins.kubelet import Kubelet
from closeknit.cluster.kinds import CRON_JOB, JOB
from closeknit.cluster.port import Raw
from cluster.embedded.standins.playground import Playground, template


def standins() -> list[Any]:
    return [CronJobs(), BatchJobs(), Binder(), Kubelet(), GarbageCollector()]


def playground() -> Playground:
    """It is 22:13:20."""
    host = Playground(*standins())
    host.node("n1")
    return host


def body(run_time: str = "10s", **spec: Any) -> Raw:
    inner = {
        "metadata": {"labels": {"team": "blue"}, "annotations": {"a": "b"}},
        "spec": {"suspend": False, "template": template({"closeknit.dev/run-time": run_time})},
    }
    return {"metadata": {"name": "c"}, "spec": {"schedule": "*/5 * * * *", "jobTemplate": inner, **spec}}


def test_a_job_is_created_on_schedule() -> None:
    host = playground()
    host.create(CRON_JOB, body())
    host.run(99)
    assert host.names(JOB) == []
    host.run(2)
    (job,) = host.all(JOB)
    assert job["metadata"]["name"] == "c-28333335"
    assert job["metadata"]["annotations"] == {
        "a": "b",
        "batch.kubernetes.io/cronjob-scheduled-timestamp": "2023-11-14T22:15:00Z",
    }
    assert job["metadata"]["labels"]["team"] == "blue"
    assert job["metadata"]["ownerReferences"][0]["kind"] == "CronJob"
    status = host.get(CRON_JOB, "c")["status"]
    assert status["lastScheduleTime"] == "2023-11-14T22:15:00Z"
    assert [one["name"] for one in status["active"]] == ["c-28333335"]
    host.run(15)
    status = host.get(CRON_JOB, "c")["status"]
    assert "active" not in status
    assert status["lastSuccessfulTime"] == "2023-11-14T22:15:11Z"
    host.run(300)
    assert host.names(JOB) == ["c-28333335", "c-28333340"]


def test_finished_jobs_beyond_the_history_limit_are_deleted() -> None:
    host = playground()
    host.create(CRON_JOB, body(successfulJobsHistoryLimit=2))
    host.run(3600)
    assert host.names(JOB) == ["c-28333385", "c-28333390"]


def test_a_suspended_cron_job_waits_and_does_not_catch_up_on_all() -> None:
    host = playground()
    host.create(CRON_JOB, body(suspend=True))
    host.run(3600)
    assert host.names(JOB) == []
    host.patch(CRON_JOB, "c", {"spec": {"suspend": False}})
    host.settle()
    assert host.names(JOB) == ["c-28333390"]


def test_a_missed_time_that_is_too_long_ago_does_not_count() -> None:
    host = playground()
    host.create(CRON_JOB, body(suspend=True, startingDeadlineSeconds=60))
    host.run(3600)  # 23:13:20
    host.patch(CRON_JOB, "c", {"spec": {"suspend": False}})
    host.settle()
    assert host.names(JOB) == []
    host.run(120)
    assert host.names(JOB) == ["c-28333395"]


def test_forbid_waits_for_the_job_before() -> None:
    host = playground()
    host.create(CRON_JOB, body("7m", concurrencyPolicy="Forbid"))
    host.run(100 + 301)
    assert host.names(JOB) == ["c-28333335"]
    host.run(121)
    assert host.names(JOB) == ["c-28333335", "c-28333340"]


def test_replace_ends_the_job_before() -> None:
    host = playground()
    host.create(CRON_JOB, body("7m", concurrencyPolicy="Replace"))
    host.run(100 + 305)
    assert host.names(JOB) == ["c-28333340"]


def test_allow_lets_both_run() -> None:
    host = playground()
    host.create(CRON_JOB, body("7m"))
    host.run(100 + 301)
    assert host.names(JOB) == ["c-28333335", "c-28333340"]
    assert len(host.get(CRON_JOB, "c")["status"]["active"]) == 2


def test_a_restart_creates_no_job_twice() -> None:
    host = playground()
    host.create(CRON_JOB, body())
    host.run(101)
    host.start(standins())
    host.run(10)
    assert host.names(JOB) == ["c-28333335"]


def at(text: str, where: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(where)).timestamp()


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("* * * * *", "2026-01-31T12:00:00", "2026-01-31T12:01:00"),
        ("*/15 * * * *", "2026-01-31T12:50:00", "2026-01-31T13:00:00"),
        ("0 2 * * 1-5", "2026-01-30T03:00:00", "2026-02-02T02:00:00"),
        ("0 2 * * MON-FRI", "2026-01-30T03:00:00", "2026-02-02T02:00:00"),
        ("30 4 1,15 * 5", "2026-01-01T05:00:00", "2026-01-02T04:30:00"),
        ("0 0 29 2 *", "2026-01-01T00:00:00", "2028-02-29T00:00:00"),
        ("0 0 * * 7", "2026-01-31T00:00:00", "2026-02-01T00:00:00"),
        ("5/20 0 * * *", "2026-01-31T00:06:00", "2026-01-31T00:25:00"),
        ("@monthly", "2026-01-31T00:06:00", "2026-02-01T00:00:00"),
        ("0 0 1 JAN ?", "2026-01-31T00:06:00", "2027-01-01T00:00:00"),
    ],
)
def test_the_next_time(text: str, after: str, expected: str) -> None:
    assert schedule(text).after(at(after)) == at(expected)


def test_a_day_that_never_occurs() -> None:
    assert schedule("0 0 30 2 *").after(at("2026-01-01T00:00:00")) is None


def test_the_last_time_up_to_now() -> None:
    assert schedule("0 2 * * 1-5").until(at("2026-02-01T00:00:00")) == at("2026-01-30T02:00:00")
    assert schedule("0 2 * * *").until(at("2026-02-01T02:00:00")) == at("2026-02-01T02:00:00")


def test_times_are_those_of_the_zone() -> None:
    berlin = zone("Europe/Berlin")
    assert schedule("0 2 * * *").after(at("2026-01-31T12:00:00"), berlin) == at("2026-02-01T01:00:00")
    # In the night to 29 March 2026 the clocks skip from 2 to 3: half past two does not occur.
    found = schedule("30 2 * * *").after(at("2026-03-28T12:00:00"), berlin)
    assert found == at("2026-03-30T02:30:00", "Europe/Berlin")
    # On 25 October they show half past two twice: it counts once.
    first = schedule("30 2 * * *").after(at("2026-10-24T12:00:00"), berlin)
    assert first is not None
    assert datetime.fromtimestamp(first, UTC).isoformat() == "2026-10-25T00:30:00+00:00"
    assert schedule("30 2 * * *").after(first, berlin) == at("2026-10-26T02:30:00", "Europe/Berlin")


@pytest.mark.parametrize("text", ["", "* * * *", "60 * * * *", "* * * * mop", "*/0 * * * *", "5-1 * * * *", "@often"])
def test_an_invalid_schedule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        schedule(text)


def test_an_unknown_time_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="not a time zone"):
        zone("Europe/Nowhere")
