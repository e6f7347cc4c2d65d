"""Answering questions from what was retrieved."""

from fastrag.query.base import QueryResult, QueryTarget

__all__ = ["QueryResult", "QueryTarget"]
