import { z } from "zod";
import { EXIT, UserError } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { wordList } from "../cli/list-flags.js";
import { readFlags } from "../cli/read-flags.js";
import { AGENT_FLAGS, AGENT_ID, agentColumns, agentSettings, agentShape, promptText } from "./agent-flags.js";
import { printChange } from "./print-agent.js";

const schema = z.object({
  ...agentShape,
  tools: z.string().transform(wordList).optional(),
});

export const createAgentCommand: Command = {
  positionals: { id: AGENT_ID },
  flags: {
    ...AGENT_FLAGS,
    tools: {
      type: "string",
      requiresArg: true,
      describe: "Tool ids, separated by commas [default: email_search,email_get,return_final_answer]",
    },
  },
  async run(argv, { settings, out }) {
    const flags = readFlags("agents create", schema, argv);
    const { id, prompt } = flags;
    if (prompt === undefined) {
      throw new UserError(
        "flag_missing",
        "agents create needs a --prompt.",
        "Give the text, or a file: --prompt @FILE.",
      );
    }
    const agent = {
      id,
      ...agentColumns(flags),
      prompt: promptText(prompt),
      // A new agent has every default already.
      settings: Object.fromEntries(Object.entries(agentSettings(flags)).filter(([, value]) => value !== null)),
      tools: flags.tools?.map((tool) => ({ id: tool })),
    };
    const { nameVersion } = await import("../../app/registry/versions.js");
    const { changeRegistry } = await import("../../app/registry/open-registry.js");
    const { createAgent } = await import("../../app/registry/edit-agents.js");
    const created = await changeRegistry(settings, (db) => nameVersion(db, createAgent(db, agent).id));
    printChange(created, "created", out);
    return EXIT.done;
  },
};
