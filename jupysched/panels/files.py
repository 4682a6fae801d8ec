"""What a panel shows, as a file of the person who looks at it. Knows Bokeh's sources and views; the file is made in the page."""

from __future__ import annotations

from collections.abc import Sequence

from bokeh.models import Button, ColumnDataSource, CustomJS, LayoutDOM

from jupysched.panels.theme import Theme, style

#: what each table of a file is called ("" for the only one), and what is in it
Sources = Sequence[tuple[str, ColumnDataSource]]

DOWNLOAD = """
const save = (blob, name) => {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url; link.download = name; link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
};
"""
#: the newest state of each source. Tables of the same columns are one, told apart by `series`; others begin after an empty line.
#: A text that would start a formula in a spreadsheet is quoted; columns with a leading _ are for drawing only
AS_CSV = """
const cell = v => {
  if (v === null || v === undefined || (typeof v === "number" && !isFinite(v))) return "";
  let s = String(v);
  if (typeof v === "string" && /^[=+@\\-\\t\\r]/.test(s)) s = "'" + s;
  return /[",\\n\\r]/.test(s) ? '"' + s.replaceAll('"', '""') + '"' : s;
};
const times = new Set(["time", "start", "end"]);
const parts = [];
let before = null;
for (const [label, source] of sources) {
  const names = Object.keys(source.data).filter(n => !n.startsWith("_"));
  const columns = names.map(n => Array.from(source.data[n]));
  const rows = Math.max(0, ...columns.map(c => c.length));
  const head = [label ? "series" : null, ...names].filter(n => n !== null).map(cell).join(",");
  if (head !== before) {
    if (before !== null) parts.push("");
    parts.push(head);
    before = head;
  }
  for (let i = 0; i < rows; i++) {
    const row = columns.map((c, k) => cell(times.has(names[k]) && Number.isFinite(c[i]) ? new Date(c[i]).toISOString() : c[i]));
    if (row.some(v => v !== "")) parts.push([...(label ? [cell(label)] : []), ...row].join(","));
  }
}
const text = parts.join("\\n") + "\\n";
"""
SAVE_CSV = 'save(new Blob([text], {type: "text/csv;charset=utf-8"}), name + ".csv");'
#: the charts as they stand, on the page's own ground
SAVE_PNG = """
const view = Bokeh.index.find_one(charts);
if (view !== null) {
  const drawn = view.export("png").canvas;
  const whole = document.createElement("canvas");
  whole.width = drawn.width; whole.height = drawn.height;
  const at = whole.getContext("2d");
  at.fillStyle = ground; at.fillRect(0, 0, whole.width, whole.height);
  at.drawImage(drawn, 0, 0);
  whole.toBlob(blob => save(blob, name + ".png"), "image/png");
}
"""


def csv_button(sources: Sources, *, name: str, theme: Theme) -> Button:
    """Saves what the panel holds now."""
    args = {f"s{i}": source for i, (_, source) in enumerate(sources)}
    pairs = ", ".join(f"[labels[{i}], s{i}]" for i in range(len(sources)))
    code = f"const sources = [{pairs}];\n{AS_CSV}\n{DOWNLOAD}\n{SAVE_CSV}"
    labels = [label for label, _ in sources]
    return _button("CSV", CustomJS(args={**args, "name": name, "labels": labels}, code=code), theme)


def png_button(charts: LayoutDOM, *, name: str, theme: Theme) -> Button:
    """Saves the charts as one picture."""
    args = {"charts": charts, "name": name, "ground": theme.ground}
    return _button("PNG", CustomJS(args=args, code=f"{DOWNLOAD}\n{SAVE_PNG}"), theme)


def _button(label: str, does: CustomJS, theme: Theme) -> Button:
    button = Button(label=label, width=60, stylesheets=[style(theme)], button_type="default")
    button.js_on_click(does)
    return button
