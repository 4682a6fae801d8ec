"""The daemon's clock goes on when somebody sets the system's."""

import time

import pytest

from jupysched.adapters.system_clock import SystemClock


@pytest.mark.parametrize("jump_s", [-3600.0, 3600.0])
def test_setting_the_system_clock_does_not_move_it(monkeypatch: pytest.MonkeyPatch, jump_s: float) -> None:
    clock = SystemClock()
    before, wall = clock.now(), time.time
    monkeypatch.setattr(time, "time", lambda: wall() + jump_s)
    assert 0 <= clock.now() - before < 60


def test_it_begins_at_unix_time() -> None:
    assert abs(SystemClock().now() - time.time()) < 1
