// The Python that sandboxes run: its interpreter, the files it needs, and the limits that it sets on itself.
import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { dirname } from "node:path";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { z } from "zod";
import type { CgroupParent } from "./isolation/cgroup.js";
import { PYTHON_LIMITS, WORKSPACE_LIMITS } from "./limits.js";
import type { WorkspaceFolders } from "./workspace.js";

/** A way to run Python isolated from the rest of the machine. `launch` describes how to start it for a workspace. */
export interface PythonSandbox {
  readonly kind: "bubblewrap" | "docker" | "host";
  /** The sandbox's components, with versions. */
  readonly about: string;
  /** How each limit is enforced: hard, or by checking the usage every 50 ms. */
  readonly limits: Readonly<Record<"memory" | "disk" | "processes", string>>;
  launch(folders: WorkspaceFolders): Launch;
}

/** A program to start, which reads the Python source from stdin. */
export interface Launch {
  readonly program: string;
  readonly args: readonly string[];
  /** The program's entire environment, or null for this process's. */
  readonly env: Readonly<Record<string, string>> | null;
  /** The user to start it as, or null for the current user. */
  readonly owner: WorkspaceFolders["owner"];
  /** Folder to start it in. */
  readonly folder: string;
  /**
   * If not null: descriptor 3 reads this filter, bwrap writes its status to descriptor 4, Python writes to descriptor 5
   * when it waits for its program, and /workspace and /tmp are the sandbox's own.
   */
  readonly filter: Buffer | null;
  /** Parent for a cgroup that limits memory and the number of processes, or null. */
  readonly cgroups: CgroupParent | null;
  /** Maximum milliseconds to start, in addition to Python's own time limit. */
  readonly startMs: number;
  /** Stops processes that a kill of the program itself would not reach. */
  readonly stop?: () => Promise<void>;
}

/** The sandbox that works on this machine, or why none works and how to fix it. */
export type SandboxChoice =
  | { readonly ok: true; readonly sandbox: PythonSandbox }
  | { readonly ok: false; readonly why: string; readonly hint: string };

/** A Python on this machine and every file it needs, for a sandbox that shows nothing else. */
export interface FoundPython {
  readonly version: string;
  readonly program: string;
  /** Folders of the standard library. */
  readonly library: readonly string[];
  /** Folders inside `library` that contain third-party packages. */
  readonly packages: readonly string[];
  /** The dynamic linker and all shared libraries of Python and of its extension modules. */
  readonly shared: readonly string[];
}

/** Runs outside of the user code's namespace, and does not appear in its tracebacks. */
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
 * Returns the program for `python3 -c`. It applies the kernel's limits to itself, which its children inherit and which
 * it cannot raise again, and then becomes the source that it reads from stdin. With `strict` it does not start if a
 * limit cannot be set. It writes to the descriptor `ready` when it is about to read.
 */
export function pythonPreamble({ strict, ready }: { strict: boolean; ready: number | null }): string {
  const limits: [string, number][] = [
    ["RLIMIT_AS", PYTHON_LIMITS.addressBytes],
    ["RLIMIT_CPU", PYTHON_LIMITS.cpuSeconds],
    ["RLIMIT_FSIZE", WORKSPACE_LIMITS.fileBytes],
    ["RLIMIT_NOFILE", PYTHON_LIMITS.openFiles],
    ["RLIMIT_NPROC", PYTHON_LIMITS.processes],
    ["RLIMIT_MEMLOCK", 65_536],
    // One byte, because with 0 the kernel would still start a core dump handler outside of the sandbox.
    ["RLIMIT_CORE", 1],
  ];
  const list = limits.map(([name, value]) => `("${name}", ${value})`).join(", ");
  return `${PREAMBLE}exec(*start([${list}], ${strict ? "True" : "False"}, ${ready ?? "None"}))\n`;
}

/** Ignores the host's packages, settings and working directory, uses UTF-8, and leaves no compiled files. */
export const PYTHON_FLAGS = ["-I", "-S", "-B", "-u", "-X", "utf8"] as const;

const run = promisify(execFile);

const ASK = `
import glob, json, os, sys, sysconfig
library = sorted({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
print(json.dumps({
    "version": sys.version.split()[0],
    "program": os.path.realpath(sys.executable),
    "library": [path for path in library if os.path.isdir(path)],
    "packages": [found for path in library for found in glob.glob(path + "/*-packages")],
    "extensions": [found for path in library for found in glob.glob(path + "/lib-dynload/*.so")],
}))`;

const answerSchema = z.object({
  version: z.string(),
  program: z.string(),
  library: z.array(z.string()),
  packages: z.array(z.string()),
  extensions: z.array(z.string()),
});

/**
 * Programs to try. The system's Python comes first, because the one on the path might be a wrapper or be in a home
 * folder.
 */
const CANDIDATES = ["/usr/bin/python3", "/usr/local/bin/python3", "python3"];

/** Starting a program takes more than ten seconds if the machine is very busy. */
const TIMEOUT_MS = 60_000;

/** Returns the first Python 3 that works, or null. */
export async function findPython(): Promise<FoundPython | null> {
  for (const candidate of CANDIDATES) {
    try {
      const { stdout } = await run(candidate, ["-I", "-S", "-c", ASK], { timeout: TIMEOUT_MS });
      const { extensions, ...installation } = answerSchema.parse(JSON.parse(stdout));
      return { ...installation, shared: await sharedLibraries(installation.program, extensions) };
    } catch {
      // The program is missing or is not Python 3. Try the next one.
    }
  }
  return null;
}

/**
 * Returns the absolute path of a program in the first folder that contains it, or null. Searches the system's folders
 * by default.
 */
export async function findProgram(
  name: string,
  folders: readonly string[] = ["/usr/bin", "/usr/local/bin", "/bin"],
): Promise<string | null> {
  for (const folder of folders) {
    try {
      await access(`${folder}/${name}`, constants.X_OK);
      return `${folder}/${name}`;
    } catch {
      // Try the next folder.
    }
  }
  return null;
}

export function foldersOf(files: readonly string[]): string[] {
  return [...new Set(files.map((file) => dirname(file)))];
}

/**
 * Returns the dynamic linker and all shared libraries of a program and of modules that it can load. The linker lists
 * them for all modules at once. `ldd` starts two processes per module, which takes seconds on a busy machine.
 */
export async function sharedLibraries(program: string, modules: readonly string[] = []): Promise<string[]> {
  const own = await listLibraries("ldd", [program]);
  const linker = own.find(({ name }) => name === null)?.path;
  if (modules.length === 0 || linker === undefined) return pathsOf(own);
  const preloaded = await listLibraries(linker, ["--preload", modules.join(":"), "--list", program]).catch(() => []);
  const paths = new Set(pathsOf(preloaded));
  // An old linker, or a path that contains a separator.
  if (!modules.every((module) => paths.has(module))) return pathsOf(await listLibraries("ldd", [program, ...modules]));
  for (const module of modules) paths.delete(module);
  return [...paths];
}

interface Library {
  /** Null if a path names it, as for the dynamic linker and for preloaded modules. */
  readonly name: string | null;
  readonly path: string;
}

async function listLibraries(program: string, args: readonly string[]): Promise<Library[]> {
  const { stdout } = await run(program, [...args], { timeout: TIMEOUT_MS, maxBuffer: 2 ** 24 });
  const lines = stdout.matchAll(/^[ \t]+(?:(\S+) => )?(\/\S+) \(0x[0-9a-f]+\)$/gm);
  return [...lines].map(([, name = null, path = ""]) => ({ name, path }));
}

function pathsOf(libraries: readonly Library[]): string[] {
  return [...new Set(libraries.map(({ path }) => path))].sort();
}

/** Keeps the first bytes of a program's output. Discards the rest, up to a limit that stops the program. */
export class KeptOutput {
  private readonly chunks: Buffer[] = [];
  private keptBytes = 0;
  private bytes = 0;

  constructor(stream: Readable, onTooMuch: () => void) {
    stream.on("data", (chunk: Buffer) => {
      this.bytes += chunk.length;
      const room = PYTHON_LIMITS.outputBytes - this.keptBytes;
      if (room > 0) {
        const part = chunk.subarray(0, room);
        this.chunks.push(part);
        this.keptBytes += part.length;
      }
      if (this.bytes > PYTHON_LIMITS.printedBytes) onTooMuch();
    });
    stream.on("error", () => undefined);
  }

  get truncated(): boolean {
    return this.bytes > this.keptBytes;
  }

  /** Returns the text as UTF-8. Invalid bytes become U+FFFD. */
  text(): string {
    return Buffer.concat(this.chunks).toString("utf8");
  }
}
