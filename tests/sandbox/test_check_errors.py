import pytest

from sandbox import Call, Job, Sandbox


@pytest.mark.parametrize("kind", ["ValueError", "UnicodeError", "KeyError", "StopIteration"])
def test_an_exception_of_the_program_reaches_the_check_as_its_own_kind(kind):
    program = f"def f(x):\n    raise {kind}('no')\n"
    uncaught = Call("0", check="assert f(1) == 1")
    caught = Call("1", check=f"try:\n    f(1)\nexcept {kind}:\n    pass\nelse:\n    assert False")
    with Sandbox() as sandbox:
        first, second = sandbox.run(Job("job", program, "f", (uncaught, caught))).outcomes
    assert first.kind == "error"
    assert first.message.startswith(kind)
    assert second.held is True
