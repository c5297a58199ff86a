#!/usr/bin/env node
import { readFileSync } from "node:fs";

const args = process.argv.slice(2);
if (args.length === 1 && args[0] === "--version") {
  // Scripts ask for it: without loading the program, which takes three times as long.
  process.stdout.on("error", (error) => {
    if (error.code === "EPIPE") return;
    process.stderr.write(`art-e: Cannot write to stdout: ${error.message}.\n`);
    process.exitCode = 1;
  });
  console.log(JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version);
} else {
  const { main } = await import("../dist/cli.js");
  process.exitCode = await main(args);
}
