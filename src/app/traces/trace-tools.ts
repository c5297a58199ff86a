import { UserError } from "../../domain/errors.js";
import type { ToolSpec } from "../../domain/models/model.js";
import type { ExportedTrace } from "../../exports/trace-format.js";
import type { Db } from "../../store/connection/open-store.js";
import { getVersion } from "../../store/registry/agent-versions.js";
import type { RunRow } from "../../store/runs/runs.js";

/** Says what the model was told of its tools in a trace of a run, or of chats where `run` is null. */
export function openTraceTools(db: Db, run: RunRow | null): (trace: ExportedTrace) => readonly ToolSpec[] {
  const imported = run?.settings.imported;
  if (imported !== undefined) return () => imported.tools;
  const known = new Map<string, readonly ToolSpec[]>();
  return (trace) => {
    const version = "agentVersion" in trace ? trace.agentVersion : (run?.settings.agentVersion ?? 0);
    const key = `${version} ${trace.agentId}`;
    const specs = known.get(key) ?? toolSpecs(db, trace.agentId, version);
    known.set(key, specs);
    return specs;
  };
}

/** None of an agent that lives elsewhere, which has no version. */
function toolSpecs(db: Db, agentId: string, version: number): ToolSpec[] {
  try {
    return getVersion(db, agentId, version).tools.map(({ tool }) => ({
      name: tool.id,
      description: tool.description,
      parameters: tool.parametersSchema,
    }));
  } catch (error) {
    if (error instanceof UserError) return [];
    throw error;
  }
}
