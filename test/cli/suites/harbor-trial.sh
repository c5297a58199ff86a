#!/bin/bash
# The steps of a Harbor trial, read literally: usage harbor-trial.sh TASKS AGENT. As root of a sandbox of its own, where
# /app, /logs, /tests and /solution can be written to. Prints a line of JSON for each task.
for task in "$1"/*/; do
  rm -rf /app /logs /tests /solution /usr/local/share/mail; mkdir -p /app /logs/agent /logs/verifier /logs/artifacts /tests /solution
  workdir=/
  while read -r word first second; do
    case "$word" in
      WORKDIR) workdir=$first; mkdir -p "$workdir" ;;
      COPY) mkdir -p "$(dirname "$second")"; cp "$task/environment/$first" "$second" ;;
    esac
  done < "$task/environment/Dockerfile"
  cd "$workdir" || exit 1
  : > /logs/agent/output.txt
  case "$2" in
    oracle) cp -r "$task/solution/." /solution; bash /solution/solve.sh > /logs/agent/oracle.txt 2>&1 ;;
    nop) ;;
    *) bash -c "$2" > /logs/agent/output.txt 2>&1 ;;
  esac
  cp -r "$task/tests/." /tests; chmod +x /tests/test.sh
  /tests/test.sh > /logs/verifier/test-stdout.txt 2>&1
  printf '{"task": "%s", "json": %s, "text": %s, "agent": %s}\n' "$(basename "$task")" \
    "$(cat /logs/verifier/reward.json)" "$(cat /logs/verifier/reward.txt)" \
    "$(python3 -Ic 'import json, sys; print(json.dumps(sys.stdin.read()))' < /logs/agent/output.txt)"
  cd /
done
