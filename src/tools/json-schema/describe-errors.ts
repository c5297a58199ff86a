import type { ErrorObject } from "ajv";
import { isSchemaObject } from "./json-pointer.js";

const MAX_ERRORS = 20;
const MAX_VALUE_CHARS = 80;
const MAX_NAMES = 50;

/** ajv's errors in one line: which value, what it must be, what it is. `root` names the value as a whole. */
export function describeErrors(errors: readonly ErrorObject[], root: string): string {
  const lines = errors.slice(0, MAX_ERRORS).map((error) => describe(error, root));
  return [...new Set(lines)].join("; ");
}

function describe(error: ErrorObject, root: string): string {
  const path = error.instancePath.slice(1).replaceAll("/", ".").replaceAll("~1", "/").replaceAll("~0", "~");
  const memberPath = (name: string) => (path === "" ? name : `${path}.${name}`);
  const { properties } = error.parentSchema ?? {};
  switch (error.keyword) {
    case "required": {
      const name = String(error.params.missingProperty);
      const property = isSchemaObject(properties) ? properties[name] : undefined;
      const type =
        isSchemaObject(property) && property.type !== undefined ? `: must be ${listOf([property.type])}` : "";
      return `${memberPath(name)} is missing${type}`;
    }
    case "additionalProperties":
    case "unevaluatedProperties": {
      const name = error.params.additionalProperty ?? error.params.unevaluatedProperty;
      const known = isSchemaObject(properties) ? Object.keys(properties) : [];
      const hint = known.length === 0 ? "" : ` (known: ${known.slice(0, MAX_NAMES).join(", ")})`;
      return `${path === "" ? root : path} must not have "${clip(String(name))}"${hint}`;
    }
    case "enum":
      return `${path || root} must be one of ${listOf(error.params.allowedValues)}${received(error.data)}`;
    case "const":
      return `${path || root} must be ${listOf([error.params.allowedValue])}${received(error.data)}`;
    default:
      return `${path || root} ${error.message}${received(error.data)}`;
  }
}

function listOf(values: readonly unknown[]): string {
  const listed = values.flat().slice(0, MAX_NAMES);
  return listed.map((value) => clip(JSON.stringify(value) ?? "")).join(", ");
}

function received(value: unknown): string {
  if (value === undefined) return "";
  if (Array.isArray(value)) return ", received a list";
  if (typeof value === "object" && value !== null) return ", received an object";
  return `, received ${clip(JSON.stringify(value))}`;
}

function clip(text: string): string {
  return text.length > MAX_VALUE_CHARS ? `${text.slice(0, MAX_VALUE_CHARS)}…` : text;
}
