"""What a driver that is killed leaves on a cluster which it had joined."""

import pytest
from drivers import assert_same_tables, kill, start_driver, wait_until
from strikes import Ledger, processes, wait_for

pytestmark = [pytest.mark.ray, pytest.mark.timeout(400)]


def engines():
    from ray import serve as ray_serve

    return set(ray_serve.status().applications)


def killed_in_the_middle(place, address, *words):
    driver = start_driver(place.words(*words), place.console, address)
    wait_until(lambda: len(place.recorded()) >= 14, driver, place.console)
    kill(driver)


def test_an_engine_of_nobody_is_stopped(place, address):
    killed_in_the_middle(place, address, "cluster.engine_grace_s=0")
    wait_for(lambda: not engines(), "the end of the engine")
    wait_for(lambda: not processes("ray::ServeReplica"), "the end of the replica")


def test_the_next_start_of_the_same_run_takes_the_engine_over_and_stops_it(
    place, address, undisturbed
):
    killed_in_the_middle(place, address, "cluster.engine_grace_s=600")
    ledger = Ledger(place)
    ledger.note()
    (kept, _), left = ledger.notes[0], processes("ray::ServeReplica")
    driver = start_driver(place.words(), place.console, address)
    wait_until(lambda: len(place.recorded()) > len(kept), driver, place.console)
    assert processes("ray::ServeReplica") == left
    assert driver.wait() == 0, place.console.read_text()[-3000:]
    assert not engines()
    ledger.check()
    assert_same_tables(place.run, undisturbed)
