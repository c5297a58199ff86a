import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import { table } from "../../reports/text/text-table.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { AGENT_ID } from "./agent-flags.js";

const schema = z.object({ id: text });

export const listVersionsCommand: Command = {
  positionals: { id: AGENT_ID },
  flags: {},
  async run(argv, { settings, out }) {
    const { id } = readFlags("agents versions", schema, argv);
    const { readRegistry } = await import("../../app/registry/open-registry.js");
    const { describeVersions } = await import("../../app/registry/describe-agents.js");
    const versions = await readRegistry(settings, (db) => describeVersions(db, id));
    out.result(versions, () =>
      versions.length === 0
        ? `${id} has not been changed or run yet: it is at version 1.`
        : table(
            ["version", "since (UTC)", "model", "runs", "tools"],
            versions.map(({ version, createdAt, model, runs, tools }) => [
              String(version),
              createdAt,
              model ?? "the run's",
              String(runs),
              tools.join(", "),
            ]),
          ),
    );
    return EXIT.done;
  },
};
