"""What every language model client is: a prompt in, text and token usage out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

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
        schema: A JSON Schema that the answer is to fit: the server is held to it where it can be, and whoever asked
            checks the answer all the same. None for free text.
        top_logprobs: How many alternatives of the answer's first token to tell with their log-probabilities
            (`Completion.first_token`), where the server tells them; 0 for none.
        take: Tells apart several answers to one prompt, which a cache would otherwise give the same; from 0.
    """

    messages: tuple[Message, ...]
    question: str = ""
    sources: tuple[Document, ...] = ()
    schema: Mapping[str, Any] | None = None
    top_logprobs: int = 0
    take: int = 0


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered.

    Attributes:
        text: The answer; may be empty.
        input_tokens: Tokens of the prompt as the server counted them, None where it did not say.
        output_tokens: Tokens of the answer as the server counted them, None where it did not say.
        model: The model that answered, as the server named it; None where there is none.
        first_token: The likeliest first tokens of the answer with their natural log-probabilities, where the prompt
            asked for them and the server told; else empty.
        cached: Whether it came out of a cache; its token counts are then those of the call that was once made.
    """

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    model: str | None = None
    first_token: Mapping[str, float] = field(default_factory=dict)
    cached: bool = False


@dataclass(frozen=True, slots=True)
class CompletionDelta:
    """A piece of a streamed answer; the last one carries the whole `Completion`."""

    text: str
    completion: Completion | None = None


class LLM(ABC):
    """Answers prompts. Safe to use from many tasks of one event loop."""

    @property
    @abstractmethod
    def id(self) -> str:
        """All that an answer depends on besides the prompt: kind, model, place and parameters, and no secret.

        Two objects of one id give interchangeable answers; caches keep answers by it.
        """

    @property
    def model(self) -> str | None:
        """The model's name as its provider writes it, by which lists of prices know it; None where there is none."""
        return None

    @property
    def endpoint(self) -> str | None:
        """The URL that requests go to, by which lists of prices know the provider; None where nothing is sent."""
        return None

    @property
    def is_repeatable(self) -> bool:
        """False where an answer given once must not stand for the next to an equal prompt: judges then cache none."""
        return True

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
