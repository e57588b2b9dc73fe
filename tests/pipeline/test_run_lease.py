"""One process at a time in a run folder at an address."""

import json
import os

import pytest

from pipeline.address import Address
from pipeline.lease import LEASE, PATIENCE_S, Lease


@pytest.fixture
def address(tmp_path):
    return Address(f"file://{tmp_path}/run")


class Clock:
    """Time that passes by sleeping; something may happen meanwhile."""

    def __init__(self, meanwhile=lambda: None):
        self.now = 0.0
        self.meanwhile = meanwhile

    def sleep(self, seconds):
        self.now += seconds
        self.meanwhile()

    def take(self, address):
        return Lease.take(address, clock=lambda: self.now, sleep=self.sleep)


def of_elsewhere(address):
    """A lease whose owner is on another machine."""
    Lease.take(address)
    content = json.loads(address.read(LEASE))
    content["process"]["machine"] = ["another", "another"]
    address.write(LEASE, json.dumps(content).encode())


def test_a_folder_that_nobody_has_is_taken_at_once(address):
    clock = Clock()

    assert clock.take(address) is not None
    assert clock.now == 0


def test_a_lease_that_goes_on_changing_is_not_taken(address):
    owner = Lease.take(address)

    assert Clock(owner.beat).take(address) is None
    assert owner.beat()


def test_a_lease_that_stands_still_is_taken_after_a_while(address):
    of_elsewhere(address)
    clock = Clock()

    assert clock.take(address) is not None
    assert clock.now >= PATIENCE_S


def test_a_lease_that_is_given_back_is_taken(address):
    owner = Lease.take(address)
    clock = Clock(owner.release)

    assert clock.take(address) is not None
    assert clock.now < PATIENCE_S


def test_a_lease_whose_process_of_this_machine_has_ended_is_taken_at_once(address):
    Lease.take(address)
    content = json.loads(address.read(LEASE))
    content["process"]["started"] = "before"
    assert content["process"]["pid"] == os.getpid()
    address.write(LEASE, json.dumps(content).encode())
    clock = Clock()

    assert clock.take(address) is not None
    assert clock.now == 0


def test_an_owner_that_was_overwritten_knows_it(address):
    owner = Lease(address)
    Lease.take(address)

    assert not owner.beat()
