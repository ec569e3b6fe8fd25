from __future__ import annotations

import pytest

from closeknit.cluster.embedded.rules.cron import schedule_mistake


@pytest.mark.parametrize(
    "schedule",
    [
        "* * * * *",
        " * * * * * ",
        "*/5 * * * MON-FRI",
        "0 0 31 2 *",
        "? * * * *",
        "0 0 1 JAN *",
        "0-59/70 * * * *",
        "5/15 * * * *",
        "1, * * * *",
        "* * * * MON-5",
        "@daily",
        "@midnight",
        "@every 1h",
        "@every 1h30m",
        "@every 1.5h",
        "@every 0s",
    ],
)
def test_schedules_that_an_api_server_takes(schedule: str) -> None:
    assert schedule_mistake(schedule) == ""


@pytest.mark.parametrize(
    "schedule",
    [
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "1,2,60 * * * *",
        "5-1 * * * *",
        "*/0 * * * *",
        "*/ * * * *",
        "1-3-4 * * * *",
        "1/2/3 * * * *",
        "-1 * * * *",
        "0 0 0 * *",
        "0 0 * 13 *",
        "0 0 * * 7",
        "0 0 L * *",
        "a b c d e",
        "@foo",
        "@YEARLY",
        "@every x",
        "TZ=UTC * * * * *",
        "CRON_TZ=UTC * * * * *",
    ],
)
def test_schedules_that_an_api_server_refuses(schedule: str) -> None:
    assert schedule_mistake(schedule)


def test_the_sentence_names_the_entry_and_what_is_allowed() -> None:
    assert schedule_mistake("1,60 * * * *") == (
        "'60' is not a minute: use 0 to 59, ranges such as 0-59, steps as in */5"
    )
