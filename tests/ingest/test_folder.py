"""A folder with a file of every format, from disk to search results."""

from __future__ import annotations

from pathlib import Path

import docx
from reportlab.pdfgen.canvas import Canvas

from fastrag.ingest import MarkdownChunker, ingest
from fastrag.store.lance.store import LanceStore
from fastrag.testing import HashEmbedder


def fill(folder: Path) -> None:
    (folder / "sub").mkdir(parents=True)
    (folder / "plain.txt").write_text("Apples grow in orchards.", encoding="utf-16")
    (folder / "guide.md").write_bytes(b"# Guide\r\n\r\n## Pears\r\n\r\nPears are green.\r\n")
    (folder / "sub/page.html").write_text("<title>Plums</title><script>x</script><p>Plums are <b>blue</b>.")
    canvas = Canvas(str(folder / "sub/paper.pdf"))
    for text in ("An abstract, long enough for a chunk.", "Cherries are red."):
        canvas.drawString(72, 700, text)
        canvas.showPage()
    canvas.save()
    document = docx.Document()
    document.add_heading("Letter", 1)
    document.add_paragraph("Quinces are yellow.")
    document.save(str(folder / "letter.docx"))
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4")
    (folder / "photo.jpg").write_bytes(b"\xff\xd8")


async def test_every_format_from_disk_to_search(tmp_path: Path) -> None:
    fill(tmp_path / "docs")
    store, embedder = LanceStore(tmp_path / "index"), HashEmbedder(64)
    report = await ingest(tmp_path / "docs", store=store, embedder=embedder, chunker=MarkdownChunker(size=40))

    assert report.added == 5
    assert [Path(failure.source).name for failure in report.failures] == ["broken.pdf"]
    assert [Path(skip.source).name for skip in report.skipped] == ["photo.jpg"]
    for question, id, facts in (
        ("orchards", "plain.txt", {"format": "text"}),
        ("green pears", "guide.md", {"format": "markdown", "headings": ["Guide", "Pears"]}),
        ("blue plums", "sub/page.html", {"format": "html", "title": "Plums"}),
        ("red cherries", "sub/paper.pdf", {"format": "pdf", "page": 2}),
        ("yellow quinces", "letter.docx", {"format": "docx", "headings": ["Letter"]}),
    ):
        (found,) = await store.search(text=question, embedding=await embedder.embed_query(question), k=1)
        assert found.metadata["parent_id"] == id
        assert found.uri == (tmp_path / "docs" / id).as_uri()
        assert {key: found.metadata.get(key) for key in facts} == facts
    await store.close()

    # Another process's store, the same folder: nothing is embedded again.
    again, embedder = LanceStore(tmp_path / "index"), HashEmbedder(64)
    report = await ingest(tmp_path / "docs", store=again, embedder=embedder, chunker=MarkdownChunker(size=40))
    assert (report.unchanged, report.failed, embedder.embedded) == (5, 1, [])
    await again.close()
