#!/bin/bash
# Scores the answer. Always writes a reward: 0 where there is no answer, or none that can be read.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
logs=/logs/verifier
mkdir -p "$logs"
rm -f "$logs/reward.json" "$logs/reward.txt"
# -I: no module of the agent's working directory stands in for one of Python's.
python3 -I "$here/grade.py" "$here/expected.json" "$logs"
if [ ! -s "$logs/reward.json" ] || [ ! -s "$logs/reward.txt" ]; then
  echo '{"reward": 0.0}' > "$logs/reward.json"
  echo '0.0' > "$logs/reward.txt"
fi
