"""What all panels are put together from: a page that is kept true, rows of controls, tables. Knows Bokeh; knows no jobs or GPUs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from bokeh.document import Document
from bokeh.models import (
    Column,
    ColumnDataSource,
    DataTable,
    Div,
    NumberFormatter,
    RadioButtonGroup,
    Row,
    TableColumn,
)

from jupysched.core.errors import JupyschedError
from jupysched.panels import theme
from jupysched.panels.files import Sources, csv_button, png_button

#: least widths of a column: of words, of numbers, and of one whose head says nothing
WORDS_WIDTH, NUMBER_WIDTH, NAMELESS_WIDTH = 120, 44, 56
#: what a letter of a head takes, and what stands beside the head
LETTER_WIDTH, HEAD_MARGIN = 7, 16


class Page:
    """One open panel. It is filled as soon as it stands, so that opening it keeps nobody waiting."""

    def __init__(self, document: Document, *, title: str, file_name: str) -> None:
        self.document = document
        self.theme = theme.theme_of(document)
        self.file_name = file_name
        #: what is drawn, and what its picture shows
        self.charts = Column(children=[self.text("")], sizing_mode="stretch_width")
        self._trouble = self.text("")
        self._buttons = Row(children=[])
        self._guarded: Callable[[], Awaitable[None]] | None = None
        theme.dress(document, self.theme, title)

    def show(self, head: Sequence[Any], *below: Any, sources: Sources, above: Sequence[Any] = ()) -> None:
        """Stand there: controls and the buttons that save it in one row, charts, and what stands below them."""
        self.save(sources)
        row = Row(children=[*head, self._buttons], sizing_mode="stretch_width", styles=theme.WRAP)
        self.document.add_root(
            Column(children=[*above, row, self._trouble, self.charts, *below], sizing_mode="stretch_width")
        )

    def save(self, sources: Sources) -> None:
        """From now on the buttons save these."""
        self._buttons.children = [
            csv_button(sources, name=self.file_name, theme=self.theme),
            png_button(self.charts, name=self.file_name, theme=self.theme),
        ]

    def keep_true(self, tick: Callable[[], Awaitable[None]], *, period_ms: int) -> None:
        """Call `tick` now and again and again. While the daemon is away the panel says so, and shows what it had."""

        async def guarded() -> None:
            try:
                await tick()
                said = ""
            except JupyschedError as error:
                said = f"{error.sentence} What is shown is from before."
            say(self._trouble, said)

        self._guarded = guarded
        self.again()
        self.document.add_periodic_callback(guarded, period_ms)

    def again(self) -> None:
        """Do not wait for the next time: somebody chose something else."""
        if self._guarded is not None:
            self.document.add_next_tick_callback(self._guarded)

    def text(self, html: str) -> Div:
        """A block of text over the whole width."""
        return Div(text=html, visible=bool(html), sizing_mode="stretch_width", stylesheets=[theme.style(self.theme)])

    def ranges(self, labels: Sequence[str], chosen: Callable[[int], Any], *, active: int = 0) -> RadioButtonGroup:
        """A choice of times."""
        made = RadioButtonGroup(
            labels=list(labels), active=active, width=58 * len(labels), stylesheets=[theme.style(self.theme)]
        )
        made.on_change("active", lambda _a, _o, new: chosen(int(new)))
        return made

    def table(self, source: ColumnDataSource, titles: Mapping[str, Any], *, most: int) -> Column:
        """As high as its rows, at most `most` of them. `titles`: column -> its title, or (title, how its values are written), or
        (title, least width). Heads and values are never cut: a panel that is too narrow for them is scrolled sideways."""
        columns = [
            _column(name, *(title if isinstance(title, tuple) else (title, None))) for name, title in titles.items()
        ]
        table = DataTable(
            source=source,
            columns=columns,
            height=_height(1),
            index_position=None,
            reorderable=False,
            sizing_mode="stretch_width",
            min_width=sum(column.width for column in columns) + 4,
            stylesheets=[theme.style(self.theme), theme.table_style(self.theme)],
        )

        def fit(_name: str, _old: Any, new: Mapping[str, Any]) -> None:
            rows = max((len(column) for column in new.values()), default=0)
            table.height = _height(min(rows, most))

        source.on_change("data", fit)
        return Column(children=[table], sizing_mode="stretch_width", styles={"overflow-x": "auto"})


def _column(field: str, title: str, how: NumberFormatter | int | None) -> TableColumn:
    least = NAMELESS_WIDTH if not title else NUMBER_WIDTH if isinstance(how, NumberFormatter) else how or WORDS_WIDTH
    made = TableColumn(field=field, title=title, width=max(least, LETTER_WIDTH * len(title) + HEAD_MARGIN))
    if isinstance(how, NumberFormatter):
        made.formatter = how
    return made


def number(pattern: str) -> NumberFormatter:
    """How numbers of a table are written; what is unknown is n/a."""
    return NumberFormatter(format=pattern, nan_format="n/a", null_format="n/a")


def _height(rows: int) -> int:
    return 36 + 25 * max(1, rows)


def say(block: Div, html: str) -> None:
    """Let a block of text say this; one that says nothing takes no room."""
    if block.text != html:
        block.update(text=html, visible=bool(html))


def fill(source: ColumnDataSource, rows: Sequence[Any], names: Sequence[str]) -> None:
    """Put rows into a source, if they are other rows."""
    data = {name: [getattr(row, name) for row in rows] for name in names}
    if repr(data) != repr(dict(source.data)):
        source.data = data
