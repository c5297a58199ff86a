// Runs untrusted JavaScript in a Node process of its own, which exchanges lines of JSON with this process over pipes
// that nothing else uses. bubblewrap isolates it if it works on this machine. Node's permissions and limits of the
// operating system apply in any case. The program itself must restrict what its JavaScript reaches, because Node's
// permissions do not cover everything (sockets up to Node 24).
import { type ChildProcess, spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import { arch, platform } from "node:os";
import { performance } from "node:perf_hooks";
import type { Readable, Writable } from "node:stream";
import { NEVER } from "../platform/deadline.js";
import { parseJsonOrNull } from "../platform/json.js";
import { killedWithParentPrefix, killGroup, waitedForProcessorMs } from "../platform/processes.js";
import { BubblewrapStatus, bindProcesses, bubblewrapArguments, feed, READY } from "./isolation/bubblewrap.js";
import { type Cgroup, type CgroupParent, findCgroups } from "./isolation/cgroup.js";
import { seccompFilter } from "./isolation/seccomp-filter.js";
import { usageOfTree } from "./limits.js";
import { findProgram, foldersOf, sharedLibraries } from "./python.js";
import { outputStart } from "./task-machine.js";

/** How Node processes are isolated on this machine. */
export type NodeIsolation =
  | {
      readonly kind: "bubblewrap";
      readonly program: string;
      readonly filter: Buffer;
      /** Shared libraries of Node. */
      readonly shared: readonly string[];
      readonly cgroups: CgroupParent | null;
    }
  | { readonly kind: "permissions"; readonly why: string };

/** A program for Node. */
export interface NodeProgram {
  /** The file to run, which reads lines on descriptor 0 and writes lines to descriptor 1. */
  readonly file: string;
  /** Arguments. The last one is added: the descriptor to which it writes when it waits for work, if there is one. */
  readonly args: readonly string[];
  /** Files and folders that the program reads, in addition to `file`. */
  readonly readable: readonly string[];
}

/** The next line of a process as unchecked JSON, or the reason why there are no more. */
export type NodeLine = { readonly value: unknown } | { readonly ended: string };

/** Maximum size of V8's heap. */
const HEAP_MB = 256;
/**
 * Maximum writable memory, which includes array buffers, the heap, and about 150 MB that Node and its threads use.
 * Enforced on Linux.
 */
const DATA_MB = 768;
/** Maximum processes, including Node's own threads. */
const PROCESSES = 64;
/** Longer lines end the process. */
const MAX_LINE_CHARS = 64 * 1024;
/** Maximum milliseconds to start. Starting is fast, except on a busy machine. */
const START_MS = 15_000;

let isolation: Promise<NodeIsolation> | undefined;

/** Returns the best isolation that works on this machine. Probes once per process. */
export function chooseNodeIsolation(probe: NodeProgram): Promise<NodeIsolation> {
  isolation ??= findBubblewrapFor(probe).catch((error: Error) => ({ kind: "permissions", why: error.message }));
  return isolation;
}

/** Throws an error with the reason if bubblewrap does not work. */
async function findBubblewrapFor(probe: NodeProgram): Promise<NodeIsolation> {
  if (platform() !== "linux") throw new Error("bubblewrap only supports Linux");
  const filter = seccompFilter(arch());
  if (filter === null) throw new Error(`bubblewrap is unsupported on ${arch()} processors`);
  const program = await findProgram("bwrap");
  if (program === null) throw new Error("bubblewrap is not installed");
  const [shared, cgroups] = await Promise.all([sharedLibraries(realpathSync(process.execPath)), findCgroups()]);
  const found: NodeIsolation = {
    kind: "bubblewrap",
    program,
    filter,
    shared,
    cgroups: cgroups.ok ? cgroups.parent : null,
  };
  const started = await NodeProcess.start(found, probe, NEVER);
  await started.kill();
  return found;
}

/** A running process. Everything that it sends is as untrusted as the code in it. */
export class NodeProcess {
  private readonly received: NodeLine[] = [];
  private text = "";
  private wake: () => void = () => undefined;
  /** The process that runs Node, as seen from outside of its sandbox. */
  private pid: number | undefined;
  private cgroup: Cgroup | null = null;
  private isKilled = false;

  private constructor(private readonly child: ChildProcess) {
    this.pid = child.pid;
    (child.stdin as Writable).on("error", () => undefined);
    (child.stdout as Readable).setEncoding("utf8").on("data", (text: string) => this.take(text));
    child.on("error", (error) => this.put({ ended: `its process failed: ${error.message}` }));
    // "exit" can come before the last output.
    child.on("close", (code, signal) => void this.end(code, signal));
  }

  /**
   * Starts a program, which has not received anything yet. Throws an Error with the reason if bubblewrap cannot start
   * it, or the signal's reason.
   */
  static async start(isolation: NodeIsolation, program: NodeProgram, signal: AbortSignal): Promise<NodeProcess> {
    signal.throwIfAborted();
    const isBoxed = isolation.kind === "bubblewrap";
    const command = isBoxed ? boxedCommand(isolation, program) : plainCommand(program);
    const [file = "", ...args] = [...limitPrefix(), ...command];
    const child = spawn(file, args, {
      cwd: "/",
      env: isBoxed ? {} : { TZ: "UTC" },
      // Discards its messages, so that they cannot fill a disk.
      stdio: ["pipe", "pipe", isBoxed ? "pipe" : "ignore", ...(isBoxed ? (["pipe", "pipe", "pipe"] as const) : [])],
      // Its own process group, so that processes it started are killed with it.
      detached: true,
    });
    const started = new NodeProcess(child);
    if (isBoxed) {
      try {
        await started.enter(isolation, signal);
      } catch (error) {
        await started.kill();
        signal.throwIfAborted();
        throw error;
      }
    }
    return started;
  }

  /** Waits for the program in the sandbox, and limits it before it receives any untrusted code. */
  private async enter({ filter, cgroups }: Extract<NodeIsolation, { kind: "bubblewrap" }>, signal: AbortSignal) {
    const { child } = this;
    const message = outputStart(child.stderr as Readable);
    const status = new BubblewrapStatus(child);
    feed(child.stdio[3] as Writable, filter);
    const stop = () => void this.kill();
    const timer = setTimeout(stop, START_MS);
    signal.addEventListener("abort", stop, { once: true });
    const root = await status.ready();
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    signal.throwIfAborted();
    if (root === null)
      throw new Error(`bubblewrap does not start Node: ${message().trim().slice(0, 300) || "no reason"}`);
    this.pid = (await usageOfTree(root)).pids.at(-1);
    if (cgroups === null) return;
    const limits = { memoryBytes: DATA_MB * 2 ** 20, processes: PROCESSES, endTogether: true };
    this.cgroup = await bindProcesses(root, cgroups, limits);
  }

  send(message: object): void {
    // An ended process is reported by `receive`.
    this.child.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  /**
   * Returns the next line, or the reason why the process sends no more. While the process waits for a processor, the
   * limit's clock stops, so that a busy machine does not change a result. Throws the signal's reason.
   */
  async receive(limitMs: number, signal: AbortSignal): Promise<NodeLine> {
    const start = performance.now();
    const waitedBefore = await this.waitedMs();
    const remainingMs = async () => limitMs - (performance.now() - start) + (await this.waitedMs()) - waitedBefore;
    let remaining = limitMs;
    while (this.received.length === 0 && remaining > 0 && !signal.aborted) {
      await this.arrival(remaining, signal);
      remaining = await remainingMs();
    }
    signal.throwIfAborted();
    return this.received.shift() ?? { ended: `it took more than ${limitMs / 1_000} s` };
  }

  async kill(): Promise<void> {
    this.isKilled = true;
    killGroup(this.child);
    await this.cgroup?.kill();
    await this.cgroup?.remove();
  }

  /** Splits the output into lines. The process is killed for a line that nobody asked for, and for a long one. */
  private take(text: string): void {
    if (this.isKilled) return;
    this.text += text;
    const end = this.text.indexOf("\n");
    const isOneLine = end === this.text.length - 1 && this.received.length === 0;
    if (end === -1 ? this.text.length <= MAX_LINE_CHARS : isOneLine) {
      if (end === -1) return;
      this.put({ value: parseJsonOrNull(this.text) });
      this.text = "";
      return;
    }
    this.put({ ended: end === -1 ? "its message is too long" : "it sent a message that nobody asked for" });
    void this.kill();
  }

  private put(line: NodeLine): void {
    this.received.push(line);
    this.wake();
  }

  private async end(code: number | null, signal: NodeJS.Signals | null): Promise<void> {
    if (this.isKilled) return;
    const isOutOfMemory = (await this.cgroup?.ranOutOfMemory()) === true;
    this.put({ ended: isOutOfMemory ? OUT_OF_MEMORY : endOf(code, signal) });
  }

  private async waitedMs(): Promise<number> {
    return this.pid === undefined ? 0 : waitedForProcessorMs(this.pid);
  }

  /** Waits for a line for at most `ms`, or until the signal aborts. */
  private arrival(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.wake(), ms);
      this.wake = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", this.wake);
        resolve();
      };
      signal.addEventListener("abort", this.wake);
    });
  }
}

function boxedCommand(
  { program, shared }: Extract<NodeIsolation, { kind: "bubblewrap" }>,
  { file, args, readable }: NodeProgram,
): string[] {
  const node = realpathSync(process.execPath);
  const paths = realPaths([file, ...readable]);
  return [
    program,
    ...bubblewrapArguments({
      readable: [node, ...shared, ...paths],
      empty: [],
      writable: [],
      // The linker's own list of these folders is in /etc, which is not visible.
      environment: { TZ: "UTC", LD_LIBRARY_PATH: foldersOf(shared).join(":") },
      command: [node, ...nodeFlags(paths), file, ...args, String(READY)],
    }),
  ];
}

function plainCommand({ file, args, readable }: NodeProgram): string[] {
  const flags = nodeFlags(realPaths([file, ...readable]));
  return [...killedWithParentPrefix(), process.execPath, ...flags, file, ...args];
}

const realPaths = (paths: readonly string[]) => paths.map((path) => realpathSync(path));

/** Flags that not every supported version of Node has, and the permissions that all of them have under some name. */
function nodeFlags(readable: readonly string[]): string[] {
  const has = (flag: string) => process.allowedNodeEnvironmentFlags.has(flag);
  return [
    `--max-old-space-size=${HEAP_MB}`,
    "--disallow-code-generation-from-strings",
    "--no-addons",
    // Node 24's SQLite opens files regardless of the permissions.
    ...["--no-experimental-sqlite", "--no-experimental-websocket", "--no-experimental-fetch"].filter(has),
    has("--permission") ? "--permission" : "--experimental-permission",
    ...readable.map((path) => `--allow-fs-read=${path}`),
  ];
}

/** Returns a command prefix that limits the program's writable memory and forbids core dumps. */
function limitPrefix(): string[] {
  if (platform() !== "linux") return [];
  return ["/bin/sh", "-c", `ulimit -c 0; ulimit -d ${DATA_MB * 1024}; exec "$0" "$@"`];
}

const OUT_OF_MEMORY = "it ran out of memory";

/** V8 ends at its memory limit with SIGABRT, SIGTRAP or SIGILL. bubblewrap adds 128 to a signal's number. */
const MEMORY_ENDS: readonly unknown[] = ["SIGABRT", "SIGTRAP", "SIGILL", 134, 133, 132];

function endOf(code: number | null, signal: NodeJS.Signals | null): string {
  if (MEMORY_ENDS.includes(signal ?? code)) return OUT_OF_MEMORY;
  return signal === null ? `its process exited with code ${code}` : `its process was ended by ${signal}`;
}
