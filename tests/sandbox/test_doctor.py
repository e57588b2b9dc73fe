import pytest

from sandbox import doctor
from sandbox.levels import REMEDIES, Level, LevelUnavailable


@pytest.fixture
def lacking(monkeypatch):
    """Makes a host without a layer at the given levels."""

    def make(*levels):
        def start(name):
            if Level(name) in levels:
                raise LevelUnavailable(Level(name), "seccomp", "no filters here")
            return real(name)

        real = doctor.Sandbox
        monkeypatch.setattr(doctor, "Sandbox", start)

    return make


def test_a_level_that_is_not_possible_names_the_layer_and_the_remedy(lacking):
    lacking(Level.STRICT)
    lines = list(doctor.report((Level.STRICT,)))
    assert lines[0] == "strict: not possible: seccomp: no filters here"
    assert lines[1].split(None, 1) == ["remedy", REMEDIES["seccomp"]]


def test_auto_takes_the_best_level_that_is_possible(lacking):
    lacking(Level.STRICT, Level.STANDARD)
    levels = (Level.STRICT, Level.STANDARD, Level.STANDARD_NOFS)
    assert list(doctor.report(levels))[-1] == "sandbox.isolation=auto takes standard-nofs"


def test_auto_never_takes_minimal(lacking):
    lacking(Level.STRICT, Level.STANDARD, Level.STANDARD_NOFS)
    assert "nothing here" in list(doctor.report())[-1]


def test_every_act_of_the_proof_is_a_line():
    lines = list(doctor.report((Level.MINIMAL,)))
    assert any(line.split() == ["works", "start", "a", "thread"] for line in lines)
    assert any("fork a process" in line and "OPEN" in line for line in lines)
