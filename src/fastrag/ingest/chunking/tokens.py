"""Chunks of so many tokens of a model's tokenizer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastrag._support.extras import import_extra
from fastrag.errors import ConfigurationError
from fastrag.ingest.base import Chunker, Span, check_size_and_overlap
from fastrag.ingest.chunking.windows import split_in_windows

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class TokenChunker(Chunker):
    """Chunks of at most ``size`` tokens, cut at the best place there is (see `CharacterChunker`).

    Tokens are counted as the model sees them: the special tokens that its tokenizer puts around every text
    (``[CLS]``, ``[SEP]``) are among the ``size``. So a chunk as long as the model's limit is not cut off by it.
    Only a chunk of one character may have more tokens than ``size``, where that character alone has more.

    Args:
        tokenizer: A `tokenizers.Tokenizer`, or the path of a ``tokenizer.json``. The truncation and padding it
            may be set to are ignored; the object given is not changed.
        size: Most tokens of a chunk; more than the tokenizer's special tokens.
        overlap: Most tokens that a chunk repeats from the end of the one before it, from 0 to below ``size``
            less the special tokens.

    Raises:
        ConfigurationError: ``size`` or ``overlap`` is out of range, or ``tokenizer`` cannot be read.
        MissingDependencyError: The extra ``chunking`` is not installed.

    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> words = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    >>> words.pre_tokenizer = pre_tokenizers.Whitespace()
    >>> from fastrag.document import Document
    >>> [chunk.text for chunk in TokenChunker(words, size=3).chunk(Document("d", "one two three four"))]
    ['one two three', 'four']
    """

    def __init__(self, tokenizer: Tokenizer | str | PathLike[str], *, size: int = 256, overlap: int = 0) -> None:
        library = import_extra("semantic_text_splitter", extra="chunking", purpose="TokenChunker")
        own = _own_copy(tokenizer)
        special = own.num_special_tokens_to_add(False)
        self.size, self.overlap = check_size_and_overlap(size, overlap)
        if self.size - special <= self.overlap:
            raise ConfigurationError(
                f"size must be above overlap plus the tokenizer's {special} special tokens, "
                f"and size={size} is not above {self.overlap} + {special}"
            )
        digest = hashlib.blake2b(own.to_str().encode(), digest_size=8).hexdigest()
        self._id = f"tokens:tokenizer={digest}:size={self.size}:overlap={self.overlap}"
        self._splitter = library.TextSplitter.from_huggingface_tokenizer(own, self.size - special, self.overlap)

    @property
    def id(self) -> str:
        """See `Chunker.id`. Has a hash of the tokenizer."""
        return self._id

    def spans(self, text: str) -> Iterable[Span]:
        """See `Chunker.spans`."""
        for start, end in split_in_windows(self._splitter.chunk_indices, text):
            yield Span(start, end)


def _own_copy(tokenizer: Any) -> Any:
    library = import_extra("tokenizers", extra="chunking", purpose="TokenChunker")
    if isinstance(tokenizer, library.Tokenizer):
        source = tokenizer.to_str()
        where = "tokenizer"
    elif isinstance(tokenizer, str | PathLike):
        where = f"tokenizer {str(tokenizer)!r}"
        try:
            source = Path(tokenizer).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{where} cannot be read: {error}") from error
    else:
        raise ConfigurationError(f"tokenizer must be a tokenizers.Tokenizer or a path, not {tokenizer!r}")
    try:
        own = library.Tokenizer.from_str(source)
    except Exception as error:  # the library raises nothing narrower
        raise ConfigurationError(f"{where} is not a tokenizer.json: {error}") from error
    own.no_truncation()
    own.no_padding()
    return own
