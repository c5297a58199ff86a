import {
  attachTool,
  cloneAgent,
  createAgent,
  deleteAgent,
  detachTool,
  updateAgent,
} from "../../app/registry/agents.js";
import { currentVersion } from "../../app/registry/versions.js";
import { UserError } from "../../domain/errors.js";
import type { Db } from "../../store/connection/open-store.js";
import type { CommandContext } from "../cli/command.js";
import { readText } from "../cli/read-text.js";
import { needId, needOther } from "../cli/subcommand-args.js";
import type { AgentAction, AgentFlags } from "./agents-flags.js";

export const create: AgentAction = (db, flags, door) => {
  const id = needId(flags.id, "agents", "create");
  if (flags.prompt === undefined) {
    throw new UserError("flag_missing", "agents create needs a --prompt.", "Give the text, or a file: --prompt @FILE.");
  }
  const { temperature, reasoningTokens, ...others } = settingsOf(flags);
  const settings = {
    ...others,
    ...(temperature == null ? {} : { temperature }),
    ...(reasoningTokens == null ? {} : { reasoningTokens }),
  };
  const tools = flags.tools?.map((tool) => ({ id: tool }));
  const created = createAgent(db, { id, ...rowOf(flags), prompt: textOf(flags.prompt), settings, tools });
  tell(db, created.id, "created", door);
};

export const set: AgentAction = (db, flags, door) => {
  const id = needId(flags.id, "agents", "set");
  const settings = settingsOf(flags);
  const row = rowOf(flags);
  if (Object.keys({ ...settings, ...row }).length === 0) {
    throw new UserError("flag_missing", "agents set is told nothing to change.", "See art-e agents --help.");
  }
  updateAgent(db, id, { ...row, settings });
  tell(db, id, "changed", door);
};

export const clone: AgentAction = (db, flags, door) => {
  const made = cloneAgent(db, needId(flags.id, "agents", "clone"), needOther(flags.other, "clone"));
  tell(db, made.id, "created", door);
};

export const remove: AgentAction = (db, flags, { out }) => {
  const id = needId(flags.id, "agents", "delete");
  deleteAgent(db, id);
  out.result({ id, deleted: true }, () => `Agent ${id} is deleted. Its runs and versions stay.`);
};

export const attach: AgentAction = (db, flags, door) => {
  const id = needId(flags.id, "agents", "attach");
  attachTool(db, id, needOther(flags.other, "attach"), flags.config ?? null);
  tell(db, id, "changed", door);
};

export const detach: AgentAction = (db, flags, door) => {
  const id = needId(flags.id, "agents", "detach");
  detachTool(db, id, needOther(flags.other, "detach"));
  tell(db, id, "changed", door);
};

/** Says what has become of an agent. */
export function tell(db: Db, id: string, what: "created" | "changed" | "imported", { out }: CommandContext): void {
  const version = currentVersion(db, id);
  out.result({ id, version }, () => `Agent ${id} is ${what}: version ${version}. art-e agents show ${id} shows it.`);
}

function rowOf({ name, description, prompt, model }: AgentFlags) {
  return {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(prompt === undefined ? {} : { prompt: textOf(prompt) }),
    ...(model === undefined ? {} : { model }),
  };
}

/** Only what is given; null takes the default again. */
function settingsOf({ maxTurns, maxTokens, reasoningTokens, temperature, toolCalls, toolChoice }: AgentFlags) {
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
function textOf(prompt: string): string {
  return prompt.startsWith("@") ? readText(prompt.slice(1), "--prompt").trimEnd() : prompt;
}
