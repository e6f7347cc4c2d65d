"""Language models: a prompt in, text and token usage out."""

from __future__ import annotations

from fastrag.llm.anthropic import AnthropicLLM
from fastrag.llm.base import LLM, Completion, CompletionDelta, Message, Prompt
from fastrag.llm.cache import CachedLLM
from fastrag.llm.extractive import ExtractiveLLM
from fastrag.llm.openai_compatible import OpenAICompatibleLLM
from fastrag.llm.pacing import Pace

__all__ = [
    "LLM",
    "AnthropicLLM",
    "CachedLLM",
    "Completion",
    "CompletionDelta",
    "ExtractiveLLM",
    "Message",
    "OpenAICompatibleLLM",
    "Pace",
    "Prompt",
]
