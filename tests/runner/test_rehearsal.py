"""A pair that waits does beforehand what its job will do first, and no job can tell."""

import os
import random
from typing import Any

import numpy as np
import pytest

from jupysched.namespace import ambient, unpack
from jupysched.runner import values


def test_a_rehearsal_loads_as_a_job_does_and_leaves_everything_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Any] = []
    load = unpack.load_inputs
    monkeypatch.setattr(unpack, "load_inputs", lambda *args: loaded.append(load(*args)))
    before, descriptors = ambient.collect(), os.listdir("/proc/self/fd")
    values.rehearse()
    assert isinstance(loaded[0], unpack.Baseline)
    assert before == ambient.collect()
    assert len(descriptors) == len(os.listdir("/proc/self/fd"))


def test_a_rehearsal_that_fails_costs_no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "memfd_create", full)
    values.rehearse()


def test_jobs_after_a_rehearsal_draw_what_they_would_have_drawn() -> None:
    random.seed(1)
    np.random.seed(1)
    values.rehearse()
    drawn = random.random(), np.random.rand()
    random.seed(1)
    np.random.seed(1)
    assert drawn == (random.random(), np.random.rand())
