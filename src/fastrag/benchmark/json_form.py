"""Values to JSON and back, with what msgspec leaves out: numpy's numbers and texts that are no UTF-8."""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def encode(value: object) -> bytes:
    """``value`` as JSON on one line.

    Raises:
        TypeError: Something in it has no form in JSON.
    """
    try:
        return _encoder().encode(value)
    except UnicodeEncodeError:
        # A lone surrogate (a file name, half of an escaped pair in a reply) is no UTF-8, but JSON can escape it.
        return json.dumps(msgspec.to_builtins(value, enc_hook=_plain), allow_nan=False).encode("ascii")


def encode_lines(values: Sequence[object]) -> bytes:
    """Each value as `encode` gives it, with a line's end after each.

    Raises:
        TypeError: Something in them has no form in JSON.
    """
    try:
        return _encoder().encode_lines(values)
    except UnicodeEncodeError:
        return b"".join(encode(value) + b"\n" for value in values)


def decode(data: bytes, kind: type[T]) -> T:
    """The value of type ``kind`` whose JSON is ``data``.

    Raises:
        ValueError: It is no JSON, or not of that type (msgspec's errors say where).
        RecursionError: It is nested too deeply.
    """
    try:
        decoder: msgspec.json.Decoder[T] = _decoder(kind)  # type: ignore[arg-type]
        return decoder.decode(data)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        if "surrogate" not in str(error):
            raise
        return msgspec.convert(json.loads(data, parse_constant=_refuse_constant, parse_float=_finite), kind)


@cache
def _encoder() -> msgspec.json.Encoder:
    return msgspec.json.Encoder(enc_hook=_plain)


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"JSON has no {name}")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"the number {text} is out of range")
    return number


def _plain(value: object) -> object:
    # numpy's scalars and the like, which metrics of other libraries return.
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    raise TypeError(f"a {type(value).__name__} has no form in JSON")
