"""One cycle: who of those that wait starts now. Knows order, room and limits; each of them says its own verdict."""

from __future__ import annotations

from jupysched.core.actions import Action, Grant, Resume
from jupysched.core.backfill import Reserved, amount_of, place_around, reserve_for
from jupysched.core.job import Job, scopes_of
from jupysched.core.lanes import Lane, Merge, Passing
from jupysched.core.limits import bound_now
from jupysched.core.placement import Room, could_ever_fit
from jupysched.core.preempt import Contest
from jupysched.core.reserve import withheld_from
from jupysched.core.resources import Allocation, NodeName
from jupysched.core.state import Policy, State
from jupysched.core.states import JobState
from jupysched.core.times import earliest

#: jobs that backfill looks at beyond the head, at most, unless the policy's setting `depth` says otherwise
DEPTH = 1000


class Cycle:
    """Runs once; what it found is its actions and `wake_at`."""

    def __init__(self, state: State, order: Policy, now: float) -> None:
        self.state, self.order, self.now = state, order, now
        self.wake_at: float | None = order.next_change(state, now)
        #: scope -> GPUs and jobs granted in this cycle; counted only where there are limits
        self.granted: dict[str, tuple[float, int]] = {}
        self.actions: list[Action] = []
        #: jobs granted in this cycle
        self.started: list[tuple[Job, Allocation]] = []
        self.room = Room(state)
        self.merge: Merge  # made by run, if there is anything to merge for

    def run(self) -> list[Action]:
        """The actions of this cycle, in order."""
        state = self.state
        if not self.room.total and not self.order.preempts and not self._is_picky():
            return []
        merge = self.merge = state.merge(self.now)
        while (head := merge.head()) is not None:
            job = state.jobs[head[2]]
            if self._is_bound(job):
                merge.close_lane()
            elif self._start(job, self._place(job)):
                merge.take(self.started[-1][1].weight)
            elif not could_ever_fit(state, job.spec.request, usable=True):
                merge.close_lane()
            elif head[4].place < 0:
                self._backfill(job)  # moved to the front by an admin: nobody delays it, nobody is stopped for it
                break
            elif self.order.preempts:
                self._contest()
                break
            elif self.order.passing is Passing.SKIP:
                merge.close_lane()
            elif self.order.passing is Passing.EASY:
                self._backfill(job)
                break
            else:
                break
        return self.actions

    def _is_picky(self) -> bool:
        """Is there anybody who could start without a free GPU?"""
        lanes = self.state.lanes.values()
        return any(lane.request.gpus == 0 or lane.request.gpu_memory_bytes is not None for lane in lanes)

    def _place(self, job: Job) -> Allocation | None:
        return self.room.place(job.spec.request, only=_only(job))

    def _start(self, job: Job, allocation: Allocation | None) -> bool:
        """Grant it, if there is something to grant."""
        if allocation is None:
            return False
        if job.state is JobState.SUSPENDED:
            self.actions.append(Resume(job=job.id, attempt=job.attempt, allocation=allocation))
        else:
            self.actions.append(Grant(job=job.id, attempt=job.attempt + 1, allocation=allocation))
        self.room.take(allocation)
        self.started.append((job, allocation))
        if self.state.rules.need_users:
            for scope in scopes_of(job):
                gpus, jobs = self.granted.get(scope, (0.0, 0))
                self.granted[scope] = (gpus + allocation.weight, jobs + 1)
        return True

    def _is_bound(self, job: Job) -> bool:
        """Does a limit or a reservation keep it and its like from starting?"""
        if not self.state.rules.need_users:
            return False
        bound = bound_now(self.state, job, self.now, self.granted)
        if bound is None:
            bound = withheld_from(self.state, job, self.now, self.room.total, self.granted)
        if bound is None:
            return False
        self.wake_at = earliest(self.wake_at, bound.until)
        return True

    def _backfill(self, head: Job) -> None:
        """Start who cannot delay the head."""
        merge, room = self.merge, self.room
        reserved: Reserved | None = reserve_for(self.state, room, head, self.now, self.started)
        merge.pass_over()
        depth = int(self.order.settings.get("depth", DEPTH))
        while reserved is not None and room.total and depth > 0 and (found := merge.head()) is not None:
            job = self.state.jobs[found[2]]
            depth -= 1
            if self._is_bound(job) or self._all_too_long(found[4], reserved) or self._place(job) is None:
                merge.close_lane()
            elif self._start(job, place_around(self.state, room, job, reserved, self.now, only=_only(job))):
                merge.take(self.started[-1][1].weight)
            else:
                merge.pass_over()

    def _all_too_long(self, lane: Lane, reserved: Reserved) -> bool:
        """Would even the shortest of a lane still run when the head should start, on GPUs that it needs?"""
        state, request = self.state, lane.request
        if len(state.nodes) > 1 or state.rules.limits or request.gpu_memory_bytes or request.gpu_type:
            return False
        if reserved.spare.covers(amount_of(request)):
            return False
        return len(lane.limits) == len(lane.entries) and self.now + float(lane.limits[0]) > reserved.at

    def _contest(self) -> None:
        """Walk on through the queue, with the GPUs of those who rank behind within reach."""
        merge = self.merge
        first = merge.heads[0]
        walk = Contest(self.state, self.order, self.room, self.now, first[:3])
        while walk.reach and (head := merge.head()) is not None:
            walk.settle_until(head[0], head[1], head[2])
            job = self.state.jobs[head[2]]
            request = job.spec.request
            if request.gpus > (walk.most if request.nodes == 1 else walk.reach):
                merge.close_wider(walk.most, walk.reach)
            elif self._is_bound(job):
                merge.close_lane()
            elif self._start(job, self._place(job)):
                granted = self.started[-1][1]
                walk.touched(granted.nodes)
                merge.take(granted.weight)
            elif walk.promise(job):
                merge.take()
            else:
                merge.close_lane()
        walk.settle_rest()
        self.actions += walk.stops()


def _only(job: Job) -> tuple[NodeName, ...] | None:
    """One that was suspended can go on where it is, and nowhere else."""
    return job.ran_on.nodes if job.state is JobState.SUSPENDED and job.ran_on else None
