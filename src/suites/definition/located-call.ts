import type { JsonObject } from "../../domain/json.js";

/** What a function of a task is for. `metric`: compares; `result` and `expected`: get what is compared. */
export type CallRole = "config" | "postconfig" | "metric" | "result" | "expected";

/** A function of a task with the fields that name it, as the file spells them. */
export interface LocatedCall {
  readonly role: CallRole;
  readonly func: string;
  readonly arguments: JsonObject;
  /** `config[0].func` */
  readonly funcField: string;
  /** `config[0].arguments` */
  readonly argumentsField: string;
  /** Which comparison of the evaluation it belongs to; null: none. */
  readonly metric: number | null;
}
