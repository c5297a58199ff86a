// The seccomp filter of sandboxes: which system calls the kernel refuses.
type Instruction = readonly [code: number, value: number, ifTrue?: number, ifFalse?: number];

type Checked = "socket" | "socketpair" | "setsockopt" | "clone" | "clone3" | "ioctl" | "fallocate" | "mmap";

/**
 * Numbers, on x64 and arm64, of system calls that programs do not need and that would widen what they can do (Linux,
 * arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h). A number is null if the processor does
 * not have the call.
 */
const REFUSED: Readonly<Record<string, readonly [x64: number, arm64: number | null]>> = {
  // Other processes.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  // Namespaces and mounts.
  unshare: [272, 97],
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  mknod: [133, null],
  mknodat: [259, 33],
  // These create memory that no process limit counts.
  memfd_create: [319, 279],
  memfd_secret: [447, 447],
  shmget: [29, 194],
  msgget: [68, 186],
  semget: [64, 190],
  mq_open: [240, 180],
  // System calls for the kernel's keys, BPF programs and message queues.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  fanotify_init: [300, 262],
  // The machine itself.
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  syslog: [103, 116],
  quotactl: [179, 60],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  iopl: [172, null],
  ioperm: [173, null],
  modify_ldt: [154, null],
  uselib: [134, null],
  personality: [135, 92],
  vhangup: [153, 58],
  move_pages: [279, 239],
  migrate_pages: [256, 238],
  mbind: [237, 235],
  set_mempolicy: [238, 237],
};

/**
 * First system call number that the filter does not know. It refuses the calls of Linux 6.8 and later like an old
 * kernel would, so that libraries fall back: statmount and listmount (457, 458), open_tree_attr (467), and all later
 * ones.
 */
const FIRST_UNKNOWN = 457;

const EPERM = 1;
const ENOSYS = 38;
const EOPNOTSUPP = 95;
const EAFNOSUPPORT = 97;
const ENETUNREACH = 101;
const AF_UNIX = 1;
/** AF_INET and AF_INET6, refused unless `loopback` is set, because their buffers are not counted for any process. */
const INTERNET = [2, 10];
/** Only NETLINK_ROUTE (0) is allowed in this family, because libraries list network interfaces with it. */
const AF_NETLINK = 16;
const SOL_SOCKET = 1;
/** SO_SNDBUF, SO_RCVBUF and their FORCE variants, which use kernel memory that is not counted for any process. */
const BUFFERS = [7, 8, 32, 33];
/** SO_ATTACH_FILTER, which also uses such kernel memory. */
const ATTACH_FILTER = [26];
const MAP_ANONYMOUS = 0x20;
/** Also set in MAP_SHARED_VALIDATE. */
const MAP_SHARED = 0x01;
/** The CLONE_NEW* flags of clone. */
const NEW_NAMESPACES = 0x7e020080;
/** The ioctls that type into a terminal: TIOCSTI, TIOCLINUX. */
const TYPING = [0x5412, 0x541c];

const LOAD = 0x20;
const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const IF_ANY_BIT = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const refuse = (errno: number) => 0x00050000 | errno;

/**
 * Offsets in struct seccomp_data. Arguments have 64 bits, and the kernel reads only the low half of those checked here.
 */
const NUMBER = 0;
const ARCHITECTURE = 4;
const argument = (index: number) => 16 + 8 * index;

const ARCHITECTURES: Readonly<
  Record<string, { column: 0 | 1; audit: number; calls: Readonly<Record<Checked, number>> }>
> = {
  x64: {
    column: 0,
    audit: 0xc000003e,
    calls: { socket: 41, socketpair: 53, setsockopt: 54, clone: 56, clone3: 435, ioctl: 16, fallocate: 285, mmap: 9 },
  },
  arm64: {
    column: 1,
    audit: 0xc00000b7,
    calls: {
      socket: 198,
      socketpair: 199,
      setsockopt: 208,
      clone: 220,
      clone3: 435,
      ioctl: 29,
      fallocate: 47,
      mmap: 222,
    },
  },
};

const LOOPBACK: readonly Instruction[] = [
  ...INTERNET.flatMap((family): Instruction[] => [
    [IF_EQUAL, family, 0, 1],
    [RETURN, ALLOW],
  ]),
  [IF_EQUAL, AF_NETLINK, 0, 4],
  [LOAD, argument(2)],
  [IF_EQUAL, 0, 0, 1],
  [RETURN, ALLOW],
  [RETURN, refuse(EAFNOSUPPORT)],
];

/**
 * Returns the filter for bwrap's `--seccomp`, an array of struct sock_filter, or null for an unknown processor
 * architecture. With `loopback`, Internet sockets can be created. See seccomp(2).
 */
export function seccompFilter(architecture: string, { loopback = false } = {}): Buffer | null {
  const definition = ARCHITECTURES[architecture];
  if (definition === undefined) return null;
  const { column, audit, calls } = definition;
  const numbers = Object.values(REFUSED).flatMap((row) => row[column] ?? []);
  const program: Instruction[] = [
    [LOAD, ARCHITECTURE],
    [IF_EQUAL, audit, 1, 0],
    [RETURN, KILL],
    [LOAD, NUMBER],
    // This includes x64's x32 numbers, which would bypass every rule below.
    [IF_AT_LEAST, FIRST_UNKNOWN, 0, 1],
    [RETURN, refuse(ENOSYS)],
    ...numbers.flatMap((number): Instruction[] => [
      [IF_EQUAL, number, 0, 1],
      [RETURN, refuse(EPERM)],
    ]),
    // clone3's flags are in memory, which a filter cannot read. The C library falls back to clone.
    [IF_EQUAL, calls.clone3, 0, 1],
    [RETURN, refuse(ENOSYS)],
    ...[calls.socket, calls.socketpair].flatMap((number) =>
      whenCalled(number, 0, [
        [IF_EQUAL, AF_UNIX, 0, 1],
        [RETURN, ALLOW],
        ...(loopback ? LOOPBACK : refuseAny(INTERNET, ENETUNREACH)),
        [RETURN, refuse(EAFNOSUPPORT)],
      ]),
    ),
    ...whenCalled(calls.setsockopt, 1, [
      // On other levels the numbers have other meanings, such as IPV6_V6ONLY.
      [IF_EQUAL, SOL_SOCKET, 1, 0],
      [RETURN, ALLOW],
      [LOAD, argument(2)],
      // Some servers do not start without their buffer size, so with loopback the call pretends to succeed.
      ...refuseAny(BUFFERS, loopback ? 0 : EPERM),
      ...refuseAny(ATTACH_FILTER, EPERM),
      [RETURN, ALLOW],
    ]),
    ...whenCalled(calls.ioctl, 1, [...refuseAny(TYPING, EPERM), [RETURN, ALLOW]]),
    // fallocate's modes punch holes into a file, and reserve space beyond its length, which no process limit counts.
    ...whenCalled(calls.fallocate, 1, [
      [IF_EQUAL, 0, 0, 1],
      [RETURN, ALLOW],
      [RETURN, refuse(EOPNOTSUPP)],
    ]),
    // Shared memory without a file keeps its pages after they are freed, and is then not counted for any process.
    ...whenCalled(calls.mmap, 3, [
      [IF_ANY_BIT, MAP_ANONYMOUS, 1, 0],
      [RETURN, ALLOW],
      [IF_ANY_BIT, MAP_SHARED, 0, 1],
      [RETURN, refuse(EPERM)],
      [RETURN, ALLOW],
    ]),
    ...whenCalled(calls.clone, 0, [
      [IF_ANY_BIT, NEW_NAMESPACES, 0, 1],
      [RETURN, refuse(EPERM)],
      [RETURN, ALLOW],
    ]),
    [RETURN, ALLOW],
  ];
  return Buffer.concat(program.map(toBytes));
}

/** Every branch of `then` must end in a RETURN, because it has overwritten the call's number. */
function whenCalled(number: number, index: number, then: readonly Instruction[]): Instruction[] {
  return [[IF_EQUAL, number, 0, then.length + 1], [LOAD, argument(index)], ...then];
}

function refuseAny(values: readonly number[], errno: number): Instruction[] {
  return values.flatMap((value): Instruction[] => [
    [IF_EQUAL, value, 0, 1],
    [RETURN, refuse(errno)],
  ]);
}

function toBytes([code, value, ifTrue = 0, ifFalse = 0]: Instruction): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(ifTrue, 2);
  bytes.writeUInt8(ifFalse, 3);
  bytes.writeUInt32LE(value >>> 0, 4);
  return bytes;
}
