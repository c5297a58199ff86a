import { posix } from "node:path";
import { z } from "zod";
import { parseArguments } from "../../definition/parse-arguments.js";
import { expandHome } from "../../evaluation/expand-home.js";
import { runFlowbookScript } from "../../evaluation/flowbook-script.js";
import { resolveSuiteFile } from "../../evaluation/suite-files.js";
import { missingFile, NEEDS_COMMANDS, outcomeOf, type SetupAction } from "../setup-action.js";

const schema = z.looseObject({ local_path: z.string().min(1), remote_path: z.string().min(1) });

/**
 * Flowbook's `upload_script_and_execute`. `remote_path` is the script, as at the origin's commit 485a525, or a folder
 * for it where it ends in a slash.
 */
export const uploadScript: SetupAction = async (args, { task, machine, signal }) => {
  const { local_path, remote_path } = parseArguments(schema, args);
  const source = await resolveSuiteFile(task.folder, local_path);
  if (source === null) return missingFile(local_path, "the task's folder");
  if (!machine.canRun) return NEEDS_COMMANDS;
  const place = expandHome(remote_path);
  const path = place.endsWith("/") ? posix.join(place, posix.basename(local_path)) : place;
  return outcomeOf([path], await runFlowbookScript(source, path, machine, signal));
};
