"""Envelopes on a connection: a call, its answer, and what the daemon pushes to those who watch."""

from __future__ import annotations

from typing import Any

import msgspec

from jupysched.wire.records import ErrorRecord, GpuRecord, JobRecord
from jupysched.wire.requests import Request

#: grows when a message changes so that an older side could not read it
WIRE_VERSION = 1


class Call(msgspec.Struct, kw_only=True, array_like=True, tag="call"):
    """One request; `number` is repeated in the answer."""

    number: int
    ask: Request


class Answer(msgspec.Struct, kw_only=True, array_like=True, tag="answer"):
    """The answer to a call: either a value or an error. The value's type depends on the verb."""

    number: int
    value: msgspec.Raw = msgspec.Raw(b"\xc0")
    error: ErrorRecord | None = None


class Push(msgspec.Struct, kw_only=True, array_like=True, tag="push"):
    """What changed, for a watcher. `seq` grows by one with each push of this connection; a gap means: watch again."""

    seq: int
    jobs: list[JobRecord] = []
    gpus: list[GpuRecord] = []
    forgotten: list[int] = []


class JobsPage(msgspec.Struct, kw_only=True):
    """A part of the list of jobs, and how many there are in all."""

    jobs: list[JobRecord]
    total: int


class PolicyRecord(msgspec.Struct, kw_only=True):
    """The policy in force and those that can be set."""

    name: str
    settings: dict[str, str]
    known: list[str]


_encoder = msgspec.msgpack.Encoder()
_from_client = msgspec.msgpack.Decoder(Call)
_from_daemon = msgspec.msgpack.Decoder(Answer | Push)


def encode(message: Call | Answer | Push) -> bytes:
    """The message as bytes (msgpack)."""
    return _encoder.encode(message)


def encode_value(value: Any) -> msgspec.Raw:
    """A value for Answer.value."""
    return msgspec.Raw(_encoder.encode(value))


def decode_call(body: bytes) -> Call:
    """Raises msgspec.ValidationError with what is wrong and where."""
    return _from_client.decode(body)


def decode_from_daemon(body: bytes) -> Answer | Push:
    """Raises msgspec.ValidationError if the daemon speaks another version."""
    return _from_daemon.decode(body)
