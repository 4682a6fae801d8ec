"""Messages come out of the text stream whole and in their places, however the pipe cuts it."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from jupysched.runner import packets
from jupysched.runner.packets import Joiner, Message

NONCE = b"\x1e\x00js" + bytes(range(12))
text = st.binary(min_size=1, max_size=30) | st.sampled_from([b"\x1e", NONCE[:5], NONCE[:-1], b"\x1e\x00", b"line\n"])
message = st.builds(Message, st.integers(3, 6), st.binary(max_size=20) | st.binary(min_size=4000, max_size=9000))
streams = st.lists(text | message, max_size=8)


def written(parts: list[bytes | Message]) -> bytes:
    """Return the stream as a job writes it."""
    data = b""
    for number, part in enumerate(parts):
        data += b"".join(packets.split(NONCE, number, *part)) if isinstance(part, Message) else part
    return data


def joined(parts: list[bytes | Message]) -> list[bytes | Message]:
    """Return the parts with neighbouring text made one."""
    order: list[bytes | Message] = []
    for part in parts:
        if isinstance(part, bytes) and order and isinstance(order[-1], bytes):
            order[-1] += part
        else:
            order.append(part)
    return order


def cut(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    """Yield the data in pieces of these sizes, the last repeated."""
    at = 0
    while at < len(data):
        size = sizes.pop(0) if len(sizes) > 1 else sizes[0]
        yield data[at : at + size]
        at += size


@given(streams, st.lists(st.integers(1, 5000), min_size=1, max_size=9))
def test_what_goes_in_comes_out_however_it_is_cut(parts: list[bytes | Message], sizes: list[int]) -> None:
    joiner, found = Joiner(NONCE), []
    for piece in cut(written(parts), sizes):
        found += joiner.feed(piece)
    found.append(joiner.flush())
    assert joined([part for part in found if part != b""]) == joined(parts)
    assert joiner.torn == 0


def test_parts_of_two_processes_may_alternate() -> None:
    ours = list(packets.split(NONCE, 1, 3, b"a" * 10_000))
    theirs = [part[:16] + b"\xff\xff\xff\x00" + part[20:] for part in packets.split(NONCE, 1, 3, b"b" * 10_000)]
    mixed = b"".join(part for pair in zip(ours, theirs, strict=True) for part in pair)
    assert Joiner(NONCE).feed(mixed) == [Message(3, b"a" * 10_000), Message(3, b"b" * 10_000)]


def test_no_packet_is_larger_than_a_pipe_takes_at_once() -> None:
    assert max(map(len, packets.split(NONCE, 1, 3, b"x" * 100_000))) <= packets.PACKET_BYTES


def test_a_message_cut_short_costs_itself_only() -> None:
    joiner = Joiner(NONCE)
    first, *_ = packets.split(NONCE, 1, 3, b"x" * 9000)
    assert joiner.feed(first + b"text") == [b"text"]
    assert (joiner.flush(), joiner.torn) == (b"", 1)
