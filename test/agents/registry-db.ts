import { afterEach, beforeEach, expect } from "vitest";
import { UserError } from "../../src/platform/errors.js";
import type { Db } from "../../src/store/open-store.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";

/** A fresh registry for every test of a file. */
export function freshRegistry(): { readonly db: Db; readonly folder: string } {
  let current: TestDb;
  beforeEach(() => {
    current = openEmpty();
  });
  afterEach(() => current.close());
  return {
    get db() {
      return current.db;
    },
    get folder() {
      return current.folder;
    },
  };
}

/** Fails unless `action` is refused with this code and leaves the registry unchanged. Returns the message. */
export function refused(db: Db, code: string, action: () => unknown): string {
  const before = registryOf(db);
  let thrown: unknown;
  try {
    action();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(UserError);
  expect(thrown).toMatchObject({ code });
  expect(registryOf(db)).toEqual(before);
  const { message, hint } = thrown as UserError;
  expect(message).not.toContain("\n");
  return `${message} ${hint}`;
}

const registryOf = (db: Db) =>
  ["agents", "tools", "agent_tools", "agent_versions"].map((name) => db.prepare(`SELECT * FROM ${name}`).all());
