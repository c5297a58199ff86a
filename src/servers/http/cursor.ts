import { z } from "zod";
import { ApiError } from "./api-error.js";

/** The last line of a page, in a list ordered by time and id. */
export interface PageEnd {
  readonly at: string;
  readonly id: string;
}

export function writeCursor({ at, id }: PageEnd): string {
  return Buffer.from(JSON.stringify([at, id])).toString("base64url");
}

export function readCursor(cursor: string): PageEnd {
  try {
    const text = Buffer.from(cursor, "base64url").toString("utf8");
    const [at, id] = z.tuple([z.string(), z.string()]).parse(JSON.parse(text));
    return { at, id };
  } catch {
    throw new ApiError("VALIDATION_ERROR", "The query: cursor: is not one that this server gave.");
  }
}
