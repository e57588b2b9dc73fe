import pytest

from conf import UserError
from pipeline.compose import load_config
from pipeline.trust.results import check_results


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["trust.without=[CodeTT]"], "no group of features is called 'CodeTT'"),
        (["trust.model=nowhere.json"], "nowhere.json: cannot be read"),
        (["trust.fit=nowhere/model.json"], "there is no folder nowhere"),
        (["trust.chains=nowhere"], "there are no finished chains"),
    ],
)
def test_what_is_missing_is_said_before_anything_starts(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=said):
        check_results(load_config(words))


def test_an_unknown_kind_of_model_is_refused():
    with pytest.raises(UserError, match=r"trust\.kind"):
        load_config(["trust.kind=forest"])
