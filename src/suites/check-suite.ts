import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { UserError } from "../platform/errors.js";
import { didYouMean } from "../platform/text.js";
import { readSnapshots } from "../sandbox/snapshots.js";
import { INSTRUCTION_STYLES } from "../tasks/difficulty.js";
import type { SuiteDialect } from "../tasks/suite-task.js";
import { checkArguments } from "./check-arguments.js";
import {
  type CheckContext,
  checkDestinations,
  checkFiles,
  checkMachinePaths,
  checkSettings,
  findingsOf,
  type TaskCheck,
} from "./check-paths.js";
import { type CustomFunctions, NO_CUSTOM_FUNCTIONS } from "./custom-functions.js";
import { ATTACH_INBOX, EMAIL_ANSWER } from "./email-task.js";
import { customFunctions } from "./load-custom-functions.js";
import { findSetupFunction } from "./setup.js";
import {
  ACCOUNT_TAG,
  DOMAIN_TAGS,
  INTERFACE_TAGS,
  KNOWN_TAGS,
  openSuiteFolder,
  parseIndexFile,
  pathInSuite,
  type SuiteFinding,
  type SuiteFolder,
} from "./suite-folder.js";
import { type LocatedCall, type ReadSuite, type ReadTask, readSuite } from "./task-file.js";
import { needOf, needsMachine } from "./task-needs.js";

export interface SuiteCheck {
  readonly suite: string;
  /** How many tasks could be read. */
  readonly tasks: number;
  readonly errors: readonly SuiteFinding[];
  readonly warnings: readonly SuiteFinding[];
}

/** `functions`: the user's module. */
export async function checkSuiteFolder(folder: string, functions: string | undefined): Promise<SuiteCheck> {
  const read = readSuite(openSuiteFolder(folder));
  const snapshots = await readSnapshots(read.suite.root).catch((error: unknown) => {
    if (error instanceof UserError) return error;
    throw error;
  });
  const isBroken = snapshots instanceof UserError;
  const findings = checkSuite(read, await customFunctions(functions), isBroken ? null : snapshots);
  if (isBroken) {
    const at = { task: null, file: "snapshots.json", field: "" };
    findings.unshift({ level: "error", code: "snapshots_invalid", ...at, message: snapshots.message });
  }
  return {
    suite: read.suite.name,
    tasks: read.tasks.length,
    errors: findings.filter(({ level }) => level === "error"),
    warnings: findings.filter(({ level }) => level === "warning"),
  };
}

/** One interface, one guidance and one domain tag, account where credentials are needed, and none of any other word. */
const checkTags: TaskCheck = (read, context) => {
  const { tags, dialect } = read.task;
  // The vocabulary is of work at a machine.
  if (!needsMachine(read.task)) return [];
  const { warning } = findingsOf(read, context);
  const findings: SuiteFinding[] = [];
  for (const [i, tag] of tags.entries()) {
    if (KNOWN_TAGS.has(tag)) continue;
    findings.push(warning("tag_unknown", `tags[${i}]`, `${tag} is no tag of the task format`));
  }
  const kinds = [
    ["interface", INTERFACE_TAGS],
    ["guidance", INSTRUCTION_STYLES],
    ["domain", DOMAIN_TAGS],
  ] as const;
  for (const [kind, known] of kinds) {
    const count = tags.filter((tag) => (known as readonly string[]).includes(tag)).length;
    // Tasks of one's own need no tags; a suite that has some of a kind goes by them.
    const isUsed = context.tasks.some(({ task }) =>
      task.tags.some((tag) => (known as readonly string[]).includes(tag)),
    );
    if (count === 1 || !isUsed) continue;
    const message = `has ${count === 0 ? "no" : count} ${kind} tags; one of ${known.join(", ")}`;
    findings.push(warning("tag_count", "tags", message));
  }
  const needsAccount = read.calls.find((call) => needOf(call, dialect, context.custom) === "account");
  if (needsAccount !== undefined && !tags.includes(ACCOUNT_TAG)) {
    const message = `lacks ${ACCOUNT_TAG}, which ${needsAccount.func} needs: account settings reach only tasks with it`;
    findings.push(warning("tag_account_missing", "tags", message));
  }
  return findings;
};

/** The index files beside `examples/` list tasks that the suite has. Other JSON files may lie there too. */
function checkIndexes(suite: SuiteFolder, tasks: readonly ReadTask[]): SuiteFinding[] {
  const known = new Set(tasks.map(({ task, path }) => `${path.tool}/${task.id}`));
  const names = readdirSync(suite.content, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".json"))
    .map(({ name }) => name)
    .sort();
  return names.flatMap((name): SuiteFinding[] => {
    const path = join(suite.content, name);
    const missing = (parseIndexFile(path) ?? []).filter(({ tool, id }) => !known.has(`${tool}/${id}`));
    return missing.map(({ tool, id }) => ({
      level: "error",
      code: "index_unknown_task",
      task: null,
      file: pathInSuite(suite, path),
      field: tool,
      message: `${id} is not in examples/${tool}`,
    }));
  });
}

const checkDuplicates: TaskCheck = (read, context) => {
  const first = context.byId.get(read.task.id);
  if (first === undefined || first === read) return [];
  const message = `is that of ${pathInSuite(context.suite, first.path.file)} too`;
  return [findingsOf(read, context).error("id_duplicate", "id", message)];
};

/** The id, the folder and the file have one name, which no other task has. */
const checkIdentity: TaskCheck = (read, context) => {
  const { task, path } = read;
  const { error } = findingsOf(read, context);
  const findings: SuiteFinding[] = [];
  if (task.id !== path.folderName) {
    findings.push(error("id_differs", "id", `is ${task.id}, but the task's folder is ${path.folderName}`));
  }
  if (basename(path.file) !== `${path.folderName}.json`) {
    const message = `is in ${basename(path.file)}, where ${path.folderName}.json is looked for`;
    findings.push(error("file_name_differs", "", message));
  }
  return [...findings, ...checkDuplicates(read, context)];
};

const KINDS: Readonly<Record<LocatedCall["role"], string>> = {
  config: "set-up function",
  postconfig: "set-up function",
  metric: "evaluation function",
  result: "getter",
  expected: "getter",
};

const ORIGINS: Readonly<Record<SuiteDialect, string>> = {
  flowbook: "Flowbook",
  spider2v: "Spider2-V",
  harbor: "Harbor",
};

/** Every function is known, and those that need what there is not here are named. */
const checkFunctions: TaskCheck = (read, context) => {
  const { task, calls, skipped } = read;
  const { custom } = context;
  const { error, warning } = findingsOf(read, context);
  const findings: SuiteFinding[] = [];
  for (const call of calls) {
    if (needOf(call, task.dialect, custom) !== null) continue;
    const other: SuiteDialect = task.dialect === "flowbook" ? "spider2v" : "flowbook";
    const hint = needOf(call, other) === null ? "" : `; ${ORIGINS[other]} has one, and writes its tasks otherwise`;
    const message = `${call.func} is no ${KINDS[call.role]} of ${ORIGINS[task.dialect]}${hint}`;
    findings.push(error("function_unknown", call.funcField, message));
  }
  for (const call of skipped) {
    const message = `${call.func} is passed over, as at the origin: Flowbook reads {func, arguments}`;
    findings.push(warning("function_old_spelling", call.funcField, message));
  }
  for (const need of ["account", "server", "screen"] as const) {
    const needing = calls.filter((call) => needOf(call, task.dialect, custom) === need);
    const [first] = needing;
    if (first === undefined) continue;
    const message = `${named(needing)}: needs ${need === "account" ? "an" : "a"} ${need}`;
    findings.push(warning(`needs_${need}`, first.funcField, message));
  }
  const unsupported = calls.filter((call) => needOf(call, task.dialect, custom) === "unsupported");
  for (const { func, funcField } of unsupported) {
    findings.push(warning("function_unsupported", funcField, `${func} cannot be run here`));
  }
  const windows = calls.filter(
    ({ role, func }) => isSetup(role) && findSetupFunction(task.dialect, func, custom)?.isPassedOver,
  );
  const [first] = windows;
  if (first !== undefined) {
    const message = `${named(windows)}: only for a screen, and passed over where there is none`;
    findings.push(warning("screen_passed_over", first.funcField, message));
  }
  if (task.evaluation === null) {
    findings.push(
      warning("evaluation_missing", "evaluation", "is missing or names no function: the task has no score"),
    );
  }
  return findings;
};

const isSetup = (role: LocatedCall["role"]) => role === "config" || role === "postconfig";

const named = (calls: readonly LocatedCall[]) => [...new Set(calls.map(({ func }) => func))].join(", ");

/** No field is misspelt or left out that the analysis goes by. */
const checkFields: TaskCheck = (read, context) => {
  const { warning } = findingsOf(read, context);
  const { actionNumber, counterpart } = read.task;
  const findings: SuiteFinding[] = read.unknownFields.map((name) =>
    warning("field_unknown", name, "is no field of the task format"),
  );
  // Questions about mail have neither.
  if (!needsMachine(read.task)) return findings;
  if (actionNumber === null && context.tasks.some(({ task }) => task.actionNumber !== null)) {
    findings.push(warning("field_missing", "action_number", "is missing: the task has no difficulty"));
  }
  if (counterpart === null && context.tasks.some(({ task }) => task.counterpart !== null)) {
    findings.push(
      warning("field_missing", "counterpart", "is missing: the task is in no pair of abstract and verbose"),
    );
  }
  return findings;
};

/** An answer is looked for in one mailbox. */
const checkEmail: TaskCheck = (read, context) => {
  const { error } = findingsOf(read, context);
  const inboxes = read.calls.filter(({ func }) => func === ATTACH_INBOX);
  const answer = read.calls.find(({ func }) => func === EMAIL_ANSWER);
  const second = inboxes[1];
  return [
    ...(answer !== undefined && inboxes.length === 0
      ? [error("inbox_missing", answer.funcField, `${EMAIL_ANSWER} takes a mailbox: ${ATTACH_INBOX} in config`)]
      : []),
    ...(second === undefined ? [] : [error("inbox_twice", second.funcField, "a task has one mailbox, the first")]),
  ];
};

/** Each task's counterpart is another task, which points back and has the other guidance. */
const checkCounterpart: TaskCheck = (read, context) => {
  const { id, counterpart, tags } = read.task;
  if (counterpart === null) return [];
  const { error, warning } = findingsOf(read, context);
  if (counterpart === id) {
    const namedBy = context.tasks.find(({ task }) => task.counterpart === id && task.id !== id)?.task.id;
    const hint = namedBy === undefined ? "" : `; ${namedBy} names it and is probably meant`;
    return [error("counterpart_self", "counterpart", `is the task itself${hint}`)];
  }
  const other = context.byId.get(counterpart)?.task;
  if (other === undefined) return [error("counterpart_missing", "counterpart", `${counterpart} is not in the suite`)];
  const findings: SuiteFinding[] = [];
  if (other.counterpart !== id) {
    const named = other.counterpart === counterpart ? "itself" : (other.counterpart ?? "none");
    const message = `${counterpart} does not point back: it names ${named}`;
    findings.push(error("counterpart_not_mutual", "counterpart", message));
  }
  const shared = INSTRUCTION_STYLES.filter((tag) => tags.includes(tag) && other.tags.includes(tag));
  if (shared.length > 0) {
    const message = `${counterpart} is ${shared.join(" and ")} too; one of a pair is abstract, the other verbose`;
    findings.push(warning("counterpart_same_guidance", "counterpart", message));
  }
  return findings;
};

/** A task's machine is one of the snapshots that there are. */
const checkSnapshot: TaskCheck = (read, { snapshots, ...context }) => {
  const { snapshot } = read.task;
  if (snapshots === null || !needsMachine(read.task) || snapshots.has(snapshot)) return [];
  const hint =
    didYouMean(snapshot, snapshots.keys()).trim() || `Known are: ${[...snapshots.keys()].sort().join(", ")}.`;
  const message = `there is no snapshot ${snapshot}. ${hint}`;
  return [findingsOf(read, { snapshots, ...context }).error("snapshot_unknown", "snapshot", message)];
};

const TASK_CHECKS: readonly TaskCheck[] = [
  checkIdentity,
  checkFields,
  checkTags,
  checkCounterpart,
  checkFunctions,
  checkArguments,
  checkSnapshot,
  checkFiles,
  checkDestinations,
  checkMachinePaths,
  checkEmail,
];

/** Their fields are not those of the task format. */
const HARBOR_CHECKS: readonly TaskCheck[] = [checkDuplicates];

/** Everything wrong or odd about a suite that can be seen from its files; what could not be read comes first. */
export function checkSuite(
  { suite, tasks, problems }: ReadSuite,
  custom: CustomFunctions = NO_CUSTOM_FUNCTIONS,
  snapshots: ReadonlyMap<string, unknown> | null = null,
): SuiteFinding[] {
  const byId = new Map<string, ReadTask>();
  for (const read of tasks) if (!byId.has(read.task.id)) byId.set(read.task.id, read);
  const context: CheckContext = { suite, tasks, byId, custom, snapshots };
  const checks = suite.form === "harbor" ? HARBOR_CHECKS : TASK_CHECKS;
  const ofTasks = tasks.flatMap((read) => [...read.findings, ...checks.flatMap((check) => check(read, context))]);
  return [...problems, ...ofTasks, ...checkIndexes(suite, tasks), ...checkSettings(suite, tasks)];
}
