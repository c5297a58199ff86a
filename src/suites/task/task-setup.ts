// Runs the setup functions of a task. The table of setup functions.
import { readFile } from "node:fs/promises";
import { posix } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { messageOf } from "../../platform/errors.js";
import { type JsonObject, jsonObjectSchema } from "../../platform/json.js";
import type { CommandResult, TaskMachine } from "../../sandbox/task-machine.js";
import type { FunctionCall, ObstacleState, SuiteDialect, SuiteTask } from "../../tasks/suite-task.js";
import { ATTACH_INBOX, attachInboxSchema } from "../email-task.js";
import { type CustomFunctions, callCustomFunction, NO_CUSTOM_FUNCTIONS } from "../functions/custom-functions.js";
import type { FunctionNeed } from "../functions/function-table.js";
import { HEALTHCHECK } from "../harbor/harbor-task.js";
import { checkHealth } from "../harbor/harbor-trial.js";
import { healthcheckSchema } from "../harbor/task-toml.js";
import { argvOf, commandSchema, describeFailure, expandHome, runFlowbookScript } from "../machines/machine-commands.js";
import { type ArgumentSchema, parseArguments } from "../suite-folder.js";
import { type AccountSettings, readAccountSettings, settingsName } from "./account-settings.js";
import { resolveSharedFile, resolveSuiteFile } from "./suite-files.js";

export interface SetUpRefusal {
  readonly ok: false;
  readonly state: "setup_error" | ObstacleState;
  /** One line that describes the step and its failure. */
  readonly reason: string;
}

/** Everything that an action can use. */
interface SetupContext {
  readonly task: SuiteTask;
  readonly machine: TaskMachine;
  readonly options: {
    readonly suiteRoot: string;
    /** Factor for sleeps. 1 by default. */
    readonly timeScale?: number;
    readonly accounts?: AccountSettings | undefined;
    readonly custom?: CustomFunctions | undefined;
  };
  readonly signal: AbortSignal;
}

/**
 * Outcome of an action. `passed_over` means that the action needs a screen and the task continues without it. `failed`
 * means that it was tried. Any other state is a requirement that is missing on this machine.
 */
interface ActionOutcome {
  readonly state: "done" | "passed_over" | "failed" | ObstacleState;
  /** A few words, or an empty string if the action succeeded. */
  readonly reason: string;
}

/** A function of `config` or `postconfig`. */
interface SetupFunction {
  readonly need: FunctionNeed;
  /** Whether the task continues if the function cannot run, because it only opens a window. */
  readonly isPassedOver: boolean;
  /** The action, or null if art-e cannot run the original suite's function. If the action throws, it has failed. */
  readonly run: ((args: JsonObject, context: SetupContext) => Promise<ActionOutcome>) | null;
  /** Schema of its arguments, if they are checked before it runs. */
  readonly takes?: ArgumentSchema;
}

/**
 * Runs the functions of a task's `config` in order until one fails. Returns the failure, or null if all succeeded.
 * Throws only if `signal` aborts.
 */
export async function runSetUp(context: SetupContext): Promise<SetUpRefusal | null> {
  for (const [i, call] of context.task.config.entries()) {
    const { state, reason } = await runStep(call, context);
    if (state === "done" || state === "passed_over") continue;
    const line = `setup step ${i + 1}, ${call.func}: ${reason}`.replace(/\s+/g, " ").trim().slice(0, 500);
    return { ok: false, state: state === "failed" ? "setup_error" : state, reason: line };
  }
  return null;
}

async function runStep({ func, arguments: args }: FunctionCall, context: SetupContext): Promise<ActionOutcome> {
  const { task, signal, options } = context;
  try {
    signal.throwIfAborted();
    const outcome = await findSetupFunction(task.dialect, func, options.custom)?.run?.(args, context);
    return outcome ?? { state: "unsupported", reason: "unknown function" };
  } catch (error) {
    if (signal.aborted) throw error;
    return { state: "failed", reason: messageOf(error) };
  }
}

function setUp<Args>(
  need: FunctionNeed,
  takes: ArgumentSchema & z.ZodType<Args>,
  act: (args: Args, context: SetupContext) => Promise<ActionOutcome>,
): SetupFunction {
  return { need, isPassedOver: false, run: async (args, context) => act(parseArguments(takes, args), context), takes };
}

const DONE: ActionOutcome = { state: "done", reason: "" };

const NEEDS_SCREEN: ActionOutcome = { state: "passed_over", reason: "needs a screen" };

const NEEDS_COMMANDS: ActionOutcome = { state: "unsupported", reason: "needs a machine that runs commands" };

function missingFile(path: string, where: "the suite" | "the task's folder"): ActionOutcome {
  return { state: "missing_files", reason: `needs ${path}, which is missing from ${where}` };
}

/** Returns the outcome of a command that had to succeed. */
function outcomeOf(argv: readonly string[], result: CommandResult): ActionOutcome {
  return result.exitCode === 0 ? DONE : { state: "failed", reason: describeFailure(argv.join(" "), result) };
}

const uploadFileSchema = z.looseObject({ local_path: z.string().min(1), remote_path: z.string().min(1) });

/** Flowbook's `upload_file_to_vm`: uploads a file from the task's folder and creates missing folders. */
const uploadFile = setUp("files", uploadFileSchema, async ({ local_path, remote_path }, { task, machine }) => {
  const source = await resolveSuiteFile(task.folder, local_path);
  if (source === null) return missingFile(local_path, "the task's folder");
  await machine.copyIn(source, expandHome(remote_path));
  return DONE;
});

/**
 * Flowbook's `upload_script_and_execute`. `remote_path` is the path of the script, as in Flowbook's commit 485a525, or
 * of the script's folder if it ends with a slash.
 */
const uploadScript = setUp("script", uploadFileSchema, async (args, { task, machine, signal }) => {
  const { local_path, remote_path } = args;
  const source = await resolveSuiteFile(task.folder, local_path);
  if (source === null) return missingFile(local_path, "the task's folder");
  if (!machine.canRun) return NEEDS_COMMANDS;
  const place = expandHome(remote_path);
  const path = place.endsWith("/") ? posix.join(place, posix.basename(local_path)) : place;
  return outcomeOf([path], await runFlowbookScript(source, path, machine, signal));
});

const sleepSchema = z.looseObject({ seconds: z.number().min(0).max(3600) });

const sleepAction = setUp("files", sleepSchema, async ({ seconds }, { options, signal }) => {
  await sleep(seconds * 1000 * (options.timeScale ?? 1), undefined, { signal });
  return DONE;
});

const EXECUTE_TIMEOUT_MS = 300_000;
const MAX_TRIES = 5;

const untilSchema = z.looseObject({
  returncode: z.int().optional(),
  stdout: z.string().optional(),
  stderr: z.string().optional(),
});

const executeSchema = commandSchema.extend({ until: untilSchema.optional() });

/** `execute` and `command`. With `until`, repeats until the condition holds. */
const execute = setUp("script", executeSchema, async ({ until, ...command }, { machine, signal, options }) => {
  const argv = argvOf(command);
  if (isForScreen(argv)) return NEEDS_SCREEN;
  if (!machine.canRun) return NEEDS_COMMANDS;
  const end = performance.now() + EXECUTE_TIMEOUT_MS;
  for (let failures = 0; ; ) {
    const result = await machine.run({ argv, cwd: null, env: {}, timeoutMs: EXECUTE_TIMEOUT_MS }, signal);
    if (until === undefined || Object.keys(until).length === 0) return outcomeOf(argv, result);
    if (result.exitCode === null) failures++;
    else if (holds(until, result)) return DONE;
    if (failures >= MAX_TRIES || performance.now() > end) {
      return { state: "failed", reason: "the `until` condition was never met" };
    }
    await sleep(300 * (options.timeScale ?? 1), undefined, { signal });
  }
});

/**
 * Returns whether a command sends keys or clicks. Tasks use such commands to save documents that are open on a screen.
 */
const isForScreen = (argv: readonly string[]) => argv.some((word) => /\b(pyautogui|xdotool|wmctrl)\b/.test(word));

const isIn = (part: string | undefined, text: string) => part !== undefined && text.includes(part);

function holds(until: z.output<typeof untilSchema>, { exitCode, stdout, stderr }: CommandResult): boolean {
  return until.returncode === exitCode || isIn(until.stdout, stdout) || isIn(until.stderr, stderr);
}

const runScriptSchema = z.looseObject({
  src: z.string().min(1),
  dest: z.string().min(1).default("/home/user/init.sh"),
  options: z.array(z.string()).default([]),
});

/** `script_and_execute`: runs a script and then deletes it. */
const runScript = setUp("script", runScriptSchema, async (args, { machine, options, signal }) => {
  const { src, dest, options: words } = args;
  const source = await resolveSharedFile(options.suiteRoot, src);
  if (source === null) return missingFile(src, "the suite");
  if (!machine.canRun) return NEEDS_COMMANDS;
  const path = expandHome(dest);
  const run = (argv: string[]) => machine.run({ argv, cwd: null, env: {}, timeoutMs: EXECUTE_TIMEOUT_MS }, signal);
  await machine.copyIn(source, path);
  await run(["chmod", "a+x", path]);
  const argv = ["/bin/bash", path, ...words];
  const result = await run(argv);
  await run(["rm", "-f", path]);
  return outcomeOf(argv, result);
});

const TIMEOUT_MS = 60_000;

const copyFileSchema = z.looseObject({
  src: z.string().min(1),
  dest: z.string().min(1),
  json_encode: z.boolean().default(false),
});

/** The text is in a variable, so that no file outside of the machine contains account settings. */
const WRITE = 'mkdir -p "$(dirname "$1")" && printf %s "$CONTENT" > "$1"';

/**
 * `copyfile_from_host_to_guest`: copies a file from the suite, or account settings. `json_encode` encodes values as
 * base64.
 */
const copyFile = setUp("files", copyFileSchema, async ({ src, dest, json_encode }, context) => {
  const path = expandHome(dest);
  const name = settingsName(src);
  if (name !== null) {
    const text = readAccountSettings(name, context.task, context.options.accounts);
    return await write(json_encode ? encodeValues(text) : text, path, context);
  }
  const source = await resolveSharedFile(context.options.suiteRoot, src);
  if (source === null) return missingFile(src, "the suite");
  if (json_encode) return await write(encodeValues(await readFile(source, "utf8")), path, context);
  await context.machine.copyIn(source, path);
  return DONE;
});

/** Encodes the values of a JSON object as base64. */
function encodeValues(text: string): string {
  const encoded = Object.entries(jsonObjectSchema.parse(JSON.parse(text))).map(([key, value]) => {
    const plain = typeof value === "string" ? value : JSON.stringify(value);
    return [key, Buffer.from(plain).toString("base64")];
  });
  return JSON.stringify(Object.fromEntries(encoded), null, 4);
}

async function write(text: string, path: string, { machine, signal }: { machine: TaskMachine; signal: AbortSignal }) {
  if (!machine.canRun) return NEEDS_COMMANDS;
  const argv = ["/bin/sh", "-c", WRITE, "sh", path];
  const result = await machine.run({ argv, cwd: null, env: { CONTENT: text }, timeoutMs: TIMEOUT_MS }, signal);
  return outcomeOf(["copying to", path], result);
}

/** ART-E's `attach_inbox`. Does nothing: the mail is in the database, and the tools are bound to the mailbox. */
const attachInbox = setUp("mailbox", attachInboxSchema, async () => DONE);

const waitForHealth = setUp("script", healthcheckSchema, async (healthcheck, { machine, signal }) => {
  if (!machine.canRun) return NEEDS_COMMANDS;
  const reason = await checkHealth(healthcheck, machine, signal);
  return reason === null ? DONE : { state: "failed", reason };
});

const needing = (need: FunctionNeed): SetupFunction => ({ need, isPassedOver: false, run: null });

const WINDOW: SetupFunction = { need: "screen", isPassedOver: true, run: async () => NEEDS_SCREEN };
const SCREEN = needing("screen");
const SERVER = needing("server");
const ACCOUNT = needing("account");
const UNSUPPORTED = needing("unsupported");

/** Setup functions (`config` and `postconfig`) of each dialect's original suite. */
const SETUP_FUNCTIONS: Readonly<Record<SuiteDialect, Readonly<Record<string, SetupFunction>>>> = {
  flowbook: {
    upload_file_to_vm: uploadFile,
    upload_script_and_execute: uploadScript,
    // For ART-E's own tasks, which are in Flowbook's format.
    [ATTACH_INBOX]: attachInbox,
  },
  harbor: { [HEALTHCHECK]: waitForHealth },
  spider2v: {
    copyfile_from_host_to_guest: copyFile,
    script_and_execute: runScript,
    execute,
    command: execute,
    sleep: sleepAction,
    google_chrome_browser: WINDOW,
    launch: WINDOW,
    open: WINDOW,
    activate_window: WINDOW,
    close_window: WINDOW,
    tidy_desktop: WINDOW,
    change_wallpaper: WINDOW,
    chrome_open_tabs: WINDOW,
    chrome_close_tabs: WINDOW,
    act: SCREEN,
    replay: SCREEN,
    update_browse_history: SCREEN,
    copyfile_from_guest_to_host: UNSUPPORTED,
    upload_file: UNSUPPORTED,
    download: SERVER,
    airbyte_webui_init: SERVER,
    astro_webui_init: SERVER,
    astro_refresh_page: SERVER,
    superset_webui_init: SERVER,
    metabase_webui_init: SERVER,
    dagster_webui_init: SERVER,
    dagster_environment_variables: SERVER,
    login: ACCOUNT,
    googledrive: ACCOUNT,
    googledrive_init: ACCOUNT,
    googledrive_login: ACCOUNT,
    hasura_login: ACCOUNT,
    dagster_cloud_webui_login: ACCOUNT,
    bigquery_init: ACCOUNT,
    bigquery_login: ACCOUNT,
    dbt_cloud_init: ACCOUNT,
    dbt_cloud_webui_login: ACCOUNT,
    gcp_upload_keyfile: ACCOUNT,
    gcp_webgui: ACCOUNT,
    gcp_config_webgui: ACCOUNT,
    workarena_task_init: ACCOUNT,
    workarena_unique_fields: ACCOUNT,
    snowflake_init: ACCOUNT,
    snowflake_login: ACCOUNT,
    snowflake_write_sqls_in_new_worksheet: ACCOUNT,
    snowflake_delete_folder: ACCOUNT,
    snowflake_delete_filter: ACCOUNT,
  },
};

/** Returns a function, or null if neither the dialect nor the user has it. */
export function findSetupFunction(
  dialect: SuiteDialect,
  name: string,
  custom: CustomFunctions = NO_CUSTOM_FUNCTIONS,
): SetupFunction | null {
  const call = custom.setUp.get(name);
  if (call === undefined) return findBuiltIn(dialect, name);
  return {
    need: "script",
    isPassedOver: false,
    async run(args, { task, machine, options: { accounts }, signal }) {
      await callCustomFunction(call, args, { task, machine, accounts, signal });
      return DONE;
    },
  };
}

/** Returns the arguments of a supported Flowbook or Spider2-V function, or null if it is unknown. */
export function setupArguments(name: string): ArgumentSchema | null {
  return (findBuiltIn("flowbook", name) ?? findBuiltIn("spider2v", name))?.takes ?? null;
}

/** Returns whether the dialect has the function and art-e can run it. */
export function hasSetupFunction(dialect: SuiteDialect, name: string): boolean {
  const setupFunction = findBuiltIn(dialect, name);
  return setupFunction !== null && setupFunction.run !== null && !setupFunction.isPassedOver;
}

function findBuiltIn(dialect: SuiteDialect, name: string): SetupFunction | null {
  const functions = SETUP_FUNCTIONS[dialect];
  return Object.hasOwn(functions, name) ? (functions[name] ?? null) : null;
}
