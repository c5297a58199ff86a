/** More digits than these are out of every range, leading zeros apart. */
const MAX_INTEGER_DIGITS = 40;
const INTEGER = /^[+-]?\d+$/;
const UNSIGNED_MAX = 2n ** 64n - 1n;
const SIGNED_MAX = 2n ** 63n - 1n;
const SIGNED_MIN = -(2n ** 63n);

/** Digits that pandas' float parser looks at; leading zeros count. */
const MAX_DIGITS = 17;

export type IntegerRange = "int64" | "uint64" | "none";

/** An integer with blanks around it; null where the text is none. */
export function parseInteger(text: string): { value: bigint; range: IntegerRange } | null {
  const digits = trimBlanks(text);
  if (!INTEGER.test(digits)) return null;
  if (digits.replace(/^[+-]?0*/, "").length > MAX_INTEGER_DIGITS) return { value: 0n, range: "none" };
  const value = BigInt(digits.replace("+", ""));
  if (value >= SIGNED_MIN && value <= SIGNED_MAX) return { value, range: "int64" };
  return { value, range: value >= 0n && value <= UNSIGNED_MAX ? "uint64" : "none" };
}

/** A whole number is kept as a number where that is exact. */
export function toCell(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

const FLOAT = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d*))?$/;
const INFINITY = /^([+-]?)inf(inity)?$/i;

/**
 * A float as pandas' `precise_xstrtod` reads it, which is not correctly rounded: it takes 17 digits, leading zeros
 * included, and scales by one power of ten. So 0.30000000000000004 is 0.3. Null where the text is no number, or one too
 * large for a double.
 */
export function parseFloatLikePandas(text: string): number | null {
  const infinite = INFINITY.exec(text);
  if (infinite !== null) return infinite[1] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  const parts = FLOAT.exec(trimBlanks(text));
  if (parts === null) return null;
  const [, sign = "", whole = "", decimals = "", power] = parts;
  if (whole === "" && decimals === "") return null;
  // An exponent without digits is given back, and then stands behind the number.
  if (power !== undefined && !/\d/.test(power)) return null;
  const used = whole.slice(0, MAX_DIGITS);
  const usedDecimals = decimals.slice(0, MAX_DIGITS - used.length);
  let number = 0;
  for (const digit of used + usedDecimals) number = number * 10 + Number(digit);
  const exponent = whole.length - used.length - usedDecimals.length + Number((power ?? "0").slice(0, MAX_DIGITS + 1));
  const scaled = scaleByPower(sign === "-" ? -number : number, exponent);
  return Number.isFinite(scaled) ? scaled : null;
}

function scaleByPower(number: number, exponent: number): number {
  if (exponent > 308) return Number.POSITIVE_INFINITY;
  if (exponent > 0) return number * POWERS(exponent);
  if (exponent < -616) return 0;
  if (exponent < -308) return number / POWERS(-308 - exponent) / 1e308;
  return number / POWERS(-exponent);
}

const POWERS = (exponent: number) => Number(`1e${exponent}`);

/** Without what `isspace` holds for in C at both ends. */
function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

const isBlank = (unit: number) => unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
