#!/bin/sh
# pack.sh GPU_CHECK: packing replaces no folder but one that was packed before.
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
echo mine >"$folder/file"
if said=$("$1" pack "$folder" 2>&1); then
    echo "it replaced a folder that is none of its own"
    exit 1
fi
echo "$said"
[ "$(cat "$folder/file")" = mine ] && echo "$said" | grep -q 'no folder of gpu_check'
