/**
 * A `Retry-After` header in milliseconds, never negative: seconds (decimals too, which RFC 9110 section 10.2.3 does
 * not allow but servers send) or an HTTP date. Null where it is absent or unreadable.
 */
export function parseRetryAfter(value: string | null | undefined, now = Date.now()): number | null {
  const text = value?.trim() ?? "";
  if (text === "") return null;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}
