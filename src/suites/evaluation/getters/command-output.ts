import { z } from "zod";
import { CannotGrade } from "../cannot-grade.js";
import { runCommand } from "../evaluation-context.js";
import { expandHome } from "../expand-home.js";
import { argvOf, commandSchema } from "../machine-command.js";
import { resolveSharedFile } from "../suite-files.js";
import type { Getter } from "./getter.js";

/** The origin's server ends commands after 300 s, and then gives no output. */
const TIMEOUT_MS = 300_000;

const script = z.looseObject({ src: z.string().min(1), dest: z.string().min(1) });

/** `vm_script_output`: uploads a script of the suite, runs it with bash, gives its stdout, whatever its exit code. */
export const getVmScriptOutput: Getter = async (args, context) => {
  const { src, dest } = script.parse(args);
  if (/^https?:/.test(src)) throw new CannotGrade("unsupported", `the script ${src} would have to be downloaded`);
  const source = await resolveSharedFile(context.options.suiteRoot, src);
  if (source === null) throw new CannotGrade("unsupported", `the script ${src} is missing in the suite`);
  const path = expandHome(dest);
  if (context.machine.canRun) {
    await context.machine.copyIn(source, path);
    await runCommand(context, ["chmod", "a+x", path], TIMEOUT_MS);
  }
  const { exitCode, stdout } = await runCommand(context, ["/bin/bash", path], TIMEOUT_MS);
  return exitCode === null ? null : stdout;
};

/** `vm_command_line`: the stdout of a command. */
export const getVmCommandLine: Getter = async (args, context) => {
  const { exitCode, stdout } = await runCommand(context, argvOf(commandSchema.parse(args)), TIMEOUT_MS);
  return exitCode === null ? null : stdout;
};

/** `vm_command_error`: its stderr. */
export const getVmCommandError: Getter = async (args, context) => {
  const { exitCode, stderr } = await runCommand(context, argvOf(commandSchema.parse(args)), TIMEOUT_MS);
  return exitCode === null ? null : stderr;
};
