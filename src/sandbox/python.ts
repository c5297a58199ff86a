import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { dirname } from "node:path";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { z } from "zod";
import type { CgroupParent } from "./cgroup.js";
import { PYTHON_LIMITS, WORKSPACE_LIMITS } from "./limits.js";
import type { WorkspaceFolders } from "./workspace.js";

/** One way to run Python apart from the rest of the machine; `launch` says how to start it for a workspace. */
export interface PythonSandbox {
  readonly kind: "bubblewrap" | "docker" | "host";
  /** What it is made of, with versions. */
  readonly about: string;
  /** Which limits hold by themselves, and which by a look at what is used, every 50 ms. */
  readonly limits: Readonly<Record<"memory" | "disk" | "processes", string>>;
  launch(folders: WorkspaceFolders): Launch;
}

/** A program to be started. It reads the Python source from stdin. */
export interface Launch {
  readonly program: string;
  readonly args: readonly string[];
  /** Its whole environment; null: this process's. */
  readonly env: Readonly<Record<string, string>> | null;
  /** Whom to start it as; null: as whoever runs this program. */
  readonly owner: WorkspaceFolders["owner"];
  /** Folder to start it in. */
  readonly folder: string;
  /**
   * Where given, descriptor 3 reads this, bwrap's status is written to descriptor 4, and Python writes to descriptor 5
   * when it waits for its program; /workspace and /tmp are the sandbox's own.
   */
  readonly filter: Buffer | null;
  /** Where its processes can be bound in memory and number all together. */
  readonly cgroups: CgroupParent | null;
  /** What starting may take beyond the time that Python has. */
  readonly startMs: number;
  /** Stops what a kill of the program itself would not reach. */
  readonly stop?: () => Promise<void>;
}

/** The sandbox that works on this machine, or why there is none and what to do. */
export type SandboxChoice =
  | { readonly ok: true; readonly sandbox: PythonSandbox }
  | { readonly ok: false; readonly why: string; readonly hint: string };

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

const run = promisify(execFile);

/** A Python of this machine and every file it needs, for a sandbox that shows it nothing else. */
export interface FoundPython {
  readonly version: string;
  readonly program: string;
  /** Folders of the standard library. */
  readonly library: readonly string[];
  /** Folders inside those that hold other people's packages. */
  readonly packages: readonly string[];
  /** The dynamic linker and all shared libraries of Python and of its extension modules. */
  readonly shared: readonly string[];
}

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

/** The system's own first: the one of the search path may be a wrapper, or lie in a home folder. */
const CANDIDATES = ["/usr/bin/python3", "/usr/local/bin/python3", "python3"];

/** The first Python 3 that answers; null: there is none. */
export async function findPython(): Promise<FoundPython | null> {
  for (const candidate of CANDIDATES) {
    try {
      const { stdout } = await run(candidate, ["-I", "-S", "-c", ASK], { timeout: 10_000 });
      const { extensions, ...found } = answerSchema.parse(JSON.parse(stdout));
      return { ...found, shared: await sharedLibraries([found.program, ...extensions]) };
    } catch {
      // Not there, or no Python 3: the next one may be.
    }
  }
  return null;
}

/** The absolute path of a program in the first of the folders that has it, or null. By default those of the system. */
export async function findProgram(
  name: string,
  folders: readonly string[] = ["/usr/bin", "/usr/local/bin", "/bin"],
): Promise<string | null> {
  for (const folder of folders) {
    try {
      await access(`${folder}/${name}`, constants.X_OK);
      return `${folder}/${name}`;
    } catch {
      // Look on.
    }
  }
  return null;
}

export function foldersOf(files: readonly string[]): string[] {
  return [...new Set(files.map((file) => dirname(file)))];
}

async function sharedLibraries(files: readonly string[]): Promise<string[]> {
  const { stdout } = await run("ldd", [...files], { timeout: 10_000, maxBuffer: 2 ** 24 });
  const paths = [...stdout.matchAll(/^[ \t]+(?:\S+ => )?(\/\S+) \(0x[0-9a-f]+\)$/gm)].map(([, path = ""]) => path);
  return [...new Set(paths)].sort();
}

/** The first bytes of a program's output. The rest is discarded, up to a limit that stops the program. */
export class KeptOutput {
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  #bytes = 0;

  constructor(stream: Readable, onTooMuch: () => void) {
    stream.on("data", (chunk: Buffer) => {
      this.#bytes += chunk.length;
      const room = PYTHON_LIMITS.outputBytes - this.#keptBytes;
      if (room > 0) {
        const part = chunk.subarray(0, room);
        this.#kept.push(part);
        this.#keptBytes += part.length;
      }
      if (this.#bytes > PYTHON_LIMITS.printedBytes) onTooMuch();
    });
    stream.on("error", () => undefined);
  }

  get truncated(): boolean {
    return this.#bytes > this.#keptBytes;
  }

  /** Decoded as UTF-8; invalid bytes become U+FFFD. */
  text(): string {
    return Buffer.concat(this.#kept).toString("utf8");
  }
}
