"""A keeper in this process and engines that count, for tests of the journal without Ray."""

from pipeline.answering import JournaledClient
from pipeline.keeper import Asker, Keeper, Word
from serve import Completion

ANSWER = Completion("text", "rendered", 3, 2, "stop", -0.5, attempts=2)


class LocalDesk:
    """The way to a keeper in the same process."""

    def __init__(self, keeper, run, name="round 0", process="1"):
        self.keeper, self.run, self.asker = keeper, run, Asker(name, process)

    async def find(self, request):
        (reply,) = await self.keeper.find(self.run, self.asker, [request])
        return (
            await self.keeper.wait(self.run, self.asker, request) if reply is Word.WAIT else reply
        )

    async def store(self, request, answer):
        await self.keeper.store(self.run, [(request, answer)])

    async def give_up(self, request):
        await self.keeper.give_up([request])


class CountingEngine:
    """Answers everything; counts what it was asked."""

    def __init__(self, answer=ANSWER):
        self.answer = answer
        self.asked = []

    async def generate(self, request_id, prompt, sampling):
        self.asked.append(request_id)
        return self.answer


def open_client(engine, run, *, keeper=None, model="m", **asker):
    """A client as one process of a run has it; by default of a run that has just been started."""
    return JournaledClient(engine, LocalDesk(keeper or Keeper(), run, **asker), model)
