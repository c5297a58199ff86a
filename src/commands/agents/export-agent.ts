import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import { writeFileAtomically } from "../../platform/atomic-file.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { OVERWRITE_FLAGS, overwriteShape } from "../flags/overwrite-flag.js";
import { AGENT_ID } from "./agent-flags.js";

const schema = z.object({ id: text, output: text.optional(), ...overwriteShape });

export const exportAgentCommand: Command = {
  positionals: { id: AGENT_ID },
  flags: {
    output: { alias: "o", type: "string", requiresArg: true, describe: "File to write [default: stdout]" },
    ...OVERWRITE_FLAGS,
  },
  async run(argv, { settings, out }) {
    const { id, output: file, overwrite } = readFlags("agents export", schema, argv);
    const { readRegistry } = await import("../../app/registry/open-registry.js");
    const { exportAgent } = await import("../../app/registry/agent-file.js");
    const yaml = await readRegistry(settings, (db) => exportAgent(db, id));
    if (file === undefined) {
      out.result({ id, yaml }, () => yaml.trimEnd());
      return EXIT.done;
    }
    const { checkOutputs } = await import("../../app/output-files/check-outputs.js");
    checkOutputs([{ flag: "--output", path: file, kind: "agent" }], [], { db: settings.db, overwrite });
    await writeFileAtomically(file, [yaml]);
    out.result({ id, file }, () => `Agent ${id} is in ${file}. Import it elsewhere: art-e agents import ${file}`);
    return EXIT.done;
  },
};
