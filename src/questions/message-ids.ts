import { z } from "zod";
import { parseJsonOrNull } from "../platform/parse-json.js";

/**
 * Message-IDs of a CSV cell: a JSON array, a Python list (`['<a>', '<b>']`), a NumPy array (`['<a>' '<b>']`), or
 * separated by commas or spaces. Other text is returned unchanged.
 */
export function splitMessageIds(cell: string): string[] | string {
  const text = cell.trim();
  const fromJson = jsonStrings(text);
  if (fromJson !== null) return fromJson;
  const bracketed = text.match(/<[^<>]+>/g);
  if (bracketed !== null) {
    const between = text.replace(/<[^<>]+>/g, "");
    return /^[\s,;'"[\]]*$/.test(between) ? bracketed : cell;
  }
  // Without angle brackets around the ids.
  const words = text.replace(/^\[|\]$/g, "").split(/[\s,;]+/);
  return words.map((word) => word.replace(/^['"]|['"]$/g, "")).filter((word) => word !== "");
}

const stringsSchema = z.array(z.string());

function jsonStrings(text: string): string[] | null {
  return text.startsWith("[") ? (stringsSchema.safeParse(parseJsonOrNull(text)).data ?? null) : null;
}
