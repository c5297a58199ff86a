import { expect, test } from "vitest";
import { DOCKER_IMAGE, dockerArguments } from "../../src/sandbox/choose-sandbox.js";
import { PYTHON_LIMITS } from "../../src/sandbox/limits.js";

const folders = { files: "/tmp/w/files", temporary: "/tmp/w/temporary", owner: null };
const args = dockerArguments("art-e-1", folders, "1000:1000");
const given = (flag: string) => args[args.indexOf(flag) + 1];

test("the container has no network, nothing to write but the workspace, no rights, and bounded means", () => {
  expect(args[0]).toBe("run");
  expect(args).toEqual(expect.arrayContaining(["--rm", "--read-only", "--init", "--interactive"]));
  expect({
    network: given("--network"),
    pull: given("--pull"),
    rights: given("--cap-drop"),
    security: given("--security-opt"),
    user: given("--user"),
    memory: given("--memory"),
    swap: given("--memory-swap"),
    processes: given("--pids-limit"),
    name: given("--name"),
  }).toEqual({
    network: "none",
    pull: "never",
    rights: "ALL",
    security: "no-new-privileges",
    user: "1000:1000",
    memory: String(PYTHON_LIMITS.memoryBytes),
    swap: String(PYTHON_LIMITS.memoryBytes),
    processes: String(PYTHON_LIMITS.processes),
    name: "art-e-1",
  });
  const mounts = args.filter((_, i) => args[i - 1] === "--mount");
  expect(mounts).toEqual([
    "type=bind,source=/tmp/w/files,target=/workspace",
    "type=bind,source=/tmp/w/temporary,target=/tmp",
  ]);
  expect(args).not.toContain("--privileged");
  expect(args).not.toContain("--volume");
});

test("every flag stands before the image, and Python's program after it", () => {
  const image = args.indexOf(DOCKER_IMAGE);
  expect(args.slice(image + 1, image + 3)).toEqual(["python3", "-I"]);
  expect(args.slice(image).filter((word) => word.startsWith("--"))).toEqual([]);
  expect(args.at(-1)).toContain("RLIMIT_FSIZE");
});
