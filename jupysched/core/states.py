"""The life of a job as one table. Depends on nothing; the diagram in README.md is printed from here."""

from __future__ import annotations

from enum import StrEnum


class JobState(StrEnum):
    """Few states; a new *why* is a Reason."""

    PENDING = "pending"
    HELD = "held"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    SUSPENDED = "suspended"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})
#: states in which the attempt holds its allocation (one that was suspended and is being stopped holds none)
HOLDING = frozenset({JobState.STARTING, JobState.RUNNING, JobState.STOPPING})
#: states in which a job waits for GPUs; a suspended one has an attempt that is frozen
WAITING = frozenset({JobState.PENDING, JobState.SUSPENDED})


class Reason(StrEnum):
    """Why a job is in its state. Codes are stable; the sentences (REASONS) may improve."""

    PRIORITY = "priority"
    RESOURCES = "resources"
    GANG_TOO_WIDE = "gang_too_wide"
    QUOTA = "quota"
    QOS_LIMIT = "qos_limit"
    RESERVATION = "reservation"
    NODE_DRAINED = "node_drained"
    HELD_BY_USER = "held_by_user"
    HELD_BY_ADMIN = "held_by_admin"
    DEPENDENCY = "dependency"
    EXIT_CODE = "exit_code"
    EXCEPTION = "exception"
    OUT_OF_MEMORY = "out_of_memory"
    TIME_LIMIT = "time_limit"
    NODE_LOST = "node_lost"
    LEASE_EXPIRED = "lease_expired"
    PREEMPTED = "preempted"
    CANCELLED_BY_USER = "cancelled_by_user"
    CANCELLED_BY_ADMIN = "cancelled_by_admin"
    NOT_PICKLABLE = "not_picklable"
    RUNNER_MISSING = "runner_missing"


REASONS: dict[Reason, str] = {
    Reason.PRIORITY: "jobs ahead of it in the queue start first",
    Reason.RESOURCES: "the GPUs it needs are busy",
    Reason.GANG_TOO_WIDE: "it needs more GPUs on one node than any node has",
    Reason.QUOTA: "its user or group has used up a quota",
    Reason.QOS_LIMIT: "its class has reached a limit",
    Reason.RESERVATION: "the free GPUs are reserved",
    Reason.NODE_DRAINED: "the GPUs that would fit are drained",
    Reason.HELD_BY_USER: "held by its user",
    Reason.HELD_BY_ADMIN: "held by an admin",
    Reason.DEPENDENCY: "waits for another job (--after), or that job did not succeed",
    Reason.EXIT_CODE: "its process ended with an exit code or a signal",
    Reason.EXCEPTION: "the cell raised an exception",
    Reason.OUT_OF_MEMORY: "out of memory (RAM or GPU)",
    Reason.TIME_LIMIT: "ran longer than its --time",
    Reason.NODE_LOST: "the node it ran on was lost",
    Reason.LEASE_EXPIRED: "its supervisor died; it is not run again on a guess",
    Reason.PREEMPTED: "stopped for a more urgent job",
    Reason.CANCELLED_BY_USER: "cancelled by its user",
    Reason.CANCELLED_BY_ADMIN: "cancelled by an admin",
    Reason.NOT_PICKLABLE: "a value it needs cannot travel",
    Reason.RUNNER_MISSING: "its interpreter or files could not be used",
}

S = JobState
#: (state, event) -> states it may lead to. What is not here does not happen: fold ignores it (a late or fenced voice).
TRANSITIONS: dict[tuple[JobState, str], frozenset[JobState]] = {
    (S.PENDING, "hold_asked"): frozenset({S.HELD}),
    (S.HELD, "release_asked"): frozenset({S.PENDING}),
    (S.PENDING, "granted"): frozenset({S.STARTING}),
    (S.PENDING, "cancel_asked"): frozenset({S.CANCELLED}),
    (S.HELD, "cancel_asked"): frozenset({S.CANCELLED}),
    (S.PENDING, "job_ended"): frozenset({S.CANCELLED, S.FAILED}),
    (S.STARTING, "attempt_started"): frozenset({S.RUNNING}),
    (S.STARTING, "attempt_refused"): frozenset({S.FAILED, S.PENDING}),
    (S.STARTING, "stop_ordered"): frozenset({S.STOPPING}),
    (S.RUNNING, "stop_ordered"): frozenset({S.STOPPING}),
    (S.STOPPING, "stop_ordered"): frozenset({S.STOPPING}),
    (S.STARTING, "attempt_ended"): frozenset({S.SUCCEEDED, S.FAILED, S.PENDING, S.HELD}),
    (S.RUNNING, "attempt_ended"): frozenset({S.SUCCEEDED, S.FAILED, S.PENDING, S.HELD}),
    (S.STOPPING, "attempt_ended"): frozenset({S.SUCCEEDED, S.FAILED, S.CANCELLED, S.PENDING, S.HELD}),
    (S.STARTING, "attempt_lost"): frozenset({S.FAILED}),
    (S.RUNNING, "attempt_lost"): frozenset({S.FAILED}),
    (S.STOPPING, "attempt_refused"): frozenset({S.CANCELLED, S.FAILED, S.PENDING}),
    (S.STOPPING, "attempt_lost"): frozenset({S.FAILED, S.CANCELLED}),
    (S.RUNNING, "suspended"): frozenset({S.SUSPENDED}),
    (S.SUSPENDED, "resumed"): frozenset({S.RUNNING}),
    (S.SUSPENDED, "stop_ordered"): frozenset({S.STOPPING}),
    (S.SUSPENDED, "attempt_ended"): frozenset({S.SUCCEEDED, S.FAILED, S.PENDING}),
    (S.SUSPENDED, "attempt_lost"): frozenset({S.FAILED}),
    (S.SUSPENDED, "priority_changed"): frozenset({S.SUSPENDED}),
    (S.PENDING, "priority_changed"): frozenset({S.PENDING}),
    (S.HELD, "priority_changed"): frozenset({S.HELD}),
    (S.PENDING, "moved_to_front"): frozenset({S.PENDING}),
    (S.PENDING, "gave_way"): frozenset({S.PENDING}),
    (S.SUCCEEDED, "requeue_asked"): frozenset({S.PENDING}),
    (S.FAILED, "requeue_asked"): frozenset({S.PENDING}),
    (S.CANCELLED, "requeue_asked"): frozenset({S.PENDING}),
}


def may_change(state: JobState, event: str) -> bool:
    """Is there a way from this state by this event?"""
    return (state, event) in TRANSITIONS
