import { checkOutputs } from "../../app/outputs/check-outputs.js";
import { exportAgent, importAgent } from "../../app/registry/agent-file.js";
import { writeFileAtomically } from "../../platform/atomic-file.js";
import { readText } from "../cli/read-text.js";
import { needId } from "../cli/subcommand-args.js";
import type { AgentAction } from "./agents-flags.js";
import { tell } from "./change-agents.js";

export const exportOne: AgentAction = async (db, flags, { out, settings }) => {
  const id = needId(flags.id, "agents", "export");
  const yaml = exportAgent(db, id);
  if (flags.output === undefined) {
    out.result({ id, yaml }, () => yaml.trimEnd());
    return;
  }
  checkOutputs([{ flag: "--output", path: flags.output, kind: "agent" }], [], {
    db: settings.db,
    overwrite: flags.overwrite,
  });
  await writeFileAtomically(flags.output, [yaml]);
  const file = flags.output;
  out.result(
    { id, file },
    () => `Agent ${id} is in ${file}. art-e agents import ${file} brings it into another database.`,
  );
};

export const importOne: AgentAction = (db, flags, door) => {
  const file = needId(flags.id, "agents", "import");
  const agent = importAgent(db, readText(file, "FILE"), file, flags.replace);
  tell(db, agent.id, "imported", door);
};
