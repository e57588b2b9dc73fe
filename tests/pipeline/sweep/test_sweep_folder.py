import json

import pytest

from conf import UserError
from pipeline.sweep import is_sweep
from pipeline.sweep.folder import SweepFolder

WORDS = ["serve=fake", "chain.length=1,2"]


def finish(folder, finished):
    results = {"points": [{"finished": each} for each in finished]}
    (folder.path / "results.json").write_text(json.dumps(results))


def test_a_sweep_that_was_broken_is_found_by_its_words(tmp_path):
    made = SweepFolder.create(tmp_path, "chain", WORDS)
    assert SweepFolder.find_unfinished(tmp_path, WORDS).path == made.path
    assert SweepFolder.find_unfinished(tmp_path, [*WORDS, "seed=1"]) is None


@pytest.mark.parametrize(("finished", "found"), [([True, True], False), ([True, False], True)])
def test_a_sweep_is_finished_when_every_point_came_to_its_end(finished, found, tmp_path):
    finish(SweepFolder.create(tmp_path, "chain", WORDS), finished)
    assert (SweepFolder.find_unfinished(tmp_path, WORDS) is not None) is found


def test_two_sweeps_of_one_second_have_two_folders(tmp_path):
    paths = {SweepFolder.create(tmp_path, "chain", WORDS).path for _ in range(2)}
    assert len(paths) == 2


def test_a_sweep_is_asked_for_by_its_flag_or_by_its_folder(tmp_path):
    folder = SweepFolder.create(tmp_path, "chain", WORDS)
    assert is_sweep(["-m", "seed=1,2"])
    assert is_sweep([f"resume={folder.path}"])
    assert not is_sweep(["seed=1", "resume=/no/such"])


def test_what_is_no_sweep_is_not_gone_on_with(tmp_path):
    with pytest.raises(UserError, match=r"sweep\.json"):
        SweepFolder.open(tmp_path)
