import { describe, expect, it } from "vitest";
import { z } from "zod";
import { benchmarkResultSchema } from "../../src/traces/run-totals.js";

/** The JSON Schema that ships is made from the zod schemas: `npx vitest run test/runs/results-schema.test.ts -u` makes it anew. */

const schema = z.toJSONSchema(benchmarkResultSchema, { target: "draft-2020-12", io: "input" });

const document = {
  $schema: schema.$schema,
  title: "ART-E results file",
  description: "What art-e run --output writes: the totals of a run, what makes it repeatable, and one line per task.",
  ...schema,
};

describe("the JSON Schema of the results file", () => {
  it("that ships is that of this version", async () => {
    await expect(`${JSON.stringify(document, null, 2)}\n`).toMatchFileSnapshot("../../schema/results.schema.json");
  });

  it("describes every field", () => {
    const silent: string[] = [];
    const visit = (node: unknown, path: string): void => {
      if (typeof node !== "object" || node === null) return;
      const { properties, items, additionalProperties } = node as Record<string, unknown>;
      for (const [name, field] of Object.entries((properties ?? {}) as Record<string, { description?: string }>)) {
        if (!field.description && !PLAIN.test(`${path}.${name}`)) silent.push(`${path}.${name}`);
        visit(field, `${path}.${name}`);
      }
      visit(items, `${path}[]`);
      visit(additionalProperties, `${path}.*`);
    };
    visit(document, "");
    expect(silent).toEqual([]);
  });

  it("lets no field pass that it does not name", () => {
    expect(document).toMatchObject({ type: "object", additionalProperties: false });
    expect(document.required).toEqual(expect.arrayContaining(["runId", "scores", "slices", "taskResults"]));
  });
});

/** Tokens and prices, whose names say it and whose parents say the unit. */
const PLAIN =
  /\.(inputTokens|outputTokens|cachedInputTokens|price\.(input|output|cachedInput)|input|output|cachedInput)$/;
