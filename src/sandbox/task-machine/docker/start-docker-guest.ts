import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { keepStart } from "../keep-start.js";
import type { MachineLimits } from "../machine-limits.js";
import type { StartedGuest } from "../start-guest.js";
import { dockerMachineArguments } from "./docker-arguments.js";

const GUEST_FOLDER = fileURLToPath(new URL("../guest", import.meta.url));
const KILL_MS = 30_000;

const docker = (args: readonly string[], timeout: number) => promisify(execFile)("docker", [...args], { timeout });

/** What is missing for machines of this image; null: nothing. Images are never pulled by a run. */
export async function missingForImage(image: string): Promise<string | null> {
  try {
    await docker(["version", "--format", "{{.Server.Version}}"], 10_000);
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    return isMissing ? "Docker is not installed" : "Docker's daemon does not answer: start it";
  }
  const found = await docker(["image", "inspect", image], 10_000).catch(() => null);
  return found === null ? `Docker has no image ${image}: art-e suite image writes a Dockerfile for it` : null;
}

/**
 * Starts the machine's first process in a container. It is the same program as under bubblewrap, and its memory is
 * bound by Docker. Whether it works shows with the first thing that it is asked.
 */
export async function startDockerGuest(
  image: string,
  limits: MachineLimits,
  signal: AbortSignal,
): Promise<StartedGuest> {
  signal.throwIfAborted();
  const name = `art-e-machine-${randomUUID()}`;
  const args = dockerMachineArguments(name, image, GUEST_FOLDER, limits);
  const child = spawn("docker", args, { cwd: "/", detached: true, stdio: ["pipe", "pipe", "pipe"] });
  let failure = "";
  const closed = once(child, "close").catch((error: Error) => {
    failure = error.message;
  });
  const stderr = keepStart(child.stderr);
  return {
    watched: null,
    stdin: child.stdin,
    stdout: child.stdout,
    ended: closed.then(() => failure || stderr()),
    // Killing the client leaves the container running.
    async kill() {
      await docker(["kill", name], KILL_MS).catch(() => undefined);
      child.kill("SIGKILL");
      await closed;
    },
  };
}
