import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { FrameReader, GuestConnection, toFrame } from "../../src/sandbox/machine-guest.js";

/** A machine can send anything: a valid reply, or data that ends the machine. */

const lengths = (head: number, body: number) => {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32BE(head, 0);
  bytes.writeUInt32BE(body, 4);
  return bytes;
};

describe("frames", () => {
  const frames = [toFrame({ id: 1 }), toFrame({ id: 2, text: "ü" }, Buffer.from([0, 255, 10])), toFrame({ id: 3 })];

  test.each([1, 2, 7, 8, 9, 30, 1000])("arrive in chunks of %i bytes", (size) => {
    const bytes = Buffer.concat(frames);
    const reader = new FrameReader();
    const read = [];
    for (let at = 0; at < bytes.length; at += size) read.push(...reader.read(bytes.subarray(at, at + size)));
    expect(read.map(({ head }) => head)).toEqual([{ id: 1 }, { id: 2, text: "ü" }, { id: 3 }]);
    expect(read.map(({ body }) => [...body])).toEqual([[], [0, 255, 10], []]);
  });

  test.each([
    ["a head that is too long", lengths(2 ** 20, 0)],
    ["a body that is too long", lengths(2, 2 ** 31)],
    ["text", Buffer.from("Traceback (most recent call last)")],
    ["invalid JSON", Buffer.concat([lengths(3, 0), Buffer.from("{a}")])],
  ])("cause an error if they contain %s", (_, bytes) => {
    expect(() => [...new FrameReader().read(bytes)]).toThrow();
  });
});

describe("GuestConnection", () => {
  const connect = () => {
    const [requests, replies] = [new PassThrough(), new PassThrough()];
    const broken: string[] = [];
    return { replies, broken, guest: new GuestConnection(requests, replies, ({ message }) => broken.push(message)) };
  };

  test("assigns each reply to its request, in any order", async () => {
    const { guest, replies } = connect();
    const both = Promise.all([guest.request("a", {}), guest.request("b", {})]);
    replies.write(Buffer.concat([toFrame({ id: 9 }), toFrame({ id: 2, of: "b" }), toFrame({ id: 1, of: "a" })]));
    expect((await both).map(({ head }) => head)).toEqual([
      { id: 1, of: "a" },
      { id: 2, of: "b" },
    ]);
  });

  test("continues after a failed request", async () => {
    const { guest, replies, broken } = connect();
    const refused = expect(guest.request("a", {})).rejects.toThrow("No space left");
    replies.write(toFrame({ id: 1, error: "No space left" }));
    await refused;
    const next = guest.request("b", {});
    replies.write(toFrame({ id: 2 }));
    expect((await next).head).toEqual({ id: 2 });
    expect(broken).toEqual([]);
  });

  test.each([
    ["an invalid frame", Buffer.from("no frame at all")],
    ["a reply without an id", toFrame({ of: "a" })],
    ["a reply that is a list", toFrame([1])],
  ])("ends after %s, and rejects all pending requests", async (_, bytes) => {
    const { guest, replies, broken } = connect();
    const waiting = [guest.request("a", {}), guest.request("b", {})].map((request) =>
      expect(request).rejects.toThrow("sent an invalid reply"),
    );
    replies.write(bytes);
    await Promise.all(waiting);
    expect(broken).toHaveLength(1);
    await expect(guest.request("c", {})).rejects.toThrow("sent an invalid reply");
  });
});
