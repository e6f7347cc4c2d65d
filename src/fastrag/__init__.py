"""Lean retrieval and query layers, and a benchmark that tells the truth about any RAG pipeline."""
