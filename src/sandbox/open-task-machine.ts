// Opens a task machine with its snapshot, in bubblewrap or Docker, and limits what runs in it.
import { readFile, realpath, statfs } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import {
  findMachineHost,
  type MachineHost,
  type MachineHostChoice,
  type StartedGuest,
  startGuest,
} from "./bubblewrap-machine.js";
import { startDockerGuest } from "./docker-machine.js";
import { ALLOW_NAMESPACES } from "./isolation/bubblewrap.js";
import { MACHINE_LIMITS, type MachineLimits, SHIMS, socketBytesOf, usageOfTree } from "./limits.js";
import {
  type BuiltInFile,
  copyIntoMachine,
  copyOutOfMachine,
  GuestConnection,
  writeIntoMachine,
} from "./machine-guest.js";
import { checkSnapshots, EMPTY_SNAPSHOT, readSnapshots, type Snapshot, snapshotOf } from "./machine-snapshots.js";
import {
  type CommandResult,
  HOME,
  isBelowAny,
  lastLine,
  type MachineCommand,
  type TaskMachine,
} from "./task-machine.js";

/** The machines for suite tasks that are available on this host. */
export interface MachineAvailability {
  /** Why no machine can start, or null if machines with a ready snapshot can. */
  readonly obstacle: string | null;
  readonly ready: readonly string[];
  /** Reasons, by snapshot name. */
  readonly notReady: Readonly<Record<string, string>>;
  /** Reasons why no machine can provide a snapshot (it needs servers or an account), by snapshot name. */
  readonly unavailable: Readonly<Record<string, string>>;
  /** Command line that installs all missing parts that have a Debian package, or null if there are no such parts. */
  readonly install: string | null;
  /** Missing programs and modules without a package. */
  readonly withoutPackage: readonly string[];
}

interface MachineOptions {
  /** Host folders whose contents must never be visible: suites with their gold files, and art-e's own files. */
  readonly hidden: readonly string[];
  readonly limits?: MachineLimits;
  /** Read-only files that are in the machine from the start. */
  readonly files?: readonly BuiltInFile[];
}

/** Returns the availability of the built-in snapshots. */
export async function machineAvailability(): Promise<MachineAvailability> {
  const snapshots = await readSnapshots(null);
  // The machine's own programs are installed with the same command line.
  const machine = { ...EMPTY_SNAPSHOT, name: "", commands: { bwrap: "bubblewrap", python3: "python3" } };
  const [choice, { snapshots: statuses, install, withoutPackage }] = await Promise.all([
    chooseMachineHost(),
    checkSnapshots([machine, ...snapshots.values()]),
  ]);
  const others = statuses.filter(({ name, ready }) => name !== "" && !ready);
  const isUnavailable = (name: string) => snapshotOf(name, snapshots).unavailable !== null;
  const whys = (which: typeof others) => Object.fromEntries(which.map(({ name, why }) => [name, why ?? ""]));
  return {
    obstacle: choice.ok ? null : `${choice.why}. ${choice.hint}`,
    ready: choice.ok ? statuses.filter(({ name, ready }) => name !== "" && ready).map(({ name }) => name) : [],
    notReady: whys(others.filter(({ name }) => !isUnavailable(name))),
    unavailable: whys(others.filter(({ name }) => isUnavailable(name))),
    install,
    withoutPackage,
  };
}

let hostChoice: Promise<MachineHostChoice> | undefined;

/**
 * Returns the components of task machines on this host, or why no machine can start and how to fix it. Probes once per
 * process by running a command in a machine, because the system might not allow an installed bubblewrap to work.
 */
export function chooseMachineHost(): Promise<MachineHostChoice> {
  hostChoice ??= findMachineHost().then((choice) => (choice.ok ? probe(choice) : choice));
  return hostChoice;
}

async function probe(choice: Extract<MachineHostChoice, { ok: true }>): Promise<MachineHostChoice> {
  const { signal } = new AbortController();
  try {
    const machine = await openTaskMachine(choice.host, EMPTY_SNAPSHOT, { hidden: [] }, signal);
    try {
      const command = { argv: ["sh", "-c", "echo $((6 * 7))"], cwd: null, env: {}, timeoutMs: 30_000 };
      const { stdout, stderr } = await machine.run(command, signal);
      if (stdout === "42\n") return choice;
      return { ok: false, why: `a command does not run in bubblewrap (${stderr.trim()})`, hint: ALLOW_NAMESPACES };
    } finally {
      await machine.close();
    }
  } catch (error) {
    return { ok: false, why: `bubblewrap does not start (${(error as Error).message})`, hint: ALLOW_NAMESPACES };
  }
}

const SET_UP_MS = 120_000;
const FOLDERS = ["Desktop", "Documents", "Downloads", "projects"].map((name) => `${HOME}/${name}`);

const ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: `${SHIMS}:${HOME}/.local/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin`,
  HOME,
  USER: "user",
  LOGNAME: "user",
  SHELL: "/bin/bash",
  LANG: "C.UTF-8",
  TZ: "UTC",
  // Machines do not have a screen to draw on.
  MPLBACKEND: "Agg",
};

/** Starts a machine with the snapshot's folders, files and setup. The caller must close it. */
export async function openTaskMachine(
  host: MachineHost,
  snapshot: Snapshot,
  { hidden, limits = MACHINE_LIMITS, files = [] }: MachineOptions,
  signal: AbortSignal,
): Promise<SandboxedMachine> {
  const mounts = { readOnly: await checkedBinds(snapshot, hidden), hidden };
  const started = await startGuest(host, { mounts, shims: snapshot.shims, files, limits }, signal);
  return await furnish(started, snapshot, limits, signal);
}

/**
 * Starts the same machine in Docker, for a snapshot with an image. Nothing of the host is visible in it. With
 * `writable`, the image's own files can be changed.
 */
export async function openDockerMachine(
  snapshot: Snapshot & { readonly image: string },
  signal: AbortSignal,
  { writable = false } = {},
): Promise<SandboxedMachine> {
  const started = await startDockerGuest(snapshot.image, writable, signal);
  return await furnish(started, snapshot, MACHINE_LIMITS, signal);
}

/** Adds the snapshot's folders, files and setup to a started machine. */
async function furnish(
  started: StartedGuest,
  snapshot: Snapshot,
  limits: MachineLimits,
  signal: AbortSignal,
): Promise<SandboxedMachine> {
  const machine = new SandboxedMachine(started, { ...ENVIRONMENT, ...snapshot.env }, limits);
  try {
    for (const folder of [...FOLDERS, "/mnt/container", ...snapshot.folders]) await machine.makeFolder(folder);
    for (const [path, content] of Object.entries(snapshot.files)) await machine.writeFile(path, content);
    for (const argv of snapshot.setUp) {
      const result = await machine.run({ argv, cwd: null, env: {}, timeoutMs: SET_UP_MS }, signal);
      if (result.exitCode !== 0) {
        const message = lastLine(result.stderr) || lastLine(result.stdout);
        throw new Error(`cannot set up the machine: ${argv.join(" ")} (exit code ${result.exitCode}): ${message}`);
      }
    }
    return machine;
  } catch (error) {
    await machine.close();
    throw error;
  }
}

/** Returns the existing folders to show. A link could lead anywhere, so the resolved path is checked. */
async function checkedBinds({ readOnly }: Snapshot, hidden: readonly string[]): Promise<string[]> {
  const binds: string[] = [];
  const secret = await Promise.all(hidden.map((path) => realpath(path).catch(() => path)));
  for (const path of readOnly) {
    const real = await realpath(path).catch(() => null);
    if (real === null) continue;
    if (real !== path || isBelowAny(real, secret)) {
      throw new Error(`cannot show ${path} in the machine: it is a link or inside a hidden folder`);
    }
    binds.push(path);
  }
  return binds;
}

const resultSchema = z.object({
  exit_code: z.number().int().nullable(),
  stdout: z.number().int().nonnegative(),
});

/** A machine in bubblewrap or Docker. Processes that a command starts live until the machine is closed. */
export class SandboxedMachine implements TaskMachine {
  readonly canRun = true;
  private readonly guest: GuestConnection;
  private readonly ending = new AbortController();
  private readonly watched: Promise<void>;
  private closing: Promise<void> | null = null;

  constructor(
    private readonly started: StartedGuest,
    private readonly env: Readonly<Record<string, string>>,
    private readonly limits: MachineLimits,
  ) {
    this.guest = new GuestConnection(started.stdin, started.stdout, (error) => void this.end(error.message));
    void started.ended.then((stderr) => {
      this.guest.end(new Error(`the task's machine has stopped: ${lastLine(stderr) || "its first process exited"}`));
      this.ending.abort();
    });
    this.watched = started.watched === null ? Promise.resolve() : this.watch(started.watched);
  }

  copyIn(from: string, path: string): Promise<void> {
    return copyIntoMachine(this.guest, from, path, this.limits);
  }

  copyOut(path: string, to: string): Promise<boolean> {
    return copyOutOfMachine(this.guest, path, to, this.limits);
  }

  /** Writes a file. Creates missing folders and replaces an existing file. */
  writeFile(path: string, content: string): Promise<void> {
    return writeIntoMachine(this.guest, path, 0o644, [Buffer.from(content)]);
  }

  async makeFolder(path: string): Promise<void> {
    await this.guest.request("folder", { path, replace: false });
  }

  async run({ argv, cwd, env, timeoutMs }: MachineCommand, signal: AbortSignal): Promise<CommandResult> {
    signal.throwIfAborted();
    const timeout = Math.min(Math.max(1, timeoutMs), this.limits.commandMs);
    const id = this.guest.nextId;
    const { answerMs } = this.limits;
    let late = setTimeout(() => this.end("it does not respond"), timeout + answerMs);
    const aborted = () => {
      clearTimeout(late);
      late = setTimeout(() => this.end("it does not respond"), answerMs);
      this.guest.request("stop", { command: id }).catch(() => undefined);
    };
    signal.addEventListener("abort", aborted, { once: true });
    try {
      const { head, body } = await this.guest.request("run", {
        argv,
        cwd: cwd ?? HOME,
        env: { ...this.env, ...env },
        timeout_ms: timeout,
      });
      signal.throwIfAborted();
      const { exit_code, stdout } = resultSchema.parse(head);
      return { exitCode: exit_code, stdout: body.toString("utf8", 0, stdout), stderr: body.toString("utf8", stdout) };
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      clearTimeout(late);
      signal.removeEventListener("abort", aborted);
    }
  }

  /** Ends all processes in the machine. Resolves after the last one has ended. */
  close(): Promise<void> {
    return this.end("it was closed");
  }

  private end(why: string): Promise<void> {
    this.closing ??= (async () => {
      this.guest.end(new Error(`the task's machine has stopped: ${why}`));
      this.ending.abort();
      await this.started.kill();
      await this.watched;
    })();
    return this.closing;
  }

  private watch(pid: number): Promise<void> {
    const megabytes = Math.round(this.limits.memoryBytes / 2 ** 20);
    const why = `The machine ran out of memory (${megabytes} MB): all processes were killed.`;
    const onTooMuch = async () => {
      await this.guest.request("end_all", { why }).catch(() => undefined);
    };
    const onFull = () => void this.end(`its files exceed its memory of ${megabytes} MB`);
    return watchMemory(pid, this.limits, onTooMuch, onFull, this.ending.signal);
  }
}

const LOOK_EVERY_MS = 200;
/** Kernel memory per file or folder, regardless of its size. */
const INODE_BYTES = 1536;

/**
 * Watches the memory of a machine that no cgroup limits: its processes, files and sockets together. `onTooMuch` ends
 * the processes. If the files alone exceed the limit, `onFull` ends the machine.
 */
async function watchMemory(
  pid: number,
  limits: MachineLimits,
  onTooMuch: () => Promise<void>,
  onFull: () => void,
  over: AbortSignal,
): Promise<void> {
  while (!over.aborted) {
    const [{ memoryBytes }, sockets, files] = await Promise.all([
      usageOfTree(pid),
      bytesInSockets(pid),
      bytesInFiles(pid, limits),
    ]);
    if (over.aborted) return;
    if (files > limits.memoryBytes) onFull();
    else if (memoryBytes + sockets + files > limits.memoryBytes) await onTooMuch();
    await sleep(LOOK_EVERY_MS, undefined, { signal: over }).catch(() => undefined);
  }
}

async function bytesInFiles(pid: number, { disk }: MachineLimits): Promise<number> {
  const systems = await Promise.all(
    Object.keys(disk).map((path) => statfs(`/proc/${pid}/root${path}`).catch(() => null)),
  );
  return systems.reduce((sum, system) => {
    if (system === null) return sum;
    const { blocks, bfree, bsize, files, ffree } = system;
    return sum + (blocks - bfree) * bsize + (files - ffree) * INODE_BYTES;
  }, 0);
}

/** Returns the maximum bytes in Unix sockets plus the queued bytes of loopback sockets. */
async function bytesInSockets(pid: number): Promise<number> {
  const tables = await Promise.all(
    ["tcp", "tcp6", "udp", "udp6"].map((name) => readFile(`/proc/${pid}/net/${name}`, "utf8").catch(() => "")),
  );
  let waiting = 0;
  for (const [, sendQueue = "0", received = "0"] of tables.join("\n").matchAll(/ ([0-9A-F]{8}):([0-9A-F]{8}) \d\d:/g)) {
    waiting += Number.parseInt(sendQueue, 16) + Number.parseInt(received, 16);
  }
  return waiting + (await socketBytesOf(pid));
}
