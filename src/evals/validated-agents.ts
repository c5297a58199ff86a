// Which agents an eval was validated on. Its error rates might not apply to any other agent.
import { commandLine } from "../platform/command-line.js";
import { sha256Of } from "../platform/sha256.js";
import { jsonSql } from "../store/damaged-row.js";
import type { Db } from "../store/open-store.js";
import { getRun } from "../traces/runs-store.js";
import { modeFlag } from "./criteria.js";
import type { EvalTest, TracedAgent } from "./definition.js";
import { MIN_LABELS_OF_RUN } from "./pass-rates.js";

/** Agents that an eval was not validated on, and the agents that it was validated on. */
export interface OtherAgents {
  readonly here: readonly TracedAgent[];
  readonly validated: readonly TracedAgent[];
  /** Command that labels traces of these agents, and the number of labels that correct the rate. */
  readonly label: { readonly command: string; readonly count: number };
}

/**
 * Compares the agents of a run, or of chats if `runId` is null, with the agents of a test. Returns null if the test
 * covers them.
 */
export function otherAgents(
  { agents: validated, criterion, isImported }: EvalTest,
  agents: readonly TracedAgent[],
  runId: string | null,
): OtherAgents | null {
  const here = agents.filter((agent) => !validated.some((other) => isSame(agent, other, isImported === true)));
  if (here.length === 0) return null;
  const command = `${commandLine`art-e evals label ${runId ?? "--chats"}`}${modeFlag(criterion)}`;
  return { here, validated, label: { command, count: MIN_LABELS_OF_RUN } };
}

/** Another database counts the versions of an agent differently. */
function isSame(one: TracedAgent, other: TracedAgent, isOtherDatabase: boolean): boolean {
  return (
    one.agentId === other.agentId &&
    one.model === other.model &&
    one.prompt === other.prompt &&
    (isOtherDatabase || one.version === other.version)
  );
}

/** Returns the agent of a run. External agents have neither a version nor a known prompt. */
export function agentOfRun(run: {
  readonly agentId: string;
  readonly model: string;
  readonly settings: object;
}): TracedAgent {
  const { agentVersion, prompt }: { agentVersion?: unknown; prompt?: unknown } = run.settings;
  return {
    agentId: run.agentId,
    version: typeof agentVersion === "number" ? agentVersion : null,
    model: run.model,
    prompt: typeof prompt === "string" ? hashPrompt(prompt) : null,
  };
}

/** Returns the distinct agents of traces from runs and chats. */
export function agentsOfTraces(db: Db, traceIds: readonly string[]): TracedAgent[] {
  const ids = JSON.stringify(traceIds);
  const runs = db
    .prepare(
      `SELECT DISTINCT run_id FROM traces
       WHERE run_id IS NOT NULL AND id IN (SELECT value FROM json_each(?)) ORDER BY run_id`,
    )
    .pluck()
    .all(ids) as string[];
  const chats = db
    .prepare(
      `SELECT DISTINCT t.agent_id AS agentId, t.version, t.model, ${jsonSql("snapshot")} ->> '$.agent.prompt' AS prompt
       FROM (SELECT agent_id, ${jsonSql("trace")} ->> '$.agentVersion' AS version, ${jsonSql("trace")} ->> '$.model' AS model
             FROM traces WHERE run_id IS NULL AND id IN (SELECT value FROM json_each(?))) t
       LEFT JOIN agent_versions v ON v.agent_id = t.agent_id AND v.version = t.version ORDER BY 1, 2, 3`,
    )
    .all(ids) as TracedAgent[];
  const agents = [
    ...runs.map((id) => agentOfRun(getRun(db, id))),
    ...chats.map(({ prompt, ...chat }) => ({ ...chat, prompt: prompt === null ? null : hashPrompt(prompt) })),
  ];
  return [...new Map(agents.map((agent) => [JSON.stringify(agent), agent])).values()];
}

function hashPrompt(prompt: string): string {
  return sha256Of(prompt).slice(0, 8);
}
