"""A comparison as GitHub-flavoured Markdown, for job summaries and comments."""

from __future__ import annotations

import re

from fastrag.benchmark.comparison_records import Comparison
from fastrag.benchmark.gate import GateReport
from fastrag.benchmark.report.comparison_rows import columns, headline, legend, notes, rows_by_metric
from fastrag.benchmark.report.texts import one_line

_NOTES_SHOWN = 100

# Entities where a backslash is not understood everywhere: in tables, in HTML.
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", '"': "&quot;"}

# GitHub looks for these in texts once Markdown is done, when no backslash is left. A span of its own hides the
# character from that; GitHub's documentation has it for dollars.
_IN_A_SPAN = (
    r"\$"  # formulas
    r"|(?<![a-z0-9_])@(?=[a-z0-9])"  # people and teams, who would be notified
    r"|@(?=[a-z0-9_-]*\.[a-z0-9._-]|[0-9a-f]{7})"  # mail, and commits of somebody
    r"|\#(?=[0-9])|(?<=\bGH)-(?=[0-9])"  # issues
    r"|:(?=//)|(?<=www)\.|(?<=mailto):|(?<=xmpp):"  # addresses
    r"|:(?=[a-z0-9_+-]+:)"  # emoji
    r"|\b[0-9a-f](?=[0-9a-f]{39}\b)"  # commits
)
_MARKS = (
    r"[\\`*_\[\]#~]"  # code, emphasis, links, headings
    r"|^-(?=[-\s]*$)|^=(?=[=\s]*$)"  # rules, and headings by the line below them
    r"|^[-+](?=\s)|^\d+[.)](?=\s|$)"  # lists
)
_SPECIAL = re.compile(f'(?P<entity>[&<>|"])|(?P<span>{_IN_A_SPAN})|(?P<mark>{_MARKS})', re.IGNORECASE | re.ASCII)


def comparison_markdown(comparison: Comparison, gate: GateReport | None = None) -> str:
    """One table with a row a run and metric, then the reasons in a fold. Ends with an end of line.

    Names and questions come out as the text they are, whatever Markdown, HTML, links or emoji they contain.
    """
    lines = []
    if gate is not None:
        lines += [f"### {escape(headline(comparison, gate), most=400)}", ""]
    headings = ("metric", *columns(comparison))
    lines.append(f"| {' | '.join(map(escape, headings))} |")
    lines.append(f"|{' --- |' * 2}{' ---: |' * (len(headings) - 3)} --- |")
    for metric, rows in rows_by_metric(comparison):
        for row in rows:
            *cells, verdict = (metric, *row.cells)
            # What only the baseline has is no verdict.
            strong = f"**{escape(verdict)}**" if row.difference else escape(verdict)
            lines.append(f"| {' | '.join([*map(escape, cells), strong])} |")
    found = notes(comparison)
    lines += ["", "<details><summary>Why</summary>", ""]
    lines += [f"- {escape(note, most=400)}" for note in found[:_NOTES_SHOWN]]
    if len(found) > _NOTES_SHOWN:
        lines.append(f"- and {len(found) - _NOTES_SHOWN} more")
    lines += ["", " ".join(escape(sentence, most=400) for sentence in legend(comparison)), "", "</details>", ""]
    return "\n".join(lines)


def escape(text: str, *, most: int = 160) -> str:
    r"""``text`` as Markdown that GitHub shows as it is, on one line, also inside a table.

    >>> print(escape("a|b <b>*x*</b>\n#12 @team"))
    a&#124;b &lt;b&gt;\*x\*&lt;/b&gt;\\n<span>#</span>12 <span>@</span>team
    """
    return _SPECIAL.sub(_escaped, one_line(text, most=most).strip())


def _escaped(match: re.Match[str]) -> str:
    found = match.group()
    if match["entity"]:
        return _ENTITIES[found]
    if match["span"]:
        return f"<span>{found}</span>"
    # Of a list's mark at the beginning of a line only the last character is special.
    return f"{found[:-1]}\\{found[-1]}"
