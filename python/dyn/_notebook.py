"""How a notebook shows a model and its answers: HTML without scripts (but for a report and a graph, in frames of their own),
in the colours of the notebook. Imported when the first is shown. Names of models are untrusted: all text is escaped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._answers import Buffer, Diff, Explanation, Graph, Passes, Plan, Profile, Report
    from ._model import Model

_MOST_ROWS = 40
_CELL = "padding:2px 12px 2px 0;vertical-align:top;"
_TEXT, _NUMBER = _CELL + "text-align:left", _CELL + "text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums"
_LEAST_SHARE = .0005  # of a profile: what rounds to 0.0 % is counted only
_QUIET = "opacity:.65"
_COLOURS = {"added": "#2a9d4a", "removed": "#d1495b", "changed": "#b8860b"}


def _scaled(value: float, step: int, units: Sequence[str], form: str) -> str:
    """The value in the first unit in which it is below the step; whole in the smallest."""
    at = 0
    while value >= step and at + 1 < len(units):
        value, at = value / step, at + 1
    return f"{value:{form if at else '.0f'}} {units[at]}"


def _bytes(count: float) -> str:
    return _scaled(count, 1024, ("B", "KiB", "MiB", "GiB"), ".1f")


def _time(ns: float) -> str:
    return _scaled(ns, 1000, ("ns", "us", "ms", "s"), ".3g")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Cells are HTML; numbers: the columns that hold numbers."""
    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(f'<{tag} style="{_NUMBER if i in numbers else _TEXT}">{cell}</{tag}>' for i, cell in enumerate(row))
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells('th', head)}</tr></thead><tbody>{body}</tbody></table>"


def _title(text: str, more: str = "") -> str:
    return f'<div><b>{escape(text)}</b> <span style="{_QUIET}">{escape(more)}</span></div>'


def _left_out(count: int, what: str) -> str:
    return f'<div style="{_QUIET}">and {count} more {what}</div>' if count > 0 else ""


def model_html(model: Model) -> str:
    rows = [(kind, f"<code>{escape(port.name)}</code>", escape(str(port.type)))
            for kind, ports in (("input", model.inputs), ("output", model.outputs)) for port in ports]
    html = _title("dyn.Model") + _table(("", "name", "type"), rows)
    dims = list(model.dims.values())
    if dims:
        html += _table(("dim", "from", "to", "origin"),
                       [(f"<code>{escape(dim.name)}</code>", str(dim.low), "" if dim.high is None else str(dim.high),
                         escape(dim.origin)) for dim in dims[:_MOST_ROWS]], numbers=(1, 2))
    return html + _left_out(len(dims) - _MOST_ROWS, "dims")


def explanation_html(why: Explanation) -> str:
    lines = "".join(f"<div>{escape(line)}</div>" for line in why.lines)
    chain = "".join(f"<li>{escape(line.strip())}</li>" for line in why.chain)
    return (_title(why.question, why.answer) + lines
            + (f'<details open><summary>step by step</summary><ol>{chain}</ol></details>' if chain else ""))


def _memory_picture(buffers: Sequence[Buffer]) -> str:
    """Blocks of the arena: to the right the instructions, downwards the addresses."""
    placed = [(one, one.offset_bytes, one.size_bytes) for one in buffers
              if one.offset_bytes is not None and one.size_bytes]
    if not placed:
        return ""
    first = min(one.begin for one, _, _ in placed)
    width = max(1, max(one.end for one, _, _ in placed) - first + 1)
    height = max(offset + size for _, offset, size in placed)
    blocks = "".join(
        f'<rect x="{800 * (one.begin - first) / width:.2f}" y="{240 * offset / height:.2f}" '
        f'width="{max(1.0, 800 * (one.end - one.begin + 1) / width):.2f}" height="{240 * size / height:.2f}" '
        f'fill="hsl({47 * i % 360} 45% 60%)" stroke="currentColor" stroke-width=".5">'
        f"<title>{escape(one.name)}: {escape(one.dtype)} {escape(str(list(one.shape)))}, {_bytes(size)}</title></rect>"
        for i, (one, offset, size) in enumerate(placed))
    return (f'<svg viewBox="-1 -1 802 262" width="800" role="img" aria-label="memory over the run">{blocks}'
            f'<text x="0" y="257" font-size="12" fill="currentColor">{width} instructions, to the right; '
            f"{_bytes(height)} of addresses, downwards</text></svg>")


def plan_html(plan: Plan) -> str:
    peak = "" if plan.predicted_peak_bytes is None else f", {_bytes(plan.predicted_peak_bytes)} predicted"
    rows = [(f"<code>{escape(one.name)}</code>", escape(one.dtype), escape(", ".join(map(str, one.shape))),
             escape(one.size), "" if one.size_bytes is None else _bytes(one.size_bytes))
            for one in plan.buffers[:_MOST_ROWS]]
    return (_title(f"peak: {plan.peak}", f"bytes{peak}; constants {_bytes(plan.constants_bytes)}")
            + _memory_picture(plan.buffers)
            + _table(("buffer", "dtype", "shape", "bytes", ""), rows, numbers=(4,))
            + _left_out(len(plan.buffers) - _MOST_ROWS, "buffers"))


def profile_html(profile: Profile) -> str:
    def bar(share: float) -> str:
        return (f'{100 * share:.1f} % <span style="display:inline-block;width:60px;text-align:left"><span style="display:'
                f'inline-block;height:.6em;width:{60 * share:.1f}px;background:currentColor;opacity:.5"></span></span>')
    kernels = [one for one in profile.kernels if one.share >= _LEAST_SHARE][:_MOST_ROWS]
    rows = [(f"<code>{escape(one.name)}</code>", escape(one.description), str(one.launches_count), _time(one.total_ns),
             bar(one.share), escape(one.place.rpartition(": node ")[2])) for one in kernels]
    sizes = ", ".join(f"{name}={size}" for name, size in profile.dims.items())
    return (_title(_time(profile.run_ns), f"{sizes}; {profile.launches_count} launches, peak {_bytes(profile.peak_bytes)}")
            + _table(("kernel", "what", "launches", "time", "share", "place"), rows, numbers=(2, 3, 4))
            + _left_out(len(profile.kernels) - len(kernels), "kernels"))


def diff_html(diff: Diff) -> str:
    def line(kind: str, sign: str, text: str) -> str:
        return f'<div style="color:{_COLOURS[kind]}">{sign} {escape(text)}</div>'
    rows = []
    for one in diff.changes[:_MOST_ROWS]:
        if one.before:
            rows.append(line("changed" if one.kind == "changed" else "removed", "-", one.before))
        if one.after:
            rows.append(line("changed" if one.kind == "changed" else "added", "+", one.after))
    return (_title(f"{diff.start} to {diff.end}", f"{diff.added_count} added, {diff.removed_count} removed, "
                                                  f"{diff.changed_count} changed, {diff.unchanged_count} unchanged")
            + f'<pre style="line-height:1.3">{"".join(rows)}</pre>'
            + _left_out(len(diff.changes) - _MOST_ROWS, "changes"))


def passes_html(passes: Passes) -> str:
    rows = [(str(one.index), f"<code>{escape(one.name)}</code>", _time(one.time_ns),
             f"{one.ops_count - one.ops_before_count:+d}" if one.changed and one.ops_before_count else "",
             str(one.ops_count), escape(", ".join(f"{value} {name.replace('_', ' ')}" for name, value in one.counters.items() if value)))
            for one in passes]
    return _table(("", "pass", "time", "operations", "", "what it did"), rows, numbers=(0, 2, 3, 4))


def _frame(page: str, height: int) -> str:
    return f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts" style="width:100%;height:{height}px;border:0"></iframe>'


def report_html(report: Report) -> str:
    with open(report.path, encoding="utf-8") as file:
        return _frame(file.read(), 800)


_DATA = re.compile(r'(<script type="application/json" id="data">)(.*?)(</script>)', re.S)
_GRAPH_ALONE = "<style>header,section:not(#graph-section){display:none}main{padding:0;max-width:none}</style></head>"


def graph_page(report: str) -> str:
    """The page of a report with its graph alone; the data of the other parts, which are most of it, are left out."""
    def without_others(found: re.Match[str]) -> str:
        data = json.loads(found[2])
        left_out = {"refused": "left out here"}
        data.update({"kernel_texts": [], "sweeps": [], "settings": [],
                     **dict.fromkeys(("kernels", "plan", "prediction", "run", "target"), left_out)})
        return found[1] + json.dumps(data, separators=(",", ":")).replace("<", "\\u003c") + found[3]
    page, count = _DATA.subn(without_others, report, count=1)
    if count != 1:
        raise ValueError("the page of the report has no data")
    return page.replace("</head>", _GRAPH_ALONE, 1)


def graph_html(graph: Graph) -> str:
    return _frame(graph.page, 640)
