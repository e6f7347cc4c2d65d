"""The one record that every layer passes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Document:
    """A piece of text with an identity: a whole file, or a chunk of one.

    A chunk is a Document too; its ``metadata`` has ``parent_id`` and ``start``/``end``, the characters of the
    parent's text that it holds. Stores and retrievers return new Documents whose ``metadata`` has ``score``
    (float, higher is closer) and ``rank`` (int, from 1); the stored Document is never changed by a search.

    Attributes:
        id: Identity within a corpus; never empty.
        text: The text itself; may be empty.
        uri: Where it came from, if anywhere.
        metadata: JSON-like facts about it.

    >>> Document("intro", "Hello.").metadata
    {}
    """

    id: str
    text: str
    uri: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
