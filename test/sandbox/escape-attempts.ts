/** Attempts to get out of the sandbox, each with its code and its expected failure. */

/** Things on the host that an attempt aims at. */
export interface Targets {
  readonly secretFile: string;
  readonly database: string;
  readonly otherWorkspace: string;
  readonly home: string;
  readonly port: number;
  readonly udpPort: number;
  readonly socketPath: string;
  readonly abstractName: string;
  readonly pid: number;
  readonly victim: number;
}

export interface Attempt {
  readonly name: string;
  /** Body of a Python function. It has escaped if it returns. */
  readonly body: (targets: Targets) => string;
  /** The expected refusal: the exception's name and errno. */
  readonly refused: RegExp;
}

const GONE = /FileNotFoundError/;
const REFUSED = /PermissionError|OSError 1\b|OSError 38\b/;
const UNREACHABLE = /ConnectionRefusedError|OSError 101\b|gaierror|FileNotFoundError/;
const NO_NETWORK = /OSError 101\b/;

/** Calls a system call with its number on x64 and on arm64. Raises OSError if it fails. */
const SYSCALL = `
import ctypes, platform
libc = ctypes.CDLL(None, use_errno=True)
def syscall(x64, arm64, *args):
    number = arm64 if platform.machine() == "aarch64" else x64
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if result < 0: raise OSError(ctypes.get_errno(), "syscall")
    return result
`;

const call = (name: string, line: string): Attempt => ({
  name: `the system call ${name}`,
  body: () => `${SYSCALL}return ${line}`,
  refused: /(PermissionError|OSError) (1|38)\b/,
});

const read = (name: string, path: (targets: Targets) => string): Attempt => ({
  name: `reading ${name}`,
  body: (targets) => `return open(${JSON.stringify(path(targets))}, "rb").read(10)`,
  refused: GONE,
});

const FILES: readonly Attempt[] = [
  read("/etc/passwd", () => "/etc/passwd"),
  read("/etc/shadow", () => "/etc/shadow"),
  read("/etc/resolv.conf", () => "/etc/resolv.conf"),
  read("the host's time zone", () => "/etc/localtime"),
  read("a file of the host", ({ secretFile }) => secretFile),
  read("the database", ({ database }) => database),
  read("a file in another task's workspace", ({ otherWorkspace }) => `${otherWorkspace}/secret.txt`),
  read("the environment of the program that started it", ({ pid }) => `/proc/${pid}/environ`),
  read("its own environment through /proc", () => "/proc/self/environ"),
  read("the host's files through /proc/1/root", () => "/proc/1/root/etc/passwd"),
  read("the kernel's memory", () => "/dev/mem"),
  read("a disk", () => "/dev/sda"),
  read("another disk", () => "/dev/vda"),
  read("/sys", () => "/sys/kernel/hostname"),
  read("the machine's id", () => "/etc/machine-id"),
  read("Docker's socket", () => "/var/run/docker.sock"),
  {
    name: "listing the home folder",
    body: ({ home }) => `import os\nreturn os.listdir(${JSON.stringify(home)})`,
    refused: GONE,
  },
  {
    name: "listing the processes",
    body: () => "import os\nreturn os.listdir('/proc')",
    refused: GONE,
  },
  {
    name: "climbing out with ..",
    body: () => "return open('/workspace/../../../../../etc/passwd').read(10)",
    refused: GONE,
  },
  {
    name: "following a symbolic link out",
    body: ({ secretFile }) =>
      `import os\nos.symlink(${JSON.stringify(secretFile)}, "link-out")\nreturn open("link-out").read()`,
    refused: GONE,
  },
  {
    name: "hard-linking a file of the host",
    body: () => "import os\nos.link('/usr/bin/python3.11', 'python')\nreturn 1",
    refused: /FileNotFoundError|OSError 18\b|PermissionError/,
  },
  ...["/", "/usr/lib", "/dev", "/dev/shm", "/etc", "/home", "/root", "/var/tmp"].map(
    (folder): Attempt => ({
      name: `writing into ${folder}`,
      body: () => `open("${folder}/art-e-was-here", "w").write("x")\nreturn 1`,
      refused: /FileNotFoundError|OSError 30\b|PermissionError/,
    }),
  ),
  {
    name: "changing the interpreter itself",
    body: () => "import sys\nopen(sys.executable, 'r+b').write(b'x')\nreturn 1",
    refused: /OSError (30|26)\b|PermissionError/,
  },
  {
    name: "changing the standard library",
    body: () => "import json\nopen(json.__file__, 'a').write('#')\nreturn 1",
    refused: /OSError 30\b|PermissionError/,
  },
  {
    name: "making a device",
    body: () => "import os, stat\nos.mknod('disk', 0o600 | stat.S_IFBLK, os.makedev(8, 0))\nreturn 1",
    refused: REFUSED,
  },
  {
    name: "importing the host's own packages",
    body: () => `import glob, sys
for folder in ["/usr/lib/python3/dist-packages", *glob.glob("/usr/*lib/python3*/*-packages"), *glob.glob("/usr/local/lib/python3*/*-packages")]:
    sys.path.append(folder)
import pip, setuptools
return pip.__file__`,
    refused: /ModuleNotFoundError/,
  },
];

const NETWORK: readonly Attempt[] = [
  {
    name: "TCP to the host's loopback",
    body: ({ port }) => `import socket\nsocket.create_connection(("127.0.0.1", ${port}), 2).send(b"x")\nreturn 1`,
    refused: UNREACHABLE,
  },
  {
    name: "TCP to the host's loopback over IPv6",
    body: ({ port }) => `import socket\nsocket.create_connection(("::1", ${port}), 2).send(b"x")\nreturn 1`,
    refused: NO_NETWORK,
  },
  {
    name: "TCP to the world",
    body: () => "import socket\nsocket.create_connection(('1.1.1.1', 53), 2)\nreturn 1",
    refused: UNREACHABLE,
  },
  {
    name: "calling the cloud's metadata server",
    body: () => "import urllib.request\nreturn urllib.request.urlopen('http://169.254.169.254/', timeout=2).read(10)",
    refused: /URLError/,
  },
  {
    name: "looking up a name",
    body: () => "import socket\nreturn socket.getaddrinfo('example.com', 80)",
    refused: UNREACHABLE,
  },
  {
    name: "UDP to the world",
    body: () => "import socket\nreturn socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('8.8.8.8', 53))",
    refused: UNREACHABLE,
  },
  {
    name: "a unix socket of the host",
    body: ({ socketPath }) =>
      `import socket\nsocket.socket(socket.AF_UNIX).connect(${JSON.stringify(socketPath)})\nreturn 1`,
    refused: UNREACHABLE,
  },
  {
    name: "an abstract unix socket of the host",
    body: ({ abstractName }) =>
      `import socket\nsocket.socket(socket.AF_UNIX).connect("\\0" + ${JSON.stringify(abstractName)})\nreturn 1`,
    refused: UNREACHABLE,
  },
  ...[
    ["raw", "socket.AF_INET, socket.SOCK_RAW, 1", NO_NETWORK],
    ["local UDP", "socket.AF_INET, socket.SOCK_DGRAM", NO_NETWORK],
    ["packet", "17, socket.SOCK_RAW", /OSError 97\b/],
    ["netlink", "16, socket.SOCK_RAW", /OSError 97\b/],
    ["VSOCK", "40, socket.SOCK_STREAM", /OSError 97\b/],
    ["kernel crypto", "38, socket.SOCK_SEQPACKET", /OSError 97\b/],
  ].map(
    ([name, args, refused]): Attempt => ({
      name: `a ${name} socket`,
      body: () => `import socket\nsocket.socket(${args})\nreturn 1`,
      refused: refused as RegExp,
    }),
  ),
];

const PROCESSES: readonly Attempt[] = [
  {
    name: "killing the program that started it",
    body: ({ pid }) => `import os\nos.kill(${pid}, 9)\nreturn 1`,
    refused: /ProcessLookupError/,
  },
  {
    name: "killing a process of its own user on the host",
    body: ({ victim }) => `import os\nos.kill(${victim}, 9)\nreturn 1`,
    refused: /ProcessLookupError/,
  },
  {
    name: "becoming root",
    body: () => "import os\nos.setuid(0)\nreturn os.getuid()",
    refused: /PermissionError|OSError 22\b/,
  },
  {
    name: "sudo",
    body: () => "import subprocess\nreturn subprocess.run(['sudo', '-n', 'id'], check=True)",
    refused: GONE,
  },
  {
    name: "a setuid program of the host",
    body: () => "import subprocess\nreturn subprocess.run(['/usr/bin/su', '-c', 'id'], check=True)",
    refused: GONE,
  },
  {
    name: "making a setuid program",
    body: () => `import os, shutil, subprocess, sys
shutil.copy(sys.executable, "mine")
os.chown("mine", 0, 0)
os.chmod("mine", 0o4755)
return 1`,
    refused: /PermissionError|OSError 22\b/,
  },
  {
    name: "a shell",
    body: () => "import subprocess\nreturn subprocess.run('id', shell=True, check=True)",
    refused: GONE,
  },
  ...["RLIMIT_AS", "RLIMIT_NPROC", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_CPU"].map(
    (limit): Attempt => ({
      name: `raising ${limit}`,
      body: () =>
        `import resource\nresource.setrlimit(resource.${limit}, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\nreturn 1`,
      refused: /ValueError|PermissionError/,
    }),
  ),
  {
    name: "being nicer to itself than to others",
    body: () => "import os\nos.setpriority(os.PRIO_PROCESS, 0, -10)\nreturn 1",
    refused: /PermissionError/,
  },
  {
    name: "triggering SysRq through /proc/sysrq-trigger",
    body: () => "open('/proc/sysrq-trigger', 'w').write('h')\nreturn 1",
    refused: GONE,
  },
  {
    name: "typing into a terminal",
    body: () => `import fcntl
fcntl.ioctl(0, 0x5412, b"x")
return 1`,
    refused: /PermissionError/,
  },
  {
    name: "opening the terminal",
    body: () => "return open('/dev/tty').read(1)",
    refused: GONE,
  },
  {
    name: "a memory file that no limit counts",
    body: () => "import os\nreturn os.memfd_create('x')",
    refused: REFUSED,
  },
];

const CALLS: readonly Attempt[] = [
  call("unshare, for a new user namespace", "syscall(272, 97, 0x10000000)"),
  call("clone, for a new user namespace", "syscall(56, 220, 0x10000000 | 17, 0, 0, 0, 0)"),
  call("setns", "syscall(308, 268, 0, 0)"),
  call("mount", "syscall(165, 40, b'none', b'/tmp', b'tmpfs', 0, None)"),
  call("umount2", "syscall(166, 39, b'/workspace', 2)"),
  call("pivot_root", "syscall(155, 41, b'/tmp', b'/tmp')"),
  call("chroot", "syscall(161, 51, b'/tmp')"),
  call("open_tree", "syscall(428, 428, -100, b'/', 1)"),
  call("ptrace", "syscall(101, 117, 0, 0, 0, 0)"),
  call("process_vm_readv", "syscall(310, 270, 1, None, 0, None, 0, 0)"),
  call("keyctl", "syscall(250, 219, 0, -3, 1)"),
  call("bpf", "syscall(321, 280, 0, None, 0)"),
  call("perf_event_open", "syscall(298, 241, None, 0, -1, -1, 0)"),
  call("io_uring_setup", "syscall(425, 425, 8, None)"),
  call("userfaultfd", "syscall(323, 282, 0)"),
  call("shmget", "syscall(29, 194, 0, 4096, 0o1600)"),
  call("init_module", "syscall(175, 105, None, 0, b'')"),
  call("kexec_load", "syscall(246, 104, 0, 0, None, 0)"),
  call("reboot", "syscall(169, 142, 0xfee1dead, 672274793, 0x1234567, None)"),
  call("settimeofday", "syscall(164, 170, None, None)"),
  call("syslog", "syscall(103, 116, 3, None, 0)"),
  call("open_by_handle_at", "syscall(304, 265, -100, None, 0)"),
  call("statmount", "syscall(457, 457, None, None, 0, 0)"),
  call("listmount", "syscall(458, 458, None, None, 0, 0)"),
  call("open_tree_attr", "syscall(467, 467, -100, b'/', 1, None, 0)"),
];

/** Ways to hold memory that no process limit counts. */
const RESOURCES: readonly Attempt[] = [
  ...[
    ["beyond the end of a file without a name", 1],
    ["by a hole in it", 3],
    ["by inserting a range", 0x20],
  ].map(
    ([name, mode]): Attempt => ({
      name: `room on the disk ${name}`,
      body: () => `${SYSCALL}
import os
file = open("big", "wb")
file.write(b"x" * 8192)
file.flush()
os.unlink("big")
return syscall(285, 47, file.fileno(), ${mode}, 0, 2 ** 33 if ${mode} == 1 else 4096)`,
      refused: /OSError 95\b/,
    }),
  ),
  {
    name: "disk space for as many bytes as the maximum file size",
    body: () => "import os\nfile = open('big', 'wb')\nos.posix_fallocate(file.fileno(), 0, 2 ** 33)\nreturn 1",
    refused: /OSError 27\b/,
  },
  {
    name: "shared memory that stays after it is freed",
    body: () => `import mmap
held = []
while len(held) < 100:
    held.append(mmap.mmap(-1, 2 ** 24))
    held[-1].write(b"x" * 2 ** 24)
    held[-1].madvise(mmap.MADV_DONTNEED)
return len(held)`,
    refused: /PermissionError/,
  },
  {
    name: "shared memory of /dev/zero",
    body: () => "import mmap\nfile = open('/dev/zero', 'r+b', 0)\nreturn len(mmap.mmap(file.fileno(), 2 ** 24))",
    refused: GONE,
  },
  ...["SO_SNDBUF", "SO_RCVBUF"].map(
    (option): Attempt => ({
      name: `a larger buffer for a socket by ${option}`,
      body: () =>
        `import socket\nsocket.socketpair()[0].setsockopt(socket.SOL_SOCKET, socket.${option}, 2 ** 22)\nreturn 1`,
      refused: /PermissionError/,
    }),
  ),
];

export const ATTEMPTS: readonly Attempt[] = [...FILES, ...NETWORK, ...PROCESSES, ...CALLS, ...RESOURCES];

/** Number of attempts per program, because starting Python takes longer than most attempts. */
const BATCH = 5;

const BATCHES = Array.from({ length: Math.ceil(ATTEMPTS.length / BATCH) }, (_, i) =>
  ATTEMPTS.slice(i * BATCH, (i + 1) * BATCH),
);

const END = "end of an attempt";

/** Makes each attempt in its own process. Prints `refused` and the reason, or that the attempt got out. */
function program(attempts: readonly Attempt[], targets: Targets): string {
  const functions = attempts.map(({ body }, i) => {
    const lines = body(targets).trim().split("\n");
    return `def attempt${i}():\n${lines.map((line) => `    ${line}`).join("\n")}\n`;
  });
  return `import os
${functions.join("")}
for attempt in [${attempts.map((_, i) => `attempt${i}`)}]:
    child = os.fork()
    if child == 0:
        try:
            got = attempt()
        except BaseException as error:
            print("refused:", type(error).__name__, getattr(error, "errno", ""), flush=True)
        else:
            print("ESCAPED", got, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print("${END}", flush=True)
`;
}

/** Returns a function that makes an attempt, and others with it, once, and returns the attempt's output. */
export function batchAttempts(
  runPython: (code: string) => Promise<{ readonly stdout: string }>,
  targets: () => Targets,
): (attempt: Attempt) => Promise<string> {
  const runs = new Map<readonly Attempt[], Promise<readonly string[]>>();
  return async (attempt) => {
    const batch = BATCHES.find((attempts) => attempts.includes(attempt)) ?? [];
    const run = runs.get(batch) ?? runPython(program(batch, targets())).then(({ stdout }) => stdout.split(`${END}\n`));
    runs.set(batch, run);
    return (await run)[batch.indexOf(attempt)] ?? "";
  };
}
