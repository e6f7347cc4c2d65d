"""BM25 over numbered texts, held in memory by tantivy."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastrag._support.extras import import_extra
from fastrag.errors import StoreError

_MAX_WORD_BYTES = 255
_WRITER_BYTES = 50_000_000


def word_analyzer(tantivy: Any, language: str | None) -> Any:
    """What takes a text apart into words: its method ``analyze`` gives them in order, as a list.

    Words are the runs of letters and digits, in small letters, without accents, reduced to their stems. No
    word is left out for being common: in the question "what does with do?" the word that matters is "with".
    """
    builder = (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(_MAX_WORD_BYTES))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.ascii_fold())
    )
    if language is not None:
        builder = builder.filter(tantivy.Filter.stemmer(language))
    return builder.build()


class LexicalIndex:
    """Texts by row number, searched by BM25. Not safe for threads: its owner locks `add` and `commit`.

    Words are those of `word_analyzer`.

    Args:
        language: The stemmer's language, as `language_name` gives it; None for no stemming.

    Raises:
        MissingDependencyError: tantivy is not installed.
    """

    def __init__(self, language: str | None) -> None:
        self._tantivy = tantivy = import_extra("tantivy", extra="memory", purpose="lexical search in memory")
        self._analyzer = word_analyzer(tantivy, language)
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("text", tokenizer_name="words", index_option="freq")
        schema.add_unsigned_field("row", fast=True)
        self._schema = schema.build()
        self._index = tantivy.Index(self._schema)
        self._index.register_tokenizer("words", self._analyzer)
        # `commit` reloads by itself; a reader that also watches for commits now and then makes that wait for 100 ms.
        self._index.config_reader(reload_policy="manual")
        self._writer = self._index.writer(heap_size=_WRITER_BYTES, num_threads=1)

    def add(self, row: int, text: str) -> None:
        """Take in ``text`` as ``row``; searchable after `commit`."""
        document = self._tantivy.Document()
        document.add_text("text", text)
        document.add_unsigned("row", row)
        self._writer.add_document(document)

    def commit(self) -> None:
        """Make what was added count.

        Raises:
            StoreError: tantivy failed.
        """
        try:
            self._writer.commit()
            self._index.reload()
        except ValueError as error:
            raise StoreError(f"tantivy could not index the texts: {error}") from error

    def searcher(self) -> Any:
        """The index as of the last `commit`, which later ones do not change."""
        return self._index.searcher()

    def search(self, searcher: Any, text: str, k: int, allowed: NDArray[np.bool_] | None) -> list[tuple[int, float]]:
        """The ``k`` rows that fit ``text`` best, with their scores; equal scores in order of rows.

        Args:
            searcher: From `searcher`.
            text: Any text; its words are looked for as words, whatever signs stand between them.
            k: At least 1.
            allowed: By row number, whether it may be found; None allows all.

        Raises:
            StoreError: tantivy failed.
        """
        words = Counter(self._analyzer.analyze(text))
        total = searcher.num_docs
        if not words or not total or (allowed is not None and not allowed.any()):
            return []
        query = self._query(words)
        # So many that as a rule there are more than k allowed ones among them.
        limit = k + 1 if allowed is None else 2 * (k + 1) * len(allowed) // max(1, int(np.count_nonzero(allowed)))
        while True:
            limit = min(limit, total)
            try:
                hits = searcher.search(query, limit=limit, count=False).hits
                rows = searcher.fast_field_values("row", [address for _, address in hits])
            except ValueError as error:
                raise StoreError(f"tantivy could not search: {error}") from error
            scored = [
                (row, score) for row, (score, _) in zip(rows, hits, strict=True) if allowed is None or allowed[row]
            ]
            if len(hits) < limit or limit == total:
                break
            # Where the k-th best score goes on beyond the limit, which of its rows came is up to the engine.
            if len(scored) >= k and scored[k - 1][1] > hits[-1][0]:
                break
            limit *= 4
        scored.sort(key=lambda hit: (-hit[1], hit[0]))
        return scored[:k]

    def _query(self, words: Counter[str]) -> Any:
        query, should = self._tantivy.Query, self._tantivy.Occur.Should
        # Built from terms and never parsed, so that no text can be taken for query syntax.
        parts = []
        for word, count in words.items():
            part = query.term_query(self._schema, "text", word, "freq")
            parts.append((should, part if count == 1 else query.boost_query(part, float(count))))
        return parts[0][1] if len(parts) == 1 else query.boolean_query(parts)
