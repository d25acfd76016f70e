"""proxy - between one worker and its servers: cuts, holds, slows, reorders what they say.

    with Proxies() as proxies:
        proxy = proxies.add(["127.0.0.1:6379"])
        proxy.addresses      in place of these
        proxy.fail("cut")    until proxy.heal()

All proxies live in one thread, which ends with the `with`.
"""
import asyncio
import random
import socket
import threading

WAYS = {  # what each fault does
    "cut": "connections break, and new ones as soon as they are made",
    "hole": "nothing passes, and nothing breaks; what was held back passes afterwards",
    "hole-up": "the same, only from the client to the server",
    "hole-down": "the same, only from the server to the client",
    "overtaken": "nothing passes on one connection, and all that the others carry overtakes it",
    "slow": "every piece takes 50 ms longer",
    "lost-answers": "the server gets every request, and its answers break the connection",
}


class Proxy:
    def __init__(self, loop, targets):
        self.loop, self.way, self.links = loop, None, set()
        self.overtaken = ()  # (end, end) of that connection
        self.changed = asyncio.Event()
        self.listeners, self.addresses = [], []
        for target in targets:
            listener = socket.create_server(("127.0.0.1", 0), backlog=64)
            host, port = target.rsplit(":", 1)
            self.addresses.append(f"127.0.0.1:{listener.getsockname()[1]}")
            made = asyncio.run_coroutine_threadsafe(asyncio.start_server(
                lambda reader, writer, host=host, port=port: self.serve(reader, writer, host, port),
                sock=listener), loop)
            self.listeners.append(made.result(5))

    def fail(self, way):
        self.loop.call_soon_threadsafe(self._change, way)

    def heal(self):
        self.loop.call_soon_threadsafe(self._change, None)

    def cut(self):
        """Its connections break; new ones do not."""
        self.loop.call_soon_threadsafe(self._cut)

    def _change(self, way):
        self.way = way
        self.changed.set()
        self.changed = asyncio.Event()
        if way == "cut":
            self._cut()
        if way == "overtaken":
            self.overtaken = random.choice([*self.links] or [()])

    def _cut(self):
        for link in self.links:
            for end in link:
                end.transport.abort()

    async def serve(self, reader, writer, host, port):
        far, tasks = None, []
        try:
            if self.way == "cut":
                return
            far_reader, far = await asyncio.open_connection(host, int(port))
            self.links.add((writer, far))
            tasks = [asyncio.ensure_future(self.carry(reader, far, "up")),
                     asyncio.ensure_future(self.carry(far_reader, writer, "down"))]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        except (OSError, asyncio.CancelledError):
            pass  # canceled: this is the end of all proxies
        finally:
            for task in tasks:
                task.cancel()  # it may wait for the end of a hole
            self.links.discard((writer, far))
            for end in (writer, far):
                if end is not None:
                    end.transport.abort()

    async def carry(self, reader, writer, direction):
        try:
            while data := await reader.read(65536):
                while self.way in ("hole", f"hole-{direction}") or (
                        self.way == "overtaken" and writer in self.overtaken):
                    await self.changed.wait()
                if self.way == "slow":
                    await asyncio.sleep(0.05)
                if self.way == "lost-answers" and direction == "down":
                    return
                writer.write(data)
                await writer.drain()
        except OSError:
            pass


class Proxies:
    def __enter__(self):
        self.loop, self.made = asyncio.new_event_loop(), []
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        return self

    def add(self, targets):
        self.made.append(Proxy(self.loop, targets))
        return self.made[-1]

    def cut(self):
        """Every connection at once."""
        for made in self.made:
            made.cut()

    def __exit__(self, *_):
        asyncio.run_coroutine_threadsafe(self._end(), self.loop).result(5)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    async def _end(self):
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
