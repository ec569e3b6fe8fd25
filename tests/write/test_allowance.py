from __future__ import annotations

from closeknit.write.token_bucket import Rate, TokenBucket

NOW = 1_700_000_000.3


def test_one_may_be_written_at_the_very_time_that_next_names() -> None:
    """At times of this size, a twentieth of a second is off by a rounding error."""
    allowance, now = TokenBucket(Rate(rate=20, burst=1)), NOW
    for _ in range(1000):
        assert allowance.take(now)
        assert not allowance.take(now)
        now = allowance.available_at


def test_a_thousand_of_them_take_their_time() -> None:
    allowance, now = TokenBucket(Rate(rate=20, burst=1)), NOW
    for _ in range(1000):
        assert allowance.take(now)
        now = allowance.available_at
    assert abs(now - NOW - 1000 / 20) < 0.1
