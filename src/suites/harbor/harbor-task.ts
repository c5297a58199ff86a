import { createHash } from "node:crypto";
import { type Dirent, lstatSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, posix } from "node:path";
import { parse } from "smol-toml";
import { z } from "zod";
import { compact } from "../../platform/optional-values.js";
import type { SuiteTask } from "../../tasks/suite-task.js";
import {
  fieldPath,
  fileStateOf,
  pathInSuite,
  type SuiteFinding,
  type SuiteFolder,
  type TaskFilePath,
} from "../suite-folder.js";
import { type FileCopy, type ReadDockerfile, readDockerfile } from "./dockerfile.js";

/** The setup function of a task with a healthcheck, and the evaluation function of every task. */
export const HEALTHCHECK = "healthcheck";
export const TEST_SCRIPT = "tests/test.sh";

/** Codes of findings about a task that cannot run at all, or only in a container. */
export const UNSUPPORTED = "unsupported";
export const NEEDS_DOCKER = "needs_docker";

/** A task, or its problems. The findings describe anything unusual, and why the task cannot run if it cannot. */
type HarborReading =
  | {
      readonly ok: true;
      readonly task: SuiteTask;
      readonly path: TaskFilePath;
      readonly findings: readonly SuiteFinding[];
    }
  | { readonly ok: false; readonly problems: SuiteFinding[] };

type SettingsReading =
  | { readonly ok: true; readonly value: HarborSettings }
  | { readonly ok: false; readonly issues: readonly { readonly field: string; readonly message: string }[] };

type HarborObstacle = Pick<SuiteFinding, "code" | "field" | "message"> & Partial<Pick<SuiteFinding, "level" | "file">>;

/** Contents of a task's machine. */
export interface HarborEnvironment extends Pick<ReadDockerfile, "folders" | "modes" | "packages" | "modules"> {
  /** The task's prebuilt image, or null if it has none. */
  readonly image: string | null;
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly copies: readonly FileCopy[];
  /** Programs of the base image. */
  readonly commands: Readonly<Record<string, string>>;
  /** Why the environment needs Docker. If empty, bubblewrap works if its packages are installed on this machine. */
  readonly obstacles: readonly string[];
}

const seconds = z.number("expected a number of seconds").positive("expected more than 0 seconds").max(86_400);

const variables = z.record(z.string().regex(/^[A-Za-z_]\w*$/, "expected a variable name"), z.string());

export const healthcheckSchema = z.object({
  command: z.string().min(1),
  interval_sec: z.number().min(0).max(3600).default(5),
  timeout_sec: seconds.default(30),
  start_period_sec: z.number().min(0).max(3600).default(0),
  retries: z.int().min(1).max(1000).default(3),
});

const versionText = z.union([z.string(), z.number()]).transform(String);

/** Schema of `task.toml`, versions 1.0 to 1.4. Ignores unknown keys, like Harbor. */
const settingsSchema = z.looseObject({
  /** This field is called `version` in the first Harbor tasks. */
  schema_version: versionText.optional(),
  version: versionText.optional(),
  task: z.looseObject({ name: z.string() }).optional(),
  metadata: z
    .looseObject({
      category: z.string().optional().catch(undefined),
      tags: z.array(z.string()).default([]).catch([]),
    })
    .prefault({}),
  agent: z.looseObject({ timeout_sec: seconds.optional(), user: z.unknown().optional() }).prefault({}),
  verifier: z
    .looseObject({
      timeout_sec: seconds.default(600),
      env: variables.default({}),
      user: z.unknown().optional(),
      environment_mode: z.string().default("shared"),
      environment: z.unknown().optional(),
      collect: z.array(z.unknown()).default([]),
    })
    .prefault({}),
  environment: z
    .looseObject({
      docker_image: z.string().min(1).optional(),
      os: z.string().default("linux"),
      gpus: z.number().default(0),
      gpu_types: z.array(z.unknown()).nullish(),
      workdir: z.string().startsWith("/", "expected an absolute path").optional(),
      env: variables.default({}),
      mcp_servers: z.array(z.unknown()).default([]),
      healthcheck: healthcheckSchema.optional(),
    })
    .prefault({}),
  solution: z.looseObject({ env: variables.default({}) }).prefault({}),
  steps: z.array(z.unknown()).optional(),
});

type HarborSettings = z.output<typeof settingsSchema>;

/** Reads a task's folder. Returns the problems by file and field if it is invalid. */
export function readHarborTask(path: TaskFilePath, suite: SuiteFolder): HarborReading {
  const { folder, folderName: id } = path;
  const problem = (file: string, code: string, field: string, message: string): SuiteFinding => ({
    level: "error",
    task: null,
    file: pathInSuite(suite, join(folder, file)),
    code,
    field,
    message,
  });
  const missing = ["instruction.md", TEST_SCRIPT].filter((file) => fileStateOf(folder, file) !== "file");
  const settings = readSettings(folder);
  // A task with several steps has these files in each step.
  const isOfSteps = settings.ok && settings.value.steps !== undefined;
  if (missing.length > 0 && !isOfSteps) {
    const message = "is missing, or is not a regular file";
    return { ok: false, problems: missing.map((file) => problem(file, "file_missing", "", message)) };
  }
  if (!settings.ok) {
    const problems = settings.issues.map(({ field, message }) => problem("task.toml", "task_invalid", field, message));
    return { ok: false, problems };
  }
  const { task, metadata, verifier, environment } = settings.value;
  const options = {
    timeout_sec: verifier.timeout_sec,
    env: plainVariables(verifier.env),
    fingerprint: fingerprintOf(folder),
  };
  const { healthcheck } = environment;
  const suiteTask: SuiteTask = {
    id,
    dialect: "harbor",
    tool: path.tool,
    folder,
    instruction: isOfSteps ? "several steps" : readFileSync(join(folder, "instruction.md"), "utf8").slice(0, MAX_TEXT),
    snapshot: pathInSuite(suite, join(folder, "environment")),
    source: task === undefined ? [] : [task.name],
    relatedApps: [],
    tags: metadata.tags,
    actionNumber: null,
    counterpart: null,
    config: healthcheck === undefined ? [] : [{ func: HEALTHCHECK, arguments: healthcheck }],
    evaluation: {
      postconfig: [],
      metrics: [{ func: TEST_SCRIPT, result: null, expected: null, options }],
      conjunction: "and",
    },
  };
  const findings = obstaclesOf(folder, settings.value).map(({ level = "warning", file = "task.toml", ...rest }) => ({
    level,
    task: id,
    file: pathInSuite(suite, join(folder, file)),
    ...rest,
  }));
  return { ok: true, task: suiteTask, path, findings };
}

const MAX_TEXT = 200_000;
const MAX_BYTES = 1_000_000;

/** Reads a task's `task.toml`. */
export function readSettings(folder: string): SettingsReading {
  const file = join(folder, "task.toml");
  const failed = (message: string): SettingsReading => ({ ok: false, issues: [{ field: "", message }] });
  if (fileStateOf(folder, "task.toml") !== "file") return failed("is not a regular file");
  if (lstatSync(file).size > MAX_BYTES) return failed(`has more than ${MAX_BYTES} bytes`);
  let toml: unknown;
  try {
    toml = parse(readFileSync(file, "utf8"));
  } catch (cause) {
    return failed(`is not TOML: ${(cause as Error).message.split("\n")[0]}`);
  }
  const parsed = settingsSchema.safeParse(toml);
  if (parsed.success) return { ok: true, value: parsed.data };
  return { ok: false, issues: parsed.error.issues.map(({ path, message }) => ({ field: fieldPath(path), message })) };
}

/** A value from the host's environment: `${NAME}` or `${NAME:-default}`. */
const TEMPLATE = /^\$\{(\w+)(?::-(.*))?\}$/;

/** Returns variables with host values replaced by their defaults. Omits host values without a default. */
export function plainVariables(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => {
      const template = TEMPLATE.exec(value);
      if (template === null) return [[name, value]];
      return template[2] === undefined ? [] : [[name, template[2]]];
    }),
  );
}

/** Returns why a task cannot run at all, or null if it can. */
export function findUnsupported(folder: string): string | null {
  const settings = readSettings(folder);
  if (!settings.ok) return null;
  const obstacle = obstaclesOf(folder, settings.value).find(({ code }) => code === UNSUPPORTED);
  if (obstacle === undefined) return null;
  return obstacle.field === "" ? obstacle.message : `${obstacle.field}: ${obstacle.message}`;
}

/** Programs that download something, in a script that runs without a network. */
const FETCHING =
  /\b(curl|wget|git clone|(apt|apt-get) (-\S+ )*(install|update)|pip3? install|uvx?|npm (i|install|ci)|npx)\b/;

function obstaclesOf(
  folder: string,
  { steps, verifier, environment, agent, ...settings }: HarborSettings,
): HarborObstacle[] {
  const refused = (field: string, message: string): HarborObstacle => ({ code: UNSUPPORTED, field, message });
  const hostVariables = (table: string, env: Readonly<Record<string, string>>) =>
    Object.entries(env)
      .filter(([, value]) => TEMPLATE.exec(value)?.[2] === undefined && TEMPLATE.test(value))
      .map(([name, value]) => refused(`${table}.env.${name}`, `uses ${value} from the host, which tasks do not get`));
  const compose = ["docker-compose.yaml", "docker-compose.yml"].find(
    (name) => fileStateOf(folder, `environment/${name}`) !== "missing",
  );
  const isSeparate = verifier.environment_mode !== "shared" || verifier.environment !== undefined;
  const fetching = steps === undefined ? fetchingLine(join(folder, TEST_SCRIPT)) : null;
  const users = [
    ["agent.user", agent.user],
    ["verifier.user", verifier.user],
  ] as const;
  return compact([
    ...versionObstacles(settings),
    steps !== undefined && refused("steps", "tasks with several steps are unsupported"),
    compose !== undefined && {
      ...refused("", "tasks with additional containers are unsupported"),
      file: `environment/${compose}`,
    },
    (environment.gpus > 0 || (environment.gpu_types ?? []).length > 0) && refused("environment.gpus", "needs a GPU"),
    environment.os !== "linux" && refused("environment.os", `needs ${environment.os}`),
    (isSeparate || verifier.collect.length > 0) &&
      refused("verifier", "a separate verifier environment is unsupported"),
    ...hostVariables("environment", environment.env),
    ...hostVariables("verifier", verifier.env),
    fetching !== null && { ...refused("", `needs a network, which tasks do not have: ${fetching}`), file: TEST_SCRIPT },
    ...(compose === undefined ? imageObstacles(folder) : []),
    ...(fileStateOf(folder, "solution/solve.sh") === "file"
      ? hostVariables("solution", settings.solution.env)
      : [
          {
            code: "solution_missing",
            field: "",
            message: "is missing, so the oracle cannot solve the task",
            file: "solution/solve.sh",
          },
        ]),
    environment.mcp_servers.length > 0 && {
      code: "mcp_passed_over",
      field: "environment.mcp_servers",
      message: "agents do not get MCP servers from tasks",
    },
    ...users
      .filter(([, user]) => user !== undefined && user !== null)
      .map(([field]) => ({ code: "user_passed_over", field, message: "everything runs as one user" })),
  ]);
}

/** Reports unknown versions, in which the same keys might have a different meaning or require something unsupported. */
function versionObstacles({
  schema_version,
  version,
}: Pick<HarborSettings, "schema_version" | "version">): HarborObstacle[] {
  const schemaVersion = schema_version ?? version;
  if (schemaVersion === undefined || /^1(\.[0-4])?$/.test(schemaVersion)) return [];
  const field = schema_version === undefined ? "version" : "schema_version";
  const message = `"${schemaVersion.slice(0, 20)}" is unknown: art-e reads versions 1.0 to 1.4`;
  return [{ code: schemaVersion.startsWith("1.") ? "version_unknown" : UNSUPPORTED, field, message }];
}

function imageObstacles(folder: string): HarborObstacle[] {
  const environment = readEnvironment(folder);
  const file = "environment/Dockerfile";
  if (!environment.ok)
    return [{ level: "error", code: "environment_invalid", field: "", message: environment.why, file }];
  const [first, ...more] = environment.obstacles;
  if (first === undefined) return [];
  const others = more.length === 0 ? "" : ` (and ${more.length} more)`;
  return [{ code: NEEDS_DOCKER, field: "", message: `its environment needs Docker: ${first}${others}`, file }];
}

function fetchingLine(script: string): string | null {
  const lines = readFileSync(script, "utf8").slice(0, MAX_TEXT).split("\n");
  return (
    lines
      .map((line) => line.trim())
      .find((line) => !line.startsWith("#") && FETCHING.test(line))
      ?.slice(0, 100) ?? null
  );
}

const LARGEST_HASHED = 100_000;

/** Returns the SHA-256 of the paths and sizes of a task's files and of the contents of those that are not large. */
function fingerprintOf(folder: string): string {
  const hash = createHash("sha256");
  const visit = (path: string) => {
    const entries: Dirent[] = readdirSync(join(folder, path), { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const file = posix.join(path, entry.name);
      if (entry.isDirectory()) visit(file);
      if (!entry.isFile()) continue;
      const { size } = lstatSync(join(folder, file));
      hash.update(`${file}\0${size}\0`);
      if (size <= LARGEST_HASHED) hash.update(readFileSync(join(folder, file)));
    }
  };
  visit("");
  return hash.digest("hex");
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
  return KERNEL.some((folder) => path === folder || path.startsWith(`${folder}/`)) || /^\/(opt|var|home)$/.test(path);
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
