#!/usr/bin/env bash
# Sets Holdtrue up once, then runs it. `./launch.sh --help` explains.
#
# An environment carries its state in .holdtrue/: what it was made for (kind), a digest of the
# inputs of each finished part (base, package, dev), and, only while pip is at work, the file
# "unfinished". A part is done again when its digest no longer fits; the whole environment is
# made anew when a set-up was interrupted or the kind changed.
set -euo pipefail

ROOT=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
VENV=$(realpath -ms -- "${HOLDTRUE_VENV:-$ROOT/.venv}")
PYTHON=$VENV/bin/python
STATE=$VENV/.holdtrue
LOG=$VENV.log
CUDA_ONLY=(torchvision torchaudio torchcodec triton)

say() { printf 'holdtrue: %s\n' "$*" >&2; }

die() {
  say "$*"
  exit 2
}

usage() {
  cat <<'TEXT'
Usage: ./launch.sh [COMMAND] [key=value ...]

  (nothing)         set up, then run the main job with its default configuration
  run, check, ...   set up if needed, then that command; COMMAND --help explains it
  test [ARG ...]    set up with the test tools, then pytest ARG ...
  setup [--dev]     set up only; --dev with the test tools

The first set-up takes minutes; once it is done, --help lists every command.

  HOLDTRUE_PYTHON   the Python 3.11 to build on     (first found on PATH)
  HOLDTRUE_VENV     the environment's folder        (.venv in the checkout)
  HOLDTRUE_VARIANT  cpu or gpu                      (gpu where an NVIDIA GPU is present)
TEXT
}

# ---- what this machine is -------------------------------------------------------------------

has_nvidia_gpu() {
  compgen -G '/proc/driver/nvidia/gpus/*' >/dev/null || nvidia-smi -L >/dev/null 2>&1
}

pick_variant() {
  case ${HOLDTRUE_VARIANT:-} in
    cpu | gpu) echo "$HOLDTRUE_VARIANT" ;;
    '') if has_nvidia_gpu; then echo gpu; else echo cpu; fi ;;
    *) die "HOLDTRUE_VARIANT must be cpu or gpu, got '$HOLDTRUE_VARIANT'" ;;
  esac
}

# Free space where the environment is or will be.
free_mb() {
  local folder=$VENV
  while [[ ! -d $folder ]]; do folder=$(dirname "$folder"); done
  df -Pk -- "$folder" | awk 'NR == 2 { print int($4 / 1024) }'
}

# Prints e.g. 3.11.7; nothing if the command does not exist or does not work.
python_version() {
  "$1" -c 'import platform; print(platform.python_version())' 2>/dev/null || true
}

find_python() {
  local candidate version found='' candidates=(python3.11 python3 python)
  [[ -z ${HOLDTRUE_PYTHON:-} ]] || candidates=("$HOLDTRUE_PYTHON")
  for candidate in "${candidates[@]}"; do
    version=$(python_version "$candidate")
    if [[ $version == 3.11.* ]]; then
      command -v "$candidate"
      return
    fi
    found+="${version:+$candidate is $version; }"
  done
  die "Python 3.11 is needed, but ${found:-none of these works: ${candidates[*]}; }install python3.11 or set HOLDTRUE_PYTHON to one"
}

# ---- what is set up already (no Python is started here) -------------------------------------

# digest FILE... : of the files, and of the environment they are installed into.
digest() {
  { printf '%s\n' "$KIND" && cat -- "$VENV/pyvenv.cfg" "$@"; } | sha256sum | cut -d ' ' -f 1
}

digest_of() {
  case $1 in
    base) digest "$ROOT/requirements/$VARIANT.txt" ;;
    package) digest "$ROOT/pyproject.toml" ;;
    dev) digest "$ROOT/requirements/$VARIANT.txt" "$ROOT/requirements/dev.txt" ;;
  esac
}

is_done() {
  [[ -e $STATE/$1 && $(<"$STATE/$1") == "$(digest_of "$1")" ]]
}

is_set_up() {
  [[ -x $PYTHON && ! -e $STATE/unfinished ]] || return 1
  local part
  for part in "$@"; do
    is_done "$part" || return 1
  done
}

# ---- pip, and what its failures mean --------------------------------------------------------

# step NAME COMMAND... : runs it with its output in the log, under a heading. In a subshell, so
# that an interruption's own line does not go into the log as well.
step() {
  printf '\n== %s\n' "$1" >>"$LOG"
  ("${@:2}") >>"$LOG" 2>&1
}

pip_install() { "$PYTHON" -m pip --no-input install --no-deps --compile "$@"; }

# Is the pattern (in lower case) in what the last step wrote? Warnings do not count: pip gives them
# for tries that went well the next time.
last_step_says() {
  awk -v pattern="$1" '/^== / { said = 0 }
    !/WARNING/ && tolower($0) ~ pattern { said = 1 }
    END { exit !said }' "$LOG"
}

# On a full disk the log may have missed the very line that says so.
ran_out_of_space() {
  last_step_says 'no space left on device|disk quota exceeded' || (($(free_mb) < 20))
}

lost_the_index() {
  last_step_says 'from versions: none|https?connectionpool|connectionerror|readtimeout|proxyerror|incompleteread'
}

# Ends with the one line that says why the last step failed.
explain() {
  if ran_out_of_space; then
    die "no disk space left while installing $1 into $VENV; free some (TMPDIR counts too) and start again. Log: $LOG"
  elif lost_the_index; then
    # pip changes nothing before it has every file: what worked goes on working, also offline.
    rm -f "$STATE/unfinished"
    die "no package index reachable that offers $1; check the network or pip's index-url and proxy (pip config list). Log: $LOG"
  fi
  die "$1 could not be installed: $(awk 'tolower($0) ~ /^ *error/ { line = $0 } END { print line }' "$LOG"). Log: $LOG"
}

# ---- the parts of an environment ------------------------------------------------------------

require_space() {
  local need_gb=4
  [[ $VARIANT == cpu ]] || need_gb=12
  (($(free_mb) >= need_gb * 1024)) ||
    die "no disk space: $VENV needs about $need_gb GB, its disk has $(free_mb) MB free. Free some or set HOLDTRUE_VENV to another disk"
}

# Marked as unfinished before anything else, so that an interruption is seen whenever it comes.
# Never empties a folder that this script did not fill, nor one that lies elsewhere: behind a link
# may be another checkout's environment, in use.
clear_environment() {
  [[ ! -L $VENV ]] ||
    die "$VENV is a link to $(readlink -f "$VENV"), which was not made for this checkout; remove the link or set HOLDTRUE_VENV"
  [[ -e $STATE || ! -e $VENV || -z $(ls -A "$VENV") ]] ||
    die "$VENV is not an environment that launch.sh made, and is no Python 3.11 with pip; move it away or set HOLDTRUE_VENV"
  mkdir -p "$STATE"
  touch "$STATE/unfinished"
  find "$VENV/" -mindepth 1 -maxdepth 1 ! -name .holdtrue -exec rm -rf {} +
  find "$STATE/" -type f ! -name unfinished -delete
}

make_environment() {
  local python
  python=$(find_python)
  clear_environment
  require_space
  say "setting up $VENV for $VARIANT with Python $(python_version "$python"): some minutes; details in $LOG"
  if step 'the environment' "$python" -m venv "$VENV"; then return; fi
  if ran_out_of_space; then explain 'the environment'; fi
  die "$python could not make an environment (Debian and Ubuntu: apt install python3.11-venv). Log: $LOG"
}

# Can pip bring this environment up to date, or must it be made anew?
is_updatable() {
  [[ -x $PYTHON && ! -e $STATE/unfinished && $(python_version "$PYTHON") == 3.11.* ]] &&
    [[ ! -e $STATE/kind || $(<"$STATE/kind") == "$KIND" ]] &&
    "$PYTHON" -m pip --version >/dev/null 2>&1
}

# The +cpu build of torch is on no package index by default, so it has two ways in.
install_cpu_torch() {
  local torch uv
  torch=$(grep -oE '^torch==[^ ]+' "$ROOT/requirements/cpu.txt")
  uv=$(grep -oE '^uv==[^ ]+' "$ROOT/requirements/dev.txt")
  if step "$torch" pip_install "$torch"; then
    say "$torch: found by pip, with its own configuration"
    return
  fi
  if ran_out_of_space || lost_the_index; then explain "$torch"; fi
  step "$uv" pip_install "$uv" || explain "$uv"
  if step "$torch by uv" "$VENV/bin/uv" pip install --python "$PYTHON" --no-deps \
    --compile-bytecode --torch-backend cpu "$torch"; then
    say "$torch: found by uv, on PyTorch's own index"
    return
  fi
  if ran_out_of_space; then explain "$torch"; fi
  die "$torch found neither by pip, with its own configuration, nor by uv, on PyTorch's index; reach that index or give pip a folder with the wheel (PIP_FIND_LINKS). Log: $LOG"
}

install_base() {
  [[ $VARIANT == gpu ]] || install_cpu_torch
  step "requirements/$VARIANT.txt" pip_install -r "$ROOT/requirements/$VARIANT.txt" ||
    explain "requirements/$VARIANT.txt"
  [[ $VARIANT == gpu ]] || step 'the removal' "$PYTHON" -m pip uninstall --yes "${CUDA_ONLY[@]}" ||
    explain 'the removal'
}

install_dev() {
  step requirements/dev.txt pip_install -r "$ROOT/requirements/dev.txt" || explain requirements/dev.txt
}

install_package() {
  step holdtrue pip_install --no-build-isolation --editable "$ROOT" || explain holdtrue
}

# ---- set-up ---------------------------------------------------------------------------------

bring_up_to_date() {
  local part
  : >"$LOG"
  if is_updatable; then say "bringing $VENV up to date; details in $LOG"; else make_environment; fi
  mkdir -p "$STATE"
  touch "$STATE/unfinished"
  printf '%s\n' "$KIND" >"$STATE/kind"
  for part in "$@"; do
    is_done "$part" || {
      "install_$part"
      digest_of "$part" >"$STATE/$part"
    }
  done
  rm "$STATE/unfinished"
  say "set up in $SECONDS s"
}

require_writable() {
  { mkdir -p "$(dirname "$VENV")" && : >>"$VENV.lock"; } 2>/dev/null ||
    die "cannot write beside $VENV; set HOLDTRUE_VENV to a folder where it can be made"
}

# The lock is held through descriptor 9, also by a pip that outlives a killed launch.sh,
# but not by what is started later.
set_up() {
  if is_set_up "$@"; then return; fi
  require_writable
  trap 'say "interrupted; the next start does the set-up again"; exit 130' INT
  exec 9>>"$VENV.lock"
  flock --nonblock 9 || {
    say "another set-up of $VENV is at work; waiting for it"
    flock 9
  }
  is_set_up "$@" || bring_up_to_date "$@"
  exec 9>&-
  trap - INT
}

# ---- commands -------------------------------------------------------------------------------

# A value that the user has set stays.
export_defaults() {
  export DO_NOT_TRACK="${DO_NOT_TRACK-1}"
  export HF_HUB_DISABLE_TELEMETRY="${HF_HUB_DISABLE_TELEMETRY-1}"
  export VLLM_NO_USAGE_STATS="${VLLM_NO_USAGE_STATS-1}"
  export RAY_USAGE_STATS_ENABLED="${RAY_USAGE_STATS_ENABLED-0}"
  # Started through `uv run`, Ray would make each worker an environment of its own.
  export RAY_ENABLE_UV_RUN_RUNTIME_ENV="${RAY_ENABLE_UV_RUN_RUNTIME_ENV-0}"
  # A busy machine needs longer than Ray's 30 s for its first process.
  export RAY_raylet_start_wait_time_s="${RAY_raylet_start_wait_time_s-120}"
  # Importing vLLM without bytecode costs each process about 20 s.
  unset PYTHONDONTWRITEBYTECODE
}

command_of() {
  case ${1:-} in
    '' | *=* | [+~]*) echo run ;;
    -h | --help) echo help ;;
    -*) echo run ;;
    *) echo "$1" ;;
  esac
}

show_help() {
  if is_set_up base package; then start_cli --help; fi
  usage
}

setup() {
  case $* in
    '') set_up base package ;;
    --dev) set_up base package dev ;;
    -h | --help) usage ;;
    *) die "setup takes nothing or --dev, got: $*" ;;
  esac
}

run_tests() {
  if [[ ${1:-} == --help ]]; then
    usage
    return
  fi
  set_up base package dev
  cd "$ROOT"
  exec "$PYTHON" -m pytest "$@"
}

# -P: a folder named like one of ours where the user stands must not be imported instead.
start_cli() { exec "$PYTHON" -P -m pipeline.cli "$@"; }

main() {
  local command
  command=$(command_of "$@")
  case ${1:-} in "$command" | -h | --help) shift ;; esac
  VARIANT=$(pick_variant)
  KIND="$VARIANT $ROOT $VENV"
  export_defaults
  case $command in
    help) show_help ;;
    setup) setup "$@" ;;
    test) run_tests "$@" ;;
    *)
      set_up base package
      start_cli "$command" "$@"
      ;;
  esac
}

main "$@"
