// The language that searches lists, such as `gpt score<0.5 tag:paper "softball dues"`, and its SQL. Commands, routes
// and pages use the same parser. Values are bound to parameters and never become part of the SQL.
import { UserError } from "../platform/errors.js";

/**
 * A property of the lines of a list. `sql` is an expression. For a `set`, it selects the members up to the compared
 * column: `SELECT 1 FROM run_tags WHERE run_id = r.id AND tag`.
 */
interface ListField {
  readonly kind: "text" | "id" | "choice" | "set" | "number" | "date";
  readonly sql: string;
  /** Meaning for people, without the name. */
  readonly help: string;
  /** Values of a `choice`, or absent if there are too many to list. */
  readonly choices?: readonly string[];
}

export type ListFields = Readonly<Record<string, ListField>>;

/** A condition. Without a field, the value is searched in all text of a line. */
export interface ListTerm {
  readonly field: string | null;
  /** `:` means "contains" for text, "equals" for numbers and choices, and "starts with" for dates. */
  readonly operator: ":" | "=" | "!=" | "<" | "<=" | ">" | ">=";
  readonly value: string;
  readonly negated?: boolean;
}

/** A page of a list. */
export interface ListQuery {
  readonly terms: readonly ListTerm[];
  /** Name of a field to sort by, after `-` if descending, or empty for newest first. */
  readonly sort: string;
  readonly offset: number;
  /** -1 for all lines. */
  readonly limit: number;
}

interface ListCondition {
  readonly sql: string;
  readonly values: Readonly<Record<string, string | number>>;
}

const TERM =
  /\s*(?<minus>-)?(?:(?<field>[a-z_]+)(?<operator>:?(?:<=|>=|!=|[<>=])|:))?(?:"(?<quoted>[^"]*)(?:"|$)|(?<word>[^\s"]*))/y;

/** @throws UserError for an unknown field, or a value that does not fit its field */
export function parseListQuery(text: string, fields: ListFields): ListTerm[] {
  const terms: ListTerm[] = [];
  const query = text.trim();
  TERM.lastIndex = 0;
  while (TERM.lastIndex < query.length) {
    const start = TERM.lastIndex;
    const { minus, field = null, operator = ":", quoted, word = "" } = TERM.exec(query)?.groups ?? {};
    const term = {
      field,
      operator: operator.replace(/^:(?=.)/, "") as ListTerm["operator"],
      value: quoted ?? word,
      negated: minus !== undefined,
    };
    if (term.value !== "" || field !== null) {
      checkTerm(term, fields);
      terms.push(term);
    }
    if (TERM.lastIndex <= start) break;
  }
  return terms;
}

/** Whether a condition such as `tag:none` holds for lines without a value. Text can contain the word. */
function isNone({ kind }: Pick<ListField, "kind">, operator: string, value: string): boolean {
  return value === "none" && operator === ":" && kind !== "text";
}

const DATE = /^\d{4}(-\d\d(-\d\d(T[\d:.]*Z?)?)?)?$/;

function checkTerm({ field: name, operator, value }: ListTerm, fields: ListFields): void {
  if (name === null) return;
  const field = fields[name];
  if (field === undefined) {
    const hint = `Available: ${Object.keys(fields).join(", ")}. Put text with a colon into quotation marks.`;
    throw invalid(`Unknown field "${name}".`, hint);
  }
  const { kind, choices = [] } = field;
  if (value === "") throw invalid(`${name}: expected a value.`, `Example: ${exampleOf(name, field)}`);
  const isOrdered = kind === "number" || kind === "date";
  if (!isOrdered && /[<>]/.test(operator)) throw invalid(`${name} has no order.`, `Example: ${exampleOf(name, field)}`);
  if (isNone(field, operator, value)) return;
  const isValid =
    (kind !== "number" || Number.isFinite(Number(value))) &&
    (kind !== "date" || DATE.test(value)) &&
    (kind !== "choice" || choices.length === 0 || choices.includes(value));
  if (!isValid) throw invalid(`${name}: "${value}" is not valid.`, `Expected ${expected(field)}.`);
}

function expected({ kind, choices = [] }: ListField): string {
  if (kind === "choice") return choices.join(", ");
  return kind === "date" ? "a date such as 2026-01-31 or 2026-01" : "a number such as 0.5";
}

/** Returns an example of a condition on a field, for help texts. */
export function exampleOf(name: string, { kind, choices = [] }: ListField): string {
  if (kind === "number") return `${name}<1`;
  if (kind === "date") return `${name}>=2026-01-31`;
  return `${name}:${choices[0] ?? "TEXT"}`;
}

function invalid(message: string, hint: string): UserError {
  return new UserError("filter_invalid", `The filter: ${message}`, hint);
}

/** Returns the condition that holds if all terms do. `anyText` is the SQL of a line's text. */
export function listCondition(terms: readonly ListTerm[], fields: ListFields, anyText: string): ListCondition {
  const values: Record<string, string | number> = {};
  const conditions = terms.map(({ field: name, operator, value, negated = false }, i) => {
    const field = name === null ? ({ kind: "text", sql: anyText } as const) : fields[name];
    if (field === undefined) throw new Error(`unknown field ${name}`);
    const bound = `@q${i}`;
    const isNegated = negated !== (operator === "!=");
    const condition = (sql: string, parameter: string | number) => {
      values[`q${i}`] = parameter;
      return isNegated ? `NOT coalesce(${sql}, 0)` : sql;
    };
    const { kind, sql } = field;
    if (isNone(field, operator, value)) {
      const missing = kind === "set" ? `NOT EXISTS (${sql} IS NOT NULL)` : `${sql} IS NULL`;
      return isNegated ? `NOT (${missing})` : missing;
    }
    const compared = operator === "!=" ? "=" : operator;
    switch (kind) {
      case "set":
        return condition(`EXISTS (${sql} = ${bound})`, value);
      case "number":
        return condition(`${sql} ${compared === ":" ? "=" : compared} ${bound}`, Number(value));
      case "date":
        return condition(dateCondition(sql, compared, bound), value);
      case "text":
        return condition(compared === "=" ? `lower(${sql}) = lower(${bound})` : containsText(sql, bound), value);
      default:
        return condition(kind === "id" && compared === ":" ? containsText(sql, bound) : `${sql} = ${bound}`, value);
    }
  });
  return { sql: ["1", ...conditions].join(" AND "), values };
}

function containsText(sql: string, bound: string): string {
  return `instr(lower(${sql}), lower(${bound})) > 0`;
}

/** Compares an ISO 8601 time with a date. The date 2026-01 is all of its times. */
function dateCondition(sql: string, operator: string, bound: string): string {
  const start = `substr(${sql}, 1, length(${bound}))`;
  return `${start} ${operator === ":" ? "=" : operator} ${bound}`;
}

/**
 * Returns the ORDER BY expressions for a field, or for `-FIELD` in descending order. Missing values come last. Returns
 * null for an empty order.
 */
export function listOrder(order: string, fields: ListFields): string | null {
  if (order === "") return null;
  const [name, direction] = order.startsWith("-") ? [order.slice(1), "DESC"] : [order, "ASC"];
  const field = fields[name];
  if (field === undefined || field.kind === "set") {
    const sortable = Object.keys(fields).filter((each) => fields[each]?.kind !== "set");
    throw new UserError("sort_invalid", `Cannot sort by "${name}".`, `Available: ${sortable.join(", ")}.`);
  }
  return `${field.sql} IS NULL, ${field.sql} ${direction}`;
}
