import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrag.benchmark.metrics.judged.portions import cut, pack

TEXTS = st.text(st.sampled_from("ab .\n!。\0"), max_size=120)


@given(TEXTS, st.integers(4, 40))
def test_nothing_is_lost_but_white_space(text, most):
    pieces = cut(text, most)
    assert all(len(piece) <= most and piece.strip() for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


@given(st.integers(0, 120), st.integers(8, 40), st.data())
def test_what_lies_across_a_border_stands_whole_in_one_piece(length, most, data):
    text = "".join(chr(0x4E00 + n) for n in range(length))  # no part of it stands in it twice
    overlap = data.draw(st.integers(0, most // 2 - 1))
    pieces = cut(text, most, overlap)
    assert all(len(piece) <= most for piece in pieces)
    for start in range(length - overlap + 1):
        assert not pieces or any(text[start : start + overlap] in piece for piece in pieces)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("aaaaaaaaa\n\nb. c d\nee", "aaaaaaaaa\n\n"),
        ("aaaaaaaaa\nb c ddddd", "aaaaaaaaa\n"),
        ("aaaaaaaaa. b ccc dddd", "aaaaaaaaa. "),
        ("aaaaaaaaa b cccccccc", "aaaaaaaaa b "),
        ("aaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaa"),
    ],
)
def test_ends_where_the_sense_does(text, first):
    assert cut(text, 12)[0] == first


@given(st.lists(TEXTS, max_size=8), st.integers(4, 60), st.booleans())
def test_every_source_is_in_some_portion_under_its_number(sources, most, apart):
    portions = pack(sources, most, apart=apart)
    assert all(portion and sum(len(text) for _, text in portion) <= most for portion in portions)
    assert all(len({number for number, _ in portion}) == 1 for portion in portions) or not apart
    for number, source in enumerate(sources, start=1):
        packed = "".join(text for portion in portions for given, text in portion if given == number)
        assert "".join(packed.split()) == "".join(source.split())
