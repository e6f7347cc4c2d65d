"""Check the demonstration's questions against the language reference of the Python that runs this.

Needs nothing but the standard library, so any interpreter can run it::

    python3.13 scripts/check_demo_questions.py

Every relevant id must be a topic, and at least half of the content words of every reference answer must occur in
one relevant topic. Exits with 1 and one line for each problem if not.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

QUESTIONS = Path(__file__).resolve().parents[1] / "src" / "fastrag" / "demo" / "questions.jsonl"
LEAST_SHARE = 0.5
# Words that say nothing about whether an answer stands in a text. Python's own words (is, not, with, ...) stay in.
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "the an of to that which what it its are be been was were by as at on this these those there has have so "
        "such than then where when may can does do each one both",
    )
)


def words(text: str) -> set[str]:
    """Lower-case words, names and numbers of two characters and more, without stop words."""
    return set(re.findall(r"[a-z0-9_]{2,}", text.lower())) - STOP_WORDS


def check(questions: list[dict], topics: dict[str, str]) -> list[str]:
    """Return what is wrong, a line each."""
    problems = []
    vocabulary = {id: words(text) for id, text in topics.items()}
    for question in questions:
        relevant = question["relevant_ids"]
        problems += [f"{question['id']}: no topic {id!r}" for id in relevant if id not in topics]
        wanted = words(question["reference_answer"] or "")
        # An answer of symbols alone, such as "a, b = b, a", has no words to look for.
        if wanted:
            share = max((len(wanted & vocabulary.get(id, set())) / len(wanted) for id in relevant), default=0.0)
            if share < LEAST_SHARE:
                problems.append(f"{question['id']}: only {share:.0%} of the answer's words are in a relevant topic")
    return problems


def main(arguments: list[str] | None = None) -> int:
    """Run the check and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("questions", nargs="?", type=Path, default=QUESTIONS, help="a .jsonl file of questions")
    path = parser.parse_args(arguments).questions
    from pydoc_data.topics import topics

    questions = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    problems = check(questions, topics)
    for problem in problems:
        print(problem)
    used = {id for question in questions for id in question["relevant_ids"]}
    print(
        f"Python {sys.version.split()[0]}: {len(questions)} questions, "
        f"{len(used & topics.keys())} of {len(topics)} topics used, {len(problems)} problems"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
