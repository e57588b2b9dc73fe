"""The ``slurm`` command: a batch script that starts Ray on all nodes of a job and runs there."""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conf import UserError
from pipeline.launching import split_words


@dataclass(frozen=True)
class SlurmOptions:
    """Options of a job, given as ``slurm.KEY=VALUE``; 0 and empty say nothing to Slurm."""

    nodes: int = 1
    """Nodes of the job."""
    gpus_per_node: int = 0
    """GPUs of each node."""
    cpus_per_node: int = 0
    """CPUs of each node; 0 takes whole nodes."""
    time: str = "04:00:00"
    """Wall time; a run that it cuts off goes on with the same command."""
    partition: str = ""
    """Partition."""
    account: str = ""
    """Account."""
    options: str = ""
    """Further options of sbatch, separated by spaces."""
    name: str = "holdtrue"
    """The job's name."""


SCRIPT = """\
set -euo pipefail
cd {cwd}
bin={bin}

# One token for this job: only who can read the file can use the cluster.
mkdir -p .holdtrue-slurm
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=$PWD/.holdtrue-slurm/$SLURM_JOB_ID.token
token=$("$bin/python" -c 'import secrets; print(secrets.token_hex(32))')
(umask 077 && echo "$token" >"$RAY_AUTH_TOKEN_PATH")
unset token
export RAY_USAGE_STATS_ENABLED="${{RAY_USAGE_STATS_ENABLED-0}}"
export RAY_raylet_start_wait_time_s="${{RAY_raylet_start_wait_time_s-120}}"

mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=${{nodes[0]}}
address=$(srun --overlap --nodes=1 --ntasks=1 --nodelist="$head" hostname -I | awk '{{ print $1 }}')
port=$((20000 + SLURM_JOB_ID % 10000))
resources=({resources})

steps=()
cleanup() {{
  if ((${{#steps[@]}})); then
    kill "${{steps[@]}}" 2>/dev/null || true
    wait "${{steps[@]}}" || true
  fi
  rm -f "$RAY_AUTH_TOKEN_PATH"
}}
trap cleanup EXIT

srun --overlap --nodes=1 --ntasks=1 --nodelist="$head" \\
  "$bin/ray" start --head --block --node-ip-address="$address" --port="$port" "${{resources[@]}}" &
steps+=($!)
if ((${{#nodes[@]}} > 1)); then
  srun --overlap --nodes=$((${{#nodes[@]}} - 1)) --ntasks-per-node=1 --exclude="$head" \\
    "$bin/ray" start --block --address="$address:$port" "${{resources[@]}}" &
  steps+=($!)
fi

for _ in {{1..150}}; do
  if (exec 3<>"/dev/tcp/$address/$port") 2>/dev/null; then break; fi
  sleep 2
done

RAY_ADDRESS=$address:$port "$bin/python" -P -m pipeline.cli {command}
"""


def slurm(words: Sequence[str]) -> int:
    """Print or submit the batch script of a job.

    Raises:
        UserError: a word is wrong, or there is no Slurm here.
    """
    options, rest = split_words("slurm", SlurmOptions(), words)
    script = batch_script(options, rest.arguments, cwd=Path.cwd(), bin=Path(sys.executable).parent)
    if rest.dry_run:
        print(script, end="")
        return 0
    if shutil.which("sbatch") is None:
        raise UserError(
            "slurm: there is no sbatch on PATH; start this where jobs are submitted, or print the "
            "script with --dry-run"
        )
    done = subprocess.run(["sbatch"], input=script, text=True, check=False)
    if done.returncode:
        raise UserError(f"slurm: sbatch refused the job (status {done.returncode}), see above")
    return 0


def batch_script(options: SlurmOptions, arguments: Sequence[str], *, cwd: Path, bin: Path) -> str:
    """Return the script.

    Args:
        options: of the job.
        arguments: command and keys that run on it.
        cwd: folder that all nodes see; relative paths and the job's log belong there.
        bin: where the environment's commands are, on all nodes.
    """
    # The environment is the same on all nodes, and so is the code in it.
    fixed = [f"cluster.nodes={options.nodes}", "cluster.code=installed"]
    return "\n".join(
        [
            "#!/usr/bin/env bash",
            *(f"#SBATCH {option}" for option in _directives(options, cwd)),
            SCRIPT.format(
                cwd=shlex.quote(str(cwd)),
                bin=shlex.quote(str(bin)),
                resources=" ".join(_resources(options)),
                command=shlex.join([*arguments, *fixed]),
            ),
        ]
    )


def _directives(options: SlurmOptions, cwd: Path) -> list[str]:
    given = {
        "job-name": options.name,
        "nodes": options.nodes,
        "ntasks-per-node": 1,
        "gpus-per-node": options.gpus_per_node,
        "cpus-per-task": options.cpus_per_node,
        "time": options.time,
        "partition": options.partition,
        "account": options.account,
        "output": f"{cwd}/{options.name}-%j.log",
    }
    whole = [] if options.cpus_per_node else ["--exclusive"]
    further = shlex.split(options.options)
    return [f"--{key}={shlex.quote(str(value))}" for key, value in given.items() if value] + [
        *whole,
        *further,
    ]


def _resources(options: SlurmOptions) -> list[str]:
    # Ray counts a machine's CPUs, not those of the job.
    cpus = options.cpus_per_node and f"--num-cpus={options.cpus_per_node}"
    return [*([cpus] if cpus else []), f"--num-gpus={options.gpus_per_node}"]
