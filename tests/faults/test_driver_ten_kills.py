"""A driver that is killed again and again."""

import random

import pytest
from drivers import assert_same_tables, kill, start_driver, wait_until
from strikes import Ledger

from pipeline.run import run

pytestmark = [pytest.mark.ray, pytest.mark.timeout(900)]

KILLS = 10
MOST_ANSWERS = 6


def test_ten_kills_at_random_points_change_no_row_and_cost_nothing_twice(
    place, address, undisturbed
):
    dice, ledger = random.Random(11), Ledger(place)
    for _ in range(KILLS):
        goal = len(place.recorded()) + dice.randint(1, MOST_ANSWERS)
        driver = start_driver(place.words(), place.console, address)
        wait_until(lambda g=goal: len(place.recorded()) >= g, driver, place.console)
        kill(driver)
        ledger.note()
    assert run(place.words()) == 0
    ledger.check()
    assert_same_tables(place.run, undisturbed)
