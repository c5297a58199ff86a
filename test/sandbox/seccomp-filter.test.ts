import { expect, test } from "vitest";
import { seccompFilter } from "../../src/sandbox/isolation/seccomp-filter.js";

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const refused = (errno: number) => 0x00050000 + errno;

/** Runs the filter like the kernel: classic BPF over a struct seccomp_data. */
function decide(filter: Buffer, audit: number, number: number, args: readonly number[] = []): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(audit, 4);
  args.forEach((value, i) => {
    data.writeUInt32LE(value, 16 + 8 * i);
  });
  let accumulator = 0;
  for (let at = 0; at < filter.length / 8; at++) {
    const [code, yes, no, value] = [
      filter.readUInt16LE(at * 8),
      filter.readUInt8(at * 8 + 2),
      filter.readUInt8(at * 8 + 3),
      filter.readUInt32LE(at * 8 + 4),
    ];
    if (code === 0x06) return value;
    if (code === 0x20) accumulator = data.readUInt32LE(value);
    else if (code === 0x15) at += accumulator === value ? yes : no;
    else if (code === 0x35) at += accumulator >= value ? yes : no;
    else if (code === 0x45) at += (accumulator & value) !== 0 ? yes : no;
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error("the filter ran off its end");
}

const MACHINES = [
  {
    name: "x64",
    audit: 0xc000003e,
    socket: 41,
    clone: 56,
    clone3: 435,
    ioctl: 16,
    fallocate: 285,
    mmap: 9,
    setsockopt: 54,
    ptrace: 101,
    openat: 257,
    mount: 165,
  },
  {
    name: "arm64",
    audit: 0xc00000b7,
    socket: 198,
    clone: 220,
    clone3: 435,
    ioctl: 29,
    fallocate: 47,
    mmap: 222,
    setsockopt: 208,
    ptrace: 117,
    openat: 56,
    mount: 40,
  },
];

test.each(MACHINES)("seccompFilter allows and blocks the right system calls on $name", ({ name, audit, ...calls }) => {
  const filter = seccompFilter(name);
  if (filter === null) throw new Error("no filter");
  const of = (number: number, ...args: number[]) => decide(filter, audit, number, args);
  expect(of(calls.openat)).toBe(ALLOW);
  expect(of(calls.ptrace)).toBe(refused(1));
  expect(of(calls.mount)).toBe(refused(1));
  expect(of(calls.clone3)).toBe(refused(38));
  expect([1, 2, 10].map((family) => of(calls.socket, family))).toEqual([ALLOW, refused(101), refused(101)]);
  expect([16, 17, 38, 40].map((family) => of(calls.socket, family))).toEqual(Array(4).fill(refused(97)));
  expect(of(calls.ioctl, 0, 0x5412)).toBe(refused(1));
  expect(of(calls.ioctl, 0, 0x541c)).toBe(refused(1));
  expect(of(calls.ioctl, 0, 0x5413)).toBe(ALLOW);
  // Threads and processes as libraries create them, then each kind of new namespace.
  expect([0x3d0f00, 17, 0x01200011].map((flags) => of(calls.clone, flags))).toEqual([ALLOW, ALLOW, ALLOW]);
  const namespaces = [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000];
  expect(namespaces.map((flag) => of(calls.clone, flag | 17))).toEqual(Array(7).fill(refused(1)));
  expect([456, 457, 458, 467, 1000].map((number) => of(number))).toEqual([ALLOW, ...Array(4).fill(refused(38))]);
  // fallocate as posix_fallocate calls it, then with FALLOC_FL_KEEP_SIZE and a mode that makes holes.
  expect([0, 1, 3].map((mode) => of(calls.fallocate, 4, mode))).toEqual([ALLOW, refused(95), refused(95)]);
  // Private memory, a shared file, then shared memory without a file, requested in both ways.
  expect([0x22, 0x01, 0x21, 0x23].map((flags) => of(calls.mmap, 0, 4096, 3, flags))).toEqual([
    ALLOW,
    ALLOW,
    refused(1),
    refused(1),
  ]);
  expect([2, 7, 8, 26, 32, 33].map((option) => of(calls.setsockopt, 3, 1, option))).toEqual([
    ALLOW,
    ...Array(5).fill(refused(1)),
  ]);
  expect(of(0x40000000 + calls.openat)).toBe(refused(38));
  expect(decide(filter, 0x40000003, calls.openat)).toBe(KILL);
});

test.each(MACHINES)("seccompFilter also allows loopback sockets on $name on request", ({ name, audit, ...calls }) => {
  const filter = seccompFilter(name, { loopback: true });
  if (filter === null) throw new Error("no filter");
  const of = (number: number, ...args: number[]) => decide(filter, audit, number, args);
  expect([1, 2, 10].map((family) => of(calls.socket, family))).toEqual([ALLOW, ALLOW, ALLOW]);
  // Netlink to list interfaces, and for anything else; packets, bluetooth.
  expect([0, 4, 15].map((protocol) => of(calls.socket, 16, 3, protocol))).toEqual([ALLOW, refused(97), refused(97)]);
  expect([17, 31].map((family) => of(calls.socket, family, 3, 0))).toEqual([refused(97), refused(97)]);
  // Buffers that the filter pretends to set; SO_ATTACH_FILTER; SO_REUSEADDR; IPV6_V6ONLY, on another level.
  expect([7, 8, 32, 33].map((option) => of(calls.setsockopt, 3, 1, option))).toEqual(Array(4).fill(refused(0)));
  expect([26, 2].map((option) => of(calls.setsockopt, 3, 1, option))).toEqual([refused(1), ALLOW]);
  expect(of(calls.setsockopt, 3, 41, 26)).toBe(ALLOW);
  expect([of(calls.ptrace), of(calls.mount), of(calls.clone3)]).toEqual([refused(1), refused(1), refused(38)]);
});

test("seccompFilter returns null if the processor is unknown", () => {
  expect(["ia32", "riscv64", "s390x"].map((name) => seccompFilter(name))).toEqual([null, null, null]);
});
