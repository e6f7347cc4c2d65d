"""Runs llama.cpp's server until its parent is gone. Started as a file by `LlamaCppServer`; imports nothing of fastrag.

The settings are a JSON object, the first argument. Once requests are answered, the URL is written to stdout as a line.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

_LOOK_EVERY_S = 1.0


def main() -> None:
    """Serve, and end when stdin is closed or the parent has died."""
    parent = os.getppid()
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    import xllamacpp

    settings = json.loads(sys.argv[1])
    params = xllamacpp.CommonParams()
    params.model.path = settings["model_path"]
    params.model_alias = {settings["model"]}
    params.hostnames = ["127.0.0.1"]
    params.port = settings["port"]  # 0: one that is free
    params.cors_origins = "http://127.0.0.1"  # no web page that this machine's browser shows may ask
    params.ui = False
    params.verbosity = 1  # errors; prompts are nobody's business
    params.n_parallel = settings["slots"]
    params.n_ctx = settings["slots"] * settings["context_tokens"]
    params.cache_prompt = False  # what was computed in other company gives other last digits, and so other answers
    if settings["threads"] is not None:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        sys.exit(str(error))
    print(server.listening_address, flush=True)  # noqa: T201 - what the parent waits for

    # A fork of the parent may hold the other end of stdin open; then only the changed parent tells.
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY_S)
    os._exit(0)


def _end_with_stdin() -> None:
    sys.stdin.read()
    os._exit(0)  # nothing is to be saved, and requests in the making must not hold it up


if __name__ == "__main__":
    main()
