"""The names of operations: one canonical name each, its aliases, and how many arguments it takes."""

from typing import Final

_ALIASES: Final[dict[str, str]] = {
    # canonical: aliases, written without case and underscores
    "and": "and conj every",
    "or": "or disj any some",
    "not": "not neg negation",
    "xor": "xor exclusiveor",
    "=>": "implies implication imply impl onlyif",
    "iff": "iff equivalent equiv bicond biconditional",
    "nand": "nand",
    "nor": "nor",
    "ite": "ite if ifthenelse ifelse cond",
    "=": "eq equal equals same",
    "distinct": "ne neq notequal notequals different",
    "<": "lt less lessthan before earlierthan",
    "<=": "le leq lessorequal atorbefore",
    ">": "gt greater greaterthan after laterthan",
    ">=": "ge geq greaterorequal atorafter",
    "+": "add plus",
    "neg": "minus uminus",
    "sub": "sub subtract difference",
    "*": "mul times multiply",
    "/": "divide quotient",
    "div": "div intdiv",
    "mod": "mod remainder rem",
    "//": "floordiv",
    "%": "floormod",
    "abs": "abs absolute",
    "min": "min minimum",
    "max": "max maximum",
    "sum": "sum total",
    "product": "product prod",
    "^": "pow power",
    "count": "count",
    "exactly": "exactly exactlyn exactlyk",
    "at_least": "atleast atleastn atleastk",
    "at_most": "atmost atmostn atmostk",
    "exactly_one": "exactlyone oneof onlyone",
    "at_most_one": "atmostone amo",
    "at_least_one": "atleastone",
    "among": "among",
    "nvalue": "nvalue nvalues countdistinct",
    "all_different": "alldifferent alldiff alldistinct distinct alldifferentconstraint",
    "all_different_except": "alldifferentexcept alldifferentexceptn",
    "all_equal": "allequal allsame allequalconstraint",
    "element": "element elem",
    "in": "in member memberof inset indomain",
    "notin": "notin notmember",
    "table": "table",
    "increasing": "increasing",
    "strictly_increasing": "strictlyincreasing",
    "decreasing": "decreasing",
    "strictly_decreasing": "strictlydecreasing",
    "precedence": "precedence precedes",
    "no_overlap": "nooverlap disjunctive",
    "cumulative": "cumulative",
    "next_to": "nextto adjacent neighbour neighbor neighbours neighbors beside",
    "left_of": "leftof",
    "right_of": "rightof",
    "directly_left_of": "directlyleftof immediatelyleftof justleftof directlybefore immediatelybefore",
    "directly_right_of": "directlyrightof immediatelyrightof justrightof directlyafter immediatelyafter",
    "between": "between",
    "circuit": "circuit",
    "subcircuit": "subcircuit",
    "inverse": "inverse",
    "lex_less": "lexless lexlt",
    "lex_lesseq": "lexlesseq lexle lexleq",
    "lex_greater": "lexgreater lexgt",
    "lex_greatereq": "lexgreatereq lexge lexgeq",
    "regular": "regular automaton",
    "global_cardinality": "globalcardinality gcc globalcardinalitycount distribute",
    "value_precede": "valueprecede",
    "bin_packing": "binpacking",
    "arg_max": "argmax",
    "arg_min": "argmin",
    "position": "position pos rank",
    "length": "length len size",
    "row": "row",
    "col": "col column",
    "domain": "domain dom",
    "list": "list flatten",
    # quantifiers: over a comprehension
    "forall": "forall all foreach",
    "exists": "exists exist",
}
_LOOKUP: Final[dict[str, str]] = {
    **{alias: name for name, aliases in _ALIASES.items() for alias in aliases.split()},
    "∀": "forall",
    "∃": "exists",
}
_QUANTIFIERS: Final = {"forall": "and", "exists": "or"}

ARITY: Final[dict[str, tuple[int, int]]] = {
    # canonical: fewest and most arguments; what is missing here takes one or more
    "not": (1, 1), "=>": (2, 99), "iff": (2, 999), "ite": (3, 3), "nand": (2, 2), "nor": (2, 2),
    "=": (2, 999), "distinct": (2, 999), "<": (2, 999), "<=": (2, 999), ">": (2, 999), ">=": (2, 999),
    "neg": (1, 2), "sub": (1, 999), "/": (2, 2), "div": (2, 2), "mod": (2, 2), "//": (2, 2), "%": (2, 2),
    "abs": (1, 1), "^": (2, 2), "count": (1, 999), "exactly": (1, 999), "at_least": (1, 999), "at_most": (1, 999),
    "among": (2, 2), "nvalue": (1, 999), "all_different_except": (2, 2), "element": (2, 3), "in": (2, 2),
    "notin": (2, 2), "table": (2, 2), "precedence": (2, 3), "no_overlap": (2, 2), "cumulative": (4, 4),
    "next_to": (2, 2), "left_of": (2, 2), "right_of": (2, 2), "directly_left_of": (2, 2),
    "directly_right_of": (2, 2), "between": (3, 3), "circuit": (1, 2), "subcircuit": (1, 2), "inverse": (2, 3),
    "lex_less": (2, 2), "lex_lesseq": (2, 2), "lex_greater": (2, 2), "lex_greatereq": (2, 2), "regular": (4, 6),
    "global_cardinality": (3, 3), "value_precede": (3, 3), "bin_packing": (3, 3), "arg_max": (1, 1),
    "arg_min": (1, 1), "position": (1, 1), "length": (1, 1), "row": (2, 2), "col": (2, 2), "domain": (1, 1),
}  # fmt: skip

EXAMPLES: Final[dict[str, str]] = {
    "ite": "if x > 3 then y else z",
    "^": "x ^ 2",
    "abs": "abs(x - y) >= 2",
    "count": "count(i in 0..4: a[i] > 2) = 3, or count(list, value)",
    "exactly": "exactly(2, [a, b, c])",
    "at_least": "at_least(2, [a, b, c])",
    "at_most": "at_most(2, [a, b, c])",
    "element": "element(i, list) = 3, or list[i] = 3",
    "table": "table([x, y], [[1, 2], [2, 3]])",
    "precedence": "precedence(start_a, duration_a, start_b)",
    "no_overlap": "no_overlap([s1, s2], [3, 2])",
    "cumulative": "cumulative([s1, s2], [3, 2], [1, 1], 2)",
    "between": "between(a, b, c) says that b is between a and c",
    "regular": "regular(list, [[1, 0], [1, 1]], 0, [1]): next state by state and value, start, accepting",
    "global_cardinality": "global_cardinality(list, [1, 2], [2, 1])",
    "inverse": "inverse(f, g)",
    "circuit": "circuit(next)",
}


def fold(word: str) -> str:
    """A name without case and underscores, as aliases are looked up."""
    return word.replace("_", "").lower()


def canonical(word: str) -> str | None:
    """The operation that a word names; None for a word that names none."""
    name = _LOOKUP.get(fold(word))
    return name if name is not None else word if word in _ALIASES else None


def quantifier(op: str) -> str:
    """The connective that a quantifier folds its comprehension with; other operations unchanged."""
    return _QUANTIFIERS.get(op, op)


def known_words() -> list[str]:
    """Every canonical name that is a word, for near matches and help."""
    return [name for name in _ALIASES if name[0].isalpha()]
