import { setImmediate } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { openReadOnly, withTickTransaction } from "../../src/store/open-store.js";
import { openEmpty } from "../runs/demo-setup.js";

it("reads as of one moment in a turn, as of another in the next, and holds nothing after the last", async () => {
  const { db, close } = openEmpty();
  onTestFinished(close);
  db.exec("CREATE TABLE seen (n)");
  const reader = openReadOnly(db.name);
  onTestFinished(() => void reader.close());
  const count = reader.prepare("SELECT count(*) FROM seen").pluck();
  const inTurn = withTickTransaction(reader);
  const read = () => inTurn(() => count.get());
  const add = () => db.exec("INSERT INTO seen VALUES (1)");
  expect(read()).toBe(0);
  add();
  expect(read()).toBe(0);
  await setImmediate();
  await setImmediate();
  expect(read()).toBe(1);
  await setImmediate();
  await setImmediate();
  expect(reader.inTransaction).toBe(false);
});

it("leaves a connection that writes alone", async () => {
  const { db, close } = openEmpty();
  onTestFinished(close);
  expect(withTickTransaction(db)(() => db.inTransaction)).toBe(false);
});

it("may be closed in the middle of a turn", async () => {
  const { db, close } = openEmpty();
  onTestFinished(close);
  const reader = openReadOnly(db.name);
  withTickTransaction(reader)(() => reader.prepare("SELECT 1").get());
  reader.close();
  await setImmediate();
});
