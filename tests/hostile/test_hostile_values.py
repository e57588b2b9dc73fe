"""Values that lie about themselves, and values that are too much."""

import pytest

from sandbox import Call, Job, Kind
from sandbox.compare import equal

LIAR = """
class Liar({base}):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __bool__(self): return True
    def __repr__(self): return 'True'
    __str__ = __repr__
    def __len__(self): return 1
    def __iter__(self): return iter([1])
    def __reduce__(self): return (bool, (1,))
    def __int__(self): return 1
    __index__ = __trunc__ = __int__
    def __float__(self): return 1.0
    def __getattribute__(self, name): raise SystemExit(name)
    @property
    def __class__(self): return bool
def f(x): return Liar(x) if x is not None else Liar()
"""


@pytest.mark.parametrize(
    ("base", "args", "truth", "lie"),
    [
        ("object", "None", None, "true"),
        ("int", "5", "5", "1"),
        ("str", "'no'", '"no"', '"True"'),
        ("float", "2.5", '["f","0x1.4000000000000p+1"]', "1"),
        ("list", "[1, 2]", '["l",1,2]', '["l",1]'),
        ("dict", "{1: 2}", '["d",1,2]', "true"),
        ("tuple", "(1, 2)", '["t",1,2]', '["t",1]'),
        ("set", "{3}", '["s",3]', "true"),
        ("bytes", "b'a'", '["b","61"]', "true"),
    ],
)
def test_a_value_that_lies_is_judged_by_what_it_is(owner, base, args, truth, lie):
    outcome = owner.call(LIAR.format(base=base), args)
    assert outcome.kind is Kind.VALUE, outcome
    assert not equal(outcome.encoding, lie, "python", None)
    if truth is not None:
        assert equal(outcome.encoding, truth, "python", None), outcome


@pytest.mark.parametrize("base", ["object", "int"])
def test_a_value_that_lies_convinces_no_check(owner, base):
    check = "assert f(5) == True or f(5) == 1, 'it lies'"
    job = Job("j", LIAR.format(base=base), "f", (Call("0", check=check),))
    assert owner.box.run(job).outcomes[0].held is False


@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        ("'x' * 10**8", {Kind.UNENCODABLE, Kind.MEMORY}),
        ("list(range(10**6))", {Kind.UNENCODABLE}),
        ("1 << 10**8", {Kind.UNENCODABLE}),
        ("__import__('itertools').count()", {Kind.UNENCODABLE}),
        ("(x for x in iter(int, 1))", {Kind.UNENCODABLE}),
        ("range(10**18)", {Kind.VALUE}),
        ("10**20000", {Kind.VALUE}),
    ],
)
def test_a_huge_value_is_bounded(owner, value, kinds):
    assert owner.call(f"def f(): return {value}").kind in kinds


def test_a_deep_value_is_bounded(owner):
    program = """
def f():
    x = []
    for _ in range(10**5): x = [x]
    return x
"""
    assert owner.call(program).kind is Kind.UNENCODABLE


def test_a_value_that_holds_itself_is_finite(owner):
    outcome = owner.call("def f():\n    x = [1]\n    x.append(x)\n    return x")
    assert outcome.kind is Kind.VALUE


def test_many_large_values_fill_several_areas(owner):
    program = "def f(x): return 'x' * 10**6"
    result = owner.run(program, *[str(i) for i in range(20)])
    assert [o.kind for o in result.outcomes] == [Kind.VALUE] * 20


def test_an_iterator_that_never_yields_is_a_time_out(owner):
    program = "def f():\n    while True: pass\n    yield 1"
    assert owner.call(program).kind is Kind.TIMEOUT


def test_an_iterator_s_own_error_is_the_program_s_error(owner):
    outcome = owner.call("def f():\n    yield 1\n    raise ValueError('late')")
    assert (outcome.kind, outcome.message) == (Kind.ERROR, "ValueError: late")


@pytest.mark.parametrize(
    "raised",
    [
        "type('E', (Exception,), {'__str__': lambda s: 1 / 0})()",
        "type('E', (Exception,), {'__str__': lambda s: 5})()",
        "type('E' * 10**5, (Exception,), {})('x' * 10**7)",
        "type('E', (Exception,), {'__getattribute__': lambda s, n: 1 / 0})()",
    ],
)
def test_an_exception_that_resists_is_still_an_error(owner, raised):
    outcome = owner.call(f"def f(): raise {raised}")
    assert outcome.kind is Kind.ERROR
    assert len(outcome.message) < 10_000
