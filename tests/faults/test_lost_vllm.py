"""vLLM's own process, and the replica around it, are killed in the middle of a run."""

from pathlib import Path

import pytest
from drivers import assert_same_tables
from strikes import Place, kill, processes, striking, wait_for

from pipeline.compose import load_config
from pipeline.run import run
from serve import start_engine, stop_engine

pytestmark = [pytest.mark.ray, pytest.mark.engine, pytest.mark.timeout(900)]

CORE, REPLICA = "VLLM::EngineCore", "ray::ServeReplica"
# One sequence at a time: what is beside a request in the batch then cannot change its answer.
WORDS = (
    "serve=vllm",
    "dataset.limit=4",
    "chain.length=1",
    "chain.stop=[]",
    "chain.sampling.temperature=0",
    "chain.sampling.generate_max_tokens=24",
    "chain.sampling.summarize_max_tokens=24",
    "engine.max_num_seqs=1",
    "engine.cpu_threads=1",
)


def words(place: Place) -> list[str]:
    """The command line of a run on the real engine."""
    ours = [word for word in place.words() if not word.startswith("serve")]
    return [*ours, "serve.backoff_s=1", *WORDS]


@pytest.fixture(scope="module")
def engine(ray_session, tmp_path_factory):
    """An engine that all runs borrow, so that it starts once more only when it is killed."""
    folder = tmp_path_factory.mktemp("engine")
    (folder / "logs").mkdir()
    handle = start_engine(load_config(words(Place(folder))), folder / "logs")
    yield handle
    stop_engine(handle)


@pytest.fixture(scope="module")
def quiet(engine, tmp_path_factory) -> Path:
    """The run that nothing happens to."""
    place = Place(tmp_path_factory.mktemp("quiet"))
    assert run(words(place)) == 0
    return place.run


@pytest.mark.parametrize("victim", [CORE, REPLICA])
def test_a_run_that_loses_its_engine_makes_the_same_tables_and_keeps_what_it_paid(
    victim, engine, quiet, tmp_path
):
    place, cores = Place(tmp_path), processes(CORE)
    with striking(place, 2, lambda: kill(processes(victim))) as ledger:
        assert run(words(place)) == 0
    kept, _ = ledger.notes[0]
    names = place.recorded()
    assert kept < set(names)
    assert len(names) == len(set(names))
    assert_same_tables(place.run, quiet)
    # Another core answered, and the old one holds no memory any more.
    assert processes(CORE)
    wait_for(lambda: not cores & everywhere(CORE), "the end of the old core")


def everywhere(word: str) -> set[int]:
    """All processes with a word in their command line: an orphan descends from nobody here."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word in path.read_bytes().decode(errors="replace"):
                found.add(int(path.parent.name))
        except OSError:
            continue
    return found
