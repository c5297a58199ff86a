import { ask } from "../../app/chat/ask.js";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags } from "../cli/read-flags.js";
import { answerJson, answerText } from "./ask-answer.js";
import { ASK_FLAGS, askSchema } from "./ask-flags.js";

export const askCommand: Command = {
  positionals: {
    inbox_address: { type: "string", describe: "The mailbox: its email address" },
    question: { type: "string", array: true, describe: "What its owner wants to know" },
  },
  flags: ASK_FLAGS,
  async run(argv, context) {
    const flags = readFlags("ask", askSchema, argv);
    const { trace, cited } = await ask(flags, context);
    context.out.result(answerJson(trace, cited), () => answerText(trace, cited));
    return trace.answer === null ? EXIT.failed : EXIT.done;
  },
};
