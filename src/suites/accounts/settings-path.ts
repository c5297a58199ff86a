import { join, normalize } from "node:path";
import { SPIDER_CONTENT } from "../definition/suite-folder.js";

export const ONLY_ACCOUNT_TASKS = "only tasks tagged account get account settings";

/** The folders of account settings in a suite's root, in either form. */
export function settingsFolders(root: string): string[] {
  return [join(root, "settings"), join(root, SPIDER_CONTENT, "settings")];
}

/** `snowflake/settings.json` of `evaluation_examples/settings/snowflake/settings.json`; null: no such path. */
export function settingsName(path: string): string | null {
  const below = normalize(path).replace(`${SPIDER_CONTENT}/`, "");
  return below.startsWith("settings/") ? below.slice("settings/".length) : null;
}
