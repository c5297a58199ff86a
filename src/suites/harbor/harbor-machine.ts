// Machines of Harbor tasks: a container if Docker has the image, otherwise bubblewrap.
import { execFile } from "node:child_process";
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { shellWord } from "../../platform/command-line.js";
import type { MachineHostChoice } from "../../sandbox/bubblewrap-machine.js";
import { hasImage, missingDocker } from "../../sandbox/docker-machine.js";
import { MACHINE_LIMITS, SHIMS } from "../../sandbox/limits.js";
import type { BuiltInFile } from "../../sandbox/machine-guest.js";
import { checkSnapshots, EMPTY_SNAPSHOT, type Snapshot } from "../../sandbox/machine-snapshots.js";
import { openDockerMachine, openTaskMachine } from "../../sandbox/open-task-machine.js";
import type { OpenedMachine, TaskMachines } from "../../sandbox/task-machine.js";
import { describeFailure } from "../machines/machine-commands.js";
import { DEFAULT_PATH, type FileCopy } from "./dockerfile.js";
import { type HarborEnvironment, imageOf, readEnvironment, writableMount } from "./harbor-environment.js";
import { TRIAL_FOLDERS } from "./harbor-trial.js";

/**
 * Machines of Harbor tasks. Each task has its own: a container if Docker has the task's image, otherwise bubblewrap
 * with the files that its Dockerfile copies. Nothing is built, pulled or installed.
 */
export class HarborMachines implements TaskMachines {
  private readonly missing = new Map<string, Promise<string | null>>();
  private docker: Promise<string | null> | undefined;

  /** @param hidden host folders that must not be visible in any machine */
  constructor(
    private readonly choice: MachineHostChoice,
    private readonly suiteRoot: string,
    private readonly hidden: readonly string[],
  ) {}

  /** Returns why a task's machine cannot open. `snapshot` is the path of the task's environment in the suite. */
  async findObstacle(snapshot: string): ReturnType<TaskMachines["findObstacle"]> {
    const lookup = this.missing.get(snapshot) ?? this.lookFor(dirname(join(this.suiteRoot, snapshot)));
    this.missing.set(snapshot, lookup);
    const reason = await lookup;
    return reason === null ? null : { state: "not_ready", reason };
  }

  async open(snapshot: string, signal: AbortSignal): Promise<OpenedMachine> {
    const folder = dirname(join(this.suiteRoot, snapshot));
    const environment = readEnvironment(folder);
    if (!environment.ok) throw new Error(environment.why);
    const image = imageOf(environment, folder);
    if ((await this.missingInDocker(image)) === null) {
      const container = { ...EMPTY_SNAPSHOT, name: snapshot, env: environment.env, image };
      const machine = await openDockerMachine(container, signal, { writable: true });
      return await furnished(machine, { ...environment, copies: [], modes: [] }, signal);
    }
    if (!this.choice.ok) throw new Error(this.choice.why);
    const paths = [...TRIAL_FOLDERS, ...environment.folders, ...environment.copies.map(({ to }) => to)];
    const mounts = paths.flatMap((path) => writableMount(path) ?? []);
    const limits = {
      ...MACHINE_LIMITS,
      disk: { ...Object.fromEntries(mounts.map((path) => [path, MOUNT_BYTES])), ...MACHINE_LIMITS.disk },
    };
    const files = environment.copies.flatMap((copy) =>
      writableMount(copy.to) === null ? builtIn(copy, environment) : [],
    );
    const options = { hidden: this.hidden, limits, files };
    const machine = await openTaskMachine(this.choice.host, plainSnapshot(snapshot, environment), options, signal);
    return await furnished(machine, environment, signal);
  }

  private async lookFor(folder: string): Promise<string | null> {
    const environment = readEnvironment(folder);
    if (!environment.ok) return `environment/Dockerfile ${environment.why}`;
    const image = imageOf(environment, folder);
    const docker = await this.missingInDocker(image);
    if (docker === null) return null;
    const [obstacle] = environment.obstacles;
    if (obstacle !== undefined) {
      const build = `docker build -t ${image} ${shellWord(join(folder, "environment"))}`;
      return `its environment needs Docker (${obstacle}), and ${docker}. With Docker: ${build}`;
    }
    if (!this.choice.ok) return `cannot start machines for tasks: ${this.choice.why}. ${this.choice.hint}`;
    const missing = [
      ...((await checkSnapshots([plainSnapshot("", environment)])).snapshots[0]?.missing ?? []),
      ...(await missingPackages(environment.packages)),
    ];
    if (missing.length > 0) return `its environment is not ready: apt-get install ${missing.join(" ")}`;
    const modules = await missingModules(environment.modules);
    return modules.length === 0 ? null : `its environment is not ready: python3 does not have ${modules.join(", ")}`;
  }

  private async missingInDocker(image: string): Promise<string | null> {
    this.docker ??= missingDocker();
    const docker = await this.docker;
    return docker ?? ((await hasImage(image)) ? null : `the Docker image ${image} is missing`);
  }
}

/** Size, in bytes, of each file system that a task's environment adds. */
const MOUNT_BYTES = 2 ** 30;

function plainSnapshot(name: string, { commands, env }: HarborEnvironment): Snapshot {
  const path = env.PATH === undefined ? {} : { PATH: `${SHIMS}:${env.PATH}` };
  const shims = "python3" in commands ? { python: 'exec python3 "$@"' } : {};
  return { ...EMPTY_SNAPSHOT, name, commands: { ...commands }, shims, env: { ...env, ...path } };
}

/** Returns the files that are copied into the machine's package folders. */
function builtIn({ from, to }: FileCopy, environment: HarborEnvironment): BuiltInFile[] {
  const { mode } = environment.modes.findLast(({ path }) => path === to) ?? {};
  const entry = lstatSync(from);
  if (entry.isDirectory()) {
    return readdirSync(from).flatMap((name) =>
      builtIn({ from: join(from, name), to: posix.join(to, name) }, environment),
    );
  }
  if (!entry.isFile())
    throw new Error(
      `Cannot copy ${from} into the machine: it is neither a regular file nor a folder (links are not followed)`,
    );
  const isProgram = mode === undefined ? (entry.mode & 0o111) !== 0 : /x|[1357]/.test(mode);
  return [{ path: to, content: readFileSync(from), mode: isProgram ? "0555" : "0444" }];
}

const SET_UP_MS = 120_000;

/** Returns the machine with the environment's folders, files and working directory. */
async function furnished(
  machine: OpenedMachine,
  { workdir, folders, copies, modes }: HarborEnvironment,
  signal: AbortSignal,
): Promise<OpenedMachine> {
  const run = async (...argv: string[]) => {
    const result = await machine.run({ argv, cwd: "/", env: {}, timeoutMs: SET_UP_MS }, signal);
    if (result.exitCode !== 0) throw new Error(describeFailure(argv.join(" "), result));
  };
  const isWritable = (path: string) => writableMount(path) !== null;
  try {
    await run("mkdir", "-p", ...TRIAL_FOLDERS, ...[workdir, ...folders].filter(isWritable));
    for (const { from, to } of copies.filter((copy) => isWritable(copy.to))) {
      const names = lstatSync(from).isDirectory() ? readdirSync(from) : null;
      if (names === null) await machine.copyIn(from, to);
      else for (const name of names.sort()) await machine.copyIn(join(from, name), posix.join(to, name));
    }
    for (const { path, mode } of modes.filter((one) => isWritable(one.path))) await run("chmod", mode, path);
    return {
      canRun: machine.canRun,
      workdir,
      copyIn: (from, path) => machine.copyIn(from, path),
      copyOut: (path, to) => machine.copyOut(path, to),
      run: (command, stop) => machine.run({ ...command, cwd: command.cwd ?? workdir }, stop),
      close: () => machine.close(),
    };
  } catch (error) {
    await machine.close();
    throw error;
  }
}

const ASK_MS = 30_000;

/** Returns the Debian packages that are not installed on this machine, or all of them if it does not run Debian. */
async function missingPackages(names: readonly string[]): Promise<readonly string[]> {
  if (names.length === 0) return [];
  // dpkg-query exits with 1 if it does not know one of the packages.
  const args = ["-W", "-f", `\${Package} \${db:Status-Status}\n`, ...names];
  const statusLines = await promisify(execFile)("dpkg-query", args, { timeout: ASK_MS }).then(
    ({ stdout }) => stdout,
    (error: { readonly stdout?: string }) => error.stdout ?? "",
  );
  const installed = new Set(
    statusLines.split("\n").flatMap((line) => (line.endsWith(" installed") ? line.split(" ")[0] : [])),
  );
  return names.filter((name) => !installed.has(name));
}

const ASK_VERSIONS = `
import importlib.metadata, json, sys
def version(name):
    try: return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError: return None
print(json.dumps([version(name) for name in json.loads(sys.argv[1])]))`;

/** Returns the Python packages that the machine's Python does not have in the required version. */
async function missingModules(modules: HarborEnvironment["modules"]): Promise<readonly string[]> {
  if (modules.length === 0) return [];
  const words = ["-I", "-c", ASK_VERSIONS, JSON.stringify(modules.map(({ name }) => name))];
  const options = { timeout: ASK_MS, cwd: "/", env: { PATH: DEFAULT_PATH } };
  const { stdout } = await promisify(execFile)("python3", words, options).catch(() => ({ stdout: "[]" }));
  const versions = z.array(z.string().nullable()).parse(JSON.parse(stdout));
  const requirements = modules.map(({ name, version }) => (version === null ? name : `${name}==${version}`));
  return requirements.filter((_, i) => {
    const version = modules[i]?.version ?? null;
    return versions[i] == null || (version !== null && versions[i] !== version);
  });
}
