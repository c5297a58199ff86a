import { z } from "zod";
import type { EvalOf } from "../../domain/evals/eval-definition.js";
import type { Completion } from "../../domain/models/model.js";
import { argumentsOf } from "../../models/forced-tool-call.js";
import { describePython } from "../python/describe-python.js";

/** An eval as a model wrote it. */
export type WrittenEval =
  | Pick<EvalOf<"python">, "kind" | "criterion" | "code">
  | Pick<EvalOf<"rubric">, "kind" | "criterion" | "rubric">;

/** What of it does the checking. */
export function bodyOf(written: WrittenEval): string {
  return written.kind === "python" ? written.code : written.rubric;
}

/** What was written, or why it cannot be used. */
export type ReadReply<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly why: string };

const MAX_CRITERIA = 12;

const criteriaSchema = z.object({
  criteria: z
    .array(z.string().trim().min(1).max(500))
    .min(1)
    .transform((all) => all.slice(0, MAX_CRITERIA)),
});

const evalSchema = z.object({
  criterion: z.string().trim().min(1).max(1_000),
  kind: z.enum(["python", "rubric"]),
  body: z.string().min(1),
});

const MAX_CODE = 50_000;
const MAX_RUBRIC = 8_000;

type Reply = Pick<Completion, "toolCalls" | "content" | "finishReason">;

export function readCriteria(reply: Reply): ReadReply<readonly string[]> {
  const read = readCall(reply, "record_criteria", criteriaSchema);
  return read.ok ? { ok: true, value: read.value.criteria } : read;
}

export function readWrittenEval(reply: Reply): ReadReply<WrittenEval> {
  const read = readCall(reply, "record_eval", evalSchema);
  if (!read.ok) return read;
  const { criterion, kind, body } = read.value;
  if (kind === "rubric") {
    if (body.length > MAX_RUBRIC) return { ok: false, why: `its rubric has more than ${MAX_RUBRIC} characters` };
    return { ok: true, value: { kind, criterion, rubric: body.trim() } };
  }
  const code = withoutFence(body);
  if (code.length > MAX_CODE) return { ok: false, why: `its code has more than ${MAX_CODE} characters` };
  if (describePython(code) === null)
    return { ok: false, why: "its code defines no eval_function with four parameters" };
  return { ok: true, value: { kind, criterion, code } };
}

function readCall<T extends z.ZodType>(reply: Reply, tool: string, schema: T): ReadReply<z.output<T>> {
  const { finishReason, content } = reply;
  const calls = argumentsOf(reply, tool);
  if (calls.length === 0) {
    if (finishReason === "refusal") return { ok: false, why: "the model refused" };
    if (finishReason === "length") return { ok: false, why: "the reply was cut off by its limit of tokens" };
    const said = content.replace(/\s+/g, " ").trim().slice(0, 100);
    return { ok: false, why: `the model did not call ${tool}${said === "" ? "" : `, but said: ${said}`}` };
  }
  const { data, error } = schema.safeParse(calls[0]);
  if (data !== undefined) return { ok: true, value: data };
  const [issue] = error?.issues ?? [];
  return { ok: false, why: `its ${issue?.path.join(".") || "call"} cannot be used: ${issue?.message}` };
}

/** Models put code between backquotes, also where none are wanted. */
function withoutFence(body: string): string {
  const fenced = /^\s*```(?:python|py)?[^\n]*\n([\s\S]*?)\n?```\s*$/.exec(body);
  return `${(fenced?.[1] ?? body).trimEnd()}\n`;
}
