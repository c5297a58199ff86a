import { z } from "zod";
import type { ImportedTools } from "../../app/registry/import-tools.js";
import { EXIT, UserError } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import type { Output } from "../cli/output.js";
import { readFlags, text } from "../cli/read-flags.js";
import { printToolChange } from "./print-tool-change.js";
import { TOOL_FLAGS, TOOL_ID, toolDescription, toolShape } from "./tool-flags.js";

const schema = z.object({ id: text.optional(), ...toolShape, mcp: text.optional(), prefix: text.optional() });

type AddFlags = z.output<typeof schema>;

export const addToolCommand: Command = {
  positionals: { id: { ...TOOL_ID, describe: "The new tool's id; none with --mcp" } },
  flags: {
    ...TOOL_FLAGS,
    mcp: { type: "string", requiresArg: true, describe: "An MCP server, a program or an address: adds all its tools" },
    prefix: {
      type: "string",
      requiresArg: true,
      describe: "With --mcp: prefix of the ids of its tools [default: the server's name]",
    },
  },
  async run(argv, { settings, out, signal }) {
    const { id, prefix = null, ...flags } = readFlags("tools add", schema, argv);
    const { kindOf } = await import("../../app/registry/external-tools.js");
    const kind = kindOf({ ...flags, parameters: undefined, resultSchema: undefined });
    if (kind === null) {
      throw new UserError(
        "flag_missing",
        "tools add needs the tool itself.",
        "Name one of --http URL, --command PROGRAM, --module FILE, --mcp SERVER.",
      );
    }
    const { changeRegistry } = await import("../../app/registry/open-registry.js");
    const { addServerTools, addTool } = await import("../../app/registry/add-tool.js");
    if (kind === "mcp") {
      refuseNames({ id, ...flags });
      const described = toolDescription(flags);
      const imported = await changeRegistry(settings, (db) => addServerTools(db, described, prefix, settings, signal));
      printImported(imported, out);
      return EXIT.done;
    }
    if (id === undefined) throw new UserError("flag_missing", "tools add needs ID.", "Choose one for the new tool.");
    const described = toolDescription(flags);
    const tool = await changeRegistry(settings, (db) => addTool(db, id, described, settings, signal));
    printToolChange(tool.id, "added", out);
    return EXIT.done;
  },
};

/** The names and schemas of a server's tools come from the server. */
function refuseNames(flags: AddFlags): void {
  const names = ["id", "name", "description", "parameters", "category"] as const;
  const wrong = names.find((name) => flags[name] !== undefined);
  if (wrong === undefined) return;
  throw new UserError(
    "flags_contradict",
    `--mcp takes names and schemas from its server: ${wrong === "id" ? `"${flags.id}"` : `--${wrong}`} cannot be given too.`,
    "Choose how their ids begin with --prefix.",
  );
}

function printImported({ added, skipped }: ImportedTools, out: Output): void {
  out.result({ added: added.map(({ id }) => id), skipped }, () =>
    [
      `${added.length} tools are added${added.length === 0 ? "." : ":"}`,
      ...added.map(({ id, description }) => `  ${id}: ${firstLine(description)}`),
      ...skipped.map(({ name, why }) => `Left out: ${name}: ${why}`),
    ].join("\n"),
  );
}

function firstLine(description: string): string {
  const [line = ""] = description.trim().split("\n");
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
}
