import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DockerfileParser } from "dockerfile-ast";
import { validate } from "dockerfile-utils";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ROOT } from "../test/cli/art-e.js";

/** The properties of the image that can be checked without Docker. */

const TEXT = readFileSync(join(ROOT, "Dockerfile"), "utf8");
const dockerfile = DockerfileParser.parse(TEXT);

/** The instructions of one kind, with their arguments on one line. */
const argumentsOf = (keyword: string) =>
  dockerfile
    .getInstructions()
    .filter((instruction) => instruction.getKeyword() === keyword)
    .map((instruction) => (instruction.getRawArgumentsContent() ?? "").replace(/\s*\\\n\s*/g, " "));

describe("the Dockerfile", () => {
  it("passes the linter", () => {
    expect(validate(TEXT)).toEqual([]);
    expect(validate(TEXT.replace("USER node", "USR node"))).not.toEqual([]);
  });

  it("starts from slim images of a Node version", () => {
    const images = argumentsOf("FROM");
    expect(images.length).toBe(2);
    for (const image of images) expect(image).toMatch(/^node:\d+-slim( AS \w+)?$/);
  });

  it("installs only the packages it names, and removes the package lists", () => {
    const installs = argumentsOf("RUN").filter((command) => command.includes("apt-get install"));
    expect(installs.length).toBe(1);
    for (const command of installs) {
      expect(command).toMatch(/^apt-get update && apt-get install -y --no-install-recommends [a-z0-9+\- ]+ && rm -rf /);
      expect(command).toMatch(/&& rm -rf \/var\/lib\/apt\/lists\/\*$/);
    }
    expect(installs.at(-1)).toMatch(/ bubblewrap .*python3 /);
  });

  it("copies every file of the package, and they all exist in the project", () => {
    const { files } = z
      .object({ files: z.array(z.string()) })
      .parse(JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")));
    const copied = argumentsOf("COPY").flatMap((line) =>
      [...line.matchAll(/\/opt\/art-e\/(\S+)/g)].map(([, path = ""]) => path),
    );
    const packed = files.filter((path) => !path.startsWith("!"));
    expect(copied.sort()).toEqual([...packed, "node_modules", "package.json"].sort());
    expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it("runs art-e as an unprivileged user, in the volume that contains the database", () => {
    expect(argumentsOf("USER")).toEqual(["node"]);
    expect(argumentsOf("VOLUME")).toEqual(["/data"]);
    expect(argumentsOf("WORKDIR").at(-1)).toBe("/data");
    expect(argumentsOf("ENTRYPOINT")).toEqual(['["art-e"]']);
    expect(argumentsOf("RUN").at(-1)).toContain("chown node:node /data");
  });
});

describe("the build context", () => {
  const ignored = readFileSync(join(ROOT, ".dockerignore"), "utf8").split("\n");

  it("contains neither keys, mail nor build output", () => {
    expect(ignored).toEqual(expect.arrayContaining(["**/.env", "*.db", "*.db-*", "**/node_modules", "dist", ".git"]));
  });
});
