import asyncio

import pytest

from conf import UserError
from pipeline.desk import Gathered, plain_user_error


class Line:
    """Sends batches one at a time, each when it is let through."""

    def __init__(self):
        self.sent = []
        self.open = asyncio.Event()

    async def send_all(self, items):
        self.sent.append(list(items))
        await self.open.wait()
        if "bad" in items:
            raise UserError("the disk is full")
        return [item.upper() for item in items]


async def send(line, *items):
    gathered = Gathered(line.send_all)
    first = asyncio.create_task(gathered.send(items[0]))
    while not line.sent:
        await asyncio.sleep(0)
    others = [asyncio.create_task(gathered.send(item)) for item in items[1:]]
    # One turn of the loop: each of them begins, and joins those that wait.
    await asyncio.sleep(0)
    line.open.set()
    return await asyncio.gather(first, *others, return_exceptions=True)


async def test_what_comes_while_a_message_is_under_way_goes_together():
    line = Line()
    assert await send(line, "a", "b", "c") == ["A", "B", "C"]
    assert line.sent == [["a"], ["b", "c"]]


async def test_an_error_reaches_all_whose_message_it_was_and_no_other():
    line = Line()
    first, *others = await send(line, "a", "bad", "c")
    assert first == "A"
    assert [type(error) for error in others] == [UserError, UserError]


def test_a_mistake_comes_out_of_ray_as_it_went_in():
    class Wrapped(UserError):
        cause = UserError("the disk is full")

    with pytest.raises(UserError, match=r"^the disk is full$"):
        raise plain_user_error(Wrapped("a remote traceback\nand more"))
