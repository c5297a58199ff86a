import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { strFromU8, unzipSync } from "fflate";
import { EXPORTS } from "../machine-requirements.js";

/**
 * The rules of Inspect's two readers, from its schema and the list of its fields. The Python reader fills in default
 * values, and the viewer requires every plain field.
 */

type Json = Record<string, unknown>;
type Schemas = Record<string, { required?: string[]; properties?: Json }>;

export type Reader = "python" | "viewer";

const compiled = new Map<string, ValidateFunction>();

/** Throws if the reader rejects a value as one of the log's types. */
function checkType(type: string, value: unknown, reader: Reader): void {
  const key = `${reader} ${type}`;
  const validate = compiled.get(key) ?? compile(type, reader);
  compiled.set(key, validate);
  if (validate(value)) return;
  const [error] = validate.errors ?? [];
  throw new Error(`${type}${error?.instancePath}: ${error?.message} ${JSON.stringify(error?.params)}`);
}

let checkers: Record<Reader, Ajv2020> | undefined;

function compile(type: string, reader: Reader): ValidateFunction {
  checkers ??= readSchemas();
  return checkers[reader].compile({ $ref: `log#/components/schemas/${type}` });
}

function checkerOf(schemas: Schemas): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, discriminator: true });
  return ajv.addSchema({ $id: "log", components: { schemas } });
}

function readSchemas(): Record<Reader, Ajv2020> {
  const read = () => {
    const file = readFileSync(join(EXPORTS, "inspect-log.openapi.json"), "utf8").replaceAll('"#/', '"log#/');
    // ajv supports discriminators, but not their mappings.
    const parsed = JSON.parse(file, (key, value) =>
      key === "discriminator" ? { ...value, mapping: undefined } : value,
    );
    return (parsed as { components: { schemas: Schemas } }).components.schemas;
  };
  const [viewer, python] = [read(), read()];
  // Inspect does not restrict tool parameters, which come from users.
  for (const { JSONSchema } of [viewer, python]) if (JSONSchema !== undefined) JSONSchema.required = [];
  const lines = readFileSync(join(EXPORTS, "INSPECT-FIELDS.md"), "utf8").split("\n");
  for (const [i, line] of lines.entries()) {
    const schema = line.startsWith("## ") ? python[line.slice(3)] : undefined;
    // Python's reader requires the bold fields.
    const bold = [...(lines[i + 1] ?? "").matchAll(/\*\*(\w+)\*\*/g)].map(([, name]) => name ?? "");
    if (schema !== undefined) schema.required = bold;
  }
  return { viewer: checkerOf(viewer), python: checkerOf(python) };
}

/** A log in one JSON document. */
export function readJsonLog(json: string, reader: Reader): Json {
  const log = JSON.parse(json) as Json;
  checkHeader(log);
  checkType("EvalLog", log, reader);
  return log;
}

/** For lists of logs, Python reads only the header and stops at the samples. */
function checkHeader(log: Json): void {
  const keys = Object.keys(log);
  const samples = keys.indexOf("samples");
  for (const key of ["version", "status", "eval", "plan", "stats"]) {
    const at = keys.indexOf(key);
    if (at === -1) throw new Error(`the log has no ${key}`);
    if (samples !== -1 && at > samples) throw new Error(`${key} is after the samples`);
  }
  for (const [key, value] of Object.entries(log)) if (value === null) throw new Error(`${key} is null`);
}

export interface EvalFile {
  readonly names: readonly string[];
  readonly header: Json;
  readonly samples: readonly Json[];
  readonly summaries: readonly Json[];
}

/** A log in a zip file. */
export function readEvalFile(bytes: Uint8Array, reader: Reader): EvalFile {
  const files = unzipSync(bytes);
  const names = Object.keys(files);
  const read = <T>(name: string): T => {
    const file = files[name];
    if (file === undefined) throw new Error(`there is no ${name}`);
    return JSON.parse(strFromU8(file)) as T;
  };
  // The viewer finds the directory of the zip in its last 22 bytes, which a comment would move.
  if (Buffer.from(bytes.slice(-22, -18)).toString("latin1") !== "PK\x05\x06") throw new Error("the zip has a comment");
  if (names.at(-1) !== "header.json") throw new Error("the header is not the last");
  const start = read<Json>("_journal/start.json");
  if (start.version !== 2) throw new Error("the start does not contain a version");
  checkType("EvalSpec", start.eval, reader);
  checkType("EvalPlan", start.plan, reader);
  const header = read<Json>("header.json");
  checkHeader(header);
  checkType("EvalLog", header, reader);
  const summaries = read<Json[]>("summaries.json");
  for (const summary of [...summaries, ...read<Json[]>("_journal/summaries/1.json")]) {
    checkType("EvalSampleSummary", summary, reader);
  }
  for (const reduction of read<Json[]>("reductions.json")) checkType("EvalSampleReductions", reduction, reader);
  const samples = summaries.map(({ id, epoch }) => read<Json>(`samples/${id}_epoch_${epoch}.json`));
  for (const sample of samples) checkType("EvalSample", sample, reader);
  if (names.filter((name) => name.startsWith("samples/")).length !== samples.length) throw new Error("lost samples");
  return { names, header, samples, summaries };
}
