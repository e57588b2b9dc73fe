"""The sandbox as its owner uses it, with programs that mean no harm."""

import os
import signal
import sys
from pathlib import Path

import pytest

from conf import SandboxConfig, UserError
from sandbox import Call, Job, Kind, Limits, Load, Sandbox, box, levels
from sandbox.decoding import decode
from sandbox.levels import LAYERS, Level, LevelUnavailable
from sandbox.process import StartFailed, ZygoteLost
from sandbox.proof import wanted

ADD = "def f(a, b=1): return a + b"


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox("standard") as made:
        yield made


def run(sandbox, program, *args, entry="f", **fields):
    calls = tuple(Call(str(i), args=source) for i, source in enumerate(args or ("",)))
    return sandbox.run(Job("j", program, entry, calls, **fields))


def check(sandbox, program, source, limits=None):
    job = Job("j", program, "f", (Call("c", check=source),), limits or Limits())
    return sandbox.run(job).outcomes[0]


def encodings(result):
    return [outcome.encoding for outcome in result.outcomes]


def test_arguments_are_python_source_evaluated_anew_for_each_call(sandbox):
    result = run(sandbox, ADD, "1", "10**3, 1", "a=2, b=3", "*[1, 2]", "'x', \"y\"", "1,\n2")
    assert encodings(result) == ["2", "1001", "5", "3", '"xy"', "3"]


def test_arguments_that_cannot_be_built_are_the_judge_s_fault(sandbox):
    result = run(sandbox, ADD, "1 +", "missing", "1")
    assert [o.kind for o in result.outcomes] == [Kind.HARNESS, Kind.HARNESS, Kind.VALUE]


def test_results_carry_level_ids_and_time(sandbox):
    result = run(sandbox, ADD, "1")
    assert (result.job_id, result.isolation, result.outcomes[0].test_id) == ("j", "standard", "0")
    assert 0 < result.cpu_s < 1


@pytest.mark.parametrize(
    ("program", "load", "said"),
    [
        ("", Load.NO_CODE, ""),
        ("  \n", Load.NO_CODE, ""),
        ("def f(:", Load.SYNTAX, "SyntaxError"),
        ("\0", Load.SYNTAX, "null bytes"),
        ("(" * 10_000, Load.SYNTAX, ""),
        ("1 / 0", Load.ERROR, "ZeroDivisionError"),
        ("def g(): pass", Load.ERROR, "does not define 'f'"),
        ("raise SyntaxError('late')", Load.ERROR, "late"),
    ],
)
def test_a_program_that_does_not_load_says_why_and_its_calls_are_skipped(
    sandbox, program, load, said
):
    result = run(sandbox, program, "1", "2")
    assert (result.load, [o.kind for o in result.outcomes]) == (load, [Kind.SKIPPED] * 2)
    assert said in result.message


def test_a_program_without_calls_is_only_loaded(sandbox):
    assert sandbox.run(Job("j", ADD, "f", ())).load is Load.OK


def test_state_of_a_program_lasts_from_call_to_call(sandbox):
    program = "n = 0\ndef f():\n    global n\n    n += 1\n    return n"
    assert encodings(run(sandbox, program, "", "", "")) == ["1", "2", "3"]


def test_text_of_any_kind_travels(sandbox):
    program = "def f(x): return x, '\\udc80', 'é'"
    outcome = run(sandbox, program, "'\\ud800€'").outcomes[0]
    assert decode(outcome.encoding) == ("\ud800€", "\udc80", "é")


def test_classes_made_by_a_program_work_as_in_a_module(sandbox):
    program = """
import dataclasses, enum, pickle, typing
@dataclasses.dataclass
class P:
    x: int
class Color(enum.Enum): RED = 1
class N(typing.NamedTuple): a: int
def f(): return pickle.loads(pickle.dumps(P(3))).x, Color(1).name, N(1).a, P.__module__
"""
    assert encodings(run(sandbox, program)) == ['["t",3,"RED",1,"program"]']


def test_numpy_of_the_environment_can_be_imported(sandbox):
    program = "import numpy as np\ndef f(n): return int(np.arange(n).sum())"
    assert encodings(run(sandbox, program, "5")) == ["10"]


def test_modules_that_are_not_preloaded_can_be_imported(sandbox):
    program = "import csv, sqlite3, decimal, zoneinfo, xml.etree.ElementTree\ndef f(): return 1"
    assert encodings(run(sandbox, program)) == ["1"]


def test_an_expression_is_evaluated_to_its_encoding(sandbox):
    assert decode(sandbox.evaluate("10**6000 + 7")) == 10**6000 + 7
    assert decode(sandbox.evaluate("[x * 2 for x in range(3)]")) == [0, 2, 4]


@pytest.mark.parametrize("expression", ["1 +", "1 / 0", "open('/etc/passwd')"])
def test_an_expression_without_a_value_is_an_error(sandbox, expression):
    with pytest.raises(ValueError, match="has no value"):
        sandbox.evaluate(expression)


def test_a_check_that_holds_lists_what_the_program_returned(sandbox):
    outcome = check(sandbox, ADD, "assert f(1) == 2\nfor i in range(3): assert f(i, b=i) == 2 * i")
    assert (outcome.kind, outcome.held) == (Kind.VALUE, True)
    assert decode(outcome.encoding) == [2, 0, 2, 4]


def test_a_check_that_fails_does_not_hold(sandbox):
    outcome = check(sandbox, ADD, "assert f(1) == 2\nassert f(1) == 3, 'three'\nassert f(4)")
    assert (outcome.kind, outcome.held, outcome.message) == (
        Kind.VALUE,
        False,
        "AssertionError: three",
    )
    assert decode(outcome.encoding) == [2, 2]


def test_a_check_sees_the_program_s_exceptions_as_their_nearest_builtin_class(sandbox):
    program = "class Mine(KeyError): pass\ndef f(): raise Mine('k')"
    source = "try: f()\nexcept KeyError as error: assert 'k' in str(error)\nelse: assert False"
    assert check(sandbox, program, source).held is True
    unhandled = check(sandbox, program, "f()")
    assert (unhandled.kind, unhandled.held) == (Kind.ERROR, False)
    assert unhandled.message.startswith("Mine")


def test_an_assertion_error_of_the_program_is_the_program_s_error(sandbox):
    outcome = check(sandbox, "def f(): assert False, 'own'", "f()")
    assert (outcome.kind, outcome.held) == (Kind.ERROR, False)


def test_an_opaque_value_equals_nothing_in_a_check(sandbox):
    program = "class Any:\n    def __eq__(self, other): return True\ndef f(): return Any()"
    assert check(sandbox, program, "assert f() == 1").held is False
    assert check(sandbox, program, "x = f()\nassert x != x").held is True


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        ("def f():\n    while True: pass", Kind.TIMEOUT),
        ("def f(): return [0] * 10**10", Kind.MEMORY),
        ("def f(): print('x' * 10**6)", Kind.OUTPUT),
        ("import itertools\ndef f(): return itertools.count()", Kind.UNENCODABLE),
        ("import os\ndef f(): os._exit(0)", Kind.CRASH),
        ("import os\ndef f(): os.abort()", Kind.CRASH),
    ],
)
def test_a_check_has_the_kinds_of_its_program_whatever_it_catches(sandbox, program, kind):
    source = "try: f()\nexcept BaseException: pass"
    outcome = check(sandbox, program, source, Limits(cpu_s=0.3))
    assert (outcome.kind, outcome.held or False) == (kind, False)


def test_a_check_that_never_ends_is_a_time_out(sandbox):
    outcome = check(sandbox, ADD, "f(1)\nwhile True: pass", Limits(cpu_s=0.3))
    assert outcome.kind is Kind.TIMEOUT


def test_a_check_that_calls_for_ever_is_stopped(sandbox):
    outcome = check(sandbox, ADD, "while True: f(1)", Limits(cpu_s=30, program_cpu_s=60))
    assert (outcome.kind, "10000 calls" in outcome.message) == (Kind.HARNESS, True)


def test_checks_and_calls_of_one_program_keep_their_order(sandbox):
    program = """
seen = []
def f(x):
    seen.append(x)
    if x == 'die': import os; os._exit(1)
    return list(seen)
"""
    calls = (
        Call("a", args="1"),
        Call("b", check="assert f(2) == [1, 2]"),
        Call("c", check="assert f(3) == [1, 2, 3]\nf('die')"),
        Call("d", args="4"),
        Call("e", check="assert f(5) == [4, 5]"),
    )
    outcomes = sandbox.run(Job("j", program, "f", calls)).outcomes
    assert [o.test_id for o in outcomes] == ["a", "b", "c", "d", "e"]
    assert [o.kind.value for o in outcomes] == ["value", "value", "crash", "value", "value"]
    assert [o.held for o in outcomes] == [None, True, None, None, True]


def test_equal_jobs_have_equal_outcomes(sandbox):
    program = "import random\nx = random.random()\ndef f(): return x, random.random(), hash('a')"
    assert encodings(run(sandbox, program, "", "")) == encodings(run(sandbox, program, "", ""))
    assert encodings(run(sandbox, program)) != encodings(run(sandbox, program, seed=1))


def test_the_seed_of_a_call_does_not_depend_on_the_calls_before_it(sandbox):
    program = "import random\ndef f(n): return [random.random() for _ in range(n)][-1]"
    first, second = encodings(run(sandbox, program, "5", "1"))
    assert second == encodings(run(sandbox, program, "1"))[0]
    assert first != second


@pytest.mark.parametrize(
    ("body", "differs"),
    [
        ("sorted({'a', 'b', 'c'})", False),
        ("{'a', 'b', 'c'}", False),
        ("hash('a')", True),
        ("list({str(i) for i in range(20)})", True),
        ("random.random()", True),
        ("id(object())", True),
        ("1 / 0", False),
        ("int(object())", False),
    ],
)
def test_a_program_whose_outcomes_differ_between_seeds_is_told(sandbox, body, differs):
    job = Job("j", f"import random\ndef f(): return {body}", "f", (Call("0", args=""),))
    assert sandbox.is_nondeterministic(job) is differs


def test_a_killed_zygote_is_replaced_and_the_job_run_again():
    with Sandbox("standard") as sandbox:
        os.kill(sandbox.zygote_pid, signal.SIGKILL)
        assert encodings(run(sandbox, ADD, "1")) == ["2"]


def test_a_job_that_kills_two_zygotes_is_the_judge_s_fault(monkeypatch):
    def lost(self):
        raise ZygoteLost("gone")

    with Sandbox("standard") as sandbox:
        with monkeypatch.context() as patch:
            patch.setattr(box.Session, "run", lost)
            result = run(sandbox, ADD, "1", "2")
        assert (result.load, [o.kind for o in result.outcomes]) == (
            Load.HARNESS,
            [Kind.HARNESS] * 2,
        )
        assert "died twice" in result.message
        assert encodings(run(sandbox, ADD, "1")) == ["2"]


def _descriptors():
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


def test_closing_leaves_no_process_and_no_descriptor():
    before = _descriptors()
    with Sandbox("standard") as sandbox:
        pid = sandbox.zygote_pid
        run(sandbox, ADD, "1")
    assert _descriptors() == before
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize("level", [level.value for level in Level])
def test_every_level_of_this_host_runs_programs_and_shows_its_proof(level):
    try:
        made = Sandbox(SandboxConfig(isolation=level))
    except LevelUnavailable as error:
        pytest.skip(str(error))
    with made:
        assert made.isolation.layers == LAYERS[Level(level)]
        assert all(act.holds for act in made.isolation.acts)
        assert encodings(run(made, "import os, json, random\n" + ADD, "1")) == ["2"]


def test_auto_is_never_minimal(monkeypatch):
    def fail(plan, hash_seed):
        layer = next(name for name in plan.layers if name in ("namespaces", "landlock", "seccomp"))
        raise StartFailed(layer, "not today")

    monkeypatch.setattr(box, "ZygoteProcess", fail)
    with pytest.raises(UserError, match="'seccomp' is missing"):
        Sandbox("auto")


@pytest.mark.parametrize("layer", ["namespaces", "landlock", "seccomp"])
def test_auto_goes_down_to_the_level_that_lacks_nothing(monkeypatch, layer):
    tried = []

    def start(plan, hash_seed):
        tried.append(plan.layers)
        if layer in plan.layers:
            raise StartFailed(layer, "not today")
        return "zygote"

    monkeypatch.setattr(box, "ZygoteProcess", start)
    monkeypatch.setattr(box, "_prove", lambda *_: "proof")
    expected = {"namespaces": Level.STANDARD, "landlock": Level.STANDARD_NOFS}
    if layer in expected:
        assert Sandbox("auto").level == expected[layer]
    else:
        with pytest.raises(LevelUnavailable, match="minimal works, for programs that you trust"):
            Sandbox("auto")
    assert len(tried) <= 3


def test_a_layer_that_fails_is_named_with_its_remedy(monkeypatch):
    def fail(plan, hash_seed):
        raise StartFailed("landlock", "ENOSYS")

    monkeypatch.setattr(box, "ZygoteProcess", fail)
    with pytest.raises(UserError) as caught:
        Sandbox("standard")
    assert "landlock" in str(caught.value)
    assert "standard-nofs" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_act_that_is_not_refused_stops_the_start(monkeypatch):
    wanted_here = levels.LAYERS[Level.STANDARD]
    monkeypatch.setitem(
        levels.LAYERS, Level.STANDARD, tuple(layer for layer in wanted_here if layer != "landlock")
    )
    monkeypatch.setattr(box, "build_filters", lambda machine, may_open: _open_filters(machine))
    with pytest.raises(LevelUnavailable, match="read a file of the host: done"):
        Sandbox("standard")


def _open_filters(machine):
    from sandbox.seccomp import build_filters

    return build_filters(machine, may_open=True)


def test_another_system_gets_minimal_only(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    for level in Level:
        if level is Level.MINIMAL:
            levels.check_platform(level)
        else:
            with pytest.raises(LevelUnavailable, match="darwin has no seccomp"):
                levels.check_platform(level)


def test_what_is_wanted_of_an_act_depends_on_the_level():
    assert wanted(Level.STRICT, "see that a file of the host exists") == "refused"
    assert wanted(Level.STANDARD, "see that a file of the host exists") == "either"
    assert wanted(Level.MINIMAL, "fork a process") == "either"
    assert wanted(Level.MINIMAL, "start a thread") == "done"
