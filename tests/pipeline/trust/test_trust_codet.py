import pytest
from trust_cases import PROMPT, write_codet

from conf import UserError
from pipeline.trust.codet import CodetChoice, cut, find_asserts, read_codet


def read(folder, **change):
    (problem,) = read_codet(CodetChoice(folder, programs="m", tests="m", **change))
    return problem


@pytest.fixture
def folder(tmp_path):
    write_codet(
        tmp_path,
        programs=["    return 2 * n\n", "    return 2*n  # twice\n\nprint(1)", "    return n\n"],
        tests=[
            "double(1) == 2\nassert double(2) == 4, 'two'\n",
            "double(2)==4\n" + "assert double(9) == 18\n" * 6,
        ],
        relations=["assert return_value % 2 == 0", "assert return_value%2==0 # even"],
    )
    return tmp_path


def test_a_completion_ends_at_the_first_stop_text():
    assert cut("    return 1\n\nprint(2)\nclass A:") == "    return 1\n"


def test_asserts_name_the_entry_point_and_compile():
    text = "double(1) == 2\nassert other(1) == 2\nassert double(\nassert double(3) == 6\n# done"
    assert list(find_asserts(text, "double")) == ["assert double(1) == 2", "assert double(3) == 6"]


def test_programs_that_differ_in_layout_and_comments_are_one(folder):
    programs = read(folder).programs
    assert [program.samples for program in programs] == [(0, 1), (2,)]
    assert programs[0].text == PROMPT + "    return 2 * n\n"


def test_asserts_that_differ_in_their_message_are_one_and_five_of_a_sample_count(folder):
    asserts = read(folder).asserts
    assert [(a.text, a.samples) for a in asserts] == [
        ("assert double(1) == 2", (0,)),
        ("assert double(2) == 4, 'two'", (0, 1)),
        ("assert double(9) == 18", (1, 1, 1, 1)),
    ]


def test_inputs_are_taken_from_all_asserts(folder):
    assert len(read(folder).calls) == 9


def test_relations_are_grouped(folder):
    assert [relation.samples for relation in read(folder).relations] == [(0, 1)]


def test_only_the_first_programs_are_read(folder):
    assert [program.samples for program in read(folder, most_programs=1).programs] == [(0,)]


def test_a_missing_file_is_named(folder):
    (folder / "x_m_tests.jsonl.gz").unlink()
    with pytest.raises(UserError, match=r"\*_m_tests\.jsonl\.gz is needed, found none"):
        read(folder)
