"""What an ingest did, and how far it has come."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class IngestFailure:
    """A file, folder or Document that could not be ingested; what the store had of it is still there."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class IngestSkip:
    """Something that was left out on purpose: a file of an unknown format, a text with nothing in it."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """How far an ingest has come; ``total`` is None while it is not known.

    ``done`` counts the files or Documents that are finished, whatever became of them; ``source`` is the last.
    """

    done: int
    total: int | None
    chunks_written: int
    source: str


@dataclass(slots=True)
class IngestReport:
    """What `ingest` did.

    Attributes:
        added: Documents that the store did not have.
        updated: Documents whose content, metadata, chunker or embedder has changed, and such as an earlier run
            left unfinished.
        unchanged: Documents that the store had already; they were not chunked or embedded again.
        removed: Documents whose chunks were taken out of the store because their source is gone.
        chunks_written: Chunks that were embedded (if there is an embedder) and stored.
        failures: What could not be ingested, and why.
        skipped: What was left out on purpose, and why.
        duration_s: Seconds from start to end.

    >>> report = IngestReport(added=2, unchanged=1, chunks_written=14, duration_s=0.5)
    >>> report.failures.append(IngestFailure("a.pdf", "encrypted with a password"))
    >>> print(report)
    4 documents: 2 added, 0 updated, 1 unchanged, 1 failed; 0 removed; 14 chunks written in 0.5 s
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks_written: int = 0
    failures: list[IngestFailure] = field(default_factory=list)
    skipped: list[IngestSkip] = field(default_factory=list)
    duration_s: float = 0.0

    @property
    def failed(self) -> int:
        """How many files, folders or Documents could not be ingested."""
        return len(self.failures)

    def __str__(self) -> str:
        counts = {
            "added": self.added,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "skipped": len(self.skipped),
            "failed": self.failed,
        }
        told = ", ".join(
            f"{count} {word}" for word, count in counts.items() if count or word not in ("skipped", "failed")
        )
        total = sum(counts.values())
        return (
            f"{total} document{'' if total == 1 else 's'}: {told}; {self.removed} removed; "
            f"{self.chunks_written} chunk{'' if self.chunks_written == 1 else 's'} written in {self.duration_s:.1f} s"
        )
