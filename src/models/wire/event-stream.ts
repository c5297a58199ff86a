import { createParser } from "eventsource-parser";
import { ModelError } from "../model.js";

/**
 * Reads events from the body of a reply, for every wire format. Accepts what servers and proxies make of a stream of
 * server-sent events: events without a blank line between them, keep-alives as data, lines of JSON, or one JSON array.
 */

export interface StreamEvent {
  /** The event's name, or an empty string. */
  readonly name: string;
  /** JSON, `[DONE]`, or any text that a server sends to keep the connection open. */
  readonly data: string;
}

/** Generous limit per answer, because an answer that contains entire emails can be long. */
const MAX_STREAM_BYTES = 64_000_000;
const MAX_FRAME_CHARS = 16_000_000;

/** The end of a stream at OpenAI and compatible servers. */
export const DONE = "[DONE]";

/** The start of an event stream, whatever its content type. */
const EVENT_STREAM = /^\s*(?:data|event|id|retry)?:/;

export const isEventStream = (text: string): boolean => EVENT_STREAM.test(text);

/** A data line that begins an event of its own. Continuation lines of indented JSON do not look like this. */
const BEGINS_EVENT = /^data: ?(?:\{"|\[DONE\])/;

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
  const feed = (line: string) => {
    if (isInData && BEGINS_EVENT.test(line)) parser.feed("\n");
    isInData = line.startsWith("data:");
    parser.feed(line);
    // Nothing follows, although the connection might stay open.
    if (line.trim() === `data: ${DONE}`) parser.feed("\n");
  };
  const decoder = new TextDecoder();
  let bytes = 0;
  let rest = "";
  for await (const chunk of body) {
    bytes += chunk.length;
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split(/(?<=\n)/);
    rest = lines.at(-1)?.endsWith("\n") ? "" : (lines.pop() ?? "");
    for (const line of lines) feed(line);
    if (broken !== null || bytes > MAX_STREAM_BYTES || rest.length > MAX_FRAME_CHARS) throw streamTooLong();
    yield* events.splice(0);
  }
  feed(`${rest}${decoder.decode()}`);
  parser.feed("\n\n");
  yield* events.splice(0);
}

function streamTooLong(): ModelError {
  return new ModelError("protocol", `the reply stream is larger than ${MAX_STREAM_BYTES / 1e6} MB`, {
    retryable: false,
  });
}
