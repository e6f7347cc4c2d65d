"""A judge whose every verdict follows from the texts, so that a score can be worked out without it."""

import json
import re

import pytest

from fastrag.benchmark.judging.judge import Asking, Judge
from fastrag.benchmark.metrics.base import QueryOutcome
from fastrag.document import Document
from fastrag.llm import Completion
from fastrag.testing import ScriptedLLM

_QUOTED = re.compile(r"<(text-[0-9a-f]+) ([^>\n]*)>\n(.*?)\n</\1 \2>", re.DOTALL)


class ExactReader:
    """Claims (and parts of a question) are the lines of a text, but for those that begin with "-".

    A source supports the lines it has and contradicts ``X`` if it has the line ``no X``; the same for a part that an
    answer answers. Every prompt is in ``llm.prompts``.
    """

    def __init__(self, *, by_logprobs=False, votes=1):
        self.llm = ScriptedLLM(self._reply)
        self.judge = Judge(self.llm, by_logprobs=by_logprobs, votes=votes, cache=False)
        self.asking = Asking(self.llm, 0, by_logprobs=by_logprobs)

    @staticmethod
    def quoted(prompt):
        """The texts in a prompt: their names and what they say."""
        return [(name, text) for _, name, text in _QUOTED.findall(prompt.messages[1].content)]

    def _reply(self, prompt):
        quoted = self.quoted(prompt)
        if prompt.top_logprobs:
            [finding] = self._findings(quoted, "claim" if "claim 1" in dict(quoted) else "part")
            return Completion(finding["verdict"][:3], first_token={finding["verdict"][:3]: 0.0})
        wanted = set(prompt.schema["properties"])
        if wanted == {"findings"}:
            item = "claim" if "claim 1" in dict(quoted) else "part"
            return json.dumps({"findings": self._findings(quoted, item)})
        [kind] = wanted
        text = dict(quoted)["question" if kind == "parts" else "text"]
        return json.dumps({kind: [line for line in text.split("\n") if line.strip() and not line.startswith("-")]})

    def _findings(self, quoted, item):
        sources = [(int(name.split()[1]), text.split("\n")) for name, text in quoted if name.startswith("source")]
        findings = []
        for name, text in quoted:
            if not name.startswith(item):
                continue
            finding = {"number": int(name.split()[1]), "reason": "read"}
            supporting = sorted({number for number, lines in sources if text in lines})
            denying = sorted({number for number, lines in sources if f"no {text}" in lines})
            if item == "part":
                findings.append(finding | {"verdict": "answered" if supporting else "not_answered"})
            else:
                verdict = "supported" if supporting else "contradicted" if denying else "not_found"
                findings.append(finding | {"verdict": verdict, "sources": supporting or denying})
        return findings


@pytest.fixture(scope="session")
def exact_reader():
    return ExactReader


@pytest.fixture(scope="session")
def outcome_of():
    """An outcome of an answer and the texts of its sources."""

    def made(answer, *sources):
        return QueryOutcome(answer, [Document(f"d{n}", text) for n, text in enumerate(sources, start=1)], 1.0)

    return made
