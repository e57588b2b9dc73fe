"""The configuration of the trust job; ``conf/schema.py`` says how such classes are written."""

from dataclasses import dataclass, field

from conf.checks import at_least, one_of
from conf.errors import UserError

INPUTS = ("asserts", "model", "both")
KINDS = ("two_stage", "pooled", "boosted")


@dataclass
class TrustSamplingConfig:
    """How the engine picks tokens when it is asked many times for the same thing."""

    temperature: float = 0.8
    """Above 0, or all samples would be the same."""
    top_p: float = 0.95
    """Nucleus mass; 1 keeps every token."""
    program_max_tokens: int = 256
    """Longest program, in tokens."""
    spec_max_tokens: int = 128
    """Longest text of specs, in tokens."""

    def __post_init__(self) -> None:
        if self.temperature <= 0:
            raise UserError(
                "trust.sampling.temperature must be above 0, or all samples would be the same; "
                f"got {self.temperature:g}"
            )
        at_least("trust.sampling.program_max_tokens", self.program_max_tokens, 1)
        at_least("trust.sampling.spec_max_tokens", self.spec_max_tokens, 1)


@dataclass
class CodetConfig:
    """Which files of a folder in the layout of the CodeT release are read."""

    programs: str = "codegen16b"
    """Middle of the file name ``*_<programs>_programs.jsonl.gz``."""
    tests: str = "codegen16b"
    """Middle of the file name ``*_<tests>_tests.jsonl.gz``."""
    postconditions: str = "B"
    """Which set of postconditions serves as relations."""
    most_programs: int = 100
    """Programs a problem: the first so many samples."""

    def __post_init__(self) -> None:
        at_least("trust.codet.most_programs", self.most_programs, 1)


@dataclass
class TrustConfig:
    """The trust job."""

    k: int = 20
    """Programs sampled for each problem."""
    spec_k: int | None = None
    """Texts sampled for each kind of spec; null: as many as programs."""
    specs_a_text: int = 5
    """Specs taken from one text: the first so many."""
    inputs: str = "asserts"
    """Where the inputs of relations come from: the arguments in the model's own ``asserts``, calls
    that the ``model`` is asked for (``spec_k`` more requests a problem), or ``both``."""
    sampling: TrustSamplingConfig = field(default_factory=TrustSamplingConfig)
    source: str | None = None
    """``trust.from=FOLDER``: stored samples to check instead of new ones, in CodeT's layout or as
    the tables of another trust run; needs no engine. Null samples."""
    codet: CodetConfig = field(default_factory=CodetConfig)
    model: str | None = None
    """File of a fitted model, which gives each program its probability; null ranks by agreement
    and declines nothing."""
    threshold: float = 0.5
    """Answer only with a program of at least this probability."""
    kind: str = "two_stage"
    """Kind of the model to fit: ``two_stage``, ``pooled`` (the paper's logistic regression) or
    ``boosted`` (trees)."""
    without: list[str] = field(default_factory=list)
    """Groups of features that fitting and measuring leave out, by their names in docs/trust.md."""
    chains: str | None = None
    """Folder of a chain run on the same problems, for the feature round trip; null does without."""
    measure: bool = True
    """Where programs are labelled, measure every score at the end, models cross-validated."""
    fit: str | None = None
    """File to write a model to, fitted on this run's labelled programs; with ``trust.model``, that
    model recalibrated on them."""
    shown: int = 10
    """Problems that the report shows one by one; the files have all."""
    explained: int = 3
    """Specs that are shown with each answer."""

    def __post_init__(self) -> None:
        at_least("trust.k", self.k, 1)
        at_least("trust.spec_k", self.specs, 1)
        at_least("trust.specs_a_text", self.specs_a_text, 1)
        at_least("trust.shown", self.shown, 0)
        at_least("trust.explained", self.explained, 0)
        one_of("trust.kind", self.kind, KINDS)
        one_of("trust.inputs", self.inputs, INPUTS)
        if not 0 <= self.threshold <= 1:
            raise UserError(f"trust.threshold is a probability, got {self.threshold:g}")

    @property
    def specs(self) -> int:
        """Texts sampled for each kind of spec."""
        return self.k if self.spec_k is None else self.spec_k
