"""A network that can be cut and slowed: it passes on what comes, in a process of its own.

python -m tests.chaos.wire PORT HOST:PORT
"""

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from subprocess import Popen

from tests.support.programs import ROOT, accepts, free_port, running

DELAY_SECONDS = 0.1


class Wire:
    """Where the wire is reached, and what can be done to it."""

    def __init__(self, port: int, process: Popen[bytes]) -> None:
        self.port, self.process = port, process

    def cut(self) -> None:
        """Pass nothing on. As on a network, nobody learns of it."""
        self.process.send_signal(signal.SIGSTOP)

    def mend(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def slow(self) -> None:
        """Delay all that is passed on, from now on or until now."""
        self.process.send_signal(signal.SIGUSR1)


@contextmanager
def wire(address: str) -> Iterator[Wire]:
    """Run a wire that leads to this address."""
    port = free_port()
    command = [sys.executable, "-m", "tests.chaos.wire", port, address]
    with running(command, lambda: accepts(port), cwd=ROOT) as process:
        there = Wire(port, process)
        try:
            yield there
        finally:
            there.mend()


async def pass_on(port: int, host: str, target: int) -> None:
    delay = 0.0

    def change() -> None:
        nonlocal delay
        delay = 0.0 if delay else DELAY_SECONDS

    async def one_way(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                await asyncio.sleep(delay)
                writer.write(data)
                await writer.drain()
        writer.close()

    async def both_ways(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(host, target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(one_way(reader, back), one_way(there, writer))

    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, change)
    async with await asyncio.start_server(both_ways, "127.0.0.1", port) as server:
        await server.serve_forever()


if __name__ == "__main__":
    name, _, number = sys.argv[2].partition(":")
    asyncio.run(pass_on(int(sys.argv[1]), name, int(number)))
