"""Files that people bring: each line read, each bad one named, and what is written can be read again."""

import json

import pytest

from launcher.memory_formats import BadLine, Item, read, write_fact, write_passage


def triples(lines, form="jsonl"):
    return [item.triple for item in read(lines, form) if isinstance(item, Item)]


def test_the_official_memory_servers_file_becomes_facts():
    lines = [
        '{"type":"entity","name":"Ada","entityType":"person","observations":["likes tea"]}',
        '{"type":"relation","from":"Ada","to":"the lab","relationType":"works at"}',
    ]
    assert triples(lines) == [
        {"s": "Ada", "r": "is a", "o": "person"},
        {"s": "Ada", "r": "has observation", "o": "likes tea"},
        {"s": "Ada", "r": "works at", "o": "the lab"},
    ]


def test_byte_order_mark_crlf_and_a_missing_last_newline_do_no_harm():
    lines = ['\ufeff{"s":"a","r":"b","o":"c"}\r', "", '{"s":"d","r":"e","o":"f"}']
    assert len(triples(lines)) == 2


@pytest.mark.parametrize("line", ["{bad", "[]", "3", '{"s":"a"}', '{"type":"relation","from":"a"}', "null"])
def test_a_bad_line_is_named_and_the_rest_goes_on(line):
    found = list(read(['{"s":"a","r":"b","o":"c"}', line, '{"s":"d","r":"e","o":"f"}'], "jsonl"))
    assert [type(item) for item in found] == [Item, BadLine, Item]
    assert found[1].number == 2


def test_n_triples_are_read_with_names_as_people_write_them():
    lines = [
        "# a comment",
        '<http://example.org/Ada_Lovelace> <http://example.org/p#born> "10 December \\u0031815"@en .',
        "<urn:chrysalis:C%2B%2B> <urn:chrysalis:is> _:b1 .",
        "<http://example.org/broken> .",
    ]
    found = list(read(lines, "nt"))
    assert found[0].triple == {"s": "Ada Lovelace", "r": "born", "o": "10 December 1815"}
    assert found[1].triple == {"s": "C++", "r": "is", "o": "_:b1"}
    assert isinstance(found[2], BadLine)


@pytest.mark.parametrize("form", ["jsonl", "nt"])
def test_what_is_written_is_read_again(form):
    fact = {"id": 1, "s": 'C++ "x"', "r": "is/not", "o": "naïve #1", "support": json.dumps([["notes", 0], ["web", 3]])}
    lines = list(write_fact(fact, form))
    assert {tuple(t[key] for key in "sro") for t in triples(lines, form)} == {('C++ "x"', "is/not", "naïve #1")}
    if form == "jsonl":
        assert [item.source for item in read(lines, form)] == ["notes", "web"]


def test_a_passage_keeps_its_title_and_its_own_id():
    line = write_passage({"id": 4, "source": "web", "text": "Some text", "title": "T", "key": "p1"})
    (item,) = read([line], "jsonl")
    assert item.passage == {"text": "Some text", "title": "T", "id": "p1"}
    assert item.source == "web"
