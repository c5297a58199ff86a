interface LabelledRun {
  readonly runId: string;
  readonly agentId: string;
  readonly model: string;
  readonly name?: string;
}

/** What a run is called beside others: its name, else its id. */
export function runNameOrId({ name, runId }: Pick<LabelledRun, "name" | "runId">): string {
  return name ?? runId;
}

/** `nightly: email-search (openai/x)`, and without the name where it has none. */
export function runTitle({ name, agentId, model }: Omit<LabelledRun, "runId">): string {
  return `${name === undefined ? "" : `${name}: `}${agentId} (${model})`;
}

/** Labels of several runs: the name of each, else agent and model, with the end of the id where these are equal. */
export function runLabels(runs: readonly LabelledRun[]): string[] {
  const labels = runs.map(({ name, agentId, model }) => name ?? `${agentId} · ${model}`);
  return labels.map((label, i) =>
    labels.indexOf(label) === labels.lastIndexOf(label) ? label : `${label} · ${runs[i]?.runId.slice(-6)}`,
  );
}
