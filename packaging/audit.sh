#!/usr/bin/env bash
# Fails if a locked package that reaches users has a known vulnerability of at least high severity, and lists all others.
# --required: also fails if the registry does not answer. Otherwise, this is skipped with a note.
set -euo pipefail
cd "$(dirname "$0")/.."

# Whether npm's report contains vulnerabilities instead of a connection error.
is_report() { node -e 'process.exit("auditReportVersion" in JSON.parse(require("fs").readFileSync(0, "utf8") || "{}") ? 0 : 1)'; }

# Libraries are built in, so that devDependencies reach users too.
for folder in . node-20; do
  report="$(npm audit --json --prefix "$folder" 2>/dev/null || true)"
  if is_report <<<"$report"; then
    npm audit --audit-level=high --prefix "$folder"
  elif [ "${1:-}" = --required ]; then
    npm audit --prefix "$folder"
    exit 1
  else
    echo "skipped: this registry has no advisories (npm audit --prefix $folder says why)"
  fi
done
