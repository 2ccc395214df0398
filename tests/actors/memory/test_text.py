"""When two names are one, what may be stored, and dates."""

import random

import pytest

from actors.memory import dates
from actors.memory.text import STOP_WORDS, TextError, clean, looks_foreign, named_spans, normal, spans, words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("New York", "new  york "),
        ("U.S.", "US"),
        ("Café", "Cafe\u0301"),
        ("NEW\tYORK", "New York"),
        ("Straße", "STRASSE"),
    ],
)
def test_spellings_of_one_name_are_one(one, other):
    assert normal(one) == normal(other)


@pytest.mark.parametrize(("one", "other"), [("C", "C++"), ("C", "C#"), ("Paris", "Paris 2"), ("A1", "A 1")])
def test_different_names_stay_apart(one, other):
    assert normal(one) != normal(other)


@pytest.mark.parametrize(
    ("value", "problem"),
    [(3, "int"), (None, "NoneType"), ("", "empty"), ("  ", "empty"), ("a\0b", "NUL"), ("\ud83d", "surrogate")],
)
def test_what_cannot_be_stored_says_why(value, problem):
    with pytest.raises(TextError, match=problem):
        clean(value)


def test_a_text_past_the_limit_is_refused():
    with pytest.raises(TextError, match="1001 characters"):
        clean("x" * 1_001)


def test_signs_without_spaces_are_words_of_their_own():
    assert words("猫は好き") == ["猫", "は", "好", "き"]


def test_every_run_of_words_is_a_candidate_name():
    found = spans("Who leads New York City?")
    assert "new york city" in found
    assert "who leads new york city" in found


def test_a_candidate_is_in_the_normal_form_of_the_whole_run():
    """Whatever signs a text has: a name is found by the form it was stored under."""
    seed = random.randrange(1 << 30)
    print("seed", seed)
    rng = random.Random(seed)
    signs = "aAéÉßİıſΣςﬁＡ１ᾳ漢가かU.S.'’-_\u0301\u0308\u0345\u200b\u00a0\u2000\u3000  "  # noqa: RUF001
    for _ in range(2_000):
        text = "".join(rng.choice(signs) for _ in range(rng.randrange(1, 20)))
        whole = normal(text)
        assert not whole or whole in STOP_WORDS or whole in spans(text, longest=20), repr(text)


def test_names_in_running_text_begin_with_a_capital():
    found = named_spans("He met Ada Lovelace in the garden")
    assert "ada lovelace" in found
    assert "garden" not in found


@pytest.mark.parametrize(
    "text",
    ["Wer hat den alten Leuchtturm gebaut?", "¿Qué destruyó el puente?", "猫は何が好きですか。", "Что везёт корабль?"],
)
def test_other_languages_are_told_from_english(text):
    assert looks_foreign(text)


@pytest.mark.parametrize(
    "text", ["Who built the old lighthouse?", "Gabriel García Márquez", "El Niño is a climate pattern"]
)
def test_english_and_bare_names_are_not_foreign(text):
    assert not looks_foreign(text)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("1970", 0, 365 * 86_400),
        ("1970-01", 0, 31 * 86_400),
        ("1970-01-02", 86_400, 2 * 86_400),
        ("1970-01-01T00:00:10Z", 10, 10),
        ("1970-01-01T01:00:00+01:00", 0, 0),
        ("1969-12-31", -86_400, 0),
    ],
)
def test_a_coarse_date_is_the_period_that_it_names(text, start, end):
    assert dates.start_of(text) == start
    assert dates.end_of(text) == end


@pytest.mark.parametrize("text", ["", "soon", "2019-13", "2019-02-30", "20-1-1", "2019-05-01T25:00:00Z"])
def test_what_is_no_date_is_refused(text):
    with pytest.raises(dates.DateError):
        dates.start_of(text)


def test_an_end_is_shown_as_it_was_given():
    assert dates.last_day(dates.end_of("2020-12-31")) == "2020-12-31"
    assert dates.last_day(dates.end_of("2020")) == "2020-12-31"
