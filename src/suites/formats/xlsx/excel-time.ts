import type { FrameTime } from "../csv/frame.js";

const DAY_MS = 86_400_000;
const EPOCH_1900 = Date.UTC(1899, 11, 30);
const EPOCH_1904 = Date.UTC(1904, 0, 1);

/** A serial number as openpyxl turns it into a date, a time of day (below one day) or a duration; null out of range. */
export function fromSerial(serial: number, isDuration: boolean, is1904: boolean): FrameTime | null {
  if (!Number.isFinite(serial)) return null;
  if (isDuration) return { kind: "timedelta", ms: Math.round(serial * DAY_MS) };
  const day = Math.floor(serial);
  const ms = roundHalfEven((serial - day) * DAY_MS);
  if (serial >= 0 && serial < 1 && ms < DAY_MS) return { kind: "time", ms };
  // Excel takes 1900 for a leap year.
  const shifted = serial > 0 && serial < 60 && !is1904 ? day + 1 : day;
  const time = (is1904 ? EPOCH_1904 : EPOCH_1900) + shifted * DAY_MS + ms;
  const year = new Date(time).getUTCFullYear();
  return year >= 1 && year <= 9999 ? { kind: "datetime", ms: time } : null;
}

/** A cell of type `d`. */
export function fromIsoDate(text: string): FrameTime {
  const time = /^\d{4}-\d\d-\d\d/.test(text)
    ? Date.parse(text.endsWith("Z") ? text : `${text.slice(0, 23)}Z`)
    : Number.NaN;
  const date = Number.isNaN(time) ? Date.parse(`${text.slice(0, 10)}T00:00:00Z`) : time;
  if (Number.isNaN(date)) throw new Error(`${text} is no date`);
  return { kind: "datetime", ms: date };
}

export function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 !== 0) ? floor + 1 : floor;
}
