import { z } from "zod";
import { runProcess } from "../../processes/run-process.js";
import { defineExternalTool, limitsShape, parseJsonText, ToolFailed } from "./external-tool.js";
import { cleanEnvironment, environmentName } from "./secrets.js";

/** A program and its arguments, run without a shell. */
export const argvSchema = z
  .array(
    z
      .string()
      .max(10_000)
      .refine((word) => !word.includes("\0"), "has a zero byte in it"),
  )
  .min(1, "expected a program and its arguments")
  .max(200)
  .refine(([program]) => program !== "", "expected the name of a program");

const config = z.strictObject({
  command: argvSchema,
  /** Environment variables passed on besides PATH, HOME and LANG. */
  env: z.array(environmentName).max(100).default([]),
  /** Its working folder. */
  cwd: z.string().min(1).optional(),
  ...limitsShape,
});

/** A program that reads the arguments as JSON on stdin and writes its result as JSON on stdout. */
export const commandTool = defineExternalTool({
  config,
  secrets: ({ env }, outside) => env.flatMap((name) => outside.env[name] ?? []),
  async call({ args, outside, signal, secrets }, { command, env, cwd, maxBytes }) {
    const environment = cleanEnvironment(env, outside.env);
    if (!environment.ok) {
      throw new ToolFailed(`The tool cannot be called: the environment variable ${environment.missing} is not set`);
    }
    const start = { argv: command, env: environment.values, cwd };
    const input = `${JSON.stringify(args)}\n`;
    const { end, stdout, stderr, tooLong } = await runProcess(start, input, maxBytes, signal, secrets);
    const stderrNote = stderr === "" ? "" : `: ${stderr}`;
    if (tooLong) throw new ToolFailed(`The program wrote more than ${maxBytes} bytes`);
    if ("error" in end) throw new ToolFailed(`The program ${command[0]} cannot be started: ${end.error}`);
    if (end.code !== 0) {
      throw new ToolFailed(
        `The program ended ${end.code === null ? `by ${end.signal}` : `with code ${end.code}`}${stderrNote}`,
      );
    }
    return parseJsonText(stdout, "What the program wrote", secrets);
  },
});
