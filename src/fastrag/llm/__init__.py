"""Language models: a prompt in, text and token usage out."""

from fastrag.llm.base import LLM, Completion, CompletionDelta, Message, Prompt
from fastrag.llm.extractive import ExtractiveLLM

__all__ = ["LLM", "Completion", "CompletionDelta", "ExtractiveLLM", "Message", "Prompt"]
