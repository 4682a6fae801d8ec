"""What a submitted function returned is its job's to give; the notebook is told of it in words that it knows."""

import threading
from pathlib import Path
from typing import Any

import pytest

from jupysched.core.errors import BadRequest
from jupysched.magic import api
from jupysched.magic.desk import KEPT_RESULTS, Desk
from jupysched.magic.failure import NotReturned
from jupysched.magic.job import Job
from jupysched.magic.submit import NotPicklable
from jupysched.namespace import diff, unpack
from tests.magic.shim import TwinShim
from tests.magic.twin import TwinDaemon


def called(desk: Desk, twin: TwinDaemon, function: Any) -> Job:
    """Submit a function, call it here as its job would, and let the daemon say that it has ended."""
    job = api.submit(function)
    shim = TwinShim(Path(job.directory), 1, listens=False)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    baseline = unpack.load_inputs(Path(job.directory) / "input.pickle", namespace, desk.objects())
    exec("jupysched_result = jupysched_call[0]()", namespace)
    returned = diff.pack_changes(shim.path / "result.pickle", namespace, baseline, desk.objects(), [api.RESULT])
    shim.end(returned=list(returned.names), notes=list(returned.notes))
    record = twin.records[job.id]
    fields = {name: getattr(record, name) for name in record.__struct_fields__}
    twin.records[job.id] = type(record)(**{**fields, "state": "succeeded", "attempt": 1})
    desk.follow(job)
    assert job.tracked is not None
    assert job.tracked.ended.wait(10)
    return job


def test_the_notebook_gets_no_variable_for_it(desk: Desk, twin: TwinDaemon) -> None:
    job = called(desk, twin, lambda: [5])
    assert job.result() == [5]
    assert api.RESULT not in desk.user_ns()
    assert job.facts.returned == []
    job.values = None
    assert job.result() == [5]


def test_what_cannot_travel_back_is_said_and_is_no_key_error(desk: Desk, twin: TwinDaemon) -> None:
    job = called(desk, twin, lambda: (n for n in "ab"))
    with pytest.raises(
        NotReturned, match=r"succeeded\. What it returned did not come back: a generator can't travel\."
    ):
        job.result()


def test_a_functions_own_keyword_is_not_taken_for_an_option(desk: Desk, twin: TwinDaemon) -> None:
    with pytest.raises(
        BadRequest, match=r"no option gpu\. Did you mean gpus\? What the function takes by name goes into kwargs="
    ):
        api.submit(print, gpu=1)


def test_a_coroutine_was_called_too_early(desk: Desk, twin: TwinDaemon) -> None:
    async def work() -> None: ...

    coroutine = work()
    with pytest.raises(BadRequest, match=r"this is a coroutine\. Leave the brackets away"):
        api.submit(coroutine)  # type: ignore[arg-type]
    coroutine.close()
    with pytest.raises(BadRequest, match="this is an int"):
        api.submit(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("train.py",), r"'train.py' is the name of a file\. In a terminal: `jupysched submit train.py`"),
        ((Path("my train.py"),), r"`jupysched submit 'my train.py'`"),
        (("lesson.ipynb",), r"`jupyter execute` runs it"),
        (("# nothing\n",), "there is nothing to run"),
        ((pytest,), r"this is a module\. Submit one of its functions"),
        (([print],), r"this is a list\. Submit each by itself"),
        ((lambda x: x,), r"\(x\) cannot be called with what was given: missing a required argument: 'x'"),
        ((lambda x: x, 1, 2), "too many positional arguments"),
    ],
)
def test_what_is_no_work_is_refused_in_words_and_queues_nothing(
    desk: Desk, twin: TwinDaemon, given: tuple[Any, ...], said: str
) -> None:
    with pytest.raises(BadRequest, match=said):
        api.submit(*given)
    assert twin.heard == []


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [
        (([1, (n for n in "ab")],), {}, r"args\[0\]\[1\] can't travel"),
        (
            (),
            {"end": threading.Lock()},
            r"kwargs\['end'\] can't travel to the job: it is a lock\. Create it inside the function",
        ),
    ],
)
def test_an_argument_that_cannot_travel_is_named_as_its_caller_knows_it(
    desk: Desk, twin: TwinDaemon, args: tuple[Any, ...], kwargs: dict[str, Any], said: str
) -> None:
    with pytest.raises(NotPicklable, match=said):
        api.submit(print, *args, kwargs=kwargs)
    assert twin.heard == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kwargs": [1]}, "expected a dict with names as keys"),
        ({"wait": True}, r"no option wait\. `job.wait\(\)` and `job.result\(\)` wait"),
        ({"out_names": ["x"]}, "a function takes arguments and returns a result"),
    ],
)
def test_an_option_that_a_function_cannot_have_is_refused(
    desk: Desk, twin: TwinDaemon, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadRequest, match=said):
        api.submit(lambda: 1, **options)


def test_what_older_jobs_returned_is_read_again_and_not_held_for_ever(desk: Desk, twin: TwinDaemon) -> None:
    first = called(desk, twin, lambda: [5])
    assert first.result() is first.result()
    for _ in range(KEPT_RESULTS + 1):
        api.submit(lambda: 1)
    assert first.values is None
    assert first.result() == [5]
