#!/usr/bin/env node
const args = process.argv.slice(2);
if (args.length === 1 && args[0] === "--version") {
  // Without loading the rest of the program, which takes three times as long.
  const { programVersion } = await import("../dist/platform/program-version.js");
  console.log(programVersion());
} else {
  const { main } = await import("../dist/cli.js");
  process.exitCode = await main(args);
}
