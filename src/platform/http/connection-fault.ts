/** Name resolution and certificate errors are not temporary. */
const PERMANENT_ERROR_CODE = /^(ENOTFOUND|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|ERR_TLS|ERR_INVALID_URL)/;

/** Why a fetch got no answer. */
export interface ConnectionFault {
  /** Never empty. */
  readonly message: string;
  /** Worth another attempt: refused, reset, cut off. */
  readonly retryable: boolean;
}

/** The message of fetch is "fetch failed"; the reason is in its causes. */
export function connectionFault(error: Error): ConnectionFault {
  let deepest: Error = error;
  while (deepest.cause instanceof Error) deepest = deepest.cause;
  const code = "code" in deepest && typeof deepest.code === "string" ? deepest.code : "";
  // A connection tried on several addresses gives an AggregateError without a message.
  const message = deepest.message || "no connection";
  return { message: code === "" ? message : `${message} (${code})`, retryable: !PERMANENT_ERROR_CODE.test(code) };
}
