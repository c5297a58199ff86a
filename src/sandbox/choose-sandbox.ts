// Chooses the sandbox for Python on this machine, by running a program in each candidate.
import { randomUUID } from "node:crypto";
import { NEVER } from "../platform/deadline.js";
import { docker, dockerVersion, hasImage } from "./docker-machine.js";
import { ALLOW_NAMESPACES, findBubblewrap } from "./isolation/bubblewrap.js";
import { PYTHON_LIMITS } from "./limits.js";
import { PYTHON_FLAGS, type PythonSandbox, pythonPreamble, type SandboxChoice } from "./python.js";
import { runPython } from "./run-python.js";
import { lastLine } from "./task-machine.js";
import { INSIDE, openWorkspace, type WorkspaceFolders } from "./workspace.js";

/** Output of the probe, which it prints after writing a file to the workspace and reading it back. */
const PROOF = "art-e sandbox 42";
const PROBE = `
open("proof", "w").write("42")
print("art-e sandbox", open("proof").read())`;

const HINTS: Readonly<Record<PythonSandbox["kind"], string>> = {
  bubblewrap: ALLOW_NAMESPACES,
  docker: "Check the output of docker run.",
  host: "Install Python 3.",
};

let sandboxChoice: Promise<SandboxChoice> | undefined;

/**
 * Returns this machine's sandbox: bubblewrap, otherwise Docker, otherwise none with the reason. Probes each by running
 * a program, because an installed one might not work (user namespaces can be forbidden). Probes once per process.
 */
export function chooseSandbox(): Promise<SandboxChoice> {
  sandboxChoice ??= probeAll();
  return sandboxChoice;
}

async function probeAll(): Promise<SandboxChoice> {
  const failures: Extract<SandboxChoice, { ok: false }>[] = [];
  for (const find of [findBubblewrap, findDocker]) {
    const choice = await find();
    const result = choice.ok ? await probe(choice) : choice;
    if (result.ok) return result;
    failures.push(result);
  }
  return {
    ok: false,
    why: failures.map(({ why }) => why).join("; "),
    hint: failures.map(({ hint }) => hint).join(" Or: "),
  };
}

async function probe(choice: Extract<SandboxChoice, { ok: true }>): Promise<SandboxChoice> {
  const { sandbox } = choice;
  const workspace = openWorkspace();
  try {
    const run = await runPython(sandbox, PROBE, workspace, NEVER);
    if (run.stdout.trim() === PROOF) return choice;
    const why = `${sandbox.about} does not work on this machine (${lastLine(run.stderr) || "no output"})`;
    return { ok: false, why, hint: HINTS[sandbox.kind] };
  } catch (error) {
    const why = `${sandbox.about} does not start (${(error as Error).message})`;
    return { ok: false, why, hint: HINTS[sandbox.kind] };
  } finally {
    await workspace.close();
  }
}

/** Never pulled automatically, because a run must not start with an unrequested download. */
export const DOCKER_IMAGE = "python:3.12-slim";

/** Maximum milliseconds to start. A container is slower to start than a namespace. */
const START_MS = 15_000;

/** Checks that the Docker daemon responds and has the image. */
async function findDocker(): Promise<SandboxChoice> {
  const version = await dockerVersion();
  if (version === "not installed") return { ok: false, why: "Docker is not installed", hint: "Install Docker." };
  if (version === "no answer") {
    return { ok: false, why: "the Docker daemon does not respond", hint: "Start Docker." };
  }
  if (!(await hasImage(DOCKER_IMAGE))) {
    return { ok: false, why: `the Docker image ${DOCKER_IMAGE} is missing`, hint: `Run docker pull ${DOCKER_IMAGE}.` };
  }
  return {
    ok: true,
    sandbox: {
      kind: "docker",
      about: `Docker ${version.number}, ${DOCKER_IMAGE}`,
      limits: { memory: "hard (cgroup)", disk: "watched", processes: "hard" },
      launch(folders) {
        const name = `art-e-${randomUUID()}`;
        return {
          program: "docker",
          args: dockerArguments(name, folders, userOf(folders)),
          env: null,
          owner: null,
          folder: "/",
          filter: null,
          cgroups: null,
          startMs: START_MS,
          // Killing the client would leave the container running.
          stop: async () => {
            await docker(["kill", name], 30_000).catch(() => undefined);
          },
        };
      },
    },
  };
}

export function dockerArguments(name: string, folders: WorkspaceFolders, user: string): string[] {
  const memory = String(PYTHON_LIMITS.memoryBytes);
  return [
    ["run", "--rm", "--interactive", "--pull", "never", "--name", name, "--network", "none", "--read-only"],
    ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", user, "--ipc", "none", "--init"],
    ["--memory", memory, "--memory-swap", memory, "--pids-limit", String(PYTHON_LIMITS.processes), "--cpus", "1"],
    ["--hostname", "sandbox", "--log-driver", "none", "--workdir", INSIDE],
    ["--env", `HOME=${INSIDE}`, "--env", "LANG=C.UTF-8", "--env", "TZ=UTC"],
    ["--mount", `type=bind,source=${folders.files},target=${INSIDE}`],
    ["--mount", `type=bind,source=${folders.temporary},target=/tmp`],
    [DOCKER_IMAGE, "python3", ...PYTHON_FLAGS, "-c", pythonPreamble({ strict: true, ready: null })],
  ].flat();
}

/** Runs as the workspace's owner, so that its files can be read and removed afterward. */
function userOf({ owner }: WorkspaceFolders): string {
  if (owner !== null) return `${owner.uid}:${owner.gid}`;
  return `${process.getuid?.() ?? 65_534}:${process.getgid?.() ?? 65_534}`;
}
