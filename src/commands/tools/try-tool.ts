import { EXIT, type ExitCode, UserError } from "../../domain/errors.js";
import { type JsonValue, jsonValueSchema } from "../../domain/json.js";
import { stripControls } from "../../platform/strip-controls.js";
import { openWorkspace } from "../../sandbox/workspace.js";
import type { Db } from "../../store/connection/open-store.js";
import { getTool } from "../../store/registry/tools.js";
import { openExternalResources } from "../../tools/external/external-resources.js";
import { toTool } from "../../tools/load-tools.js";
import { openMailbox } from "../../tools/mailbox.js";
import { addInboxArgument } from "../../tools/single-inbox-tools.js";
import type { CommandContext } from "../cli/command.js";
import { needId } from "../cli/subcommand-args.js";
import type { ToolFlags } from "./tools-flags.js";

/** Calls a tool once, as an agent would, and prints what the agent would get. A refusal is printed too, and exits with 1. */
export async function testTool(db: Db, flags: ToolFlags, { settings, out, signal }: CommandContext): Promise<ExitCode> {
  const tool = getTool(db, needId(flags.id, "tools", "test"));
  const args = readArguments(flags.arguments ?? "{}");
  const config = flags.config === undefined ? null : JSON.stringify(flags.config);
  const outside = openExternalResources(settings.env);
  const workspace = openWorkspace();
  try {
    const live = toTool({ tool, config }, { mailbox: openMailbox(db), outside });
    const inbox = flags.inbox?.trim().toLowerCase() ?? null;
    const result = await live.call(addInboxArgument(live, args, inbox), {
      inbox,
      cutoff: flags.before === undefined ? null : `${flags.before}T00:00:00Z`,
      signal,
      workspace,
    });
    out.result(result, () => stripControls(result.ok ? asText(result.value) : `${result.kind}: ${result.error}`));
    return result.ok ? EXIT.done : EXIT.failed;
  } finally {
    await Promise.all([outside.close(), workspace.close()]);
  }
}

function readArguments(text: string): JsonValue {
  try {
    return jsonValueSchema.parse(JSON.parse(text));
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
