import { EXIT, UserError } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags } from "../cli/read-flags.js";
import { type ConfiguredFlags, readConfig } from "../config/read-config.js";
import { answerJson, answerText } from "./ask-answer.js";
import { ASK_FLAGS, askSchema } from "./ask-flags.js";

const OF_CONFIG = ["agent", "model", "limits.max-turns", "limits.task-timeout", "limits.request-timeout"] as const;

export const askCommand: Command = {
  positionals: {
    inbox_address: { type: "string", describe: "The mailbox: its email address" },
    question: { type: "string", array: true, describe: "What its owner wants to know" },
  },
  flags: ASK_FLAGS,
  async run(argv, context) {
    const configured = await readConfig(argv, context, OF_CONFIG);
    refuseAgentElsewhere(configured);
    const flags = readFlags("ask", askSchema, configured.argv);
    const { ask } = await import("../../app/chat/ask.js");
    const { trace, cited } = await ask(flags, context);
    context.out.result(answerJson(trace, cited), () => answerText(trace, cited));
    return trace.answer === null ? EXIT.failed : EXIT.done;
  },
};

/** Only a run can ask an agent that is not in the database. */
function refuseAgentElsewhere({ path, used }: ConfiguredFlags): void {
  const found = used.find(({ section, key }) => section === "agent" && key !== "id");
  if (found === undefined) return;
  throw new UserError(
    "ask_elsewhere",
    `${path}:${found.line}: ${found.name} is an agent that art-e ask cannot ask.`,
    "Name one of art-e agents list with --agent, or add --config off.",
  );
}
