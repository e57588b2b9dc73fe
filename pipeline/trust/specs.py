"""Specs, made ready to be decided.

An assert of the plain form, ``assert f(ARGS) == VALUE`` with literals, is a *case*: the program's
output on ARGS, computed once for all specs of the problem, is compared outside the sandbox. Other
asserts are *checks*, run in the sandbox with a proxy of the program. A *relation* speaks of the
parameters and ``return_value``; it becomes a function of these, which is run apart from the program
on the values that programs returned. A spec that no program could satisfy or violate is *broken*.
"""

import ast
import builtins
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from pipeline.datasets.asserts import split_assert
from pipeline.datasets.headers import find_function
from pipeline.datasets.literals import NotLiteral, literal_value
from pipeline.parsing import parse_module
from pipeline.records import Problem
from pipeline.trust.samples import Sampled
from sandbox.encoding import Unencodable, encode

RELATION = "relation"
"""Name of the function that a relation becomes."""
RETURN_VALUE = "return_value"
MOST_INPUTS = 24
"""Inputs on which relations are tested: the most frequent ones of the model's own asserts."""

_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


class Form(StrEnum):
    """How a spec is decided."""

    CASE = "case"
    """By comparing the output with a value."""
    TRUTH = "truth"
    """By whether the output is true: ``assert f(ARGS)``, ``assert not f(ARGS)``."""
    CHECK = "check"
    """By running it."""
    RELATION = "relation"
    """By running it on inputs and outputs."""
    BROKEN = "broken"
    """Not at all; it has an error of its own."""


@dataclass(frozen=True, slots=True)
class Spec:
    """One spec; ``args`` to ``atol`` are of cases, ``program`` is what the sandbox runs."""

    spec_id: str
    kind: str
    form: Form
    sampled: Sampled
    args: str | None = None
    expected: str | None = None
    comparator: str = "python"
    atol: float | None = None
    program: str = ""
    message: str = ""


def read_assert(spec_id: str, sampled: Sampled, problem: Problem) -> Spec:
    """Make an assert ready."""
    name = problem["entry_point"]
    try:
        body = parse_module(sampled.text).body
    except _UNREADABLE as error:
        return _broken(spec_id, "io", sampled, f"does not parse: {error}")
    if not any(True for statement in body for _ in _calls(statement, name)):
        return _broken(spec_id, "io", sampled, f"does not call {name}")
    match body:
        case [ast.Assert(test=condition)]:
            plain = _read_plain(spec_id, sampled, condition, name)
            if plain:
                return plain
    try:
        program = _complete(body, problem, {name})
    except NameError as error:
        return _broken(spec_id, "io", sampled, str(error))
    return Spec(spec_id, "io", Form.CHECK, sampled, program=program)


def read_relation(spec_id: str, sampled: Sampled, problem: Problem) -> Spec:
    """Make a relation ready: a function of the return value and the parameters."""
    try:
        body = parse_module(sampled.text).body
    except _UNREADABLE as error:
        return _broken(spec_id, "relation", sampled, f"does not parse: {error}")
    if not any(isinstance(node, ast.Assert) for s in body for node in ast.walk(s)):
        return _broken(spec_id, "relation", sampled, "asserts nothing")
    parameters = _parameters(problem)
    names = {node.arg for node in ast.walk(parameters) if isinstance(node, ast.arg)}
    function = ast.FunctionDef(
        name=RELATION, args=parameters, body=body, decorator_list=[], lineno=1, col_offset=0
    )
    try:
        program = _complete([ast.fix_missing_locations(function)], problem, names)
    except NameError as error:
        return _broken(spec_id, "relation", sampled, str(error))
    return Spec(spec_id, "relation", Form.RELATION, sampled, program=program)


def find_inputs(texts: Iterable[str], problem: Problem) -> list[str]:
    """Return the argument lists with which asserts call the entry point, most frequent first.

    Args:
        texts: asserts, each as often as it was sampled.
        problem: whose signature the arguments must fit.
    """
    counts: Counter[str] = Counter()
    distinct = Counter(texts)
    parameters = _parameters(problem)
    for text, times in distinct.items():
        for statement in parse_module(text).body:
            for call in _calls(statement, problem["entry_point"]):
                arguments = literal_arguments(call)
                if arguments is not None and _fits(call, parameters):
                    counts[arguments] += times
    return [arguments for arguments, _ in counts.most_common()]


def literal_arguments(call: ast.Call) -> str | None:
    """Return the source of a call's arguments, or None where they are not all literal."""
    try:
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            literal_value(argument)
    except NotLiteral:
        return None
    words = [ast.unparse(argument) for argument in call.args]
    return ", ".join([*words, *(ast.unparse(keyword) for keyword in call.keywords)])


def _read_plain(spec_id: str, sampled: Sampled, condition: ast.expr, name: str) -> Spec | None:
    case = split_assert(condition, name)
    if case is None:
        return None
    truth = not isinstance(condition, ast.Compare)
    try:
        expected = encode(case.expected)
    except Unencodable as error:
        return _broken(spec_id, "io", sampled, f"the value is too large: {error}")
    return Spec(
        spec_id,
        "io",
        Form.TRUTH if truth else Form.CASE,
        sampled,
        args=case.args,
        expected=expected,
        comparator=case.comparator,
        atol=case.atol,
    )


def _broken(spec_id: str, kind: str, sampled: Sampled, message: str) -> Spec:
    return Spec(spec_id, kind, Form.BROKEN, sampled, message=message)


def _parameters(problem: Problem) -> ast.arguments:
    """Return the entry point's parameters without annotations, after one for the return value."""
    tree = parse_module(problem["preamble"] + problem["signature"] + "\n    pass\n")
    function = find_function(tree, problem["entry_point"])
    assert function is not None, "the signature was taken from a function"
    for node in ast.walk(function.args):
        if isinstance(node, ast.arg):
            node.annotation = None
    first = function.args.posonlyargs or function.args.args
    first.insert(0, ast.arg(arg=RETURN_VALUE))
    return function.args


def _fits(call: ast.Call, parameters: ast.arguments) -> bool:
    """Tell whether a call gives what the signature asks for, no more and no less."""
    taken = [*parameters.posonlyargs, *parameters.args][1:]
    if parameters.vararg or parameters.kwarg or parameters.kwonlyargs:
        return True
    named = {keyword.arg for keyword in call.keywords}
    free = [parameter.arg for parameter in taken[len(call.args) :]]
    needed = free[: max(0, len(free) - len(parameters.defaults))]
    return len(call.args) <= len(taken) and set(needed) <= named <= set(free)


def _calls(node: ast.AST, name: str) -> Iterator[ast.Call]:
    for child in ast.walk(node):
        match child:
            case ast.Call(func=ast.Name(id=called)) if called == name:
                yield child


def _complete(body: list[ast.stmt], problem: Problem, known: set[str]) -> str:
    """Return a spec's source with what it needs before it.

    A standard module that it uses without importing it is imported: that is no fault of what the
    spec says.

    Raises:
        NameError: it uses a name that nothing defines.
    """
    preamble = parse_module(problem["preamble"]).body
    module = ast.Module(body=body, type_ignores=[])
    defined = known.union(*map(_bound, [module, *preamble])) | set(dir(builtins))
    missing = {
        node.id
        for node in ast.walk(module)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in defined
    }
    unknown = missing - sys.stdlib_module_names
    if unknown:
        raise NameError(f"uses {', '.join(sorted(unknown))}, which nothing defines")
    imports = [f"import {name}" for name in sorted(missing)]
    return "\n".join([*imports, problem["preamble"], ast.unparse(module)])


def _bound(tree: ast.AST) -> set[str]:
    """Return all names that a tree binds anywhere."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                names.add(name)
            case ast.alias(name=name, asname=other):
                names.add(other or name.partition(".")[0])
    return names
