import asyncio

from fastrag._support.per_loop import PerLoop


class Recorder:
    def __init__(self):
        self.made = []
        self.ended = []
        self.things = PerLoop(self.make, self.end)

    def make(self):
        self.made.append((asyncio.get_running_loop(), object()))
        return self.made[-1]

    async def end(self, thing):
        assert thing[0] is asyncio.get_running_loop()
        self.ended.append(thing)


def test_each_loop_has_one_of_its_own_that_ends_with_it():
    recorder = Recorder()

    async def twice():
        one, other = await asyncio.gather(recorder.things.get(), recorder.things.get())
        assert one is other
        assert one[0] is asyncio.get_running_loop()
        assert recorder.ended == recorder.made[:-1]

    asyncio.run(twice())
    assert recorder.ended == recorder.made
    asyncio.run(twice())
    assert len(recorder.made) == 2
    assert recorder.ended == recorder.made


async def test_what_was_closed_is_made_again():
    recorder = Recorder()
    await recorder.things.close()
    one = await recorder.things.get()
    await recorder.things.close()
    await recorder.things.close()
    assert recorder.ended == [one]
    assert await recorder.things.get() is not one
