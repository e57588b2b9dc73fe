"""What a run runs on: engines, sandboxes, the cluster; ``conf/schema.py`` says how such classes are
written.
"""

from dataclasses import dataclass, field
from typing import Any

from conf.checks import at_least as _at_least
from conf.checks import one_of as _one_of

BACKENDS = ("vllm", "fake", "replay")
ISOLATION_LEVELS = ("auto", "strict", "standard", "standard-nofs", "minimal")
CODE_WAYS = ("shipped", "installed")


@dataclass
class ServeConfig:
    """Which backend answers, and how its client behaves."""

    backend: str = "vllm"
    """``vllm``, ``replay`` (no engine: the journal of another run answers), or ``fake``
    (deterministic, for tests and simulation only)."""
    replay_from: str | None = None
    """Replay: the run folder whose journal answers; also gives every key that is not said."""
    max_in_flight: int = 0
    """Requests in flight from one caller, as each round is; 0: four times what all replicas batch,
    which keeps batches full while answers and programs travel."""
    attempts: int = 4
    """Tries of one request before it becomes an engine_error."""
    backoff_s: float = 0.5
    """First pause between tries, in seconds; doubles each time, with jitter."""
    request_timeout_s: float = 600.0
    """Longest wait for one try, in seconds, queueing included."""
    start_timeout_s: float = 900.0
    """Deadline for all replicas to be ready, in seconds."""
    fake_tokens_per_s: float = 0.0
    """Fake backend: tokens a second of one request; 0 answers at once."""
    fake_batch_limit: int = 32
    """Fake backend: requests that run at the same time on one replica."""
    fake_log: str | None = None
    """Fake backend: file that gets a line for each request that is answered."""

    def __post_init__(self) -> None:
        _one_of("serve.backend", self.backend, BACKENDS)
        _at_least("serve.max_in_flight", self.max_in_flight, 0)
        _at_least("serve.attempts", self.attempts, 1)
        _at_least("serve.fake_batch_limit", self.fake_batch_limit, 1)


@dataclass
class EngineConfig:
    """vLLM: replicas and the arguments of each engine."""

    replicas: int = 1
    """Engines, each with its own copy of the weights."""
    tensor_parallel_size: int = 1
    """GPUs that share one copy of the weights."""
    across_nodes: bool = False
    """Let the GPUs of one replica lie on several nodes, at the price of their network."""
    gpus_per_replica: float = 0.0
    """GPUs of one replica when it is not sharded; 0 runs on the CPU."""
    cpus_per_replica: float = 0.5
    """CPUs that Ray sets aside for one replica; logical, it does not bound its threads."""
    max_num_seqs: int = 32
    """Sequences in one engine's batch."""
    enforce_eager: bool = True
    """Skip compilation: on CPUs it costs minutes at start and gains little."""
    enable_prefix_caching: bool = True
    """Reuse the attention cache of a shared prompt head."""
    gpu_memory_utilization: float = 0.9
    """Share of a GPU's memory that the engine may take."""
    kv_cache_gib: int = 1
    """CPU only: attention cache of one replica, in GiB."""
    cpu_threads: int = 0
    """CPU only: threads of one replica; 0 takes all cores."""
    seed: int = 0
    """Seed of the engine's own random numbers."""
    args: dict[str, Any] = field(default_factory=dict)
    """Any further vLLM engine argument, by its own name."""
    env: dict[str, str] = field(default_factory=dict)
    """Environment variables of the replica's process."""

    def __post_init__(self) -> None:
        _at_least("engine.replicas", self.replicas, 1)
        _at_least("engine.tensor_parallel_size", self.tensor_parallel_size, 1)
        _at_least("engine.max_num_seqs", self.max_num_seqs, 1)


@dataclass
class SandboxConfig:
    """How untrusted programs run."""

    isolation: str = "auto"
    """auto (the best the host gives, never minimal), strict, standard, standard-nofs, minimal."""
    actors: int = 0
    """Sandbox actors, one CPU each; 0 takes what the engine leaves, at least one."""
    cpu_s: float = 3.0
    """CPU seconds that one test may use."""
    wall_factor: float = 5.0
    """Wall seconds of one test, as a multiple of its CPU seconds; only sleeping uses them up."""
    load_cpu_s: float = 5.0
    """CPU seconds that loading the program may use."""
    program_cpu_s: float = 15.0
    """CPU seconds that one program may use over all its tests; tests beyond it are skipped."""
    memory_mb: int = 1024
    """Memory that one program may take, in MiB, above the interpreter's own."""
    output_kb: int = 256
    """Text that one test may print, in KiB, before its outcome is ``output``."""
    max_encoding_kb: int = 2048
    """Largest encoded value, in KiB, before the outcome is ``unencodable``."""

    def __post_init__(self) -> None:
        _one_of("sandbox.isolation", self.isolation, ISOLATION_LEVELS)
        _at_least("sandbox.actors", self.actors, 0)
        _at_least("sandbox.memory_mb", self.memory_mb, 64)
        for key in ("cpu_s", "load_cpu_s", "program_cpu_s"):
            _at_least(f"sandbox.{key}", getattr(self, key), 0.01)
        _at_least("sandbox.wall_factor", self.wall_factor, 1)


@dataclass
class ClusterConfig:
    """The Ray cluster."""

    address: str | None = None
    """Address of a running cluster; null uses RAY_ADDRESS, or starts a local one."""
    num_cpus: int | None = None
    """CPUs of a local cluster; null takes the machine's."""
    object_store_mb: int = 512
    """Object store of a local cluster, in MiB."""
    stage_cpus: float = 0.02
    """CPUs that Ray sets aside for one stage actor: it waits for others nearly all the time."""
    rows_per_block: int = 0
    """Chains that travel together between rounds; 0 chooses by the size of the run."""
    start_timeout_s: float = 300.0
    """Deadline for a local cluster to start and for ``nodes`` to join, in seconds."""
    nodes: int = 1
    """Nodes to wait for before the run starts."""
    code: str = "shipped"
    """How our code reaches the nodes of a cluster that was running before: ``shipped`` by Ray from
    this process, or ``installed`` on every node, which is compared."""
    engine_grace_s: float = 60.0
    """On a cluster that was running before: seconds for which the engine of a driver that was
    killed stays, for the next start of the same run."""
    cpus: float | None = None
    """CPUs of the cluster that this run may plan with, its engines' included; null: all."""
    sandbox_cpus: float = 1.0
    """CPUs that Ray sets aside for one sandbox actor."""
    points_at_once: int = 0
    """Points of a sweep that run side by side; 0 lets the engines' batches decide."""

    def __post_init__(self) -> None:
        _one_of("cluster.code", self.code, CODE_WAYS)
        _at_least("cluster.nodes", self.nodes, 1)
        _at_least("cluster.engine_grace_s", self.engine_grace_s, 0)
        _at_least("cluster.sandbox_cpus", self.sandbox_cpus, 0.01)
        _at_least("cluster.points_at_once", self.points_at_once, 0)
