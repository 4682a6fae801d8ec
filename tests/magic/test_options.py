"""What may stand after %%gpujob, and what is said when something else does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupysched.core.errors import BadRequest
from jupysched.magic.args import Asked, read_line, usage
from jupysched.magic.options import LATER, OPTIONS, Malformed, nbytes, seconds, whole


def refusal(line: str) -> str:
    """Return what is said about a line that is refused."""
    with pytest.raises(BadRequest) as caught:
        read_line(line)
    return str(caught.value)


def test_an_empty_line_asks_for_one_gpu() -> None:
    assert Asked(gpus=1, priority="normal") == read_line("")


def test_every_option_is_read() -> None:
    line = (
        "--gpus 2 --gpu-mem 24G --gpu-type A100 --cpus 8 --mem 64GiB --time 1h30m --priority high --name 'my net'"
        " --after 3 4 last --retries 2 --in a,b c --out model --wait --dry-run"
    )
    assert read_line(line) == Asked(
        gpus=2, gpu_mem=24_000_000_000, gpu_type="A100", cpus=8, mem=64 << 30, time=5400.0, priority="high", name="my net",
        after=("3", "4", "last"), retries=2, in_names=("a", "b", "c"), out_names=("model",), wait=True, dry_run=True,
    )  # fmt: skip


def test_the_table_and_the_record_have_the_same_fields() -> None:
    assert {option.field for option in OPTIONS} == set(Asked.__dataclass_fields__)


@pytest.mark.parametrize("line", ["--gpus=3", "--gpus 3", "--gpus '3'", "  --gpus   3  "])
def test_a_value_may_be_written_in_each_of_the_usual_ways(line: str) -> None:
    assert read_line(line).gpus == 3


@pytest.mark.parametrize(
    ("line", "option", "word", "expected"),
    [
        ("--gpus banana", "--gpus", "banana", "whole number of at least 1"),
        ("--gpus 1.5", "--gpus", "1.5", "whole number"),
        ("--gpus -1", "--gpus", "-1", "at least 1"),
        ("--gpus 0", "--gpus", "0", "at least 1"),
        ("--gpus ''", "--gpus", "''", "whole number"),
        ("--gpus ١", "--gpus", "١", "whole number"),
        ("--gpus 99999999999999999999", "--gpus", "999", "whole number"),
        ("--cpus two", "--cpus", "two", "whole number"),
        ("--time 0", "--time", "0", "more than 0"),
        ("--time 0s", "--time", "0s", "more than 0"),
        ("--time 90", "--time", "90", "unit"),
        ("--time 12:30", "--time", "12:30", "1:30:00"),
        ("--time -5m", "--time", "-5m", "more than 0"),
        ("--time 30m1h", "--time", "30m1h", "1h30m"),
        ("--time 1h1h", "--time", "1h1h", "1h30m"),
        ("--time 9999d", "--time", "9999d", "366d"),
        ("--time forever", "--time", "forever", "unit"),
        ("--mem -1", "--mem", "-1", "more than 0"),
        ("--mem 0G", "--mem", "0G", "more than 0"),
        ("--mem 64", "--mem", "64", "unit"),
        ("--mem 64X", "--mem", "64X", "unit"),
        ("--mem 64iB", "--mem", "64iB", "unit"),
        ("--gpu-mem lots", "--gpu-mem", "lots", "unit"),
        ("--gpu-mem nanG", "--gpu-mem", "nanG", "unit"),
        ("--priority urgent", "--priority", "urgent", "low, normal or high"),
        ("--retries -1", "--retries", "-1", "at least 0"),
        ("--retries 1000", "--retries", "1000", "100"),
        ("--after banana", "--after", "banana", "job ids"),
        ("--after 0", "--after", "0", "job ids"),
        ("--in 2fast", "--in", "2fast", "names of variables"),
        ("--out a.b", "--out", "a.b", "names of variables"),
        ("--name ''", "--name", "''", "name"),
        ("--name '   '", "--name", "'   '", "name"),
    ],
)
def test_a_malformed_value_is_told_with_option_word_and_expectation(
    line: str, option: str, word: str, expected: str
) -> None:
    said = refusal(line)
    assert option in said
    assert word in said
    assert expected in said


@pytest.mark.parametrize(
    ("word", "near"),
    [("--gpu", "--gpus"), ("-gpus", "--gpus"), ("--GPUS", "--gpus"), ("--prio", "--priority"), ("--gpu_mem", "--gpu-mem"),
     ("--retry", "--retries"), ("--dryrun", "--dry-run"), ("--names", "--name")],
)  # fmt: skip
def test_an_unknown_option_is_named_and_the_nearest_one_suggested(word: str, near: str) -> None:
    said = refusal(f"{word} 1")
    assert word in said
    assert f"Did you mean {near}?" in said


def test_an_option_like_no_other_points_to_the_help() -> None:
    assert "%%gpujob?" in refusal("--frobnicate")


@pytest.mark.parametrize("word", sorted(LATER))
def test_what_comes_later_is_refused_in_one_sentence(word: str) -> None:
    assert refusal(f"{word} 2") == f"{word} ({LATER[word]}) comes with a later version of jupysched."


@pytest.mark.parametrize("word", [option.word for option in OPTIONS if option.metavar])
def test_an_option_without_its_value_says_what_is_expected(word: str) -> None:
    for line in (word, f"{word} --wait"):
        said = refusal(line)
        assert said.startswith(f"{word} has no value; expected")


def test_a_flag_takes_no_value() -> None:
    assert "--wait takes no value" in refusal("--wait=yes")


def test_an_option_given_twice_is_refused() -> None:
    assert "--gpus is given twice" in refusal("--gpus 1 --gpus 2")


def test_a_word_that_belongs_to_no_option_is_refused() -> None:
    assert "'2' belongs to no option" in refusal("2 --wait")


def test_a_quote_left_open_is_told() -> None:
    assert "no closing quotation" in refusal("--name 'my net")


def test_a_very_long_name_is_refused_by_length_and_not_repeated_in_full() -> None:
    said = refusal("--name " + "A" * 4000)
    assert "4000" in said
    assert len(said) < 300


def test_help_lists_every_option() -> None:
    text = usage()
    assert [option.word for option in OPTIONS if option.word not in text] == []


@given(st.integers(1, 999), st.sampled_from([("s", 1), ("m", 60), ("min", 60), ("h", 3600)]))
def test_a_duration_with_a_unit_is_that_many_seconds(count: int, unit: tuple[str, int]) -> None:
    assert seconds(f"{count}{unit[0]}") == count * unit[1]


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59))
def test_a_clock_is_hours_minutes_and_seconds(hours: int, minutes: int, secs: int) -> None:
    total = hours * 3600 + minutes * 60 + secs
    if total:
        assert seconds(f"{hours}:{minutes:02}:{secs:02}") == total
    else:
        with pytest.raises(Malformed):
            seconds("0:00:00")


@given(st.integers(1, 4096), st.sampled_from(["K", "M", "G", "T"]), st.sampled_from(["", "B", "i", "iB"]))
def test_a_size_is_decimal_unless_it_says_i(count: int, unit: str, rest: str) -> None:
    base = 1024 if "i" in rest else 1000
    assert nbytes(f"{count}{unit}{rest}") == count * base ** " KMGT".index(unit)


@given(st.text(max_size=12))
def test_no_word_breaks_a_reader_in_another_way_than_malformed(word: str) -> None:
    for option in OPTIONS:
        try:
            option.read(word)
        except Malformed:
            continue


@given(st.text(max_size=40))
def test_no_line_breaks_the_reader_in_another_way_than_a_bad_request(line: str) -> None:
    try:
        read_line(line)
    except BadRequest:
        return


@given(st.integers(-(10**12), 10**12))
def test_a_whole_number_is_taken_or_told(value: int) -> None:
    try:
        assert whole(str(value), least=1) == value
    except Malformed:
        assert not 1 <= value <= 1_000_000
