from __future__ import annotations

from closeknit.write.allowance import Allowance, Pace

NOW = 1_700_000_000.3


def test_one_may_be_written_at_the_very_time_that_next_names() -> None:
    """At times of this size, a twentieth of a second is off by a rounding error."""
    allowance, now = Allowance(Pace(rate=20, burst=1)), NOW
    for _ in range(1000):
        assert allowance.taken(now)
        assert not allowance.taken(now)
        now = allowance.next


def test_a_thousand_of_them_take_their_time() -> None:
    allowance, now = Allowance(Pace(rate=20, burst=1)), NOW
    for _ in range(1000):
        assert allowance.taken(now)
        now = allowance.next
    assert abs(now - NOW - 1000 / 20) < 0.1
