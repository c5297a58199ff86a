/** Numbers as they are printed everywhere: a missing number is a dash, never NaN or 0. */

export function count(value: number): string {
  return value.toLocaleString("en-US");
}

export function share(value: number | null): string {
  return value === null ? "-" : value.toFixed(3);
}

/** A mean per task, such as turns. */
export function oneDecimal(value: number | null): string {
  return value === null ? "-" : value.toFixed(1);
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** US dollars; small sums with three significant digits. */
export function usd(value: number | null): string {
  if (value === null) return "unknown";
  return value === 0 || value >= 1 ? `$${value.toFixed(2)}` : `$${value.toPrecision(3)}`;
}

export function duration(ms: number): string {
  if (Math.round(ms) < 1_000) return `${Math.round(ms)} ms`;
  if (Math.round(ms / 100) < 600) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  const [hours, minutes, rest] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (part: number) => String(part).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)} h` : `${minutes}:${two(rest)} min`;
}

/** What a progress bar says of mails: `12,000 mails  3,400/s`. */
export function mailProgress(mails: number, elapsedMs: number): string {
  return `${count(mails)} mails  ${rate(mails, elapsedMs)}`;
}

/** `1,234/s`: items a second. */
export function rate(done: number, elapsedMs: number): string {
  const perSecond = elapsedMs <= 0 ? 0 : (done / elapsedMs) * 1_000;
  return `${perSecond >= 10 ? count(Math.round(perSecond)) : perSecond.toFixed(1)}/s`;
}
