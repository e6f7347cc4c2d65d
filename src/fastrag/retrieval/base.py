"""What every retriever is."""

from __future__ import annotations

from abc import ABC, abstractmethod

from fastrag._support.checks import require_positive_int, require_text
from fastrag.document import Document
from fastrag.store.filters import Filter, check_filter


class Retriever(ABC):
    """Finds the Documents that may answer a question, best first."""

    @abstractmethod
    async def retrieve(self, question: str, *, k: int | None = None, filter: Filter | None = None) -> list[Document]:
        """At most ``k`` new Documents, best first, with ``metadata["score"]`` and ``metadata["rank"]`` (from
        1).

        Args:
            question: What to look for; not empty.
            k: How many at the most; None means the retriever's own default.
            filter: Only Documents whose metadata satisfies it; joined (And) with the retriever's own, if any.

        Returns:
            Fewer than ``k``, down to an empty list, where fewer match.

        Raises:
            ConfigurationError: The question is empty or ``k`` is below 1.
            FastRAGError: The store or the embedder failed.
        """


def checked_request(question: object, k: int | None, default_k: int, filter: Filter | None) -> int:
    """How many Documents a call of `Retriever.retrieve` is to return, once its arguments make sense.

    Raises:
        ConfigurationError: The question is empty, ``k`` is below 1, or the filter is malformed.

    >>> checked_request("Why?", None, 10, None)
    10
    """
    require_text("question", question)
    check_filter(filter)
    return require_positive_int("k", default_k if k is None else k)
