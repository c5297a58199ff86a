import { type ChildProcess, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { sandboxUser } from "../../src/sandbox/limits.js";
import { openWorkspace, type Workspace, writeText } from "../../src/sandbox/workspace.js";
import type { Targets } from "./escape-attempts.js";

/**
 * Parts of the host that must not be affected: servers, files, a process, another task. Also finds remains of
 * sandboxes.
 */

export const SECRET = "only the host may read this";

export interface Witness {
  readonly targets: Targets;
  /** Number of received connections and datagrams. */
  contacts(): number;
  /** Whether the victim process is alive. */
  victimLives(): boolean;
  close(): Promise<void>;
}

export async function openWitness(): Promise<Witness> {
  const folder = mkdtempSync(join(tmpdir(), "art-e-witness-"));
  // Readable for everybody, so that file permissions alone do not protect it.
  chmodSync(folder, 0o755);
  const secretFile = join(folder, "secret.txt");
  const database = join(folder, "art-e.db");
  for (const file of [secretFile, database]) writeFileSync(file, SECRET, { mode: 0o644 });
  let contacts = 0;
  const count = () => {
    contacts++;
  };
  const tcp = await listening(count, { port: 0, host: "127.0.0.1" });
  const socketPath = join(folder, "socket");
  const unix = await listening(count, { path: socketPath });
  chmodSync(socketPath, 0o777);
  const abstractName = `art-e-${process.pid}`;
  const abstract = await listening(count, { path: `\0${abstractName}` });
  const udp = createSocket("udp4").on("message", count);
  udp.bind(0, "127.0.0.1");
  await once(udp, "listening");
  const victim = spawn("sleep", ["600"], { stdio: "ignore", ...(sandboxUser() ?? {}) });
  const other = openWorkspace();
  const targets: Targets = {
    secretFile,
    database,
    otherWorkspace: await fill(other),
    home: homedir(),
    port: (tcp.address() as AddressInfo).port,
    udpPort: udp.address().port,
    socketPath,
    abstractName,
    pid: process.pid,
    victim: victim.pid ?? 0,
  };
  return {
    targets,
    contacts: () => contacts,
    victimLives: () => victim.exitCode === null && victim.signalCode === null,
    async close() {
      for (const server of [tcp, unix, abstract]) server.close();
      udp.close();
      await ended(victim);
      await other.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function listening(
  onConnection: () => void,
  where: { port?: number; host?: string; path?: string },
): Promise<Server> {
  const server = createServer((socket) => {
    onConnection();
    socket.destroy();
  });
  server.listen(where);
  await once(server, "listening");
  return server;
}

async function fill(workspace: Workspace): Promise<string> {
  return workspace.use(async (folders) => {
    await writeText(folders, "secret.txt", SECRET);
    return folders.files;
  });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

/**
 * Returns sandbox processes below this process, and orphaned ones that stay. Nothing in a sandbox can hide that its
 * /workspace or /home/user is in memory. A sandbox of a test in another process has a living Node process above it, and
 * is orphaned for a moment when it ends.
 */
export async function leftInSandboxes(): Promise<number[]> {
  const own = await staying(sandboxProcesses(), 10_000);
  if (own.length > 0) return own;
  return staying(
    sandboxPids().filter((pid) => !ancestorsOf(pid).some(isNode)),
    10_000,
  );
}

/** Returns the processes that still exist after this many milliseconds. A killed process takes a moment to end. */
async function staying(pids: readonly number[], waitMs: number): Promise<number[]> {
  for (let waited = 0; waited < waitMs && pids.some(isInSandbox); waited += 20) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return pids.filter(isInSandbox);
}

/** Returns the sandbox processes below this process. */
export function sandboxProcesses(): number[] {
  return sandboxPids().filter((pid) => ancestorsOf(pid).includes(process.pid));
}

function sandboxPids(): number[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter(isInSandbox);
}

function isInSandbox(pid: number): boolean {
  // bubblewrap's own child waits forever if its parent is killed before it maps the users. Nothing has run in it.
  const hasBegun = contentOf(`/proc/${pid}/uid_map`).trim() !== "";
  if (!hasBegun) return false;
  return (
    / \/(workspace|home\/user) .* - tmpfs /.test(contentOf(`/proc/${pid}/mountinfo`)) ||
    contentOf(`/proc/${pid}/cmdline`).includes("bwrap\0")
  );
}

function isNode(pid: number): boolean {
  return contentOf(`/proc/${pid}/cmdline`).includes("node");
}

function ancestorsOf(pid: number): number[] {
  const parent = Number(/^PPid:\s+(\d+)$/m.exec(contentOf(`/proc/${pid}/status`))?.[1] ?? 0);
  return parent === 0 ? [] : [parent, ...ancestorsOf(parent)];
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
