"""Places that pyarrow.fs opens: an S3 server on loopback, and a folder by its URI."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from object_store import BUCKET

from conf import UserError
from pipeline.address import Address, is_address, local_path
from pipeline.compose import load_config


@pytest.fixture(params=["s3", "file"])
def address(request, store, tmp_path):
    if request.param == "s3":
        return Address(f"s3://{BUCKET}/{tmp_path.name}{store}")
    return Address(f"file://{tmp_path}/there")


def test_what_is_written_is_read_and_listed(address):
    address.write("chains/a.bin", b"one")
    address.write("chains/a.bin", b"other")

    assert address.read("chains/a.bin") == b"other"
    assert address.files() == {"chains/a.bin": 5}
    assert address.folders() == ["chains"]


def test_what_is_not_there_is_null_and_an_empty_list(address):
    assert address.read("a") is None
    assert address.files() == {}
    assert address.folders() == []
    address.remove("a")


def test_a_file_gets_another_name(address):
    address.write("steps/a", b"one")
    address.move("steps/a", "orphans/steps-a")

    assert address.files() == {"orphans/steps-a": 3}


def test_files_are_copied_under_their_names(address, tmp_path):
    address.write("a/b", b"one")
    address.download(["a/b"], tmp_path / "copy")

    assert (tmp_path / "copy" / "a" / "b").read_bytes() == b"one"


def test_a_name_goes_before_the_options():
    inner = Address("s3://bucket/runs?scheme=http") / "one"

    assert inner.text == "s3://bucket/runs/one?scheme=http"
    assert inner.name == "one"


def test_a_file_uri_is_a_folder_of_this_machine():
    assert not is_address("file:///a%20b/c")
    assert str(local_path("file:///a%20b/c")) == "/a b/c"
    assert str(local_path("runs/a")) == "runs/a"


def test_the_command_line_takes_an_address_with_options_unquoted():
    place = "s3://bucket/runs?endpoint_override=127.0.0.1:1&scheme=http"

    assert load_config([f"runs_dir={place}"]).runs_dir == place
    assert load_config([f"trust.from={place}"]).trust.source == place


def test_a_bucket_that_is_missing_is_one_line(store):
    with pytest.raises(UserError, match=r"NO_SUCH_BUCKET.*make the bucket first"):
        Address(f"s3://nowhere/runs{store}").write("a", b"one")


def test_an_endpoint_that_does_not_answer_is_one_line():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # bound, but nobody listens
        port = free.getsockname()[1]
        place = f"s3://bucket/runs?endpoint_override=127.0.0.1:{port}&scheme=http"
        with pytest.raises(UserError, match=r"NETWORK_CONNECTION.*check the network") as told:
            Address(place).read("a")

    assert "\n" not in str(told.value)


class Refusing(BaseHTTPRequestHandler):
    """A store that lets nobody in, in S3's words."""

    def refuse(self):
        told = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
        self.send_response(403)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(told)

    do_GET = do_HEAD = do_PUT = do_POST = refuse

    def log_message(self, *_):
        pass


@pytest.fixture
def locked_store(monkeypatch):
    """The options of an address at a store that refuses, on a machine without credentials."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"?endpoint_override=127.0.0.1:{server.server_port}&scheme=http"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "reach",
    [lambda place: place.read("a"), lambda place: place.write("a", b"one"), Address.files],
)
def test_a_store_that_refuses_is_one_line_that_says_where_credentials_go(locked_store, reach):
    with pytest.raises(UserError, match="AWS_PROFILE, or AWS_ACCESS_KEY_ID") as told:
        reach(Address(f"s3://bucket/runs{locked_store}"))

    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "text",
    ["s3://name:word@bucket/runs", "s3://bucket/runs?access_key=name&secret_key=word"],
)
def test_credentials_in_the_address_are_refused_and_not_repeated(text):
    with pytest.raises(UserError, match="AWS_PROFILE") as told:
        Address(text).read("a")

    assert "word" not in str(told.value)


@pytest.mark.parametrize("text", ["nope://bucket/runs", "s3://bucket/runs?endpoint=1"])
def test_an_address_that_is_none_is_one_line(text):
    with pytest.raises(UserError, match="check the address"):
        Address(text).read("a")
