"""The configuration, typed: one dataclass a concern, mirrored one to one by the YAML groups.

The dataclasses are neither frozen nor do they use ``Literal`` because OmegaConf's structured
configs accept neither; choices are checked in ``__post_init__``, which quotes the value.
Conversion from OmegaConf happens once, in ``pipeline/compose.py``; below it there are only
these classes.
"""

import re
from dataclasses import dataclass, field

from conf.checks import at_least as _at_least
from conf.checks import one_of as _one_of
from conf.errors import UserError
from conf.machine_schema import ClusterConfig, EngineConfig, SandboxConfig, ServeConfig
from conf.trust_schema import TrustConfig

PROMPT_STYLES = ("chat", "completion")
STOP_RULES = ("fixed_point", "cycle", "decided")
CHAIN_STARTS = ("text", "code")
TRACKERS = ("none", "jsonl", "wandb")
WANDB_MODES = ("auto", "online", "offline")
EXAMPLES = ("without", "with")


@dataclass
class ModelConfig:
    """Which weights, and how they are addressed."""

    name: str | None = None
    """Short name, used in reports; null takes the last part of ``path``."""
    path: str = "embedded:smollm2_135m"
    """A Hugging Face folder, a hub name, or ``embedded:NAME`` for a model that a package ships."""
    revision: str | None = None
    """Hub revision; null takes the hub's default."""
    trust_remote_code: bool = False
    """Let the model's repository run its own code in the engine."""
    dtype: str = "float32"
    """Weight type in the engine; float32 is the fast and batch-invariant one on CPUs."""
    max_model_len: int = 2048
    """Longest prompt plus completion, in tokens."""
    prompt: str = "chat"
    """Prompt set (conf/prompt/) that suits the model; ``prompt=`` on the command line wins."""
    chat_template: str | None = None
    """Jinja chat template, for a model whose tokenizer brings none; null takes its own."""
    system_role: bool = True
    """Whether the template takes a system message; if not, it goes before the user's first."""
    stop: list[str] = field(default_factory=list)
    """Stop strings or special tokens at which this model's answers end, beside its own end."""
    answer_after: str = ""
    """Regular expression after whose last match the answer proper begins, for a model that thinks
    aloud without tags; without a match there is no answer."""
    fim_prefix: str = ""
    """Fill-in-the-middle: what stands before the text above the gap."""
    fim_suffix: str = ""
    """Fill-in-the-middle: what stands between the texts above and below the gap."""
    fim_middle: str = ""
    """Fill-in-the-middle: what stands after the text below the gap."""

    def __post_init__(self) -> None:
        _at_least("model.max_model_len", self.max_model_len, 16)
        if not self.path:
            raise UserError("model.path is empty; give a Hugging Face folder or a hub name")
        try:
            re.compile(self.answer_after)
        except re.error as error:
            raise UserError(f"model.answer_after={self.answer_after!r}: {error}") from error

    @property
    def label(self) -> str:
        """The name to show."""
        return self.name or self.path.rstrip("/").split("/")[-1].removeprefix("embedded:")


@dataclass
class DatasetConfig:
    """Which problems."""

    name: str = "humaneval"
    """A registered data set, or ``file`` for ``path``."""
    path: str | None = None
    """JSONL or Parquet as in docs/data.md, or a folder laid out as a repository of the Hugging
    Face hub; null for a data set from a package or the hub."""
    limit: int | None = None
    """Take only the first so many problems; null takes all."""
    ids: list[str] = field(default_factory=list)
    """Take only these problem ids; empty takes all."""
    examples: str = "without"
    """Whether its docstrings come ``with`` example calls or ``without``, for prompts to follow."""

    def __post_init__(self) -> None:
        _one_of("dataset.examples", self.examples, EXAMPLES)
        if self.limit is not None:
            _at_least("dataset.limit", self.limit, 1)
        if self.name == "file" and not self.path:
            raise UserError("dataset=file needs dataset.path=FILE (.jsonl or .parquet)")


@dataclass
class PromptConfig:
    """The texts around a problem.

    Slots: ``{code}`` is the program or header shown, ``{name}`` the function's name in it,
    ``{head}`` and ``{body}`` its parts up to and after the signature, ``{examples}`` the text that
    asks for example calls, ``{fim_prefix}``, ``{fim_suffix}`` and ``{fim_middle}`` the model's
    tokens, ``{description}`` (in an answer) the worked example's, ``{docstring}`` the same with its
    further lines indented. Any other brace is itself.
    """

    name: str = "chat"
    """Name of the prompt set, part of a completion's identity through its texts."""
    style: str = "chat"
    """``chat`` sends messages through the model's template, ``completion`` sends raw text."""
    examples: str = "without"
    """Ask for descriptions ``with`` example calls or ``without``."""
    examples_text: str = ""
    """What ``{examples}`` stands for when they are asked for."""
    generate_system: str = ""
    """System message of a text-to-program request; empty for none."""
    generate_user: str = "{code}"
    """User message (or raw text) of a text-to-program request."""
    generate_answer: str = "{code}"
    """How the worked example answers a text-to-program request."""
    summarize_system: str = ""
    """System message of a program-to-text request; empty for none."""
    summarize_user: str = "{code}"
    """User message (or raw text) of a program-to-text request."""
    summarize_answer: str = "{description}"
    """How the worked example answers a program-to-text request."""
    generate_stop: list[str] = field(default_factory=list)
    """Stop strings of a text-to-program request."""
    summarize_stop: list[str] = field(default_factory=list)
    """Stop strings of a program-to-text request."""
    spec_style: str | None = None
    """Trust job: style of the three requests below; null: ``style``."""
    assert_system: str = ""
    """Trust job: system message of a request for input-output asserts; empty for none."""
    assert_user: str = "{code}"
    """User message (or raw text) of a request for input-output asserts."""
    assert_begun: str = ""
    """Text at the end of that request with which its answer is taken to begin."""
    assert_stop: list[str] = field(default_factory=list)
    """Stop strings of a request for input-output asserts."""
    relation_system: str = ""
    """Trust job: system message of a request for relations; empty for none."""
    relation_user: str = "{code}"
    """User message (or raw text) of a request for relations between the parameters and
    ``return_value``."""
    relation_begun: str = ""
    """Text at the end of that request with which its answer is taken to begin."""
    relation_stop: list[str] = field(default_factory=list)
    """Stop strings of a request for relations."""
    input_system: str = ""
    """Trust job: system message of a request for example calls; empty for none."""
    input_user: str = "{code}"
    """User message (or raw text) of a request for example calls, without results."""
    input_begun: str = ""
    """Text at the end of that request with which its answer is taken to begin."""
    input_stop: list[str] = field(default_factory=list)
    """Stop strings of a request for example calls."""

    def __post_init__(self) -> None:
        _one_of("prompt.style", self.style, PROMPT_STYLES)
        _one_of("prompt.spec_style", self.spec_style or self.style, PROMPT_STYLES)
        _one_of("prompt.examples", self.examples, EXAMPLES)


@dataclass
class ExampleConfig:
    """One worked example that is shown before the question (one-shot); empty shows none.

    Either written out here, or a problem of the data set, which is then not evaluated.
    """

    problem_id: str | None = None
    """A problem of the data set with a solution; its docstring is the description."""
    name: str = ""
    """What the example's function is called."""
    header: str = ""
    """Its signature and docstring."""
    program: str = ""
    """The whole program, without docstring."""
    description: str = ""
    """What it does, in words, without example calls."""
    calls: str = ""
    """Example calls, which end the description where descriptions are asked for with them."""

    def __post_init__(self) -> None:
        texts = (self.name, self.header, self.program, self.description)
        if any(texts) and not all(texts):
            raise UserError("example needs all of name, header, program and description")

    @property
    def wanted(self) -> bool:
        """Whether an example is shown."""
        return bool(self.problem_id or self.program)


@dataclass
class SamplingConfig:
    """How the engine picks tokens."""

    temperature: float = 0.0
    """0 is greedy; early stop by repeated state is sound only there."""
    top_p: float = 1.0
    """Nucleus mass; 1 keeps every token."""
    generate_max_tokens: int = 256
    """Longest program, in tokens."""
    summarize_max_tokens: int = 128
    """Longest description, in tokens."""

    def __post_init__(self) -> None:
        _at_least("chain.sampling.temperature", self.temperature, 0)
        _at_least("chain.sampling.generate_max_tokens", self.generate_max_tokens, 1)
        _at_least("chain.sampling.summarize_max_tokens", self.summarize_max_tokens, 1)


@dataclass
class DescriberConfig:
    """Another model that writes the descriptions, served beside the first."""

    model: ModelConfig = field(default_factory=ModelConfig)
    """Its weights and how they are addressed."""
    prompt: PromptConfig = field(default_factory=PromptConfig)
    """Its prompt set."""
    replicas: int = 1
    """Its engines, each as large as the section ``engine`` says."""

    def __post_init__(self) -> None:
        _at_least("chain.describer.replicas", self.replicas, 1)


@dataclass
class ChainConfig:
    """The chain job."""

    length: int = 3
    """Steps after step 0 (the paper's n)."""
    samples: int = 1
    """Chains for each problem; more than one needs a temperature."""
    stop: list[str] = field(default_factory=lambda: ["fixed_point", "cycle"])
    """Early-stop rules: fixed_point, cycle, decided (the last gives up TOM after a mismatch)."""
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    """How completions are sampled."""
    start: str = "text"
    """Where the chain starts: ``text`` has the model write the first program, ``code`` takes the
    data set's own solution."""
    describer: DescriberConfig | None = None
    """Set by ``chain.describer=CARD`` (conf/model/): describes the programs; null: the model."""
    audit: float = 0.0
    """Share of chains that are run on although they repeat themselves, to check that they do."""
    blame: int = 0
    """Programs to sample again from the description at which a chain broke, which tells whether
    the description or the program is to blame; 0 asks for none."""
    blame_temperature: float = 0.8
    """Temperature of these programs where the chain itself is greedy; else they take its own."""

    def __post_init__(self) -> None:
        _at_least("chain.length", self.length, 1)
        _at_least("chain.samples", self.samples, 1)
        _at_least("chain.blame", self.blame, 0)
        _one_of("chain.start", self.start, CHAIN_STARTS)
        for rule in self.stop:
            _one_of("chain.stop", rule, STOP_RULES)
        if not 0 <= self.audit <= 1:
            raise UserError(f"chain.audit is a share between 0 and 1, got {self.audit:g}")
        if self.audit and self.sampling.temperature > 0:
            raise UserError("chain.audit checks early stop, which needs a temperature of 0")
        if self.blame_temperature <= 0:
            raise UserError(
                "chain.blame_temperature must be above 0, or all programs would be the same; "
                f"got {self.blame_temperature:g}"
            )
        if self.samples > 1 and self.sampling.temperature == 0:
            raise UserError(
                "chain.samples above 1 repeats one greedy chain; set chain.sampling.temperature"
            )


@dataclass
class TrackingConfig:
    """Where a run's figures go while it runs and at its end."""

    backend: str = "jsonl"
    """``wandb``, or none beside the run folder's own metrics.jsonl and events.jsonl, which are
    always written: ``none`` and ``jsonl`` say the same."""
    every_s: float = 10.0
    """Seconds between two lines of live figures."""
    texts: bool = False
    """Send prompts, completions and programs to the service too."""
    project: str = "holdtrue"
    """W&B project."""
    entity: str | None = None
    """W&B user or team; null takes the account's default."""
    group: str | None = None
    """W&B group; null takes the sweep's name, if the run is a point of one."""
    tags: list[str] = field(default_factory=list)
    """W&B tags."""
    mode: str = "auto"
    """W&B: ``online``, ``offline`` (kept in the run folder, sent later by ``wandb sync``), or
    ``auto``: what WANDB_MODE says, else online if there is a key."""
    timeout_s: float = 60.0
    """Longest wait for W&B at the start and at the end, in seconds."""

    def __post_init__(self) -> None:
        _one_of("tracking.backend", self.backend, TRACKERS)
        _one_of("tracking.mode", self.mode, WANDB_MODES)
        _at_least("tracking.every_s", self.every_s, 1)
        _at_least("tracking.timeout_s", self.timeout_s, 1)


@dataclass
class BudgetConfig:
    """What a run may cost; spent, it stops cleanly and can go on with a higher one."""

    tokens: int | None = None
    """Tokens that the engine may read and write over the whole run; null: any number."""
    minutes: float | None = None
    """Minutes after which one start asks the engine nothing more; null: any number."""

    def __post_init__(self) -> None:
        _at_least("budget.tokens", self.tokens or 0, 0)
        _at_least("budget.minutes", self.minutes or 0, 0)


@dataclass
class RunConfig:
    """One run of the chain job."""

    name: str = "chain"
    """Ends the run folder's name."""
    runs_dir: str = "runs"
    """Where run folders are made: a folder, or an address that ``pyarrow.fs`` opens, such as
    ``s3://bucket/runs`` (docs/operations.md)."""
    resume: str | None = None
    """A run folder, or its address, to go on with; null goes on with an unfinished run of the same
    configuration under ``runs_dir``, if there is one."""
    fresh: bool = False
    """Begin a new run even if an unfinished one has the same configuration."""
    stall_minutes: float = 30.0
    """Stop the run when no chain has finished a round for so long, in minutes."""
    seed: int = 0
    """Seed of everything that draws random numbers."""
    model: ModelConfig = field(default_factory=ModelConfig)
    dataset: DatasetConfig = field(default_factory=DatasetConfig)
    prompt: PromptConfig = field(default_factory=PromptConfig)
    example: ExampleConfig = field(default_factory=ExampleConfig)
    serve: ServeConfig = field(default_factory=ServeConfig)
    engine: EngineConfig = field(default_factory=EngineConfig)
    chain: ChainConfig = field(default_factory=ChainConfig)
    trust: TrustConfig = field(default_factory=TrustConfig)
    sandbox: SandboxConfig = field(default_factory=SandboxConfig)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)
    tracking: TrackingConfig = field(default_factory=TrackingConfig)
    budget: BudgetConfig = field(default_factory=BudgetConfig)

    def __post_init__(self) -> None:
        if self.stall_minutes <= 0:
            raise UserError(f"stall_minutes must be above 0, got {self.stall_minutes:g}")
        _check_gap(self.model, self.prompt, "model")
        if describer := self.chain.describer:
            _check_gap(describer.model, describer.prompt, "chain.describer.model")


def _check_gap(model: ModelConfig, prompt: PromptConfig, key: str) -> None:
    asks = any("{fim_" in text for text in (prompt.generate_user, prompt.summarize_user))
    if asks and not (model.fim_prefix and model.fim_suffix and model.fim_middle):
        raise UserError(
            f"prompt set {prompt.name!r} fills in the middle, for which {key} lacks fim_prefix, "
            "fim_suffix or fim_middle; set them, or choose prompt=completion"
        )
