// Reads a task in Harbor's format as a suite task, and finds what keeps it from running on this machine.
import { createHash } from "node:crypto";
import { type Dirent, lstatSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { compact } from "../../platform/optional-values.js";
import type { SuiteTask } from "../../tasks/suite-task.js";
import { fileStateOf, pathInSuite, type SuiteFinding, type SuiteFolder, type TaskFilePath } from "../suite-folder.js";
import { readEnvironment } from "./harbor-environment.js";
import { type HarborSettings, plainVariables, readSettings, TEMPLATE } from "./task-toml.js";

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

type HarborObstacle = Pick<SuiteFinding, "code" | "field" | "message"> & Partial<Pick<SuiteFinding, "level" | "file">>;

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
