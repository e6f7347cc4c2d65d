"""Asking a model for its opinion of an answer: strictly read, delimited, counted and kept."""
