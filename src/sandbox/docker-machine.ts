// Starts a task machine in a Docker container. Never builds or pulls an image.
import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { hasCode } from "../platform/errors.js";
import { compact } from "../platform/optional-values.js";
import { builtFile } from "../platform/program-files.js";
import type { StartedGuest } from "./bubblewrap-machine.js";
import { MACHINE_LIMITS, SHIMS } from "./limits.js";
import { GUEST, guestLimits } from "./machine-guest.js";
import type { Snapshot } from "./machine-snapshots.js";
import { HOME, outputStart } from "./task-machine.js";

const GUEST_FOLDER = fileURLToPath(builtFile("sandbox/guest"));
const KILL_MS = 30_000;

export const docker = (args: readonly string[], timeout: number) =>
  promisify(execFile)("docker", [...args], { timeout });

/** Returns the missing requirement for machines of this image, or null. A run never pulls an image. */
export async function missingForImage(image: string): Promise<string | null> {
  const missing = await missingDocker();
  if (missing !== null || (await hasImage(image))) return missing;
  return `the Docker image ${image} is missing: art-e suite image writes a Dockerfile for it`;
}

/** Returns the missing requirement for any Docker machine, or null. */
export async function missingDocker(): Promise<string | null> {
  const version = await dockerVersion();
  if (version === "not installed") return "Docker is not installed";
  return version === "no answer" ? "the Docker daemon does not respond: start it" : null;
}

/** Returns the version of the Docker daemon. */
export async function dockerVersion(): Promise<{ readonly number: string } | "not installed" | "no answer"> {
  try {
    return { number: (await docker(["version", "--format", "{{.Server.Version}}"], 10_000)).stdout.trim() };
  } catch (error) {
    return hasCode(error, "ENOENT") ? "not installed" : "no answer";
  }
}

export function hasImage(image: string): Promise<boolean> {
  return docker(["image", "inspect", image], 10_000).then(
    () => true,
    () => false,
  );
}

/**
 * Starts the machine's first process in a container. It is the same program as under bubblewrap, with its memory
 * limited by Docker. The first request shows whether it works.
 */
export async function startDockerGuest(image: string, writable: boolean, signal: AbortSignal): Promise<StartedGuest> {
  signal.throwIfAborted();
  const name = `art-e-machine-${randomUUID()}`;
  const args = dockerMachineArguments(name, image, GUEST_FOLDER, writable);
  const child = spawn("docker", args, { cwd: "/", detached: true, stdio: ["pipe", "pipe", "pipe"] });
  let failure = "";
  const closed = once(child, "close").catch((error: Error) => {
    failure = error.message;
  });
  const stderr = outputStart(child.stderr);
  return {
    watched: null,
    stdin: child.stdin,
    stdout: child.stdout,
    ended: closed.then(() => failure || stderr()),
    // Killing the client would leave the container running.
    async kill() {
      await docker(["kill", name], KILL_MS).catch(() => undefined);
      child.kill("SIGKILL");
      await closed;
    },
  };
}

const BASE_IMAGE = "debian:12-slim";
/** Packages for the machine's first process and for commands. */
const NEEDED = ["bash", "coreutils", "python3"];

/**
 * Returns a Dockerfile for a snapshot's programs and modules. The snapshot's files, folders and setup are added to each
 * machine when it opens, because a folder in memory covers the image's home.
 */
export function writeDockerfile({ name, commands, modules, shims, readOnly, unavailable }: Snapshot): string {
  const needed = Object.entries({ ...commands, ...modules }).filter(([program]) => !(program in shims));
  const packages = new Set([...NEEDED, ...needed.flatMap(([, from]) => from ?? [])]);
  const missing = needed.filter(([, from]) => from === null).map(([program]) => program);
  return compact([
    "# syntax=docker/dockerfile:1",
    `# The snapshot ${name}: art-e suite image ${name} | docker build -t art-e-${imageWord(name)} -`,
    unavailable !== null && `# The snapshot is unavailable without changes: ${unavailable}.`,
    ...missing.map((program) => `# Debian does not have a package for ${program}: install it below.`),
    ...readOnly.map((folder) => `# ${folder} is a folder of the machine that wrote this file: copy it below.`),
    `FROM ${BASE_IMAGE}`,
    "RUN apt-get update \\",
    ` && apt-get install -y --no-install-recommends ${[...packages].sort().join(" ")} \\`,
    " && rm -rf /var/lib/apt/lists/*",
    `RUN useradd --uid 1000 --create-home --home-dir ${HOME} --shell /bin/bash user`,
    ...Object.entries(shims).flatMap(([program, script]) => shim(program, script)),
    "USER user",
    `WORKDIR ${HOME}`,
    "",
  ]).join("\n");
}

/**
 * Returns a here-document for a shim. The quoted end word prevents substitution, and must not be a line of the script.
 */
function shim(program: string, script: string): string[] {
  const lines = script.split("\n");
  let end = "END";
  while (lines.includes(end)) end += "_";
  return [`COPY --chmod=0555 <<'${end}' ${SHIMS}/${program}`, "#!/bin/sh", ...lines, end];
}

const imageWord = (name: string) => name.toLowerCase().replace(/[^a-z0-9]+/g, "-");

/** Additional processes allowed for Docker's own threads in the container. */
const SPARE_PROCESSES = 16;
const SHARED_MEMORY = "/dev/shm";

/**
 * Returns the arguments of `docker run`: only the first process's program from the host, only the loopback network,
 * file systems in memory with a fixed maximum size, no capabilities and no way to gain any. With `writable`, files of
 * the image can be changed. Otherwise only files in memory can.
 */
export function dockerMachineArguments(name: string, image: string, guestFolder: string, writable: boolean): string[] {
  const limits = MACHINE_LIMITS;
  const memory = String(limits.memoryBytes);
  return [
    ["run", "--rm", "--interactive", "--pull", "never", "--name", name, "--network", "none"],
    ["--cap-drop", "ALL", "--security-opt", "no-new-privileges"],
    writable ? ["--workdir", "/"] : ["--read-only", "--user", "1000:1000", "--workdir", HOME],
    ["--memory", memory, "--memory-swap", memory, "--pids-limit", String(limits.processes + SPARE_PROCESSES)],
    ["--hostname", "machine", "--log-driver", "none", "--entrypoint", "python3"],
    ["--mount", `type=bind,source=${guestFolder},target=${GUEST},readonly`],
    Object.entries(limits.disk).flatMap(([path, size]) => {
      if (path === SHARED_MEMORY) return ["--shm-size", String(size)];
      return writable ? [] : ["--tmpfs", `${path}:${tmpfsOptions(path, size)}`];
    }),
    [image, "-I", "-S", "-B", "-X", "utf8", GUEST, JSON.stringify(guestLimits(limits))],
  ].flat();
}

function tmpfsOptions(path: string, size: number): string {
  const owner = path === HOME ? "mode=0755,uid=1000,gid=1000" : "mode=1777";
  return `rw,exec,nosuid,nodev,size=${size},${owner}`;
}
