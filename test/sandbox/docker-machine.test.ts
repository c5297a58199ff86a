import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dockerMachineArguments, missingForImage, writeDockerfile } from "../../src/sandbox/docker-machine.js";
import { MACHINE_LIMITS } from "../../src/sandbox/limits.js";
import { readSnapshots, snapshotOf } from "../../src/sandbox/machine-snapshots.js";
import { openDockerMachine } from "../../src/sandbox/open-task-machine.js";
import { needs } from "../machine-requirements.js";
import { BASE, machinesStart, processesWith, shell } from "./machines.js";

describe("machines in Docker", () => {
  /**
   * Machines of Docker images. Docker is not installed: a fake docker accepts the same command line, checks what it
   * can, and starts the machine's first process in bubblewrap.
   */

  const folder = mkdtempSync(join(tmpdir(), "art-e-docker-"));
  const path = process.env.PATH;

  afterAll(() => {
    process.env.PATH = path;
    rmSync(folder, { recursive: true });
  });

  const FAKE = `#!/bin/bash
here=$(dirname "$0")
case "$1" in
  version) echo 27.0; exit ;;
  image) [ "$3" = lake:1 ]; exit ;;
  kill) kill -9 "$(cat "$here/$2.pid")"; exit ;;
esac
printf '%s\\n' "$@" > "$here/arguments"
while [ "$1" != lake:1 ]; do
  case "$1" in
    --name) name=$2 ;;
    --mount) source=\${2#*source=}; source=\${source%%,*} ;;
  esac
  shift
done
shift
echo $$ > "$here/$name.pid"
exec bwrap --unshare-pid --unshare-net --as-pid-1 --die-with-parent --ro-bind / / --proc /proc --dev /dev \\
  --tmpfs /home --dir /home/user --tmpfs /tmp --tmpfs /mnt --tmpfs /opt --ro-bind "$source" /opt/machine/guest \\
  --chdir /home/user -- python3 "$@"
`;

  beforeAll(() => {
    writeFileSync(join(folder, "docker"), FAKE);
    chmodSync(join(folder, "docker"), 0o755);
  });

  const givenIn = (args: readonly string[]) => (flag: string) => args.filter((_, i) => args[i - 1] === flag);

  test("dockerMachineArguments gives the container no network, no host files except the guest, no capabilities, and limited resources", () => {
    const args = dockerMachineArguments("art-e-1", "lake:1", "/guest", false);
    const given = givenIn(args);
    expect(args.slice(0, args.indexOf("lake:1"))).toEqual(
      expect.arrayContaining(["run", "--rm", "--interactive", "--read-only"]),
    );
    for (const [flag, value] of [
      ["--network", "none"],
      ["--pull", "never"],
      ["--cap-drop", "ALL"],
      ["--security-opt", "no-new-privileges"],
      ["--user", "1000:1000"],
      ["--mount", "type=bind,source=/guest,target=/opt/machine/guest,readonly"],
      ["--memory", String(MACHINE_LIMITS.memoryBytes)],
      ["--memory-swap", String(MACHINE_LIMITS.memoryBytes)],
    ] as const) {
      expect([flag, given(flag)]).toEqual([flag, [value]]);
    }
    expect(given("--tmpfs")).toContain(
      `/home/user:rw,exec,nosuid,nodev,size=${MACHINE_LIMITS.disk["/home/user"]},mode=0755,uid=1000,gid=1000`,
    );
    expect(given("--tmpfs").map((text) => text.split(":")[0])).toEqual(["/home/user", "/tmp", "/mnt"]);
    expect(given("--shm-size")).toEqual([String(MACHINE_LIMITS.disk["/dev/shm"])]);
    expect(args.slice(args.indexOf("lake:1") + 1).filter((word) => word.startsWith("--"))).toEqual([]);
    for (const flag of ["--privileged", "--volume", "--env", "--publish"]) expect(args).not.toContain(flag);
  });

  test("dockerMachineArguments keeps the image's own files in a writable container, with the same isolation", () => {
    const args = dockerMachineArguments("art-e-1", "lake:1", "/guest", true);
    const given = givenIn(args);
    for (const flag of ["--read-only", "--user", "--tmpfs", "--privileged", "--volume"])
      expect(args).not.toContain(flag);
    expect(
      ["--network", "--pull", "--cap-drop", "--security-opt", "--workdir"].map((flag) => given(flag).join()),
    ).toEqual(["none", "never", "ALL", "no-new-privileges", "/"]);
    expect(given("--memory")).toEqual([String(MACHINE_LIMITS.memoryBytes)]);
  });

  describe("openDockerMachine", needs("sandbox", machinesStart), () => {
    const snapshot = {
      ...BASE,
      image: "lake:1",
      files: { "/home/user/note": "hello" },
      setUp: [["touch", "/tmp/made"]],
    };

    test("runs commands, copies files, provides its snapshot's files, and ends with all of its processes", async () => {
      process.env.PATH = `${folder}:${path}`;
      const machine = await openDockerMachine(snapshot, new AbortController().signal);
      const word = `6${process.pid}.5`;
      try {
        expect(await shell(machine, "cat note; ls -d Desktop /tmp/made; echo out > out; exit 3")).toEqual({
          exitCode: 3,
          stdout: "hello/tmp/made\nDesktop\n",
          stderr: "",
        });
        expect(await machine.copyOut("/home/user/out", join(folder, "out"))).toBe(true);
        expect(readFileSync(join(folder, "out"), "utf8")).toBe("out\n");
        await shell(machine, `setsid sleep ${word} & disown -a`);
        await expect.poll(() => processesWith(`sleep\0${word}`).length).toBe(1);
      } finally {
        await machine.close();
      }
      await expect.poll(() => processesWith(word)).toEqual([]);
      expect(readFileSync(join(folder, "arguments"), "utf8")).toContain("--name\nart-e-machine-");
      await expect(shell(machine, "true")).rejects.toThrow("it was closed");
    });

    test("reports Docker's own error if the container does not start", async () => {
      process.env.PATH = `${folder}:${path}`;
      writeFileSync(join(folder, "docker"), '#!/bin/bash\necho "docker: no space left on device" >&2\nexit 125\n');
      const opening = openDockerMachine(snapshot, new AbortController().signal);
      await expect(opening).rejects.toThrow("docker: no space left on device");
      writeFileSync(join(folder, "docker"), FAKE);
    });

    test("requires Docker and the image", async () => {
      process.env.PATH = `${folder}:${path}`;
      expect(await missingForImage("lake:1")).toBeNull();
      expect(await missingForImage("lake:2")).toBe(
        "the Docker image lake:2 is missing: art-e suite image writes a Dockerfile for it",
      );
      process.env.PATH = "/nowhere";
      expect(await missingForImage("lake:1")).toBe("Docker is not installed");
      process.env.PATH = path;
    });
  });

  describe("writeDockerfile", () => {
    test("installs the packages, writes the shims, and lists programs without a Debian package", async () => {
      const snapshots = await readSnapshots(null);
      const text = writeDockerfile(snapshotOf("dbt", snapshots));
      expect(text).toMatch(/^# syntax=docker\/dockerfile:1\n# The snapshot dbt: .* docker build -t art-e-dbt -\n/);
      expect(text).toContain("# Debian does not have a package for dbt: install it below.");
      expect(text).toMatch(/apt-get install -y .* bash coreutils curl .* python3-yaml .*\\\n/);
      expect(text).toContain(
        "COPY --chmod=0555 <<'END' /opt/machine/bin/python\n#!/bin/sh\nexec python3 \"$@\"\nEND\n",
      );
      expect(text.endsWith("USER user\nWORKDIR /home/user\n")).toBe(true);
    });

    test("ends a shim's lines with a word that is not one of them", () => {
      const text = writeDockerfile({ ...BASE, shims: { odd: "cat <<END\nEND\nEND_" } });
      expect(text).toContain("<<'END__' /opt/machine/bin/odd\n#!/bin/sh\ncat <<END\nEND\nEND_\nEND__\n");
    });
  });
});
