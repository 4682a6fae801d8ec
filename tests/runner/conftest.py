"""Nodes: one for a whole file of quiet tests, one of its own for a test that breaks it."""

from collections.abc import Iterator

import pytest

from tests.runner.node import Node


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    """A node that the tests of a file share; they are marked leaky, because its next pair waits on purpose."""
    made = Node()
    yield made
    made.close()


@pytest.fixture
def own_node() -> Iterator[Node]:
    """A node of the test's own."""
    made = Node()
    yield made
    made.close()
