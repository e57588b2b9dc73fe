import pytest
from trust_cases import write_codet

from conf import UserError
from pipeline.cli import main
from pipeline.trust.describing import describe_trust, preview_trust

FEW = ["dataset.limit=2", "trust.k=3", "trust.spec_k=4", "serve=fake"]


def test_requests_and_tokens_are_counted():
    text = describe_trust([*FEW, "cluster.num_cpus=2"])
    assert "22: for each problem 3 program, 4 assert, 4 relation" in text
    assert f"at most {2 * (3 * 256 + 8 * 128)} to generate" in text


def test_stored_samples_need_no_engine(tmp_path):
    write_codet(tmp_path, programs=["    return n\n"], tests=["double(1) == 2"], relations=[])
    words = [f"trust.from={tmp_path}", "trust.codet.programs=m", "trust.codet.tests=m"]
    text = describe_trust([*words, "cluster.num_cpus=2"])
    assert "none: the samples are stored" in text
    assert "SamplePrograms" not in text


def test_every_role_that_is_asked_shows_its_prompt():
    text = "\n".join(preview_trust([*FEW, "dataset.limit=1", "prompt=completion"]))
    for role in ("program, 3x", "assert, 4x", "relation, 4x"):
        assert f"HumanEval/0, {role}" in text
    assert "input" not in text.split("HumanEval/0, relation")[1].split(":")[0]


def test_stored_samples_have_no_prompts(tmp_path):
    with pytest.raises(UserError, match="nothing is sent"):
        list(preview_trust([f"trust.from={tmp_path}"]))


@pytest.mark.parametrize("words", [["trust", "-m", "trust.k=1,2"], ["describe", "trust", "-m"]])
def test_a_sweep_of_trust_is_refused_in_one_line(words, capsys):
    assert main(words) == 2
    assert capsys.readouterr().err.count("\n") == 1
