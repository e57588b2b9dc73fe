import ast
import inspect
import textwrap

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.masking import mask_check, mask_program, mask_signature, render_header


@pytest.mark.parametrize(
    ("name", "program", "masked"),
    [
        pytest.param(
            "f",
            "def f(n):\n    # f of n\n    off = f'{n:f} {f(n - 1)}'\n"
            "    return [f(x) for x in off]\n",
            "def func(n):\n    # f of n\n    off = f'{n:f} {func(n - 1)}'\n"
            "    return [func(x) for x in off]\n",
            id="HumanEval/106",
        ),
        pytest.param(
            "count",
            "def count(s):\n    counts = s.count('count')\n    return count(s[1:]) + counts\n",
            "def func(s):\n    counts = s.count('count')\n    return func(s[1:]) + counts\n",
            id="attribute, string and word",
        ),
        (
            "f",
            "def f(x):\n    return g(f=f, key=f)\n",
            "def func(x):\n    return g(f=func, key=func)\n",
        ),
        ("f", "async  def  f (x): pass\n", "async  def  func (x): pass\n"),
        (
            "f",
            "@cache\ndef f(x=1): pass\nf = wrap(f)\n",
            "@cache\ndef func(x=1): pass\nfunc = wrap(func)\n",
        ),
        ("f", "f = lambda x: f(x)\n", "func = lambda x: func(x)\n"),
        ("f", "class f:\n    pass\n", "class func:\n    pass\n"),
        ("f", "def f(f):\n    return f\n", "def func(f):\n    return f\n"),
        ("f", "def f():\n    f = 1\n    return f\n", "def func():\n    f = 1\n    return f\n"),
        ("f", "def f(x): return [f for f in f(x)]\n", "def func(x): return [f for f in func(x)]\n"),
        ("f", "def f(x): return lambda f: f\n", "def func(x): return lambda f: f\n"),
        (
            "f",
            "def f(x):\n    [f := 1 for _ in x]\n    return f\n",
            "def func(x):\n    [f := 1 for _ in x]\n    return f\n",
        ),
        (
            "f",
            "def f(x):\n    def g():\n        global f\n        f = 1\n    return f\n",
            "def func(x):\n    def g():\n        global func\n        func = 1\n    return func\n",
        ),
        (
            "f",
            "def f():\n    f = 1\n    def g():\n        nonlocal f\n        f = 2\n",
            "def func():\n    f = 1\n    def g():\n        nonlocal f\n        f = 2\n",
        ),
        (
            "f",
            "class Solution:\n    def f(self):\n        return self.f() + f()\n\n\ndef f(): pass\n",
            "class Solution:\n    def f(self):\n        return self.f() + func()\n\n\n"
            "def func(): pass\n",
        ),
        (
            "f",
            "try:\n    from m import g, f\nexcept E:\n    import x as f\n",
            "try:\n    from m import g, f as func\nexcept E:\n    import x as func\n",
        ),
        (
            "f",
            "def f(x):\n    match x:\n        case [1, *f]: return f\n",
            "def func(x):\n    match x:\n        case [1, *f]: return f\n",
        ),
        (
            "f",
            "def f():\n    try: pass\n    except E as f: pass\n",
            "def func():\n    try: pass\n    except E as f: pass\n",
        ),
        ("é", "s = 'ü'; é = 1; x = é\n", "s = 'ü'; func = 1; x = func\n"),
        (
            "f",
            "x = '\x0c\u2028'\ndef f(): return f\n",
            "x = '\x0c\u2028'\ndef func(): return func\n",
        ),
        ("f", "def g(): return 1\n", "def g(): return 1\n"),
        ("sum", "def total(xs): return sum(xs)\n", "def total(xs): return sum(xs)\n"),
        ("sum", "def sum(xs): return sum(xs[1:])\n", "def func(xs): return func(xs[1:])\n"),
        ("f", "def g(): return f()\n", "def g(): return func()\n"),
    ],
)
def test_masking_follows_the_meaning(name, program, masked):
    assert mask_program(program, name) == masked


@pytest.mark.parametrize(
    ("program", "masked"),
    [
        (
            "def solve(func, x):\n    return solve(func, x)\n",
            "def func(func_, x):\n    return func(func_, x)\n",
        ),
        (
            "def func(x): return x\n\n\ndef solve(func_):\n    return func(func_)\n",
            "def func__(x): return x\n\n\ndef func(func_):\n    return func__(func_)\n",
        ),
        ("def solve(func): return func(1)\n", "def func(func): return func(1)\n"),
        (
            "from m import func\ndef solve(): return func\n",
            "from m import func as func_\ndef func(): return func_\n",
        ),
    ],
)
def test_what_the_program_calls_func_makes_room_where_they_would_meet(program, masked):
    assert mask_program(program, "solve") == masked


@pytest.mark.parametrize(
    "text",
    [
        'f"{n * fact(n - 1)}"',
        'f"""\n{n}{""}\n""".strip() + "" if n < 0 else n * fact(n - 1)',
        '("é" f"{1}" f"""\n  {n *\n fact(n - 1)}""")[2:]',
        "f'{n * fact(n - 1)!r:>{len(str(fact)) * 0}}'",
        "f'{len(f\"{fact}\") * 0 + n * fact(n - 1)}'",
    ],
)
def test_a_masked_program_with_f_strings_computes_the_same(text):
    program = f"def fact(n):\n    return 1 if n < 2 else int({text})\n"
    scopes: list[dict] = [{}, {}]
    exec(program, scopes[0])
    exec(mask_program(program, "fact"), scopes[1])
    assert "fact" not in scopes[1]
    assert scopes[1]["func"](5) == scopes[0]["fact"](5) == 120


@pytest.mark.parametrize(
    ("program", "masked"),
    [
        ("def f(x:\n    return x.f + f(x)\n", "def func(x:\n    return x.f + func(x)\n"),
        ("def f(x):\n    return g(f=1) 'f'\n", "def func(x):\n    return g(f=1) 'f'\n"),
        ('def f(x):\n    return f("""\n', 'def func(x):\n    return func("""\n'),
        ("def f(x):\n  return f\n return f\n", "def func(x):\n  return func\n return f\n"),
    ],
)
def test_an_unparsable_program_is_masked_as_far_as_it_can_be_read(program, masked):
    assert mask_program(program, "f") == masked


def test_a_very_deep_program_is_masked_too():
    deep = "+".join(["f(1)"] * 3000)
    assert "f(1)" not in mask_program(f"def f(x):\n    return {deep}\n", "f").replace("func", "")


def test_the_same_name_changes_nothing():
    assert mask_program("def func(): pass", "func") == "def func(): pass"


@pytest.mark.parametrize(
    ("signature", "masked"),
    [
        ("def f(f: int = 3) -> list[int]:", "def func(f: int = 3) -> list[int]:"),
        ("async def  f(x):\n ", "async def  func(x):\n "),
        ("@cache\n@other(f)\ndef f(\n    x,\n):", "@cache\n@other(f)\ndef func(\n    x,\n):"),
        ("def ff(x):", "def ff(x):"),
    ],
)
def test_a_signature_changes_in_its_name_only(signature, masked):
    assert mask_signature(signature, "f") == masked


@pytest.mark.parametrize(
    ("check", "masked"),
    [
        ("assert f(1) == 'f'", "assert func(1) == 'f'"),
        (
            "for x in range(3):\n    assert abs(f(x).f - f(f=x)) < 1",
            "for x in range(3):\n    assert abs(func(x).f - func(f=x)) < 1",
        ),
        ("check(f)", "check(func)"),
        (
            "def check(f):\n    assert f(1)\n\ncheck(f)",
            "def check(f):\n    assert f(1)\n\ncheck(func)",
        ),
    ],
)
def test_a_check_calls_the_masked_function(check, masked):
    assert mask_check(check, "f") == masked


def test_a_check_of_a_function_named_like_a_builtin_is_masked():
    assert mask_check("assert sum([1]) == 1", "sum") == "assert func([1]) == 1"


def docstring_of(header):
    tree = ast.parse(header + "    pass\n")
    return ast.get_docstring(tree.body[-1])


TEXT = st.text(
    st.one_of(
        st.sampled_from("\"'\\ab{}\n\n  \t#"),
        st.characters(),
        st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF),
    ),
    min_size=1,
)


def cleaned(text):
    lines = text.expandtabs().split("\n")
    inside = [at for at, line in enumerate(lines) if line.strip()]
    kept = lines[inside[0] : inside[-1] + 1] if inside else []
    return inspect.cleandoc("\n" + "\n".join(kept)) if len(kept) > 1 else "".join(kept).strip()


@given(TEXT)
@example('ends in "')
@example('ends in \\"')
@example('""')
@example('"""quoted"""')
@example("ends in \\")
@example("\\\\")
@example("first\n  second\n\n    third\n  ")
@example('a\n"')
@example("\r\n\0\f\u2028")
def test_the_docstring_reads_back(text):
    header = render_header("", "def func(x):", text)
    assert (docstring_of(header) or "") == cleaned(text)
    assert header == "def func(x):\n" or header.endswith('"""\n')


@given(TEXT)
def test_a_clean_text_reads_back_to_the_letter(text):
    clean = inspect.cleandoc("\n" + text).strip()
    if clean and inspect.cleandoc("\n" + clean) == clean:
        assert docstring_of(render_header("import math\n\n\n", "def func(x):", clean)) == clean


def test_a_signature_that_ends_in_white_space_gets_an_exact_docstring():
    header = render_header("import math\n\n", "def sum_squares(lst):\n ", "Sum\nof squares.")
    assert header == textwrap.dedent('''\
        import math

        def sum_squares(lst):
            """
            Sum
            of squares.
            """
        ''')


def test_a_preamble_without_an_end_is_set_off():
    assert render_header("import math", "def f():", "Do.") == (
        'import math\n\n\ndef f():\n    """Do."""\n'
    )


def test_without_a_description_there_is_no_docstring():
    assert render_header("", "def f():", " \n") == "def f():\n"
