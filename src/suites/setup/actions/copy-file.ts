import { z } from "zod";
import { parseArguments } from "../../definition/parse-arguments.js";
import { expandHome } from "../../evaluation/expand-home.js";
import { resolveSuiteFile } from "../../evaluation/suite-files.js";
import { DONE, missingFile, type SetupAction } from "../setup-action.js";

const schema = z.looseObject({
  src: z.string().min(1),
  dest: z.string().min(1),
  json_encode: z.boolean().optional(),
});

/** `copyfile_from_host_to_guest`: a file of the suite. `json_encode` is for the keys of accounts. */
export const copyFile: SetupAction = async (args, { machine, options }) => {
  const { src, dest, json_encode } = parseArguments(schema, args);
  if (json_encode) return { state: "unsupported", reason: "encodes settings of an account (json_encode)" };
  const source = await resolveSuiteFile(options.suiteRoot, src);
  if (source === null) return missingFile(src, "the suite");
  await machine.copyIn(source, expandHome(dest));
  return DONE;
};
