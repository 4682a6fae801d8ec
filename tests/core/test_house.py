"""The invariants of DESIGN 7, under every policy, whatever happens in whatever order (a state machine)."""

from copy import deepcopy

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from jupysched.core import events as ev
from jupysched.core import front
from jupysched.core.decide import decide
from jupysched.core.explain import explain
from jupysched.core.fold import EVENT_NAMES, fold, is_heard
from jupysched.core.invariants import check
from jupysched.core.job import Exit, Priority, Submission
from jupysched.core.policies import POLICIES
from jupysched.core.resources import GpuId, GpuKind, NodeName
from jupysched.core.state import State
from jupysched.core.states import ENDED, HOLDING, TRANSITIONS, JobState, Reason
from tests.core.builders import FAILED, GIB, OK, asked, event_of, joined

USERS = ("ann", "bob", "eve")
NODES = {"n1": 4, "n2": 2, "n3": 3}
SETTINGS = [{}, {"preempt": "on"}, {"preempt": "on", "preempt_by": "suspend", "min_run_s": "0"}, {"backfill": "skip"}]


class House(RuleBasedStateMachine):
    """A daemon's life without a daemon."""

    policy = "priority"

    def __init__(self) -> None:
        super().__init__()
        self.state = State()
        self.journal: list[ev.Event] = []
        #: what came with a key, and was answered
        self.answered: dict[str, range] = {}
        self.now = 1000.0

    def say(self, event: ev.Event) -> None:
        """Journal it and fold it; a change must be in the table."""
        before = dict(self.state.jobs)
        self.journal.append(event)
        fold(self.state, event)
        name = EVENT_NAMES.get(type(event))
        for job_id, old in before.items():
            new = self.state.jobs.get(job_id)
            if new is not None and new.state is not old.state:
                assert name is not None
                assert new.state in TRANSITIONS[old.state, name], (old.state, name, new.state)

    @initialize(chosen=st.sampled_from(SETTINGS), slots=st.booleans())
    def begin(self, chosen, slots):
        kind = GpuKind.CPU_SLOT if slots else GpuKind.GPU
        self.kind = kind
        self.say(ev.PolicySet(at=self.now, by="root", name=self.policy, settings=chosen))
        self.say(joined("n1", 4, at=self.now, kind=kind))

    @rule(name=st.sampled_from(sorted(NODES)))
    def join(self, name):
        self.say(
            joined(name, NODES[name], at=self.now, kind=self.kind, cpus=4, gpu_name="A100" if name == "n2" else "H200")
        )

    @rule(name=st.sampled_from(sorted(NODES)))
    def lose_node(self, name):
        self.say(ev.NodeLost(at=self.now, node=NodeName(name)))

    @rule(
        gpus=st.integers(0, 4),
        user=st.sampled_from(USERS),
        priority=st.sampled_from(list(Priority)),
        after=st.booleans(),
        retries=st.integers(0, 1),
        time_s=st.sampled_from([None, 30.0, 300.0]),
        more=st.sampled_from(
            [{}, {}, {}, {"cpus": 2}, {"gpu_type": "a100"}, {"gpu_memory_bytes": 30 * GIB}, {"nodes": 2}, {"nodes": 0}]
        ),
    )
    def submit(self, gpus, user, priority, after, retries, time_s, more):
        if "gpu_memory_bytes" in more or "nodes" in more:
            gpus = 1 if "gpu_memory_bytes" in more else max(2, gpus)
        before = [j for j in self.state.jobs if after][-1:]
        number = self.state.next_id
        self.say(
            asked(
                number, gpus, at=self.now, user=user, priority=priority, after=before, retries=retries, time_s=time_s,
                groups=("vision",) if user == "ann" else (), **more,
            )
        )  # fmt: skip

    @rule(count=st.integers(1, 3))
    def submit_together(self, count):
        first = self.state.next_id
        sent = Submission(key=f"k{first}", jobs=count)
        self.answered[sent.key] = range(first, first + count)
        for number in self.answered[sent.key]:
            self.say(asked(number, at=self.now, submission=sent if number == first else None))

    @rule()
    def what_is_sent_again_is_answered_alike_as_long_as_its_first_job_is_kept(self):
        for key, jobs in self.answered.items():
            assert self.state.submissions.get((1000, key)) == (jobs if jobs.start in self.state.jobs else None)

    @rule(seconds=st.sampled_from([0.0, 1.0, 20.0, 400.0, 90000.0]))
    def tick(self, seconds):
        self.now += seconds

    @rule()
    def cycle(self):
        for turn in range(6):
            plan = decide(self.state, now=self.now)
            if not plan.actions:
                break
            assert turn < 1, f"no fixed point: {plan}"
            for action in plan.actions:
                event = event_of(action, self.now)
                assert is_heard(self.state.jobs[event.job], event), f"{action} is not possible"
                self.say(event)
                check(self.state)

    def _pick(self, data, states):
        jobs = [j for j in self.state.jobs.values() if j.state in states]
        return data.draw(st.sampled_from(jobs)) if jobs else None

    @rule(data=st.data(), exit_=st.sampled_from([OK, FAILED, Exit(signal=9), Exit(out_of_memory=True)]))
    def attempt_speaks(self, data, exit_):
        job = self._pick(data, {*HOLDING, JobState.SUSPENDED})
        if job is None:
            return
        at, attempt = self.now, job.attempt
        said = data.draw(
            st.sampled_from(
                [
                    ev.AttemptStarted(at=at, job=job.id, attempt=attempt),
                    ev.AttemptEnded(at=at, job=job.id, attempt=attempt, exit=exit_),
                    ev.AttemptRefused(at=at, job=job.id, attempt=attempt, sentence="no such interpreter"),
                    ev.AttemptLost(at=at, job=job.id, attempt=attempt),
                ]
            )
        )
        self.say(said)

    @rule(data=st.data(), stale=st.integers(1, 3))
    def a_fenced_voice_changes_nothing(self, data, stale):
        job = self._pick(data, set(JobState))
        if job is None:
            return
        at, attempt = self.now, job.attempt + (-stale if stale < 3 else 1)
        before = deepcopy(self.state.jobs)
        for said in (
            ev.AttemptStarted(at=at, job=job.id, attempt=attempt),
            ev.AttemptEnded(at=at, job=job.id, attempt=attempt, exit=OK),
            ev.AttemptLost(at=at, job=job.id, attempt=attempt),
            ev.StopOrdered(
                at=at, job=job.id, attempt=attempt, reason=Reason.CANCELLED_BY_USER, then=JobState.CANCELLED
            ),
        ):
            self.say(said)
        assert self.state.jobs == before

    @rule(data=st.data(), by=st.sampled_from(USERS))
    def person_asks(self, data, by):
        job = self._pick(data, set(JobState))
        if job is None:
            return
        at = self.now
        cancelled = ev.StopOrdered(
            at=at, job=job.id, attempt=job.attempt, reason=Reason.CANCELLED_BY_USER, then=JobState.CANCELLED
        )
        self.say(
            data.draw(
                st.sampled_from(
                    [
                        ev.HoldAsked(at=at, job=job.id, by=by),
                        ev.ReleaseAsked(at=at, job=job.id, by=by),
                        ev.CancelAsked(at=at, job=job.id, by=by),
                        ev.RequeueAsked(at=at, job=job.id, by=by),
                        ev.PriorityChanged(at=at, job=job.id, by=by, priority=Priority.HIGH),
                        cancelled,
                    ]
                )
            )
        )

    @rule(data=st.data(), by=st.sampled_from(USERS), is_admin=st.booleans())
    def moved_to_the_front(self, data, by, is_admin):
        pending = [j for j in self.state.jobs.values() if j.state is JobState.PENDING]
        if not pending:
            return
        jobs = data.draw(st.lists(st.sampled_from(pending), min_size=1, max_size=3, unique_by=lambda j: j.id))
        ages = sorted(round(j.since, 3) for j in pending)
        for said in (front.ahead_of_all if is_admin else front.ahead_of_own)(self.state, jobs, by=by, at=self.now):
            self.say(said)
        assert ages == sorted(round(self.state.jobs[j.id].since, 3) for j in pending)

    @rule(index=st.integers(0, 3), node=st.sampled_from(sorted(NODES)), cause=st.sampled_from(["admin", "probe"]))
    def drain(self, index, node, cause):
        gpu = GpuId(f"{node}-{index}")
        drained = gpu in self.state.gpus and cause in self.state.gpus[gpu].drains
        if drained:
            self.say(ev.GpuRestored(at=self.now, gpu=gpu, cause=cause))
        else:
            self.say(ev.GpuDrained(at=self.now, gpu=gpu, cause=cause, sentence="drained by root"))

    @rule(index=st.integers(0, 3), there=st.booleans())
    def foreign(self, index, there):
        self.say(ev.GpuForeign(at=self.now, gpu=GpuId(f"n1-{index}"), sentences=("PID 812",) if there else ()))

    @rule(
        scope=st.sampled_from(["user:*", "user:bob", "group:vision", "class:low"]),
        limits=st.sampled_from([{}, {"gpus": 2.0}, {"running": 1.0}, {"gpu_minutes_day": 3.0}, {"time_s": 60.0}]),
    )
    def limit(self, scope, limits):
        self.say(ev.LimitsSet(at=self.now, by="root", scope=scope, limits=limits))

    @rule(gpus=st.integers(0, 3), wait=st.sampled_from([0.0, 100.0]))
    def reserve(self, gpus, wait):
        if gpus:
            self.say(
                ev.ReservationMade(
                    at=self.now, by="root", name="demo", scope="user:eve", gpus=gpus, starts_at=self.now + wait,
                    ends_at=self.now + wait + 500,
                )
            )  # fmt: skip
        else:
            self.say(ev.ReservationEnded(at=self.now, by="root", name="demo"))

    @rule(chosen=st.sampled_from(SETTINGS))
    def policy_set_again(self, chosen):
        self.say(ev.PolicySet(at=self.now, by="root", name=self.policy, settings=chosen))

    @rule()
    def forget(self):
        ids = tuple(j for j, job in self.state.jobs.items() if job.state in ENDED and j % 2)
        self.say(ev.Forgotten(at=self.now, jobs=ids))

    @rule()
    @precondition(lambda self: len(self.journal) % 5 == 0)
    def replaying_rebuilds_the_state(self):
        again = State()
        for event in self.journal:
            fold(again, event)
        assert again == self.state

    @rule()
    def everybody_is_told_why(self):
        for job in self.state.jobs.values():
            told = explain(self.state, job.id, now=self.now)
            if job.state is JobState.PENDING:
                assert told.sentence
                assert told.reason is not None

    @rule()
    def those_that_run_stand_where_they_would_if_all_were_ranked_anew(self):
        state, order, now = self.state, self.state.order, self.now
        runners = state.look_at_runners(now)
        whole = {j.id: j for j in state.holding.values() if j.allocation and j.allocation.gpu_memory_bytes is None}
        assert set(runners.stopping) == {j for j, job in whole.items() if job.state is JobState.STOPPING}
        assert set(runners.places) == set(whole) - set(runners.stopping)
        assert sorted(runners.places.values()) == list(runners.ranked)
        if self.policy != "adaptive":  # its ranks are good enough for a while
            assert [r for r, _, j in runners.ranked] == [
                order.running_rank(state, whole[j], now) for _, _, j in runners.ranked
            ]
        due = runners.next_due()
        assert due is None or due > now

    @invariant()
    def nobody_hides_who_ranks_ahead_in_a_lane(self):
        # Else one who should give way is granted anew before the one for whom it was stopped, for ever.
        order, now = self.state.order, self.now
        for lane in self.state.lanes.values():
            ranks = [order.rank(self.state, lane, entry, {}, now)[:1] for entry in lane.entries]
            assert ranks == sorted(ranks), (lane.key, ranks)

    @invariant()
    def all_is_well(self):
        check(self.state)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_the_invariants_hold_under(policy):
    machine = type(f"House_{policy}", (House,), {"policy": policy})
    profile = settings()
    run_state_machine_as_test(
        machine,
        settings=settings(
            profile, max_examples=max(20, profile.max_examples // 2), stateful_step_count=40, report_multiple_bugs=False
        ),
    )
