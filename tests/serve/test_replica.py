import subprocess
import sys
from pathlib import Path

from serve.replica import why_it_failed


def test_the_cause_that_a_child_printed_is_added(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    log.write_text(
        "(EngineCore pid=7) ERROR 12-01 [core.py:1] ValueError: an earlier one\n"
        "(EngineCore pid=7) ERROR 12-01 [core.py:1]     raise ValueError(\n"
        "(EngineCore pid=7) ERROR 12-01 [core.py:1] ValueError: weights are missing\n"
        "(EngineCore pid=7) INFO leaving\n"
    )
    error = RuntimeError("Engine core failed.\n  See root cause above.")
    assert why_it_failed(error, log) == (
        "Engine core failed. See root cause above. <- ValueError: weights are missing"
    )


def test_a_cause_is_not_told_twice(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    log.write_text("ValueError: no such architecture\n")
    assert why_it_failed(ValueError("no such architecture"), log) == "no such architecture"


def test_an_error_without_words_is_named() -> None:
    assert why_it_failed(MemoryError(), None) == "MemoryError"


def test_importing_the_room_imports_nothing_heavy() -> None:
    code = (
        "import serve, serve.handle, serve.vllm_engine, serve.fake_engine, sys\n"
        "heavy = {'ray', 'vllm', 'torch', 'transformers', 'gguf'} & set(sys.modules)\n"
        "print(*heavy, end='')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")
