import type { JsonValue } from "../../domain/json.js";
import type { ToolCallRecord } from "../../domain/runs/trace.js";
import { DOES_NOT_APPLY, type Feature, listOf } from "./feature.js";

/** Tools that may leave files behind: they write one, or run what does. */
const WRITING_TOOLS: ReadonlySet<string> = new Set(["write_file", "run_shell", "execute_python", "run_notebook"]);

const RUNS_TESTS =
  /\b(pytest|unittest|nose2?|tox|dbt (test|build)|npm (run )?test|yarn test|make (check|test)|go test|cargo test|great_expectations|assert)\b/;

export const filesWritten: Feature = {
  meaning: "tool calls that wrote a file, or ran a program that can",
  of({ isSuite, toolCalls }) {
    if (!isSuite) return DOES_NOT_APPLY;
    return { value: toolCalls.filter((call) => WRITING_TOOLS.has(call.name) && call.error === null).length };
  },
};

export const commandsFailed: Feature = {
  meaning: "commands that ended with an exit code other than 0, or by their time limit",
  of({ isSuite, toolCalls }) {
    if (!isSuite) return DOES_NOT_APPLY;
    const failed = toolCalls.filter(hasFailed);
    return { value: failed.length, detail: listOf(failed.map(commandOf)) };
  },
};

export const testsRun: Feature = {
  meaning: "commands that run tests or check with assert",
  of({ isSuite, toolCalls }) {
    if (!isSuite) return DOES_NOT_APPLY;
    return { value: toolCalls.filter((call) => RUNS_TESTS.test(commandOf(call))).length };
  },
};

function hasFailed({ result }: ToolCallRecord): boolean {
  const { exit_code: exitCode, timed_out: timedOut } = recordOf(result);
  return timedOut === true || (typeof exitCode === "number" && exitCode !== 0);
}

function commandOf({ arguments: args }: ToolCallRecord): string {
  const { command, code } = recordOf(args);
  return typeof command === "string" ? command : typeof code === "string" ? code : "";
}

function recordOf(value: JsonValue): { readonly [key: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as { readonly [key: string]: JsonValue })
    : {};
}
