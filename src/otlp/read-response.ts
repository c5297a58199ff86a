import { z } from "zod";
import { parseJsonOrNull } from "../platform/parse-json.js";
import { stripControls } from "../platform/strip-controls.js";
import { RESPONSE_MESSAGE, RPC_STATUS_MESSAGE } from "./protobuf-messages.js";

/** What a server says of a request that it took. */
export interface PartialSuccess {
  readonly rejectedSpans: number;
  /** Empty: nothing. */
  readonly message: string;
}

/** 64-bit numbers are texts in JSON. */
const partialSuccessSchema = z.object({
  partialSuccess: z
    .object({ rejectedSpans: z.coerce.number().int().nonnegative().default(0), errorMessage: z.string().default("") })
    .nullish(),
});

const errorSchema = z.object({ message: z.string() }).or(z.object({ error: z.string() }));

const LONGEST_MESSAGE = 200;

/** A body that cannot be read says nothing: the status has said that the spans were taken. */
export function readPartialSuccess(contentType: string, body: Buffer): PartialSuccess {
  const parsed = partialSuccessSchema.safeParse(
    isProtobuf(contentType) ? decode(RESPONSE_MESSAGE, body) : jsonOf(body),
  );
  const { rejectedSpans = 0, errorMessage = "" } = parsed.data?.partialSuccess ?? {};
  return { rejectedSpans, message: shortened(errorMessage) };
}

/** What the body of a refusal says, in one short line; empty: nothing that can be read. */
export function readRefusal(contentType: string, body: Buffer): string {
  if (isProtobuf(contentType))
    return shortened(z.object({ message: z.string() }).safeParse(decode(RPC_STATUS_MESSAGE, body)).data?.message ?? "");
  const error = errorSchema.safeParse(jsonOf(body)).data;
  if (error !== undefined) return shortened("message" in error ? error.message : error.error);
  return /html/.test(contentType) ? "" : shortened(body.toString("utf8"));
}

function isProtobuf(contentType: string): boolean {
  return contentType.includes("protobuf");
}

function jsonOf(body: Buffer) {
  return parseJsonOrNull(body.toString("utf8"));
}

function decode(message: typeof RESPONSE_MESSAGE, body: Buffer): unknown {
  try {
    return message.toObject(message.decode(body), { longs: String });
  } catch {
    return null;
  }
}

function shortened(text: string): string {
  return stripControls(text.trim().replace(/\s+/g, " ")).slice(0, LONGEST_MESSAGE);
}
