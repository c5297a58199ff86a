// Reads a Harbor task's task.toml, versions 1.0 to 1.4.
import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "smol-toml";
import { z } from "zod";
import { fieldPath, fileStateOf } from "../suite-folder.js";

const seconds = z.number("expected a number of seconds").positive("expected more than 0 seconds").max(86_400);

const variables = z.record(z.string().regex(/^[A-Za-z_]\w*$/, "expected a variable name"), z.string());

export const healthcheckSchema = z.object({
  command: z.string().min(1),
  interval_sec: z.number().min(0).max(3600).default(5),
  timeout_sec: seconds.default(30),
  start_period_sec: z.number().min(0).max(3600).default(0),
  retries: z.int().min(1).max(1000).default(3),
});

const versionText = z.union([z.string(), z.number()]).transform(String);

/** Schema of `task.toml`, versions 1.0 to 1.4. Ignores unknown keys, like Harbor. */
const settingsSchema = z.looseObject({
  /** This field is called `version` in the first Harbor tasks. */
  schema_version: versionText.optional(),
  version: versionText.optional(),
  task: z.looseObject({ name: z.string() }).optional(),
  metadata: z.looseObject({ tags: z.array(z.string()).default([]).catch([]) }).prefault({}),
  agent: z.looseObject({ timeout_sec: seconds.optional(), user: z.unknown().optional() }).prefault({}),
  verifier: z
    .looseObject({
      timeout_sec: seconds.default(600),
      env: variables.default({}),
      user: z.unknown().optional(),
      environment_mode: z.string().default("shared"),
      environment: z.unknown().optional(),
      collect: z.array(z.unknown()).default([]),
    })
    .prefault({}),
  environment: z
    .looseObject({
      docker_image: z.string().min(1).optional(),
      os: z.string().default("linux"),
      gpus: z.number().default(0),
      gpu_types: z.array(z.unknown()).nullish(),
      workdir: z.string().startsWith("/", "expected an absolute path").optional(),
      env: variables.default({}),
      mcp_servers: z.array(z.unknown()).default([]),
      healthcheck: healthcheckSchema.optional(),
    })
    .prefault({}),
  solution: z.looseObject({ env: variables.default({}) }).prefault({}),
  steps: z.array(z.unknown()).optional(),
});

export type HarborSettings = z.output<typeof settingsSchema>;

type SettingsReading =
  | { readonly ok: true; readonly value: HarborSettings }
  | { readonly ok: false; readonly issues: readonly { readonly field: string; readonly message: string }[] };

const MAX_BYTES = 1_000_000;

/** Reads a task's `task.toml`. */
export function readSettings(folder: string): SettingsReading {
  const file = join(folder, "task.toml");
  const failed = (message: string): SettingsReading => ({ ok: false, issues: [{ field: "", message }] });
  if (fileStateOf(folder, "task.toml") !== "file") return failed("is not a regular file");
  if (lstatSync(file).size > MAX_BYTES) return failed(`has more than ${MAX_BYTES} bytes`);
  let toml: unknown;
  try {
    toml = parse(readFileSync(file, "utf8"));
  } catch (cause) {
    return failed(`is not TOML: ${(cause as Error).message.split("\n")[0]}`);
  }
  const parsed = settingsSchema.safeParse(toml);
  if (parsed.success) return { ok: true, value: parsed.data };
  return { ok: false, issues: parsed.error.issues.map(({ path, message }) => ({ field: fieldPath(path), message })) };
}

/** A value from the host's environment: `${NAME}` or `${NAME:-default}`. */
export const TEMPLATE = /^\$\{(\w+)(?::-(.*))?\}$/;

/** Returns variables with host values replaced by their defaults. Omits host values without a default. */
export function plainVariables(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => {
      const template = TEMPLATE.exec(value);
      if (template === null) return [[name, value]];
      return template[2] === undefined ? [] : [[name, template[2]]];
    }),
  );
}
