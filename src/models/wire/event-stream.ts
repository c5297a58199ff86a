// Reads events from the body of a reply, for every wire format. Accepts what servers and proxies make of a stream of
// server-sent events: events without a blank line between them, keep-alives as data, or indented lines.
import { createParser } from "eventsource-parser";
import { ModelError } from "../model.js";

export interface StreamEvent {
  /** The event's name, or an empty string. */
  readonly name: string;
  /** JSON, `[DONE]`, or any text that a server sends to keep the connection open. */
  readonly data: string;
}

/** Generous limit per answer, because an answer that contains entire emails can be long. */
const MAX_STREAM_BYTES = 64_000_000;
const MAX_FRAME_CHARS = 8_000_000;

/** The end of a stream at OpenAI and compatible servers. */
export const DONE = "[DONE]";

/** The start of an event stream, whatever its content type. */
const EVENT_STREAM = /^\s*(?:data|event|id|retry|error)?:/;

export const isEventStream = (text: string): boolean => EVENT_STREAM.test(text);

/** Prefixes that a proxy has indented or repeated. */
const ODD_PREFIX = /^(?:[ \t]*data:){2,}|^[ \t]+data:/gm;

/** Some servers send an error in a field with that name. */
const ERROR_FIELD = /^error:/gm;

/** A data line that begins an event of its own. Continuation lines of indented JSON do not look like this. */
const BEGINS_EVENT = 'data: ?(?:\\{"|\\[DONE\\])';
const BEGINS_WITH_EVENT = new RegExp(`^${BEGINS_EVENT}`);
const BEFORE_EVENT = new RegExp(`\\n(?=${BEGINS_EVENT})`, "g");
const ENDS_STREAM = /^data: \[DONE\][^\S\n]*\n/m;

/**
 * Yields each event in a body when it arrives. If the body ends inside a frame, that part is still yielded. Throws a
 * ModelError if the body is too large.
 */
export async function* readEvents(body: AsyncIterable<Buffer>): AsyncGenerator<StreamEvent> {
  const events: StreamEvent[] = [];
  let broken: Error | null = null;
  const parser = createParser({
    maxBufferSize: MAX_FRAME_CHARS,
    onEvent: ({ event = "", data }) => {
      if (data.trim() !== "") events.push({ name: event, data });
    },
    onError: (error) => {
      if (error.type === "max-buffer-size-exceeded") broken = error;
    },
  });
  let isInData = false;
  /** Feeds complete lines. The parser is called once for all, because a stream can consist of millions of lines. */
  const feed = (received: string) => {
    const lines = received.replace(ODD_PREFIX, "data:").replace(ERROR_FIELD, "event: error\ndata:");
    const separated = lines.replace(BEFORE_EVENT, (end, at: number) => (endsDataLine(lines, at) ? "\n\n" : end));
    const first = isInData && BEGINS_WITH_EVENT.test(lines) ? "\n" : "";
    // Nothing follows the last line, although the connection might stay open.
    const last = ENDS_STREAM.test(lines) ? "\n" : "";
    isInData = endsDataLine(lines, lines.length - 1);
    parser.feed(`${first}${separated}${last}`);
  };
  const decoder = new TextDecoder();
  let bytes = 0;
  let rest: string[] = [];
  let restChars = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    const text = decoder.decode(chunk, { stream: true });
    const end = text.lastIndexOf("\n") + 1;
    if (end > 0) {
      feed(`${rest.join("")}${text.slice(0, end)}`);
      rest = [];
      restChars = 0;
    }
    rest.push(text.slice(end));
    restChars += text.length - end;
    if (broken !== null || bytes > MAX_STREAM_BYTES || restChars > MAX_FRAME_CHARS) throw streamTooLong();
    yield* events.splice(0);
  }
  feed(`${rest.join("")}${decoder.decode()}`);
  parser.feed("\n\n");
  yield* events.splice(0);
}

/** Returns whether the line that ends at `end` is a data line. */
function endsDataLine(lines: string, end: number): boolean {
  return end > 0 && lines.startsWith("data:", lines.lastIndexOf("\n", end - 1) + 1);
}

function streamTooLong(): ModelError {
  return new ModelError("protocol", `the reply stream is larger than ${MAX_STREAM_BYTES / 1e6} MB`, {
    retryable: false,
  });
}
