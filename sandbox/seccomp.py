"""The system calls that a program may make, as two seccomp filters.

An allow-list: what is not named is refused with EPERM, so a call that the kernel gains tomorrow
is refused too. The filters are built here, once, for the architecture at hand, in plain Python,
and handed to the zygote as bytes, so that the far side needs no library.

The zygote confines itself with the long filter, which its children inherit; it allows the few
things that only a zygote does, such as forking. Each child takes those away with the short one.
The kernel applies both and obeys the stricter answer. Attaching a filter costs a compilation, and
an evaluation for every call number that the earlier filters allow, so what each program pays for
is the short one.

A filter finds the call's number by binary search over ranges of numbers with the same answer.
Pointers and the memory behind them cannot be checked by a filter; only register values are.
"""

import errno
import hashlib
from dataclasses import dataclass

from sandbox import bpf
from sandbox.bpf import Label, Op
from sandbox.syscalls import AUDIT_ARCH, NUMBERS

_ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000
_ERRNO = 0x00050000
_X32_BIT = 0x40000000

OWN_PID = 0x4F574E50
"""Stands in a fresh filter where the child's own process id goes."""


def _words(text: str) -> list[str]:
    return text.split()


PLAIN = _words("""
read write readv writev pread64 pwrite64 close fstat lseek mmap mprotect munmap mremap madvise
brk futex membarrier rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait
rt_sigsuspend sigaltstack restart_syscall pause getitimer setitimer alarm clock_gettime
clock_getres clock_nanosleep nanosleep gettimeofday time times getrusage sched_yield
sched_getaffinity getcpu sysinfo uname getrandom poll ppoll select pselect6 epoll_create
epoll_create1 epoll_ctl epoll_wait epoll_pwait pipe pipe2 eventfd2 recvfrom shutdown dup dup2
dup3 getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp
getpgid getsid getcwd getrlimit wait4 waitid exit exit_group set_robust_list get_robust_list
rseq set_tid_address stat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat
getdents64
""")
"""Calls allowed whatever their arguments: none changes a file or reaches another process."""


@dataclass(frozen=True, slots=True)
class Check:
    """One condition on an argument: its masked low word is one of ``values``.

    ``wide`` also asks for a zero high word, which a pointer that must be null needs.
    """

    arg: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """Allowed when every check holds, else refused with ``refusal``."""

    checks: tuple[Check, ...]
    refusal: int = errno.EPERM


_O_WRITING = 0o3 | 0o100 | 0o1000 | 0o2000  # access mode, O_CREAT, O_TRUNC, O_APPEND
_CLONE_VM, _CLONE_THREAD = 0x100, 0x10000
_CLONE_FORBIDDEN = 0x2000 | 0x4000 | 0x8000 | 0x1000 | 0x7E020000  # ptrace, vfork, new namespaces
_FCNTL_HARMLESS = (0, 1, 2, 3, 4, 1030)  # DUPFD, GETFD, SETFD, GETFL, SETFL, DUPFD_CLOEXEC
_IOCTL_HARMLESS = (0x5421, 0x5450, 0x5451)  # FIONBIO, FIONCLEX, FIOCLEX
_AF_UNIX, _SOCK_STREAM, _SOCK_KIND = 1, 1, 0xF
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP = 1, 22

RULES: dict[str, Rule] = {
    "fcntl": Rule((Check(1, _FCNTL_HARMLESS),)),
    "ioctl": Rule((Check(1, _IOCTL_HARMLESS),), errno.ENOTTY),
    "socketpair": Rule((Check(0, (_AF_UNIX,)), Check(1, (_SOCK_STREAM,), _SOCK_KIND))),
    "sendto": Rule((Check(4, (0,), wide=True),)),
    "clone": Rule((Check(0, (0,), _CLONE_FORBIDDEN),)),
    "prctl": Rule((Check(0, (_PR_SET_PDEATHSIG, _PR_SET_SECCOMP)),)),
    "prlimit64": Rule((Check(0, (0,)),)),
}
"""Calls allowed with these arguments only, to a zygote too."""

ZYGOTE_ONLY = _words("recvmsg sendmsg pidfd_open")
"""Calls that a zygote needs, which the short filter takes from its children."""

CHILD_RULES: dict[str, Rule] = {
    "clone": Rule((Check(0, (_CLONE_VM | _CLONE_THREAD,), _CLONE_VM | _CLONE_THREAD),)),
    "kill": Rule((Check(0, (OWN_PID,)),)),
    "tgkill": Rule((Check(0, (OWN_PID,)),)),
    "prlimit64": Rule((Check(2, (0,), wide=True),)),
}
"""Calls that a child may make with these arguments only: threads, signals to itself, no limits.

Rules that are equal share their code, so the process id stands in the filter once.
"""

_READ_ONLY = {
    "open": Rule((Check(1, (0,), _O_WRITING),), errno.EACCES),
    "openat": Rule((Check(2, (0,), _O_WRITING),), errno.EACCES),
}

# glibc falls back to an older call when these do not exist; a refusal would break it.
_ABSENT = {"clone3": errno.ENOSYS, "openat2": errno.ENOSYS}
_CLOSED = {"open": errno.EACCES, "openat": errno.EACCES}


@dataclass(frozen=True, slots=True)
class Filters:
    """The two filters, and the byte offset of the child's own process id in the short one."""

    zygote: bytes
    child: bytes
    own_pid_at: int

    @property
    def digest(self) -> str:
        """SHA-256 of both, before a process id is in them."""
        return hashlib.sha256(self.zygote + self.child).hexdigest()


def build_filters(architecture: str, *, may_open: bool) -> Filters:
    """The filters of one architecture (``x86_64`` or ``aarch64``).

    Args:
        architecture: As ``platform.machine()`` names it.
        may_open: Allow files to be opened for reading; Landlock must then say which.

    Raises:
        KeyError: There is no table for this architecture.
    """
    numbers = NUMBERS[architecture]
    allow = Op(bpf.RETURN, _ALLOW)
    answers = dict.fromkeys([*PLAIN, *ZYGOTE_ONLY, "kill", "tgkill"], allow)
    answers |= {name: _refuse(code) for name, code in _ABSENT.items()}
    answers |= {} if may_open else {name: _refuse(code) for name, code in _CLOSED.items()}
    rules = RULES | (_READ_ONLY if may_open else {})
    zygote = _prologue(architecture) + _decide(numbers, answers, rules, _refuse(errno.EPERM))
    taken = {name: _refuse(errno.EPERM) for name in [*ZYGOTE_ONLY, "prctl", "setrlimit"]}
    child = [Op(bpf.LOAD_WORD, 0), *_decide(numbers, taken, CHILD_RULES, allow)]
    code = bpf.assemble(child)
    return Filters(bpf.assemble(zygote), code, _place_of_pid(code))


def _refuse(code: int) -> Op:
    return Op(bpf.RETURN, _ERRNO | code)


def _place_of_pid(code: bytes) -> int:
    instructions = bpf.INSTRUCTION.iter_unpack(code)
    (place,) = (i for i, (_, _, _, k) in enumerate(instructions) if k == OWN_PID)
    return place * bpf.INSTRUCTION.size + 4


def _prologue(architecture: str) -> list[Op | Label]:
    """Kill on another architecture's calls, whose numbers mean something else."""
    return [
        Op(bpf.LOAD_WORD, 4),
        Op(bpf.JUMP_EQ, AUDIT_ARCH[architecture], if_true="native"),
        Op(bpf.RETURN, _KILL_PROCESS),
        Label("native"),
        Op(bpf.LOAD_WORD, 0),
        Op(bpf.JUMP_GE, _X32_BIT, if_false="known"),
        Op(bpf.RETURN, _KILL_PROCESS),
        Label("known"),
    ]


def _decide(
    numbers: dict[str, int], answers: dict[str, Op], rules: dict[str, Rule], otherwise: Op
) -> list[Op | Label]:
    """The search for the number in the accumulator, and the rules that it may lead to."""
    rules = {name: rule for name, rule in rules.items() if name in numbers}
    by_number = {numbers[name]: op for name, op in answers.items() if name in numbers}
    first = {rule: name for name, rule in reversed(rules.items())}
    by_number |= {numbers[name]: Op(bpf.JUMP, if_true=first[rule]) for name, rule in rules.items()}
    program = _search(_ranges(by_number, otherwise))
    for rule, name in first.items():
        program += _rule(name, rule)
    return program


def _ranges(answers: dict[int, Op], otherwise: Op) -> list[tuple[int, Op]]:
    """Starts of the ranges of call numbers with one answer, in order, the first at 0."""
    starts: list[tuple[int, Op]] = []
    for number in range(max(answers) + 2):
        answer = answers.get(number, otherwise)
        if not starts or starts[-1][1] != answer:
            starts.append((number, answer))
    return starts


def _search(ranges: list[tuple[int, Op]]) -> list[Op | Label]:
    """Binary search for the range that holds the number in the accumulator."""
    if len(ranges) == 1:
        return [ranges[0][1]]
    middle = len(ranges) // 2
    split = ranges[middle][0]
    right = f"from {split}"
    return [
        Op(bpf.JUMP_GE, split, if_true=right),
        *_search(ranges[:middle]),
        Label(right),
        *_search(ranges[middle:]),
    ]


def _rule(name: str, rule: Rule) -> list[Op | Label]:
    code: list[Op | Label] = [Label(name)]
    for i, check in enumerate(rule.checks):
        held, refused = f"{name} {i} held", f"{name} refused"
        low = 16 + 8 * check.arg
        if check.wide:
            code += [Op(bpf.LOAD_WORD, low + 4), Op(bpf.JUMP_EQ, 0, if_false=refused)]
        code += [Op(bpf.LOAD_WORD, low)]
        if check.mask != 0xFFFFFFFF:
            code += [Op(bpf.AND, check.mask)]
        code += [Op(bpf.JUMP_EQ, value, if_true=held) for value in check.values]
        code += [Op(bpf.JUMP, if_true=refused), Label(held)]
    return [
        *code,
        Op(bpf.RETURN, _ALLOW),
        Label(f"{name} refused"),
        Op(bpf.RETURN, _ERRNO | rule.refusal),
    ]
