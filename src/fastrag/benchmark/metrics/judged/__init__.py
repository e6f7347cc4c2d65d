"""Metrics that ask a language model."""
