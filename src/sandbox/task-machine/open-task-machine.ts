import { realpath } from "node:fs/promises";
import { HOME } from "../../domain/tasks/task-machine.js";
import { startDockerGuest } from "./docker/start-docker-guest.js";
import type { MachineHost } from "./find-machine-host.js";
import { isBelowAny } from "./machine-arguments.js";
import { MACHINE_LIMITS, type MachineLimits, SHIMS } from "./machine-limits.js";
import { SandboxedMachine } from "./sandboxed-machine.js";
import type { Snapshot } from "./snapshots/snapshot-schema.js";
import { type StartedGuest, startGuest } from "./start-guest.js";

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
  // There is no screen to draw on.
  MPLBACKEND: "Agg",
};

export interface MachineOptions {
  /** Folders of this machine whose contents must never show in it: suites with their golds, art-e's own files. */
  readonly hidden: readonly string[];
  readonly limits?: MachineLimits;
}

/** Starts a machine that holds what the snapshot says, with its folders, files and set-up. Close it in the end. */
export async function openTaskMachine(
  host: MachineHost,
  snapshot: Snapshot,
  { hidden, limits = MACHINE_LIMITS }: MachineOptions,
  signal: AbortSignal,
): Promise<SandboxedMachine> {
  const mounts = { readOnly: await checkedBinds(snapshot, hidden), hidden };
  return await furnish(
    await startGuest(host, { mounts, shims: snapshot.shims, limits }, signal),
    snapshot,
    limits,
    signal,
  );
}

/** The same over Docker, of a snapshot that names an image: of this machine nothing shows in it. */
export async function openDockerMachine(
  snapshot: Snapshot & { readonly image: string },
  signal: AbortSignal,
  limits: MachineLimits = MACHINE_LIMITS,
): Promise<SandboxedMachine> {
  return await furnish(await startDockerGuest(snapshot.image, limits, signal), snapshot, limits, signal);
}

/** Its folders, files and set-up. */
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
        const said = (result.stderr.trim() || result.stdout.trim()).split("\n").at(-1);
        throw new Error(`the machine could not be set up: ${argv.join(" ")} (exit code ${result.exitCode}): ${said}`);
      }
    }
    return machine;
  } catch (error) {
    await machine.close();
    throw error;
  }
}

/** A link in one of the allowed folders may lead anywhere: what counts is where it ends. Missing ones are left out. */
async function checkedBinds({ readOnly }: Snapshot, hidden: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  const secret = await Promise.all(hidden.map((path) => realpath(path).catch(() => path)));
  for (const path of readOnly) {
    const real = await realpath(path).catch(() => null);
    if (real === null) continue;
    if (real !== path || isBelowAny(real, secret)) {
      throw new Error(`${path} cannot be shown in the machine: it is a link or lies in a folder that stays hidden`);
    }
    found.push(path);
  }
  return found;
}
