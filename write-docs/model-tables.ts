import { join } from "node:path";
import { type Consequence, FAILURE_CLASSES } from "../src/models/failure-classes.js";
import { FINISH_REASON_WORDS, type ReplyEnd } from "../src/models/finish-reasons.js";
import type { ModelErrorKind } from "../src/models/model.js";
import { OMISSIONS } from "../src/models/wire/omissions.js";
import { inCode, pageWithTables, table } from "./page-tables.js";

export const MODELS_PAGE = join(import.meta.dirname, "../docs/models.md");

const FAILURES: Readonly<Partial<Record<ModelErrorKind, string>>> = {
  refused: "a prompt or reply declined for its content",
  broken_call: "a tool call of the model that the server cannot read",
  context_overflow: "a prompt that is too long",
  rate_limit: "a rate limit",
  unavailable:
    "an empty or blocked account, a limit per day, or a requested wait that is longer than the retries allow",
  auth: "a rejected key",
  not_found: "an unknown model",
  bad_tools: "tools that the server rejects: too many, or an invalid name or schema",
  overloaded: "an overloaded server",
  timeout: "a timeout at the server",
  server: "a fault of the server",
};

const CONSEQUENCES: Readonly<Record<Consequence, string>> = {
  retried: "the call is retried",
  fails: "the task fails",
  refused: "the task ends as `refused`, graded as wrong",
  told: "the agent is asked to call again",
  stops: "the run stops, and `--resume` continues it",
};

const REPLY_ENDS: Readonly<Record<ReplyEnd, string>> = {
  stop: "the reply is complete",
  tool_calls: "the reply's tool calls are made",
  length: "the reply was truncated: the agent is asked to be brief",
  refusal: "the task ends as `refused`, graded as wrong",
  broken_call: "the tool call cannot be read: the agent is asked to call again",
  broke_off: "the reply is incomplete: the call is retried",
};

const HISTORY = " in the history";

const TABLES: Readonly<Record<string, () => string>> = {
  "failure classes": () =>
    table(
      ["failure", "HTTP status", "codes in the error", "consequence"],
      FAILURE_CLASSES.map(({ kind, statuses, codes, consequence }) => [
        FAILURES[kind] ?? kind,
        kind === "server" ? `${statuses.join(", ")}, other 5xx` : statuses.join(", "),
        inCode(codes),
        CONSEQUENCES[consequence],
      ]),
    ),
  omissions: () => {
    const inHistory = OMISSIONS.flatMap(({ what }) => (what.endsWith(HISTORY) ? [what.slice(0, -HISTORY.length)] : []));
    const others = OMISSIONS.flatMap(({ what }) => (what.endsWith(HISTORY) ? [] : [what]));
    return `- In the history: ${inHistory.join(", ")}\n- Elsewhere: ${others.join(", ")}`;
  },
  "finish reasons": () =>
    table(
      ["a word in the finish reason begins with", "consequence"],
      (Object.keys(FINISH_REASON_WORDS) as ReplyEnd[]).map((end) => [
        inCode(FINISH_REASON_WORDS[end]),
        REPLY_ENDS[end],
      ]),
    ),
};

/** docs/models.md with its generated tables in their current state. */
export const modelsPage = () => pageWithTables(MODELS_PAGE, TABLES);
