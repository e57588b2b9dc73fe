#!/usr/bin/env bash
# Writes cpu.txt, gpu.txt and dev.txt from the .in files with uv, which the dev set installs.
# Pins that still fit are kept; `requirements/compile.sh --upgrade` takes the newest releases.
# torch+cpu comes from the folder in UV_FIND_LINKS or PIP_FIND_LINKS if set, else from PyTorch's index.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export PATH="${HOLDTRUE_VENV:-$PWD/../.venv}/bin:$PATH"

# Only for the CPU set: with the GPU set, a folder of +cpu wheels would hide PyPI's torch.
torch_source=(--torch-backend cpu)
find_links=${UV_FIND_LINKS:-${PIP_FIND_LINKS:-}}
[[ -z $find_links ]] || torch_source=(--find-links "$find_links")
unset UV_FIND_LINKS

compile() {
  local name=$1
  shift
  uv pip compile "$name.in" --output-file "$name.txt" --quiet \
    --python-version 3.11 --python-platform x86_64-manylinux_2_28 \
    --no-header --no-emit-index-url --no-emit-find-links "$@"
}

compile cpu --override overrides.txt --override overrides-cpu.txt "${torch_source[@]}" "$@"
compile gpu --override overrides.txt "$@"
compile dev --override overrides-dev.txt --constraint cpu.txt "$@"
# launch.sh reads pins and reasons, no options, not even quoted ones.
sed -i 's/--override overrides-dev.txt/overrides-dev.txt/' dev.txt
