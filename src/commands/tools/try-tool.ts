import { z } from "zod";
import { EXIT, UserError } from "../../domain/errors.js";
import { type JsonValue, jsonValueSchema } from "../../domain/json.js";
import { stripControls } from "../../platform/strip-controls.js";
import type { Command } from "../cli/command.js";
import { day, jsonObject, readFlags, text } from "../cli/read-flags.js";
import { TOOL_ID } from "./tool-flags.js";

const schema = z.object({
  id: text,
  arguments: text.optional(),
  config: jsonObject.optional(),
  inbox: text.optional(),
  before: day.optional(),
});

export const testToolCommand: Command = {
  positionals: { id: TOOL_ID, arguments: { type: "string", describe: "Its arguments as a JSON object [default: {}]" } },
  flags: {
    config: {
      type: "string",
      requiresArg: true,
      describe: "A JSON object that overrides the tool's config, as an agent's would",
    },
    inbox: { type: "string", requiresArg: true, describe: "As in a task of this mailbox" },
    before: { type: "string", requiresArg: true, describe: "Hide mail from this day on, YYYY-MM-DD" },
  },
  async run(argv, { settings, out, signal }) {
    const {
      id,
      arguments: json = "{}",
      config = null,
      inbox = null,
      before = null,
    } = readFlags("tools test", schema, argv);
    const call = { id, args: readArguments(json), config, inbox, before };
    const { testTool } = await import("../../app/registry/try-tool.js");
    const { readRegistry } = await import("../../app/registry/open-registry.js");
    const result = await readRegistry(settings, (db) => testTool(db, call, settings, signal));
    out.result(result, () => stripControls(result.ok ? asText(result.value) : `${result.kind}: ${result.error}`));
    return result.ok ? EXIT.done : EXIT.failed;
  },
};

function readArguments(json: string): JsonValue {
  try {
    return jsonValueSchema.parse(JSON.parse(json));
  } catch (cause) {
    throw new UserError(
      "flag_invalid",
      "ARGUMENTS: expected a JSON object.",
      `Quote it for the shell: art-e tools test ID '{"key": "value"}'.`,
      2,
      { cause },
    );
  }
}

function asText(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
