"""What a panel shows, as a file of the person who looks at it. Knows Bokeh's sources; the file is made in the page."""

from __future__ import annotations

from collections.abc import Sequence

from bokeh.models import Button, ColumnDataSource, CustomJS

from jupysched.panels.look import Theme, style

DOWNLOAD = """
const url = URL.createObjectURL(new Blob([text], {type: "text/csv;charset=utf-8"}));
const link = document.createElement("a");
link.href = url; link.download = name + ".csv"; link.click();
setTimeout(() => URL.revokeObjectURL(url), 1000);
"""
#: the newest state of each source as a table; a text that would start a formula in a spreadsheet is quoted
AS_CSV = """
const cell = v => {
  if (v === null || v === undefined || (typeof v === "number" && !isFinite(v))) return "";
  let s = String(v);
  if (typeof v === "string" && /^[=+@\\-\\t\\r]/.test(s)) s = "'" + s;
  return /[",\\n]/.test(s) ? '"' + s.replaceAll('"', '""') + '"' : s;
};
const parts = [];
for (const [label, source] of sources) {
  const names = Object.keys(source.data).filter(n => !n.startsWith("_"));
  const columns = names.map(n => Array.from(source.data[n]));
  const rows = Math.max(0, ...columns.map(c => c.length));
  parts.push([label ? "series" : null, ...names].filter(n => n !== null).map(cell).join(","));
  for (let i = 0; i < rows; i++) {
    parts.push([...(label ? [label] : []), ...columns.map((c, k) =>
      names[k] === "time" ? new Date(c[i]).toISOString() : c[i])].map(cell).join(","));
  }
}
const text = parts.join("\\n") + "\\n";
"""


def csv_button(sources: Sequence[tuple[str, ColumnDataSource]], *, name: str, theme: Theme) -> Button:
    """Saves what the panel holds now."""
    args = {f"s{i}": source for i, (_, source) in enumerate(sources)}
    pairs = ", ".join(f"[labels[{i}], s{i}]" for i in range(len(sources)))
    code = f"const sources = [{pairs}];\n{AS_CSV}\n{DOWNLOAD}"
    button = Button(label="CSV", width=60, stylesheets=[style(theme)], button_type="default")
    button.js_on_click(CustomJS(args={**args, "name": name, "labels": [label for label, _ in sources]}, code=code))
    return button
