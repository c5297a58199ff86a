import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { anyTraceSchema } from "../../../src/traces/trace.js";
import { featuresSchema } from "../../trace-formats/exported-trace.js";
import { jsonLines, MAIL, MARCUS, QUESTIONS, workFolder } from "../art-e.js";

/** The shipped JSON Schema is generated from the zod schemas by running this file with `-u`. */
const exported = z.object({ features: featuresSchema.optional() });
const schema = z.toJSONSchema(
  z.discriminatedUnion("kind", anyTraceSchema.options.map((option) => option.extend(exported.shape)) as never),
  { target: "draft-2020-12", io: "input" },
);

const document = {
  $schema: schema.$schema,
  title: "ART-E trace",
  description: "One line of art-e export-traces: the answer to a question, a suite task, or one message of a chat.",
  ...schema,
};

describe("the JSON Schema of a trace", () => {
  const { artE, read } = workFolder({ mail: MAIL });

  it("matches the file in the package", async () => {
    await expect(`${JSON.stringify(document, null, 2)}\n`).toMatchFileSnapshot("../../../schema/trace.schema.json");
  });

  it("matches exported traces of runs and chats, and rejects a trace without its ending", async () => {
    await artE(`run -a baseline --dataset ${QUESTIONS} -l 3`);
    await artE(["ask", MARCUS, "How much are the softball dues?", "-a", "baseline"]);
    await artE("export-traces --run latest -o run.jsonl");
    await artE("export-traces --chats -o chats.jsonl");
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(document);
    const traces = [...jsonLines(read("run.jsonl")), ...jsonLines(read("chats.jsonl"))];
    expect(traces.map(({ kind }) => kind)).toEqual(["question", "question", "question", "chat"]);
    for (const trace of traces) expect([validate(trace), validate.errors]).toEqual([true, null]);
    const { ending: _, ...endless } = traces[0];
    expect(validate(endless)).toBe(false);
  });
});
