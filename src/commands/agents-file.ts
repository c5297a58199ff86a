import { exportAgent, importAgent } from "../registry/agent-file.js";
import { needId } from "./action-words.js";
import { tell } from "./agents-change.js";
import type { AgentAction } from "./agents-flags.js";
import { checkOutputs } from "./check-outputs.js";
import { readText } from "./read-text.js";
import { writeWhole } from "./write-file.js";

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
  await writeWhole(flags.output, [yaml]);
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
