import { z } from "zod";
import { EXIT, UserError } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { printAgent } from "./print-agent.js";

const schema = z.object({ id: text.optional(), run: text.optional() });

export const showAgentCommand: Command = {
  positionals: { id: { type: "string", describe: "The agent's id, or ID@VERSION" } },
  flags: { run: { type: "string", requiresArg: true, describe: "The agent exactly as a run had it" } },
  async run(argv, { settings, out }) {
    const { id, run } = readFlags("agents show", schema, argv);
    if (run !== undefined && id !== undefined) {
      throw new UserError("flags_contradict", "--run names the agent: ID cannot be given too.", "Leave one out.");
    }
    const name = run ?? id;
    if (name === undefined) {
      throw new UserError("flag_missing", "agents show needs ID.", "art-e agents list shows them.");
    }
    const { describeAgent, describeAgentOfRun } = await import("../../app/registry/describe-agents.js");
    const describe = run === undefined ? describeAgent : describeAgentOfRun;
    const { readRegistry } = await import("../../app/registry/open-registry.js");
    printAgent(await readRegistry(settings, (db) => describe(db, name)), out);
    return EXIT.done;
  },
};
