#!/usr/bin/env bash
# Packs the project, installs the package in an empty folder and runs its demo there.
set -euo pipefail
cd "$(dirname "$0")/.."
elsewhere="$(mktemp -d)"
trap 'rm -rf "$elsewhere"' EXIT
npm pack --silent --pack-destination "$elsewhere" >/dev/null
cd "$elsewhere"
printf '{"name":"elsewhere","private":true,"allowScripts":{"better-sqlite3":true}}\n' >package.json
npm install --no-audit --no-fund --silent ./art-e-*.tgz
npx --no-install art-e --version
npx --no-install art-e demo --quiet --no-progress
test -s demo-output/results.json && test -s demo-output/traces.jsonl
du -sm node_modules | sed 's/node_modules/MB installed/'
# What only some commands need is asked for by name.
asked="$(npx --no-install art-e worker --queue redis://127.0.0.1:1 2>&1 || true)"
grep -q "npm install bullmq@" <<<"$asked" || { echo "$asked"; exit 1; }
