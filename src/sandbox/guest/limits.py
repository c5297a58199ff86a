"""What the first process, and each command, is bound by."""
import ctypes
import os
import resource
import signal

PR_SET_DUMPABLE = 4
PR_SET_NAME = 15
# Below every command, so that it still gets its turn beside a thousand of them.
NICE = 5
# The first to go where the kernel runs out of memory.
OOM_SCORE = b"500"

libc = ctypes.CDLL(None)


def harden(limits):
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    # By which a list of processes shows it, and not as one of the task's Pythons.
    libc.prctl(PR_SET_NAME, b"machine", 0, 0, 0)
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


def settle(limits):
    """In the new process. It may say so of itself only while it is dumpable, as its program will be again."""
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
