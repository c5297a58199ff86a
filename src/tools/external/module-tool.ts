import { z } from "zod";
import { defineExternalTool, limitsShape, ToolFailed } from "./external-tool.js";
import { cleanEnvironment, environmentName } from "./secrets.js";

const config = z.strictObject({
  /** The TypeScript or JavaScript file. */
  module: z.string().startsWith("/", "expected an absolute path"),
  /** Environment variables passed on besides PATH, HOME and LANG. */
  env: z.array(environmentName).max(100).default([]),
  ...limitsShape,
});

/** A file with a function `call(args, context)`; `context` holds the task's `inbox` and `cutoff`. */
export const moduleTool = defineExternalTool({
  config,
  secrets: ({ env }, outside) => env.flatMap((name) => outside.env[name] ?? []),
  async call({ args, context, outside, signal }, { module, env }) {
    const environment = cleanEnvironment(env, outside.env);
    if (!environment.ok) {
      throw new ToolFailed(`The tool cannot be called: the environment variable ${environment.missing} is not set`);
    }
    const task = { inbox: context.inbox, cutoff: context.cutoff };
    return outside.modules.call({ path: module, env: environment.values }, args, task, signal);
  },
});
