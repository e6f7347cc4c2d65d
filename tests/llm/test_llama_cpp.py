from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import sys
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from fastrag.errors import ConfigurationError, MissingDependencyError, ModelError
from fastrag.llm.llama_cpp import LlamaCppServer

PARENT = """
import os, sys, time
from fastrag.llm.llama_cpp import LlamaCppServer
with LlamaCppServer(threads=1) as server:
    if hasattr(os, "fork") and os.fork() == 0:
        os.close(1)
        time.sleep(60)  # holds the other end of the server's stdin open
        os._exit(0)
    print(server.base_url, flush=True)
    time.sleep(60)
"""


def answers(base_url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{base_url}/models", timeout=30) as reply:
            return bool(reply.status == 200)
    except OSError:  # also what urllib raises
        return False


async def until_gone(base_url: str) -> None:
    while await asyncio.to_thread(answers, base_url):
        await asyncio.sleep(0.05)


needs_llama_cpp = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed: pip install 'fastrag[llama-cpp]'"
)


@pytest.mark.llm
class TestRunning:
    async def test_it_serves_on_this_machine_only_and_ends_with_the_block(self, llama_cpp: LlamaCppServer) -> None:
        server = LlamaCppServer(threads=1, context_tokens=256, slots=2)
        with pytest.raises(ConfigurationError, match="runs only inside"):
            _ = server.base_url
        for _ in range(2):
            async with server:
                assert server.base_url.startswith("http://127.0.0.1:")
                assert server.base_url != llama_cpp.base_url
                assert answers(server.base_url)
                base_url = server.base_url
                with pytest.raises(ConfigurationError, match="runs already"):
                    await server.__aenter__()
            assert not answers(base_url)

    async def test_a_port_may_be_chosen_that_nobody_has(self, llama_cpp: LlamaCppServer) -> None:
        async with LlamaCppServer(threads=1, context_tokens=256) as server:
            port = urlsplit(server.base_url).port
            with pytest.raises(ModelError, match="cannot run"):
                async with LlamaCppServer(threads=1, context_tokens=256, port=port):
                    pass
        async with LlamaCppServer(threads=1, context_tokens=256, port=port) as server:
            assert server.base_url == f"http://127.0.0.1:{port}/v1"
            assert answers(server.base_url)

    async def test_a_cancelled_start_leaves_nothing_behind(self, llama_cpp: LlamaCppServer) -> None:
        server = LlamaCppServer(threads=1)
        starting = asyncio.create_task(server.__aenter__())
        while server._running is None:
            await asyncio.sleep(0)
        process = server._running.process
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert process.returncode is not None

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
    async def test_it_does_not_outlive_a_killed_parent(self, llama_cpp: LlamaCppServer) -> None:
        parent = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PARENT, stdout=asyncio.subprocess.PIPE, start_new_session=True
        )
        assert parent.stdout is not None
        base_url = (await parent.stdout.readline()).decode().strip()
        assert answers(base_url)
        parent.send_signal(signal.SIGKILL)
        await parent.wait()
        async with asyncio.timeout(60):
            await until_gone(base_url)
        os.killpg(parent.pid, signal.SIGKILL)  # the fork

    async def test_what_takes_too_long_is_ended(self, llama_cpp: LlamaCppServer) -> None:
        with pytest.raises(ModelError, match=r"did not load .* within 0\.001 s"):
            async with LlamaCppServer(threads=1, start_timeout_s=0.001):
                pass


@needs_llama_cpp
class TestMistakes:
    def test_a_file_that_is_no_model(self, tmp_path: Path) -> None:
        path = tmp_path / "other.gguf"
        path.write_bytes(b"not a model" * 100)
        refusal = r"cannot run .*other\.gguf: .*(invalid magic|Failed to init)"
        with pytest.raises(ModelError, match=refusal), LlamaCppServer(path):
            pass

    def test_a_file_that_is_not_there(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(ModelError, match=r"no GGUF model at .*none\.gguf: fetch one with .*FASTRAG_GGUF"):
            LlamaCppServer(tmp_path / "none.gguf")
        monkeypatch.setenv("FASTRAG_GGUF", str(tmp_path / "own.gguf"))
        with pytest.raises(ModelError, match=r"own\.gguf"):
            LlamaCppServer()

    @pytest.mark.parametrize(
        "wrong",
        [{"slots": 0}, {"threads": -1}, {"context_tokens": 1.5}, {"start_timeout_s": 0}, {"start_timeout_s": True}],
    )
    def test_arguments_out_of_range(self, wrong: dict[str, float]) -> None:
        with pytest.raises(ConfigurationError, match=next(iter(wrong))):
            LlamaCppServer(**wrong)  # type: ignore[arg-type]


def test_without_xllamacpp_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'fastrag\[llama-cpp\]'"):
        LlamaCppServer()
