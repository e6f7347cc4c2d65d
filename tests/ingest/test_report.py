from __future__ import annotations

from fastrag.ingest import IngestFailure, IngestReport, IngestSkip


def test_the_summary_adds_up_and_leaves_out_what_did_not_happen() -> None:
    report = IngestReport(added=1, chunks_written=3, duration_s=0.04)
    assert str(report) == "1 document: 1 added, 0 updated, 0 unchanged; 0 removed; 3 chunks written in 0.0 s"


def test_the_summary_names_failures_and_skips() -> None:
    report = IngestReport(added=1, updated=2, unchanged=3, removed=4, chunks_written=5, duration_s=61.25)
    report.failures.append(IngestFailure("a", "broken"))
    report.skipped += [IngestSkip("b", "no text in it"), IngestSkip("c", "no extension")]
    assert report.failed == 1
    assert str(report) == (
        "9 documents: 1 added, 2 updated, 3 unchanged, 2 skipped, 1 failed; 4 removed; 5 chunks written in 61.2 s"
    )
