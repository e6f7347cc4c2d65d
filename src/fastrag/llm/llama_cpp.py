"""A language model on this machine: llama.cpp's own server, started and stopped."""

from __future__ import annotations

import asyncio
import http.client
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO
from urllib.parse import urlsplit

from fastrag._support.checks import require_number, require_positive_int
from fastrag.errors import ConfigurationError, MissingDependencyError, ModelError
from fastrag.llm.gguf import default_gguf_path, how_to_get

_LOOK_EVERY_S = 0.05
_SHOWN = 800  # characters of the server's own messages that go into an error; the first tell most


@dataclass(frozen=True, slots=True)
class _Running:
    process: subprocess.Popen[str]
    log: IO[bytes]

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.log):
            if stream is not None:
                stream.close()

    def words(self) -> str:
        self.log.seek(0)
        said = " ".join(self.log.read().decode(errors="replace").split())
        return said[:_SHOWN] or "it said nothing"


class LlamaCppServer:
    """Runs llama.cpp's OpenAI-compatible server on a GGUF model, in its own process; needs the extra ``llama-cpp``.

    It listens on 127.0.0.1 only, without a key: whoever is logged in on this machine may ask it. It ends with
    the block, and also when this process dies, however it dies. Answers in the making are then broken off.

    A context manager, for code that is async and for code that is not. It is started anew each time it is entered.

    The memory for contexts is set aside at the start and divided between the slots: ``slots`` times
    ``context_tokens``. A prompt that does not fit into one slot's context is refused, an answer that does not is cut.
    With more than one slot, what is asked at one time is computed together: faster in sum, but then the same prompt
    may get slightly different answers.

    Attributes:
        base_url: What to give a client as ``base_url``; while it runs.
        model: What to give a client as ``model``.

    Args:
        model_path: The GGUF file; None: the file that the environment variable ``FASTRAG_GGUF`` names, or else the one
            `fastrag.llm.gguf.fetch_model` got. Nothing is downloaded.
        context_tokens: Longest prompt and answer together in tokens, for each slot.
        slots: How many requests are answered at a time; others wait.
        threads: How many cores to use; None leaves it to llama.cpp, which takes all. More than are free slow it down
            many times, for they wait for each other.
        port: Where to listen; None: at a port that is free. A cache keeps answers under the model's URL, so it finds
            them after another start only at the same port.
        start_timeout_s: Seconds for loading the model.

    Raises:
        ConfigurationError: An argument is out of range.
        ModelError: The file is not there; on entering: it is no model that llama.cpp can run.
        MissingDependencyError: xllamacpp is not installed.

    Example::

        async with LlamaCppServer() as server:
            llm = OpenAICompatibleLLM(server.model, base_url=server.base_url, max_tokens=200)
            completion = await llm.complete(Prompt((Message("user", "Say hello."),)))
    """

    def __init__(
        self,
        model_path: str | os.PathLike[str] | None = None,
        *,
        context_tokens: int = 4096,
        slots: int = 1,
        threads: int | None = None,
        port: int | None = None,
        start_timeout_s: float = 120.0,
    ) -> None:
        self._path = default_gguf_path() if model_path is None else Path(model_path).expanduser().absolute()
        self.model = self._path.stem
        self._settings = {
            "model_path": str(self._path),
            "model": self.model,
            "context_tokens": require_positive_int("context_tokens", context_tokens),
            "slots": require_positive_int("slots", slots),
            "threads": None if threads is None else require_positive_int("threads", threads),
            "port": 0 if port is None else require_positive_int("port", port),
        }
        self._start_timeout_s = require_number("start_timeout_s", start_timeout_s, above=0, below=threading.TIMEOUT_MAX)
        # Looked for, not imported: it is the other process that needs it, and its library is large.
        if importlib.util.find_spec("xllamacpp") is None:
            raise MissingDependencyError(
                "LlamaCppServer needs the package 'xllamacpp', which is not installed: pip install 'fastrag[llama-cpp]'"
            )
        if not self._path.is_file():
            raise ModelError(how_to_get(self._path))
        self._running: _Running | None = None
        self._url: str | None = None

    def __repr__(self) -> str:
        return f"LlamaCppServer({str(self._path)!r})"

    @property
    def base_url(self) -> str:
        """What to give a client as ``base_url``.

        Raises:
            ConfigurationError: It does not run.
        """
        if self._url is None:
            raise ConfigurationError("the server runs only inside `with` or `async with`")
        return f"{self._url}/v1"

    def __enter__(self) -> LlamaCppServer:
        """Start, and wait until it answers."""
        running = self._launch()
        try:
            self._wait_until_ready(running)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self._stop()

    async def __aenter__(self) -> LlamaCppServer:
        """Start, and wait until it answers."""
        running = self._launch()
        try:
            await asyncio.to_thread(self._wait_until_ready, running)
        except BaseException:
            self._stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self._stop()

    def _launch(self) -> _Running:
        if self._running is not None:
            raise ConfigurationError("this server runs already; make another one")
        program = Path(__file__).with_name("_llama_cpp_process.py")
        log = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        process = subprocess.Popen(  # noqa: S603 - no shell; -P: the modules beside the file are not to be found
            [sys.executable, "-P", str(program), json.dumps(self._settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        self._running = _Running(process, log)
        return self._running

    def _wait_until_ready(self, running: _Running) -> None:
        process = running.process
        deadline = time.monotonic() + self._start_timeout_s
        alarm = threading.Timer(self._start_timeout_s, process.kill)
        alarm.start()
        try:
            # Its line comes when the model is loaded; where the process ends before, so does the reading.
            url = process.stdout.readline().strip() if process.stdout else ""
            while not url or not _answers(url):
                if time.monotonic() >= deadline:
                    raise ModelError(f"llama.cpp did not load {self._path} within {self._start_timeout_s:g} s")
                if not url or process.poll() is not None:
                    raise ModelError(f"llama.cpp cannot run {self._path}: {running.words()}")
                time.sleep(_LOOK_EVERY_S)
        finally:
            alarm.cancel()
        self._url = url

    def _stop(self) -> None:
        running, self._running, self._url = self._running, None, None
        if running is not None:
            running.stop()


def _answers(url: str) -> bool:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
