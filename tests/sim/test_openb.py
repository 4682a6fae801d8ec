"""A cluster gets fuller where it is known what is asked for (a part of openb; benchmarks/bench_openb.py has all of it)."""

from statistics import mean

from benchmarks.bench_openb import arrivals, fill, nodes

#: one node in so many, and fillings
EVERY, SEEDS = 16, range(3)


def rates(*, learns):
    return [fill(arrivals(seed, EVERY, shuffled=True), nodes(seed, EVERY), learns=learns).percent for seed in SEEDS]


def test_placement_by_gradient_fills_more_gpus_than_best_fit():
    assert mean(rates(learns=True)) > mean(rates(learns=False)) + 0.1


def test_requests_are_for_130_percent_of_the_gpus_and_some_are_turned_away():
    run = fill(arrivals(0, EVERY, shuffled=False), nodes(0, EVERY), learns=True)
    assert 1.3 <= run.asked / run.gpus < 1.33
    assert run.granted <= run.gpus
    assert run.turned_away > 0
