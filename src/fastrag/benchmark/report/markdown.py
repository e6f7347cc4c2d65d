"""A comparison as GitHub-flavoured Markdown, for job summaries and comments."""

from __future__ import annotations

import re

from fastrag.benchmark.comparison_records import Comparison
from fastrag.benchmark.gate import GateReport
from fastrag.benchmark.report.comparison_rows import columns, headline, legend, notes, rows_by_metric
from fastrag.benchmark.report.texts import one_line

_NOTES_SHOWN = 100

# Entities where a backslash is not understood everywhere: pipes inside tables, dollars (GitHub's formulas), HTML.
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "$": "&#36;", '"': "&quot;", "@": "@&#8203;"}
_SPECIAL = re.compile(
    r"[&<>|$\"]|[\\`*_\[\]#~]"  # HTML, tables, formulas, code, emphasis, links, headings and issues
    r"|(?<=:)/|(?<=www)\."  # addresses that become links by themselves
    r"|(?<!\w)@(?=\w)"  # people who would be notified
    r"|^\s*[-+](?=\s|$)|^\s*\d+[.)](?=\s|$)",  # lists
    re.IGNORECASE,
)


def comparison_markdown(comparison: Comparison, gate: GateReport | None = None) -> str:
    """One table with a row a run and metric, then the reasons in a fold. Ends with an end of line.

    Names and questions come out as the text they are, whatever Markdown, HTML or links they contain, but for an
    invisible space after the ``@`` of what would notify somebody.
    """
    lines = []
    if gate is not None:
        lines += [f"### {escape(headline(comparison, gate))}", ""]
    headings = ("metric", *columns(comparison))
    lines.append(f"| {' | '.join(map(escape, headings))} |")
    lines.append(f"|{' --- |' * 2}{' ---: |' * (len(headings) - 3)} --- |")
    for metric, rows in rows_by_metric(comparison):
        for row in rows:
            *cells, verdict = (metric, *row.cells)
            strong = f"**{escape(verdict)}**" if verdict else ""
            lines.append(f"| {' | '.join([*map(escape, cells), strong])} |")
    found = notes(comparison)
    lines += ["", "<details><summary>Why</summary>", ""]
    lines += [f"- {escape(note, most=400)}" for note in found[:_NOTES_SHOWN]]
    if len(found) > _NOTES_SHOWN:
        lines.append(f"- and {len(found) - _NOTES_SHOWN} more")
    lines += ["", escape(legend(comparison), most=400), "", "</details>", ""]
    return "\n".join(lines)


def escape(text: str, *, most: int = 160) -> str:
    r"""``text`` as Markdown that shows it as it is, on one line, also inside a table.

    >>> escape("a|b <b>*x*</b>\n[y](http://z)")
    'a&#124;b &lt;b&gt;\\*x\\*&lt;/b&gt; \\[y\\](http:\\//z)'
    """
    return _SPECIAL.sub(_escaped, one_line(text, most=most))


def _escaped(match: re.Match[str]) -> str:
    found = match.group()
    if found in _ENTITIES:
        return _ENTITIES[found]
    # Of a list's mark at the beginning of a line only the last character is special.
    return f"{found[:-1]}\\{found[-1]}"
