import { z } from "zod";
import type { AgentDescription, AgentVersionName } from "../../agents/registry-store.js";
import { commandLine, shellWord } from "../../platform/command-line.js";
import { EXIT, UserError } from "../../platform/errors.js";
import { writeFileAtomically } from "../../platform/files.js";
import { table } from "../../text/format.js";
import type { Command } from "../command.js";
import { overwriteShape } from "../flags.js";
import { declaredIn, jsonObject, numberBetween, oneOf, readFlags, text, wholeNumber, wordList } from "../read-flags.js";
import { readText } from "../read-text.js";
import type { Output } from "../terminal.js";

const showAgentSchema = z.object({
  id: text.optional().meta({ description: "The agent's id, or ID@VERSION" }),
  run: text.optional().meta({ description: "The agent exactly as a run had it" }),
});

export const showAgentCommand: Command = {
  ...declaredIn(showAgentSchema, ["id"]),
  async run(argv, { settings, out }) {
    const { id, run } = readFlags("agents show", showAgentSchema, argv);
    if (run !== undefined && id !== undefined) {
      throw new UserError("flags_contradict", "--run names the agent: ID cannot be given too.", "Leave one out.");
    }
    const name = run ?? id;
    if (name === undefined) {
      throw new UserError("flag_missing", "agents show needs ID.", `${commandLine`art-e agents list`} shows them.`);
    }
    const { describeAgent, describeAgentOfRun } = await import("../../agents/registry-store.js");
    const describe = run === undefined ? describeAgent : describeAgentOfRun;
    const { readRegistry } = await import("../../agents/registry-store.js");
    printAgent(await readRegistry(settings, (db) => describe(db, name)), out);
    return EXIT.done;
  },
};

export const listAgentsCommand: Command = {
  flags: {},
  async run(_, { settings, out }) {
    const { readRegistry, describeAgents } = await import("../../agents/registry-store.js");
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

const importAgentSchema = z.object({
  file: text.meta({ description: "A YAML file, as agents export writes it" }),
  replace: z.boolean().default(false).meta({ description: "Replace an agent of the same id; its versions stay" }),
});

export const importAgentCommand: Command = {
  ...declaredIn(importAgentSchema, ["file"]),
  async run(argv, { settings, out }) {
    const { file, replace } = readFlags("agents import", importAgentSchema, argv);
    const yaml = readText(file, "FILE");
    const { nameVersion, changeRegistry } = await import("../../agents/registry-store.js");
    const { importAgent } = await import("../../agents/agent-file.js");
    const imported = await changeRegistry(settings, (db) => nameVersion(db, importAgent(db, yaml, file, replace).id));
    printChange(imported, "imported", out);
    return EXIT.done;
  },
};

/** Prints an agent with its prompt. */
function printAgent(agent: AgentDescription, out: Output): void {
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
function printChange({ id, version }: AgentVersionName, change: "created" | "changed" | "imported", out: Output): void {
  out.result(
    { id, version },
    () => `Agent ${id} is ${change}: version ${version}. See it: ${commandLine`art-e agents show ${id}`}`,
  );
}

/** `default` removes a setting, so that its default holds again. */
const orDefault = <T extends z.ZodType>(schema: T) => z.union([z.literal("default").transform(() => null), schema]);

/** What can be set of an agent, when it is created and later. */
const agentShape = {
  id: text.meta({ description: "The agent's id" }),
  name: text.optional().meta({ description: "Its name [default: its id]" }),
  description: text.optional().meta({ description: "What it is for" }),
  prompt: text.optional().meta({
    description:
      "The prompt, or @FILE; may use {{inbox_address}}, {{query_date}}, {{snapshot}}, {{home}}, {{max_turns}}, {{tools}}",
  }),
  model: orDefault(text).optional().meta({ description: "provider/name, or default: the run's [default: the run's]" }),
  maxTurns: wholeNumber(1, 1_000).optional().meta({ description: "Model calls per task [default: 10]" }),
  maxTokens: wholeNumber(1).optional().meta({ description: "Tokens per reply [default: 2048]" }),
  reasoningTokens: orDefault(z.string().pipe(z.coerce.number()).pipe(wholeNumber(0)))
    .optional()
    .meta({ description: "Tokens for reasoning in addition, or default: by the model [default: by the model]" }),
  temperature: orDefault(z.string().pipe(z.coerce.number()).pipe(numberBetween(0, 2)))
    .optional()
    .meta({ description: "0-2, or default: the provider's [default: the provider's]" }),
  toolCalls: oneOf(["all", "first"])
    .optional()
    .meta({ description: "all: make all calls of a reply; first: only the first [default: all]" }),
  toolChoice: oneOf(["auto", "required"])
    .optional()
    .meta({ description: "auto, or required: a tool call in every turn [default: auto]" }),
};

const agentSchema = z.object(agentShape);

type AgentFlags = z.output<typeof agentSchema>;

const _AGENT_ID = { type: "string", describe: "The agent's id" } as const;

/** The columns that the flags set; those of absent flags are left out. */
function agentColumns({ name, description, prompt, model }: AgentFlags) {
  return {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(prompt === undefined ? {} : { prompt: promptText(prompt) }),
    ...(model === undefined ? {} : { model }),
  };
}

/** The settings that the flags set; null restores the default. */
function agentSettings({ maxTurns, maxTokens, reasoningTokens, temperature, toolCalls, toolChoice }: AgentFlags) {
  return {
    ...(maxTurns === undefined ? {} : { maxTurns }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(reasoningTokens === undefined ? {} : { reasoningTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(toolCalls === undefined ? {} : { toolCalls }),
    ...(toolChoice === undefined ? {} : { toolChoice }),
  };
}

/** The prompt itself, or that of `@FILE`. */
function promptText(prompt: string): string {
  return prompt.startsWith("@") ? readText(prompt.slice(1), "--prompt").trimEnd() : prompt;
}

const setAgentSchema = z.object(agentShape);

export const setAgentCommand: Command = {
  ...declaredIn(setAgentSchema, ["id"]),
  async run(argv, { settings, out }) {
    const flags = readFlags("agents set", setAgentSchema, argv);
    const columns = agentColumns(flags);
    const changes = agentSettings(flags);
    if (Object.keys({ ...columns, ...changes }).length === 0) {
      throw new UserError("flag_missing", "agents set: there is nothing to change.", "See art-e agents set --help.");
    }
    const { nameVersion, changeRegistry } = await import("../../agents/registry-store.js");
    const { updateAgent } = await import("../../agents/registry.js");
    const changed = await changeRegistry(settings, (db) =>
      nameVersion(db, updateAgent(db, flags.id, { ...columns, settings: changes }).id),
    );
    printChange(changed, "changed", out);
    return EXIT.done;
  },
};

const exportAgentSchema = z.object({
  id: text.meta({ description: "The agent's id" }),
  output: text.optional().meta({ description: "File to write [default: stdout]", alias: "o" }),
  ...overwriteShape,
});

export const exportAgentCommand: Command = {
  ...declaredIn(exportAgentSchema, ["id"]),
  async run(argv, { settings, out }) {
    const { id, output: file, overwrite } = readFlags("agents export", exportAgentSchema, argv);
    const { readRegistry } = await import("../../agents/registry-store.js");
    const { exportAgent } = await import("../../agents/agent-file.js");
    const yaml = await readRegistry(settings, (db) => exportAgent(db, id));
    if (file === undefined) {
      out.result({ id, yaml }, () => yaml.trimEnd());
      return EXIT.done;
    }
    const { checkOutputs } = await import("../../trace-formats/output-files.js");
    checkOutputs([{ flag: "--output", path: file, kind: "agent" }], [], { db: settings.db, overwrite });
    await writeFileAtomically(file, [yaml]);
    out.result(
      { id, file },
      () => `Agent ${id} is in ${file}. Import it elsewhere: art-e agents import ${shellWord(file)}`,
    );
    return EXIT.done;
  },
};

const toolIds = z.array(text).meta({ description: "Ids of tools" });

const detachToolSchema = z.object({ id: text.meta({ description: "The agent's id" }), tools: toolIds });

export const detachToolCommand: Command = {
  ...declaredIn(detachToolSchema, ["id", "tools"]),
  async run(argv, { settings, out }) {
    const { id, tools } = readFlags("agents detach", detachToolSchema, argv);
    const { nameVersion, changeRegistry } = await import("../../agents/registry-store.js");
    const { detachTools } = await import("../../agents/registry.js");
    const changed = await changeRegistry(settings, (db) => {
      detachTools(db, id, tools);
      return nameVersion(db, id);
    });
    printChange(changed, "changed", out);
    return EXIT.done;
  },
};

const deleteAgentSchema = z.object({ id: text.meta({ description: "The agent's id" }) });

export const deleteAgentCommand: Command = {
  ...declaredIn(deleteAgentSchema, ["id"]),
  async run(argv, { settings, out }) {
    const { id } = readFlags("agents delete", deleteAgentSchema, argv);
    const { changeRegistry } = await import("../../agents/registry-store.js");
    const { deleteAgent } = await import("../../agents/registry.js");
    await changeRegistry(settings, (db) => deleteAgent(db, id));
    out.result({ id, deleted: true }, () => `Agent ${id} is deleted. Its runs and versions stay.`);
    return EXIT.done;
  },
};

export const listVersionsCommand: Command = {
  ...declaredIn(deleteAgentSchema, ["id"]),
  async run(argv, { settings, out }) {
    const { id } = readFlags("agents versions", deleteAgentSchema, argv);
    const { readRegistry, describeVersions } = await import("../../agents/registry-store.js");
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

const createAgentSchema = z.object({
  ...agentShape,
  tools: z
    .string()
    .transform(wordList)
    .optional()
    .meta({ description: "Tool ids, separated by commas [default: email_search,email_get,return_final_answer]" }),
});

export const createAgentCommand: Command = {
  ...declaredIn(createAgentSchema, ["id"]),
  async run(argv, { settings, out }) {
    const flags = readFlags("agents create", createAgentSchema, argv);
    const { id, prompt } = flags;
    if (prompt === undefined) {
      throw new UserError(
        "flag_missing",
        "agents create needs a --prompt.",
        "Give the text, or a file: --prompt @FILE.",
      );
    }
    const agent = {
      id,
      ...agentColumns(flags),
      prompt: promptText(prompt),
      // A new agent has every default already.
      settings: Object.fromEntries(Object.entries(agentSettings(flags)).filter(([, value]) => value !== null)),
      tools: flags.tools?.map((tool) => ({ id: tool })),
    };
    const { nameVersion, changeRegistry } = await import("../../agents/registry-store.js");
    const { createAgent } = await import("../../agents/registry.js");
    const created = await changeRegistry(settings, (db) => nameVersion(db, createAgent(db, agent).id));
    printChange(created, "created", out);
    return EXIT.done;
  },
};

const cloneAgentSchema = z.object({
  id: text.meta({ description: "The agent's id" }),
  new_id: text.meta({ description: "The id of the copy" }),
});

export const cloneAgentCommand: Command = {
  ...declaredIn(cloneAgentSchema, ["id", "new_id"]),
  async run(argv, { settings, out }) {
    const { id, new_id: newId } = readFlags("agents clone", cloneAgentSchema, argv);
    const { nameVersion, changeRegistry } = await import("../../agents/registry-store.js");
    const { cloneAgent } = await import("../../agents/registry.js");
    const created = await changeRegistry(settings, (db) => nameVersion(db, cloneAgent(db, id, newId).id));
    printChange(created, "created", out);
    return EXIT.done;
  },
};

const attachToolSchema = z.object({
  id: text.meta({ description: "The agent's id" }),
  tools: toolIds,
  config: jsonObject
    .optional()
    .meta({ description: "A JSON object that overrides the own config of each of the tools" }),
});

export const attachToolCommand: Command = {
  ...declaredIn(attachToolSchema, ["id", "tools"]),
  async run(argv, { settings, out }) {
    const { id, tools, config } = readFlags("agents attach", attachToolSchema, argv);
    const { nameVersion, changeRegistry } = await import("../../agents/registry-store.js");
    const { attachTools } = await import("../../agents/registry.js");
    const changed = await changeRegistry(settings, (db) => {
      attachTools(db, id, tools, config ?? null);
      return nameVersion(db, id);
    });
    printChange(changed, "changed", out);
    return EXIT.done;
  },
};
