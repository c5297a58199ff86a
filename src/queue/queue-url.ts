import { UserError } from "../domain/errors.js";

/** Where the queue is. `url` may hold a password; `shown` never does. */
export interface QueueAddress {
  readonly url: string;
  readonly shown: string;
  /** What must appear in no output. */
  readonly secrets: readonly string[];
}

/** Reads the address of a Redis or Valkey server. The error does not repeat what was given: it may hold a password. */
export function parseQueueUrl(text: string): QueueAddress {
  const url = URL.parse(text);
  const isRedis = url !== null && (url.protocol === "redis:" || url.protocol === "rediss:");
  if (!isRedis || url.hostname === "" || !/^(\/\d*)?$/.test(url.pathname) || url.search !== "" || url.hash !== "") {
    throw new UserError(
      "queue_url",
      "--queue (or ART_E_QUEUE_URL): expected the address of a Redis server.",
      "Give it as redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], or rediss:// for TLS.",
    );
  }
  const password = decode(url.password);
  return {
    url: text,
    shown: `${url.protocol}//${url.host}${url.pathname === "/" ? "" : url.pathname}`,
    secrets: [password, url.password].filter((secret) => secret !== ""),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
