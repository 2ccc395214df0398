"""The encoder and the evaluator share no code, so that their agreement on random input means something."""

import random

import pytest
import z3

from actors.solver.dsl.parser import parse
from actors.solver.encoding.encoder import Encoder

from .expressions import GLOBALS, Maker, both, declared


@pytest.mark.parametrize("text", GLOBALS)
def test_each_function_means_the_same_in_z3_and_in_the_evaluator(text):
    maker = Maker(7)
    declarations = declared()
    for positive in (text, f"not ({text})"):
        for by_z3, by_definition in both(declarations, positive, [maker.assignment(declarations) for _ in range(25)]):
            assert by_z3 == by_definition, positive


def test_random_expressions_mean_the_same_in_z3_and_in_the_evaluator():
    seed = random.randrange(10**9)
    maker = Maker(seed)
    declarations = declared()
    for _ in range(150):
        text = maker.defined(2)
        verdicts = both(declarations, text, [maker.assignment(declarations) for _ in range(4)])
        assert all(one == other for one, other in verdicts), f"seed {seed}: {text}"


@pytest.mark.slow
def test_many_deeper_random_expressions_mean_the_same():
    seed = random.randrange(10**9)
    maker = Maker(seed)
    declarations = declared()
    for _ in range(3000):
        text = maker.defined(3)
        verdicts = both(declarations, text, [maker.assignment(declarations) for _ in range(6)])
        assert all(one == other for one, other in verdicts), f"seed {seed}: {text}"


def test_every_function_of_the_language_is_among_the_examples():
    from actors.solver.dsl.meanings import MEANINGS
    from actors.solver.encoding.functions import FUNCTIONS

    used = {node.op for text in GLOBALS for node in _calls(parse(text))}
    assert set(MEANINGS) <= set(FUNCTIONS)
    assert set(FUNCTIONS) - used <= {"nor", "neg", "sub", "list", "domain", "product"}


def _calls(node):
    from actors.solver.dsl.syntax import Apply, children

    if isinstance(node, Apply):
        yield node
    for child in children(node):
        yield from _calls(child)


def test_no_global_introduces_a_free_variable():
    declarations = declared()
    for text in GLOBALS:
        encoder = Encoder(declarations)
        cells = {str(cell) for by_index in encoder.cells.values() for cell in by_index.values()}
        assert {str(name) for name in _constants(encoder.constraint(parse(text)))} <= cells, text


def _constants(term):
    seen, stack = set(), [term]
    while stack:
        one = stack.pop()
        if one.get_id() in seen:
            continue
        seen.add(one.get_id())
        if z3.is_const(one) and one.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            yield one
        stack.extend(one.children())
