import type { CommandGroup } from "../cli/command.js";

export const QUESTIONS_GROUP: CommandGroup = {
  usage: "questions",
  describe: "Make questions from imported mail, and check or review those of any dataset",
  subcommands: [
    {
      usage: "make",
      describe: "Make questions with gold answers from mailboxes, each one checked",
      load: async () => (await import("./make-questions.js")).makeQuestionsCommand,
    },
    {
      usage: "check [file]",
      describe: "Check the questions of a dataset, and list the doubtful ones",
      load: async () => (await import("./check-questions.js")).checkQuestionsCommand,
    },
    {
      usage: "review <file>",
      describe: "Decide about the questions of a dataset, on a page with their mails beside them",
      load: async () => (await import("./review-questions.js")).reviewQuestionsCommand,
    },
  ],
};
