"""Who may read metrics, decisions and configuration: users that the API server accepts and authorises."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from closeknit.cluster.kube.client import Client
from closeknit.host.access import HEADER, IN_FLIGHT, KEPT, MOST_KEPT, TokenAccess
from closeknit.host.http_server import Query
from host.reviews import TOKEN, Reviews

METRICS = "/metrics"


def access(reviews: Reviews | None, clock: list[float] | None = None) -> TokenAccess:
    found = TokenAccess(lambda: 0.0 if clock is None else clock[0])
    found.client = cast(Client | None, reviews)
    return found


def query(token: str | None = TOKEN, path: str = METRICS) -> Query:
    return Query("GET", path, {}, {} if token is None else {"authorization": f"Bearer {token}"})


def status(of: TokenAccess, asked: Query) -> int:
    refused = asyncio.run(of.refusal(asked))
    return 200 if refused is None else refused.status


@pytest.mark.parametrize("audience", ["", "closeknit"])
def test_a_token_of_the_api_server_or_one_issued_for_us_is_accepted(audience: str) -> None:
    assert status(access(Reviews(audience=audience)), query()) == 200


@pytest.mark.parametrize("token", [None, "", "wrong", "x" * 20_000])
def test_a_request_without_a_known_token_is_unauthorized(token: str | None) -> None:
    assert status(access(Reviews()), query(token)) == 401


def test_other_schemes_than_bearer_are_no_token() -> None:
    asked = Query("GET", METRICS, {}, {"authorization": f"Basic {TOKEN}"})
    assert status(access(Reviews()), asked) == 401


def test_a_token_in_the_header_that_the_proxy_passes_on_is_accepted() -> None:
    asked = Query("GET", METRICS, {}, {HEADER.lower(): TOKEN})
    assert status(access(Reviews()), asked) == 200


def test_a_user_that_may_not_get_the_path_is_forbidden() -> None:
    reviews = Reviews(paths=(METRICS,))
    assert status(access(reviews), query()) == 200
    assert status(access(reviews), query(path="/closeknit/config")) == 403


def test_answers_are_kept_for_half_a_minute_even_refusals() -> None:
    clock, reviews = [0.0], Reviews()
    of = access(reviews, clock)
    for token, expected in ((TOKEN, 200), ("wrong", 401)):
        before = len(reviews.asked)
        assert {status(of, query(token)) for _ in range(10)} == {expected}
        assert len(reviews.asked) - before <= 3
    asked = len(reviews.asked)
    clock[0] = KEPT - 1
    assert status(of, query()) == 200
    assert len(reviews.asked) == asked
    clock[0] = KEPT + 1
    assert status(of, query()) == 200
    assert len(reviews.asked) > asked


def test_the_answers_that_are_kept_are_bounded() -> None:
    of = access(Reviews())

    async def guess() -> None:
        for number in range(MOST_KEPT + 50):
            await of.refusal(query(f"guess-{number}"))

    asyncio.run(guess())
    assert len(of._kept) == MOST_KEPT


def test_a_flood_of_tokens_is_no_flood_of_reviews() -> None:
    class Slow(Reviews):
        at_once = most = 0

        async def tree(self, method: str, where: str, body: dict[str, object]) -> dict[str, object]:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            await asyncio.sleep(0.01)
            self.at_once -= 1
            return {"status": {}}

    reviews = Slow()
    of = access(reviews)

    async def guess() -> list[int]:
        answers = await asyncio.gather(*(of.refusal(query(f"guess-{number}")) for number in range(100)))
        return [0 if one is None else one.status for one in answers]

    found = asyncio.run(guess())
    assert set(found) == {401, 503}
    assert reviews.most == IN_FLIGHT


def test_nothing_is_readable_while_tokens_cannot_be_checked() -> None:
    assert status(access(None), query()) == 503
    reviews = Reviews()
    reviews.is_forbidden = True
    of = access(reviews)
    assert status(of, query()) == 503
    reviews.is_forbidden = False
    assert status(of, query()) == 200
