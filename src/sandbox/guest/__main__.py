"""The first process of a task's machine: runs commands and copies files, as requested on stdin, in a single thread.

A frame consists of two lengths, a JSON object and raw bytes. Replies to a request have the request's id. No signal from
inside the machine can end this process, because it is the first one in its namespace, and no program in the machine can
read its memory, because it is not dumpable.
"""
import json
import os
import selectors
import signal
import struct
import subprocess
import sys

from commands import Commands
from files import Files
from limits import describe, harden

LENGTHS = struct.Struct(">II")
CHUNK = 2 ** 20
READY = 5


class Guest:
    def __init__(self, limits):
        self.received = bytearray()
        self.selector = selectors.DefaultSelector()
        self.selector.register(0, selectors.EVENT_READ, self.receive)
        self.wake_on_children()
        self.commands = Commands(limits, self.selector, self.reply)
        files = Files(self.reply)
        self.requests = {
            "run": self.commands.run,
            "stop": self.commands.stop,
            "end_all": self.commands.end_all,
            "folder": files.make_folder,
            "create": files.create_file,
            "data": files.write_data,
            "finish": files.finish_file,
            "fetch": files.fetch,
        }

    def wake_on_children(self):
        woken, wake = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.selector.register(woken, selectors.EVENT_READ, lambda: os.read(woken, CHUNK))

    def serve(self):
        while True:
            for key, _ in self.selector.select(self.commands.time_left()):
                key.data()
            self.commands.reap()
            self.commands.end_late()

    def receive(self):
        data = os.read(0, CHUNK)
        if not data:
            sys.exit(0)
        self.received += data
        while len(self.received) >= LENGTHS.size:
            head, body = LENGTHS.unpack_from(self.received)
            end = LENGTHS.size + head + body
            if len(self.received) < end:
                return
            request = json.loads(self.received[LENGTHS.size:LENGTHS.size + head])
            content = bytes(self.received[LENGTHS.size + head:end])
            del self.received[:end]
            try:
                self.requests[request["op"]](request, content)
            except (OSError, ValueError, RecursionError, subprocess.SubprocessError) as error:
                self.reply(request["id"], error=describe(error))

    def reply(self, ident, body=b"", **values):
        head = json.dumps({"id": ident, **values}).encode()
        left = memoryview(LENGTHS.pack(len(head), len(body)) + head + body)
        while left:
            left = left[os.write(1, left):]


bounds = json.loads(sys.argv[1])
harden(bounds)
try:
    os.write(READY, b"1")
except OSError:
    # In a container, this descriptor does not exist.
    pass
os.closerange(3, 64)
try:
    Guest(bounds).serve()
except BrokenPipeError:
    pass
