"""The filters, evaluated by a small BPF interpreter: what cannot be run here is checked here."""

import errno
import struct

import pytest

from sandbox import bpf
from sandbox.bpf import Label, Op
from sandbox.seccomp import OWN_PID, PLAIN, Filters, build_filters
from sandbox.syscalls import AUDIT_ARCH, NUMBERS

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
ARCHITECTURES = ["x86_64", "aarch64"]
THREAD = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000 | 0x80000 | 0x100000 | 0x200000
FORK = 17 | 0x200000 | 0x1000000


def evaluate(code: bytes, number: int, args: tuple[int, ...], arch: int) -> int:
    data = struct.pack("=IIQ6Q", number, arch, 0, *(*args, 0, 0, 0, 0, 0, 0)[:6])
    program = list(bpf.INSTRUCTION.iter_unpack(code))
    at = accumulator = 0
    while True:
        op, yes, no, k = program[at]
        at += 1
        if op == bpf.LOAD_WORD:
            (accumulator,) = struct.unpack_from("=I", data, k)
        elif op == bpf.AND:
            accumulator &= k
        elif op == bpf.JUMP:
            at += k
        elif op == bpf.JUMP_EQ:
            at += yes if accumulator == k else no
        elif op == bpf.JUMP_GE:
            at += yes if accumulator >= k else no
        else:
            assert op == bpf.RETURN
            return k


@pytest.fixture(params=ARCHITECTURES)
def machine(request):
    return request.param


class Kernel:
    """Applies the filters as the kernel does: the strictest answer counts."""

    def __init__(self, filters: Filters, machine: str) -> None:
        self.filters = filters
        self.machine = machine

    def ask(self, name: str, *args: int, child: bool = True) -> int | str:
        number = NUMBERS[self.machine][name]
        codes = [self.filters.zygote] + ([self.filters.child] if child else [])
        arch = AUDIT_ARCH[self.machine]
        answer = min(evaluate(code, number, args, arch) for code in codes)
        return "allow" if answer == ALLOW else answer & 0xFFFF


@pytest.fixture
def kernel(machine):
    return Kernel(build_filters(machine, may_open=True), machine)


DENIED = """
execve execveat socket connect bind sendmsg recvmsg ptrace prctl setrlimit memfd_create pidfd_open
pidfd_send_signal seccomp unshare setns mkdirat unlinkat renameat2 process_vm_readv
rt_sigqueueinfo io_uring_setup tkill
""".split()  # noqa: SIM905


@pytest.mark.parametrize("name", DENIED)
def test_what_reaches_others_is_refused_whatever_its_arguments(kernel, name):
    for args in [(), (1,), (22, 2), (2**64 - 1,) * 6]:
        assert kernel.ask(name, *args) == errno.EPERM


def test_an_unknown_call_is_refused(kernel, machine):
    for number in [500, 1000, 0x3FFFFFFF]:
        answer = evaluate(kernel.filters.zygote, number, (), AUDIT_ARCH[machine])
        assert answer == ERRNO | errno.EPERM


def test_every_plain_call_is_allowed(kernel, machine):
    for name in PLAIN:
        if name in NUMBERS[machine]:
            assert kernel.ask(name, *(2**64 - 1,) * 6) == "allow", name


def test_every_plain_call_has_a_number_somewhere():
    assert set(PLAIN) <= set(NUMBERS["x86_64"])


def test_no_two_calls_share_a_number(machine):
    numbers = NUMBERS[machine]
    assert len(set(numbers.values())) == len(numbers)


def test_another_architecture_s_calls_kill(kernel, machine):
    for arch in [0x40000003, *AUDIT_ARCH.values()]:
        if arch != AUDIT_ARCH[machine]:
            assert evaluate(kernel.filters.zygote, 0, (), arch) == KILL


def test_the_x32_numbers_kill(kernel, machine):
    number = 0x40000000 | NUMBERS[machine]["read"]
    assert evaluate(kernel.filters.zygote, number, (), AUDIT_ARCH[machine]) == KILL


def test_a_child_makes_threads_and_no_processes(kernel):
    assert kernel.ask("clone", THREAD) == "allow"
    for flags in [0, 17, FORK, 0x100, 0x10000, THREAD | 0x10000000, THREAD | 0x20000]:
        assert kernel.ask("clone", flags) == errno.EPERM, hex(flags)
    assert kernel.ask("clone3") == errno.ENOSYS


def test_a_zygote_forks_but_enters_no_namespace(kernel):
    assert kernel.ask("clone", FORK, child=False) == "allow"
    for flags in [FORK | 0x10000000, FORK | 0x20000, FORK | 0x40000000, FORK | 0x8000]:
        assert kernel.ask("clone", flags, child=False) == errno.EPERM, hex(flags)


def test_a_child_signals_itself_only(kernel):
    for name in ["kill", "tgkill"]:
        assert kernel.ask(name, OWN_PID, 9) == "allow"
        for pid in [0, 1, 2**32 - 1, OWN_PID + 1, (-OWN_PID) % 2**32]:
            assert kernel.ask(name, pid, 9) == errno.EPERM


def test_the_own_pid_stands_in_one_place(kernel):
    code = bytearray(kernel.filters.child)
    struct.pack_into("=I", code, kernel.filters.own_pid_at, 4321)
    patched = Filters(kernel.filters.zygote, bytes(code), 0)
    machine = Kernel(patched, kernel.machine)
    assert machine.ask("kill", 4321, 6) == "allow"
    assert machine.ask("tgkill", 4321, 1, 6) == "allow"
    assert machine.ask("kill", OWN_PID, 6) == errno.EPERM


def test_files_open_for_reading_only(kernel, machine):
    path = 12345
    assert kernel.ask("openat", 0, path, 0o2000000) == "allow"
    for flags in [1, 2, 3, 0o100, 0o1000, 0o2000, 0o20200002]:
        assert kernel.ask("openat", 0, path, flags) == errno.EACCES, oct(flags)
    if machine == "x86_64":
        assert kernel.ask("open", path, 0) == "allow"
        assert kernel.ask("open", path, 1) == errno.EACCES
    assert kernel.ask("openat2") == errno.ENOSYS


def test_without_landlock_nothing_opens(machine):
    kernel = Kernel(build_filters(machine, may_open=False), machine)
    assert kernel.ask("openat", 0, 1, 0) == errno.EACCES


def test_limits_can_be_read_and_not_set(kernel):
    assert kernel.ask("prlimit64", 0, 7, 0, 99) == "allow"
    assert kernel.ask("prlimit64", 0, 7, 99, 0) == errno.EPERM
    assert kernel.ask("prlimit64", 0, 7, 1 << 32, 0) == errno.EPERM
    assert kernel.ask("prlimit64", 5, 7, 0, 99) == errno.EPERM


def test_descriptors_cannot_be_made_to_signal(kernel):
    for command in [0, 1, 2, 3, 4, 1030]:
        assert kernel.ask("fcntl", 1, command) == "allow"
    for command in [5, 6, 8, 10, 15, 1024, 1031, 1033]:
        assert kernel.ask("fcntl", 1, command) == errno.EPERM
    assert kernel.ask("ioctl", 1, 0x5421) == "allow"
    assert kernel.ask("ioctl", 0, 0x5412) == errno.ENOTTY  # TIOCSTI


def test_sockets_are_pairs_of_unix_streams_without_addresses(kernel):
    assert kernel.ask("socketpair", 1, 1 | 0o2004000) == "allow"
    assert kernel.ask("socketpair", 1, 2) == errno.EPERM
    assert kernel.ask("socketpair", 2, 1) == errno.EPERM
    assert kernel.ask("sendto", 3, 1, 1, 0, 0, 0) == "allow"
    assert kernel.ask("sendto", 3, 1, 1, 0, 1 << 40, 16) == errno.EPERM


def test_the_digest_tells_filters_apart():
    digests = {
        build_filters(machine, may_open=may).digest
        for machine in ARCHITECTURES
        for may in (True, False)
    }
    assert len(digests) == 4


def test_a_backward_jump_is_an_error():
    with pytest.raises(ValueError, match="instructions long"):
        bpf.assemble([Label("here"), Op(bpf.JUMP, if_true="here")])
