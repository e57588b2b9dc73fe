"""Programs that breed, and programs that attack other processes."""

import os

import pytest

from sandbox import Kind

ATTACKS = {
    "kill the parent": "os.kill(os.getppid(), 9)",
    "stop the parent": "os.kill(os.getppid(), signal.SIGSTOP)",
    "kill the group": "os.killpg(os.getpgrp(), 9)",
    "kill everyone": "os.kill(-1, 9)",
    "kill by thread id": "fail(libc.tgkill(os.getppid(), os.getppid(), 9))",
    "kill the owner": "os.kill(OWNER, 9)",
    "trace the parent": "fail(libc.ptrace(16, os.getppid(), 0, 0))",
    "read the parent's memory": "fail(libc.process_vm_readv(os.getppid(), 0, 0, 0, 0, 0))",
    "queue a signal": "fail(libc.sigqueue(os.getppid(), 9, 0))",
    "open a handle": "fail(libc.syscall(434, os.getppid(), 0))",
    "signal by SIGIO": "fcntl.fcntl(pipe()[0], fcntl.F_SETOWN, os.getppid())",
    "choose SIGIO's signal": "fcntl.fcntl(pipe()[0], 10, signal.SIGKILL)",
    "fork": "os.fork()",
    "vfork": "fail(libc.vfork())",
    "spawn": "subprocess.run(['/bin/sh', '-c', 'sleep 60 &'])",
    "shell": "fail(os.system('sleep 60 &'))",
    "exec": "os.execv('/bin/true', ['true'])",
    "new namespace": "fail(libc.unshare(0x10000000))",
    "raise a limit": "resource.setrlimit(resource.RLIMIT_CORE, (-1, -1))",
    "gain privileges": "fail(libc.prctl(8, 1, 0, 0, 0))",
}

PROLOGUE = """
import ctypes, fcntl, os, resource, signal, subprocess
libc = ctypes.CDLL(None, use_errno=True)
def pipe():
    return os.pipe()
def fail(result):
    if result != 0: raise PermissionError(ctypes.get_errno(), 'refused')
"""


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_an_attack_on_other_processes_is_refused(owner, attack):
    program = f"{PROLOGUE}\ndef f(OWNER):\n    {attack}\n    return 'done'"
    outcome = owner.call(program, str(os.getpid()))
    assert outcome.kind is Kind.ERROR, outcome


def test_a_fork_bomb_makes_no_process(owner):
    program = """
import os
def f():
    made = 0
    for _ in range(1000):
        try: os.fork(); made += 1
        except OSError: pass
    return made
"""
    assert owner.call(program).encoding == "0"


def test_a_daemon_cannot_be_left_behind(owner):
    program = """
import multiprocessing, os, time
def f():
    try: os.setsid()
    except OSError: pass
    multiprocessing.Process(target=time.sleep, args=(60,), daemon=True).start()
"""
    assert owner.call(program).kind is Kind.ERROR


def test_a_thread_bomb_is_bounded_and_dies_with_its_program(owner):
    program = """
import threading, time
def f():
    made = 0
    try:
        while made < 5000:
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
            made += 1
    except RuntimeError: pass
    return made < 5000
"""
    assert owner.call(program).encoding == "true"


def test_spinning_threads_use_up_one_budget_together(owner):
    program = """
import threading
def spin():
    while True: pass
def f():
    for _ in range(8): threading.Thread(target=spin, daemon=True).start()
    spin()
"""
    assert owner.call(program).kind is Kind.TIMEOUT


def test_a_few_threads_are_a_program_s_right(owner):
    program = """
from concurrent.futures import ThreadPoolExecutor
def f():
    with ThreadPoolExecutor(4) as pool: return list(pool.map(abs, [-1, 2, -3]))
"""
    assert owner.call(program).encoding == '["l",1,2,3]'


def test_an_event_loop_is_a_program_s_right(owner):
    program = """
import asyncio
async def g(x):
    await asyncio.sleep(0)
    return x + 1
def f(): return asyncio.run(g(1))
"""
    assert owner.call(program).encoding == "2"
