"""What every language model client is: a prompt in, text and token usage out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal

from fastrag.document import Document


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked.

    Attributes:
        messages: The chat, in order. A chat model needs nothing else.
        question: The user's question as typed, for answerers that work without a chat model.
        sources: The Documents that the messages quote, in the order of their numbers (source 1 is ``sources[0]``).
    """

    messages: tuple[Message, ...]
    question: str = ""
    sources: tuple[Document, ...] = ()


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered.

    Attributes:
        text: The answer; may be empty.
        input_tokens: Tokens of the prompt as the server counted them, None where it did not say.
        output_tokens: Tokens of the answer as the server counted them, None where it did not say.
        model: The model that answered, as the server named it; None where there is none.
    """

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class CompletionDelta:
    """A piece of a streamed answer; the last one carries the whole `Completion`."""

    text: str
    completion: Completion | None = None


class LLM(ABC):
    """Answers prompts. Safe to use from many tasks of one event loop."""

    @abstractmethod
    async def complete(self, prompt: Prompt) -> Completion:
        """Answer ``prompt``.

        Raises:
            ServiceError: The endpoint failed (see `fastrag.errors`).
        """

    @abstractmethod
    def stream(self, prompt: Prompt) -> AsyncIterator[CompletionDelta]:
        """Answer ``prompt`` piece by piece; the last delta's ``completion`` holds the whole text and the usage.

        Raises:
            ServiceError: The endpoint failed, at the start or in the middle.
        """

    async def close(self) -> None:
        """Release connections. Harmless when called twice."""
