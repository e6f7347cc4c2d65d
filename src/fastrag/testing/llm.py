"""A language model that says what it is told to, for tests of what is built on one."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable

from fastrag.errors import ConfigurationError
from fastrag.llm.base import LLM, Completion, CompletionDelta, Prompt

Reply = str | Completion | Exception
"""A text, a text with token counts, or an error to be raised."""


class ScriptedLLM(LLM):
    """Gives prepared replies, and remembers what it was asked.

    Attributes:
        prompts: Every prompt so far, in order.

    Args:
        replies: One reply for every prompt, a function from the prompt to its reply, or the replies one after the
            other. A str is answered with token counts of None; an exception is raised.

    >>> import asyncio
    >>> from fastrag.llm import Message, Prompt
    >>> llm = ScriptedLLM(["Yes [1].", Completion("No.", input_tokens=9, output_tokens=2)])
    >>> prompt = Prompt((Message("user", "Is it?"),))
    >>> [asyncio.run(llm.complete(prompt)).text for _ in range(2)]
    ['Yes [1].', 'No.']
    """

    def __init__(self, replies: Reply | Iterable[Reply] | Callable[[Prompt], Reply]) -> None:
        self._reply: Callable[[Prompt], Reply]
        if isinstance(replies, Reply):
            self._reply = lambda _: replies
        elif isinstance(replies, Iterable):
            waiting = deque(replies)
            self._reply = lambda _: waiting.popleft() if waiting else self._out_of_replies()
        else:
            self._reply = replies
        self.prompts: list[Prompt] = []

    @property
    def id(self) -> str:
        """See `LLM.id`: of this object, since no two are told the same."""
        return f"scripted:{id(self)}"

    @property
    def is_repeatable(self) -> bool:
        """False: the script says what comes next."""
        return False

    async def complete(self, prompt: Prompt) -> Completion:
        """Give the next reply.

        Raises:
            ConfigurationError: Every reply is used up.
            Exception: The one that was prepared.
        """
        self.prompts.append(prompt)
        reply = self._reply(prompt)
        if isinstance(reply, Exception):
            raise reply
        return Completion(reply) if isinstance(reply, str) else reply

    async def stream(self, prompt: Prompt) -> AsyncIterator[CompletionDelta]:
        """Give the next reply word by word."""
        completion = await self.complete(prompt)
        for piece in re.findall(r"\s*\S+|\s+", completion.text):
            yield CompletionDelta(piece)
        yield CompletionDelta("", completion)

    def _out_of_replies(self) -> Reply:
        return ConfigurationError(f"this ScriptedLLM has no reply left for prompt number {len(self.prompts)}")
