"""PostgreSQL with pgvector, and with pg_textsearch where it is installed."""

from fastrag.store.postgres.store import PgVectorStore

__all__ = ["PgVectorStore"]
