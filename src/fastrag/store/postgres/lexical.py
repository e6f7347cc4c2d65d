"""Search by words in PostgreSQL: BM25 by pg_textsearch, or computed in SQL where that is not installed."""

from __future__ import annotations

from typing import Any

from fastrag.store.filters import Filter
from fastrag.store.postgres.engine import psycopg
from fastrag.store.postgres.filters import Condition
from fastrag.store.postgres.rows import DOCUMENT_COLUMNS
from fastrag.store.postgres.shares import SAMPLE, Shares, part_of
from fastrag.store.postgres.table import Names, Ranking
from fastrag.store.postgres.textsearch import index_words

SCORE = len(DOCUMENT_COLUMNS.split(","))
WRITTEN = SCORE + 1

# As pg_textsearch has them where it is not told otherwise.
_K1 = 1.2
_B = 0.75
# What ranking one text by itself costs, in texts that the index passes over.
_ALONE = 3


async def best_by_words(
    connection: Any, names: Names, ranking: Ranking, words: str, k: int, filter: Filter | None, shares: Shares
) -> list[tuple[Any, ...]]:
    """The ``k`` rows of `DOCUMENT_COLUMNS` and `SCORE` (BM25) that suit ``words`` best, best first.

    Equal ones are in the order they were written.
    """
    if ranking == "tsvector":
        return await _computed(connection, names, words, k, Condition(filter))
    try:
        return await _by_textsearch(connection, names, words, k, filter, shares)
    except psycopg("psycopg.errors").UndefinedObject:
        # Nobody searched before, nor called `optimize`: loading is several times as fast without the index.
        await index_words(connection, names)
        return await _by_textsearch(connection, names, words, k, filter, shares)


async def _by_textsearch(
    connection: Any, names: Names, words: str, k: int, filter: Filter | None, shares: Shares
) -> list[tuple[Any, ...]]:
    if filter is not None:
        condition = Condition(filter)
        share = await shares.of(connection, names, condition)
        # With n of N texts satisfying the filter, the index passes over k N / n of them to find k.
        if share.matching * _ALONE < k * share.rows / max(share.matching, 1):
            return await _one_by_one(connection, names, words, k, condition)
    return await _by_index(connection, names, words, k, Condition(filter, past_index=True))


async def _by_index(connection: Any, names: Names, words: str, k: int, condition: Condition) -> list[tuple[Any, ...]]:
    candidates = k + 1
    while True:
        # Scores told by bm25_get_current_score() are right only as long as its own index is walked along, so no other
        # may be. They are 0 for texts with none of the words. The limit is written out, as the index has to know it.
        cursor = await connection.execute(
            f"SELECT {DOCUMENT_COLUMNS}, -bm25_get_current_score() AS score, written FROM {names.table}"
            f" WHERE {condition.sql} ORDER BY words <@> to_bm25query(%(words)s, '{names.words}') LIMIT {candidates}",
            {"words": words, **condition.values},
            prepare=False,  # pg_textsearch does not look through the parameters of a prepared plan, and gathers 1,000
            binary=True,
        )
        rows = sorted(await cursor.fetchall(), key=lambda row: (-row[SCORE], row[WRITTEN]))
        # Which of equal ones came first is up to the index; where others may be as good as the k-th, more are asked.
        if len(rows) < candidates or rows[k - 1][SCORE] > rows[-1][SCORE] or rows[k - 1][SCORE] <= 0:
            return [row for row in rows[:k] if row[SCORE] > 0]
        candidates *= 4


async def _one_by_one(connection: Any, names: Names, words: str, k: int, condition: Condition) -> list[tuple[Any, ...]]:
    cursor = await connection.execute(
        f"SELECT {DOCUMENT_COLUMNS}, -score FROM ("
        f"  SELECT {DOCUMENT_COLUMNS}, written, words <@> to_bm25query(%(words)s, '{names.words}') AS score"
        f"  FROM {names.table} WHERE {condition.sql} OFFSET 0"
        f") AS found WHERE score < 0 ORDER BY score, written LIMIT {k}",
        {"words": words, **condition.values},
        prepare=False,
        binary=True,
    )
    rows: list[tuple[Any, ...]] = await cursor.fetchall()
    return rows


async def _computed(connection: Any, names: Names, words: str, k: int, condition: Condition) -> list[tuple[Any, ...]]:
    """BM25 in SQL, of every text with any of the words: Robertson and Zaragoza (2009), with Lucene's idf.

    How often a word is in a text is what ts_rank_cd gives for that word alone where every place weighs 1; a tsvector
    holds 255 places of a word at the most. How many texts there are, and their average length, are estimated in large
    tables.
    """
    cursor = await connection.execute(
        f"{part_of(names.table)}, sample AS MATERIALIZED ("
        "  SELECT count(*) * 100 / (SELECT percent FROM part) AS texts, coalesce(avg(length), 1) AS average"
        f" FROM {names.table} {SAMPLE}"
        "), asked AS MATERIALIZED ("
        "  SELECT quote_literal(lexeme)::tsquery AS word, cardinality(positions) AS times"
        "  FROM unnest(to_tsvector('pg_catalog.simple', %(words)s))"
        "), counted AS MATERIALIZED ("
        f" SELECT word, times, (SELECT count(*) FROM {names.table} WHERE lexemes @@ word) AS holders FROM asked"
        "), weighed AS MATERIALIZED ("
        "  SELECT word, times * ln(1 + (greatest(texts, holders) - holders + 0.5) / (holders + 0.5)) AS weight, average"
        "  FROM counted, sample WHERE holders > 0"
        ")"
        f" SELECT {DOCUMENT_COLUMNS}, score FROM {names.table} CROSS JOIN LATERAL ("
        f"  SELECT sum(weight * often * {_K1 + 1} / (often + {_K1} * ({1 - _B} + {_B} * length / average))) AS score"
        "   FROM weighed CROSS JOIN LATERAL"
        "     (SELECT ts_rank_cd('{1,1,1,1}', lexemes, word)::float8 AS often) AS counts WHERE often > 0"
        f") AS ranked WHERE lexemes @@ (SELECT string_agg(word::text, '|')::tsquery FROM asked) AND {condition.sql}"
        f" ORDER BY score DESC, written LIMIT {k}",
        {"words": words, **condition.values},
        binary=True,
    )
    rows: list[tuple[Any, ...]] = await cursor.fetchall()
    return rows
