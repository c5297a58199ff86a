import { PYTHON_LIMITS, WORKSPACE_LIMITS } from "./sandbox-limits.js";

/** Not in the namespace of the user's code, and none of its tracebacks shows it. */
const PREAMBLE = `
import sys
def start(limits, strict, ready):
    import linecache, os, resource, traceback, types
    if ready is not None:
        os.write(ready, b"1")
        os.close(ready)
    source = sys.stdin.buffer.read().decode("utf-8", "replace")
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    for name, value in limits:
        try:
            kind = getattr(resource, name)
            hard = resource.getrlimit(kind)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (value, value))
        except (AttributeError, ValueError, OSError):
            if strict:
                raise
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
    linecache.cache["main.py"] = (len(source), None, source.splitlines(True), "main.py")
    def report(kind, error, trace):
        while trace and trace.tb_frame.f_code.co_filename == "<string>":
            trace = trace.tb_next
        traceback.print_exception(kind, error, trace)
    sys.excepthook = report
    sys.path.insert(0, os.getcwd())
    sys.argv = ["main.py"]
    main = types.ModuleType("__main__")
    main.__builtins__ = __builtins__
    sys.modules["__main__"] = main
    return compile(source, "main.py", "exec", dont_inherit=True), main.__dict__
`;

/**
 * The program that `python3 -c` is given: it binds itself by the kernel's limits, which its children inherit and
 * which it cannot raise again, and then becomes the source it reads from stdin. With `strict` it does not start where
 * a limit cannot be set; on the descriptor `ready` it says that it is about to read.
 */
export function pythonPreamble({ strict, ready }: { strict: boolean; ready: number | null }): string {
  const limits: [string, number][] = [
    ["RLIMIT_AS", PYTHON_LIMITS.memoryBytes],
    ["RLIMIT_CPU", PYTHON_LIMITS.cpuSeconds],
    ["RLIMIT_FSIZE", WORKSPACE_LIMITS.fileBytes],
    ["RLIMIT_NOFILE", PYTHON_LIMITS.openFiles],
    ["RLIMIT_NPROC", PYTHON_LIMITS.processes],
    ["RLIMIT_MEMLOCK", 65_536],
    // One byte, not none: at 0 the kernel would still start a program that takes core dumps, outside.
    ["RLIMIT_CORE", 1],
  ];
  const list = limits.map(([name, value]) => `("${name}", ${value})`).join(", ");
  return `${PREAMBLE}exec(*start([${list}], ${strict ? "True" : "False"}, ${ready ?? "None"}))\n`;
}

/** Nothing of the host's own packages, settings or working folder; UTF-8; no compiled files left behind. */
export const PYTHON_FLAGS = ["-I", "-S", "-B", "-u", "-X", "utf8"] as const;
