"""From the line after %%gpujob to what is asked. Knows the grammar; the words themselves stand in `options`."""

from __future__ import annotations

import difflib
import shlex
from dataclasses import dataclass

from jupysched.core.errors import BadRequest
from jupysched.magic.options import LATER, OPTIONS, Malformed, Option

_BY_WORD = {option.word: option for option in OPTIONS}
_HELP = "`%%gpujob?` lists the options."


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One line of options, read and checked."""

    gpus: int = 1
    gpu_mem: int | None = None
    gpu_type: str | None = None
    cpus: int | None = None
    mem: int | None = None
    time: float | None = None
    priority: str = "normal"
    name: str = ""
    #: job ids as text, or "last"
    after: tuple[str, ...] = ()
    retries: int = 0
    in_names: tuple[str, ...] = ()
    #: None: all that changed comes back
    out_names: tuple[str, ...] | None = None
    wait: bool = False
    dry_run: bool = False


def read_line(line: str) -> Asked:
    """What the line asks for. Raises BadRequest, naming the option, what was wrong and what is expected."""
    words = split(line)
    found: dict[str, object] = {}
    while words:
        word = words.pop(0)
        option, value = _option(word)
        if option.field in found:
            raise BadRequest(f"{option.word} is given twice.", hint=_HELP)
        found[option.field] = _value(option, value, words)
    return Asked(**found)  # type: ignore[arg-type]  # the table and the fields are one (test_args)


def split(line: str) -> list[str]:
    """The words of a line, quotes taken off. Raises BadRequest if a quote is left open."""
    try:
        return shlex.split(line)
    except ValueError as error:
        raise BadRequest(f"The options cannot be read: {str(error).lower()}.", hint=_HELP) from error


def _option(word: str) -> tuple[Option, str | None]:
    name, equals, value = word.partition("=")
    if name in _BY_WORD:
        return _BY_WORD[name], value if equals else None
    if name in LATER:
        raise BadRequest(f"{name} ({LATER[name]}) comes with a later version of jupysched.")
    if not word.startswith("-") or word == "-":
        raise BadRequest(f"{word!r} belongs to no option.", hint=_HELP)
    near = difflib.get_close_matches(_long(name), _BY_WORD, n=1, cutoff=0.6)
    hint = f"Did you mean {near[0]}?" if near else _HELP
    raise BadRequest(f"There is no option {name}.", hint=hint)


def _long(name: str) -> str:
    """So that -gpus and --GPUS find --gpus."""
    return "--" + name.lstrip("-").lower().replace("_", "-")


def _value(option: Option, given: str | None, words: list[str]) -> object:
    if not option.metavar:
        if given is not None:
            raise BadRequest(f"{option.word} takes no value; {given!r} was given.", hint=_HELP)
        return True
    if option.many:
        values = _many(option, given, words)
        return tuple(dict.fromkeys(values))
    if given is None:
        if not words or _is_option(words[0]):
            raise BadRequest(f"{option.word} has no value; expected {_expected(option)}.")
        given = words.pop(0)
    return _read(option, given)


def _many(option: Option, given: str | None, words: list[str]) -> list[object]:
    texts = [] if given is None else [given]
    while given is None and words and not _is_option(words[0]):
        texts.append(words.pop(0))
    parts = [part for text in texts for part in text.split(",") if part]
    if not parts:
        raise BadRequest(f"{option.word} has no value; expected {_expected(option)}.")
    return [_read(option, part) for part in parts]


def _is_option(word: str) -> bool:
    """A negative number is a value, and a wrong one: its option says so."""
    return word.startswith("--")


def _read(option: Option, text: str) -> object:
    try:
        return option.read(text)
    except Malformed as error:
        shown = text if len(text) <= 60 else text[:59] + "…"
        raise BadRequest(f"{option.word} is {shown!r}; expected {error}.") from None


def _expected(option: Option) -> str:
    try:
        option.read("")
    except Malformed as error:
        return str(error)
    return option.metavar


def usage() -> str:
    """The options as a table of text, for help and README."""
    heads = [f"{o.word} {o.metavar}{' ...' if o.many else ''}".strip() for o in OPTIONS]
    width = max(map(len, heads)) + 2
    return "\n".join(f"  {head:<{width}}{option.help}" for head, option in zip(heads, OPTIONS, strict=True))


def help_text() -> str:
    """The help of %%gpujob, as `%%gpujob?` shows it and as README prints it."""
    return f"""\
%%gpujob [options]
Run this cell as a queued job on a GPU.

The cell returns at once and leaves a card; outputs arrive under it as they come, and what the cell changed is back in the
notebook when the job has ended. The job sees the notebook's variables as they are now.

{usage()}

Sizes: G and GB are powers of 1000, GiB of 1024. In the line, {{name}} and $name stand for the notebook's variables.
By itself the cell waits where late output would be lost (nbconvert, papermill), and with JUPYSCHED_WAIT=1.
Under a cell at most 10 MB of text are kept, the beginning and the end; `%gpujob logs` shows all. Lines in tracebacks are
counted from the line after %%gpujob, as for every cell magic."""
