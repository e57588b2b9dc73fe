"""The commands that start a run elsewhere: ``slurm``, ``kuberay``."""

from pipeline.commands import Command


def _slurm(words: list[str]) -> int:
    from pipeline.slurm import slurm

    return slurm(words)


def _kuberay(words: list[str]) -> int:
    from pipeline.kuberay import kuberay

    return kuberay(words)


LAUNCH_COMMANDS = {
    "slurm": Command(
        "submit a run to Slurm, on as many nodes as it needs",
        """usage: ./launch.sh slurm [--dry-run] [slurm.KEY=VALUE ...] [run] [key=value ...]

Submits a batch script that starts Ray on every node of the job, with a token of its own, and runs
there what `run` would run here; --dry-run prints the script instead. The checkout, its environment
and this folder must be visible to all nodes.

  slurm.nodes=1          nodes of the job
  slurm.gpus_per_node=0  GPUs of each
  slurm.cpus_per_node=0  CPUs of each; 0 takes whole nodes
  slurm.time=04:00:00    wall time; a run that it cuts off goes on with the same command
  slurm.partition=       partition
  slurm.account=         account
  slurm.name=holdtrue    name of the job and of its log
  slurm.options=         further options of sbatch, such as slurm.options='--qos=high --mem=0'""",
        _slurm,
    ),
    "kuberay": Command(
        "print a run as a RayJob for Kubernetes",
        """usage: ./launch.sh kuberay kuberay.image=IMAGE [kuberay.KEY=VALUE ...] [key=value ...]

Prints conf/cluster/kuberay.yaml filled in, for `kubectl apply -f -`. The image has Holdtrue
installed; the run folders lie on a volume that all pods mount at /runs.

  kuberay.workers=1            worker pods, beside the head
  kuberay.gpus_per_worker=1    GPUs of each
  kuberay.cpus_per_worker=8    CPUs of each pod
  kuberay.memory=64Gi          memory of each pod
  kuberay.claim=holdtrue-runs  persistent volume claim with the run folders
  kuberay.namespace=default    Kubernetes namespace
  kuberay.name=holdtrue        name of the job""",
        _kuberay,
    ),
}
