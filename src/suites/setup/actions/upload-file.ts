import { z } from "zod";
import { parseArguments } from "../../definition/parse-arguments.js";
import { expandHome } from "../../evaluation/expand-home.js";
import { resolveSuiteFile } from "../../evaluation/suite-files.js";
import { DONE, missingFile, type SetupAction } from "../setup-action.js";

const schema = z.looseObject({ local_path: z.string().min(1), remote_path: z.string().min(1) });

/** Flowbook's `upload_file_to_vm`: a file of the task's folder; missing folders are created. */
export const uploadFile: SetupAction = async (args, { task, machine }) => {
  const { local_path, remote_path } = parseArguments(schema, args);
  const source = await resolveSuiteFile(task.folder, local_path);
  if (source === null) return missingFile(local_path, "the task's folder");
  await machine.copyIn(source, expandHome(remote_path));
  return DONE;
};
