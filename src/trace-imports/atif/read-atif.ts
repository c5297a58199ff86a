import { fromTraceFacts } from "../../domain/runs/trace-facts.js";
import { NamedCounts } from "../../statistics/named-counts.js";
import { DescribedTools } from "../described-tools.js";
import type { ImportSource } from "../imported-trace.js";
import { checkValue, parseLine } from "../parse-line.js";
import { parseTrace } from "../parse-trace.js";
import type { FileLine } from "../read-lines.js";
import { trajectorySchema } from "./atif-schema.js";
import { toMessages } from "./read-steps.js";
import { agentVersionOf, toTrace } from "./to-trace.js";

/** ATIF trajectories: one a line, or one over all lines. */
export function readAtif(file: string, documents: AsyncIterable<FileLine>): ImportSource {
  const tools = new DescribedTools();
  const lacking = new NamedCounts();
  let agentVersion: number | undefined;
  return {
    async *traces() {
      for await (const { text, number } of documents) {
        const where = `${file}, line ${number}`;
        const trajectory = checkValue(trajectorySchema, parseLine(text, where), where);
        tools.add((trajectory.agent.tool_definitions ?? []).flatMap((definition) => definition?.function ?? []));
        agentVersion = agentVersionOf(trajectory);
        const own = fromTraceFacts(trajectory.extra, toMessages(trajectory.steps));
        const isOwn = own !== null && own.traceId === trajectory.trajectory_id;
        yield { where, trace: isOwn ? parseTrace(own, `${where}, extra`) : toTrace(trajectory, lacking) };
      }
    },
    tools: () => tools.list(),
    run: () => ({ settings: agentVersion === undefined ? {} : { agentVersion } }),
    lacking: () => lacking.counts,
  };
}
