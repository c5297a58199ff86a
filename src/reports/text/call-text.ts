import type { JsonValue } from "../../domain/json.js";

/** A tool call: `name(query: "gas", limit: 10)`; what has several lines, as a program, stands below it as it is. */
export function callLines(name: string, callArguments: JsonValue): string[] {
  if (typeof callArguments !== "object" || callArguments === null || Array.isArray(callArguments)) {
    return [`  -> ${name}(${JSON.stringify(callArguments)})`];
  }
  const entries = Object.entries(callArguments);
  const isBlock = (value: JsonValue): value is string => typeof value === "string" && value.includes("\n");
  const inLine = entries.map(([key, value]) => `${key}: ${isBlock(value) ? "…" : JSON.stringify(value)}`);
  const blocks = entries.flatMap(([key, value]) =>
    isBlock(value) ? [`     ${key}:`, ...value.split("\n").map((line) => `       ${line}`)] : [],
  );
  return [`  -> ${name}(${inLine.join(", ")})`, ...blocks];
}
