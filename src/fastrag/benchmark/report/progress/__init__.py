"""Showing how far a run has come, wherever it is looked at."""
