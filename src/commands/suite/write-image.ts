import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";

const schema = z.object({ name: text, suite: text.optional() });

export const writeImageCommand: Command = {
  positionals: { name: { type: "string", describe: "The snapshot, such as jupyter" } },
  flags: {
    suite: { type: "string", requiresArg: true, describe: "A suite's folder, whose snapshots.json has its own" },
  },
  async run(argv, { out }) {
    const { name, suite } = readFlags("suite image", schema, argv);
    const { snapshotImage } = await import("../../app/suites/snapshot-image.js");
    const dockerfile = await snapshotImage(name, suite);
    out.result({ snapshot: name, dockerfile }, () => dockerfile.trimEnd());
    return EXIT.done;
  },
};
