"""A check's calls: the checker's proxy on one side, the program's child on the other.

A check is trusted source that calls the program and judges the answers, so it may neither run
beside the program nor show it anything but arguments. The two children share one stream socket.
Arguments and results travel as encodings. The checker believes a result as a value only; the
program's child learns the arguments and that the check is over.

A message is a length and a code (``_HEADER``), then ASCII text.
"""

import builtins
import json
import os
import struct
from collections.abc import Callable
from time import thread_time
from typing import Any, NoReturn

from sandbox import encoding
from sandbox.inside.frames import Code, Writer
from sandbox.inside.job import Task
from sandbox.inside.quiet import Streams
from sandbox.inside.runner import attempt, describe, seed_generators

_HEADER = struct.Struct("<IB")
_CALL, _DONE = 100, 101
MAX_CALLS = 10_000


class _Lost(BaseException):
    """The other side has gone."""


class Channel:
    """Messages over a connected stream socket."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lost = False

    def check(self) -> None:
        """Raise again what a check may have caught: that the other side has gone."""
        if self._lost:
            raise _Lost

    def send(self, code: int, body: str) -> None:
        """Send one message whole."""
        data = body.encode("ascii", "backslashreplace")
        rest = memoryview(_HEADER.pack(len(data), code) + data)
        while rest:
            try:
                rest = rest[os.write(self._fd, rest) :]
            except BrokenPipeError:
                self._lose()

    def _lose(self) -> NoReturn:
        self._lost = True
        raise _Lost

    def receive(self, most: int) -> tuple[int, str]:
        """Receive one message.

        Raises:
            ValueError: It is longer than ``most`` bytes, or no ASCII text.
        """
        length, code = _HEADER.unpack(self._read(_HEADER.size))
        if length > most:
            raise ValueError("message too long")
        return code, self._read(length).decode("ascii")

    def _read(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            try:
                part = os.read(self._fd, min(size, 1 << 20))
            except ConnectionResetError:
                part = b""
            if not part:
                self._lose()
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


class Server:
    """The program's side: makes the calls that a check asks for."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def serve(
        self,
        function: Callable[..., Any],
        index: int,
        task: Task,
        out: Writer,
        streams: Streams,
    ) -> None:
        """Answer calls until the check is over; an ended checker ends this process too."""
        started = thread_time()
        seed_generators(task.program, task.seed)
        try:
            while True:
                code, body = self._channel.receive(2 * task.encoding_bytes)
                if code == _DONE:
                    break
                args, kwargs = encoding.decode(body)
                self._channel.send(
                    *attempt(
                        function, args, kwargs, task.output_bytes, task.encoding_bytes, streams
                    )
                )
        except _Lost:
            os._exit(0)
        out.write(Code.SERVED, index, thread_time() - started, "")


class Opaque:
    """What a value that cannot travel becomes: equal to nothing, not even to itself."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return True


class _Stop(BaseException):
    """The program's call came to neither a value nor an exception: the check cannot go on."""

    def __init__(self, code: int, body: str) -> None:
        super().__init__(code, body)
        self.code = code
        self.body = body


class Proxy:
    """The checker's side: stands in for the program's entry point in one check."""

    def __init__(self, channel: Channel, task: Task) -> None:
        self._channel = channel
        self._task = task
        self._values: list[str] = []
        self._room = task.encoding_bytes
        self.stopped: _Stop | None = None
        self.raised: dict[int, tuple[BaseException, str]] = {}
        self.__name__ = self.__qualname__ = task.entry_point

    def values(self) -> str:
        """Canonical encoding of the list of the returned values."""
        return encoding.join_list(self._values)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Have the program called, and give what it gave."""
        if self.stopped:
            raise self.stopped
        if len(self._values) + len(self.raised) >= MAX_CALLS:
            self._stop(Code.NO_ARGS, f"the check makes more than {MAX_CALLS} calls")
        try:
            request = encoding.encode((args, kwargs), max_bytes=self._task.encoding_bytes)
            encoding.decode(request)
        except (encoding.Unencodable, encoding.Undecodable) as error:
            self._stop(Code.NO_ARGS, f"the check's arguments cannot travel: {error}")
        self._channel.send(_CALL, request)
        try:
            code, body = self._channel.receive(2 * self._task.encoding_bytes)
            raised = rebuild_exception(body) if code == Code.ERROR else None
            value = self._value(code, body) if raised is None else None
        except ValueError as error:
            self._stop(Code.UNENCODABLE, f"the answer is no value: {error}")
        if raised is not None:
            # Raised out here: the program's own ValueError is no fault of the answer.
            self.raised[id(raised)] = (raised, body)
            raise raised
        return value

    def _value(self, code: int, body: str) -> Any:
        if code == Code.VALUE:
            encoding.loads(body)
            self._room -= len(body)
            if self._room < 0:
                self._stop(Code.UNENCODABLE, "the values of the check are too large together")
            self._values.append(body)
            try:
                return encoding.decode(body)
            except encoding.Undecodable:
                return Opaque()
        return self._stop(code, body)

    def _stop(self, code: int, body: str) -> NoReturn:
        self.stopped = _Stop(code, body)
        raise self.stopped


def rebuild_exception(text: str) -> BaseException:
    """An exception of the nearest builtin class with the same message.

    Raises:
        ValueError: The text is no encoded exception.
    """
    parts = encoding.loads(text)
    if not (isinstance(parts, list) and len(parts) == 3 and all(type(p) is str for p in parts)):
        raise ValueError("not an exception")
    _, base, message = parts
    kind = getattr(builtins, base, None)
    if isinstance(kind, type) and issubclass(kind, BaseException):
        for candidate in kind.__mro__:
            try:
                error = candidate(message)
            except TypeError:
                continue
            if isinstance(error, BaseException):
                return error
    return Exception(message)


def run_checks(task: Task, out: Writer, channel: Channel) -> None:
    """The checker's child: run every check, write whether it held, and end the process."""
    try:
        for index, given in task.calls:
            source = str(given)
            started = thread_time()
            seed_generators(source, task.seed)
            code, body = _check(source, Proxy(channel, task), task)
            channel.check()
            out.write(code, index, thread_time() - started, body)
            channel.send(_DONE, "")
        out.close(Code.END)
    except _Lost:
        pass
    os._exit(0)


def _check(source: str, proxy: Proxy, task: Task) -> tuple[Code, str]:
    """Run one check; the body is JSON of (kind, values, payload)."""
    kind, payload, held = Code.VALUE, "", False
    try:
        exec(compile(source, "<check>", "exec"), {"__name__": "check", task.entry_point: proxy})
        held = True
    except _Lost:
        raise
    except _Stop:
        pass
    except BaseException as error:
        if id(error) in proxy.raised:
            kind, payload = Code.ERROR, proxy.raised[id(error)][1]
        else:
            payload = describe(error)
    if proxy.stopped:
        held, kind, payload = False, Code(proxy.stopped.code), proxy.stopped.body
    body = json.dumps([int(kind), proxy.values(), payload])
    return (Code.HELD if held else Code.FAILED), body
