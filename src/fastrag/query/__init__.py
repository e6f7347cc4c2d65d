"""Answering questions from what was retrieved."""

from fastrag.query.base import QueryResult, QueryTarget
from fastrag.query.engine import QueryDelta, QueryEngine
from fastrag.query.prompt import build_prompt

__all__ = ["QueryDelta", "QueryEngine", "QueryResult", "QueryTarget", "build_prompt"]
