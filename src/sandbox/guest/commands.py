"""Commands that run in the machine, each in its own process group."""
import errno
import os
import selectors
import signal
import subprocess
import time

from limits import describe, settle

CHUNK = 2 ** 20


class Command:
    def __init__(self, ident, process, deadline, most):
        self.id = ident
        self.process = process
        self.deadline = deadline
        self.timed_out = False
        self.note = b""
        self.outputs = [Output(process.stdout, most), Output(process.stderr, most)]


class Output:
    """The start and the end of a command's output. Output of a daemon after its command has ended is dropped."""

    def __init__(self, stream, most):
        self.stream = stream
        self.half = most // 2
        self.head = bytearray()
        self.tail = bytearray()
        self.total = 0
        os.set_blocking(stream.fileno(), False)

    def read(self):
        """Returns False at the end of the stream, and None if no data is available yet."""
        try:
            data = os.read(self.stream.fileno(), CHUNK)
        except BlockingIOError:
            return None
        self.total += len(data)
        room = max(0, self.half - len(self.head))
        self.head += data[:room]
        self.tail += data[room:]
        # Not at every read, because it moves bytes.
        if len(self.tail) > 2 * self.half:
            self.keep_end()
        return len(data) > 0

    def keep_end(self):
        del self.tail[:max(0, len(self.tail) - self.half)]

    def text(self):
        self.keep_end()
        left_out = self.total - len(self.head) - len(self.tail)
        between = b"\n[%d of %d bytes omitted]\n" % (left_out, self.total) if left_out else b""
        return bytes(self.head) + between + bytes(self.tail)

    def drop(self):
        self.half = 0
        self.head.clear()
        self.tail.clear()


class Commands:
    def __init__(self, limits, selector, reply):
        self.limits = limits
        self.selector = selector
        self.reply = reply
        self.commands = {}

    def run(self, request, _):
        note = b""
        for attempt in range(3):
            try:
                process = self.start(request)
                break
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.ENOMEM) or attempt == 2:
                    code = 127 if isinstance(error, (FileNotFoundError, NotADirectoryError)) else 126
                    return self.reply(request["id"], describe(error).encode(), exit_code=code, stdout=0)
                note = b"[The machine reached its process limit: all processes were killed.]\n"
                self.kill_all(note)
        deadline = time.monotonic() + request["timeout_ms"] / 1000
        command = Command(request["id"], process, deadline, self.limits["output_bytes"])
        command.note = note
        self.commands[process.pid] = command
        for output in command.outputs:
            self.watch(output)

    def start(self, request):
        return subprocess.Popen(
            request["argv"],
            cwd=request["cwd"],
            env=request["env"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            preexec_fn=lambda: settle(self.limits),
        )

    def watch(self, output):
        def read():
            if output.read() is False:
                self.selector.unregister(output.stream)
                output.stream.close()

        self.selector.register(output.stream, selectors.EVENT_READ, read)

    def reap(self):
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            command = self.commands.pop(pid, None)
            if command is not None:
                self.finish(command, os.waitstatus_to_exitcode(status))

    def finish(self, command, code):
        command.process.returncode = code
        for output in command.outputs:
            # Read the data that is already in the pipe. Daemons can continue to print into it without end.
            for _ in range(16):
                if output.stream.closed or not output.read():
                    break
        stdout, stderr = [output.text() for output in command.outputs]
        exit_code = None if command.timed_out else 128 - code if code < 0 else code
        self.reply(command.id, exit_code=exit_code, stdout=len(stdout), body=stdout + command.note + stderr)
        for output in command.outputs:
            output.drop()

    def time_left(self):
        if not self.commands:
            return None
        return max(0, min(command.deadline for command in self.commands.values()) - time.monotonic())

    def end_late(self):
        for command in list(self.commands.values()):
            if time.monotonic() >= command.deadline:
                command.timed_out = True
                command.deadline = time.monotonic() + 1
                kill_group(command)

    def stop(self, request, _):
        for command in list(self.commands.values()):
            if command.id == request["command"]:
                command.timed_out = True
                kill_group(command)
        self.reply(request["id"])

    def end_all(self, request, _):
        self.kill_all(("[" + request["why"] + "]\n").encode())
        self.reply(request["id"])

    def kill_all(self, note):
        """Kills all processes in one call. The kernel spares the caller and prevents forks in the meantime."""
        for command in self.commands.values():
            command.note = note
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            return
        until = time.monotonic() + 5
        while time.monotonic() < until:
            self.reap()
            try:
                os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            time.sleep(0.002)


def kill_group(command):
    try:
        os.killpg(command.process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
