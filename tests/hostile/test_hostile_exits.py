"""Programs that end early, in every way that a process can."""

import pytest

from sandbox import Kind, Load


@pytest.mark.parametrize(
    ("leave", "name"),
    [
        ("sys.exit()", "SystemExit"),
        ("sys.exit(0)", "SystemExit"),
        ("exit(1)", "SystemExit"),
        ("quit()", "SystemExit"),
        ("raise SystemExit", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("next(iter([]))", "StopIteration"),
        ("raise BaseException('x')", "BaseException"),
        ("raise type('Odd', (BaseException,), {})()", "Odd"),
        ("signal.raise_signal(signal.SIGINT)", "KeyboardInterrupt"),
    ],
)
def test_leaving_by_exception_is_an_error_of_that_call(owner, leave, name):
    program = f"import signal, sys\ndef f(x):\n    if x: {leave}\n    return x"
    result = owner.run(program, "0", "1", "0")
    assert [o.kind for o in result.outcomes] == [Kind.VALUE, Kind.ERROR, Kind.VALUE]
    assert result.outcomes[1].message.startswith(name)


@pytest.mark.parametrize(
    ("leave", "said"),
    [
        ("os._exit(0)", "exit status 0"),
        ("os._exit(3)", "exit status 3"),
        ("os.abort()", "SIGABRT"),
        ("os.kill(os.getpid(), signal.SIGTERM)", "SIGTERM"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("ctypes.string_at(0)", "SIGSEGV"),
        ("ctypes.memset(0, 1, 1)", "SIGSEGV"),
        ("ctypes.CDLL(None).exit(0)", "exit status 0"),
        ("ctypes.CDLL(None).abort()", "SIGABRT"),
        ("faulthandler._sigfpe()", "SIGFPE"),
    ],
)
def test_ending_the_process_is_a_crash_of_that_call_and_says_how(owner, leave, said):
    program = f"import ctypes, faulthandler, os, signal\ndef f(x):\n    if x: {leave}\n    return x"
    result = owner.run(program, "0", "1", "0")
    assert [o.kind for o in result.outcomes] == [Kind.VALUE, Kind.CRASH, Kind.VALUE]
    assert said in result.outcomes[1].message


@pytest.mark.parametrize(
    ("leave", "load"),
    [
        ("sys.exit(0)", Load.ERROR),
        ("raise KeyboardInterrupt", Load.ERROR),
        ("os._exit(0)", Load.CRASH),
        ("os.abort()", Load.CRASH),
    ],
)
def test_leaving_while_loading_is_a_load_failure(owner, leave, load):
    result = owner.run(f"import os, sys\ndef f(): return 1\n{leave}")
    assert (result.load, [o.kind for o in result.outcomes]) == (load, [Kind.SKIPPED])


def test_handlers_for_the_exit_never_run(owner):
    program = """
import atexit, os, threading
atexit.register(os._exit, 9)
atexit.register(threading.Event().wait)
def f(): return 1
"""
    assert owner.call(program).encoding == "1"


def test_a_smashed_stack_is_a_crash_and_the_calls_before_it_count(owner):
    program = """
import sys
sys.setrecursionlimit(10**8)
def f(t):
    return max(map(f, [t])) if len(t) == 1 else 1
"""
    result = owner.run(program, "[]", "[[]]", "[]")
    assert [o.kind for o in result.outcomes] == [Kind.VALUE, Kind.CRASH, Kind.VALUE]
    assert "SIGSEGV" in result.outcomes[1].message


def test_plain_endless_recursion_is_an_error(owner):
    outcome = owner.call("def f(): return f()")
    assert (outcome.kind, outcome.message.partition(":")[0]) == (Kind.ERROR, "RecursionError")
