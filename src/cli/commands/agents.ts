// The commands `agents ...`: list, show, create, change, import and export agents.
import { z } from "zod";
import type { AgentDescription } from "../../agents/registry-store.js";
import { REASONING_EFFORTS } from "../../models/reasoning-effort.js";
import { TOOL_RESULTS } from "../../models/tool-results.js";
import { commandLine } from "../../platform/command-line.js";
import { UserError } from "../../platform/errors.js";
import { writeFileAtomically } from "../../platform/files.js";
import {
  agentName,
  file,
  fileOrStdout,
  jsonObject,
  numberBetween,
  OVERWRITE_FLAG,
  oneOf,
  runName,
  shapeOf,
  text,
  toggle,
  wholeNumber,
  withTraits,
  words,
} from "../../platform/flag-values.js";
import { definedProperties, presentProperties } from "../../platform/optional-values.js";
import type { Db } from "../../store/open-store.js";
import { table } from "../../text/format.js";
import type { CommandContext } from "../command.js";
import { contradiction, defineCommand } from "../flags/define-command.js";
import { readText, textOrFile } from "../flags/read-text.js";
import type { Output } from "../terminal.js";

type Registry = typeof import("../../agents/registry.js");

const agentId = agentName.meta({ description: "Agent id" });
const toolIds = withTraits(z.array(text), { completes: "tools" }).meta({ description: "Tool ids" });

export const showAgentCommand = defineCommand(
  z.object({
    id: agentName.optional().meta({ description: "Agent id, or ID@VERSION" }),
    run: runName.optional().meta({ description: "Show the agent as it was in this run" }),
  }),
  async ({ id, run }, { settings, out }) => {
    if (run !== undefined && id !== undefined) {
      throw contradiction("ID and --run cannot be combined.", "Leave one out.");
    }
    const name = run ?? id;
    if (name === undefined) {
      throw new UserError("flag_missing", "agents show needs ID.", `${commandLine`art-e agents list`} shows them.`);
    }
    const { describeAgent, describeAgentOfRun, readRegistry } = await import("../../agents/registry-store.js");
    const describe = run === undefined ? describeAgent : describeAgentOfRun;
    printAgent(await readRegistry(settings, (db) => describe(db, name)), out);
  },
);

export const listAgentsCommand = defineCommand(z.object({}), async (_, { settings, out }) => {
  const { readRegistry, describeAgents } = await import("../../agents/registry-store.js");
  const agents = await readRegistry(settings, describeAgents);
  const rows = agents.map(({ id, name, model, tools }) => [
    id,
    name,
    model ?? "the run's",
    tools.map((tool) => tool.id).join(", "),
  ]);
  out.result(agents, () => table(["id", "name", "model", "tools"], rows));
});

export const importAgentCommand = defineCommand(
  z.object({
    file: file.meta({ description: "YAML file from agents export" }),
    replace: toggle.meta({ description: "Replace an agent with the same id (its versions stay)" }),
  }),
  async ({ file, replace }, context) => {
    const yaml = readText(file, "FILE");
    const { importAgent } = await import("../../agents/agent-file.js");
    await changeAgent("Imported", context, (db) => importAgent(db, yaml, file, replace).id);
  },
);

function printAgent(agent: AgentDescription, out: Output): void {
  const tools = agent.tools.map((tool) => (tool.config === null ? tool.id : `${tool.id} ${tool.config}`));
  const settings = Object.entries(agent.settings).map(([name, value]) => `${name} ${value}`);
  out.result(agent, () =>
    [
      `${agent.id}: ${agent.name}`,
      ...(agent.description === "" ? [] : [agent.description]),
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

/** Runs `change`, and prints the new version of the agent whose id `change` returns. */
async function changeAgent(
  did: "Created" | "Changed" | "Imported",
  { settings, out }: CommandContext,
  change: (db: Db, registry: Registry) => string,
): Promise<void> {
  const registry = await import("../../agents/registry.js");
  const { nameVersion, changeRegistry } = await import("../../agents/registry-store.js");
  const { id, version } = await changeRegistry(settings, (db) => nameVersion(db, change(db, registry)));
  out.result(
    { id, version },
    () => `${did} agent ${id} (version ${version}). Show it: ${commandLine`art-e agents show ${id}`}`,
  );
}

/** Accepts `default`, which removes a setting so that its default applies again. */
const orDefault = <T extends z.ZodType>(schema: T) => z.union([z.literal("default").transform(() => null), schema]);

/** Agent settings for creating and changing an agent. */
const agentShape = {
  id: agentId,
  name: text.optional().meta({ description: "Name [default: the id]" }),
  description: text.optional().meta({ placeholder: "TEXT", description: "Description" }),
  prompt: text.optional().meta({
    placeholder: "TEXT",
    description:
      "Prompt, or @FILE. Variables: {{inbox_address}}, {{query_date}}, {{snapshot}}, {{home}}, {{max_turns}}, {{tools}}",
  }),
  model: orDefault(text)
    .optional()
    .meta({ description: "Model as provider/name, or default (the run's model) [default: the run's model]" }),
  maxTurns: wholeNumber(1, 1_000).optional().meta({ description: "Maximum model calls per task [default: 10]" }),
  maxTokens: wholeNumber(1).optional().meta({ description: "Maximum tokens per reply [default: 2048]" }),
  reasoningTokens: orDefault(z.string().pipe(z.coerce.number()).pipe(wholeNumber(0)))
    .optional()
    .meta({
      placeholder: "N|default",
      description: "Additional tokens for reasoning, or default (depends on the model) [default: depends on the model]",
    }),
  temperature: orDefault(z.string().pipe(z.coerce.number()).pipe(numberBetween(0, 2)))
    .optional()
    .meta({
      placeholder: "N|default",
      description: "Temperature from 0 to 2, or default (the provider's) [default: the provider's]",
    }),
  reasoningEffort: orDefault(oneOf(REASONING_EFFORTS))
    .optional()
    .meta({
      placeholder: "EFFORT",
      description: `Reasoning effort: ${REASONING_EFFORTS.join(", ")}, or default (the model's) [default: the model's]`,
    }),
  toolCalls: oneOf(["all", "first"])
    .optional()
    .meta({ description: "Make all tool calls of a reply, or only the first one: all, first [default: all]" }),
  toolChoice: oneOf(["auto", "required"])
    .optional()
    .meta({ description: "Tool choice: auto, or required (a tool call in every turn) [default: auto]" }),
  toolResults: oneOf(TOOL_RESULTS).optional().meta({
    description:
      "How the model receives tool results: plain, delimited (marked as data), note (in emails from outside) [default: plain]",
  }),
};

type AgentFlags = z.output<z.ZodObject<typeof agentShape>>;

/** Returns the changes of the agent and of its settings. A null setting restores its default. */
function changesOf({ id: _, name, description, prompt, model, ...settings }: AgentFlags) {
  return {
    columns: definedProperties({
      name,
      description,
      prompt: prompt === undefined ? prompt : textOrFile(prompt, "--prompt"),
      model,
    }),
    settings: definedProperties(settings),
  };
}

export const setAgentCommand = defineCommand(z.object(agentShape), async (flags, context) => {
  const { columns, settings } = changesOf(flags);
  if (Object.keys({ ...columns, ...settings }).length === 0) {
    throw new UserError(
      "flag_missing",
      "agents set: at least one change is required.",
      `See ${commandLine`art-e agents set --help`}.`,
    );
  }
  const change = { ...columns, settings };
  await changeAgent("Changed", context, (db, { updateAgent }) => updateAgent(db, flags.id, change).id);
});

export const exportAgentCommand = defineCommand(
  z.object({
    id: agentId,
    output: fileOrStdout.meta({ description: "Output file, or - for stdout [default: stdout]", alias: "o" }),
    ...shapeOf(OVERWRITE_FLAG),
  }),
  async ({ id, output: file, overwrite }, { settings, out }) => {
    const { readRegistry } = await import("../../agents/registry-store.js");
    const { exportAgent } = await import("../../agents/agent-file.js");
    const yaml = await readRegistry(settings, (db) => exportAgent(db, id));
    if (file === undefined) {
      out.result({ id, yaml }, () => yaml.trimEnd());
      return;
    }
    const { checkOutputs } = await import("../../trace-formats/output-files.js");
    checkOutputs([{ flag: "--output", path: file, kind: "agent" }], [], { db: settings.db, overwrite });
    await writeFileAtomically(file, [yaml]);
    out.result(
      { id, file },
      () =>
        `Exported agent ${id} to ${file}. Import it into another database: ${commandLine`art-e agents import ${file} --db other.db`}`,
    );
  },
);

export const detachToolCommand = defineCommand(z.object({ id: agentId, tools: toolIds }), ({ id, tools }, context) =>
  changeAgent("Changed", context, (db, { detachTools }) => {
    detachTools(db, id, tools);
    return id;
  }),
);

export const deleteAgentCommand = defineCommand(z.object({ id: agentId }), async ({ id }, { settings, out }) => {
  const { changeRegistry } = await import("../../agents/registry-store.js");
  const { deleteAgent } = await import("../../agents/registry.js");
  await changeRegistry(settings, (db) => deleteAgent(db, id));
  out.result({ id, deleted: true }, () => `Deleted agent ${id}. Its runs and versions stay.`);
});

export const listVersionsCommand = defineCommand(z.object({ id: agentId }), async ({ id }, { settings, out }) => {
  const { readRegistry, describeVersions } = await import("../../agents/registry-store.js");
  const versions = await readRegistry(settings, (db) => describeVersions(db, id));
  out.result(versions, () =>
    versions.length === 0
      ? `${id} is at version 1. It has not been changed or run.`
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
});

export const createAgentCommand = defineCommand(
  z.object({
    ...agentShape,
    tools: words.optional().meta({
      placeholder: "ID,ID",
      description: "Tool ids, separated by commas [default: email_search,email_get,return_final_answer]",
    }),
  }),
  async ({ tools, ...flags }, context) => {
    const { columns, settings } = changesOf(flags);
    if (columns.prompt === undefined) {
      throw new UserError(
        "flag_missing",
        "agents create: --prompt is required.",
        "Pass the prompt, or a file: --prompt @FILE.",
      );
    }
    const agent = {
      id: flags.id,
      ...columns,
      prompt: columns.prompt,
      // A new agent already has all defaults.
      settings: presentProperties(settings),
      tools: tools?.map((tool) => ({ id: tool })),
    };
    await changeAgent("Created", context, (db, { createAgent }) => createAgent(db, agent).id);
  },
);

export const cloneAgentCommand = defineCommand(
  z.object({ id: agentId, new_id: text.meta({ description: "Id of the copy" }) }),
  ({ id, new_id }, context) => changeAgent("Created", context, (db, { cloneAgent }) => cloneAgent(db, id, new_id).id),
);

export const attachToolCommand = defineCommand(
  z.object({
    id: agentId,
    tools: toolIds,
    config: jsonObject
      .optional()
      .meta({ placeholder: "JSON", description: "JSON object that overrides the config of each tool" }),
  }),
  ({ id, tools, config = null }, context) =>
    changeAgent("Changed", context, (db, { attachTools }) => {
      attachTools(db, id, tools, config);
      return id;
    }),
);

export const configureToolCommand = defineCommand(
  z.object({
    id: agentId,
    tool: withTraits(text, { completes: "tools" }).meta({ description: "Tool id" }),
    config: jsonObject
      .optional()
      .meta({ placeholder: "JSON", description: "JSON object that overrides the tool's config [default: none]" }),
  }),
  ({ id, tool, config = null }, context) =>
    changeAgent("Changed", context, (db, { configureTool }) => {
      configureTool(db, id, tool, config);
      return id;
    }),
);
