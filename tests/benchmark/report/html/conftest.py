"""The description of the data, frontend/src/model.ts, read so that what Python makes can be held against it."""

import json
import re
from pathlib import Path

import pytest

MODEL = Path(__file__).parents[4] / "frontend/src/model.ts"
TOKEN = re.compile(r'"[^"]*"|\w+|\[\]|[{}()\[\]<>|:;,=]')


class Model:
    """The types of a TypeScript file that has interfaces and unions, and no more of the language than that."""

    def __init__(self, source):
        source = re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL)
        self.types = {}
        self.tokens = TOKEN.findall(source)
        while self.tokens:
            assert self.take() == "export"
            kind, name = self.take(), self.take()
            if kind == "interface":
                self.types[name] = self.fields()
            else:
                self.expect("=")
                self.types[name] = self.union()
                self.expect(";")

    def take(self):
        return self.tokens.pop(0)

    def expect(self, token):
        assert self.take() == token, (token, self.tokens[:10])

    def fields(self):
        self.expect("{")
        found = {}
        while self.tokens[0] != "}":
            name = self.take()
            self.expect(":")
            found[name] = self.union()
            if self.tokens[0] != "}":
                self.expect(";")
        self.take()
        return "object", found

    def union(self):
        found = [self.array()]
        while self.tokens[0] == "|":
            self.take()
            found.append(self.array())
        return ("union", found) if len(found) > 1 else found[0]

    def array(self):
        found = self.one()
        while self.tokens[0] == "[]":
            self.take()
            found = "array", found
        return found

    def one(self):
        if self.tokens[0] == "{":
            return self.fields()
        token = self.take()
        if token == "(":
            found = self.union()
            self.expect(")")
            return found
        if token == "[":
            found = [self.union()]
            while self.tokens[0] == ",":
                self.take()
                found.append(self.union())
            self.expect("]")
            return "tuple", found
        if token == "Record":
            self.expect("<")
            self.union()
            self.expect(",")
            found = self.union()
            self.expect(">")
            return "record", found
        if token[0] == '"' or token.isdigit():
            return "literal", json.loads(token)
        return "name", token

    def problems(self, value, kind, at="$"):
        """Where ``value`` is not of the type, in sentences; ``kind`` is its name or what was read of it."""
        form, of = self.types[kind] if isinstance(kind, str) else kind
        if form == "name" and of in self.types:
            return self.problems(value, of, at)
        match form:
            case "name":
                fits = {
                    "string": isinstance(value, str),
                    "number": isinstance(value, int | float) and not isinstance(value, bool),
                    "boolean": isinstance(value, bool),
                    "null": value is None,
                }[of]
                return [] if fits else [f"{at}: {value!r} is no {of}"]
            case "literal":
                return [] if value == of and type(value) is type(of) else [f"{at}: {value!r} is not {of!r}"]
            case "union":
                found = [self.problems(value, one, at) for one in of]
                return [] if [] in found else min(found, key=len)
            case "object" | "record" if not isinstance(value, dict):
                return [f"{at}: {value!r} is no object"]
            case "object":
                if value.keys() != of.keys():
                    return [f"{at}: fields {sorted(value.keys() ^ of.keys())} are on one side only"]
                return [line for name in of for line in self.problems(value[name], of[name], f"{at}.{name}")]
            case "record":
                return [line for name in value for line in self.problems(value[name], of, f"{at}[{name!r}]")]
            case "array" | "tuple" if not isinstance(value, list):
                return [f"{at}: {value!r} is no list"]
            case "array":
                return [line for i, item in enumerate(value) for line in self.problems(item, of, f"{at}[{i}]")]
            case "tuple":
                if len(value) != len(of):
                    return [f"{at}: {len(value)} items, not {len(of)}"]
                pairs = zip(value, of, strict=True)
                return [line for i, (item, one) in enumerate(pairs) for line in self.problems(item, one, f"{at}[{i}]")]
        raise AssertionError(form)


KINDS = {
    "overview": "Overview",
    "questions": "Questions",
    "scores": "Scores",
    "comparison": "Comparison",
    "details": "Details",
}


def refuse(constant):
    raise AssertionError(f"JSON has no {constant}")


@pytest.fixture(scope="session")
def model():
    """The types of the data."""
    return Model(MODEL.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def read_parts(model):
    """``read_parts(data)``: all parts by name, parsed, each held against its type."""

    def read(data):
        parts = {}
        for name in data.part_names():
            value = json.loads(data.part(name), parse_constant=refuse)
            assert model.problems(value, KINDS[name.partition("-")[0]]) == []
            parts[name] = value
        return parts

    return read
