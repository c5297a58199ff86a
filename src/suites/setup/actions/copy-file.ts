import { readFile } from "node:fs/promises";
import { z } from "zod";
import { type JsonObject, type JsonValue, jsonObjectSchema } from "../../../domain/json.js";
import type { TaskMachine } from "../../../domain/tasks/task-machine.js";
import { ONLY_ACCOUNT_TASKS, settingsName } from "../../accounts/settings-path.js";
import { parseArguments } from "../../definition/parse-arguments.js";
import { ACCOUNT_TAG } from "../../definition/vocabulary.js";
import { expandHome } from "../../evaluation/expand-home.js";
import { resolveSharedFile } from "../../evaluation/suite-files.js";
import { DONE, missingFile, NEEDS_COMMANDS, outcomeOf, type SetupAction, type SetupContext } from "../setup-action.js";

const TIMEOUT_MS = 60_000;

const schema = z.looseObject({
  src: z.string().min(1),
  dest: z.string().min(1),
  json_encode: z.boolean().default(false),
});

/** The text is a variable, so that account settings lie in no file outside of the machine. */
const WRITE = 'mkdir -p "$(dirname "$1")" && printf %s "$CONTENT" > "$1"';

/** `copyfile_from_host_to_guest`: a file of the suite, or account settings. `json_encode` writes values in base64. */
export const copyFile: SetupAction = async (args, context) => {
  const { src, dest, json_encode } = parseArguments(schema, args);
  const path = expandHome(dest);
  const name = settingsName(src);
  if (name !== null) return await write(encode(readSettings(name, context), json_encode), path, context);
  const source = await resolveSharedFile(context.options.suiteRoot, src);
  if (source === null) return missingFile(src, "the suite");
  if (json_encode) return await write(encode(await readFile(source, "utf8"), true), path, context);
  await context.machine.copyIn(source, path);
  return DONE;
};

function readSettings(name: string, { task, options: { accounts } }: SetupContext): string {
  if (!task.tags.includes(ACCOUNT_TAG)) throw new Error(`settings/${name}: ${ONLY_ACCOUNT_TASKS}`);
  const file = accounts?.read(name) ?? { missing: `settings/${name} is missing` };
  if ("missing" in file) throw new Error(file.missing);
  return file.text;
}

function encode(text: string, isEncoded: boolean): string {
  if (!isEncoded) return text;
  const values: JsonObject = jsonObjectSchema.parse(JSON.parse(text));
  const encoded = Object.entries(values).map(([key, value]) => [key, toBase64(value)]);
  return JSON.stringify(Object.fromEntries(encoded), null, 4);
}

function toBase64(value: JsonValue): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64");
}

async function write(text: string, path: string, { machine, signal }: { machine: TaskMachine; signal: AbortSignal }) {
  if (!machine.canRun) return NEEDS_COMMANDS;
  const argv = ["/bin/sh", "-c", WRITE, "sh", path];
  const result = await machine.run({ argv, cwd: null, env: { CONTENT: text }, timeoutMs: TIMEOUT_MS }, signal);
  return outcomeOf(["copying to", path], result);
}
