import json
import textwrap
from pathlib import Path

import pytest

from pipeline.extraction import Extraction, ExtractionKind, extract

CASES = Path(__file__).parents[3] / "shared" / "cases"
HEADER = 'import math\n\n\ndef area(r: float) -> float:\n    """The area of a circle."""\n'


def text(source):
    return textwrap.dedent(source).lstrip("\n")


def run(found):
    scope: dict = {"__name__": "program"}
    exec(found.program, scope)
    return scope


def area(completion, header=""):
    found = extract(completion, "area", header=header)
    return found, run(found)["area"](1)


def test_the_last_block_that_defines_the_entry_point_wins():
    found, result = area(
        text("""
        ```python
        def area(r): return 1
        ```
        Better:
        ```python
        def area(r): return 2
        ```
        Use it:
        ```python
        print(area(3))
        ```
        """)
    )
    assert (found.kind, found.truncated, result) == (ExtractionKind.FENCED, False, 2)


@pytest.mark.parametrize(
    "opening", ["```", "```Python3", "``` {.python .numberLines}", "~~~py", "````python", "```text"]
)
def test_any_fence_and_any_language(opening):
    fence = opening.strip(" ")[: 4 if opening.startswith("````") else 3]
    assert area(f"So:\n{opening}\ndef area(r):\n    return 2\n{fence}\nDone.")[1] == 2


def test_a_fence_glued_to_prose_and_to_code():
    assert area("Here:```python\ndef area(r):\n    return 2```\nDone.")[1] == 2


def test_an_indented_block_of_a_list():
    assert area("1. First\n   ```python\n   def area(r):\n       return 2\n   ```\n2. Next")[1] == 2


def test_carriage_returns_and_tabs():
    found, result = area("```python\r\ndef area(r):\r\n\tif r:\r\n\t\treturn 2\r\n```\r\n")
    assert result == 2
    assert "\r" not in found.program


def test_a_block_is_kept_whole():
    code = text("""
        import math  # needed


        def area(r):
            # two
            return helper(r)


        def helper(r):
            return 2


        DEMO = area(1)
        """)
    assert extract(f"Here:\n```python\n{code}```", "area").program == code


def test_a_later_definition_in_the_block_wins():
    assert area("```\ndef area(r): return 1\n\ndef area(r): return 2\n```")[1] == 2


@pytest.mark.parametrize("quotes", ['"""', "'''"])
def test_a_fence_inside_a_docstring_does_not_end_the_block(quotes):
    code = f"def area(r):\n    {quotes}Example:\n\n```\narea(1)\n```\n    {quotes}\n    return 2\n"
    found, result = area(f"```python\n{code}```\nBye")
    assert (found.program, result) == (code, 2)


def test_a_string_that_never_ends_does_not_swallow_the_next_block():
    answer = '```python\ntext = """never closed\n```\nSorry:\n```python\ndef area(r): return 2\n```'
    assert area(answer)[1] == 2


def test_prose_with_backticks_is_no_fence():
    answer = (
        "Use ```area``` and `r`:\n```area(r)``` is it.\n\ndef area(r):\n    return 2\n\nUse `area`."
    )
    found, result = area(answer)
    assert (found.kind, result) == (ExtractionKind.BARE, 2)
    assert "Use" not in found.program


@pytest.mark.parametrize("tail", ["def demo():\n    print(area(", "if __name__ == '__main__':\n"])
@pytest.mark.parametrize("opening", ["```python\n", ""])
def test_a_tail_that_was_cut_off_is_left_out(opening, tail):
    found, result = area(f"{opening}TWO = 2\n\n\ndef area(r):\n    return TWO\n\n\n{tail}")
    assert (found.truncated, result) == (True, 2)
    assert found.program == "TWO = 2\n\n\ndef area(r):\n    return TWO\n"


@pytest.mark.parametrize(
    "tail",
    [
        "    return 3 +",
        "    x = [1,\n        2",
        "    for x in r:\n        if x:",
        "    try:\n        x = 1\n        y = 2",
        "    while r:\n        try:\n            r = 1\n        except ValueError:",
        '    s = """abc\n    return 3\n',
        "    @wraps(f)\n    @other",
        "    d = {\n        'a': 1,",
    ],
)
def test_an_entry_point_that_was_cut_off_keeps_its_longest_whole_part(tail):
    found = extract(f"```python\ndef area(r):\n    a = 1\n    b = 2\n{tail}", "area")
    assert found.truncated
    assert found.program.startswith("def area(r):\n    a = 1\n    b = 2\n")
    run(found)


def test_what_can_stay_of_a_cut_off_entry_point_stays():
    tail = "    try:\n        x = 1\n    except ValueError:\n        x = 2\n"
    tail += "    if x:\n        y = 3\n    z = ("
    found = extract(f"```python\ndef area(r):\n{tail}", "area")
    assert found.program.endswith("        y = 3\n")


def test_thinking_is_no_answer():
    draft = "```python\ndef area(r): return 1\n```\n"
    answer = f"<think>\n{draft}</think>\n```python\ndef area(r): return 2\n```"
    assert area(answer)[1] == 2
    assert area(answer.removeprefix("<think>"))[1] == 2


@pytest.mark.parametrize("before", ["", "Let me see. ", "Hm.\n"])
def test_thinking_that_never_ends_is_no_code(before):
    found = extract(f"{before}\n<think>\n```python\ndef area(r): return 1\n```\n", "area")
    assert (found.program, found.kind, found.truncated) == (None, ExtractionKind.NO_CODE, True)


def test_a_tag_in_the_program_is_no_thinking():
    assert area('```python\ndef area(r):\n    return len("</think>")\n```')[1] == 8


def test_a_class_solution_is_made_callable():
    found = extract(
        "```python\nclass Solution:\n    def area(self, r: int) -> int:\n        return 2 * r\n```",
        "area",
    )
    assert found.kind == ExtractionKind.METHOD
    assert run(found)["area"](r=2) == 4


def test_imports_and_helpers_come_from_other_blocks():
    found, result = area(
        text("""
        First the imports and a constant:
        ```python
        import math
        FACTOR = 2
        UNUSED = 1
        ```
        A helper:
        ```python
        def twice(x):
            return FACTOR * x
        ```
        And:
        ```python
        def area(r):
            return twice(math.floor(r))
        ```
        """)
    )
    assert result == 2
    assert "UNUSED" not in found.program


def test_helpers_that_are_there_are_not_taken_again():
    found, result = area(
        "```python\ndef twice(x): return 0\n```\n"
        "```python\ndef twice(x): return 2 * x\n\n\ndef area(r): return twice(r)\n```"
    )
    assert (result, found.program.count("def twice")) == (2, 1)


def test_bare_code_among_prose_brings_what_it_needs():
    found, result = area(
        text("""
        I would use the math module (it is in the standard library:

        import math

        from this we get the helper
        def helper(x):
            return math.floor(x)

        and then the first draft
        def area(r):
            return 1

        def area(r):
            return 1 + helper(r)

        That's all, isn't it?
        """)
    )
    assert (found.kind, found.truncated, result) == (ExtractionKind.BARE, False, 2)
    assert "draft" not in found.program


def test_a_comment_at_the_margin_does_not_end_bare_code_among_prose():
    code = "def area(r):\n    r = 2\n# Commented out:\n# r = 3\n\n    return r\n"
    found, _ = area(f"Here it is:\n\n{code}\n# Notes\nIt works (I think).\n")
    assert found.program == code


def test_bare_code_alone_is_kept_as_it_is():
    code = "# A comment\nimport math\n\n\ndef area(r):\n    return 2\n"
    assert extract(code, "area").program == code


def test_a_closing_fence_alone_ends_the_code():
    found, result = area("def area(r):\n    return 2\n```\nThis function is good.")
    assert (found.kind, found.truncated, result) == (ExtractionKind.BARE, False, 2)


def test_an_assigned_lambda_defines_the_entry_point():
    assert area("```python\narea = lambda r: 2\n```")[1] == 2


@pytest.mark.parametrize(
    "body",
    [
        "    return math.floor(2 * r)\n",
        "\n    return math.floor(2 * r)\n\n\nprint(area(undefined))\n",
        "    return math.floor(2 * r)\n\ndef area(r):\n    return 9\n",
        "    return math.floor(2 * r)\n```\nDone.",
        "\treturn math.floor(2 * r)\n",
        "    return helper(r)\n\n\ndef helper(r):\n    return 2\n\nassert False\n",
        "    if r:\n        return 2\n\n# A comment at the margin\n    return 3\n",
    ],
)
@pytest.mark.parametrize("header", [HEADER, HEADER.rstrip(), HEADER + "    "])
def test_a_body_goes_on_from_the_header(body, header):
    found, result = area(body, header)
    assert (found.kind, found.truncated, result) == (ExtractionKind.CONTINUED, False, 2)
    assert found.program.startswith(HEADER.rstrip())


def test_a_body_that_was_cut_off():
    found, result = area("    if r:\n        return 2\n    return max(r,", HEADER)
    assert (found.kind, found.truncated, result) == (ExtractionKind.CONTINUED, True, 2)


def test_a_body_after_a_signature_without_docstring():
    assert (
        extract("    return 2", "area", header="def area(r):").program
        == "def area(r):\n    return 2\n"
    )


@pytest.mark.parametrize("body", ["    x = 2\n    return x", "x = 2\nreturn x"])
def test_a_body_in_a_fence(body):
    found, result = area(f"The body:\n```python\n{body}\n```", HEADER)
    assert (found.kind, result) == (ExtractionKind.FENCED_BODY, 2)


@pytest.mark.parametrize(
    ("body", "truncated"),
    [("    return len(r)import re\n\n", False), ("    return max(\n        # r", True)],
)
def test_a_broken_body_is_kept_to_be_seen(body, truncated):
    found = extract(body, "area", header=HEADER)
    assert found == Extraction(HEADER + body.rstrip() + "\n", ExtractionKind.BROKEN, truncated)


def test_a_body_of_comments_is_no_code():
    assert extract("    # TODO\n    # ###\n", "area", header=HEADER).program is None


def test_indented_prose_is_no_body():
    answer = "  Sure! Here it is:\n\n```python\ndef area(r):\n    return 2\n```"
    found, result = area(answer, HEADER)
    assert (found.kind, result) == (ExtractionKind.FENCED, 2)


def test_a_syntax_error_is_kept_to_be_seen():
    found = extract("```python\ndef area(r)\n    return 2\n```", "area")
    assert (found.kind, found.program) == (ExtractionKind.BROKEN, "def area(r)\n    return 2\n")


def test_a_block_that_parses_is_preferred_to_a_broken_one():
    answer = "```python\ndef area(r): return 2\n```\nThat is, roughly:\n```\ndef area(r) ...\n```"
    assert area(answer)[1] == 2


def test_a_function_of_another_name_is_not_renamed():
    found = extract("```python\ndef circle_area(r):\n    return 2\n```", "area")
    assert (found.kind, found.program) == (
        ExtractionKind.OTHER,
        "def circle_area(r):\n    return 2\n",
    )


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "   \n",
        "I cannot do that.",
        "Sorry",
        "42",
        "```bash\nls -l\n```",
        "```\nhello\n```",
        "Why? (Because:\n",
    ],
)
def test_without_python_there_is_no_code(answer):
    found = extract(answer, "area", header=HEADER)
    assert (found.program, found.kind) == (None, ExtractionKind.NO_CODE)


def test_a_name_with_special_characters_or_inside_a_word_is_taken_literally():
    found = extract("```python\ndef areas(r):\n    return 1\n```", "area")
    assert found.kind == ExtractionKind.OTHER


@pytest.mark.skipif(not CASES.is_dir(), reason="the field cases are not here")
@pytest.mark.parametrize("number", ["S01", "S02", "S03"])
def test_field_cases(number):
    (path,) = CASES.glob(f"{number}-*.json")
    case = json.loads(path.read_text())
    name = case["problem"]["function_name"]
    found = extract(case["completion"], name, header=case["problem"]["problem"])
    function = run(found)[name]
    for test in case["tests"]:
        assert eval(f"f({test['input']}) == {test['expected']}", {"f": function})
    assert found.truncated is (number == "S02")


@pytest.mark.parametrize(
    "line",
    [
        "I could write def area(r) with a loop, but (perhaps",
        "def area(r):\n    return 1 +",
        "```python\ndef area(r):\n    return 1\n```",
        '```python\nx = """\n```',
        "import math, then from there on",
        "x = [1, 2, (3",
    ],
)
def test_steps_grow_with_the_text_and_not_faster(line, monkeypatch):
    import ast

    parsed = []
    real = ast.parse
    monkeypatch.setattr(ast, "parse", lambda source: parsed.append(len(source)) or real(source))
    sizes = []
    for count in (100, 200):
        parsed.clear()
        extract(f"{line}\n" * count, "area", header=HEADER)
        sizes.append(sum(parsed))
    assert sizes[1] <= 2.5 * sizes[0] + 2000


def test_what_a_model_repeats_without_end_is_read_to_its_end():
    # In quadratic time each of these takes minutes.
    quotes = 'x = "' + '\\"' * 100_000
    tries = "    try:\n        x = 1\n" * 10_000
    helpers = "".join(
        f"```python\ndef f{at}(x):\n    return f{at + 1}(x)\n```\n" for at in range(5_000)
    )
    assert area(f"def area(r):\n    return 2\n\n{quotes}")[1] == 2
    assert extract(f"def area(r):\n{tries}", "area").kind == ExtractionKind.BROKEN
    found = extract(f"{helpers}```python\ndef area(r):\n    return f0(r)\n```", "area")
    assert found.program.count("def ") == 5_001
