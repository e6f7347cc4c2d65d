from __future__ import annotations

from collections.abc import Iterator

import pytest

from fastrag.embedding import LocalEmbedder, OpenAICompatibleEmbedder, default_model_dir
from fastrag.testing import EmbedderConformance, OpenAICompatibleServer


@pytest.mark.skipif(
    not (default_model_dir() / "model.onnx").is_file(), reason="no local model: run scripts/fetch_model.py"
)
class TestLocalEmbedder(EmbedderConformance):
    def make_embedder(self) -> LocalEmbedder:
        return LocalEmbedder()


class TestOpenAICompatibleEmbedder(EmbedderConformance):
    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        with OpenAICompatibleServer() as self.server:
            yield

    def make_embedder(self) -> OpenAICompatibleEmbedder:
        return OpenAICompatibleEmbedder("m", base_url=self.server.base_url, batch_size=16)
