import { z } from "zod";
import { REASONING_EFFORTS } from "../models/reasoning-effort.js";
import { parseBodyFields, parseHeaders } from "../models/request-extras.js";
import { oneOf, repeated } from "./read-flags.js";

/** Flags for what is added to the requests of a model. */

type Parse<T> = (written: readonly string[]) => { ok: true; value: T } | { ok: false; problem: string };

function parsedBy<T>(parse: Parse<T>) {
  return repeated.transform((written, issues): T => {
    const parsed = parse(written);
    if (parsed.ok) return parsed.value;
    issues.addIssue({ code: "custom", message: parsed.problem });
    return z.NEVER;
  });
}

const headers = parsedBy(parseHeaders).optional();
const bodyFields = parsedBy(parseBodyFields).optional();

export const reasoningEffort = oneOf(REASONING_EFFORTS);

/** @param requests whose requests: "the model's" */
const describeHeader = (requests: string) =>
  `NAME=VALUE: add a header to ${requests} requests; VALUE may have \${VARIABLE}; repeatable`;
const describeBody = (requests: string) =>
  `NAME=JSON: add a field to the body of ${requests} requests, such as seed=42; repeatable`;

export const extrasFlags = {
  header: headers.meta({ description: describeHeader("the model's") }),
  body: bodyFields.meta({ description: describeBody("the model's") }),
};

export const judgeRequestFlags = {
  judgeReasoningEffort: reasoningEffort
    .optional()
    .meta({ description: "How much the judge should reason [default: its model's]" }),
  judgeHeader: headers.meta({ description: describeHeader("the judge's") }),
  judgeBody: bodyFields.meta({ description: describeBody("the judge's") }),
} satisfies Record<string, z.ZodType>;
