import { EXIT } from "../../domain/errors.js";
import { table } from "../../reports/text/text-table.js";
import type { Command } from "../cli/command.js";

export const listAgentsCommand: Command = {
  flags: {},
  async run(_, { settings, out }) {
    const { readRegistry } = await import("../../app/registry/open-registry.js");
    const { describeAgents } = await import("../../app/registry/describe-agents.js");
    const agents = await readRegistry(settings, describeAgents);
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
    return EXIT.done;
  },
};
