import { z } from "zod";
import type { Agent } from "../domain/agent.js";
import { EXIT, UserError } from "../domain/errors.js";
import { getAgent, listAgents } from "../store/agents.js";
import { attachedOrDefault } from "../tools/registry.js";
import type { Command, Door } from "./command.js";
import { oneOf, readFlags, text } from "./flags.js";
import { openRegistry } from "./registry-file.js";
import { table } from "./table.js";

const schema = z.object({ action: oneOf(["list", "show"]), id: text.optional() });

export const agentsCommand: Command = {
  positionals: {
    action: { type: "string", describe: "list or show" },
    id: { type: "string", describe: "The agent to show" },
  },
  flags: {},
  async run(argv, door) {
    const { action, id } = readFlags("agents", schema, argv);
    const db = openRegistry(door.settings);
    try {
      const withTools = (agent: Agent) => ({
        ...agent,
        tools: attachedOrDefault(db, agent.id).map(({ tool, config }) => ({ id: tool.id, config })),
      });
      if (action === "list") printList(listAgents(db).map(withTools), door);
      else printOne(withTools(getAgent(db, needId(id, "agents"))), door);
      return EXIT.done;
    } finally {
      db.close();
    }
  },
};

/** `show` shows one. */
export function needId(id: string | undefined, command: string): string {
  if (id !== undefined) return id;
  throw new UserError("flag_missing", `${command} show needs an ID.`, `art-e ${command} list shows them.`);
}

type AgentWithTools = Agent & { readonly tools: readonly { readonly id: string; readonly config: string | null }[] };

function printList(agents: readonly AgentWithTools[], { out }: Door): void {
  out.result(agents, () =>
    table(
      ["id", "name", "model", "tools"],
      agents.map(({ id, name, model, tools }) => [
        id,
        name,
        model ?? "the run's",
        tools.map((tool) => tool.id).join(", "),
      ]),
    ),
  );
}

function printOne(agent: AgentWithTools, { out }: Door): void {
  const tools = agent.tools.map((tool) => (tool.config === null ? tool.id : `${tool.id} ${tool.config}`));
  const settings = Object.entries(agent.settings).map(([name, value]) => `${name} ${value}`);
  out.result(agent, () =>
    [
      `${agent.id}: ${agent.name}`,
      agent.description,
      "",
      `Model:    ${agent.model ?? "the run's"}`,
      `Settings: ${settings.join(", ")}`,
      `Tools:    ${tools.join(", ")}`,
      "",
      "Prompt:",
      ...agent.prompt.split("\n").map((line) => `  ${line}`.trimEnd()),
    ].join("\n"),
  );
}
