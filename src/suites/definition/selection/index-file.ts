import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { UserError } from "../../../domain/errors.js";
import { parseJsonOrNull } from "../../../platform/parse-json.js";
import type { SuiteFolder } from "../suite-folder.js";

const MAX_BYTES = 10_000_000;

const indexSchema = z.record(z.string(), z.array(z.string()));

/** A task that an index file lists: `{"jupyter": ["<id>", ...]}`. */
export interface IndexedTask {
  readonly tool: string;
  readonly id: string;
}

/** Reads an index file: a path as it is, or the name of a file beside `examples/`. */
export function readIndexFile(path: string, suite: SuiteFolder): IndexedTask[] {
  const found = [path, join(suite.content, path)].find(isFile);
  if (found === undefined) {
    throw new UserError("index_missing", `There is no index file ${path}, here or in ${suite.content}.`, HINT);
  }
  const tasks = parseIndexFile(found);
  if (tasks !== null) return tasks;
  throw new UserError("index_invalid", `${found} is no JSON object of tools, each with a list of task ids.`, HINT);
}

/** The tasks that an index file lists; null where it is none. */
export function parseIndexFile(path: string): IndexedTask[] | null {
  if (statSync(path).size > MAX_BYTES) return null;
  const index = indexSchema.safeParse(parseJsonOrNull(readFileSync(path, "utf8")));
  if (!index.success) return null;
  return Object.entries(index.data).flatMap(([tool, ids]) => ids.map((id) => ({ tool, id })));
}

const HINT = 'Name a file such as test_one.json: {"jupyter": ["<task id>", ...]}.';

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
