import { z } from "zod";
import { parseRetryAfter } from "../../platform/http/retry-after.js";

/** google.rpc.RetryInfo, inside the body of an error; the delay is a protobuf Duration such as `34.07s`. */
const retryInfoSchema = z.object({
  "@type": z.string().endsWith("google.rpc.RetryInfo"),
  retryDelay: z.string().regex(/^\d+(\.\d+)?s$/),
});

/**
 * How long a server asked us to wait, in ms, never negative; null where it did not say. Reads `retry-after-ms`,
 * `Retry-After` in seconds or as an HTTP date (RFC 9110, 10.2.3), and Google's RetryInfo.
 */
export function retryAfterMs(headers: Headers | undefined, errorDetails: readonly unknown[] = []): number | null {
  const exact = headers?.get("retry-after-ms");
  if (exact && Number.isFinite(Number(exact))) return Math.max(0, Number(exact));
  const asked = parseRetryAfter(headers?.get("retry-after"));
  if (asked !== null) return asked;
  for (const detail of errorDetails) {
    const info = retryInfoSchema.safeParse(detail);
    if (info.success) return Math.round(Number(info.data.retryDelay.slice(0, -1)) * 1000);
  }
  return null;
}
