#!/usr/bin/env node
import { readFileSync } from "node:fs";

const args = process.argv.slice(2);
if (args.length === 1 && args[0] === "--version") {
  // Scripts ask for it: without loading the program, which takes three times as long.
  process.stdout.on("error", (error) => {
    if (error.code === "EPIPE") return;
    process.stderr.write(`art-e: Cannot write to stdout: ${error.message.replace(/^E\w+: |, write$/g, "")}.\n`);
    process.exitCode = 1;
  });
  console.log(JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version);
} else if (isSupportedNode()) {
  const { main } = await import("../dist/cli.js").catch((error) => {
    // The program consists of a few hundred files.
    if (error.code !== "EMFILE" && error.code !== "ENFILE") throw error;
    process.stderr.write(`art-e: Too many open files: ${error.message}.\n       Allow more (ulimit -n 4096).\n`);
    return { main: () => 1 };
  });
  process.exitCode = await main(args);
} else {
  process.stderr.write(`art-e: Node 20.19 or a later 20, or 22.14 or newer is required, this is ${process.version}.\n`);
  process.exitCode = 2;
}

/** Node below 22.14 lacks Node-API 10: SQLite's prebuilt binaries would end the process with a segmentation fault. */
function isSupportedNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  return (major === 20 && minor >= 19) || (major >= 22 && Number(process.versions.napi) >= 10);
}
