import type { JsonValue } from "../../domain/json.js";
import type { SuiteTask } from "../../domain/tasks/suite-task.js";
import { ACCOUNT_TAG } from "../definition/vocabulary.js";
import type { AccountSettings } from "./account-settings.js";
import { settingsName } from "./settings-path.js";

/** What a task that takes an account lacks of its settings; null: nothing, or it takes none. */
export function findMissingAccount(task: SuiteTask, accounts: AccountSettings | undefined): string | null {
  if (!task.tags.includes(ACCOUNT_TAG)) return null;
  if (accounts === undefined) return "the task is tagged account";
  const names = new Set(settingsIn([task.config, task.evaluation] as unknown as JsonValue));
  if (names.size === 0 && accounts.secrets().length === 0)
    return "the task is tagged account, and no settings are given";
  for (const name of names) {
    const file = accounts.read(name);
    if ("missing" in file) return file.missing;
  }
  return null;
}

/** The settings files that a task names, wherever in its functions. */
function settingsIn(value: JsonValue): string[] {
  if (typeof value === "string") return [settingsName(value)].filter((name) => name !== null);
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap((item) => settingsIn(item as JsonValue));
}
