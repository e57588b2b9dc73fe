"""launch.sh with a stand-in for Python on PATH: no network, no real environment."""

import os
import shutil
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Makes "environments" that hold a copy of itself, and records what it was asked to do.
PYTHON = """#!/bin/bash
echo "python $*" >>"$CALLS"
case "$*" in
  -c*) echo VERSION ;;
  "-m venv "*)
    mkdir -p "$3/bin"
    cp "$0" "$3/bin/python"
    echo "version = VERSION" >"$3/pyvenv.cfg"
    ;;
  "-m pip "*)
    if [[ -p $GATE ]]; then
      read -r _ <"$GATE"
      rm "$GATE"
    fi
    if [[ -n $PIP_FAILS_AT && $* == *"$PIP_FAILS_AT"* ]]; then
      echo "$PIP_SAYS"
      exit 1
    fi
    if [[ $* == *uv==* ]]; then cp "$STUBS/uv" "$(dirname "$0")/uv"; fi
    ;;
  *)
    echo "started: $*"
    env
    ;;
esac
"""
UV = """#!/bin/bash
echo "uv $*" >>"$CALLS"
exit "${UV_STATUS:-0}"
"""
DF = """#!/bin/bash
printf 'header\\ndisk 0 0 %s 0%% /\\n' "${FREE_KB:-99999999}"
"""

NO_VERSION = "ERROR: Could not find a version that satisfies the requirement torch"
NO_MATCH = f"{NO_VERSION} (from versions: 2.1)"
NO_INDEX = f"{NO_VERSION} (from versions: none)"
NO_SPACE = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"


def write_command(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@dataclass
class Checkout:
    """A copy of what launch.sh needs, with stand-ins first on PATH."""

    root: Path
    stubs: Path
    calls: Path
    environment: dict[str, str] = field(default_factory=dict)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.root / "launch.sh", *arguments],
            env=self.environment | environment,
            cwd=self.root.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def launch(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def calls_with(self, text: str) -> list[str]:
        return [line for line in self.calls.read_text().splitlines() if text in line]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    root, stubs, calls = tmp_path / "a check out", tmp_path / "stubs", tmp_path / "calls"
    (root / "requirements").mkdir(parents=True)
    stubs.mkdir()
    calls.touch()
    shutil.copy(ROOT / "launch.sh", root)
    for name in ("cpu.txt", "gpu.txt", "dev.txt"):
        shutil.copy(ROOT / "requirements" / name, root / "requirements")
    shutil.copy(ROOT / "pyproject.toml", root)
    for name in ("python3.11", "python3", "python"):
        write_command(stubs / name, PYTHON.replace("VERSION", "3.11.7"))
    write_command(stubs / "uv", UV)
    write_command(stubs / "df", DF)
    environment = {
        "PATH": f"{stubs}:/usr/local/bin:/usr/bin:/bin",
        "CALLS": str(calls),
        "STUBS": str(stubs),
        "HOLDTRUE_VARIANT": "cpu",
    }
    return Checkout(root=root, stubs=stubs, calls=calls, environment=environment)


def assert_user_error(result: subprocess.CompletedProcess[str], *texts: str) -> None:
    """Exit status 2, and all the texts in the one last line."""
    assert result.returncode == 2
    last = result.stderr.splitlines()[-1]
    for text in texts:
        assert text in last


@pytest.mark.parametrize(
    ("words", "started"),
    [
        ([], "run"),
        (["chain.length=2", "name=a b"], "run chain.length=2 name=a b"),
        (["+engine.x=1"], "run +engine.x=1"),
        (["-m", "chain.length=1,2"], "run -m chain.length=1,2"),
        (["run", "chain.length=2"], "run chain.length=2"),
        (["check", "--help"], "check --help"),
    ],
)
def test_words_become_a_command(checkout: Checkout, words: list[str], started: str) -> None:
    result = checkout.launch(*words)

    assert result.returncode == 0
    assert result.stdout.splitlines()[0] == f"started: -P -m pipeline.cli {started}"


def test_test_installs_the_tools_and_hands_its_words_to_pytest(checkout: Checkout) -> None:
    result = checkout.launch("test", "-k", "some thing")

    assert result.stdout.splitlines()[0] == "started: -m pytest -k some thing"
    assert f"PWD={checkout.root}" in result.stdout.splitlines()
    assert checkout.calls_with("requirements/dev.txt")


def test_setup_installs_the_pinned_set_then_the_package_and_starts_nothing(
    checkout: Checkout,
) -> None:
    result = checkout.launch("setup")

    installs = [call.split(" --compile ")[1] for call in checkout.calls_with(" install ")]
    torch, pinned, package = installs
    assert torch.startswith("torch==")
    assert pinned == f"-r {checkout.root}/requirements/cpu.txt"
    assert package == f"--no-build-isolation --editable {checkout.root}"
    assert checkout.calls_with("pip uninstall --yes torchvision torchaudio torchcodec triton")
    assert result.stdout == ""


def test_second_start_does_no_setup_and_starts_no_python(checkout: Checkout) -> None:
    checkout.launch("setup", "--dev")
    checkout.calls.write_text("")

    for words in (["setup"], ["setup", "--dev"]):
        result = checkout.launch(*words)
        assert (result.returncode, result.stderr) == (0, "")
    assert checkout.calls.read_text() == ""


def test_help_does_not_set_up(checkout: Checkout) -> None:
    for words in (["--help"], ["setup", "--help"], ["test", "--help"]):
        assert checkout.launch(*words).stdout.startswith("Usage: ./launch.sh")
    assert checkout.calls.read_text() == ""


def test_help_is_the_command_lines_own_once_set_up(checkout: Checkout) -> None:
    checkout.launch("setup")

    assert checkout.launch("--help").stdout.startswith("started: -P -m pipeline.cli --help")


def test_changed_pin_is_installed_into_the_same_environment(checkout: Checkout) -> None:
    checkout.launch("setup")
    with (checkout.root / "requirements" / "cpu.txt").open("a") as pins:
        pins.write("one-more==1.0\n")
    checkout.calls.write_text("")

    assert checkout.launch("setup").returncode == 0
    assert checkout.calls_with("-r ")
    assert not checkout.calls_with("-m venv")
    assert not checkout.calls_with("--editable")


def test_other_variant_gets_an_environment_made_anew(checkout: Checkout) -> None:
    checkout.launch("setup", "--dev")
    leftover = checkout.root / ".venv" / "leftover"
    leftover.touch()

    checkout.launch("setup", HOLDTRUE_VARIANT="gpu")

    assert checkout.calls_with("requirements/gpu.txt")
    assert not leftover.exists()
    assert not (checkout.root / ".venv" / ".holdtrue" / "dev").exists()


def test_nvidia_gpu_picks_the_gpu_set(checkout: Checkout) -> None:
    write_command(checkout.stubs / "nvidia-smi", "#!/bin/bash\n")

    checkout.launch("setup", HOLDTRUE_VARIANT="")

    assert checkout.calls_with("requirements/gpu.txt")
    assert not checkout.calls_with("pip uninstall")


def test_killed_setup_is_done_again_from_the_start(checkout: Checkout, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    process = checkout.start("setup", GATE=str(gate))
    with gate.open("w"):  # opens when pip is at work
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)

    assert checkout.launch("setup").returncode == 0
    assert len(checkout.calls_with("-m venv")) == 2
    assert checkout.launch("setup").stderr == ""


def test_interrupt_ends_the_setup_at_once(checkout: Checkout, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    process = checkout.start("setup", GATE=str(gate))
    with gate.open("w"):
        os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "interrupted" in err.splitlines()[-1]
    assert not checkout.calls_with("requirements/cpu.txt")


def test_second_launch_waits_for_the_first(checkout: Checkout, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    first = checkout.start("setup", GATE=str(gate))
    with gate.open("w"):
        second = checkout.start("setup")
        assert second.stderr is not None
        assert "waiting" in second.stderr.readline()
    for process in (first, second):
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert len(checkout.calls_with("-m venv")) == 1
    assert len(checkout.calls_with("requirements/cpu.txt")) == 1


def test_environment_has_the_quiet_defaults_and_keeps_the_users_values(checkout: Checkout) -> None:
    result = checkout.launch(DO_NOT_TRACK="0", PYTHONDONTWRITEBYTECODE="1")

    variables = result.stdout.splitlines()
    assert {"RAY_USAGE_STATS_ENABLED=0", "VLLM_NO_USAGE_STATS=1", "DO_NOT_TRACK=0"} <= {*variables}
    assert not [line for line in variables if line.startswith("PYTHONDONTWRITEBYTECODE=")]


def test_wrong_python_is_named_with_what_is_needed(checkout: Checkout) -> None:
    other = checkout.stubs / "other"
    write_command(other, PYTHON.replace("VERSION", "3.12.1"))

    result = checkout.launch(HOLDTRUE_PYTHON=str(other))

    assert_user_error(result, "Python 3.11 is needed", f"{other} is 3.12.1", "HOLDTRUE_PYTHON")
    assert not (checkout.root / ".venv").exists()


def test_python_of_another_name_is_found(checkout: Checkout) -> None:
    write_command(checkout.stubs / "python3.11", "#!/bin/bash\nexit 127\n")
    write_command(checkout.stubs / "python3", PYTHON.replace("VERSION", "3.13.0"))

    assert "with Python 3.11.7" in checkout.launch("setup").stderr


def test_too_little_disk_is_said_before_anything_is_installed(checkout: Checkout) -> None:
    result = checkout.launch(FREE_KB="2048000")

    assert_user_error(result, "no disk space", "about 4 GB", "2000 MB free")
    assert not checkout.calls_with("-m venv")


@pytest.mark.parametrize("step", ["torch==", "requirements/cpu.txt"])
@pytest.mark.parametrize(
    ("pip_says", "line"),
    [(NO_SPACE, "no disk space left"), (NO_INDEX, "no package index reachable")],
)
def test_failing_pip_is_one_clear_line(
    checkout: Checkout, step: str, pip_says: str, line: str
) -> None:
    result = checkout.launch(PIP_FAILS_AT=step, PIP_SAYS=pip_says)

    assert_user_error(result, line, step, f"{checkout.root}/.venv.log")
    assert pip_says in (checkout.root / ".venv.log").read_text()


def test_reason_is_found_in_a_long_log(checkout: Checkout) -> None:
    result = checkout.launch(
        PIP_FAILS_AT="requirements/cpu.txt", PIP_SAYS=f"{NO_SPACE}\n" + "WARNING: more\n" * 8000
    )

    assert_user_error(result, "no disk space left")


def test_warnings_of_pip_are_no_reason(checkout: Checkout) -> None:
    says = "WARNING: Retrying after connection broken by HTTPConnectionPool\nERROR: bad wheel"

    result = checkout.launch(PIP_FAILS_AT="requirements/cpu.txt", PIP_SAYS=says)

    assert_user_error(result, "could not be installed: ERROR: bad wheel")


def test_update_without_an_index_leaves_what_was_set_up(checkout: Checkout) -> None:
    checkout.launch("setup")
    result = checkout.launch("test", PIP_FAILS_AT="requirements/dev.txt", PIP_SAYS=NO_INDEX)
    checkout.calls.write_text("")

    assert_user_error(result, "no package index reachable")
    assert checkout.launch("run").returncode == 0
    assert not checkout.calls_with("-m pip ")


def test_any_other_failure_of_pip_is_quoted(checkout: Checkout) -> None:
    result = checkout.launch(PIP_FAILS_AT="--editable", PIP_SAYS="ERROR: bad metadata")

    assert_user_error(result, "holdtrue could not be installed: ERROR: bad metadata")


def test_torch_comes_from_uv_where_pip_does_not_find_it(checkout: Checkout) -> None:
    result = checkout.launch("setup", PIP_FAILS_AT="torch==", PIP_SAYS=NO_MATCH)

    assert result.returncode == 0
    assert "found by uv" in result.stderr
    (call,) = checkout.calls_with("uv pip install")
    assert "--torch-backend cpu torch==" in call


def test_torch_found_nowhere_is_one_clear_line(checkout: Checkout) -> None:
    result = checkout.launch(PIP_FAILS_AT="torch==", PIP_SAYS=NO_MATCH, UV_STATUS="2")

    assert_user_error(result, "neither by pip", "nor by uv", "PIP_FIND_LINKS")


def test_folder_of_someone_else_is_never_emptied(checkout: Checkout, tmp_path: Path) -> None:
    precious = tmp_path / "home" / "precious"
    precious.parent.mkdir()
    precious.touch()

    result = checkout.launch(HOLDTRUE_VENV=str(precious.parent))

    assert_user_error(result, str(precious.parent), "HOLDTRUE_VENV")
    assert precious.exists()


def test_another_checkouts_environment_behind_a_link_is_never_emptied(
    checkout: Checkout, tmp_path: Path
) -> None:
    made = tmp_path / "other" / ".venv"
    assert checkout.launch("setup", HOLDTRUE_VENV=str(made)).returncode == 0
    before = sorted(path.name for path in made.rglob("*"))
    (checkout.root / ".venv").symlink_to(made)
    assert_user_error(checkout.launch("setup"), "is a link to", str(made), "HOLDTRUE_VENV")
    assert sorted(path.name for path in made.rglob("*")) == before


def test_unknown_variant_is_named(checkout: Checkout) -> None:
    assert_user_error(checkout.launch(HOLDTRUE_VARIANT="tpu"), "cpu or gpu", "'tpu'")
