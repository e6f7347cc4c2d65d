"""What the demonstration reads and asks: the language reference inside this Python, and questions about it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Collection, Mapping
from importlib import resources

from fastrag.benchmark.samples import EvalSample, read_samples
from fastrag.document import Document
from fastrag.errors import ConfigurationError

_WHAT_TO_DO = (
    "the demonstration needs the language reference that python.org's Python 3.11, 3.12 and 3.13 ship; run it with "
    "one of those, or install all of the standard library that your distribution packages for this Python"
)


def documents() -> list[Document]:
    """Return the language reference of the running Python, one Document for each topic, ordered by id.

    The id is the topic's, as in ``help("assert")``; ``metadata`` has ``title`` (the topic's first line) and
    ``python`` (the version the text is from, such as ``"3.12"``: texts differ a little between versions). Topics
    without text are left out. Some topics are parts of others, and two (``if`` and ``else``) are the same text:
    they stay, because real corpora repeat themselves too.

    Raises:
        ConfigurationError: This Python ships no language reference, or one of another shape.

    >>> first = documents()[0]
    >>> first.id, first.uri, first.metadata["title"]
    ('assert', 'pydoc:assert', 'The "assert" statement')
    """
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return [
        Document(id, text, uri=f"pydoc:{id}", metadata={"title": text.strip().splitlines()[0], "python": version})
        for id, text in sorted(_topics().items())
    ]


def samples() -> list[EvalSample]:
    """Return the questions that come with fastrag, each with the topics that answer it.

    ``relevant_ids`` maps a topic id to its gain: 2 answers the question (or one part of it, where it asks for
    several things), 1 helps. It is empty where the reference has no answer; `docs/demo-questions.md` in the
    repository tells how they were judged. ``metadata`` has ``kind`` and ``difficulty``.

    All ids exist in Python 3.11 to 3.13. Should another Python lack some, they are taken out of ``relevant_ids``,
    so that no pipeline is marked down for not finding them, and listed in ``metadata["missing_ids"]``; a question
    that loses all of them stays, without a reference answer, as one that this corpus cannot answer.

    Raises:
        ConfigurationError: As `documents`; or the file of questions is damaged.

    >>> samples()[0].relevant_ids
    {'assert': 2.0}
    """
    with resources.as_file(resources.files("fastrag.demo").joinpath("questions.jsonl")) as path:
        questions = read_samples(path)
    present = _topics().keys()
    return [_over(sample, present) for sample in questions]


def _over(sample: EvalSample, present: Collection[str]) -> EvalSample:
    """``sample`` as it can be judged over a corpus with the ids in ``present``."""
    if not isinstance(sample.relevant_ids, Mapping):
        raise ConfigurationError(f"question {sample.id!r} of the demonstration has no gains: reinstall fastrag")
    missing = [id for id in sample.relevant_ids if id not in present]
    if missing:
        sample.relevant_ids = {id: gain for id, gain in sample.relevant_ids.items() if id in present}
        sample.metadata["missing_ids"] = missing
        if not sample.relevant_ids:
            sample.reference_answer = None
    return sample


def _topics() -> dict[str, str]:
    """The topics that have text, checked: the module is generated, undocumented, and not everywhere."""
    python = f"Python {sys.version.split()[0]} ({sys.executable})"
    try:
        # Over 600 kB of text: read when asked for, not by importing this module.
        module = importlib.import_module("pydoc_data.topics")
    except ImportError as error:
        raise ConfigurationError(f"{python} comes without pydoc_data.topics: {_WHAT_TO_DO}") from error
    topics = getattr(module, "topics", None)
    if not isinstance(topics, dict) or not all(isinstance(part, str) for item in topics.items() for part in item):
        raise ConfigurationError(
            f"pydoc_data.topics of {python} is not a dict of topic id -> text under the name 'topics': {_WHAT_TO_DO}"
        )
    texts = {id: text for id, text in topics.items() if id and text.strip()}
    if not texts:
        raise ConfigurationError(f"pydoc_data.topics of {python} holds no text: {_WHAT_TO_DO}")
    return texts
