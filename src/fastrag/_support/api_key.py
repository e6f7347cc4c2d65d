"""A service's key: where it comes from, and how it stays out of what is shown."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable

from fastrag.errors import ConfigurationError, FastRAGError

KeySource = str | Callable[[], str]
"""A key, or a function that gives it whenever it is needed."""

_SHORTEST_SECRET = 8


class ApiKey:
    """The key of a client.

    Args:
        source: The key or a function that gives it; None: the environment's ``variable``, read now.
        variable: Such as ``OPENAI_API_KEY``.

    Raises:
        ConfigurationError: ``source`` is of another kind, or holds what no key holds.
    """

    def __init__(self, source: KeySource | None, *, variable: str) -> None:
        if not (source is None or isinstance(source, str) or callable(source)):
            raise ConfigurationError(
                f"api_key must be a text, a function that returns one, or None, not a {type(source).__name__}"
            )
        self._ask = None if source is None or isinstance(source, str) else source
        # Those of late: a refusal may repeat the key that was there before the present one.
        self._seen: deque[str] = deque(maxlen=8)
        if source is None or isinstance(source, str):
            self._keep(os.environ.get(variable, "") if source is None else source)

    @property
    def is_missing(self) -> bool:
        """Whether there is none and never will be."""
        return self._ask is None and not self._seen

    async def current(self) -> str:
        """The key to send now, empty where there is none. A function is called in a thread, as it may have to wait.

        Raises:
            ConfigurationError: The function failed, or gave no key.
        """
        if self._ask is None:
            return self._seen[-1] if self._seen else ""
        try:
            key = await asyncio.to_thread(self._ask)
        except FastRAGError:
            raise
        except Exception as error:
            raise ConfigurationError(f"the function given as api_key raised {type(error).__name__}") from error
        if not isinstance(key, str) or not key.strip():
            kind = "an empty text" if isinstance(key, str) else f"a {type(key).__name__}"
            raise ConfigurationError(f"the function given as api_key must return the key as a text, not {kind}")
        return self._keep(key)

    def hidden(self, words: str) -> str:
        """``words`` with three asterisks for each key in them.

        What is shorter than 8 characters is no secret, but a word that stands for one: ``none``, ``test``.
        """
        for key in self._seen:
            if len(key) >= _SHORTEST_SECRET:
                words = words.replace(key, "***")
        return words

    def _keep(self, key: str) -> str:
        key = key.strip()
        if not (key.isascii() and key.isprintable()):
            raise ConfigurationError("the API key has characters in it that no key has, such as a line break")
        if key and key not in self._seen:
            self._seen.append(key)
        return key
