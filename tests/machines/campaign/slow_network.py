"""A network that can be cut and slowed: it passes on what comes, in a process of its own.

python -m tests.machines.campaign.slow_network PORT HOST:PORT

While it is stopped (SIGSTOP), it passes nothing on, and nobody learns of it. SIGUSR1 delays all
that is passed on from now on, or no longer.
"""

import asyncio
import signal
import sys
from contextlib import suppress

DELAY_SECONDS = 0.1


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
