import { z } from "zod";
import { parseArguments } from "../../definition/parse-arguments.js";
import { expandHome } from "../../evaluation/expand-home.js";
import { resolveSharedFile } from "../../evaluation/suite-files.js";
import { missingFile, NEEDS_COMMANDS, outcomeOf, type SetupAction } from "../setup-action.js";

const TIMEOUT_MS = 300_000;

const schema = z.looseObject({
  src: z.string().min(1),
  dest: z.string().min(1).default("/home/user/init.sh"),
  options: z.array(z.string()).default([]),
});

/** `script_and_execute`: the script is deleted after it has run. */
export const runScript: SetupAction = async (args, { machine, options, signal }) => {
  const { src, dest, options: words } = parseArguments(schema, args);
  const source = await resolveSharedFile(options.suiteRoot, src);
  if (source === null) return missingFile(src, "the suite");
  if (!machine.canRun) return NEEDS_COMMANDS;
  const path = expandHome(dest);
  const run = (argv: string[]) => machine.run({ argv, cwd: null, env: {}, timeoutMs: TIMEOUT_MS }, signal);
  await machine.copyIn(source, path);
  await run(["chmod", "a+x", path]);
  const argv = ["/bin/bash", path, ...words];
  const result = await run(argv);
  await run(["rm", "-f", path]);
  return outcomeOf(argv, result);
};
