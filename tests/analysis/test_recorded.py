import pytest
from recorded_cases import chain, line, skipped, step, write

from analysis.recorded import read_recorded
from conf import UserError

GOOD = chain(step("Passed", "Time Out"), step("Passed", "ValueError: no"))


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_file_gives_back_the_chains_written_to_it(tmp_path, name):
    chains = [GOOD, chain(step("Passed"), skipped(), problem="t/2")]
    path = write(tmp_path / name, [line(chains[0]), "\n", line(chains[1])])
    assert list(read_recorded(path)) == chains


def test_numbers_are_good_task_ids(tmp_path):
    path = write(tmp_path / "a.jsonl", [line(GOOD, task_id=11)])
    assert next(read_recorded(path)).problem_id == "11"


def test_lines_are_read_one_at_a_time(tmp_path):
    path = write(tmp_path / "a.jsonl", [line(GOOD), "broken\n"])
    assert next(read_recorded(path)) == GOOD


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("{\n", "not JSON"),
        ("[]\n", "not a JSON object"),
        (line(GOOD, task_id=None), "'task_id' is missing or not a text"),
        (line(GOOD, NL_1="\ud800"), "'NL_1' is no valid Unicode"),
        (line(GOOD, PL_1_results=["Passed"]), "'PL_1_results' has 1 results, 'PL_0_results' has 2"),
        (line(GOOD, PL_1_results=[1, 2]), "'PL_1_results' is missing or not a list of texts"),
        (line(GOOD, PL_0_results=[]), "'PL_0_results' holds no result"),
        (line(GOOD, PL_3_results=[]), "'PL_3_results', but no 'PL_2_results'"),
        (line(GOOD), "task 't/1' is in line 1, too"),
    ],
)
def test_a_bad_line_is_named(tmp_path, bad, message):
    path = write(tmp_path / "a.jsonl", [line(GOOD), bad])
    with pytest.raises(UserError, match=r"a\.jsonl, line 2: ") as error:
        list(read_recorded(path))
    assert message in str(error.value)


def test_a_file_cut_off_within_its_compression_is_named(tmp_path):
    path = write(tmp_path / "a.jsonl.gz", [line(GOOD)])
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(UserError, match="cannot be read"):
        list(read_recorded(path))


def test_a_file_that_only_claims_to_be_compressed_is_named(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_text("{}")
    with pytest.raises(UserError, match="cannot be read"):
        list(read_recorded(path))


@pytest.mark.parametrize(("name", "message"), [("a.csv", "suffix"), ("no.jsonl", "cannot be read")])
def test_a_wrong_path_is_named(tmp_path, name, message):
    with pytest.raises(UserError, match=message):
        list(read_recorded(tmp_path / name))
