"""The first process of a task's machine: runs commands and moves files as the pipe on stdin asks, one thread.

A frame is two lengths, a JSON object and raw bytes; each request gets its replies under its id. Being the first process
of its namespace no signal from inside ends it, and being not dumpable nobody in the machine reads its memory.
"""
import ctypes
import errno
import json
import os
import resource
import selectors
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time

LENGTHS = struct.Struct(">II")
CHUNK = 2 ** 20
PR_SET_DUMPABLE = 4
READY = 5
# Below every command, so that it still gets its turn beside a thousand of them.
NICE = 5
# The first to go where the kernel runs out of memory.
OOM_SCORE = b"500"


class Command:
    def __init__(self, ident, process, deadline, most):
        self.id = ident
        self.process = process
        self.deadline = deadline
        self.timed_out = False
        self.exit_code = None
        self.note = b""
        self.outputs = [Output(process.stdout, most), Output(process.stderr, most)]


class Output:
    """The first bytes of what is printed. What a daemon prints after its command has ended is read and dropped."""

    def __init__(self, stream, most):
        self.stream = stream
        self.most = most
        self.kept = bytearray()
        self.dropped = 0
        os.set_blocking(stream.fileno(), False)

    def read(self):
        """False at the end of the stream, None where nothing is there yet."""
        try:
            data = os.read(self.stream.fileno(), CHUNK)
        except BlockingIOError:
            return None
        room = max(0, self.most - len(self.kept))
        self.kept += data[:room]
        self.dropped += len(data) - len(data[:room])
        return len(data) > 0

    def text(self):
        if not self.dropped:
            return bytes(self.kept)
        total = len(self.kept) + self.dropped
        return bytes(self.kept) + b"\n[cut after %d of %d bytes]\n" % (len(self.kept), total)


class Guest:
    def __init__(self, limits):
        self.limits = limits
        self.commands = {}
        self.files = {}
        self.received = bytearray()
        self.selector = selectors.DefaultSelector()
        self.selector.register(0, selectors.EVENT_READ, self.receive)
        woken, wake = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.selector.register(woken, selectors.EVENT_READ, lambda: os.read(woken, CHUNK))
        self.requests = {
            "run": self.run,
            "stop": self.stop,
            "end_all": self.end_all,
            "folder": self.make_folder,
            "create": self.create_file,
            "data": self.write_data,
            "finish": self.finish_file,
            "fetch": self.fetch,
        }

    def serve(self):
        while True:
            for key, _ in self.selector.select(self.time_left()):
                key.data()
            self.reap()
            self.end_late()

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

    # Commands

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
                note = b"[The machine was full of processes: all of them were ended.]\n"
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
            preexec_fn=self.settle,
        )

    def settle(self):
        """In the new process. It may say so of itself only while it is dumpable, as its program will be again."""
        libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
        try:
            score = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
            os.write(score, OOM_SCORE)
            os.close(score)
        except OSError:
            pass
        os.nice(NICE)
        bind("RLIMIT_AS", self.limits["address_bytes"])

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
            # What it had printed is in the pipe; what others go on printing into it has no end.
            for _ in range(16):
                if output.stream.closed or not output.read():
                    break
        stdout, stderr = [output.text() for output in command.outputs]
        exit_code = None if command.timed_out else 128 - code if code < 0 else code
        self.reply(command.id, exit_code=exit_code, stdout=len(stdout), body=stdout + command.note + stderr)
        for output in command.outputs:
            output.most = 0
            output.kept.clear()

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
        """The kernel leaves out who asks, and lets nobody fork meanwhile."""
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

    # Files

    def make_folder(self, request, _):
        path = request["path"]
        if request["replace"] and not os.path.ismount(path):
            remove(path)
        os.makedirs(path, exist_ok=True)
        self.reply(request["id"])

    def create_file(self, request, _):
        path = request["path"]
        os.makedirs(os.path.dirname(path), exist_ok=True)
        remove(path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(path, flags, request["mode"])
        self.files[request["id"]] = file
        self.reply(request["id"])

    def write_data(self, request, content):
        left = memoryview(content)
        file = self.files[request["file"]]
        try:
            while left:
                left = left[os.write(file, left):]
        except OSError:
            os.close(self.files.pop(request["file"]))
            raise
        self.reply(request["id"])

    def finish_file(self, request, _):
        os.close(self.files.pop(request["file"]))
        self.reply(request["id"])

    def fetch(self, request, _):
        """A regular file to which no link leads, else size null."""
        file = open_without_links(request["path"])
        if file is None:
            return self.reply(request["id"], size=None, last=True)
        try:
            size = os.fstat(file).st_size
            if size > request["most"]:
                return self.reply(request["id"], size=size, last=True)
            left = size
            while left > 0:
                data = os.read(file, min(left, CHUNK))
                if not data:
                    break
                left -= len(data)
                self.reply(request["id"], size=size, last=False, body=data)
            self.reply(request["id"], size=size, last=True)
        finally:
            os.close(file)


def open_without_links(path):
    names = [name for name in path.split("/") if name]
    folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in names[:-1]:
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = below
        # Without O_NONBLOCK, opening a pipe without a writer would block for ever.
        file = os.open(names[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ENOMEM, errno.EMFILE, errno.ENFILE):
            raise
        return None
    finally:
        os.close(folder)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    return None


def remove(path):
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path)
        else:
            os.remove(path)
    except FileNotFoundError:
        pass


def kill_group(command):
    try:
        os.killpg(command.process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def describe(error):
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def bind(name, value):
    kind = getattr(resource, name)
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def harden(limits):
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    # A handler would make the first process hear a signal that it is otherwise spared.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    os.umask(0o022)
    bind("RLIMIT_NPROC", limits["processes"])
    bind("RLIMIT_FSIZE", limits["file_bytes"])
    bind("RLIMIT_NOFILE", limits["open_files"])
    bind("RLIMIT_MEMLOCK", 65536)
    # One byte, not none: at 0 the kernel would still start a program that takes core dumps, outside.
    bind("RLIMIT_CORE", 1)


libc = ctypes.CDLL(None)
harden(json.loads(sys.argv[1]))
os.write(READY, b"1")
os.closerange(3, 64)
try:
    Guest(json.loads(sys.argv[1])).serve()
except BrokenPipeError:
    pass
