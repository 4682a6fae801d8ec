"""A command line that is nearly right is answered with what was meant; `last` is a job here as in a notebook."""

import pytest

from jupysched import cli, cli_jobs
from jupysched.core.errors import NoSuchJob
from jupysched.wire.messages import JobsPage
from jupysched.wire.records import JobRecord, RequestRecord


class Listing:
    """A client that knows three jobs, two of them ours."""

    def __init__(self, *jobs: tuple[int, bool]) -> None:
        self.records = [
            JobRecord(id=number, user="me", name="x", state="pending", request=RequestRecord(), mine=mine)
            for number, mine in jobs
        ]

    def jobs(self, *, limit: int) -> JobsPage:
        return JobsPage(jobs=self.records, total=len(self.records))


class Nothing:
    """A client of a daemon that is there."""

    def __enter__(self) -> "Nothing":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def hello(self) -> None:
        pass


def refused(capsys, *words: str) -> str:
    """What a wrong command line is told."""
    with pytest.raises(SystemExit) as raised:
        cli.make_parser().parse_args(words)
    assert raised.value.code == 2
    return capsys.readouterr().err


def test_last_is_the_newest_job_of_ones_own():
    client = Listing((4, True), (9, False), (7, True))
    assert cli_jobs.numbers(client, [None, 4]) == [7, 4]
    with pytest.raises(NoSuchJob, match="no jobs yet"):
        cli_jobs.numbers(Listing((9, False)), [None])


@pytest.mark.parametrize("verb", ["show", "why", "logs", "cancel", "hold", "release", "front", "requeue"])
def test_every_verb_on_a_job_takes_last(verb):
    options = cli.make_parser().parse_args([verb, "last"])
    assert getattr(options, "job", None) is None
    assert getattr(options, "jobs", [None]) == [None]


def test_a_misspelled_word_is_answered_with_the_nearest(capsys):
    assert "there is no 'quueue'; did you mean queue?" in refused(capsys, "quueue")
    assert "did you mean high?" in refused(capsys, "priority", "hihg", "3")
    assert "there are low, normal, high" in refused(capsys, "priority", "3", "high")
    assert "'x' names no job" in refused(capsys, "show", "x")
    assert "there is no option --jsn; did you mean --json?" in refused(capsys, "queue", "--jsn")
    assert "there is no 'runing'; did you mean running?" in refused(capsys, "queue", "--state", "runing")
    assert "'-1' is no whole number of at least 1" in refused(capsys, "queue", "--limit", "-1")
    assert "'2' is one word too many" in refused(capsys, "show", "1", "2")


def test_what_an_error_names_can_be_typed_in_a_terminal():
    assert cli_jobs.in_a_terminal("`%gpujobs` lists your jobs.") == "`jupysched queue` lists your jobs."
    assert cli_jobs.in_a_terminal("`%gpujob attach 3` brings them.") == "`jupysched attach 3` brings them."


def test_a_word_that_is_like_none_is_taken_for_none(capsys):
    assert "did you mean" not in refused(capsys, "bogus")


@pytest.mark.parametrize("given", [["--no-browser"], ["--", "--no-browser"]])
def test_lab_passes_on_what_is_not_ours(monkeypatch, given):
    started = []
    monkeypatch.setattr(cli, "_client", Nothing)
    monkeypatch.setattr(cli.subprocess, "call", lambda command: started.append(command) or 0)
    assert cli.main(["lab", *given, "--port=9"]) == 0
    [command] = started
    assert command[1:3] == ["-m", "jupyterlab"]
    assert command[-2:] == ["--no-browser", "--port=9"]


def test_lab_has_a_help_of_its_own(capsys):
    with pytest.raises(SystemExit):
        cli.main(["lab", "--help"])
    assert "--no-browser" in capsys.readouterr().out
