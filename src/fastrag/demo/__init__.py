"""The built-in demonstration: four pipelines over Python's own language reference.

`documents` and `samples` are its corpus and its questions; ``fastrag demo`` runs it.
"""

from fastrag.demo.corpus import documents, samples

__all__ = ["documents", "samples"]
