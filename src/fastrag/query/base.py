"""What every query engine is, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from fastrag.document import Document


@dataclass(slots=True)
class QueryResult:
    """The answer to one question and what it rests on.

    Attributes:
        answer: The text; "" where there was nothing to say.
        sources: What was retrieved, best first; source number i of the prompt is ``sources[i - 1]``.
        input_tokens: As the model's server counted them; None where unknown.
        output_tokens: As the model's server counted them; None where unknown.
        citations: Numbers (from 1) of the sources the answer cites, in order of first mention.
        model: The model that answered, None where none did.
    """

    answer: str
    sources: list[Document]
    input_tokens: int | None = None
    output_tokens: int | None = None
    citations: list[int] = field(default_factory=list)
    model: str | None = None


@runtime_checkable
class QueryTarget(Protocol):
    """Anything that answers questions: `QueryEngine`, or a pipeline of your own with this one method."""

    async def query(self, question: str) -> QueryResult:
        """Answer ``question``."""
        ...
