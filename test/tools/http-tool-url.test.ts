import { expect, test } from "vitest";
import type { JsonObject } from "../../src/platform/json.js";
import { httpTool } from "../../src/tools/http-tool.js";
import type { ToolRow } from "../../src/tools/tool.js";

const problemOf = (url: string, parametersSchema: JsonObject) =>
  httpTool.validate?.(httpTool.config.parse({ url }), { parametersSchema } as unknown as ToolRow);

test("an address may ask only for what the tool has as parameters", () => {
  const withQuery = { type: "object", properties: { q: { type: "string" } } };
  expect(problemOf("https://a.example/{{q}}?p={{ q }}", withQuery)).toBeUndefined();
  expect(problemOf("https://a.example/", { type: "object" })).toBeUndefined();
  const problem = "its url asks for {{p}}, which is none of its parameters";
  expect(problemOf("https://a.example/{{q}}/{{p}}", withQuery)).toBe(problem);
  expect(problemOf("https://a.example/{{p}}", { type: "object" })).toBe(problem);
  expect(problemOf("https://a.example/{{p}}", { type: "object", properties: null })).toBe(problem);
});
