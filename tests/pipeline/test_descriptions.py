import ast
import textwrap

import pytest

from pipeline.extraction import describe_view, extract_description


def text(source):
    return textwrap.dedent(source).lstrip("\n")


def test_docstrings_of_module_and_function_go_and_the_rest_keeps_its_form():
    program = text('''
        """Module é."""
        import math   # kept


        def helper(x):
            """Stays."""
            return x


        def area( r ):
            """The area é
            of a circle.
            """

            # why
            return math.pi*r **2
        ''')
    assert describe_view(program, "area") == text('''
        import math   # kept


        def helper(x):
            """Stays."""
            return x


        def area( r ):

            # why
            return math.pi*r **2
        ''')


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        ('def f(): "doc"', "def f(): pass"),
        ('def f(): "doc"; return 1\n', "def f(): return 1\n"),
        ('def f():\n    """doc"""\n', "def f():\n    pass\n"),
        ('def f():\n    """doc"""  # note\n    return 1\n', "def f():\n    # note\n    return 1\n"),
        ('def f():\n    """doc"""; x = 1\n    return x\n', "def f():\n    x = 1\n    return x\n"),
        ('def f():\n    "é" "ü"\n    return 1\n', "def f():\n    return 1\n"),
        ("def f():\n    '''a\n    é'''; return 1", "def f():\n    return 1"),
        ("async def f():\n\t'doc'\n\treturn 1\n", "async def f():\n\treturn 1\n"),
        (
            'def f():\n    import math\n    """doc"""\n    return 1\n',
            "def f():\n    import math\n    return 1\n",
        ),
        ('def f():\r\n    """doc"""\r\n    return 1\r\n', "def f():\r\n    return 1\r\n"),
        ('"""doc"""', ""),
        ('x = """no docstring"""\n', 'x = """no docstring"""\n'),
        ('def f():\n    return """no"""\n', 'def f():\n    return """no"""\n'),
        ('def g():\n    """stays"""\n', 'def g():\n    """stays"""\n'),
        (
            'def f():\n    x = "\x0c\u2028"\n    """no"""\n',
            'def f():\n    x = "\x0c\u2028"\n    """no"""\n',
        ),
        (
            'x = "\x0c\u2028\x1c"\ndef f():\n    """doc"""\n    return 1\n',
            'x = "\x0c\u2028\x1c"\ndef f():\n    return 1\n',
        ),
    ],
)
def test_exact_positions(program, shown):
    assert describe_view(program, "f") == shown


def test_every_definition_of_the_function_loses_its_docstring():
    program = 'def f():\n    "one"\n    return 1\n\n\ndef f():\n    "two"\n    return 2\n'
    assert '"' not in describe_view(program, "f")


def test_a_class_solution_stands_for_the_function():
    program = 'class Solution:\n    "one"\n    def f(self):\n        "two"\n        return 1\n'
    shown = describe_view(program, "f")
    assert shown == "class Solution:\n    def f(self):\n        return 1\n"


def test_an_unparsable_program_is_shown_as_it_is():
    program = 'def f(:\n    """doc"""\n'
    assert describe_view(program, "f") == program


@pytest.mark.parametrize(
    ("answer", "description"),
    [
        ("Returns x.", "Returns x."),
        ("<think>hm</think>\nReturns x.\n", "Returns x."),
        ("hm</think>Returns x.", "Returns x."),
        ('"""Returns x."""', "Returns x."),
        ("'''\nReturns x.\n'''\n", "Returns x."),
        ('r"""Returns \\d."""', "Returns \\d."),
        ('"""Returns x.', "Returns x."),
        ('Returns x."""', "Returns x."),
        (
            '"""Returns x.\n\n    More.\n    """\nI hope this helps.',
            "Returns x.\n\nMore.\n\nI hope this helps.",
        ),
        ("```\nReturns x.\n```", "Returns x."),
        ("```text\nReturns x.", "Returns x."),
        (
            'The docstring:\n```python\n"""\nReturns x.\n  more\n"""\n```\nDone.',
            "Returns x.\n  more",
        ),
        ('```python\ndef f(x):\n    """Returns x."""\n    ...\n```', "Returns x."),
        ('```python\ndef f(x):\n    """Returns x."""\n    pass\n```', "Returns x."),
        (
            "Returns x.\n\nExample:\n```python\n>>> f(1)\n1\n```\nEnd.",
            "Returns x.\n\nExample:\n>>> f(1)\n1\nEnd.",
        ),
        ("Copy:\n```python\ndef f(x):\n    return x\n```", "Copy:\ndef f(x):\n    return x"),
        ("    Returns x.\n      more\n", "Returns x.\n  more"),
        ("Uses a python function `f`.", "Uses a python function `f`."),
        ('Return """ in quotes.', 'Return """ in quotes.'),
        ("a\r\nb", "a\nb"),
    ],
)
def test_the_description_in_an_answer(answer, description):
    assert extract_description(answer) == description


@pytest.mark.parametrize(
    "answer", ["", " \n", "```\n```", '""""""', "<think>Returns x.", "hm</think>"]
)
def test_nothing_left_is_no_description(answer):
    assert extract_description(answer) is None


def test_what_is_shown_parses():
    program = 'def f():\n    def g():\n        "doc"\n    if g:\n        "text"\n'
    ast.parse(describe_view(program, "f"))
