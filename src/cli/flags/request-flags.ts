import { z } from "zod";
import { REASONING_EFFORTS } from "../../models/reasoning-effort.js";
import { parseBodyFields, parseHeaders } from "../../models/request-extras.js";
import { oneOf, repeated } from "./read-flags.js";

/** Flags that add headers and fields to a model's requests. */

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

/** @param owner the owner of the requests in possessive form, such as "the model's" */
const describeHeader = (owner: string) =>
  `Header to add to ${owner} requests (repeatable). VALUE can contain \${VARIABLE}`;
const describeBody = (owner: string) => `Field to add to the body of ${owner} requests, such as seed=42 (repeatable)`;

export const extrasFlags = {
  header: headers.meta({ placeholder: "NAME=VALUE", description: describeHeader("the model's") }),
  body: bodyFields.meta({ placeholder: "NAME=JSON", description: describeBody("the model's") }),
};

export const judgeRequestFlags = {
  judgeReasoningEffort: reasoningEffort
    .optional()
    .meta({ placeholder: "EFFORT", description: "Reasoning effort of the judge [default: its model's]" }),
  judgeHeader: headers.meta({ placeholder: "NAME=VALUE", description: describeHeader("the judge's") }),
  judgeBody: bodyFields.meta({ placeholder: "NAME=JSON", description: describeBody("the judge's") }),
} satisfies Record<string, z.ZodType>;
