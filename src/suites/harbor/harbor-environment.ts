// Reads the environment of a Harbor task: its base image, packages, files and folders, and why it needs Docker.
import { basename, join } from "node:path";
import { compact } from "../../platform/optional-values.js";
import { isBelowAny } from "../../sandbox/task-machine.js";
import { fileStateOf } from "../suite-folder.js";
import { type ReadDockerfile, readDockerfile } from "./dockerfile.js";
import { plainVariables, readSettings } from "./task-toml.js";

/** Contents of a task's machine. */
export interface HarborEnvironment extends Omit<ReadDockerfile, "base"> {
  /** The task's prebuilt image, or null if it has none. */
  readonly image: string | null;
  /** Programs of the base image. */
  readonly commands: Readonly<Record<string, string>>;
  /** Why the environment needs Docker. If empty, bubblewrap works if its packages are installed on this machine. */
  readonly obstacles: readonly string[];
}

/** Base images that this machine's own packages can replace, with their programs. */
const BASES: readonly (readonly [name: RegExp, commands: Readonly<Record<string, string>>])[] = [
  [/^(debian|ubuntu|buildpack-deps)(:(?!.*(alpine|windows))[\w.-]+)?$/, { bash: "bash" }],
  [/^python(:(3|latest|slim|bookworm|trixie)(?!.*(alpine|windows))[\w.-]*)?$/, { bash: "bash", python3: "python3" }],
];

/** Reads a task's environment: its Dockerfile, or its image with the files next to it. */
export function readEnvironment(
  folder: string,
): ({ readonly ok: true } & HarborEnvironment) | { ok: false; why: string } {
  const settings = readSettings(folder);
  if (!settings.ok) return { ok: false, why: settings.issues[0]?.message ?? "cannot read task.toml" };
  const { docker_image: image = null, workdir, env } = settings.value.environment;
  const environment = join(folder, "environment");
  let read: ReadDockerfile;
  if (fileStateOf(folder, "environment/Dockerfile") === "missing") {
    if (image === null) return { ok: false, why: "is missing, and task.toml has no docker_image" };
    const to = workdir ?? "/app";
    const copies = fileStateOf(folder, "environment") === "folder" ? [{ from: environment, to }] : [];
    read = {
      base: image,
      workdir: to,
      env: {},
      folders: [to],
      copies,
      modes: [],
      packages: [],
      modules: [],
      obstacles: [],
    };
  } else {
    try {
      read = readDockerfile(environment);
    } catch (error) {
      return { ok: false, why: (error as Error).message };
    }
  }
  const name = (read.base ?? "")
    .replace(/^docker\.io\//, "")
    .replace(/^library\//, "")
    .replace(/@sha256:.*$/, "");
  const commands = BASES.find(([pattern]) => pattern.test(name))?.[1];
  const obstacles = compact([
    commands === undefined && `unknown base image ${read.base ?? "(none)"}`,
    ...read.obstacles,
    ...[workdir ?? read.workdir, ...read.folders, ...read.copies.map(({ to }) => to)].flatMap((path) =>
      isKept(path) ? [`${path} is reserved for the machine`] : [],
    ),
    ...[workdir ?? read.workdir, ...read.folders].flatMap((path) =>
      SYSTEM.test(path) ? [`${path} is in a read-only folder of the machine's packages`] : [],
    ),
  ]);
  return {
    ok: true,
    ...read,
    image,
    workdir: workdir ?? read.workdir,
    env: { ...read.env, ...plainVariables(env) },
    commands: commands ?? {},
    obstacles: [...new Set(obstacles)],
  };
}

const KERNEL = ["/proc", "/dev", "/sys", "/opt/machine"];

function isKept(path: string): boolean {
  return isBelowAny(path, KERNEL) || /^\/(opt|var|home)$/.test(path);
}

/** Package folders, which the host shares with the task's machines. */
const SYSTEM = /^\/(usr|bin|sbin|lib|lib32|lib64|libx32|etc)(\/|$)/;

/**
 * Returns the mount point of the in-memory file system for a path: its first folder, or its first two for shared
 * folders. Null for the machine's package folders, which are read-only.
 */
export function writableMount(path: string): string | null {
  const [first = "", second] = path.split("/").slice(1);
  if (first === "" || SYSTEM.test(path)) return null;
  if (!["opt", "var", "home", "dev"].includes(first)) return `/${first}`;
  return second === undefined ? null : `/${first}/${second}`;
}

/** Returns the name of a task's image, with a default if it has none. */
export function imageOf(environment: HarborEnvironment, folder: string): string {
  const word = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-");
  return environment.image ?? `art-e-harbor/${word.replace(/^-+|-+$/g, "") || "task"}`;
}
