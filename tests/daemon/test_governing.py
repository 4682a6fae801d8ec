"""What admins set: policies, limits, shares, reservations; and who may."""

import os

import pytest

from jupysched.core import events as ev
from jupysched.core.errors import BadRequest, NotYours, OverLimit
from jupysched.core.fold import fold
from jupysched.daemon import loop
from jupysched.daemon.auth import Person
from jupysched.wire import requests as ask
from tests.daemon.scripted import ADMIN, House

ME = Person(uid=os.getuid(), name="me", is_admin=False, groups=("vision",))


@pytest.fixture
async def house():
    return await House().open()


def submit(house, tmp_path, count=1, **fields):
    return house.api.serve(ME, ask.Submit(jobs=[ask.SpecRecord(name="x", directory=str(tmp_path), **fields)] * count))


@pytest.mark.parametrize(
    "request_",
    [
        ask.Policy(name="fifo"),
        ask.Limit(scope="user:me", limits={"gpus": 1}),
        ask.Share(scope="user:me"),
        ask.Reserve(name="demo", scope="user:me", gpus=1, starts_at=1, ends_at=2),
    ],
)
async def test_only_an_admin_governs(house, request_):
    with pytest.raises(NotYours):
        house.api.serve(ME, request_)


async def test_a_policy_that_was_set_survives_the_daemon_with_its_settings(house):
    house.api.serve(ADMIN, ask.Policy(name="fair-share", settings={"half_life_s": "3600"}))
    again = await House(house.journal).open()
    found = again.api.serve(ME, ask.Policy())
    assert ("fair-share", {"half_life_s": "3600"}) == (found.name, found.settings)
    assert {"fifo", "priority", "round-robin", "fair-share", "feedback", "shortest", "adaptive"} <= set(found.known)


async def test_an_unknown_policy_scope_or_limit_is_named(house):
    for request in (
        ask.Policy(name="lottery"),
        ask.Limit(scope="everybody", limits={"gpus": 1}),
        ask.Limit(scope="user:me", limits={"gpuz": 1}),
        ask.Limit(scope="user:me", limits={"gpus": -1}),
        ask.Share(scope="user:me", share=-1),
        ask.Reserve(name="demo", scope="user:me", gpus=9, starts_at=1, ends_at=2),
        ask.Reserve(name="demo", scope="user:me", gpus=1, starts_at=2, ends_at=1),
        ask.Reserve(name="nothing"),
    ):
        before = len(house.journal.events)
        with pytest.raises(BadRequest, match=r"lottery|everybody|gpuz|-1|9 GPUs|before it begins|nothing"):
            house.api.serve(ADMIN, request)
        assert before == len(house.journal.events)


async def test_over_a_limit_a_job_waits_with_the_sentence_that_says_which(house, tmp_path):
    house.api.serve(ADMIN, ask.Limit(scope="user:me", limits={"running": 1}))
    submit(house, tmp_path, 2)
    house.cycle()
    assert [(1, 1)] == house.orders()
    waiting = house.api.serve(ME, ask.Show(job=2))
    assert "quota" == waiting.reason
    assert "me may have 1 job running at once, and has as many" == waiting.why
    house.succeed(1)
    assert [(1, 1), (2, 1)] == house.orders()


async def test_a_submission_that_no_wait_can_help_is_refused(house, tmp_path):
    house.api.serve(ADMIN, ask.Limit(scope="group:vision", limits={"pending": 1}))
    submit(house, tmp_path, 3)[:0]
    house.cycle()
    with pytest.raises(OverLimit, match="1 job waiting"):
        submit(house, tmp_path)


async def test_usage_shows_what_was_used_and_the_limits(house, tmp_path):
    house.api.serve(ADMIN, ask.Limit(scope="user:me", limits={"gpus": 2}))
    house.api.serve(ADMIN, ask.Share(scope="user:me", share=3))
    submit(house, tmp_path)
    house.cycle()
    house.say(1, "running")
    house.clock.advance(100)
    mine = next(u for u in house.api.serve(ME, ask.Usage()) if u.scope == "user:me")
    assert (1, 1, 100, 3, {"gpus": 2}) == (mine.gpus, mine.running, mine.gpu_seconds, mine.share, mine.limits)


async def test_a_reservation_is_listed_and_ended(house):
    made = house.api.serve(ADMIN, ask.Reserve(name="demo", scope="group:vision", gpus=1, starts_at=1e6, ends_at=2e6))
    assert [("demo", "group:vision", 1)] == [(r.name, r.scope, r.gpus) for r in made]
    assert [] == house.api.serve(ADMIN, ask.Reserve(name="demo"))


@pytest.mark.parametrize(
    ("policy", "settings", "sentence"),
    [
        ("priority", {"class_s": "abc"}, "The setting class_s of priority is 'abc'; expected a number above 0."),
        ("priority", {"class_s": "0"}, "The setting class_s of priority is '0'; expected a number above 0."),
        ("adaptive", {"age": "-1"}, "The setting age of adaptive is '-1'; expected a number of 0 or more."),
        (
            "feedback",
            {"levels": "10,x"},
            "The setting levels of feedback is '10,x'; expected numbers above 0, separated by commas.",
        ),
        ("fifo", {"backfill": "some"}, "The setting backfill of fifo is 'some'; expected none, skip or easy."),
        ("fifo", {"depth": "1.5"}, "The setting depth of fifo is '1.5'; expected a whole number of 0 or more."),
        ("shortest", {"weigh_gpus": "perhaps"}, "The setting weigh_gpus of shortest is 'perhaps'; expected on or off."),
        (
            "fair-share",
            {"half_life_s": "nan"},
            "The setting half_life_s of fair-share is 'nan'; expected a number above 0.",
        ),
        (
            "fifo",
            {"bogus": "1"},
            "fifo has no setting 'bogus'; it has backfill, depth, min_run_s, most_preemptions, preempt, preempt_by.",
        ),
    ],
)
async def test_a_setting_that_cannot_be_used_is_refused_before_it_is_written_down(house, policy, settings, sentence):
    before = len(house.journal.events)
    with pytest.raises(BadRequest) as refused:
        house.api.serve(ADMIN, ask.Policy(name=policy, settings=settings))
    assert sentence == str(refused.value)
    assert before == len(house.journal.events)


async def test_a_journal_that_has_such_a_setting_is_read_without_it(house):
    house.journal.append([ev.PolicySet(at=0, by="admin", name="priority", settings={"class_s": "abc", "fair_s": "5"})])
    again = await House(house.journal).open()
    assert "priority" == again.api.serve(ME, ask.Policy()).name
    assert {"fair_s": "5"} == again.loop.state.order.settings


async def test_an_event_that_cannot_be_applied_costs_itself_and_not_the_queue(house, tmp_path, monkeypatch):
    submit(house, tmp_path)
    house.api.serve(ADMIN, ask.Share(scope="user:me", share=2))

    def broken(state, event):
        if isinstance(event, ev.ShareSet):
            raise ZeroDivisionError
        return fold(state, event)

    monkeypatch.setattr(loop, "fold", broken)
    again = await House(house.journal).open()
    assert [1] == list(again.loop.state.jobs)
    assert "a fault of jupysched: ShareSet in the journal was passed over (see the log)" in again.loop.notices
