import type { CommandGroup } from "../cli/command.js";

export const EVALS_GROUP: CommandGroup = {
  usage: "evals",
  describe: "Label traces, make evals from the labels, prove them on traces they have not seen, and run them",
  subcommands: [
    {
      usage: "label [run]",
      describe: "Label the traces of a run good or bad, one by one or by what is known of them (--from)",
      load: async () => (await import("./label-traces.js")).labelTracesCommand,
    },
    {
      usage: "suggest",
      describe: "Choose evals by the labels of the training half, without a model",
      load: async () => (await import("./suggest-evals.js")).suggestEvalsCommand,
    },
    {
      usage: "generate",
      describe: "Have a model write evals by the labels of the training half",
      load: async () => (await import("./generate-evals.js")).generateEvalsCommand,
    },
    {
      usage: "test <name>",
      describe: "Measure an eval on the held-out half; exit code 3 if it misses the thresholds",
      load: async () => (await import("./test-eval.js")).testEvalCommand,
    },
    {
      usage: "list",
      describe: "List evals, with what their tests said",
      load: async () => (await import("./list-evals.js")).listEvalsCommand,
    },
    {
      usage: "show <name>",
      describe: "Show an eval, its versions and its newest test",
      load: async () => (await import("./show-eval.js")).showEvalCommand,
    },
    {
      usage: "review [name]",
      describe:
        "List training traces on which an eval and labels disagree; without a name, bad ones that no eval fails",
      load: async () => (await import("./review-eval.js")).reviewEvalCommand,
    },
    {
      usage: "refine <name>",
      describe: "Make a new version of an eval from what contradicts it in the training half",
      load: async () => (await import("./refine-eval.js")).refineEvalCommand,
    },
    {
      usage: "use <name>",
      describe: "Put a version of an eval into use; the former one is retired",
      load: async () => (await import("./use-eval.js")).useEvalCommand,
    },
    {
      usage: "retire <name>",
      describe: "Take an eval out of use",
      load: async () => (await import("./retire-eval.js")).retireEvalCommand,
    },
    {
      usage: "run <names..>",
      describe: "Run evals over the stored traces of a run, beside its scores",
      load: async () => (await import("./run-evals.js")).runEvalsCommand,
    },
    {
      usage: "export [names..]",
      describe: "Write evals as files into a folder",
      load: async () => (await import("./export-evals.js")).exportEvalsCommand,
    },
    {
      usage: "import <files..>",
      describe: "Import eval files, or folders of them, as drafts",
      load: async () => (await import("./import-evals.js")).importEvalsCommand,
    },
  ],
};
