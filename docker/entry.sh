#!/bin/sh
# What the container runs: checks that the volumes can be written to, then becomes "neuroswarm ARGUMENTS".
set -eu

for folder in "${NEUROSWARM_DATA_DIR:-data}" "${NEUROSWARM_GOVERNANCE_DIR:-governance_logs}"; do
  if ! probe=$(mktemp "$folder/.writable.XXXXXX" 2>/dev/null); then
    echo "neuroswarm: $folder cannot be written to by user $(id -u):$(id -g);" \
      "mount a volume there, or give the folder away: chown -R $(id -u):$(id -g) FOLDER" >&2
    exit 78 # a fault of the configuration
  fi
  rm -f "$probe"
done

if [ $# -eq 0 ]; then set -- serve; fi
exec neuroswarm "$@"
