"""A driver that is killed again and again."""

import random

import pytest
from drivers import assert_same_tables, kill, start_driver, wait_until
from strikes import PROBLEMS, Ledger, Place

from pipeline.run import run

pytestmark = [pytest.mark.ray, pytest.mark.timeout(900)]

KILLS = 10
LENGTH = 4
LONGER = f"chain.length={LENGTH}"
REQUESTS = PROBLEMS * (1 + 2 * LENGTH)


def test_ten_kills_at_random_points_change_no_row_and_cost_nothing_twice(
    place, address, tmp_path_factory
):
    dice, ledger = random.Random(11), Ledger(place)
    for left in range(KILLS, 0, -1):
        have = len(place.recorded())
        # Answers come on between the look and the blow: half of what is there is kept for that.
        goal = have + dice.randint(1, max(1, (REQUESTS - have) // (2 * left)))
        driver = start_driver(place.words(LONGER), place.console, address)
        wait_until(lambda g=goal: len(place.recorded()) >= g, driver, place.console)
        kill(driver)
        ledger.note()
    assert run(place.words(LONGER)) == 0
    ledger.check()
    quiet = Place(tmp_path_factory.mktemp("undisturbed"))
    assert run(quiet.words(LONGER, "serve.fake_tokens_per_s=0")) == 0
    assert_same_tables(place.run, quiet.run)
