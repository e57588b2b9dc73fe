"""Programs that attack the judge from within their own process.

Whatever a program writes about itself can only be its own output; the rest of a result is out of
its reach. So each of these ends as some honest kind, and never as a pass that the program did not
earn: the expected values are not in the process.
"""

import pytest

from sandbox import Call, Job, Kind, Limits, Load


def find_by_stack() -> str:
    """A program that reaches the runner's result area through the frames of its callers."""
    return """
import mmap, struct, sys
def area():
    frame = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()):
            for inner in [value, *getattr(value, '__dict__', {}).values()]:
                if type(inner) is mmap.mmap: return inner
        frame = frame.f_back
def frame(code, test, body):
    return struct.pack('<IIfI', len(body) + 1, test, 0.0, code) + body
"""


def test_forged_frames_are_no_more_than_the_program_s_own_outputs(owner):
    program = f"""{find_by_stack()}
import os
def f(x):
    a = area()
    data = frame(1, 0, b'') + frame(5, 0, b'41') + frame(5, 1, b'42') + frame(15, 0, b'')
    a[:len(data)] = data
    os._exit(0)
"""
    result = owner.run(program, "0", "1")
    assert [o.encoding for o in result.outcomes] == ["41", "42"]


@pytest.mark.parametrize(
    "forged",
    [
        "b'\\xff' * 4096",
        "frame(5, 0, b'41')",
        "frame(1, 0, b'') + frame(5, 7, b'41')",
        "frame(1, 0, b'') + frame(5, 0, b'not json')",
        "frame(1, 0, b'') + frame(5, 0, b'[' * 100000)",
        "frame(1, 0, b'') + frame(5, 0, b'\\xc3\\xa9')",
        "frame(1, 0, b'') + frame(6, 0, b'{}')",
        "frame(1, 0, b'') + frame(11, 0, b'')",
        "frame(1, 0, b'') + frame(12, 0, b'')",
        "frame(1, 0, b'') + frame(15, 0, b'')",
        "frame(1, 0, b'') + frame(99, 0, b'')",
        "frame(1, 0, b'') + frame(5, 0, b'1') * 200000",
    ],
)
def test_a_malformed_result_area_is_a_crash(owner, forged):
    program = f"""{find_by_stack()}
import os
def f():
    a = area()
    data = ({forged})[:len(a)]
    a[:len(data)] = data
    os._exit(0)
"""
    result = owner.run(program)
    kinds = {o.kind for o in result.outcomes}
    assert result.load is Load.CRASH or kinds == {Kind.CRASH}, result


def test_a_flooded_result_area_ends_the_program(owner):
    program = f"""{find_by_stack()}
def f():
    a = area()
    while True: a[:] = b'x' * len(a)
"""
    result = owner.run(program)
    assert result.load is not Load.OK or result.outcomes[0].kind is not Kind.VALUE


def test_frames_dripped_to_stretch_the_time_end_with_the_last_call(owner):
    program = f"""{find_by_stack()}
import time
def f():
    a = area()
    at = len(frame(1, 0, b''))
    while True:
        time.sleep(0.2)
        data = frame(5, 0, b'1')
        a[at:at + len(data)] = data
        at += len(data)
"""
    result = owner.run(program, limits=Limits(cpu_s=1, wall_s=2))
    assert [o.encoding for o in result.outcomes] == ["1"]


@pytest.mark.parametrize(
    "patch",
    [
        "import builtins\nbuiltins.len = lambda x: 0",
        "import builtins\nbuiltins.type = str\nbuiltins.isinstance = lambda *_: True",
        "import builtins\nfor n in list(vars(builtins)): setattr(builtins, n, None)",
        "import json\njson.dumps = json.encoder.encode_basestring_ascii = lambda *_: '1'",
        "import os\nfor n in dir(os):\n    if n != 'path': setattr(os, n, None)",
        "import sys\nsys.modules.clear()",
        "import sys\nsys.settrace(lambda *_: 1 / 0)\nsys.setprofile(lambda *_: 1 / 0)",
        "import gc\n[o.clear() for o in gc.get_objects() if type(o) is dict and o != globals()]",
        "import ctypes\nctypes.memset(id(int), 0, 64)",
        "import sys\nsys._getframe(1).f_globals.clear()",
        "import sys\nsys.stdout = sys.stderr = sys.stdin = None",
    ],
)
def test_a_patched_interpreter_harms_itself_only(owner, patch):
    result = owner.run(f"{patch}\ndef f(x): return x", "1", "2")
    for index, outcome in enumerate(result.outcomes):
        right = outcome.encoding in (str(index + 1), None)
        assert right or outcome.kind is Kind.ERROR or "encoder" in patch, result


def test_a_check_s_expected_values_are_not_in_the_program_s_memory(owner):
    program = """
import gc, sys
def f(x):
    found = [o for o in gc.get_objects() if type(o) in (tuple, list, dict)]
    text = str([o for o in found if len(str(type(o))) < 30][:2000])
    frame = sys._getframe()
    while frame:
        text += str(frame.f_locals) + str(frame.f_code.co_consts)
        frame = frame.f_back
    return ''.join(reversed('EULAVTERCES')) in text
"""
    call = Call("0", check="assert f(1) == False, 'SECRETVALUE'\nassert 'SECRETVALUE'")
    result = owner.box.run(Job("j", program, "f", (call,)))
    assert result.outcomes[0].held is True, result


def test_a_program_cannot_say_that_a_check_held(owner):
    program = f"""{find_by_stack()}
import os
def f(x):
    a = area()
    data = frame(1, 0, b'') + frame(12, 0, b'[5, "", ""]') + frame(15, 0, b'')
    a[:len(data)] = data
    os._exit(0)
"""
    result = owner.box.run(Job("j", program, "f", (Call("0", check="assert f(1) == 2"),)))
    assert result.outcomes[0].kind is Kind.CRASH
    assert not result.outcomes[0].held


@pytest.mark.parametrize("reply", ["b'x' * 5", "b'\\xff' * 10**6", "bytes(5)", "b''"])
def test_garbage_on_a_check_s_channel_does_not_hold(owner, reply):
    program = f"""
import os, stat
def f(x):
    for fd in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): os.write(fd, {reply})
        except OSError: pass
    os._exit(0)
"""
    result = owner.box.run(Job("j", program, "f", (Call("0", check="assert f(1) == 2"),)))
    assert not result.outcomes[0].held, result
    assert result.outcomes[0].kind in (Kind.CRASH, Kind.UNENCODABLE), result


def test_hostile_names_at_module_level_do_not_matter(owner):
    program = """
def __getattr__(name): raise SystemExit(name)
__builtins__ = None
__name__ = '__main__'
__spec__ = __loader__ = __file__ = 1
def f(): return 1
"""
    assert owner.call(program).encoding == "1"


def test_an_entry_point_that_is_a_hostile_object_is_called_like_any(owner):
    program = """
class Entry:
    def __call__(self, x): return x + 1
    def __getattribute__(self, name): raise SystemExit
f = Entry()
"""
    assert owner.call(program, "1").encoding == "2"


def find_task() -> str:
    """A program that reaches the memory from which its own task was read."""
    return """
import mmap, sys
def task():
    frame = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()):
            if type(value) is mmap.mmap and value[:1] != bytes(1) and b'def f' in value[:]:
                return value
        frame = frame.f_back
"""


def test_frames_far_back_in_the_result_area_do_not_reach_the_next_program(owner):
    program = f"""{find_by_stack()}
import os
def f():
    a = area()
    forged = frame(5, 0, b'41')
    a[:] = (forged * (len(a) // len(forged) + 1))[:len(a)]
    os._exit(0)
"""
    owner.run(program)
    died = owner.run("import os\ndef f(): os._exit(0)")
    assert [o.kind for o in died.outcomes] == [Kind.CRASH]


@pytest.mark.parametrize("act", ["task()[0] = 1", "memoryview(task())[0] = 1", "task().resize(1)"])
def test_a_task_cannot_be_changed_by_its_program(owner, act):
    outcome = owner.call(f"{find_task()}\ndef f():\n    {act}")
    assert (outcome.kind, outcome.message[:9]) == (Kind.ERROR, "TypeError")


def test_nothing_of_the_task_before_is_left(owner):
    owner.run("def f(x): return x  # " + "the secret of another program " * 100, "0")
    outcome = owner.call(f"{find_task()}\ndef f(): return b'the sec' + b'ret of' in task()[:]")
    assert outcome.encoding == "false"
