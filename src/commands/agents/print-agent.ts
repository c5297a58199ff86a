import type { AgentDescription } from "../../app/registry/describe-agents.js";
import type { AgentVersionName } from "../../app/registry/versions.js";
import type { Output } from "../cli/output.js";

/** Prints an agent with its prompt. */
export function printAgent(agent: AgentDescription, out: Output): void {
  const tools = agent.tools.map((tool) => (tool.config === null ? tool.id : `${tool.id} ${tool.config}`));
  const settings = Object.entries(agent.settings).map(([name, value]) => `${name} ${value}`);
  out.result(agent, () =>
    [
      `${agent.id}: ${agent.name}`,
      agent.description,
      "",
      `Version:  ${agent.version}${agent.builtin ? ", built in" : ""}`,
      `Model:    ${agent.model ?? "the run's"}`,
      `Settings: ${settings.join(", ")}`,
      `Tools:    ${tools.join(", ")}`,
      "",
      "Prompt:",
      ...agent.prompt.split("\n").map((line) => `  ${line}`.trimEnd()),
    ].join("\n"),
  );
}

/** Prints that an agent was changed, and its new version. */
export function printChange(
  { id, version }: AgentVersionName,
  change: "created" | "changed" | "imported",
  out: Output,
): void {
  out.result({ id, version }, () => `Agent ${id} is ${change}: version ${version}. See it: art-e agents show ${id}`);
}
