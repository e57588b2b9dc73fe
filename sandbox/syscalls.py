"""System call numbers of the two architectures, for the calls that the filter names.

Numbers are part of the kernel's stable interface: x86_64 from its own table, aarch64 from the
generic one, which lacks the older calls (``open``, ``stat``, ``poll``, ``fork``, ...).
"""

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_BOTH = """
read 0 63;write 1 64;readv 19 65;writev 20 66;pread64 17 67;pwrite64 18 68;close 3 57
fstat 5 80;lseek 8 62;mmap 9 222;mprotect 10 226;munmap 11 215;mremap 25 216;madvise 28 233
brk 12 214;futex 202 98;rt_sigaction 13 134;rt_sigprocmask 14 135;rt_sigreturn 15 139
rt_sigpending 127 136;rt_sigtimedwait 128 137;rt_sigsuspend 130 133;sigaltstack 131 132
restart_syscall 219 128;clock_gettime 228 113;clock_getres 229 114;clock_nanosleep 230 115
nanosleep 35 101;gettimeofday 96 169;times 100 153;getrusage 98 165;sched_yield 24 124
sched_getaffinity 204 123;ppoll 271 73;pselect6 270 72;epoll_create1 291 20;epoll_ctl 233 21
epoll_pwait 281 22;pipe2 293 59;eventfd2 290 19;getrandom 318 278;getpid 39 172;getppid 110 173
gettid 186 178;getuid 102 174;geteuid 107 175;getgid 104 176;getegid 108 177;getresuid 118 148
getresgid 120 150;getgroups 115 158;getpgid 121 155;getsid 124 156;getcwd 79 17;uname 63 160
sysinfo 99 179;getcpu 309 168;exit 60 93;exit_group 231 94;clone 56 220;clone3 435 435
set_robust_list 273 99;get_robust_list 274 100;rseq 334 293;set_tid_address 218 96
membarrier 324 283;socketpair 53 199;sendto 44 206;recvfrom 45 207;shutdown 48 210;dup 32 23
dup3 292 24;fcntl 72 25;ioctl 16 29;prlimit64 302 261;getrlimit 97 163;newfstatat 262 79
statx 332 291;faccessat 269 48;faccessat2 439 439;readlinkat 267 78;getdents64 217 61
openat 257 56;openat2 437 437;getitimer 36 102;setitimer 38 103;wait4 61 260;waitid 247 95
kill 62 129;tgkill 234 131;tkill 200 130;execve 59 221;execveat 322 281;socket 41 198
connect 42 203;bind 49 200;sendmsg 46 211;recvmsg 47 212;ptrace 101 117;prctl 157 167
setrlimit 160 164
memfd_create 319 279;pidfd_open 434 434;pidfd_send_signal 424 424;seccomp 317 277;unshare 272 97
setns 308 268;mkdirat 258 34;unlinkat 263 35;renameat2 316 276;process_vm_readv 310 270
rt_sigqueueinfo 129 138;io_uring_setup 425 425
"""

_X86_64_ONLY = """
open 2;stat 4;lstat 6;poll 7;access 21;pipe 22;select 23;dup2 33;pause 34;alarm 37;fork 57
vfork 58;readlink 89;getpgrp 111;arch_prctl 158;time 201;epoll_create 213;epoll_wait 232
rename 82;mkdir 83;unlink 87
"""


def _entries(text: str) -> list[list[str]]:
    return [entry.split() for line in text.split("\n") for entry in line.split(";") if entry]


NUMBERS: dict[str, dict[str, int]] = {
    "x86_64": {name: int(x86) for name, x86, _ in _entries(_BOTH)}
    | {name: int(x86) for name, x86 in _entries(_X86_64_ONLY)},
    "aarch64": {name: int(arm) for name, _, arm in _entries(_BOTH)},
}
"""``NUMBERS[architecture][name]``; a name that an architecture lacks is not there."""
