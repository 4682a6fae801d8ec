"""States and events for the tests of the core, in few words."""

from collections.abc import Iterable

from jupysched.core import events as ev
from jupysched.core.actions import Action, End, Grant, Plan, Resume, Stop, Suspend
from jupysched.core.decide import decide
from jupysched.core.fold import fold
from jupysched.core.job import Exit, Job, JobId, JobSpec, Priority, Submission, UserName
from jupysched.core.resources import Gpu, GpuId, GpuKind, Node, NodeName, Request
from jupysched.core.state import State
from jupysched.core.states import JobState

OK = Exit(code=0, outcome="ok")
FAILED = Exit(code=1, outcome="error", error="ValueError")
GIB = 1 << 30


def joined(
    name: str = "n1",
    gpus: int = 4,
    *,
    at: float = 0.0,
    cpus: int = 16,
    memory: int = 64 * GIB,
    gpu_name: str = "H200",
    gpu_memory: int | None = 80 * GIB,
    kind: GpuKind = GpuKind.GPU,
    links: dict[tuple[int, int], str] | None = None,
) -> ev.NodeJoined:
    """A node and its GPUs."""
    found = tuple(
        Gpu(id=GpuId(f"{name}-{i}"), node=NodeName(name), index=i, name=gpu_name, memory_bytes=gpu_memory, kind=kind)
        for i in range(gpus)
    )
    node = Node(name=NodeName(name), cpus=cpus, memory_bytes=memory, gpus=tuple(g.id for g in found), links=links or {})
    return ev.NodeJoined(at=at, node=node, gpus=found)


def asked(
    job: int,
    gpus: int = 1,
    *,
    at: float = 0.0,
    user: str = "ann",
    priority: Priority = Priority.NORMAL,
    after: Iterable[int] = (),
    retries: int = 0,
    time_s: float | None = None,
    groups: tuple[str, ...] = (),
    submission: Submission | None = None,
    **request: object,
) -> ev.Submitted:
    """A submission."""
    spec = JobSpec(
        name=f"cell {job}",
        user=UserName(user),
        uid=1000,
        request=Request(gpus=gpus, time_limit_s=time_s, **request),
        priority=priority,
        after=tuple(JobId(a) for a in after),
        retries=retries,
        groups=groups,
        submission=submission,
    )
    return ev.Submitted(at=at, job=JobId(job), spec=spec)


def a_state(*events: ev.Event) -> State:
    """What follows from these events."""
    state = State()
    for event in events:
        fold(state, event)
    return state


def event_of(action: Action, at: float) -> ev.Event:
    """The event that the daemon journals for an action."""
    match action:
        case Grant():
            return ev.Granted(at=at, job=action.job, attempt=action.attempt, allocation=action.allocation)
        case Stop():
            return ev.StopOrdered(
                at=at,
                job=action.job,
                attempt=action.attempt,
                reason=action.reason,
                then=action.then,
                detail=action.detail,
            )
        case End():
            return ev.JobEnded(at=at, job=action.job, state=action.state, reason=action.reason, detail=action.detail)
        case Suspend():
            return ev.Suspended(at=at, job=action.job, attempt=action.attempt, detail=action.detail)
        case Resume():
            return ev.Resumed(at=at, job=action.job, attempt=action.attempt, allocation=action.allocation)


def applied(state: State, at: float, *, started: bool = True) -> Plan:
    """Decide, and fold what was decided; attempts start at once, unless told otherwise."""
    plan = decide(state, now=at)
    for action in plan.actions:
        fold(state, event_of(action, at))
        if started and isinstance(action, Grant):
            fold(state, ev.AttemptStarted(at=at, job=action.job, attempt=action.attempt))
    return plan


def ended(state: State, job: int, at: float, exit_: Exit = OK) -> State:
    """The newest attempt of a job ends."""
    return fold(state, ev.AttemptEnded(at=at, job=JobId(job), attempt=state.jobs[JobId(job)].attempt, exit=exit_))


def granted(plan: Plan) -> list[int]:
    """The jobs that a plan starts, in order."""
    return [a.job for a in plan.actions if isinstance(a, Grant)]


def stopped(plan: Plan) -> list[int]:
    """The jobs that a plan stops, in order."""
    return [a.job for a in plan.actions if isinstance(a, Stop)]


def job(state: State, number: int) -> Job:
    """A job by number."""
    return state.jobs[JobId(number)]


def running(state: State) -> list[int]:
    """Jobs that run."""
    return sorted(j.id for j in state.jobs.values() if j.state is JobState.RUNNING)
