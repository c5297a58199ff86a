import { createHash } from "node:crypto";
import type { PlannedSuiteTask } from "../../domain/tasks/planned-task.js";
import { readSuite } from "../../suites/definition/read-suite.js";
import { openSuiteFolder } from "../../suites/definition/suite-folder.js";
import { attachedInbox } from "../../suites/email/attached-inbox.js";

/** A suite's folder, as machines that have one each tell whether theirs is the same. */
export interface IdentifiedSuite {
  readonly name: string;
  /** SHA-256 of what all of its task files say. */
  readonly digest: string;
  /** By their ids. */
  readonly tasks: ReadonlyMap<string, PlannedSuiteTask>;
  /** Whether any task is about a mailbox. */
  readonly hasMail: boolean;
}

/** Throws a UserError where it is no suite. */
export function identifySuite(path: string): IdentifiedSuite {
  const folder = openSuiteFolder(path);
  const { name, root } = folder;
  const tasks = readSuite(folder).tasks.map(({ task }) => ({ ...task, suite: { name, root } }));
  return {
    name,
    digest: digestOf(tasks),
    tasks: new Map(tasks.map((task) => [task.id, task])),
    hasMail: tasks.some((task) => attachedInbox(task) !== null),
  };
}

/** Of what the task files say: two runs with one digest were over the same tasks. */
export function digestOf(tasks: readonly PlannedSuiteTask[]): string {
  const texts = tasks.map((task) => JSON.stringify({ ...task, folder: "", suite: "" }));
  return createHash("sha256")
    .update([...new Set(texts)].join("\n"))
    .digest("hex");
}
