import { openRegistry, openRegistryToChange } from "../../app/registry/open-registry.js";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags } from "../cli/read-flags.js";
import { refuseOthers } from "../cli/subcommand-args.js";
import { OVERWRITE_FLAGS } from "../flags/overwrite-flag.js";
import { exportOne, importOne } from "./agent-files.js";
import { ACTIONS, type AgentAction, type AgentFlags, agentSchema } from "./agents-flags.js";
import { attach, clone, create, detach, remove, set } from "./change-agents.js";
import { listAll, showOne, showVersions } from "./show-agents.js";

/** What each action does, the flags it takes, and whether it changes the file. */
const DOES: Readonly<
  Record<(typeof ACTIONS)[number], { run: AgentAction; flags: readonly (keyof AgentFlags)[]; changes: boolean }>
> = {
  list: { run: listAll, flags: [], changes: false },
  show: { run: showOne, flags: ["id", "run"], changes: false },
  versions: { run: showVersions, flags: ["id"], changes: false },
  create: { run: create, flags: ["id", "tools", ...settingFlags()], changes: true },
  set: { run: set, flags: ["id", ...settingFlags()], changes: true },
  clone: { run: clone, flags: ["id", "other"], changes: true },
  delete: { run: remove, flags: ["id"], changes: true },
  attach: { run: attach, flags: ["id", "other", "config"], changes: true },
  detach: { run: detach, flags: ["id", "other"], changes: true },
  export: { run: exportOne, flags: ["id", "output", "overwrite"], changes: false },
  import: { run: importOne, flags: ["id", "replace"], changes: true },
};

function settingFlags(): readonly (keyof AgentFlags)[] {
  return "name description prompt model maxTurns maxTokens reasoningTokens temperature toolCalls toolChoice".split(
    " ",
  ) as (keyof AgentFlags)[];
}

export const agentsCommand: Command = {
  positionals: {
    action: { type: "string", describe: ACTIONS.join(", ") },
    id: { type: "string", describe: "The agent; show takes ID@VERSION too, import a FILE" },
    other: { type: "string", describe: "clone: the new id; attach, detach: the tool" },
  },
  flags: {
    name: { type: "string", requiresArg: true, describe: "create, set: what it is called [default: its id]" },
    description: { type: "string", requiresArg: true, describe: "create, set: what it is for" },
    prompt: {
      type: "string",
      requiresArg: true,
      describe:
        "create, set: the prompt, or @FILE; may use {{inbox_address}}, {{query_date}}, {{max_turns}}, {{tools}}",
    },
    model: {
      type: "string",
      requiresArg: true,
      describe: "create, set: provider/name, or default: the run's [default: the run's]",
    },
    "max-turns": { type: "number", requiresArg: true, describe: "create, set: model calls a task [default: 10]" },
    "max-tokens": { type: "number", requiresArg: true, describe: "create, set: tokens of one reply [default: 2048]" },
    "reasoning-tokens": {
      type: "string",
      requiresArg: true,
      describe: "create, set: tokens for reasoning beside them, or default: by the model [default: by the model]",
    },
    temperature: {
      type: "string",
      requiresArg: true,
      describe: "create, set: 0-2, or default: the provider's [default: the provider's]",
    },
    "tool-calls": {
      type: "string",
      requiresArg: true,
      describe: "create, set: make all calls of a reply, or the first only [default: all]",
    },
    "tool-choice": {
      type: "string",
      requiresArg: true,
      describe: "create, set: auto, or required: a call in every turn [default: auto]",
    },
    tools: {
      type: "string",
      requiresArg: true,
      describe: "create: tool ids, separated by commas [default: email_search,email_get,return_final_answer]",
    },
    config: { type: "string", requiresArg: true, describe: "attach: a JSON object, laid over the tool's own config" },
    run: { type: "string", requiresArg: true, describe: "show: the agent exactly as a run had it" },
    output: { alias: "o", type: "string", requiresArg: true, describe: "export: file to write [default: stdout]" },
    ...OVERWRITE_FLAGS,
    replace: { type: "boolean", describe: "import: put it in place of one that is there; its versions stay" },
  },
  async run(argv, door) {
    const flags = readFlags("agents", agentSchema, argv);
    const does = DOES[flags.action];
    refuseOthers("agents", flags.action, flags, does.flags, Object.keys(agentSchema.shape));
    const db = does.changes ? openRegistryToChange(door.settings) : openRegistry(door.settings);
    try {
      await does.run(db, flags, door);
      return EXIT.done;
    } finally {
      db.close();
    }
  },
};
