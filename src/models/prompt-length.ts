import type { ModelRequest } from "../domain/models/model.js";

/** Characters of a request as JSON, for estimates of its tokens. */
export function promptChars({ system, messages, tools }: ModelRequest): number {
  return JSON.stringify([system, messages, tools]).length;
}
