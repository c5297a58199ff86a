import { expect, it } from "vitest";
import { SseWriter } from "../../src/server/app/sse-writer.js";

const SLOW = { heartbeatMs: 60_000, stallMs: 60_000 };

/** Returns the value if it has settled by now, after microtasks and one turn of the loop. */
async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const later = new Promise((resolve) => setImmediate(resolve, "pending"));
  return (await Promise.race([promise, later])) === "pending";
}

it("waits for its reader before it accepts more", async () => {
  const stream = new SseWriter(
    SLOW,
    () => expect.unreachable(),
    () => undefined,
  );
  const reader = stream.body.getReader();
  const read = async () => new TextDecoder().decode((await reader.read()).value);
  const first = stream.send({ n: 1 });
  expect(await isPending(first)).toBe(true);
  expect(await read()).toBe('data: {"n":1}\n\n');
  await first;
  const second = stream.send("[DONE]");
  expect(await isPending(second)).toBe(true);
  expect(await read()).toBe("data: [DONE]\n\n");
  await second;
  stream.close();
  expect((await reader.read()).done).toBe(true);
});

it("disconnects a reader that does not read, and reports it once", async () => {
  const gone: string[] = [];
  const stream = new SseWriter(
    { ...SLOW, stallMs: 20 },
    (why) => gone.push(why),
    () => gone.push("cut"),
  );
  await stream.send("x");
  await stream.send("y");
  expect(gone).toEqual(["the client stopped reading", "cut"]);
});

it("sends nothing after its reader has disconnected, and never blocks", async () => {
  const gone: string[] = [];
  const stream = new SseWriter(
    SLOW,
    (why) => gone.push(why),
    () => expect.unreachable(),
  );
  const held = stream.send("x");
  await stream.body.cancel();
  await held;
  await stream.send("y");
  stream.close();
  expect(gone).toEqual(["the client disconnected"]);
});

it("sends comments between events", async () => {
  const stream = new SseWriter(
    { ...SLOW, heartbeatMs: 20 },
    () => undefined,
    () => undefined,
  );
  const { value } = await stream.body.getReader().read();
  expect(new TextDecoder().decode(value)).toMatch(/^: .+\n\n$/);
  stream.close();
});
