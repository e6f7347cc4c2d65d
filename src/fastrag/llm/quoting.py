"""Quoting texts in a prompt so that none of them can end its own quotation."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


class Quotation:
    """Marks around quoted texts, made from a word that occurs in none of them.

    The same texts get the same word, so that the same input gives the same prompt.

    Args:
        texts: Everything in the prompt that somebody else wrote, quoted or not.
        label: What the word begins with.

    >>> quotation = Quotation(["Because."])
    >>> print(quotation.quoted("Because.", 1))
    <source-9650 1>
    Because.
    </source-9650 1>
    """

    def __init__(self, texts: Iterable[str], *, label: str = "source") -> None:
        texts = list(texts)
        digest = hashlib.blake2b("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
        length = 4
        while any(f"{label}-{digest[:length]}" in text for text in texts):
            length += 1
        self.word = f"{label}-{digest[:length]}"

    def quoted(self, text: str, name: object) -> str:
        """``text`` between marks that carry ``name``, a number or a word of ours."""
        return f"<{self.word} {name}>\n{text}\n</{self.word} {name}>"
