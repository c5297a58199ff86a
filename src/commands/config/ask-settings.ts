import { statSync } from "node:fs";
import { createInterface } from "node:readline";
import { answeringModelOf } from "../../app/settings/answering-model.js";
import { registryIdSchema } from "../../domain/agents/registry-id.js";
import { UserError } from "../../domain/errors.js";
import { parseModelName } from "../../models/model-name.js";
import type { CommandContext } from "../cli/command.js";
import type { ConfigAnswers } from "./config-template.js";

/** What is written where nothing is asked: an agent that can run with the keys there are. */
export function defaultAnswers(env: CommandContext["settings"]["env"]): ConfigAnswers {
  const model = answeringModelOf(env);
  return model === null
    ? { agent: "baseline", model: OFFLINE, tasks: null }
    : { agent: "email-search", model, tasks: null };
}

const OFFLINE = "offline/baseline";

/** Asks on stderr and reads a line of stdin each. An empty line means what stands in brackets. */
export async function askSettings({ settings, signal, note }: CommandContext): Promise<ConfigAnswers> {
  const fallback = defaultAnswers(settings.env);
  const lines = createInterface({ input: process.stdin, terminal: false });
  const stop = () => lines.close();
  signal.addEventListener("abort", stop, { once: true });
  const replies = lines[Symbol.asyncIterator]();
  const ask = async <T>(question: string, byDefault: string, read: (line: string) => T): Promise<T> => {
    for (;;) {
      process.stderr.write(`${question} [${byDefault}] `);
      const { value, done } = await replies.next();
      signal.throwIfAborted();
      if (done === true) throw noAnswer();
      try {
        return read(value.trim() || byDefault);
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        note(`${error.message} ${error.hint}`);
      }
    }
  };
  try {
    const agent = await ask("Which agent (email-search, art-e, baseline, or your own)?", fallback.agent, readAgent);
    const byDefault = agent === "baseline" ? OFFLINE : fallback.model;
    const model = await ask("Which model?", byDefault, (line) => parseModelName(line, null).id);
    const tasks = await ask("Which tasks (a file of questions, a suite's folder)?", PUBLISHED, readTasks);
    return { agent, model, tasks };
  } finally {
    signal.removeEventListener("abort", stop);
    lines.close();
  }
}

const PUBLISHED = "the published questions";

function readAgent(line: string): string {
  if (registryIdSchema.safeParse(line).success) return line;
  throw new UserError("agent_id", `${line} is no id of an agent.`, "An id has 1 to 64 letters, digits, - or _.");
}

function readTasks(line: string): ConfigAnswers["tasks"] {
  if (line === PUBLISHED) return null;
  const stats = statSync(line, { throwIfNoEntry: false });
  if (stats !== undefined) return { kind: stats.isDirectory() ? "suite" : "dataset", path: line };
  throw new UserError("file_missing", `There is no file or folder ${line}.`, "Name one, or give an empty line.");
}

function noAnswer(): UserError {
  return new UserError(
    "answer_missing",
    "There was no answer to a question.",
    "Answer on a terminal, or take the defaults: art-e init --yes.",
  );
}
