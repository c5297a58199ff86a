"""Limits of the first process and of each command."""
import ctypes
import os
import resource
import signal

PR_SET_DUMPABLE = 4
PR_SET_NAME = 15
# Lower priority for commands, so that the first process still runs next to a thousand of them.
NICE = 5
# Commands are the first to be killed when memory runs out.
OOM_SCORE = b"500"

libc = ctypes.CDLL(None)


def harden(limits):
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    # Name in process lists, to tell this process apart from the task's own Python processes.
    libc.prctl(PR_SET_NAME, b"machine", 0, 0, 0)
    # Without a handler, the kernel does not deliver these signals to the first process.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    os.umask(0o022)
    bind("RLIMIT_NPROC", limits["processes"])
    bind("RLIMIT_FSIZE", limits["file_bytes"])
    bind("RLIMIT_NOFILE", limits["open_files"])
    bind("RLIMIT_MEMLOCK", 65536)
    # One byte, because with 0 the kernel would still start a core dump handler outside of the machine.
    bind("RLIMIT_CORE", 1)


def settle(limits):
    """Runs in the new process, which can write its own score only while dumpable. Its program is dumpable anyway."""
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    try:
        score = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(score, OOM_SCORE)
        os.close(score)
    except OSError:
        pass
    os.nice(NICE)
    bind("RLIMIT_AS", limits["address_bytes"])


def bind(name, value):
    kind = getattr(resource, name)
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def describe(error):
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)
